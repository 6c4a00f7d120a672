package assembler

import "github.com/bb-kernel/bb/bridgekit/protocol"

// settleTurn settles the open turn, if there is one, after its open items: failed when the turn failed, else interrupted.
func (a *Assembler) settleTurn(status protocol.Status, err *protocol.TurnError, checkpoint *string) {
	t := a.turn
	if t == nil {
		return
	}
	itemStatus := protocol.Interrupted
	if status == protocol.Failed {
		itemStatus = protocol.Failed
	}
	a.settleItems(itemStatus, func(it *item) bool { return it.table == t.items })
	a.endTurn(&TurnCompleted{Status: status, Error: err, CheckpointID: checkpoint})
}

// endTurn closes the open turn, whose items are settled, and forgets its keys.
func (a *Assembler) endTurn(p *TurnCompleted) {
	t := a.turn
	for _, it := range t.items.known {
		delete(a.ids, it.id)
	}
	for _, h := range t.items.held {
		a.dropHeld(h)
	}
	a.turn = nil
	a.emit(t, nil, p)
}

// settleAll settles every open item and the open turn as interrupted.
func (a *Assembler) settleAll(err *protocol.TurnError) {
	a.settleItems(protocol.Interrupted, func(*item) bool { return true })
	if a.turn != nil {
		a.endTurn(&TurnCompleted{Status: protocol.Interrupted, Error: err})
	}
}

func (a *Assembler) sessionEnded() {
	a.flushSuppressed()
	a.settleAll(nil)
	a.failWaiting(protocol.Failed, "the session ended before the turn began")
}

// sessionReset begins the session's keys afresh; ids and inputs that wait stay (session/reset-flushes).
func (a *Assembler) sessionReset() {
	a.settleAll(nil)
	for h := a.held.Front(); h != nil; h = a.held.Front() {
		a.dropHeld(h.Value)
	}
	a.forget()
}

// settleItems settles the chosen open items, children before parents, otherwise in the order of opening.
func (a *Assembler) settleItems(status protocol.Status, chosen func(*item) bool) {
	var items []*item
	for n := a.open.Front(); n != nil; n = n.Next() {
		if chosen(n.Value) {
			items = append(items, n.Value)
		}
	}
	for _, it := range childrenFirst(items) {
		a.settleOpen(it, status)
	}
}

// settleOpen completes an open item that its bridge did not close, with the last full payload.
func (a *Assembler) settleOpen(it *item, status protocol.Status) {
	p := &ItemCompleted{Status: status, Item: it.stored(it.payload), Presentation: it.presentation, Partial: true}
	a.emit(it.table.turn, it, p)
	a.settled(it)
}

// childrenFirst orders items so that each comes after the items that have it as parent, and else stays as it is.
func childrenFirst(items []*item) []*item {
	parents := false
	for _, it := range items {
		parents = parents || it.parent != ""
	}
	if !parents {
		return items
	}
	children := map[string][]*item{}
	known := map[string]bool{}
	for _, it := range items {
		known[it.id] = true
		children[it.parent] = append(children[it.parent], it)
	}
	ordered := make([]*item, 0, len(items))
	var visit func(it *item)
	visit = func(it *item) {
		for _, c := range children[it.id] {
			visit(c)
		}
		ordered = append(ordered, it)
	}
	for _, it := range items {
		if !known[it.parent] { // parents form no cycles, see birth
			visit(it)
		}
	}
	return ordered
}
