package protocol_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/matryer/is"

	. "github.com/bb-kernel/bb/bridgekit/protocol"
)

func TestNoJSON(t *testing.T) {
	for _, test := range []struct{ name, text string }{
		{"nothing", ``},
		{"white space", ` `},
		{"half an object", `{"kind":"session.reset"`},
		{"half a string", `{"kind":"session.res`},
		{"two values", `{"kind":"session.reset"} {}`},
		{"a trailing comma", `{"kind":"session.reset",}`},
		{"a trailing comma in a list", `{"kind":"todo","steps":[1,]}`},
		{"no comma", `{"kind":"session.reset" "x":1}`},
		{"no colon", `{"kind" "session.reset"}`},
		{"a bare name", `{kind:"session.reset"}`},
		{"single quotes", `{'kind':'session.reset'}`},
		{"invalid UTF-8", "{\"kind\":\"thread.name\",\"name\":\"\xff\"}"},
		{"an encoded surrogate", "{\"kind\":\"thread.name\",\"name\":\"\xed\xa0\x80\"}"},
		{"a control character", "{\"kind\":\"thread.name\",\"name\":\"a\nb\"}"},
		{"a bad escape", `{"kind":"thread.name","name":"\x41"}`},
		{"a short escape", `{"kind":"thread.name","name":"\u12"}`},
		{"an escape at the end", `{"kind":"\`},
		{"a leading zero", `{"kind":"thread.name","name":01}`},
		{"a plus", `{"kind":"thread.name","name":+1}`},
		{"half a number", `{"kind":"thread.name","name":1.}`},
		{"half an exponent", `{"kind":"thread.name","name":1e}`},
		{"a lone minus", `{"kind":"thread.name","name":-}`},
		{"NaN", `{"kind":"thread.name","name":NaN}`},
		{"half a word", `{"kind":"thread.name","name":nul}`},
		{"a byte order mark", "\ufeff{\"kind\":\"session.reset\"}"},
		{"too deep", `{"kind":"provider.unhandled","scope":"thread","rawType":"x","parentRef":null,"raw":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}`},
		{"endless brackets", strings.Repeat("[", 1<<20)},
		{"endless objects", strings.Repeat(`{"a":`, 1<<18)},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			d, err := ParseDelta([]byte(test.text))
			is.True(d == nil)
			is.True(err != nil)
			is.Equal(len(err.Issues), 1)
			is.Equal(err.Issues[0].Code, IssueInvalidJSON)
			is.Equal(err.Issues[0].Path, "")
			_, whole := Decode[SessionParams]([]byte(test.text))
			is.True(errors.Is(whole, InvalidParams))
		})
	}
	t.Run("just deep enough", func(t *testing.T) {
		is := is.New(t)
		n := MaxDepth - 3 // the delta lies in a list in the params
		deep := `{"kind":"provider.unhandled","scope":"thread","rawType":"x","parentRef":null,"raw":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
		_, err := ParseDelta([]byte(deep))
		is.True(err == nil)
		var batch DeltaBatch
		is.True(ParseDeltaParams([]byte(`{"threadId":"t","deltas":[`+deep+`]}`), &batch) == nil)
		_, err = ParseDelta([]byte(strings.Replace(deep, "[]", "[[]]", 1)))
		is.True(err != nil) // one level more
	})
}

func TestStrings(t *testing.T) {
	is := is.New(t)
	for _, text := range []string{"", `a"b\c/d`, "\x00\x1f\x7f", "\b\f\n\r\t", "é€😀", "\u2028\u2029", "<b>&amp;</b>", "\ufffd"} {
		wire, err := Marshal(&ThreadName{Name: text})
		is.NoErr(err)
		is.True(json.Valid(wire))
		is.True(!strings.ContainsAny(string(wire), "\n\u2028\u2029"))
		d, bad := ParseDelta(wire)
		is.True(bad == nil)
		is.Equal(d.(*ThreadName).Name, text)
		var plain struct{ Name string }
		is.NoErr(json.Unmarshal(wire, &plain)) // encoding/json reads the same
		is.Equal(plain.Name, text)
	}
	t.Run("escapes", func(t *testing.T) {
		is := is.New(t)
		d, err := ParseDelta([]byte(`{"kind":"thread.name","name":"\u0041\/\ud83d\ude00\ud800\ud800\u0041\udc00"}`))
		is.True(err == nil)
		is.Equal(d.(*ThreadName).Name, "A/😀\ufffd\ufffdA\ufffd")
	})
	t.Run("invalid UTF-8 of an author becomes U+FFFD", func(t *testing.T) {
		is := is.New(t)
		wire, err := Marshal(ThreadName{Name: "a\xffb\xed\xa0\x80"})
		is.NoErr(err)
		is.Equal(string(wire), `{"kind":"thread.name","name":"a`+"\ufffd"+`b`+"\ufffd\ufffd\ufffd"+`"}`)
	})
	t.Run("HTML is left alone", func(t *testing.T) {
		is := is.New(t)
		wire, err := Marshal(ThreadName{Name: "<&>"})
		is.NoErr(err)
		is.Equal(string(wire), `{"kind":"thread.name","name":"<&>"}`)
	})
}

func TestMarshal(t *testing.T) {
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"nil lists and maps are empty", SkillsConfigureParams{}, `{"threadId":"","roots":[]}`},
		{"nil raw is null", &Submitted{}, `{"kind":"submitted","data":null}`},
		{"a copy keeps its kind", Message{Text: "x"}, `{"kind":"message","text":"x"}`},
		{"an extension names itself", Extension{Name: "a/b"}, `{"kind":"a/b","payload":null}`},
		{"an empty string where it stands for null", ItemKey{Channel: "c"}, `{"providerItemId":null,"channel":"c","parentRef":null}`},
		{"zero optionals are left out", Presentation{Label: "a", Icon: "b"}, `{"label":"a","icon":"b"}`},
		{"a nil union is null", ItemProgress{Key: messageKey}, `{"kind":"item.progress","scope":"turn","turnKey":null,"key":{"providerItemId":"m1","channel":null,"parentRef":null},"message":null,"item":null,"presentation":null}`},
		{"a nil member is null", Deltas{(*ThreadName)(nil)}, `[null]`},
		{"unknown fields are written back, known ones win", SessionIdentity{ProviderThreadID: "s", Extra: Extra{"z": raw("1"), "a": raw(" [ 1 ] "), "providerThreadId": raw("2")}},
			`{"providerThreadId":"s","sessionRestorable":false,"a":[1],"z":1}`},
		{"decisions that every agent understands", &Approval{Subject: &PlanSubject{ItemKey: messageKey}}, `{"kind":"approval","subject":{"kind":"plan","itemKey":{"providerItemId":"m1","channel":null,"parentRef":null},"plan":"","planFilePath":null},"reason":null,"decisions":["allow_once","deny"]}`},
		{"the request tells its key and scope", InteractionParams{Request: &OpenInteraction{Name: "a/b", RequestKey: "k", Scope: Scope{Thread: true}}},
			`{"threadId":"","providerThreadId":"","requestKey":"k","scope":"thread","turnKey":null,"request":{"kind":"a/b","title":"","data":null}}`},
		{"only the fields of a form", ProviderUsage{Status: UsageExpired, Message: "x"}, `{"status":"expired"}`},
		{"only the fields of a form by a bool", InstallationRunResult{Message: "x", Command: &InstallCommand{}}, `{"available":false,"message":"x"}`},
		{"raw without its white space", RawParams{Payload: raw("{\n \"a\" : [ 1 ] }")}, `{"threadId":null,"coverage":"","payload":{"a":[1]}}`},
		{"floats", &Usage{Cost: &Cost{Amount: 1e21, Currency: "EUR"}}, `{"kind":"usage","turnKey":null,"last":{"totalTokens":0,"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0},"total":null,"modelContextWindow":null,"cacheWriteTokens":null,"cost":{"amount":1e+21,"currency":"EUR"}}`},
		{"nil", nil, `null`},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			got, err := Marshal(test.value)
			is.NoErr(err)
			is.Equal(string(got), test.want)
			if test.value != nil {
				viaJSON, err := json.Marshal(test.value)
				is.NoErr(err)
				is.Equal(string(viaJSON), test.want)
			}
		})
	}
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"a float that is no number", &RateLimits{RateLimits: RateLimitState{ResetsAt: Ptr(math.NaN())}}, "rateLimits.resetsAt: is NaN, which JSON cannot hold"},
		{"an infinite float", Deltas{&SessionReset{}, &Usage{Cost: &Cost{Amount: math.Inf(1)}}}, "[1].cost.amount: is +Inf, which JSON cannot hold"},
		{"raw that is not JSON", JSONObject{"a.b": raw("{")}, `["a.b"]: is not JSON: missing name of a field at byte 1`},
		{"extra that is not JSON", Empty{Extra: Extra{"a": raw("1 2")}}, `a: is not JSON: unexpected text after the value at byte 2`},
		{"a scope of both", &ItemText{Scope: Scope{Turn: "t", Thread: true}}, `scope: is thread and has the turn "t"; set one of Thread and Turn`},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			_, err := Marshal(test.value)
			is.True(err != nil)
			is.Equal(err.Error(), test.want)
			issues := Validate(test.value)
			is.Equal(len(issues), 1)
			is.Equal(issues[0].String(), test.want)
		})
	}
}

func TestUnmarshal(t *testing.T) {
	t.Run("a lone member demands its kind", func(t *testing.T) {
		is := is.New(t)
		var m Message
		is.NoErr(json.Unmarshal([]byte(`{"kind":"message","text":"x"}`), &m))
		is.Equal(m.Text, "x")
		err := json.Unmarshal([]byte(`{"kind":"plan","text":"x","path":null}`), &m)
		is.True(errors.Is(err, InvalidParams))
		is.Equal(issuesOf(err), []string{"kind invalid_value"})
	})
	t.Run("the fields of a request that travel beside it", func(t *testing.T) {
		is := is.New(t)
		_, text := exampleNamed(t, "interaction/request params")
		p, err := Decode[InteractionParams]([]byte(text))
		is.True(err == nil)
		q := p.Request.(*Questions)
		is.Equal(q.RequestKey, "q1")
		is.Equal(q.Scope, Scope{Turn: "turn-1"})
	})
	t.Run("integers beyond 2^53 are exact", func(t *testing.T) {
		is := is.New(t)
		_, text := exampleNamed(t, "delta usage")
		d, err := ParseDelta([]byte(text))
		is.True(err == nil)
		is.Equal(d.(*Usage).Last.TotalTokens, int64(9007199254740993))
		_, text = exampleNamed(t, "delta provider.unhandled")
		d, err = ParseDelta([]byte(text))
		is.True(err == nil)
		is.Equal(string(d.(*ProviderUnhandled).Raw), `{"n":9007199254740993}`)
	})
	t.Run("null in a free object stays", func(t *testing.T) {
		is := is.New(t)
		p, err := Decode[ProviderParams]([]byte(`{"providerId":"e","cwd":"/","bridgeOptions":{"a":null},"x":null}`))
		is.True(err == nil)
		is.Equal(string(p.BridgeOptions["a"]), "null")
		is.Equal(string(p.Extra["x"]), "null")
	})
	t.Run("what is decoded shares no memory with the text", func(t *testing.T) {
		is := is.New(t)
		for _, e := range Examples() {
			if e.Type == "Error" {
				continue
			}
			text := append([]byte(nil), e.JSON...)
			v, err := decodeAs(e.Type, text)
			is.NoErr(err)
			for i := range text {
				text[i] = '#'
			}
			wire, err := Marshal(v)
			is.NoErr(err)
			is.Equal(string(wire), string(e.JSON))
		}
	})
	t.Run("white space and any order", func(t *testing.T) {
		is := is.New(t)
		d, err := ParseDelta([]byte(" { \"name\" :\t\"x\" ,\r\n\"kind\":\"thread.name\" } "))
		is.True(err == nil)
		is.Equal(d, Delta(&ThreadName{Name: "x"}))
	})
	t.Run("lists", func(t *testing.T) {
		is := is.New(t)
		var inputs Inputs
		is.NoErr(json.Unmarshal([]byte(`[{"type":"image","url":"data:","visibility":"user","later":1}]`), &inputs))
		is.Equal(inputs[0].(*ImageInput).URL, "data:")
		var actions CommandActions
		is.NoErr(json.Unmarshal([]byte(`[{"kind":"search","command":"rg","query":null,"path":null}]`), &actions))
		is.Equal(actions[0].Kind(), ActionSearch)
	})
	t.Run("a type that is no message", func(t *testing.T) {
		is := is.New(t)
		v, err := Decode[map[string]int64]([]byte(`{"a":1}`))
		is.True(err == nil)
		is.Equal(v["a"], int64(1))
	})
}

func TestDeltas(t *testing.T) {
	good := `{"kind":"session.reset"}`
	noText := `{"kind":"item.open","scope":"turn","turnKey":null,"key":{"providerItemId":"m1","channel":null,"parentRef":null},"item":{"kind":"message"},"presentation":{"label":"Writing","icon":"message"}}`
	t.Run("names the place", func(t *testing.T) {
		is := is.New(t)
		var ds Deltas
		err := json.Unmarshal([]byte(`[`+good+`,`+good+`,`+good+`,`+noText+`]`), &ds)
		is.Equal(fmt.Sprint(err), "deltas[3]: item.open: message: text: missing")
		var one *DeltaError
		is.True(errors.As(err, &one))
		is.Equal(one.Index, 3)
		is.Equal(one.Kind, KindItemOpen)
		is.Equal(one.Item, KindMessage)
		is.True(ds == nil)
	})
	t.Run("every delta that is wrong", func(t *testing.T) {
		is := is.New(t)
		var ds Deltas
		err := json.Unmarshal([]byte(`[1,{"kind":"x"},{"kind":"thread.name"},`+good+`,{"kind":"item.progress","item":{"kind":"a/b"}}]`), &ds)
		var all DeltaErrors
		is.True(errors.As(err, &all))
		is.Equal(len(all), 4)
		is.Equal(all[0].Error(), "deltas[0]: must be an object, not a number")
		is.True(strings.HasPrefix(all[1].Error(), "deltas[1]: kind: must be one of input.accepted, turn.open,"))
		is.Equal(all[2].Error(), "deltas[2]: thread.name: name: missing")
		is.Equal(all[3].Item, ItemKind("a/b"))
		is.True(strings.Contains(all[3].Error(), "deltas[4]: item.progress: a/b: payload: missing"))
	})
	t.Run("no list", func(t *testing.T) {
		is := is.New(t)
		var ds Deltas
		err := json.Unmarshal([]byte(`{}`), &ds)
		is.True(errors.Is(err, InvalidParams))
		is.True(ds.UnmarshalJSON([]byte(`[`)) != nil)
	})
	t.Run("in params", func(t *testing.T) {
		is := is.New(t)
		_, err := Decode[DeltaParams]([]byte(`{"threadId":"t","deltas":[` + good + `,` + noText + `]}`))
		is.Equal(issuesOf(err), []string{"deltas[1].item.text required"})
	})
	t.Run("a wrong delta does not spoil the batch", func(t *testing.T) {
		is := is.New(t)
		var batch DeltaBatch
		err := ParseDeltaParams([]byte(`{"deltas":[`+good+`, `+noText+` ,`+good+`],"threadId":"t1"}`), &batch)
		is.True(err == nil)
		is.Equal(batch.ThreadID, "t1")
		is.Equal(len(batch.Deltas), 3)
		is.True(batch.Deltas[0].Err == nil && batch.Deltas[2].Err == nil)
		is.Equal(batch.Deltas[1].Err.Error(), "deltas[1]: item.open: message: text: missing")
		is.True(batch.Deltas[1].Delta == nil)
		is.Equal(string(batch.Deltas[1].Raw), noText)
	})
	t.Run("the limit of a text holds on the fast path", func(t *testing.T) {
		is := is.New(t)
		line := func(n int) []byte {
			return mustMarshal(t, DeltaParams{ThreadID: "t", Deltas: Deltas{&ItemText{Key: messageKey, Stream: Text, Text: strings.Repeat("x", n)}}})
		}
		var batch DeltaBatch
		is.True(ParseDeltaParams(line(MaxDeltaText), &batch) == nil)
		is.True(batch.Deltas[0].Err == nil)
		is.True(ParseDeltaParams(line(MaxDeltaText+1), &batch) == nil)
		is.Equal(batch.Deltas[0].Err.Issues[0].Code, IssueTooBig)
	})
	t.Run("wrong params", func(t *testing.T) {
		for _, test := range []struct{ text, want string }{
			{`[]`, " invalid_type"},
			{`{}`, "deltas required,threadId required"},
			{`{"threadId":"","deltas":[]}`, "threadId too_small"},
			{`{"threadId":1,"deltas":{}}`, "deltas invalid_type,threadId invalid_type"},
			{`{"threadId":"t","deltas":[],"deltas":[]}`, "deltas duplicate_key"},
			{`{"threadId":"t","deltas":[],"x":1}`, "x unrecognized_key"},
			{`{"threadId":"t","deltas":[` + good + `,]}`, " invalid_json"},
			{`{"threadId":"t","deltas":[` + good + `]} x`, " invalid_json"},
		} {
			is := is.New(t)
			batch := DeltaBatch{ThreadID: "old", Deltas: []DecodedDelta{{}}}
			err := ParseDeltaParams([]byte(test.text), &batch)
			is.True(errors.Is(err, InvalidParams))
			is.Equal(strings.Join(issuesOf(err), ","), strings.TrimSpace(test.want))
			is.Equal(batch.ThreadID, "")
			is.Equal(len(batch.Deltas), 0)
			_, strict := Decode[DeltaParams]([]byte(test.text)) // the oracle
			is.Equal(issuesOf(strict), issuesOf(err))
		}
	})
	t.Run("a batch that is used again", func(t *testing.T) {
		is := is.New(t)
		var batch DeltaBatch
		line := func(key, text string) []byte {
			return []byte(`{"threadId":"t1","deltas":[{"kind":"item.text","scope":"turn","turnKey":null,"key":{"providerItemId":"` + key + `","channel":null,"parentRef":null},"stream":"text","text":"` + text + `"}]}`)
		}
		is.True(ParseDeltaParams(line("m1", "a"), &batch) == nil)
		first := batch.Deltas[0].Delta.(*ItemText)
		is.True(ParseDeltaParams(line("m2", "b"), &batch) == nil)
		is.Equal(first, &ItemText{Key: ItemKey{ProviderItemID: "m1"}, Stream: Text, Text: "a"})
		is.Equal(batch.Deltas[0].Delta, Delta(&ItemText{Key: ItemKey{ProviderItemID: "m2"}, Stream: Text, Text: "b"}))
		is.Equal(testing.AllocsPerRun(100, func() { _ = ParseDeltaParams(line("m2", "b"), &batch) }) <= 6, true) // the line, the delta and its text
	})
	t.Run("the samples are the examples", func(t *testing.T) {
		is := is.New(t)
		p, err := Decode[DeltaParams](mustMarshal(t, DeltaParams{ThreadID: "t1", Deltas: sampleDeltas()}))
		is.True(err == nil)
		is.True(reflect.DeepEqual([]Delta(p.Deltas), sampleDeltas()))
	})
}

func mustMarshal(t *testing.T, v any) []byte {
	wire, err := Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func TestValidate(t *testing.T) {
	is := is.New(t)
	for _, s := range samples() {
		if s.typ == "Error" {
			continue
		}
		if issues := Validate(s.value); len(issues) > 0 {
			t.Error(s.name, issues)
		}
		if v := reflect.ValueOf(s.value); v.Kind() == reflect.Pointer { // and as a value
			if issues := Validate(v.Elem().Interface()); len(issues) > 0 {
				t.Error(s.name, issues)
			}
		}
	}
	is.Equal(Validate((*Message)(nil)), []Issue{{Code: IssueInvalidType, Message: "must be an object, not null"}})
	is.Equal(Validate(Deltas{nil}), []Issue{{Path: "[0]", Code: IssueInvalidType, Message: "must be an object, not null"}})
	issues := Validate(&ItemOpen{Item: &Extension{Name: "x"}})
	is.Equal(issuesOf(&Error{Issues: issues}), []string{"item.kind invalid_value", "key invalid_value", "presentation.icon too_small", "presentation.label too_small"})
	is.Equal(issuesOf(&Error{Issues: Validate(ToolContent{})}), []string{"type invalid_value"})
	var none *ProviderDeclaration
	is.Equal(len(none.Check()), 1)
	empty := ProviderDeclaration{}
	is.True(len(empty.Check()) > 8) // every problem at once
	whole := sampleDeclaration()
	is.Equal(len(whole.Check()), 0)
}

// TestEachTypeAlone shows that parts of messages encode and decode alone, through encoding/json, as they do inside their message.
func TestEachTypeAlone(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface, reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Map:
			for _, k := range v.MapKeys() {
				walk(v.MapIndex(k))
			}
		case reflect.Struct:
			if _, ok := v.Interface().(json.Marshaler); ok {
				seen[v.Type()] = true
				wire, err := json.Marshal(v.Interface())
				if err != nil {
					t.Error(v.Type(), err)
					return
				}
				again := reflect.New(v.Type())
				if err := json.Unmarshal(wire, again.Interface()); err != nil {
					t.Errorf("%v: %s: %v", v.Type(), wire, err)
					return
				}
				if twice, err := json.Marshal(again.Elem().Interface()); err != nil || string(twice) != string(wire) {
					t.Errorf("%v: %s became %s (%v)", v.Type(), wire, twice, err)
				}
			}
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					walk(v.Field(i))
				}
			}
		}
	}
	for _, s := range samples() {
		if s.typ != "Error" {
			walk(reflect.ValueOf(s.value))
		}
	}
	for _, e := range sampleErrors() {
		walk(reflect.ValueOf(e.Versions))
	}
	if len(seen) < 100 {
		t.Errorf("only %d types were seen", len(seen))
	}
}
