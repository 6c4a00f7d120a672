package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// Event is something that happened in a thread, before it has a number.
type Event struct {
	At           time.Time
	Type         string
	TurnID       string // "": it belongs to the thread
	ItemID       string
	ParentItemID string
	Payload      any // encodes to a JSON object; nil is {}
}

// FromAssembler returns an event of the assembler in this form.
func FromAssembler(e assembler.Event) Event {
	return Event{At: e.At, Type: string(e.Type), TurnID: e.Scope.TurnID, ItemID: e.ItemID, ParentItemID: e.ParentItemID, Payload: e.Payload}
}

// Record is something that is stored in the same transaction as events.
type Record struct {
	Bucket, Key string
	Value       []byte // nil deletes
}

// numbered gives an event its number.
func (e Event) numbered(threadID string, seq int64) (threadapi.Event, error) {
	out := threadapi.Event{ThreadID: threadID, Seq: seq, At: e.At.UTC().Round(0), Type: e.Type, ItemID: e.ItemID, ParentItemID: e.ParentItemID, Scope: scopeOf(e.TurnID)}
	if e.Payload == nil {
		out.Payload = json.RawMessage("{}")
		return out, nil
	}
	raw, err := encode(e.Payload)
	if err != nil {
		return out, fmt.Errorf("timeline: the payload of %s: %w", e.Type, err)
	}
	out.Payload = raw
	return out, nil
}

func scopeOf(turnID string) threadapi.Scope {
	if turnID == "" {
		return threadapi.Scope{Kind: "thread"}
	}
	return threadapi.Scope{Kind: "turn", TurnID: turnID}
}

// encode is json.Marshal without the escapes that HTML needs: they would blow up what agents write.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// appendLine appends an event as one line of JSON. Written by hand, since it runs for each event.
func appendLine(b []byte, e *threadapi.Event) []byte {
	b = append(b, `{"threadId":`...)
	b = appendText(b, e.ThreadID)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, e.Seq, 10)
	b = append(b, `,"at":"`...)
	b = e.At.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","type":`...)
	b = appendText(b, e.Type)
	b = append(b, `,"scope":{"kind":`...)
	b = appendText(b, e.Scope.Kind)
	if e.Scope.TurnID != "" {
		b = append(b, `,"turnId":`...)
		b = appendText(b, e.Scope.TurnID)
	}
	b = append(b, '}')
	if e.ItemID != "" {
		b = append(b, `,"itemId":`...)
		b = appendText(b, e.ItemID)
	}
	if e.ParentItemID != "" {
		b = append(b, `,"parentItemId":`...)
		b = appendText(b, e.ParentItemID)
	}
	if len(e.Covers) == 2 {
		b = append(b, `,"covers":[`...)
		b = strconv.AppendInt(b, e.Covers[0], 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, e.Covers[1], 10)
		b = append(b, ']')
	}
	b = append(b, `,"payload":`...)
	b = append(b, e.Payload...)
	return append(b, '}', '\n')
}

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			raw, err := encode(s)
			if err != nil {
				raw = []byte(`""`) // strings encode
			}
			return append(b, raw...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// decodeLines returns the events of a stored batch.
func decodeLines(raw []byte) ([]threadapi.Event, error) {
	var events []threadapi.Event
	for line := range bytes.Lines(raw) {
		var e threadapi.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("timeline: a stored event is damaged: %w", err)
		}
		events = append(events, e)
	}
	return events, nil
}

// from is the first number that an event stands for.
func from(e *threadapi.Event) int64 {
	if len(e.Covers) == 2 {
		return e.Covers[0]
	}
	return e.Seq
}
