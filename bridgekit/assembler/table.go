package assembler

import (
	"slices"

	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/internal/itemkey"
	"github.com/bb-kernel/bb/bridgekit/internal/order"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// table holds the items of one scope: of a turn, which it dies with, or of the thread.
type table struct {
	turn     *turn                 // nil: the thread
	known    map[string]*item      // open and settled, by table key
	newest   map[string]*item      // the newest by providerItemId
	done     order.List[*item]     // the settled ones, in the order of settling
	messages []*item               // the open messages, in the order of opening
	expected map[string]*expected  // by key and by providerItemId
	minted   order.List[*expected] // oldest first
	held     map[string]*heldOutput
}

func newTable() *table {
	return &table{known: map[string]*item{}, newest: map[string]*item{}, expected: map[string]*expected{},
		held: map[string]*heldOutput{}}
}

func (t *table) remove(it *item) {
	delete(t.known, it.key)
	if t.newest[it.provider] == it {
		delete(t.newest, it.provider)
	}
}

// unlist takes an item out of the open messages.
func (t *table) unlist(it *item) {
	if i := slices.Index(t.messages, it); i >= 0 {
		t.messages = slices.Delete(t.messages, i, i+1)
	}
}

// expected is an id that was minted before its item came: for a parent that a child named, or for a request.
type expected struct {
	node order.Node[*expected]
	id   string
	key  string // the key that it is for; "" when only a child named it
	refs []string
}

// expectItem mints an id, and forgets the oldest such id beyond the bound.
func (a *Assembler) expectItem(t *table) *expected {
	e := &expected{id: a.mint()}
	e.node.Value = e
	t.minted.PushBack(&e.node)
	if t.minted.Len() > maxExpected {
		t.unexpect(t.minted.Front().Value)
	}
	return e
}

// name lets an id that was minted in advance be found by a key, a providerItemId or a parentRef.
func (t *table) name(e *expected, ref string) {
	if ref != "" && t.expected[ref] == nil {
		t.expected[ref] = e
		e.refs = append(e.refs, ref)
	}
}

func (t *table) unexpect(e *expected) {
	e.node.Remove()
	for _, r := range e.refs {
		if t.expected[r] == e {
			delete(t.expected, r)
		}
	}
}

// tables returns where an item of a table is looked for: the open turn, then the thread.
func (a *Assembler) tables() []*table {
	if a.turn != nil {
		return []*table{a.turn.items, a.thread}
	}
	return []*table{a.thread}
}

// ItemID returns the id of the item that a request names: the item's own, or one that is minted in advance and that the
// item will have. It is false when the scope is a turn that is not open and the item is not known: then it has no id.
func (a *Assembler) ItemID(s protocol.Scope, k protocol.ItemKey) (string, bool) {
	if it := a.find(k); it != nil {
		return it.id, true
	}
	t, ok := a.scope(s)
	if !ok {
		return "", false
	}
	key, provider := string(a.scratch), itemkey.Kept(k.ProviderItemID)
	for _, tab := range a.tables() {
		if e := tab.awaited(key, provider); e != nil {
			e.key = key
			tab.name(e, key)
			return e.id, true
		}
	}
	tab := a.tableOf(t)
	e := a.expectItem(tab)
	e.key = key
	tab.name(e, key)
	tab.name(e, provider)
	return e.id, true
}

// awaited returns the id that was minted in advance for a key.
func (t *table) awaited(key, provider string) *expected {
	if e := t.expected[key]; e != nil {
		return e
	}
	if e := t.expected[provider]; e != nil && e.key == "" {
		return e
	}
	return nil
}

// birth makes the item of a new key: with the id that was minted in advance for it, or a new one, and with its parent.
func (a *Assembler) birth(t *table, k protocol.ItemKey) *item {
	a.scratch = itemkey.Append(a.scratch[:0], k)
	it := &item{table: t, key: string(a.scratch), provider: itemkey.Kept(k.ProviderItemID), ref: itemkey.Kept(k.ParentRef)}
	it.node.Value = it
	claimed := false
	for _, tab := range a.tables() {
		if e := tab.awaited(it.key, it.provider); e != nil && !claimed {
			it.id, claimed = e.id, true
			tab.unexpect(e)
		}
	}
	if !claimed {
		it.id = a.mint()
	}
	it.parent = a.parentOf(it)
	if claimed && a.descends(it.parent, it.id) {
		it.parent = "" // two items that name each other as parent: the second stays without
	}
	t.known[it.key] = it
	if it.provider != "" {
		t.newest[it.provider] = it
	}
	a.ids[it.id] = it
	return it
}

// parentOf resolves the parentRef of a new item: an exact key string, else the newest item of that providerItemId in the
// turn, then in the thread, else an id minted in advance.
func (a *Assembler) parentOf(it *item) string {
	if it.ref == "" {
		return ""
	}
	tables := a.tables()
	for _, t := range tables {
		if p := t.known[it.ref]; p != nil {
			return p.id
		}
	}
	for _, t := range tables {
		if p := t.newest[it.ref]; p != nil {
			return p.id
		}
	}
	if it.ref == it.key || it.ref == it.provider {
		return "" // it names itself
	}
	for _, t := range tables {
		if e := t.expected[it.ref]; e != nil {
			return e.id
		}
	}
	e := a.expectItem(it.table)
	it.table.name(e, it.ref)
	return e.id
}

// descends tells whether the item of an id is another or a descendant of it.
func (a *Assembler) descends(id, ancestor string) bool {
	for id != "" && id != ancestor {
		it := a.ids[id]
		if it == nil {
			return false
		}
		id = it.parent
	}
	return id == ancestor
}

// heldOutput is output for an item that is not open yet.
type heldOutput struct {
	node  order.Node[*heldOutput]
	table *table
	key   string
	text  []byte
}

// hold keeps output until its item opens. When there is no room, what is held longest for other items goes first.
func (a *Assembler) hold(t *table, d *protocol.ItemOutput) {
	key := string(itemkey.Append(nil, d.Key))
	h := t.held[key]
	if h == nil {
		h = &heldOutput{table: t, key: key}
		h.node.Value = h
		a.held.PushBack(&h.node)
		t.held[key] = h
	}
	if d.Mode == protocol.Replace {
		a.bytes -= len(h.text)
		h.text = nil
	}
	if len(h.text)+len(d.Text) > protocol.UnknownKeyBuffer {
		a.dropped++
		return
	}
	h.text = append(h.text, d.Text...)
	a.bytes += len(d.Text)
	for a.bytes > protocol.UnknownKeyBuffer || a.held.Len() > maxHeldKeys {
		oldest := a.held.Front()
		if oldest.Value == h {
			oldest = oldest.Next()
		}
		a.dropHeld(oldest.Value)
	}
}

func (a *Assembler) forgetHeld(h *heldOutput) {
	h.node.Remove()
	delete(h.table.held, h.key)
	a.bytes -= len(h.text)
}

func (a *Assembler) dropHeld(h *heldOutput) {
	a.forgetHeld(h)
	a.dropped++
}

// takeHeld returns the payload of an item that opens, with the output that came before it. Output that the payload itself
// has is newer and wins.
func (a *Assembler) takeHeld(t *table, key string, payload protocol.Item) protocol.Item {
	h := t.held[key]
	if h == nil {
		return payload
	}
	text := string(h.text)
	if grammar.FoldsOutput(payload.Kind()) {
		a.forgetHeld(h)
	} else {
		a.dropHeld(h)
	}
	switch p := payload.(type) {
	case *protocol.Command:
		if p.Output == nil {
			c := *p
			c.Output = &text
			return &c
		}
	case *protocol.Tool:
		if p.Result == nil {
			c := *p
			c.Result = &text
			return &c
		}
	case *protocol.Task:
		if p.Summary == nil {
			c := *p
			c.Summary = &text
			return &c
		}
	}
	return payload
}
