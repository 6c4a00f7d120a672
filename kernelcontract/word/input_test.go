package word_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

func flags(pairs ...string) map[string][]string {
	out := map[string][]string{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = append(out[pairs[i]], pairs[i+1])
	}
	return out
}

func read(name string) ([]byte, error) {
	switch name {
	case "-":
		return []byte(`{"x":1,"y":2}`), nil
	case "text":
		return []byte("from a file\n"), nil
	case "data":
		return []byte{0, 1, 2}, nil
	case "points":
		return []byte("[ {\"x\":1,\"y\":2} ]\n"), nil
	}
	return nil, fmt.Errorf("open %s: no such file", name)
}

// TestInput proves how texts become values.
func TestInput(t *testing.T) {
	w := of(t, torture)
	for _, c := range []struct {
		rule, field, text, want string
	}{
		{"string", "someText", `a "b" <c>`, `"a \"b\" <c>"`},
		{"empty string", "someText", "", `""`},
		{"string that looks like a number", "someText", "5", `"5"`},
		{"string null stays a string", "nick", "null", `"null"`},
		{"string from a file", "someText", "@text", `"from a file\n"`},
		{"no file without leave", "need", "@text", `"@text"`},
		{"lone dash is text without leave", "nick", "-", `"-"`},
		{"ISO duration", "wait", "PT1M30S", `"PT1M30S"`},
		{"short duration", "wait", "90s", `"PT1M30S"`},
		{"bytes", "data", "AAEC", `"AAEC"`},
		{"enum", "level", "high", `"high"`},
		{"integer", "count", "9007199254740993", `9007199254740993`},
		{"negative integer", "count", "-5", `-5`},
		{"exact exponent", "count", "1e3", `1e3`},
		{"number", "ratio", "-0.5", `-0.5`},
		{"boolean", "loud", "true", `true`},
		{"boolean false", "loud", "false", `false`},
		{"nullable boolean", "maybe", "null", `null`},
		{"nullable integer", "limit", "null", `null`},
		{"one element", "tags", "a,b", `["a,b"]`},
		{"integers as JSON", "ids", "[1, 2]", `[1,2]`},
		{"no integers", "ids", "[]", `[]`},
		{"object", "at", `{"x": 1, "y": 2}`, `{"x":1,"y":2}`},
		{"object from standard input", "at", "-", `{"x":1,"y":2}`},
		{"nullable object", "at", "null", `null`},
		{"array of objects from a file", "points", "@points", `[{"x":1,"y":2}]`},
		{"map", "labels", "a=b=c", `{"a":"b=c"}`},
		{"anything", "any", `[1,"x"]`, `[1,"x"]`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			f := flags("need", "x", c.field, c.text)
			if c.field == "need" {
				f = flags("need", c.text)
			}
			got, err := word.Input(w, word.Values{Words: []string{"bb"}, Flags: f, Read: read})
			is.NoErr(err)
			var members map[string]json.RawMessage
			is.NoErr(json.Unmarshal(got, &members))
			is.Equal(string(members[c.field]), c.want)
		})
	}
	t.Run("schema order, only what was given", func(t *testing.T) {
		is := is.New(t)
		got, err := word.Input(w, word.Values{Words: []string{"bb"}, Flags: flags("ids", "1", "need", "x", "ids", "2", "labels", "b=1", "labels", "a=2")})
		is.NoErr(err)
		is.Equal(string(got), `{"name":"bb","need":"x","ids":[1,2],"labels":{"b":"1","a":"2"}}`)
	})
	t.Run("flags override the whole input", func(t *testing.T) {
		is := is.New(t)
		whole := `{"count": 3, "name":"a", "need":"n", "new": 1}`
		got, err := word.Input(w, word.Values{Flags: flags("count", "4"), Whole: &whole})
		is.NoErr(err)
		is.Equal(string(got), `{"count":4,"name":"a","need":"n","new":1}`)
	})
	t.Run("variable when the flag is absent", func(t *testing.T) {
		is := is.New(t)
		env := func(name string) (string, bool) { return "hush", name == "DEMO_SECRET" }
		got, err := word.Input(w, word.Values{Words: []string{"a"}, Flags: flags("need", "x"), Env: env})
		is.NoErr(err)
		is.Equal(string(got), `{"name":"a","need":"x","secret":"hush"}`)
		got, err = word.Input(w, word.Values{Words: []string{"a"}, Flags: flags("need", "x", "secret", "own"), Env: env})
		is.NoErr(err)
		is.Equal(string(got), `{"name":"a","need":"x","secret":"own"}`)
	})
}

func TestInputPositionals(t *testing.T) {
	w := of(t, ambient)
	for _, c := range []struct {
		rule  string
		words []string
		self  string
		want  string
	}{
		{"all given", []string{"t1", "hello"}, "", `{"thread":"t1","text":["hello"]}`},
		{"required first", []string{"hello"}, "", `{"text":["hello"]}`},
		{"variadic takes the rest", []string{"t1", "a", "b", "c"}, "", `{"thread":"t1","text":["a","b","c"]}`},
		{"self", []string{"a", "b"}, "t9", `{"thread":"t9","text":["a","b"]}`},
		{"structured words", []string{"t1", `{"kind": "x"}`, "[1, 2]", "5", "{broken"}, "", `{"thread":"t1","text":[{"kind":"x"},[1,2],"5","{broken"]}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			got, err := word.Input(w, word.Values{Words: c.words, Self: c.self})
			is.NoErr(err)
			is.Equal(string(got), c.want)
		})
	}
}

// TestInputErrors proves that each wrong text is refused with a message that names the flag.
func TestInputErrors(t *testing.T) {
	w := of(t, torture)
	whole := func(s string) *string { return &s }
	ok := flags("need", "x")
	for _, c := range []struct {
		rule string
		v    word.Values
		code string
		want string
	}{
		{"missing positional", word.Values{Flags: ok}, "required", "<name> is missing"},
		{"missing flag", word.Values{Words: []string{"a"}}, "required", "--need is required"},
		{"extra word", word.Values{Words: []string{"a", "b"}, Flags: ok}, "unrecognized_key", `unexpected word "b"`},
		{"not an integer", word.Values{Words: []string{"a"}, Flags: flags("need", "x", "count", "ten")}, "invalid_type", `--count: "ten" is not an integer`},
		{"leading zero", word.Values{Words: []string{"a"}, Flags: flags("need", "x", "count", "007")}, "invalid_type", `--count: "007" is not an integer`},
		{"not a number", word.Values{Words: []string{"a"}, Flags: flags("need", "x", "ratio", "NaN")}, "invalid_type", `--ratio: "NaN" is not a number`},
		{"not a boolean", word.Values{Words: []string{"a"}, Flags: flags("need", "x", "loud", "maybe")}, "invalid_type", `--loud: "maybe" is not true or false`},
		{"not a choice", word.Values{Words: []string{"a"}, Flags: flags("need", "x", "level", "hig")}, "invalid_value", `--level: "hig" is not one of low, high; did you mean high?`},
		{"not a duration", word.Values{Words: []string{"a"}, Flags: flags("need", "x", "wait", "soon")}, "invalid_format", `--wait: "soon" is not a duration: write it like 90s or PT1M30S`},
		{"not JSON", word.Values{Words: []string{"a"}, Flags: flags("need", "x", "at", "{")}, "invalid_json", `--at: is not JSON`},
		{"not UTF-8", word.Values{Words: []string{"a\xff"}, Flags: ok}, "invalid_value", `is not UTF-8`},
		{"single flag repeated", word.Values{Words: []string{"a"}, Flags: flags("need", "x", "count", "1", "count", "2")}, "invalid_value", `--count: is given 2 times`},
		{"not key=value", word.Values{Words: []string{"a"}, Flags: flags("need", "x", "labels", "a")}, "invalid_value", `--labels: "a" is not key=value`},
		{"map key twice", word.Values{Words: []string{"a"}, Flags: flags("need", "x", "labels", "a=1", "labels", "a=2")}, "duplicate_key", `--labels: the key "a" is given twice`},
		{"no such file", word.Values{Words: []string{"a"}, Flags: flags("need", "x", "at", "@gone"), Read: read}, "invalid_value", `--at: open gone: no such file`},
		{"standard input twice", word.Values{Words: []string{"a"}, Flags: flags("need", "x", "at", "-", "points", "-"), Read: read}, "invalid_value", `--points: standard input is read by --at already`},
		{"input is not an object", word.Values{Whole: whole("[]")}, "invalid_json", "--input: is not a JSON object"},
		{"input has a key twice", word.Values{Whole: whole(`{"a":1,"a":2}`)}, "invalid_json", `--input: the key "a" is given twice`},
		{"input has trailing bytes", word.Values{Whole: whole(`{} {}`)}, "invalid_json", "--input: has more than one JSON value"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			_, err := word.Input(w, c.v)
			var e *kernelcontract.Error
			is.True(errors.As(err, &e))
			is.Equal(e.Code, kernelcontract.InvalidInput)
			is.Equal(string(e.Issues[0].Code), c.code)
			is.True(strings.Contains(e.Message, c.want)) // the message names the flag
		})
	}
	t.Run("all at once", func(t *testing.T) {
		is := is.New(t)
		_, err := word.Input(w, word.Values{Flags: flags("count", "x")})
		var e *kernelcontract.Error
		is.True(errors.As(err, &e))
		is.Equal(len(e.Issues), 3)
	})
	t.Run("self and thread", func(t *testing.T) {
		is := is.New(t)
		flagged := of(t, &kernelcontract.Query[ambientInput, kernelcontract.None]{Ref: "demo/svc.b", Summary: "B",
			Ambient: map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID}, CLI: kernelcontract.CLI{Args: []string{"text..."}}})
		_, err := word.Input(flagged, word.Values{Words: []string{"a"}, Self: "t1", Flags: flags("thread", "t2", "hostId", "h", "dir", "/")})
		is.True(err != nil)
	})
}

// TestWordsRoundTrip proves that words say what an input says, or that they decline.
func TestWordsRoundTrip(t *testing.T) {
	w := of(t, torture)
	base := `"name":"bb","need":"x"`
	for _, c := range []struct {
		rule, members, want string
	}{
		{"string", `"someText":"a b"`, "--some-text=a b"},
		{"leading dash", `"someText":"-x"`, "--some-text=-x"},
		{"boolean", `"loud":true`, "--loud"},
		{"boolean false", `"loud":false`, "--loud=false"},
		{"negation", `"polite":false`, "--no-polite"},
		{"null boolean", `"maybe":null`, "--maybe=null"},
		{"null integer", `"limit":null`, "--limit=null"},
		{"big integer", `"count":9007199254740993`, "--count=9007199254740993"},
		{"list", `"tags":["a","b"]`, "--tags=a|--tags=b"},
		{"integers", `"ids":[1,2]`, "--ids=1|--ids=2"},
		{"no integers", `"ids":[]`, "--ids=[]"},
		{"object", `"at":{"x":1,"y":2}`, `--at={"x":1,"y":2}`},
		{"map", `"labels":{"a":"1","b":""}`, "--labels=a=1|--labels=b="},
		{"string as anything", `"any":"text"`, `--any="text"`},
		{"null string", `"nick":null`, "declined"},
		{"no strings", `"tags":[]`, "declined"},
		{"null in a list", `"tags":[null]`, "declined"},
		{"key with =", `"labels":{"a=b":"1"}`, "declined"},
		{"empty map", `"labels":{}`, "declined"},
		{"file mark", `"someText":"@x"`, "declined"},
		{"short duration", `"wait":"90s"`, "declined"},
		{"unknown key", `"nope":1`, "declined"},
		{"NUL", `"someText":"a\u0000"`, "declined"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			input := json.RawMessage("{" + base + "," + c.members + "}")
			args, ok := word.Words(w, input)
			if c.want == "declined" {
				is.True(!ok)
				is.True(strings.Contains(word.CommandLine(w, input), "--input"))
				return
			}
			is.True(ok)
			is.Equal(strings.Join(args, "|"), "--need=x|"+c.want+"|bb")
		})
	}
	t.Run("positional with a dash", func(t *testing.T) {
		is := is.New(t)
		args, ok := word.Words(w, json.RawMessage(`{"name":"-x","need":"y"}`))
		is.True(ok)
		is.Equal(args, []string{"--need=y", "--", "-x"})
	})
	t.Run("skipped positional", func(t *testing.T) {
		is := is.New(t)
		two := of(t, &kernelcontract.Query[point2, kernelcontract.None]{Ref: "demo/svc.c", Summary: "C", CLI: kernelcontract.CLI{Args: []string{"a", "b"}}})
		_, ok := word.Words(two, json.RawMessage(`{"b":"x"}`))
		is.True(!ok)
		args, ok := word.Words(two, json.RawMessage(`{"a":"x"}`))
		is.True(ok)
		is.Equal(args, []string{"x"})
	})
}

type point2 struct {
	A string `json:"a,omitempty"`
	B string `json:"b,omitempty"`
}

func FuzzWords(f *testing.F) {
	f.Add(`{"name":"a","need":"b","tags":["x"],"labels":{"k":"v"},"at":{"x":1,"y":2},"ids":[1]}`)
	f.Add(`{"name":"-","need":"--","any":"5","loud":false}`)
	w := of(f, torture)
	f.Fuzz(func(t *testing.T, input string) {
		args, ok := word.Words(w, json.RawMessage(input))
		if ok && len(args) == 0 {
			t.Errorf("no words for %q", input)
		}
	})
}

func FuzzInput(f *testing.F) {
	f.Add("a", "someText", "x", `{"a":1}`)
	w := of(f, torture)
	f.Fuzz(func(t *testing.T, positional, field, text, whole string) {
		v := word.Values{Words: []string{positional}, Flags: flags("need", "x", field, text), Whole: &whole}
		if got, err := word.Input(w, v); err == nil && !json.Valid(got) {
			t.Errorf("not JSON: %q", got)
		}
	})
}
