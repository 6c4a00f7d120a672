package engine

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/bb-kernel/bb/kernelcontract"
)

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
