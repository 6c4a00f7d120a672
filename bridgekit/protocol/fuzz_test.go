package protocol_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	. "github.com/bb-kernel/bb/bridgekit/protocol"
)

// FuzzParseDelta: the strict decoder never panics, what it accepts comes back equal, and the schema agrees.
func FuzzParseDelta(f *testing.F) {
	schema := schemas(f)("Delta")
	for _, e := range Examples() {
		if e.Type == "Delta" {
			f.Add([]byte(e.JSON))
		}
	}
	f.Add([]byte(`{"kind":"usage","kind":"todo"}`))
	f.Add([]byte(`{"kind":"provider.unhandled","scope":"thread","rawType":"","raw":{"a":1,"a":2},"parentRef":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := ParseDelta(raw)
		if (d == nil) == (err == nil) {
			t.Fatalf("got %v and %v", d, err)
		}
		if err != nil {
			if len(err.Issues) == 0 || err.Error() == "" {
				t.Error("an error without an issue")
			}
			if fits(schema, raw) == nil && !unspeakable(err) {
				t.Errorf("the schema accepts what the decoder refuses: %v", err)
			}
			return
		}
		if bad := fits(schema, raw); bad != nil {
			t.Errorf("the schema refuses what the decoder accepts: %v", bad)
		}
		wire, bad := Marshal(d)
		if bad != nil {
			t.Fatal(bad)
		}
		again, err := ParseDelta(wire)
		if err != nil {
			t.Fatalf("%s: %v", wire, err)
		}
		twice, bad := Marshal(again)
		if bad != nil || string(twice) != string(wire) {
			t.Errorf("%s became %s (%v)", wire, twice, bad)
		}
		var list Deltas
		if bad := json.Unmarshal([]byte("["+string(raw)+"]"), &list); bad != nil {
			t.Errorf("alone it is right, in a list %v", bad)
		}
	})
}

// FuzzDecode: no message type panics, and what is accepted comes back equal.
func FuzzDecode(f *testing.F) {
	var types []string
	seen := map[string]bool{"Error": true}
	for i, e := range Examples() {
		f.Add(uint8(i), []byte(e.JSON))
		if !seen[e.Type] {
			seen[e.Type] = true
			types = append(types, e.Type)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		typ := types[int(which)%len(types)]
		v, err := decodeAs(typ, raw)
		if err != nil {
			return
		}
		wire, err := Marshal(v)
		if err != nil {
			t.Fatal(typ, err)
		}
		again, err := decodeAs(typ, wire)
		if err != nil {
			t.Fatalf("%s: %s: %v", typ, wire, err)
		}
		if twice, err := Marshal(again); err != nil || string(twice) != string(wire) {
			t.Errorf("%s: %s became %s (%v)", typ, wire, twice, err)
		}
		if !json.Valid(raw) {
			t.Errorf("%s: accepted what is not JSON", typ)
		}
	})
}

// FuzzTextFastPath: the fast path reads exactly what the strict decoder reads.
func FuzzTextFastPath(f *testing.F) {
	for _, text := range []string{
		`{"kind":"item.text","scope":"turn","turnKey":null,"key":{"providerItemId":"m1","channel":null,"parentRef":null},"stream":"text","text":"Hello"}`,
		`{"kind":"item.text","scope":"turn","turnKey":"t","key":{"providerItemId":null,"channel":"c","parentRef":"p"},"stream":"summary","text":"\ud83d\ude00\u2028"}`,
		`{"kind":"item.text","scope":"thread","key":{"providerItemId":"m1","channel":null,"parentRef":null},"stream":"text","text":""}`,
		`{"kind":"item.text","scope":"turn","turnKey":"","key":{"providerItemId":null,"channel":null,"parentRef":null},"stream":"text","text":"x"}`,
		`{"kind":"item.text","scope":"turn","turnKey":null,"key":{"providerItemId":"\u001f","channel":null,"parentRef":null},"stream":"text","text":"x"}`,
		`{"kind":"item.text","scope":"turn","turnKey":null,"key":{"providerItemId":"m1","channel":null,"parentRef":null},"stream":"text","text":"x","x":1}`,
		`{"text":"x","kind":"item.text"}`,
	} {
		f.Add([]byte(text), []byte(text))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		if !json.Valid(first) || !json.Valid(second) {
			return
		}
		var batch DeltaBatch
		if err := ParseDeltaParams([]byte(`{"threadId":"t","deltas":[`+string(first)+`,`+string(second)+`]}`), &batch); err != nil {
			_, one := ParseDelta(first)
			_, two := ParseDelta(second)
			if !isNoJSON(one) && !isNoJSON(two) { // UTF-8 and depth, which json.Valid does not see
				t.Fatalf("%v, but the deltas alone say %v and %v", err, one, two)
			}
			return
		}
		for i, raw := range [][]byte{first, second} {
			got := batch.Deltas[i]
			want, err := ParseDelta(raw)
			if (err == nil) != (got.Err == nil) || err != nil && !reflect.DeepEqual(got.Err.Issues, err.Issues) {
				t.Fatalf("errors differ: %v and %v", got.Err, err)
			}
			if !reflect.DeepEqual(got.Delta, want) {
				t.Errorf("got %#v, want %#v", got.Delta, want)
			}
			if string(got.Raw) != strings.Trim(string(raw), " \t\r\n") {
				t.Errorf("raw is %s", got.Raw)
			}
		}
	})
}

func isNoJSON(err *DeltaError) bool { return err != nil && err.Issues[0].Code == IssueInvalidJSON }

// FuzzResolution: an answer that a request accepts is one that it asked for.
func FuzzResolution(f *testing.F) {
	f.Add([]byte(`{"kind":"approval","decision":"deny","granted":null}`))
	f.Add([]byte(`{"kind":"answer","answers":{"colour":{"selected":["red"],"freeText":null},"why":{"selected":[],"freeText":"x"}}}`))
	f.Add([]byte(`{"kind":"submitted","data":[1]}`))
	f.Add([]byte(`{"kind":"interrupted"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := ParseResolution(raw)
		if err != nil {
			if !errors.Is(err, InvalidParams) || len(err.Issues) == 0 {
				t.Errorf("got %v", err)
			}
			return
		}
		accepted := 0
		for _, q := range []Interaction{&Approval{}, sampleQuestions(), &OpenInteraction{Name: "a/b"}} {
			if q.Accepts(r) == nil {
				accepted++
			}
		}
		if accepted > 1 {
			t.Errorf("%s is accepted by %d kinds of requests", raw, accepted)
		}
		if a, ok := r.(*Answers); ok && sampleQuestions().Accepts(a) == nil && len(a.Answers) != 2 {
			t.Errorf("%s is accepted, and two were asked", raw)
		}
	})
}
