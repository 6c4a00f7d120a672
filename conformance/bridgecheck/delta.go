package bridgecheck

import (
	"encoding/json"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// delta is one element of a thread/delta, read as far as it can be read. The strict decoder grades it; this view is what
// the checks follow, so that a delta which breaks one rule hides nothing else from them.
type delta struct {
	thread  string
	raw     json.RawMessage
	fields  map[string]json.RawMessage // nil when it is no object
	kind    protocol.DeltaKind
	turnKey *string // nil when it is null, missing or no string
	key     string  // the key string of an item, "" when there is none
	item    protocol.ItemKind
	status  protocol.Status
}

// readDeltas reads the deltas of the params of a thread/delta.
func readDeltas(params json.RawMessage) []delta {
	var p struct {
		ThreadID string            `json:"threadId"`
		Deltas   []json.RawMessage `json:"deltas"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	deltas := make([]delta, 0, len(p.Deltas))
	for _, raw := range p.Deltas {
		deltas = append(deltas, readDelta(p.ThreadID, raw))
	}
	return deltas
}

func readDelta(thread string, raw json.RawMessage) delta {
	d := delta{thread: thread, raw: raw}
	if json.Unmarshal(raw, &d.fields) != nil {
		d.fields = nil
		return d
	}
	d.kind = protocol.DeltaKind(d.string("kind"))
	d.status = protocol.Status(d.string("status"))
	var key *string
	if json.Unmarshal(d.fields["turnKey"], &key) == nil {
		d.turnKey = key
	}
	var parts struct{ ProviderItemID, Channel, ParentRef *string }
	if raw := d.fields["key"]; raw != nil && json.Unmarshal(raw, &parts) == nil {
		d.key = protocol.ItemKey{
			ProviderItemID: orEmpty(parts.ProviderItemID), Channel: orEmpty(parts.Channel), ParentRef: orEmpty(parts.ParentRef),
		}.String()
	}
	var item struct {
		Kind protocol.ItemKind `json:"kind"`
	}
	if raw := d.fields["item"]; raw != nil && json.Unmarshal(raw, &item) == nil {
		d.item = item.Kind
	}
	return d
}

// string returns the field as a string, "" when it is none.
func (d *delta) string(field string) string {
	var s string
	if json.Unmarshal(d.fields[field], &s) != nil {
		return ""
	}
	return s
}

// isTrue reports whether the field is true.
func (d *delta) isTrue(field string) bool { return string(d.fields[field]) == "true" }

// settlesTurn reports whether the open turn has ended with d.
func (d *delta) settlesTurn() bool {
	switch d.kind {
	case protocol.KindTurnBoundary, protocol.KindSessionEnded, protocol.KindSessionReset:
		return true
	case protocol.KindProviderError:
		return d.isTrue("settlesTurn")
	}
	return false
}

// scoped reports whether deltas of the kind carry a scope.
func scoped(kind protocol.DeltaKind) bool {
	switch kind {
	case protocol.KindItemOpen, protocol.KindItemText, protocol.KindItemOutput, protocol.KindItemProgress, protocol.KindItemClose,
		protocol.KindProviderError, protocol.KindProviderWarning, protocol.KindProviderUnhandled:
		return true
	}
	return false
}

// scopeProblem says what is wrong with the scope of a scoped delta, or "".
func (d *delta) scopeProblem() string {
	turnKey, has := d.fields["turnKey"]
	switch d.string("scope") {
	case "turn":
		if !has {
			return `has "scope":"turn" and no turnKey: give the key of the turn, or null for the open one`
		}
		var key *string
		if json.Unmarshal(turnKey, &key) != nil || key != nil && *key == "" {
			return "has a turnKey that is neither null nor a string that is not empty"
		}
	case "thread":
		if has {
			return `has "scope":"thread" and a turnKey: leave turnKey out`
		}
	case "":
		return `has no scope: write "scope":"turn" with a turnKey, or "scope":"thread"`
	default:
		return `has a scope that is neither "turn" nor "thread"`
	}
	return ""
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
