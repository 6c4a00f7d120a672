package jsontext_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

func TestMarshalKeepsAngleBrackets(t *testing.T) {
	is := is.New(t)
	raw, err := jsontext.Marshal(map[string]string{"usage": "<a&b>"})
	is.NoErr(err)
	is.Equal(string(raw), `{"usage":"<a&b>"}`)
	_, err = jsontext.Marshal(make(chan int))
	is.True(err != nil)
}

func TestMembersKeepOrderAndRepeats(t *testing.T) {
	is := is.New(t)
	members, err := jsontext.Members([]byte(" {\"b\": 1.0, \"a\":[ 2 ],\"b\":null}\n"))
	is.NoErr(err)
	is.Equal(members, []jsontext.Member{
		{Name: "b", Raw: json.RawMessage("1.0")}, {Name: "a", Raw: json.RawMessage("[ 2 ]")}, {Name: "b", Raw: json.RawMessage("null")},
	})
	is.Equal(jsontext.Find(members, "a"), 1)
	is.Equal(jsontext.Find(members, "c"), -1)
}

func TestEqual(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[2]}`, `{ "b":[2], "a":1 }`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`1.0`, `1`, false},
		{`[1,2]`, `[2,1]`, false},
		{`null`, `null`, true},
		{`{`, `{`, false},
	} {
		if got := jsontext.Equal([]byte(tt.a), []byte(tt.b)); got != tt.want {
			t.Errorf("%s and %s: %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestMembersRefuses(t *testing.T) {
	for text, want := range map[string]error{
		"": jsontext.ErrEnds, " ": jsontext.ErrEnds, "{": jsontext.ErrEnds, `{"a"`: jsontext.ErrEnds, `{"a":1`: jsontext.ErrEnds,
		"[]": jsontext.ErrNotObject, "null": jsontext.ErrNotObject, `"x"`: jsontext.ErrNotObject,
		"{} {}": jsontext.ErrTrailing, "{}x": jsontext.ErrTrailing,
	} {
		if _, err := jsontext.Members([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	for _, text := range []string{`{"a":1,}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":01}`, `{1:2}`, `}`} {
		if _, err := jsontext.Members([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// FuzzNumber holds the grammar against encoding/json's.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-0", "1", "01", "1.", ".5", "1.5", "1e3", "1E+3", "1e", "-", "", "1 ", "+1", "0x1", "1e400", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var n json.Number
		first := s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9')
		last := s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' // no white space follows
		want := first && last && json.Unmarshal([]byte(s), &n) == nil
		if got := jsontext.IsNumber(s); got != want {
			t.Errorf("%q is a number: %v, want %v", s, got, want)
		}
		if jsontext.IsInteger(s) && !want {
			t.Errorf("%q is an integer and no number", s)
		}
	})
}

func TestInteger(t *testing.T) {
	for s, want := range map[string]bool{"0": true, "-12": true, "9007199254740993": true, "01": false, "1.0": false, "1e3": false, "": false, "-": false} {
		if got := jsontext.IsInteger(s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
}
