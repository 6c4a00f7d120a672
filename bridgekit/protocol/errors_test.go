package protocol_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/matryer/is"

	. "github.com/bb-kernel/bb/bridgekit/protocol"
)

func TestErrorCodes(t *testing.T) {
	for _, test := range []struct {
		code   Code
		number int
		name   string
	}{
		{InvalidParams, -32602, "INVALID_PARAMS"},
		{MethodNotFound, -32601, "METHOD_NOT_FOUND"},
		{BridgeError, -32000, "BRIDGE_ERROR"},
		{NoActiveTurn, -32001, "NO_ACTIVE_TURN"},
		{SessionNotRestorable, -32002, "SESSION_NOT_RESTORABLE"},
		{ForkCheckpointUnsupported, -32003, "FORK_CHECKPOINT_UNSUPPORTED"},
		{MissingExecutable, -32004, "MISSING_EXECUTABLE"},
		{CapabilityNotAdvertised, -32005, "CAPABILITY_NOT_ADVERTISED"},
		{ProtocolUnsupported, -32006, "PROTOCOL_UNSUPPORTED"},
		{InteractionInterrupted, -32007, "INTERACTION_INTERRUPTED"},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(int(test.code), test.number)
			is.Equal(test.code.Name(), test.name)
			is.Equal(test.code.Error(), test.name)
			err := test.code.Errorf("open %s: %w", "x", os.ErrNotExist)
			is.True(errors.Is(err, test.code))
			is.True(errors.Is(fmt.Errorf("later: %w", err), test.code))
			is.True(errors.Is(err, os.ErrNotExist)) // the cause, on this side
			is.True(!errors.Is(err, Code(-1)))
			is.Equal(err.Error(), test.name+": open x: file does not exist")
		})
	}
	t.Run("unknown", func(t *testing.T) {
		is := is.New(t)
		is.Equal(Code(7).Name(), "7")
	})
}

func TestErrorData(t *testing.T) {
	for _, test := range []struct {
		name string
		err  *Error
		want string
	}{
		{"issues", &Error{Code: InvalidParams, Issues: []Issue{{Path: `deltas[3].key["a.b"]`, Code: IssueTooBig, Message: "m"}}}, `{"issues":[{"path":["deltas",3,"key","a.b"],"code":"too_big","message":"m"}]}`},
		{"no issues known", &Error{Code: InvalidParams}, `{"issues":[]}`},
		{"recovery", &Error{Code: BridgeError, Recovery: RecoverResumeFresh}, `{"recovery":"resume-fresh"}`},
		{"no recovery", &Error{Code: BridgeError}, ``},
		{"recovery only with bridge error", &Error{Code: NoActiveTurn, Recovery: RecoverNone}, ``},
		{"versions", &Error{Code: ProtocolUnsupported, Versions: &Versions{Core: VersionRange{Min: 3, Max: 4}, Bridge: VersionRange{Min: 1, Max: 2}}}, `{"core":{"min":3,"max":4},"bridge":{"min":1,"max":2}}`},
		{"other data", &Error{Code: MissingExecutable, Data: raw(`{"x":1}`)}, `{"x":1}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			data := test.err.WireData()
			is.Equal(string(data), test.want)
			back := ErrorFromWire(int(test.err.Code), "m", data)
			is.Equal(string(back.WireData()), test.want)
			is.Equal(back.Issues == nil, len(test.err.Issues) == 0 && test.name != "no issues known")
			is.Equal(len(back.Issues), len(test.err.Issues))
			if len(back.Issues) > 0 {
				is.Equal(back.Issues, test.err.Issues)
			}
			if test.err.Versions != nil {
				is.Equal(back.Versions, test.err.Versions)
			}
			if test.err.Code == BridgeError {
				is.Equal(back.Recovery, test.err.Recovery)
			}
		})
	}
	t.Run("data of any kind loses no error", func(t *testing.T) {
		is := is.New(t)
		for _, code := range []Code{InvalidParams, BridgeError, ProtocolUnsupported, NoActiveTurn, Code(5)} {
			for _, data := range []string{`null`, `1`, `"x"`, `[]`, `{}`, `{"issues":1,"recovery":2,"core":3}`, `{"recovery":"pray"}`, `{"issues":[{"path":[null]}]}`, `{`} {
				e := ErrorFromWire(int(code), "m", raw(data))
				is.Equal(e.Code, code)
				is.Equal(e.Message, "m")
				is.Equal(e.Recovery, RecoveryHint(""))
				is.True(e.Versions == nil)
			}
		}
	})
	t.Run("the text has the issues", func(t *testing.T) {
		is := is.New(t)
		e := &Error{Code: InvalidParams, Message: "m", Issues: []Issue{{Path: "a", Message: "missing"}, {Message: "odd"}}}
		is.Equal(e.Error(), "INVALID_PARAMS: m; a: missing; odd")
	})
}

func TestIssues(t *testing.T) {
	t.Run("paths travel as names and indexes", func(t *testing.T) {
		for _, test := range []struct{ path, want string }{
			{"", `[]`},
			{"a", `["a"]`},
			{"a.b[0][12].c", `["a","b",0,12,"c"]`},
			{"[3]", `[3]`},
			{`env["a.b"].c`, `["env","a.b","c"]`},
			{`[""]`, `[""]`},
			{`["a\"]["][1]`, `["a\"][",1]`},
			{`extensionKinds.a/b`, `["extensionKinds","a/b"]`},
		} {
			is := is.New(t)
			wire, err := json.Marshal(Issue{Path: test.path, Code: IssueRequired, Message: "m"})
			is.NoErr(err)
			is.Equal(string(wire), `{"path":`+test.want+`,"code":"required","message":"m"}`)
			var back Issue
			is.NoErr(json.Unmarshal(wire, &back))
			is.Equal(back.Path, test.path)
		}
	})
	t.Run("a foreign path may be text", func(t *testing.T) {
		is := is.New(t)
		var i Issue
		is.NoErr(json.Unmarshal([]byte(`{"path":"$.a","code":"odd","message":"m"}`), &i))
		is.Equal(i, Issue{Path: "$.a", Code: "odd", Message: "m"})
		is.NoErr(json.Unmarshal([]byte(`{"code":"odd"}`), &i))
		is.True(json.Unmarshal([]byte(`{"path":[true]}`), &i) != nil)
		is.True(json.Unmarshal([]byte(`{"path":{}}`), &i) != nil)
		is.True(json.Unmarshal([]byte(`1`), &i) != nil)
	})
	t.Run("paths that nobody made here", func(t *testing.T) {
		is := is.New(t)
		for _, path := range []string{"[", "[x]", "..", "a..b", `["`, "a[", "]"} {
			_, err := json.Marshal(Issue{Path: path})
			is.NoErr(err)
		}
	})
	t.Run("sorted by path, indexes as numbers", func(t *testing.T) {
		is := is.New(t)
		var steps []string
		for range 12 {
			steps = append(steps, `{"text":1}`)
		}
		_, err := ParseDelta([]byte(`{"kind":"todo","zz":1,"aa":1,"turnKey":null,"steps":[` + strings.Join(steps, ",") + `]}`))
		paths := issuesOf(err)
		is.Equal(paths[0], "aa unrecognized_key")
		is.Equal(paths[1], "explanation required")
		is.Equal(paths[2:6], []string{"steps[0].status required", "steps[0].text invalid_type", "steps[1].status required", "steps[1].text invalid_type"})
		is.Equal(paths[len(paths)-2], "steps[11].text invalid_type")
		is.Equal(paths[len(paths)-1], "zz unrecognized_key")
	})
	t.Run("bounded", func(t *testing.T) {
		is := is.New(t)
		_, err := ParseDelta([]byte(`{"kind":"todo","turnKey":null,"explanation":null,"steps":[` + strings.Repeat("1,", 1000) + `1]}`))
		is.Equal(len(err.Issues), MaxIssues)
		is.True(strings.HasSuffix(err.Issues[MaxIssues-1].Message, "(901 more issues were left out)"))
	})
	t.Run("foreign text is shortened", func(t *testing.T) {
		is := is.New(t)
		_, err := ParseDelta([]byte(`{"kind":"` + strings.Repeat("é", 10000) + `"}`))
		is.True(len(err.Error()) < 1000)
	})
}
