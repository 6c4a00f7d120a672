package openapi

import (
	"bytes"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

// with returns o with one more member.
func (o object) with(name string, value any) object { return append(o, member{name, value}) }

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := jsontext.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := jsontext.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// ref is a reference to a component.
func ref(kind, name string) object { return object{{"$ref", "#/components/" + kind + "/" + name}} }
