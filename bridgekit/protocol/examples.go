package protocol

import (
	"bytes"
	_ "embed"
	"encoding/json"
)

// Sample is a value of the protocol that shows a type.
type Sample struct {
	Name string          `json:"name"` // what it shows, unique
	Type string          `json:"type"` // its definition in Schema
	JSON json.RawMessage `json:"value"`
}

//go:embed examples.ndjson
var examples []byte

// Examples returns an example of every message, delta, item, input, interaction, resolution and error, in the order of
// the documentation.
func Examples() []Sample {
	var list []Sample
	for line := range bytes.Lines(examples) {
		var e Sample
		if err := json.Unmarshal(line, &e); err != nil {
			panic("protocol: examples.ndjson: " + err.Error())
		}
		list = append(list, e)
	}
	return list
}
