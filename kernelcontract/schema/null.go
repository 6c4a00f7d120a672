package schema

import (
	"bytes"
	"encoding/json"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// Null is a value that may be null, without a pointer. The zero Null is null.
//
// A Null field is nullable whatever its tags say; omitempty, omitzero or a default make it optional as well, and with
// omitzero a null is left out. A field that is a plain pointer means the same, except that a pointer with a default
// other than null is optional and not nullable.
type Null[T any] struct {
	// Value is the value; it means nothing while Valid is false.
	Value T
	// Valid is false for null.
	Valid bool
}

// NullOf returns v as a Null that is not null.
func NullOf[T any](v T) Null[T] { return Null[T]{Value: v, Valid: true} }

// IsZero reports whether n is null, which omitzero then leaves out.
func (n Null[T]) IsZero() bool { return !n.Valid }

// MarshalJSON writes null or the value.
func (n Null[T]) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return jsontext.Marshal(n.Value)
}

// UnmarshalJSON reads null or a value.
func (n *Null[T]) UnmarshalJSON(raw []byte) error {
	if bytes.Equal(raw, []byte("null")) {
		*n = Null[T]{}
		return nil
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	*n = Null[T]{Value: v, Valid: true}
	return nil
}
