package schema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// The Go types with a wire form of their own.
var (
	timeType         = reflect.TypeFor[time.Time]()
	timeDurationType = reflect.TypeFor[time.Duration]()
	durationType     = reflect.TypeFor[Duration]()
	bytesType        = reflect.TypeFor[Bytes]()
	rawType          = reflect.TypeFor[json.RawMessage]()
	numberType       = reflect.TypeFor[json.Number]()

	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

	ownPackage = durationType.PkgPath()
)

// isNull reports whether t is a Null of some type.
func isNull(t reflect.Type) bool {
	return t.PkgPath() == ownPackage && strings.HasPrefix(t.Name(), "Null[")
}

// isUnion reports whether t is a Union of some variants.
func isUnion(t reflect.Type) bool {
	return t.PkgPath() == ownPackage && strings.HasPrefix(t.Name(), "Union[")
}

// opaque reports whether t encodes itself in a way that its kind does not show.
func opaque(t reflect.Type) bool {
	if isNull(t) || isUnion(t) {
		return false
	}
	return t.Implements(jsonMarshaler) || t.Implements(textMarshaler)
}

// schemaType is the JSON type of a Go type by its kind alone, Any where the kind does not say it.
func schemaType(t reflect.Type) Type {
	switch t {
	case timeType, durationType:
		return String
	case bytesType:
		return Object
	case rawType:
		return Any
	case numberType:
		return Number
	}
	if isNull(t) {
		return schemaType(t.Field(0).Type)
	}
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && !t.Implements(jsonMarshaler) && t.Implements(textMarshaler) {
		return String
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaType(t.Elem())
	case reflect.Bool:
		return Boolean
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Integer
	case reflect.Float32, reflect.Float64:
		return Number
	case reflect.String:
		return String
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return String
		}
		return Array
	case reflect.Array:
		return Array
	case reflect.Map:
		return Object
	case reflect.Struct:
		return Object
	}
	return Any
}
