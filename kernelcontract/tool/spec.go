package tool

import (
	"fmt"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// MaxName bounds a tool's name, in characters: models' APIs refuse longer ones. It is a rule of ExpectDerivedSurfaces, not
// of definitions.
const MaxName = 64

// Spec is a method as a tool. Treat it as read-only.
type Spec struct {
	Tool         DynamicTool         `json:"tool"`
	Ref          string              `json:"ref"` // plugin/service.method
	Method       string              `json:"method"`
	PluginID     string              `json:"pluginId"`
	Kind         kernelcontract.Kind `json:"kind"`
	Instructions string              `json:"instructions"` // for the session while the tool is active
	Destructive  bool                `json:"destructive"`
	Blocking     *Blocking           `json:"blocking"` // nil: the default budget
}

// DynamicTool is what a model is told.
type DynamicTool struct {
	Name         string                      `json:"name"`
	Description  string                      `json:"description"`
	InputSchema  *schema.Schema              `json:"inputSchema"`
	Presentation kernelcontract.Presentation `json:"presentation"`
}

// Blocking is a declared budget of a call, in milliseconds.
type Blocking struct {
	MaxMs int64 `json:"maxMs"`
}

// SpecOf returns the tool of a method, nil when it has none. The error says that the input has no schema.
func SpecOf(d *kernelcontract.MethodDef) (*Spec, error) {
	if d.Tool == nil || !d.Expose.Tool {
		return nil, nil
	}
	in, err := d.Input()
	if err != nil {
		return nil, fmt.Errorf("%s: input: %w", d.Ref(), err)
	}
	s := &Spec{
		Tool: DynamicTool{
			Name: d.Tool.Name, Description: d.Tool.Description, InputSchema: withAmbient(in, d.Ambient), Presentation: d.Tool.Presentation,
		},
		Ref: d.Ref(), Method: d.Method, PluginID: d.PluginID, Kind: d.Kind, Instructions: d.Tool.Instructions, Destructive: d.Destructive,
	}
	if d.Wait > 0 {
		s.Blocking = &Blocking{MaxMs: d.Wait.Milliseconds()}
	}
	return s, nil
}

// withAmbient returns in with the fields that the context fills made optional, and said so.
func withAmbient(in *schema.Schema, ambient map[string]kernelcontract.ContextKey) *schema.Schema {
	if len(ambient) == 0 {
		return in
	}
	out := *in
	out.Properties = make([]schema.Property, len(in.Properties))
	for i, p := range in.Properties {
		if key, ok := ambient[p.Name]; ok {
			described := *p.Schema
			note := "default: " + key.Current()
			switch {
			case described.Description != "":
				described.Description += " (" + note + ")"
			default:
				described.Description = note
			}
			p.Schema, p.Required = &described, false
		}
		out.Properties[i] = p
	}
	return &out
}
