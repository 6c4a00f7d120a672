package extension_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

func declare(id, name, item, state string) protocol.ProviderDeclaration {
	return protocol.ProviderDeclaration{ID: id, ExtensionKinds: map[string]protocol.ExtensionKind{
		name: {Item: json.RawMessage(item), State: json.RawMessage(state)},
	}}
}

func TestCheck(t *testing.T) {
	kinds, err := extension.New(
		declare("one", "demo/chart", `{"type":"object","properties":{"points":{"type":"array","items":{"type":"integer"}}},"required":["points"],"additionalProperties":false}`, ""),
		declare("two", "demo/mood", "null", `{"type":"string"}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, kind, payload, want string }{
		{"an item that fits", "demo/chart", `{"points":[1,2]}`, ""},
		{"an integer beyond 2^53", "demo/chart", `{"points":[9007199254740993]}`, ""},
		{"a missing field", "demo/chart", `{}`, "item of kind demo/chart: payload: missing property 'points'"},
		{"every place, sorted", "demo/chart", `{"points":["x",1,"y"],"z":1}`, "item of kind demo/chart: payload/points/0: got string, want integer; payload/points/2: got string, want integer; payload: additional properties 'z' not allowed"},
		{"no payload is null", "demo/chart", ``, "item of kind demo/chart: payload: got null, want object"},
		{"not JSON", "demo/chart", `{`, "item of kind demo/chart: is not JSON: unexpected EOF"},
		{"a kind with a state only", "demo/mood", `"x"`, `item of kind "demo/mood": extension kind is not declared`},
		{"an unknown kind", "demo/other", `{}`, `item of kind "demo/other": extension kind is not declared`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := kinds.CheckItem(test.kind, json.RawMessage(test.payload)); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	t.Run("state", func(t *testing.T) {
		is := is.New(t)
		is.NoErr(kinds.CheckState("demo/mood", json.RawMessage(`"fine"`)))
		is.True(kinds.CheckState("demo/mood", json.RawMessage(`1`)) != nil)
		is.True(errors.Is(kinds.CheckState("demo/chart", json.RawMessage(`1`)), extension.ErrUndeclared)) // only its item is declared
		is.True(kinds.HasItem("demo/chart") && !kinds.HasState("demo/chart"))
		is.True(!kinds.HasItem("demo/mood") && kinds.HasState("demo/mood"))
	})
	t.Run("nothing declared", func(t *testing.T) {
		is := is.New(t)
		var none *extension.Kinds
		is.True(!none.HasItem("a/b") && !none.HasState("a/b"))
		is.True(errors.Is(none.CheckItem("a/b", nil), extension.ErrUndeclared))
		is.True(errors.Is(none.CheckState("a/b", nil), extension.ErrUndeclared))
	})
	t.Run("an error is bounded", func(t *testing.T) {
		is := is.New(t)
		err := kinds.CheckItem("demo/chart", json.RawMessage(`{"points":[`+strings.Repeat(`"x",`, 1000)+`1]}`))
		is.True(err != nil)
		is.True(strings.HasSuffix(err.Error(), "and 980 more"))
	})
}

func TestNew(t *testing.T) {
	for _, test := range []struct {
		name  string
		decls []protocol.ProviderDeclaration
		want  string // "" for none
	}{
		{"the same kind twice with one schema", []protocol.ProviderDeclaration{declare("a", "x/y", `{"type": "string"}`, ""), declare("b", "x/y", `{"type":"string"}`, "")}, ""},
		{"item and state of a kind in two declarations", []protocol.ProviderDeclaration{declare("a", "x/y", `true`, ""), declare("b", "x/y", "", `true`)}, ""},
		{"two schemas for one kind", []protocol.ProviderDeclaration{declare("a", "x/y", `true`, ""), declare("b", "x/y", `{}`, "")}, "provider b: extension kind x/y: schema of item: differs"},
		{"no schema", []protocol.ProviderDeclaration{declare("a", "x/y", "", "null")}, "needs a schema for item or state"},
		{"a bad name", []protocol.ProviderDeclaration{declare("a", "X", `true`, "")}, `extension kind "X" must be named`},
		{"not JSON", []protocol.ProviderDeclaration{declare("a", "x/y", `{`, "")}, "is not JSON"},
		{"not a schema", []protocol.ProviderDeclaration{declare("a", "x/y", `{"type":"text"}`, "")}, "schema of item"},
		{"a bad pattern", []protocol.ProviderDeclaration{declare("a", "x/y", `{"pattern":"("}`, "")}, "schema of item"},
		{"another document", []protocol.ProviderDeclaration{declare("a", "x/y", `{"$ref":"file:///etc/passwd"}`, "")}, "must be whole in itself"},
		{"an address", []protocol.ProviderDeclaration{declare("a", "x/y", `{"$ref":"https://example.com/a.json"}`, "")}, "must be whole in itself"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := extension.New(test.decls...)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	t.Run("every problem at once", func(t *testing.T) {
		is := is.New(t)
		_, err := extension.New(declare("a", "x/y", `{`, `{`), declare("b", "B", `true`, ""))
		is.True(err != nil)
		is.Equal(strings.Count(err.Error(), "\n"), 2)
	})
}

func FuzzCheckItem(f *testing.F) {
	f.Add(`{"type":"object"}`, `{"a":1}`)
	f.Add(`{"$ref":"#"}`, `null`)
	f.Add(`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"minLength":3}}}`, `"ab"`)
	f.Fuzz(func(t *testing.T, schema, payload string) {
		kinds, err := extension.New(declare("a", "x/y", schema, ""))
		if err != nil || !kinds.HasItem("x/y") {
			return
		}
		first := kinds.CheckItem("x/y", json.RawMessage(payload))
		again := kinds.CheckItem("x/y", json.RawMessage(payload))
		if (first == nil) != (again == nil) || first != nil && first.Error() != again.Error() {
			t.Errorf("%s against %s: first %v, then %v", payload, schema, first, again)
		}
	})
}
