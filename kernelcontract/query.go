package kernelcontract

import (
	"context"
	"time"
)

// Query defines a read-only method: GET over HTTP, safe to repeat. It is plain data; nothing runs before Service.Def.
// In must be a struct. See docs/spec/definitions.md.
type Query[In, Out any] struct {
	Ref         string                   // plugin/service.method, required
	Summary     string                   // one line, required
	Description string                   // Markdown
	CLI         CLI                      // zero: bb <group> <method>, one flag a field
	Tool        *Tool                    // nil: not an agent tool
	Hide        Surfaces                 // surfaces to withhold; zero: HTTP, SDK and CLI are on
	Ambient     map[string]ContextKey    // fields filled from the caller's context when omitted
	Errors      map[Code]ErrorDef        // codes beyond the kernel's
	Examples    []Example[In]            // checked against In's schema
	Access      Access                   // zero: operators, every actor
	Wait        time.Duration            // budget of a call; zero: QueryWait
	OnHost      bool                     // runs on a host, not on the server
	RenderText  func(Out, Render) string // nil: the generic text
}

// Handle pairs the definition with the function that answers it.
func (m *Query[In, Out]) Handle(fn func(ctx context.Context, in In) (Out, error)) Handler {
	return unaryHandler(m, m.Ref, fn)
}

// Call runs the method through c. Failures are *Error.
func (m *Query[In, Out]) Call(ctx context.Context, c Caller, in In) (out Out, err error) {
	err = callThrough(ctx, c, m.signature, m.Ref, in, &out)
	return out, err
}

func (m *Query[In, Out]) signature() Signature {
	return Signature{Ref: m.Ref, Kind: KindQuery, Input: inputSchema[In]}
}

func (m *Query[In, Out]) define() MethodDef {
	return MethodDef{
		Kind: KindQuery, Summary: m.Summary, Description: m.Description, CLI: m.CLI, Tool: m.Tool, Expose: exposure(m.Hide, m.Tool),
		Ambient: m.Ambient, Errors: m.Errors, Examples: exampleDefs(m.Examples), Access: m.Access, Wait: m.Wait, Target: target(m.OnHost),
		ref: m.Ref, input: schemaOf[In](), output: schemaOf[Out](), render: renderer(m.RenderText),
	}
}
