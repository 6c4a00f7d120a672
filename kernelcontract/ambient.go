package kernelcontract

import (
	"bytes"
	"encoding/json"
)

// FillAmbient adds to an input object the ambient fields that it omits and c knows, in schema order; the rest of the text
// stays as it is. An input that is not an object is returned as it is: validation says what is wrong with it. Kernels and
// test hosts call it before they validate.
func (d *MethodDef) FillAmbient(input json.RawMessage, c Context) json.RawMessage {
	if len(d.Ambient) == 0 || c == (Context{}) {
		return input
	}
	var have map[string]json.RawMessage
	if json.Unmarshal(input, &have) != nil || have == nil {
		return input
	}
	fields, err := d.Fields()
	if err != nil {
		return input
	}
	var add bytes.Buffer
	for _, f := range fields {
		key, ambient := d.Ambient[f.Name]
		if _, given := have[f.Name]; !ambient || given {
			continue
		}
		if v := c.Value(key); v != "" {
			name, _ := json.Marshal(f.Name) // strings encode
			value, _ := json.Marshal(v)
			add.WriteByte(',')
			add.Write(name)
			add.WriteByte(':')
			add.Write(value)
		}
	}
	if add.Len() == 0 {
		return input
	}
	extra := add.Bytes()
	if len(have) == 0 {
		extra = extra[1:]
	}
	body := bytes.TrimSpace(input)
	body = body[:len(body)-1] // the closing brace
	out := make([]byte, 0, len(body)+len(extra)+1)
	return append(append(append(out, body...), extra...), '}')
}
