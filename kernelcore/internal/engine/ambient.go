package engine

import (
	"bytes"
	"encoding/json"
	"slices"

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

// resolveHosts puts the id of a host into every field for one that names it otherwise. The input is validated.
func (e *Engine) resolveHosts(input []byte, d *kernelcontract.MethodDef) []byte {
	if e.o.ResolveHost == nil {
		return input
	}
	for field, key := range d.Ambient {
		if key == kernelcontract.HostID {
			input = e.resolveHost(input, field)
		}
	}
	return input
}

// resolveHost does so for one field.
func (e *Engine) resolveHost(input []byte, field string) []byte {
	d := json.NewDecoder(bytes.NewReader(input))
	_, _ = d.Token() // the opening brace
	for d.More() {
		name, _ := d.Token()
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return input
		}
		if name != field {
			continue
		}
		var host string
		if json.Unmarshal(raw, &host) != nil || host == "" {
			return input
		}
		id, _ := json.Marshal(e.o.ResolveHost(host)) // a string always encodes
		end := int(d.InputOffset())
		return slices.Concat(input[:end-len(raw)], id, input[end:])
	}
	return input
}
