package host

import "github.com/bb-kernel/bb/bridgekit/protocol"

// openTurn follows which turn of a thread is open, by the bridge's own key, so that a settlement can end what waits for
// it. Only the reader's goroutine changes it.
type openTurn struct {
	open  bool
	keyed bool // key is not null
	key   string
}

// same tells whether key names the open turn.
func (t *openTurn) same(key *string) bool {
	return t.open && (key == nil && !t.keyed || key != nil && t.keyed && *key == t.key)
}

// apply follows one delta and reports whether it settled the open turn.
func (t *openTurn) apply(d protocol.Delta) (settled bool) {
	switch d := d.(type) {
	case *protocol.TurnOpen:
		if t.same(d.TurnKey) {
			return false
		}
		settled = t.open
		*t = openTurn{open: true}
		if d.TurnKey != nil {
			t.keyed, t.key = true, *d.TurnKey
		}
		return settled
	case *protocol.TurnBoundary:
		if d.TurnKey != nil && !t.same(d.TurnKey) {
			return false
		}
	case *protocol.ProviderError:
		if !d.SettlesTurn || d.Scope.Thread || d.Scope.Turn != "" && !t.same(&d.Scope.Turn) {
			return false
		}
	case *protocol.SessionEnded, *protocol.SessionReset:
	default:
		return false
	}
	settled = t.open
	*t = openTurn{}
	return settled
}
