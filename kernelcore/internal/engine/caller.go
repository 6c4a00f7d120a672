package engine

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Caller returns a caller for in-process calls. identify says for each call who it is from: the embedder's principal, or
// that of the call that a plugin relays.
func (e *Engine) Caller(identify func(context.Context) Identity) kernelcontract.Caller {
	return &caller{engine: e, identify: identify}
}

// Identity is who calls in process, and from where.
type Identity struct {
	Principal kernelcontract.Principal
	Client    kernelcontract.ClientInfo
	Context   kernelcontract.Context
	Remote    bool // the caller does not meet the rules of local methods
	ReadOnly  bool // the caller's credential admits only queries and streams
}

type caller struct {
	engine   *Engine
	identify func(context.Context) Identity
}

func (c *caller) request(ctx context.Context, ref string, in any) (*Request, *kernelcontract.Error) {
	m := c.engine.Catalog().Ref(ref)
	if m == nil || m.Def.Kind == kernelcontract.KindCustom {
		return nil, kernelcontract.NotFound.Errorf("there is no method %s", ref)
	}
	raw, err := encodeInput(m, in)
	if err != nil {
		return nil, kernelcontract.InvalidInput.Errorf("the input of %s does not encode: %s", ref, err)
	}
	id := c.identify(ctx)
	return &Request{Method: m, Input: raw, Principal: id.Principal, Client: id.Client, Context: id.Context,
		Local: !id.Remote, ReadOnly: id.ReadOnly}, nil
}

func encodeInput(m *Method, in any) ([]byte, error) {
	switch in := in.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return in, nil
	}
	return m.encodeInput(in)
}

// Call implements kernelcontract.Caller.
func (c *caller) Call(ctx context.Context, ref string, in, out any) error {
	r, kerr := c.request(ctx, ref, in)
	if kerr != nil {
		return kerr
	}
	res, kerr := c.engine.Call(ctx, r)
	if kerr != nil {
		return kerr
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*out = res.JSON
		return nil
	}
	if err := json.Unmarshal(res.JSON, out); err != nil {
		return kernelcontract.Internal.Errorf("the result of %s does not fit %T: %w", ref, out, err)
	}
	return nil
}

// Open implements kernelcontract.Caller.
func (c *caller) Open(ctx context.Context, ref string, in any, since string) iter.Seq2[kernelcontract.Event[json.RawMessage], error] {
	return func(yield func(kernelcontract.Event[json.RawMessage], error) bool) {
		var none kernelcontract.Event[json.RawMessage]
		r, kerr := c.request(ctx, ref, in)
		if kerr != nil {
			yield(none, kerr)
			return
		}
		r.Since = since
		s, kerr := c.engine.Open(ctx, r)
		if kerr != nil {
			yield(none, kerr)
			return
		}
		var end *kernelcontract.Error
		defer func() { s.Close(end) }()
		for {
			select {
			case f, ok := <-s.Frames:
				if !ok {
					if ctx.Err() != nil {
						end = contextError(ctx, r.Method.Def)
						yield(none, end)
					}
					return
				}
				if f.Err != nil {
					end = f.Err
					yield(none, f.Err)
					return
				}
				if !yield(kernelcontract.Event[json.RawMessage]{Cursor: f.Cursor, Item: f.JSON}, nil) {
					return
				}
			case <-s.Ended:
				end = s.EndError()
				yield(none, end)
				return
			case <-ctx.Done():
				end = contextError(ctx, r.Method.Def)
				yield(none, end)
				return
			}
		}
	}
}
