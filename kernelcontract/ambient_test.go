package kernelcontract_test

import (
	"testing"

	"github.com/matryer/is"

	kc "github.com/bb-kernel/bb/kernelcontract"
)

type ambientIn struct {
	Text   string `json:"text,omitempty"`
	Thread string `json:"thread,omitempty"`
	Dir    string `json:"dir,omitempty"`
}

func TestFillAmbient(t *testing.T) {
	s := notes(&kc.Query[ambientIn, string]{Ref: "demo/notes.here", Summary: "s",
		Ambient: map[string]kc.ContextKey{"dir": kc.CWD, "thread": kc.ThreadID}})
	def, err := s.Def()
	if err != nil {
		t.Fatal(err)
	}
	all := kc.Context{ThreadID: "t1", CWD: `/a "b"`, HostID: "h"}
	for _, tt := range []struct {
		name string
		in   string
		c    kc.Context
		want string
	}{
		{"what is omitted, in schema order", `{"text":"x"}`, all, `{"text":"x","thread":"t1","dir":"/a \"b\""}`},
		{"an empty object", ` { } `, kc.Context{ThreadID: "t1"}, `{ "thread":"t1"}`},
		{"what is given stays", `{"thread":"","dir":null}`, all, `{"thread":"","dir":null}`},
		{"what the context does not know stays out", `{}`, kc.Context{ThreadID: "t1"}, `{"thread":"t1"}`},
		{"no context", `{}`, kc.Context{}, `{}`},
		{"no object", `[1]`, all, `[1]`},
		{"null", `null`, all, `null`},
		{"no JSON", `{"text"`, all, `{"text"`},
		{"numbers and repeats are left to validation", `{"text":1.0,"text":2}`, kc.Context{ThreadID: "t"}, `{"text":1.0,"text":2,"thread":"t"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is.New(t).Equal(string(def.Methods[0].FillAmbient([]byte(tt.in), tt.c)), tt.want)
		})
	}
}
