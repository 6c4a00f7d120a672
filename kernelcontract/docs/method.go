package docs

import (
	"fmt"
	"slices"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
	"github.com/bb-kernel/bb/kernelcontract/route"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// MethodDoc is all that is public of a method, a pure function of its definition.
type MethodDoc struct {
	PluginID    string                                          `json:"pluginId"`
	Service     string                                          `json:"service"`
	Method      string                                          `json:"method"`
	Kind        kernelcontract.Kind                             `json:"kind"`
	Summary     string                                          `json:"summary"`
	Description string                                          `json:"description"`
	Input       *schema.Schema                                  `json:"input"`
	Output      *schema.Schema                                  `json:"output"` // of the item for a stream
	CLI         *word.Word                                      `json:"cli"`    // nil: not on the command line
	Tool        *ToolDoc                                        `json:"tool"`   // nil: not a tool
	HTTP        *HTTPDoc                                        `json:"http"`   // nil: no route
	SDK         bool                                            `json:"sdk"`
	Examples    []kernelcontract.ExampleDef                     `json:"examples"`
	Errors      map[kernelcontract.Code]kernelcontract.ErrorDef `json:"errors"`
	Ambient     map[string]kernelcontract.ContextKey            `json:"ambient"`
	Destructive bool                                            `json:"destructive"`
	Blocking    *Blocking                                       `json:"blocking"` // nil: the default budget
	Resumable   bool                                            `json:"resumable"`
	Target      kernelcontract.Target                           `json:"target"`
	Auth        kernelcontract.Auth                             `json:"auth"`
	Local       bool                                            `json:"local"`
	Actors      []kernelcontract.ActorKind                      `json:"actors"` // nil: all four kinds
}

// ToolDoc names a method's tool.
type ToolDoc struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// HTTPDoc is a method's route. Verb is "" for a raw endpoint, which chooses itself.
type HTTPDoc struct {
	Verb string `json:"verb"`
	Path string `json:"path"`
}

// Blocking is a declared budget of a call, in milliseconds.
type Blocking struct {
	MaxMs int64 `json:"maxMs"`
}

// Of returns the record of a method. w is its word, nil for none. The error says that a schema cannot be derived.
func Of(d *kernelcontract.MethodDef, w *word.Word) (MethodDoc, error) {
	in, err := d.Input()
	if err != nil {
		return MethodDoc{}, fmt.Errorf("%s: input: %w", d.Ref(), err)
	}
	out, err := d.Output()
	if err != nil {
		return MethodDoc{}, fmt.Errorf("%s: output: %w", d.Ref(), err)
	}
	doc := MethodDoc{
		PluginID: d.PluginID, Service: d.Service, Method: d.Method, Kind: d.Kind, Summary: d.Summary, Description: d.Description,
		Input: in, Output: out, CLI: w, SDK: d.Expose.SDK, Examples: d.Examples, Errors: d.Errors, Ambient: d.Ambient,
		Destructive: d.Destructive, Resumable: d.Resumable, Target: d.Target, Auth: d.Access.Auth, Local: d.Access.Local,
		Actors: actors(d.Access.Actors),
	}
	if d.Tool != nil && d.Expose.Tool {
		doc.Tool = &ToolDoc{Name: d.Tool.Name, Description: d.Tool.Description}
	}
	if d.Expose.HTTP {
		doc.HTTP = &HTTPDoc{Verb: route.Verb(d.Kind), Path: route.Path(d)}
	}
	if d.Wait > 0 {
		doc.Blocking = &Blocking{MaxMs: d.Wait.Milliseconds()}
	}
	return doc, nil
}

// actors returns nil when all four kinds are admitted, by a list or by none.
func actors(kinds []kernelcontract.ActorKind) []kernelcontract.ActorKind {
	for _, k := range []kernelcontract.ActorKind{kernelcontract.User, kernelcontract.Agent, kernelcontract.Plugin, kernelcontract.System} {
		if !slices.Contains(kinds, k) {
			return kinds
		}
	}
	return nil
}

// Ref returns plugin/service.method.
func (d *MethodDoc) Ref() string { return d.PluginID + "/" + d.Service + "." + d.Method }

// MarshalJSON writes every member; lists and maps that are nil are empty, except Actors, whose null means all.
func (d MethodDoc) MarshalJSON() ([]byte, error) {
	type plain MethodDoc // without this method
	p := plain(d)
	if p.Examples == nil {
		p.Examples = []kernelcontract.ExampleDef{}
	}
	if p.Errors == nil {
		p.Errors = map[kernelcontract.Code]kernelcontract.ErrorDef{}
	}
	if p.Ambient == nil {
		p.Ambient = map[string]kernelcontract.ContextKey{}
	}
	return jsontext.Marshal(p) // usage lines are full of < and >
}

// JSONSchemaBytes is the schema of a MethodDoc: it holds schemas, which no schema of this project describes.
func (MethodDoc) JSONSchemaBytes() ([]byte, error) { return []byte(`{"type":"object"}`), nil }

// ReferenceDoc is the reference of a plugin at a generation of the catalog.
type ReferenceDoc struct {
	PluginID   string       `json:"pluginId"`
	Generation uint64       `json:"generation"`
	Services   []ServiceDoc `json:"services"`
}

// ServiceDoc is the reference of a service: its methods that appear on some surface.
type ServiceDoc struct {
	ID      string      `json:"id"` // plugin/service
	Summary string      `json:"summary"`
	Methods []MethodDoc `json:"methods"`
}
