package engine

import (
	"bytes"
	"encoding/json"

	"github.com/bb-kernel/bb/kernelcontract"
)

// fillAmbient adds to an input object the ambient fields that it omits and the context knows. An input that is not an
// object is returned as it is: validation says what is wrong with it.
func fillAmbient(raw json.RawMessage, d *kernelcontract.MethodDef, c kernelcontract.Context) json.RawMessage {
	if len(d.Ambient) == 0 || c == (kernelcontract.Context{}) {
		return raw
	}
	var have map[string]json.RawMessage
	if json.Unmarshal(raw, &have) != nil || have == nil {
		return raw
	}
	fields, err := d.Fields()
	if err != nil {
		return raw
	}
	var add bytes.Buffer
	for _, f := range fields { // in schema order
		key, ambient := d.Ambient[f.Name]
		if _, given := have[f.Name]; !ambient || given {
			continue
		}
		if v := c.Value(key); v != "" {
			name, _ := json.Marshal(f.Name)
			value, _ := json.Marshal(v)
			add.WriteByte(',')
			add.Write(name)
			add.WriteByte(':')
			add.Write(value)
		}
	}
	if add.Len() == 0 {
		return raw
	}
	body := bytes.TrimSpace(raw)
	body = body[:len(body)-1] // the closing brace
	out := make([]byte, 0, len(body)+add.Len()+1)
	out = append(out, body...)
	extra := add.Bytes()
	if len(have) == 0 {
		extra = extra[1:]
	}
	out = append(out, extra...)
	return append(out, '}')
}
