package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/tool"
	"github.com/bb-kernel/bb/kernelcore"
)

// version is that of the program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// registered is a tool as the protocol's library has it.
type registered struct {
	tool   *sdk.Tool
	schema json.RawMessage
}

// same reports whether a client sees no difference.
func (r *registered) same(other *registered) bool {
	a, b := r.tool.Annotations, other.tool.Annotations
	return r.tool.Description == other.tool.Description && bytes.Equal(r.schema, other.schema) &&
		a.ReadOnlyHint == b.ReadOnlyHint && *a.DestructiveHint == *b.DestructiveHint
}

// refresh makes the tools of the protocol's library those of the catalog. It costs next to nothing when the catalog is the
// same; else the library tells the sessions.
func (e *endpoint) refresh() {
	e.catalogMu.Lock()
	defer e.catalogMu.Unlock()
	generation := e.kernel.Generation()
	if generation == e.generation {
		return
	}
	next := map[string]*registered{}
	var instructions []string
	for _, s := range e.kernel.Tools() {
		one, err := register(s)
		if err != nil {
			continue // the other surfaces have it
		}
		next[s.Tool.Name] = one
		if s.Instructions != "" {
			instructions = append(instructions, s.Instructions)
		}
		if old := e.registered[s.Tool.Name]; old == nil || !old.same(one) {
			e.server.AddTool(one.tool, call)
		}
	}
	var gone []string
	for name := range e.registered {
		if next[name] == nil {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		e.server.RemoveTools(gone...)
	}
	e.refreshResources()
	e.generation, e.registered, e.instructions = generation, next, strings.Join(instructions, "\n\n")
}

// guidance returns the instructions of all tools.
func (e *endpoint) guidance() string {
	e.catalogMu.Lock()
	defer e.catalogMu.Unlock()
	return e.instructions
}

// register describes a tool to the protocol's library, which would panic about an input that is not an object.
func register(s *tool.Spec) (*registered, error) {
	raw, err := s.Tool.InputSchema.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("the tool %s cannot be offered: %w", s.Tool.Name, err)
	}
	in := s.Tool.InputSchema
	if target := in.Resolve(in); in.Ref != "" && target != nil && target.Type == schema.Object {
		raw = append([]byte(`{"type":"object",`), raw[1:]...) // the protocol wants it at the root
	}
	var root struct {
		Type any `json:"type"`
	}
	if err := json.Unmarshal(raw, &root); err != nil || root.Type != "object" {
		return nil, fmt.Errorf("the tool %s cannot be offered: its input is not an object", s.Tool.Name)
	}
	readOnly := s.Kind != kernelcontract.KindMutation
	return &registered{schema: raw, tool: &sdk.Tool{
		Name: s.Tool.Name, Description: s.Tool.Description, InputSchema: json.RawMessage(raw),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: readOnly, DestructiveHint: &s.Destructive},
	}}, nil
}

// errRevoked is the cause of the end of a call whose caller may no longer call.
var errRevoked = errors.New("the credential of the caller was revoked")

// call answers a tools/call. It fails only without a caller: what a tool does not like is a result that says so.
func call(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	v := visitorOf(r)
	if v == nil {
		return nil, errors.New("nobody calls: the request did not come through the endpoint")
	}
	ctx, end := whileAdmitted(ctx, v)
	defer end()
	return resultOf(v.RunTool(ctx, r.Params.Name, r.Params.Arguments)), nil
}

// whileAdmitted returns a context that ends when the visitor's credential is revoked. Call end when done.
func whileAdmitted(ctx context.Context, v *kernelcore.Visitor) (_ context.Context, end func()) {
	if v.Revoked() == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-v.Revoked():
			cancel(errRevoked)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// resultOf translates what a tool answered.
func resultOf(r tool.Result) *sdk.CallToolResult {
	out := &sdk.CallToolResult{IsError: !r.Success, Content: make([]sdk.Content, len(r.Content))}
	for i, c := range r.Content {
		out.Content[i] = contentOf(c)
	}
	return out
}

func contentOf(c tool.Content) sdk.Content {
	if c.MIMEType == "" {
		return &sdk.TextContent{Text: c.Text}
	}
	data, err := base64.StdEncoding.DecodeString(c.Base64)
	if err != nil {
		return &sdk.TextContent{Text: "An image of type " + c.MIMEType + " that cannot be read"}
	}
	return &sdk.ImageContent{MIMEType: c.MIMEType, Data: data}
}
