// Package plain decodes JSON into structs that encoding/json would fill field by field, without any method of their types
// having a say: those of most inputs. It reads the text once. What is out of the ordinary it leaves to encoding/json.
package plain

import (
	"encoding"
	"encoding/json"
	"reflect"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// maxFields is the number of members that a struct may have: one bit each says that it was given.
const maxFields = 64

// maxDepth bounds the nesting that is read. Inputs nest no deeper; what does is encoding/json's.
const maxDepth = 64

// Decoder decodes into one Go type. It is safe for concurrent use.
type Decoder struct{ root *node }

// node is how a type is read.
type node struct {
	kind   reflect.Kind
	elem   *node // of slices and pointers
	fields []field
}

type field struct {
	name  string
	index []int
	node  *node
}

// Of returns the Decoder of a struct type, nil when the type has a part that is not plain: one with methods of its own for
// decoding, a map, an array, an interface, or bytes.
func Of(t reflect.Type) *Decoder {
	if t.Kind() != reflect.Struct {
		return nil
	}
	p := plan{nodes: map[reflect.Type]*node{}}
	root := p.of(t)
	if p.failed {
		return nil
	}
	return &Decoder{root: root}
}

type plan struct {
	nodes  map[reflect.Type]*node
	failed bool
}

func (p *plan) of(t reflect.Type) *node {
	if n := p.nodes[t]; n != nil || p.failed {
		return n
	}
	n := &node{kind: t.Kind()}
	p.nodes[t] = n
	if decodesItself(t) {
		p.failed = true
		return n
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
	case reflect.Pointer:
		n.elem = p.of(t.Elem())
	case reflect.Slice:
		p.failed = t.Elem().Kind() == reflect.Uint8 // base64
		n.elem = p.of(t.Elem())
	case reflect.Struct:
		fields, err := schema.Fields(t)
		p.failed = p.failed || err != nil || len(fields) > maxFields
		for _, f := range fields {
			n.fields = append(n.fields, field{name: f.Name, index: f.Index, node: p.of(f.Type)})
		}
	default:
		p.failed = true
	}
	return n
}

// decodesItself reports whether encoding/json asks the type how to decode it.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t == reflect.TypeFor[json.Number]() ||
		p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// Decode reads an object into v, a zero value of the Decoder's type that can be set. It reports false when the text is
// anything but what it knows well, such as a key that is no field's or is given twice, an escape, null in a field that is
// no pointer and no slice, or an error; v may be partly written then.
func (d *Decoder) Decode(text []byte, v reflect.Value) bool {
	r := reader{in: text}
	if !r.value(d.root, v) {
		return false
	}
	r.space()
	return r.pos == len(r.in)
}
