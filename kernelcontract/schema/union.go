package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// Variants is a struct that lists the members of a union: one exported field of a pointer-to-struct type each, with
// the tag `variant:"name"`.
//
//	type Shape struct {
//		Circle *Circle `variant:"circle"`
//		Square *Square `variant:"square"`
//	}
//
//	func (Shape) Discriminator() string { return "kind" }
type Variants interface {
	// Discriminator returns the name of the JSON property that holds the name of the variant. It must be a constant,
	// since it is asked of the zero value.
	Discriminator() string
}

// Union is a value of exactly one of the variants of V: on the wire the object of that variant, with the
// discriminator as its first member, such as {"kind": "circle", "radius": 1}.
type Union[V Variants] struct {
	// Value has exactly one non-nil field.
	Value V
}

// MarshalJSON writes the variant that is set. It is an error when none is, or more than one.
func (u Union[V]) MarshalJSON() ([]byte, error) {
	v := reflect.ValueOf(u.Value)
	if v.Kind() != reflect.Struct {
		return nil, fmt.Errorf("union %s: it must be a struct of variants", v.Type())
	}
	var body []byte
	var set []string
	for i := range v.NumField() {
		name, ok := v.Type().Field(i).Tag.Lookup("variant")
		if f := v.Field(i); ok && f.Kind() == reflect.Pointer && !f.IsNil() {
			set = append(set, name)
			var err error
			if body, err = jsontext.Marshal(f.Interface()); err != nil {
				return nil, err
			}
		}
	}
	if len(set) != 1 {
		return nil, fmt.Errorf("union %s: set exactly one variant, not %d (%s)", v.Type(), len(set), strings.Join(set, ", "))
	}
	if len(body) < 2 || body[0] != '{' {
		return nil, fmt.Errorf("union %s: the variant %s must encode as an object", v.Type(), set[0])
	}
	head, err := jsontext.Marshal(map[string]string{u.Value.Discriminator(): set[0]})
	if err != nil {
		return nil, err
	}
	head = head[:len(head)-1]
	if len(body) > 2 {
		head = append(head, ',')
	}
	return append(head, body[1:]...), nil
}

// UnmarshalJSON chooses the variant by the discriminator and reads it strictly: an unknown member is an error, since
// DisallowUnknownFields of a surrounding decoder does not reach here.
func (u *Union[V]) UnmarshalJSON(raw []byte) error {
	if bytes.Equal(raw, []byte("null")) {
		return errors.New("union: null is not one of its variants; use Null for a value that may be null")
	}
	members, err := readMembers(raw)
	if err != nil {
		return fmt.Errorf("union: %w", err)
	}
	var value V
	discriminator := value.Discriminator()
	var chosen *string
	rest := []byte{'{'}
	for _, m := range members {
		if m.Name == discriminator {
			if err := json.Unmarshal(m.Raw, &chosen); err != nil || chosen == nil {
				return fmt.Errorf("union: %s must be a string", discriminator)
			}
			continue
		}
		key, err := jsontext.Marshal(m.Name)
		if err != nil {
			return err
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, key...), ':'), m.Raw...)
	}
	rest = append(rest, '}')
	if chosen == nil {
		return fmt.Errorf("union: %s is missing", discriminator)
	}
	v := reflect.ValueOf(&value).Elem()
	if v.Kind() != reflect.Struct {
		return fmt.Errorf("union %s: it must be a struct of variants", v.Type())
	}
	var known []string
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, ok := f.Tag.Lookup("variant")
		if !ok || f.Type.Kind() != reflect.Pointer || !f.IsExported() {
			continue
		}
		known = append(known, name)
		if name != *chosen {
			continue
		}
		v.Field(i).Set(reflect.New(f.Type.Elem()))
		d := json.NewDecoder(bytes.NewReader(rest))
		d.DisallowUnknownFields()
		if err := d.Decode(v.Field(i).Interface()); err != nil {
			return fmt.Errorf("union variant %s: %w", name, err)
		}
		u.Value = value
		return nil
	}
	return fmt.Errorf("union: %s is %s, must be one of %s", discriminator, quoteShort(*chosen), strings.Join(known, ", "))
}
