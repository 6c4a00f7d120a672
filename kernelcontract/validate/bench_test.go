package validate_test

import (
	"encoding/json"
	"reflect"
	"testing"

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
}
