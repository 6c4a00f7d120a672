// Package jsontext reads and writes JSON where encoding/json says too little: numbers by their grammar, objects with the
// order of their members, and text as it was meant, without escapes for HTML.
package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
)

// Member is a member of an object.
type Member struct {
	Name string
	Raw  json.RawMessage // as it stands in the text
}

// Errors of Members.
var (
	ErrNotObject = errors.New("must be an object")
	ErrTrailing  = errors.New("there are bytes after the object")
	ErrEnds      = errors.New("the JSON text ends early")
)

// Members splits a JSON object into its members, in the order of the text and with every repeated name. The error is
// ErrNotObject, ErrTrailing, ErrEnds or a *json.SyntaxError.
func Members(text []byte) ([]Member, error) {
	members, err := split(text)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, ErrEnds
	}
	return members, err
}

func split(text []byte) ([]Member, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('{') {
		return nil, ErrNotObject
	}
	var members []Member
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := Member{Name: t.(string)} // the decoder yields only strings as names
		if err := d.Decode(&m.Raw); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		return nil, ErrTrailing
	}
	return members, nil
}

// Equal compares two JSON values exactly: numbers by their text, objects without regard to order. What is not JSON equals
// nothing.
func Equal(a, b []byte) bool {
	va, errA := decode(a)
	vb, errB := decode(b)
	return errA == nil && errB == nil && reflect.DeepEqual(va, vb)
}

func decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v)
}

// Find returns the place of the first member of that name, -1 when there is none.
func Find(members []Member, name string) int {
	for i := range members {
		if members[i].Name == name {
			return i
		}
	}
	return -1
}
