package kernelcontract

import (
	"encoding/json"
	"reflect"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Budgets of a call whose definition names none (docs/spec/http.md).
const (
	QueryWait    = 30 * time.Second
	MutationWait = 60 * time.Second
)

// Method is a *Query, *Mutation, *Stream, *Described or *Custom.
type Method interface{ define() MethodDef }

// MethodDef is a method without its Go types, normalized: what surfaces are derived from. It is read-only and safe for
// concurrent use; schemas are derived on first use.
type MethodDef struct {
	PluginID, Service, Method string
	Kind                      Kind
	Summary, Description      string
	Expose                    Exposure
	Path                      string // a kernel method's own path; "": the derived route
	CLI                       CLI    // Name is filled; a nil Group is that of the service
	Tool                      *Tool  // Name and Description are filled; nil: no tool
	Ambient                   map[string]ContextKey
	Errors                    map[Code]ErrorDef
	Examples                  []ExampleDef
	Destructive               bool
	Wait                      time.Duration // as declared; Budget is what holds
	Resumable                 bool
	Target                    Target
	Access                    Access // Auth is filled

	ref           string
	input, output *lazySchema
	render        func(v any, r Render) (string, error)
	problems      []Problem // of a definition whose form allows more mistakes, without service and method
}

// Ref returns plugin/service.method.
func (d *MethodDef) Ref() string { return d.ref }

// ServiceID returns plugin/service.
func (d *MethodDef) ServiceID() string { return d.PluginID + "/" + d.Service }

// Budget returns how long a call may take: Wait, else MutationWait or QueryWait. A stream's ends with its first frame.
func (d *MethodDef) Budget() time.Duration {
	switch {
	case d.Wait > 0:
		return d.Wait
	case d.Kind == KindMutation:
		return MutationWait
	}
	return QueryWait
}

// Fields returns the input's fields in Go order, without deriving the schema.
func (d *MethodDef) Fields() ([]schema.Field, error) {
	if d.input.fixed {
		return describedFields(d.input.s), nil
	}
	return schema.Fields(d.input.t)
}

// Described reports whether the method is known by its schemas instead of Go types: its results are json.RawMessage.
func (d *MethodDef) Described() bool { return d.input.fixed }

// Input returns the input's schema, an object; it is derived once. The error lists every problem of the type.
func (d *MethodDef) Input() (*schema.Schema, error) { return d.input.get() }

// Output returns the schema of the result, of the item for a stream; it is derived once.
func (d *MethodDef) Output() (*schema.Schema, error) { return d.output.get() }

// OutputType returns the Go type of the result, of the item for a stream.
func (d *MethodDef) OutputType() reflect.Type { return d.output.t }

// InputType returns the Go type of the input.
func (d *MethodDef) InputType() reflect.Type { return d.input.t }

// RendersText reports whether the author gave a text form.
func (d *MethodDef) RendersText() bool { return d.render != nil }

// RenderText returns the author's text for a result: the method's output type, or its JSON as json.RawMessage. Call it
// only when RendersText; the author's code may panic.
func (d *MethodDef) RenderText(v any, r Render) (string, error) { return d.render(v, r) }

// ErrorDef declares a code of a plugin.
type ErrorDef struct {
	Like        Code   `json:"like"` // the kernel code whose table row it takes
	Description string `json:"description,omitempty"`
	Retryable   bool   `json:"retryable,omitempty"`
}

// Example shows a call. CLI replaces the derived command line.
type Example[In any] struct {
	Input In
	Note  string
	CLI   string
}

// ExampleDef is an Example without its type.
type ExampleDef struct {
	Input json.RawMessage `json:"input"`
	Note  string          `json:"note,omitempty"`
	CLI   string          `json:"cli,omitempty"`
}

type lazySchema struct {
	t     reflect.Type
	fixed bool // s is given, and t says nothing
	once  sync.Once
	s     *schema.Schema
	err   error
}

func (l *lazySchema) get() (*schema.Schema, error) {
	if l.fixed {
		return l.s, nil
	}
	l.once.Do(func() { l.s, l.err = schema.Of(l.t) })
	return l.s, l.err
}

func schemaOf[T any]() *lazySchema { return &lazySchema{t: reflect.TypeFor[T]()} }

func inputSchema[In any]() (*schema.Schema, error) { return schema.Of(reflect.TypeFor[In]()) }

func exposure(hide Surfaces, tool *Tool) Exposure {
	return Exposure{HTTP: hide&OnHTTP == 0, SDK: hide&OnSDK == 0, CLI: hide&OnCLI == 0, Tool: tool != nil}
}

func target(onHost bool) Target {
	if onHost {
		return OnHost
	}
	return OnServer
}

func exampleDefs[In any](examples []Example[In]) []ExampleDef {
	if len(examples) == 0 {
		return nil
	}
	defs := make([]ExampleDef, len(examples))
	for i, e := range examples {
		defs[i] = ExampleDef{Input: exampleInput(e.Input), Note: e.Note, CLI: e.CLI}
	}
	return defs
}

// exampleInput returns an example's input as JSON, nil when it does not encode or its type's own methods panic: who checks
// the example reports that.
func exampleInput(in any) (raw json.RawMessage) {
	defer func() {
		if recover() != nil {
			raw = nil
		}
	}()
	raw, err := schema.Marshal(in)
	if err != nil {
		return nil
	}
	return raw
}

func renderer[Out any](fn func(Out, Render) string) func(any, Render) (string, error) {
	if fn == nil {
		return nil
	}
	return func(v any, r Render) (string, error) {
		switch v := v.(type) {
		case Out:
			return fn(v, r), nil
		case json.RawMessage:
			var out Out
			if err := json.Unmarshal(v, &out); err != nil {
				return "", Internal.Errorf("the result does not fit its Go type: %w", err)
			}
			return fn(out, r), nil
		}
		return "", Internal.Errorf("a result of type %T does not fit %s", v, reflect.TypeFor[Out]())
	}
}
