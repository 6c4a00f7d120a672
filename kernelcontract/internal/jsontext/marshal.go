package jsontext

import (
	"bytes"
	"encoding/json"
	"sync"
)

// encoders keeps encoders with the memory that they write to.
var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.text)
	e.json.SetEscapeHTML(false)
	return e
}}

// maxKept is the capacity up to which an encoder is kept: what a large value grew is left to the collector.
const maxKept = 64 << 10

type encoder struct {
	text bytes.Buffer
	json *json.Encoder
}

// Marshal is json.Marshal without HTML escaping.
func Marshal(v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.text.Reset()
	err := e.json.Encode(v) // a panic of a type's own method leaves the encoder to the collector
	if err != nil {
		encoders.Put(e) // nothing was written: encoding fails as a whole
		return nil, err
	}
	b := e.text.Bytes()
	b = b[:len(b)-1] // without the line feed
	if e.text.Cap() > maxKept {
		return b, nil
	}
	b = bytes.Clone(b)
	encoders.Put(e)
	return b, nil
}
