package kernelcontract

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Stream defines a method that yields items: server-sent events over HTTP. A Cursor makes it resumable. It has Query's
// fields without Wait: the budget ends with the first frame. See docs/spec/definitions.md.
type Stream[In, Item any] struct {
	Ref         string                    // plugin/service.method, required
	Summary     string                    // one line, required
	Description string                    // Markdown
	CLI         CLI                       // zero: bb <group> <method>, one flag a field
	Tool        *Tool                     // nil: not an agent tool
	Hide        Surfaces                  // surfaces to withhold; zero: HTTP, SDK and CLI are on
	Ambient     map[string]ContextKey     // fields filled from the caller's context when omitted
	Errors      map[Code]ErrorDef         // codes beyond the kernel's
	Examples    []Example[In]             // checked against In's schema
	Access      Access                    // zero: operators, every actor
	OnHost      bool                      // runs on a host, not on the server
	Cursor      func(Item) string         // an item's resume point: printable ASCII, at most MaxCursor bytes; nil: not resumable
	RenderText  func(Item, Render) string // nil: the generic text
}

// MaxCursor bounds a cursor, in bytes: it travels in a header.
const MaxCursor = 256

// Handle pairs the definition with the function that answers it. The function's error comes before the stream opens, an
// error in the sequence ends it. CallFrom(ctx).Since is the cursor to go on after.
func (m *Stream[In, Item]) Handle(fn func(ctx context.Context, in In) (iter.Seq2[Item, error], error)) Handler {
	h := Handler{ref: m.Ref, method: m}
	if fn == nil {
		return h
	}
	decode := inputDecoder[In]()
	h.open = func(ctx context.Context, raw json.RawMessage) (iter.Seq2[Event[any], error], error) {
		var in In
		if err := decode(raw, &in); err != nil {
			return nil, err
		}
		items, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		if items == nil {
			return nil, Internal.Errorf("%s returned no sequence", m.Ref)
		}
		return func(yield func(Event[any], error) bool) {
			for item, err := range items {
				if err != nil {
					yield(Event[any]{}, err)
					return
				}
				ev := Event[any]{Item: item}
				if m.Cursor != nil {
					ev.Cursor = m.Cursor(item)
				}
				if !yield(ev, nil) {
					return
				}
			}
		}, nil
	}
	return h
}

// Stream runs the method through c from its beginning, one call a range. A failure is the last pair.
func (m *Stream[In, Item]) Stream(ctx context.Context, c Caller, in In) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for ev, err := range m.Events(ctx, c, in, "") {
			if !yield(ev.Item, err) {
				return
			}
		}
	}
}

// Events runs the method through c from after the cursor since, "" for the beginning, and yields each item with its own
// cursor.
func (m *Stream[In, Item]) Events(ctx context.Context, c Caller, in In, since string) iter.Seq2[Event[Item], error] {
	return func(yield func(Event[Item], error) bool) {
		var events iter.Seq2[Event[json.RawMessage], error]
		if sc, ok := c.(SignatureCaller); ok {
			events = sc.OpenSignature(ctx, m.signature(), in, since)
		} else {
			events = c.Open(ctx, m.Ref, in, since)
		}
		for ev, err := range events {
			out := Event[Item]{Cursor: ev.Cursor}
			if err == nil {
				if derr := json.Unmarshal(ev.Item, &out.Item); derr != nil {
					err = Internal.Errorf("an item of %s does not fit its Go type: %w", m.Ref, derr)
				}
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

func (m *Stream[In, Item]) signature() Signature {
	return Signature{Ref: m.Ref, Kind: KindStream, Resumable: m.Cursor != nil, Input: func() (*schema.Schema, error) { return inputSchema[In]() }}
}

func (m *Stream[In, Item]) define() MethodDef {
	return MethodDef{
		Kind: KindStream, Summary: m.Summary, Description: m.Description, CLI: m.CLI, Tool: m.Tool, Expose: exposure(m.Hide, m.Tool),
		Ambient: m.Ambient, Errors: m.Errors, Examples: exampleDefs(m.Examples), Access: m.Access, Target: target(m.OnHost),
		Resumable: m.Cursor != nil,
		ref:       m.Ref, input: schemaOf[In](), output: schemaOf[Item](), render: renderer(m.RenderText),
	}
}
