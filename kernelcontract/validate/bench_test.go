package validate_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
)

// greetInput is a small input as most methods have one.
type greetInput struct {
	Name       string `json:"name" minLength:"1"`
	Salutation string `json:"salutation,omitempty" default:"Hello"`
}

func compile(t testing.TB, goType reflect.Type) *validate.Validator {
	t.Helper()
	s, err := schema.Of(goType)
	if err != nil {
		t.Fatal(err)
	}
	v, err := validate.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func BenchmarkInput(b *testing.B) {
	whole := []byte(`{"name":"bb","salutation":"Good morning"}`)
	short := []byte(`{"name":"bb"}`)
	v := compile(b, reflect.TypeFor[greetInput]())
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, issues := v.Input(whole); issues != nil {
				b.Fatal(issues)
			}
		}
	})
	b.Run("default filled", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, issues := v.Input(short); issues != nil {
				b.Fatal(issues)
			}
		}
	})
	b.Run("baseline json map", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var m map[string]any
			if err := json.Unmarshal(whole, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline general validator", func(b *testing.B) {
		s, err := schema.Of(reflect.TypeFor[greetInput]())
		if err != nil {
			b.Fatal(err)
		}
		theirs := oracle(b, s)
		b.ReportAllocs()
		for b.Loop() {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(whole))
			if err == nil {
				err = theirs.Validate(value)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkInputEveryShape(b *testing.B) {
	raw := []byte(`{"text":"abc","lower":"abc","choice":"red","whole":1,"bounded":4,"tiny":-5,"wide":18446744073709551615,"real":1.5,"ratio":0.5,"flag":true,"maybe":null,` +
		`"list":["a","b"],"table":{"a":1},"data":"AAAA","at":"2026-01-31T15:04:05Z","took":"PT1M","mail":"me@example.org","free":{"a":[1,2,3]},"point":{"x":1,"y":2},` +
		`"tree":{"name":"a","kids":[{"name":"b"},{"name":"c"}]},"shape":{"kind":"group","of":[{"kind":"square","side":1}]},"mixed":"text"}`)
	v := compile(b, reflect.TypeFor[everyShape]())
	b.Run("input", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, issues := v.Input(raw); issues != nil {
				b.Fatal(issues)
			}
		}
	})
	b.Run("baseline json map", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			var m map[string]any
			if err := json.Unmarshal(raw, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	s, err := schema.Of(reflect.TypeFor[greetInput]())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := validate.Compile(s); err != nil {
			b.Fatal(err)
		}
	}
}
