package protocol_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/matryer/is"
	"github.com/santhosh-tekuri/jsonschema/v6"

	. "github.com/bb-kernel/bb/bridgekit/protocol"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("nothing is loaded: %s", url) }

// schemas compiles the definitions of the golden schema.
func schemas(t testing.TB) func(name string) *jsonschema.Schema {
	text, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("urn:bb:bridge-protocol:3", document); err != nil {
		t.Fatal(err)
	}
	made := map[string]*jsonschema.Schema{}
	return func(name string) *jsonschema.Schema {
		if made[name] == nil {
			s, err := c.Compile("urn:bb:bridge-protocol:3#/$defs/" + name)
			if err != nil {
				t.Fatal(err)
			}
			made[name] = s
		}
		return made[name]
	}
}

func fits(s *jsonschema.Schema, raw []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func TestSchema(t *testing.T) {
	t.Run("golden", func(t *testing.T) {
		got := Schema()
		if *update {
			if err := os.WriteFile("schema.json", got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile("schema.json")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Error("schema.json is not what the types say; run go test -run TestSchema -update")
		}
	})
	t.Run("examples", func(t *testing.T) {
		var got bytes.Buffer
		for _, s := range samples() {
			wire, err := wireOf(s.value)
			if err != nil {
				t.Fatal(s.name, err)
			}
			fmt.Fprintf(&got, "{\"name\":%q,\"type\":%q,\"value\":%s}\n", s.name, s.typ, wire)
		}
		if *update {
			if err := os.WriteFile("examples.ndjson", got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile("examples.ndjson")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Error("examples.ndjson is not what the samples say; run go test -run TestSchema -update")
		}
	})
	t.Run("is a valid schema", func(t *testing.T) {
		c := jsonschema.NewCompiler()
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("urn:bb:bridge-protocol:3", document); err != nil {
			t.Fatal(err)
		}
		for name := range document.(map[string]any)["$defs"].(map[string]any) {
			if _, err := c.Compile("urn:bb:bridge-protocol:3#/$defs/" + name); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("every method is listed", func(t *testing.T) {
		is := is.New(t)
		var document struct {
			Methods map[string]struct {
				From           string
				Params, Result json.RawMessage
			} `json:"x-methods"`
		}
		is.NoErr(json.Unmarshal(Schema(), &document))
		is.Equal(len(document.Methods), 30)
		for _, s := range CoreToBridge() {
			is.Equal(document.Methods[s.Method].From, "core")
			is.True(document.Methods[s.Method].Result != nil)
		}
		is.Equal(document.Methods[MethodThreadDelta].From, "bridge")
		is.True(document.Methods[MethodThreadDelta].Result == nil) // a notification
		is.True(document.Methods[MethodToolCall].Result != nil)
	})
}

// goType returns a new value of the type that an example shows.
func goType(name string) any {
	for _, s := range samples() {
		if s.typ == name {
			switch name {
			case "Delta":
				return new(Delta)
			case "Item":
				return new(Item)
			case "PromptInput":
				return new(PromptInput)
			case "Interaction":
				return new(Interaction)
			case "Resolution":
				return new(Resolution)
			}
			return reflect.New(reflect.TypeOf(s.value)).Interface()
		}
	}
	return nil
}

// decodeAs decodes raw as the type that an example shows.
func decodeAs(typ string, raw []byte) (any, error) {
	asError := func(v any, err *Error) (any, error) {
		if err != nil {
			return nil, err
		}
		return v, nil
	}
	switch typ {
	case "Delta":
		d, err := ParseDelta(raw)
		if err != nil {
			return nil, err
		}
		return d, nil
	case "Item":
		v, err := Decode[Item](raw)
		return asError(v, err)
	case "PromptInput":
		v, err := Decode[PromptInput](raw)
		return asError(v, err)
	case "Interaction":
		v, err := Decode[Interaction](raw)
		return asError(v, err)
	case "Resolution":
		v, err := Decode[Resolution](raw)
		return asError(v, err)
	}
	into := goType(typ)
	if err := into.(json.Unmarshaler).UnmarshalJSON(raw); err != nil {
		return nil, err
	}
	return reflect.ValueOf(into).Elem().Interface(), nil
}

func TestExamples(t *testing.T) {
	schema := schemas(t)
	for _, e := range Examples() {
		t.Run(e.Name, func(t *testing.T) {
			if err := fits(schema(e.Type), e.JSON); err != nil {
				t.Error(err)
			}
			if e.Type == "Error" {
				var w struct {
					Code    int
					Message string
					Data    json.RawMessage
				}
				if err := json.Unmarshal(e.JSON, &w); err != nil {
					t.Fatal(err)
				}
				got, err := wireOf(ErrorFromWire(w.Code, w.Message, w.Data))
				if err != nil || string(got) != string(e.JSON) {
					t.Errorf("comes back as %s (%v)", got, err)
				}
				return
			}
			v, err := decodeAs(e.Type, e.JSON)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Marshal(v)
			if err != nil || string(again) != string(e.JSON) {
				t.Errorf("comes back as\n%s (%v), not\n%s", again, err, e.JSON)
			}
			if issues := Validate(v); len(issues) > 0 {
				t.Error(issues)
			}
		})
	}
}

// node is a JSON value whose objects keep their order.
type node struct {
	raw    string
	names  []string
	fields []*node
	list   bool
	object bool
}

func parse(t testing.TB, raw []byte) *node {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var read func() *node
	read = func() *node {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch token {
		case json.Delim('{'):
			n := &node{object: true}
			for d.More() {
				name, err := d.Token()
				if err != nil {
					t.Fatal(err)
				}
				n.names = append(n.names, name.(string))
				n.fields = append(n.fields, read())
			}
			_, _ = d.Token()
			return n
		case json.Delim('['):
			n := &node{list: true}
			for d.More() {
				n.fields = append(n.fields, read())
			}
			_, _ = d.Token()
			return n
		}
		text, err := json.Marshal(token)
		if err != nil {
			t.Fatal(err)
		}
		return &node{raw: string(text)}
	}
	return read()
}

func (n *node) String() string {
	if !n.object && !n.list {
		return n.raw
	}
	parts := make([]string, len(n.fields))
	for i, f := range n.fields {
		parts[i] = f.String()
		if n.object {
			name, _ := json.Marshal(n.names[i])
			parts[i] = string(name) + ":" + parts[i]
		}
	}
	if n.object {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// mutations calls try with every change of one place of the value: each field left out, renamed, and each value
// replaced by one of other types.
func (n *node) mutations(root *node, try func(what, text string)) {
	for i, f := range n.fields {
		kept := *f
		where := fmt.Sprint(i)
		if n.object {
			where = n.names[i]
		}
		for _, other := range []string{"null", "true", "7", "-1", "1.5", `"x"`, `""`, `" "`, `"a\u001fb"`, "[]", "{}", `[{}]`, `{"kind":"x/y"}`} {
			*f = node{raw: other}
			try(where+" becomes "+other, root.String())
			*f = kept
		}
		f.mutations(root, try)
		if !n.object {
			continue
		}
		names, fields := n.names, n.fields
		n.names = append(append([]string(nil), names[:i]...), names[i+1:]...)
		n.fields = append(append([]*node(nil), fields[:i]...), fields[i+1:]...)
		try("without "+where, root.String())
		n.names, n.fields = names, fields
	}
	if n.object {
		names, fields := n.names, n.fields
		n.names = append(append([]string(nil), names...), "zzUnknown")
		n.fields = append(append([]*node(nil), fields...), &node{raw: "1"})
		try("with an unknown field", root.String())
		n.names, n.fields = names, fields
	}
}

// unspeakable tells whether an error has only issues that a JSON Schema cannot state.
func unspeakable(err error) bool {
	var issues []Issue
	var whole *Error
	var delta *DeltaError
	switch {
	case errors.As(err, &whole):
		issues = whole.Issues
	case errors.As(err, &delta):
		issues = delta.Issues
	}
	for _, i := range issues {
		switch {
		case i.Code == IssueDuplicateKey, i.Code == IssueInvalidJSON, i.Code == IssueTooBig,
			strings.HasSuffix(i.Message, "is there twice"):
		default:
			return false
		}
	}
	return len(issues) > 0
}

// TestMutations shows that the decoder and the schema are of one mind about every example with one change.
func TestMutations(t *testing.T) {
	schema := schemas(t)
	for _, e := range Examples() {
		if e.Type == "Error" || e.Type == "DeltaParams" { // the deltas have examples of their own
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			s := schema(e.Type)
			root := parse(t, e.JSON)
			refused := 0
			root.mutations(root, func(what, text string) {
				_, err := decodeAs(e.Type, []byte(text))
				bad := fits(s, []byte(text))
				if err != nil {
					refused++
				}
				if (err == nil) != (bad == nil) && !unspeakable(err) {
					t.Errorf("%s: the decoder says %v, the schema says %v\n%s", what, err, bad, text)
				}
			})
			if refused == 0 && len(root.fields) > 0 {
				t.Error("no change was refused")
			}
		})
	}
}
