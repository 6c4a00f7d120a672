package kernelcontract

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Described defines a method by its schemas instead of Go types: one of a plugin that runs as a program of its own. On
// every surface it is the same as the typed definition that the schemas were made of. It is plain data.
type Described struct {
	Ref         string         // plugin/service.method, required
	Kind        Kind           // KindQuery, KindMutation or KindStream, required
	Summary     string         // one line, required
	Description string         // Markdown
	Input       *schema.Schema // of an object, required
	Output      *schema.Schema // of the result, or of an item; required
	CLI         CLI
	Tool        *Tool
	Hide        Surfaces
	Ambient     map[string]ContextKey
	Errors      map[Code]ErrorDef
	Examples    []ExampleDef
	Access      Access
	Wait        time.Duration // not for streams
	OnHost      bool
	Destructive bool // mutations only
	Resumable   bool // streams only
	// RenderText is the author's text for a result or an item; nil: the generic text.
	RenderText func(v json.RawMessage, r Render) (string, error)
}

// Handle pairs the definition of a query or a mutation with the function that answers it.
func (m *Described) Handle(fn func(ctx context.Context, in json.RawMessage) (json.RawMessage, error)) Handler {
	h := Handler{ref: m.Ref, method: m}
	if fn != nil && m.Kind != KindStream {
		h.call = func(ctx context.Context, in json.RawMessage) (any, error) { return fn(ctx, in) }
	}
	return h
}

// HandleStream pairs the definition of a stream with the function that answers it. The function's error comes before the
// stream opens, an error in the sequence ends it.
func (m *Described) HandleStream(fn func(ctx context.Context, in json.RawMessage) (iter.Seq2[Event[json.RawMessage], error], error)) Handler {
	h := Handler{ref: m.Ref, method: m}
	if fn == nil || m.Kind != KindStream {
		return h
	}
	h.open = func(ctx context.Context, in json.RawMessage) (iter.Seq2[Event[any], error], error) {
		items, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return func(yield func(Event[any], error) bool) {
			for ev, err := range items {
				if !yield(Event[any]{Cursor: ev.Cursor, Item: ev.Item}, err) || err != nil {
					return
				}
			}
		}, nil
	}
	return h
}

func (m *Described) define() MethodDef {
	d := MethodDef{
		Kind: m.Kind, Summary: m.Summary, Description: m.Description, CLI: m.CLI, Tool: m.Tool, Expose: exposure(m.Hide, m.Tool),
		Ambient: m.Ambient, Errors: m.Errors, Examples: m.Examples, Access: m.Access, Wait: m.Wait, Target: target(m.OnHost),
		Destructive: m.Destructive, Resumable: m.Resumable,
		ref: m.Ref, input: fixedSchema(m.Input), output: fixedSchema(m.Output),
	}
	if m.RenderText != nil {
		d.render = func(v any, r Render) (string, error) {
			raw, ok := v.(json.RawMessage)
			if !ok {
				return "", Internal.Errorf("a result of type %T is not JSON", v)
			}
			return m.RenderText(raw, r)
		}
	}
	d.problems = m.problems()
	return d
}

// problems are those that a typed definition cannot have.
func (m *Described) problems() (list []Problem) {
	add := func(field, format string, args ...any) {
		list = append(list, Problem{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	switch m.Kind {
	case KindQuery, KindMutation, KindStream:
	default:
		add("Kind", "%q is not query, mutation or stream", m.Kind)
	}
	if m.Destructive && m.Kind != KindMutation {
		add("Destructive", "only a mutation can destroy something")
	}
	if m.Resumable && m.Kind != KindStream {
		add("Resumable", "only a stream can be resumed")
	}
	if m.Wait != 0 && m.Kind == KindStream {
		add("Wait", "a stream has no budget: leave it out")
	}
	if m.CLI.Offline {
		add("CLI.Offline", "a method that is known by its schemas runs on a server only")
	}
	if m.Output == nil {
		add("Output", "is required: the schema of what is answered")
	}
	if m.Input == nil {
		add("Input", "is required: the schema of an object, with no properties for no input")
		return list
	}
	root := m.Input.Resolve(m.Input)
	if root == nil || root.Type != schema.Object || !root.Strict || root.Nullable || root.Values != nil {
		add("Input", `must be the schema of an object with "additionalProperties": false`)
		return list
	}
	for _, p := range root.Properties {
		if !schema.ValidName(p.Name) {
			add("input."+p.Name, "is not a valid name: it must match ^[a-z][a-zA-Z0-9]*$")
		}
	}
	return list
}

// fixedSchema is a schema that is not derived.
func fixedSchema(s *schema.Schema) *lazySchema {
	if s == nil {
		s = &schema.Schema{Type: schema.Object, Strict: true} // reported as missing
	}
	return &lazySchema{t: reflect.TypeFor[json.RawMessage](), fixed: true, s: s}
}

// describedFields returns the fields of a schema as those of a Go type would be. Their Type is bool for a boolean, and JSON
// for all else.
func describedFields(root *schema.Schema) []schema.Field {
	object := root.Resolve(root)
	if object == nil {
		return nil
	}
	fields := make([]schema.Field, len(object.Properties))
	for i, p := range object.Properties {
		f := schema.Field{Name: p.Name, GoName: p.Name, Type: reflect.TypeFor[json.RawMessage](), Index: []int{i}, Required: p.Required, OmitZero: !p.Required}
		if s := root.Resolve(p.Schema); s != nil {
			f.Nullable, f.Description = s.Nullable, s.Description
			if s.Default != nil {
				f.HasDefault, f.Default = true, string(s.Default)
			}
			if s.Type == schema.Boolean {
				f.Type = reflect.TypeFor[bool]()
			}
		}
		fields[i] = f
	}
	return fields
}
