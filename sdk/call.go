package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"reflect"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Call runs a query or a mutation by name, as kernelcontract.Caller says. in is anything that encodes to a JSON object,
// a json.RawMessage goes as it is. Numbers that are decoded into an interface are json.Number, so that integers stay
// exact. The first call asks the server what its methods are; a changed server is asked again.
func (c *Client) Call(ctx context.Context, ref string, in, out any) error {
	sig, err := c.signature(ctx, ref)
	if err != nil {
		return err
	}
	return c.call(ctx, sig, in, out)
}

// Open runs a stream by name, as kernelcontract.Caller says. A resumable stream that breaks is resumed, see Follow.
func (c *Client) Open(ctx context.Context, ref string, in any, since string) iter.Seq2[kernelcontract.Event[json.RawMessage], error] {
	return func(yield func(kernelcontract.Event[json.RawMessage], error) bool) {
		sig, err := c.signature(ctx, ref)
		if err != nil {
			yield(kernelcontract.Event[json.RawMessage]{}, err)
			return
		}
		c.open(ctx, sig, in, since, yield)
	}
}

// CallSignature is Call for a method whose signature is known; typed calls come here. The schema of an input type is
// asked of the signature once.
func (c *Client) CallSignature(ctx context.Context, sig kernelcontract.Signature, in, out any) error {
	sig, err := c.keepSchema(sig, in)
	if err != nil {
		return err
	}
	return c.call(ctx, sig, in, out)
}

func (c *Client) call(ctx context.Context, sig kernelcontract.Signature, in, out any) error {
	input, err := c.encode(sig.Ref, in)
	if err != nil {
		return err
	}
	a, err := c.do(ctx, Request{Signature: sig, Input: input})
	if err != nil {
		return err
	}
	return a.decode(sig.Ref, out)
}

// OpenSignature is Open for a method whose signature is known; typed calls come here.
func (c *Client) OpenSignature(ctx context.Context, sig kernelcontract.Signature, in any, since string) iter.Seq2[kernelcontract.Event[json.RawMessage], error] {
	return func(yield func(kernelcontract.Event[json.RawMessage], error) bool) {
		sig, err := c.keepSchema(sig, in)
		if err != nil {
			yield(kernelcontract.Event[json.RawMessage]{}, err)
			return
		}
		c.open(ctx, sig, in, since, yield)
	}
}

func (c *Client) open(ctx context.Context, sig kernelcontract.Signature, in any, since string, yield func(kernelcontract.Event[json.RawMessage], error) bool) {
	input, err := c.encode(sig.Ref, in)
	if err != nil {
		yield(kernelcontract.Event[json.RawMessage]{}, err)
		return
	}
	for f, err := range c.Follow(ctx, Request{Signature: sig, Input: input, Since: since}) {
		if !yield(kernelcontract.Event[json.RawMessage]{Cursor: f.Cursor, Item: f.Item}, err) {
			return
		}
	}
}

// inputKey finds the schema of a typed input: two definitions of one ref may have different Go types.
type inputKey struct {
	ref string
	t   reflect.Type
}

// keepSchema returns sig with an input schema that is derived once a type and not at each call.
func (c *Client) keepSchema(sig kernelcontract.Signature, in any) (kernelcontract.Signature, error) {
	if sig.Input == nil || sig.Kind == kernelcontract.KindMutation {
		return sig, nil
	}
	key := inputKey{sig.Ref, reflect.TypeOf(in)}
	known, ok := c.schemas.Load(key)
	if !ok {
		s, err := sig.Input()
		if err != nil {
			return sig, kernelcontract.InvalidInput.Errorf("the input type of %s has no schema: %s", sig.Ref, err.Error())
		}
		known, _ = c.schemas.LoadOrStore(key, func() (*schema.Schema, error) { return s, nil })
	}
	sig.Input = known.(func() (*schema.Schema, error))
	return sig, nil
}

// encode returns an input as JSON, nil for none.
func (c *Client) encode(ref string, in any) (json.RawMessage, error) {
	if in == nil {
		return nil, nil
	}
	if raw, ok := in.(json.RawMessage); ok {
		return raw, nil
	}
	t := reflect.TypeOf(in)
	e, ok := c.encoders.Load(t)
	if !ok {
		e, _ = c.encoders.LoadOrStore(t, schema.NewEncoder(t))
	}
	raw, err := e.(*schema.Encoder).Marshal(in)
	if err != nil {
		return nil, kernelcontract.InvalidInput.Errorf("the input of %s does not encode: %s", ref, err.Error())
	}
	if bytes.Equal(raw, []byte("null")) { // a nil map or pointer
		raw = nil
	}
	return raw, nil
}
