package kernelcontract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	kc "github.com/bb-kernel/bb/kernelcontract"
)

// The error table, row by row.
func TestErrorTable(t *testing.T) {
	rows := []struct {
		code                kc.Code
		http, exit, jsonrpc int
		retry               kc.Retry
	}{
		{"invalid_input", 400, 2, -32602, kc.RetryNever},
		{"unauthenticated", 401, 4, -32011, kc.RetryNever},
		{"forbidden", 403, 7, -32012, kc.RetryNever},
		{"vetoed", 403, 7, -32013, kc.RetryNever},
		{"not_found", 404, 3, -32014, kc.RetryNever},
		{"conflict", 409, 6, -32015, kc.RetryNever},
		{"precondition", 412, 6, -32016, kc.RetryNever},
		{"cancelled", 499, 130, -32017, kc.RetryQueries},
		{"internal", 500, 1, -32603, kc.RetryNever},
		{"provider_options_failed", 502, 1, -32018, kc.RetryAlways},
		{"bridge_env_failed", 502, 1, -32018, kc.RetryAlways},
		{"bridge_env_reserved", 502, 1, -32018, kc.RetryNever},
		{"needs_configuration", 503, 4, -32019, kc.RetryNever},
		{"service_unavailable", 503, 4, -32020, kc.RetryNotStarted},
		{"timeout", 504, 5, -32021, kc.RetryQueries},
		{"bundle_failed", 502, 1, -32022, kc.RetryNever},
	}
	table := kc.Table()
	if len(table) != len(rows) {
		t.Fatalf("the table has %d rows, want %d", len(table), len(rows))
	}
	for i, want := range rows {
		t.Run(string(want.code), func(t *testing.T) {
			is := is.New(t)
			got := table[i]
			is.Equal(got.Code, want.code)
			is.Equal(got.HTTPStatus, want.http)
			is.Equal(got.Exit, want.exit)
			is.Equal(got.JSONRPC, want.jsonrpc)
			is.Equal(got.Retry, want.retry)
			is.True(got.Description != "")
			row, ok := want.code.Row()
			is.True(ok)
			is.Equal(row, got)
			is.Equal(want.code.Errorf("x").Retryable, want.retry == kc.RetryAlways)
		})
	}
	table[0].HTTPStatus = 0 // the caller's copy
	is.New(t).Equal(kc.Table()[0].HTTPStatus, 400)
	_, ok := kc.Code("muted").Row()
	is.New(t).True(!ok)
}

func TestRefusalNarrowsInvalidInput(t *testing.T) {
	for refusal, status := range map[kc.Refusal]int{0: 400, kc.WrongVerb: 405, kc.TooLarge: 413, kc.NotJSON: 415} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			e := kc.InvalidInput.Errorf("no")
			e.Refusal = refusal
			is.New(t).Equal(e.Row().HTTPStatus, status)
			is.New(t).Equal(e.Row().Exit, 2)
		})
	}
}

func TestRowOfADeclaredCode(t *testing.T) {
	is := is.New(t)
	muted := kc.Code("muted").Errorf("no")
	is.Equal(muted.Row().HTTPStatus, 500) // nobody said what it is like
	muted.Like = kc.Forbidden
	is.Equal(muted.Row().HTTPStatus, 403)
	is.Equal(muted.Row().Exit, 7)
	is.Equal(muted.Row().JSONRPC, -32012)
	is.Equal(muted.Row().Code, kc.Code("muted"))
}

func TestLikeOf(t *testing.T) {
	for status, want := range map[int]kc.Code{400: kc.InvalidInput, 405: kc.InvalidInput, 413: kc.InvalidInput, 415: kc.InvalidInput, 401: kc.Unauthenticated,
		403: kc.Forbidden, 404: kc.NotFound, 409: kc.Conflict, 412: kc.Precondition, 499: kc.Cancelled, 500: kc.Internal, 504: kc.Timeout, 418: kc.Internal} {
		t.Run(fmt.Sprint(status), func(t *testing.T) { is.New(t).Equal(kc.LikeOf(status), want) })
	}
	for _, row := range kc.Table() { // whatever code it picks, HTTP and exit status stay
		like, _ := kc.LikeOf(row.HTTPStatus).Row()
		is.New(t).Equal(like.HTTPStatus, row.HTTPStatus)
		is.New(t).Equal(like.Exit, row.Exit)
	}
}

func TestErrorf(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	for _, tt := range []struct {
		name, format string
		args         []any
		want         string
		causes       []error
	}{
		{"plain", "no note", nil, "no note", nil},
		{"verbs", "%s has %d%%", []any{"x", 5}, "x has 5%", nil},
		{"cause at the end", "cannot read %s: %w", []any{"x", one}, "cannot read x", []error{one}},
		{"cause in the middle", "cannot %w read %s", []any{one, "x"}, "cannot read x", []error{one}},
		{"cause alone", "%w", []any{one}, "", []error{one}},
		{"two causes", "a: %w: b %d: %w", []any{one, 7, two}, "a: b 7", []error{one, two}},
		{"width and star", "%-5s|%*d: %w", []any{"a", 3, 7, one}, "a    |  7", []error{one}},
		{"no operand", "x: %w", nil, "x", nil},
		{"nil cause", "x: %w", []any{nil}, "x", nil},
		{"lone percent", "100%", nil, "100%!(NOVERB)", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			e := kc.NotFound.Errorf(tt.format, tt.args...)
			is.Equal(e.Message, tt.want)
			is.Equal(e.Code, kc.NotFound)
			for _, cause := range tt.causes {
				is.True(errors.Is(e, cause))
			}
			if len(tt.causes) == 0 {
				is.Equal(e.Unwrap(), nil)
			}
			raw, err := json.Marshal(e)
			is.NoErr(err)
			is.True(!strings.Contains(string(raw), "one")) // a cause never travels
		})
	}
}

func TestCodeIsAnError(t *testing.T) {
	is := is.New(t)
	const muted kc.Code = "muted"
	err := fmt.Errorf("greet: %w", muted.Errorf("bb asked not to be greeted"))
	is.True(errors.Is(err, muted))
	is.True(!errors.Is(err, kc.NotFound))
	is.Equal(muted.Error(), "muted")
	is.True(errors.Is(fmt.Errorf("x: %w", muted), muted))
	is.Equal(kc.CodeOf(nil), kc.Code(""))
	is.Equal(kc.CodeOf(err), muted)
	is.Equal(kc.CodeOf(errors.New("x")), kc.Internal)
	is.Equal(kc.CodeOf(kc.Conflict), kc.Conflict)
}

func TestAsError(t *testing.T) {
	t.Run("nil", func(t *testing.T) { is.New(t).True(kc.AsError(nil) == nil) })
	t.Run("an Error in the chain", func(t *testing.T) {
		e := kc.Conflict.Errorf("busy")
		is.New(t).True(kc.AsError(fmt.Errorf("x: %w", e)) == e)
	})
	t.Run("a bare code", func(t *testing.T) {
		is := is.New(t)
		e := kc.AsError(fmt.Errorf("wrapped: %w", kc.NotFound))
		is.Equal(e.Code, kc.NotFound)
		is.Equal(e.Message, "The route, the method or the entity does not exist")
		is.True(strings.Contains(e.Unwrap().Error(), "wrapped"))
	})
	t.Run("a foreign error is hidden", func(t *testing.T) {
		is := is.New(t)
		cause := errors.New("password=hunter2")
		e := kc.AsError(cause)
		is.Equal(e.Code, kc.Internal)
		is.True(!strings.Contains(e.Error(), "hunter2"))
		is.True(errors.Is(e, cause))
	})
	t.Run("a nil *Error", func(t *testing.T) {
		is := is.New(t)
		var e *kc.Error
		is.Equal(kc.CodeOf(error(e)), kc.Internal)
	})
}

func TestErrorText(t *testing.T) {
	is := is.New(t)
	is.Equal(kc.NotFound.Errorf("no note").Error(), "not_found: no note")
	is.Equal((&kc.Error{Code: kc.Timeout}).Error(), "timeout")
	var issues []kc.Issue
	for _, f := range []string{"a", "b", "c", "d"} {
		issues = append(issues, kc.Issue{Path: []any{f}, Code: "required", Message: "is required"})
	}
	is.Equal(kc.InvalidIssues(issues[:1]).Error(), "invalid_input: the input has an issue (a: is required)")
	is.Equal(kc.InvalidIssues(issues[:3]).Error(), "invalid_input: the input has 3 issues (a: is required; b: is required; c: is required)")
	is.Equal(kc.InvalidIssues(issues).Error(), "invalid_input: the input has 4 issues (a: is required; b: is required; c: is required; …)")
	is.True(kc.InvalidIssues(nil) == nil)
}

func TestErrorJSON(t *testing.T) {
	t.Run("failure object", func(t *testing.T) {
		is := is.New(t)
		e := kc.InvalidIssues([]kc.Issue{{Path: []any{"list", 3, "x"}, Code: "too_small", Message: "must be more"}, {Code: "invalid_json", Message: "is not JSON"}})
		is.Equal(string(kc.MarshalFailure(e)), `{"ok":false,"error":{"code":"invalid_input","message":"the input has 2 issues","issues":[`+
			`{"path":["list",3,"x"],"code":"too_small","message":"must be more"},{"path":[],"code":"invalid_json","message":"is not JSON"}],"retryable":false}}`)
	})
	t.Run("what is not public does not travel", func(t *testing.T) {
		is := is.New(t)
		e := kc.Code("muted").Errorf("no: %w", errors.New("cause"))
		e.CallID, e.Like, e.Refusal = "c", kc.Forbidden, kc.TooLarge
		is.Equal(string(kc.MarshalFailure(e)), `{"ok":false,"error":{"code":"muted","message":"no","retryable":false}}`)
	})
	t.Run("retryable and details", func(t *testing.T) {
		is := is.New(t)
		e := &kc.Error{Code: kc.Vetoed, Message: "no", Details: map[string]any{"by": "guard"}, Retryable: true}
		is.Equal(string(kc.MarshalFailure(e)), `{"ok":false,"error":{"code":"vetoed","message":"no","details":{"by":"guard"},"retryable":true}}`)
	})
	t.Run("details that do not encode are dropped", func(t *testing.T) {
		is := is.New(t)
		e := &kc.Error{Code: kc.Conflict, Message: "no", Details: map[string]any{"f": func() {}}}
		is.Equal(string(kc.MarshalFailure(e)), `{"ok":false,"error":{"code":"conflict","message":"no","retryable":false}}`)
	})
	t.Run("round trip keeps integers", func(t *testing.T) {
		is := is.New(t)
		raw := `{"ok":false,"error":{"code":"conflict","message":"no","issues":[{"path":["a",2],"code":"required","message":"m"}],"details":{"n":9007199254740993},"retryable":true}}`
		var f kc.Failure
		is.NoErr(json.Unmarshal([]byte(raw), &f))
		is.Equal(f.Error.Issues[0].Path[1], 2)
		is.Equal(string(kc.MarshalFailure(f.Error)), raw)
		is.True(json.Unmarshal([]byte(`{"error":[]}`), &f) != nil)
	})
}

func FuzzErrorf(f *testing.F) {
	for _, s := range []string{"a: %w", "%[1]w %d", "%*.*w", "%", "%%w", "%-+# 0w"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, format string) {
		e := kc.Conflict.Errorf(format, errors.New("cause"), 7, "x")
		if e.Code != kc.Conflict {
			t.Fatal("the code is lost")
		}
	})
}
