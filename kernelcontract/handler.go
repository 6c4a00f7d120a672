package kernelcontract

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract/internal/plain"
)

// Handler is a method with the function that answers it, without its types. Definitions make Handlers; the zero one
// answers nothing.
type Handler struct {
	ref    string
	method Method
	call   func(ctx context.Context, in json.RawMessage) (any, error)
	open   func(ctx context.Context, in json.RawMessage) (iter.Seq2[Event[any], error], error)
	raw    any
}

// Ref returns the method's ref.
func (h Handler) Ref() string { return h.ref }

// Method returns the definition that made the handler: a handler of a look-alike definition with the same ref is told
// apart by it.
func (h Handler) Method() Method { return h.method }

// IsNil reports whether there is no function to run.
func (h Handler) IsNil() bool { return h.call == nil && h.open == nil && h.raw == nil }

// Call runs a query or a mutation on an input that fits its schema, defaults filled. The result has the method's
// output type.
func (h Handler) Call(ctx context.Context, in json.RawMessage) (any, error) {
	if h.call == nil {
		return nil, Internal.Errorf("%s is not a query or a mutation with a function", h.ref)
	}
	return h.call(ctx, in)
}

// Open runs a stream on an input that fits its schema, defaults filled. CallFrom(ctx).Since is the cursor to go on after.
func (h Handler) Open(ctx context.Context, in json.RawMessage) (iter.Seq2[Event[any], error], error) {
	if h.open == nil {
		return nil, Internal.Errorf("%s is not a stream with a function", h.ref)
	}
	return h.open(ctx, in)
}

// Raw returns the handler of a custom method, nil for every other.
func (h Handler) Raw() any { return h.raw }

func unaryHandler[In, Out any](m Method, ref string, fn func(context.Context, In) (Out, error)) Handler {
	h := Handler{ref: ref, method: m}
	if fn == nil {
		return h
	}
	decode := inputDecoder[In]()
	h.call = func(ctx context.Context, raw json.RawMessage) (any, error) {
		var in In
		if err := decode(raw, &in); err != nil {
			return nil, err
		}
		return fn(ctx, in)
	}
	return h
}

// inputDecoder returns what decodes a validated input. A failure means that the type's own UnmarshalJSON refuses what its
// schema accepts, which is the caller's problem only in so far as no input would do.
func inputDecoder[In any]() func(raw json.RawMessage, in *In) error {
	decoder := sync.OnceValue(func() *plain.Decoder { return plain.Of(reflect.TypeFor[In]()) })
	return func(raw json.RawMessage, in *In) error {
		if len(raw) == 0 {
			return nil
		}
		if d := decoder(); d != nil {
			if d.Decode(raw, reflect.ValueOf(in).Elem()) {
				return nil
			}
			*in = *new(In) // it may be partly written
		}
		if err := json.Unmarshal(raw, in); err != nil {
			return (&Error{Code: InvalidInput, Message: "the input does not decode: " + err.Error()}).WithCause(err)
		}
		return nil
	}
}
