package assembler

import (
	"slices"

	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/internal/itemkey"
	"github.com/bb-kernel/bb/bridgekit/internal/order"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// item is what is known of a key: open, or settled.
type item struct {
	node     order.Node[*item] // in Assembler.open, or in table.done
	table    *table            // its scope, fixed at open
	key      string            // the table key
	provider string            // the table key of its providerItemId, "" for null
	ref      string            // its parentRef as itemkey.Kept
	id       string
	parent   string // the parent's id, "" for none

	// What follows is kept while the item is open, presentation also while it is detached.
	providerItemID string
	payload        protocol.Item // the last full payload
	presentation   protocol.Presentation

	// What the bridge sent of a message's text, and of it what earlier parts have (message/auto-detach).
	streamed, before digest
	detached         bool // completed by another item; its bridge did not close it yet
}

func (it *item) isOpen() bool { return it.node.List() != nil && it.node.List() != &it.table.done }

func (it *item) stored(p protocol.Item) StoredItem {
	return StoredItem{Item: p, ProviderItemID: it.providerItemID}
}

// find returns the item that a key names: of the open turn, else of the thread.
func (a *Assembler) find(k protocol.ItemKey) *item {
	a.scratch = itemkey.Append(a.scratch[:0], k)
	if a.turn != nil {
		if it := a.turn.items.known[string(a.scratch)]; it != nil {
			return it
		}
	}
	return a.thread.known[string(a.scratch)]
}

// tableOf returns the table of a scope, whose turn is open.
func (a *Assembler) tableOf(t *turn) *table {
	if t == nil {
		return a.thread
	}
	return t.items
}

func (a *Assembler) itemOpen(d *protocol.ItemOpen) {
	if a.refusedExtension(d, d.Item) {
		return
	}
	it := a.find(d.Key)
	if it != nil && it.isOpen() { // acts as progress
		a.progress(it, nil, d.Item, &d.Presentation)
		return
	}
	payload := d.Item
	switch {
	case it == nil:
		t, ok := a.turnOf(d, d.Scope)
		if !ok {
			return
		}
		it = a.birth(a.tableOf(t), d.Key)
		payload = a.takeHeld(it.table, it.key, payload)
	case it.detached:
		a.rename(it)
	default:
		it.streamed, it.before = digest{}, digest{} // opened anew, under its id
	}
	if payload.Kind().Detaches() {
		a.detachMessages(it)
	}
	a.start(it, d.Key, it.whole(payload), d.Presentation)
}

// start opens an item.
func (a *Assembler) start(it *item, k protocol.ItemKey, payload protocol.Item, p protocol.Presentation) {
	it.node.Remove()
	a.open.PushBack(&it.node)
	it.providerItemID, it.presentation, it.detached = k.ProviderItemID, p, false
	it.setPayload(payload)
	a.emit(it.table.turn, it, &ItemStarted{Item: it.stored(payload), Presentation: p})
	if a.open.Len() > MaxOpenItems {
		a.settleOpen(a.open.Front().Value, protocol.Interrupted)
	}
}

// setPayload makes payload the last full payload of an open item.
func (it *item) setPayload(payload protocol.Item) {
	it.payload = payload
	it.table.unlist(it)
	if payload.Kind() == protocol.KindMessage {
		it.table.messages = append(it.table.messages, it)
	}
}

// whole notes the whole text of a message so far, and returns what of it belongs to this part. Other payloads stay.
func (it *item) whole(payload protocol.Item) protocol.Item {
	m, ok := payload.(*protocol.Message)
	if !ok {
		return payload
	}
	it.streamed = digest{}.add(m.Text)
	return it.part(m)
}

func (a *Assembler) itemText(d *protocol.ItemText) {
	it := a.find(d.Key)
	switch {
	case it == nil:
		if _, ok := a.turnOf(d, d.Scope); ok {
			a.dropped++ // item/opens-before-delta
		}
	case it.isOpen():
		if !grammar.FoldsText(it.payload.Kind(), d.Stream) {
			a.dropped++
			return
		}
		if it.payload.Kind() == protocol.KindMessage {
			it.streamed = it.streamed.add(d.Text)
		}
		a.emit(it.table.turn, it, &ItemText{Stream: d.Stream, Text: d.Text})
	case it.detached && d.Stream == protocol.Text:
		it.streamed = it.before.add(d.Text)
		a.rename(it)
		a.start(it, d.Key, &protocol.Message{Text: d.Text}, it.presentation)
	default:
		a.dropped++ // item/settles-once
	}
}

func (a *Assembler) itemOutput(d *protocol.ItemOutput) {
	it := a.find(d.Key)
	switch {
	case it == nil:
		if t, ok := a.turnOf(d, d.Scope); ok {
			a.hold(a.tableOf(t), d)
		}
	case it.isOpen() && grammar.FoldsOutput(it.payload.Kind()):
		a.emit(it.table.turn, it, &ItemOutput{Mode: d.Mode, Text: d.Text})
	default:
		a.dropped++
	}
}

func (a *Assembler) itemProgress(d *protocol.ItemProgress) {
	if a.refusedExtension(d, d.Item) {
		return
	}
	it := a.find(d.Key)
	switch {
	case it == nil:
		if _, ok := a.turnOf(d, d.Scope); ok {
			a.dropped++
		}
	case it.isOpen():
		a.progress(it, d.Message, d.Item, d.Presentation)
	default:
		a.dropped++
	}
}

func (a *Assembler) progress(it *item, message *string, payload protocol.Item, p *protocol.Presentation) {
	e := &ItemProgress{Message: message, Presentation: p}
	if payload != nil {
		payload = it.whole(payload)
		it.setPayload(payload)
		stored := it.stored(payload)
		e.Item = &stored
	}
	if p != nil {
		it.presentation = *p
	}
	a.emit(it.table.turn, it, e)
}

func (a *Assembler) itemClose(d *protocol.ItemClose) {
	if a.refusedExtension(d, d.Item) {
		return
	}
	it := a.find(d.Key)
	payload := d.Item
	m, _ := payload.(*protocol.Message)
	switch {
	case it == nil:
		t, ok := a.turnOf(d, d.Scope)
		if !ok {
			return
		}
		it = a.birth(a.tableOf(t), d.Key)
		if h := it.table.held[it.key]; h != nil {
			a.forgetHeld(h) // the closing payload has it all
		}
	case it.isOpen():
		if m != nil {
			payload = it.part(m)
		}
	case it.detached:
		it.detached = false
		if m != nil && len(m.Text) <= it.before.n {
			return // nothing came since it was completed
		}
		if m != nil {
			payload = it.part(m)
		}
		a.rename(it)
	default:
		a.dropped++ // item/settles-once
		return
	}
	it.providerItemID = d.Key.ProviderItemID
	a.emit(it.table.turn, it, &ItemCompleted{Status: d.Status, Item: it.stored(payload), Presentation: d.Presentation})
	a.settled(it)
}

// settled files an item under the settled ones of its table, and forgets the oldest beyond the bound.
func (a *Assembler) settled(it *item) {
	it.node.Remove()
	it.table.unlist(it)
	it.table.done.PushBack(&it.node)
	it.payload, it.providerItemID, it.presentation = nil, "", protocol.Presentation{}
	if it.table.done.Len() > MaxSettledKeys {
		old := it.table.done.Front().Value
		old.node.Remove()
		old.table.remove(old)
		delete(a.ids, old.id)
	}
}

// rename gives a key a new item id.
func (a *Assembler) rename(it *item) {
	delete(a.ids, it.id)
	it.id = a.mint()
	a.ids[it.id] = it
}

// detachMessages completes the open messages beside an item that opens (message/auto-detach).
func (a *Assembler) detachMessages(opened *item) {
	for _, m := range slices.Clone(opened.table.messages) {
		if m == opened || m.ref != opened.ref {
			continue
		}
		p := m.presentation
		a.settleOpen(m, protocol.Completed)
		m.detached, m.before, m.presentation = true, m.streamed, p
	}
}

// part returns a message with what its whole text adds to the parts before it. A text that does not continue those stays
// whole.
func (it *item) part(m *protocol.Message) protocol.Item {
	n := it.before.n
	if n == 0 || len(m.Text) < n || (digest{}).add(m.Text[:n]) != it.before {
		return m
	}
	return &protocol.Message{Text: m.Text[n:]}
}

// digest tells texts apart without keeping them: their length and FNV-1a hash.
type digest struct {
	n   int
	xor uint64
}

func (d digest) add(text string) digest {
	const offset, prime = 14695981039346656037, 1099511628211
	h := d.xor ^ offset
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	return digest{d.n + len(text), h ^ offset}
}
