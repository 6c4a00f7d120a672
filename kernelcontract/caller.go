package kernelcontract

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Caller carries calls by ref to where methods run; typed calls go through it. It has two methods for ever: what a
// caller can do beyond them is an optional interface, such as SignatureCaller.
type Caller interface {
	// Call runs a query or a mutation. in encodes to the input object, nil is an empty one; out takes the result, nil
	// drops it. Failures are *Error.
	Call(ctx context.Context, ref string, in, out any) error
	// Open runs a stream from after the cursor since, "" for its beginning. The call happens when the sequence is
	// ranged over, once a range; an error ends it.
	Open(ctx context.Context, ref string, in any, since string) iter.Seq2[Event[json.RawMessage], error]
}

// Event is an item of a stream with its resume point, "" when the stream cannot be resumed.
type Event[T any] struct {
	Cursor string
	Item   T
}

// Signature is what a wire needs to know of a method beside its ref. Typed calls have it at hand, so that a remote
// caller need not ask the server first.
type Signature struct {
	Ref       string
	Kind      Kind
	Resumable bool
	// Input returns the input schema. It is derived at each call: keep it.
	Input func() (*schema.Schema, error)
}

// SignatureCaller is the optional interface of a Caller that sends typed calls by their signature.
type SignatureCaller interface {
	Caller
	// CallSignature is Call for a known signature.
	CallSignature(ctx context.Context, sig Signature, in, out any) error
	// OpenSignature is Open for a known signature.
	OpenSignature(ctx context.Context, sig Signature, in any, since string) iter.Seq2[Event[json.RawMessage], error]
}

func callThrough(ctx context.Context, c Caller, sig func() Signature, ref string, in, out any) error {
	if sc, ok := c.(SignatureCaller); ok {
		return sc.CallSignature(ctx, sig(), in, out)
	}
	return c.Call(ctx, ref, in, out)
}
