package kernelcontract

import "github.com/bb-kernel/bb/kernelcontract/schema"

// Null is a value that may be null: the alternative to a pointer (docs/spec/schemas.md).
type Null[T any] = schema.Null[T]

// Duration is a time.Duration that travels as ISO 8601, such as PT1M30S.
type Duration = schema.Duration

// Union is one of several objects, told apart by a constant property.
type Union[V schema.Variants] = schema.Union[V]

// Bytes is a result of bytes with their media type.
type Bytes = schema.Bytes
