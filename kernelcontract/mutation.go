package kernelcontract

import (
	"context"
	"time"
)

// Mutation defines a method that changes something: POST over HTTP, never repeated by itself. It has every field of
// Query, and Destructive. See docs/spec/definitions.md.
type Mutation[In, Out any] struct {
	Ref         string                   // plugin/service.method, required
	Summary     string                   // one line, required
	Description string                   // Markdown
	CLI         CLI                      // zero: bb <group> <method>, one flag a field
	Tool        *Tool                    // nil: not an agent tool
	Hide        Surfaces                 // surfaces to withhold; zero: HTTP, SDK and CLI are on
	Ambient     map[string]ContextKey    // fields filled from the caller's context when omitted; none when Destructive
	Errors      map[Code]ErrorDef        // codes beyond the kernel's
	Examples    []Example[In]            // checked against In's schema
	Access      Access                   // zero: operators, every actor
	Wait        time.Duration            // budget of a call; zero: MutationWait
	OnHost      bool                     // runs on a host, not on the server
	Destructive bool                     // a person confirms it first
	RenderText  func(Out, Render) string // nil: the generic text
}

// Handle pairs the definition with the function that answers it.
func (m *Mutation[In, Out]) Handle(fn func(ctx context.Context, in In) (Out, error)) Handler {
	return unaryHandler(m, m.Ref, fn)
}

// Call runs the method through c, once: no caller repeats a mutation. Failures are *Error.
func (m *Mutation[In, Out]) Call(ctx context.Context, c Caller, in In) (out Out, err error) {
	err = callThrough(ctx, c, m.signature, m.Ref, in, &out)
	return out, err
}

func (m *Mutation[In, Out]) signature() Signature {
	return Signature{Ref: m.Ref, Kind: KindMutation, Input: inputSchema[In]}
}

func (m *Mutation[In, Out]) define() MethodDef {
	return MethodDef{
		Kind: KindMutation, Summary: m.Summary, Description: m.Description, CLI: m.CLI, Tool: m.Tool, Expose: exposure(m.Hide, m.Tool),
		Ambient: m.Ambient, Errors: m.Errors, Examples: exampleDefs(m.Examples), Access: m.Access, Wait: m.Wait, Target: target(m.OnHost),
		Destructive: m.Destructive,
		ref:         m.Ref, input: schemaOf[In](), output: schemaOf[Out](), render: renderer(m.RenderText),
	}
}
