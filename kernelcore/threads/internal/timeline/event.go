package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
)

// Event is what happened in a thread, as its Writer takes it.
type Event struct {
	At           time.Time // zero: now. It never decides an order
	Type         string    // of the assembler, or one of threadapi's Event constants
	TurnID       string    // "" for what belongs to the thread
	ItemID       string    // "" for what is of no item
	ParentItemID string
	Payload      any // encodes to a JSON object; nil stands for {}
}

// FromAssembler returns an event of a bridge.
func FromAssembler(e assembler.Event) Event {
	return Event{At: e.At, Type: string(e.Type), TurnID: e.Scope.TurnID, ItemID: e.ItemID, ParentItemID: e.ParentItemID, Payload: e.Payload}
}

// Record is a record of the store that is written together with events.
type Record struct {
	Bucket, Key string
	Value       []byte // nil deletes
}

// OpenItem is an item that has not been completed.
type OpenItem struct {
	ItemID, ParentItemID, TurnID string
	Item                         json.RawMessage // the last payload that came in full
	Presentation                 json.RawMessage
}

// maxID bounds an id, so that a turn with a row's number fits into a key of the store.
const maxID = store.MaxKey / 2

// encode gives e the form that is stored, without its seq.
func (e Event) encode(threadID string, now func() time.Time) (threadapi.Event, error) {
	out := threadapi.Event{ThreadID: threadID, At: e.At.UTC().Round(0), Type: e.Type, ItemID: e.ItemID, ParentItemID: e.ParentItemID, Scope: threadapi.Scope{Kind: "thread"}}
	if e.At.IsZero() || out.At.Year() < 0 || out.At.Year() > 9999 {
		out.At = now().UTC().Round(0)
	}
	if e.TurnID != "" {
		out.Scope = threadapi.Scope{Kind: "turn", TurnID: e.TurnID}
	}
	if e.Type == "" {
		return out, fmt.Errorf("timeline: an event of thread %s has no type", threadID)
	}
	if n := max(len(e.TurnID), len(e.ItemID), len(e.ParentItemID)); n > maxID {
		return out, fmt.Errorf("timeline: an id of an event %s has %d bytes; at most %d are kept", e.Type, n, maxID)
	}
	if e.Payload == nil {
		out.Payload = json.RawMessage("{}")
		return out, nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // it makes code six times as long
	if err := enc.Encode(e.Payload); err != nil {
		return out, fmt.Errorf("timeline: the payload of an event %s cannot be encoded: %w", e.Type, err)
	}
	out.Payload = bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if out.Payload[0] != '{' {
		return out, fmt.Errorf("timeline: the payload of an event %s must be a JSON object", e.Type)
	}
	return out, nil
}
