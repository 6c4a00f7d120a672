package protocol_test

import (
	"encoding/json"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/matryer/is"
)

// TestKinds compares the lists of kinds with the JSON Schemas, which come from the types.
func TestKinds(t *testing.T) {
	is := is.New(t)
	var schema struct {
		Defs map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Enum       []string                   `json:"enum"`
		} `json:"$defs"`
	}
	is.NoErr(json.Unmarshal(protocol.Schema(), &schema))
	kinds := map[string]bool{} // the constants that are the kind of a definition
	for _, d := range schema.Defs {
		var kind struct {
			Const string `json:"const"`
		}
		if json.Unmarshal(d.Properties["kind"], &kind) == nil {
			kinds[kind.Const] = true
		}
	}
	is.Equal(len(protocol.DeltaKinds()), 22)
	scoped := 0
	for _, k := range protocol.DeltaKinds() {
		is.True(kinds[string(k)])
		if k.Scoped() {
			scoped++
		}
	}
	is.Equal(scoped, 8)
	is.Equal(len(protocol.ItemKinds()), 8)
	for _, k := range protocol.ItemKinds() {
		is.True(kinds[string(k)])
	}
	is.Equal(schema.Defs["ItemStatus"].Enum, []string{"pending", "completed", "failed", "interrupted"})
}

// TestScopedKinds sends each kind without a scope: exactly the scoped ones miss it.
func TestScopedKinds(t *testing.T) {
	is := is.New(t)
	for _, k := range protocol.DeltaKinds() {
		_, err := protocol.ParseDelta([]byte(`{"kind":"` + string(k) + `"}`))
		missing := false
		if err != nil {
			for _, issue := range err.Issues {
				missing = missing || issue.Path == "scope"
			}
		}
		is.Equal(missing, k.Scoped())
	}
}
