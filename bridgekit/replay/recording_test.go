package replay_test

import (
	"encoding/json"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/record"
	"github.com/bb-kernel/bb/bridgekit/replay"
	"github.com/matryer/is"
)

// TestRecording pins what testdata/recording comes to: the echo provider, asked for items, early, ask all, approve
// command, tool {"a":1}, error overloaded and nothing, recorded with BB_BRIDGE_RECORD_DIR.
func TestRecording(t *testing.T) {
	is := is.New(t)
	recording, err := record.Read("testdata/recording", "echo", "t")
	is.NoErr(err)
	kinds, err := extension.New(protocol.ProviderDeclaration{ID: "echo", ExtensionKinds: map[string]protocol.ExtensionKind{
		"echo/card": {Item: json.RawMessage(`{"type":"object"}`)}}})
	is.NoErr(err)
	r, err := replay.Thread(recording, replay.Options{Kinds: kinds})
	is.NoErr(err)
	is.Equal(len(r.Violations), 0)
	is.Equal(r.Rows(), 18)
	is.Equal(r.Counts(), map[assembler.EventType]int{
		assembler.TypeTurnStarted: 7, assembler.TypeInputAccepted: 7, assembler.TypeTurnDiff: 1, assembler.TypeTurnCompleted: 7,
		assembler.TypeItemStarted: 17, assembler.TypeItemText: 22, assembler.TypeItemOutput: 3, assembler.TypeItemCompleted: 18,
		assembler.TypeProviderError: 1,
	})
}
