package grammar

import (
	"github.com/bb-kernel/bb/bridgekit/internal/itemkey"
	"github.com/bb-kernel/bb/bridgekit/internal/order"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// session is what is known of a session: session.reset begins it afresh.
type session struct {
	turn  turn
	items table // of the thread's scope
	keys  map[string]*vouchedKey
	order order.List[*vouchedKey] // oldest first
}

// turn is the open turn, or the time between two turns.
type turn struct {
	open  bool
	key   string // "": null
	items *table
}

type vouchedKey struct {
	node order.Node[*vouchedKey]
	key  string
}

func newSession() *session {
	return &session{turn: turn{items: &table{}}, keys: map[string]*vouchedKey{}}
}

func (s *session) vouched(key string) bool { return s.keys[itemkey.Kept(key)] != nil }

// table holds the items of a scope.
type table struct {
	items      map[string]*entry
	open, done order.List[*entry] // oldest first
}

// entry is an item.
type entry struct {
	node  order.Node[*entry]
	table *table
	key   string
	state state
	folds folds
}

type state uint8

const (
	open   state = iota
	closed       // by its bridge
	lapsed       // by core: the bridge may still close it
)

// folds says which text and output a kind of item takes.
type folds struct{ full, summary, output bool }

func (f folds) text(s protocol.TextStream) bool {
	if s == protocol.Summary {
		return f.summary
	}
	return f.full
}

func foldsOf(i protocol.Item) folds {
	k := i.Kind()
	return folds{FoldsText(k, protocol.Text), FoldsText(k, protocol.Summary), FoldsOutput(k)}
}

// find returns the item that a key names: of the turn, else of the thread.
func (c *Checker) find(k protocol.ItemKey) *entry {
	c.scratch = itemkey.Append(c.scratch[:0], k)
	if e := c.s.turn.items.items[string(c.scratch)]; e != nil {
		return e
	}
	return c.s.items.items[string(c.scratch)]
}

// opened opens an item, whose scope is that of its first opening.
func (c *Checker) opened(s protocol.Scope, k protocol.ItemKey, f folds) {
	e := c.find(k)
	if e == nil {
		e = c.add(s)
	} else {
		c.change(e)
		if e.state != open {
			e.node.Remove()
			e.table.open.PushBack(&e.node)
		}
	}
	e.state, e.folds = open, f
	if t := e.table; t.open.Len() > MaxOpenItems {
		c.settle(t.open.Front().Value, lapsed)
	}
}

// closed closes an item, which need not have been opened.
func (c *Checker) closed(s protocol.Scope, k protocol.ItemKey) {
	e := c.find(k)
	if e == nil {
		e = c.add(s)
	}
	c.settle(e, closed)
}

// add adds an open item under the key that find has looked for.
func (c *Checker) add(s protocol.Scope) *entry {
	t := c.s.turn.items
	if s.Thread {
		t = &c.s.items
	}
	e := &entry{table: t, key: string(c.scratch)}
	e.node.Value = e
	if t.items == nil {
		t.items = map[string]*entry{}
	}
	t.items[e.key] = e
	t.open.PushBack(&e.node)
	c.note(change{what: itemAdded, entry: e})
	return e
}

// settle files an item under the settled ones, and forgets the oldest beyond the bound.
func (c *Checker) settle(e *entry, s state) {
	c.change(e)
	e.state = s
	e.node.Remove()
	t := e.table
	t.done.PushBack(&e.node)
	if t.done.Len() > MaxSettledKeys {
		old := t.done.Front().Value
		c.note(change{what: itemForgotten, entry: old})
		old.node.Remove()
		delete(t.items, old.key)
	}
}

func (c *Checker) setTurn(t turn) {
	c.note(change{what: turnChanged, turn: c.s.turn})
	c.s.turn = t
}

// vouch remembers a turn key, and forgets the oldest beyond the bound.
func (c *Checker) vouch(key string) {
	key = itemkey.Kept(key)
	if key == "" || c.s.keys[key] != nil {
		return
	}
	k := &vouchedKey{key: key}
	k.node.Value = k
	c.s.keys[key] = k
	c.s.order.PushBack(&k.node)
	c.note(change{what: keyAdded, key: k})
	if c.s.order.Len() > MaxTurnKeys {
		old := c.s.order.Front().Value
		c.note(change{what: keyForgotten, key: old})
		old.node.Remove()
		delete(c.s.keys, old.key)
	}
}

// change is what revert takes back.
type change struct {
	what    what
	entry   *entry
	state   state
	folds   folds
	list    *order.List[*entry] // where the entry was,
	prev    *order.Node[*entry] // and behind which
	turn    turn
	session *session
	key     *vouchedKey
}

type what uint8

const (
	itemAdded what = iota
	itemChanged
	itemForgotten // the oldest of the settled
	turnChanged
	sessionChanged
	keyAdded
	keyForgotten // the oldest
)

func (c *Checker) note(ch change) {
	if c.keepUndo {
		c.undo = append(c.undo, ch)
	}
}

// change notes how an item is before it changes.
func (c *Checker) change(e *entry) {
	c.note(change{what: itemChanged, entry: e, state: e.state, folds: e.folds, list: e.node.List(), prev: e.node.Prev()})
}

// revert takes back what was noted, last first, so that each change finds its surroundings as they were.
func (c *Checker) revert() {
	for i := len(c.undo) - 1; i >= 0; i-- {
		ch := c.undo[i]
		e := ch.entry
		switch ch.what {
		case itemAdded:
			e.node.Remove()
			delete(e.table.items, e.key)
		case itemChanged:
			e.node.Remove()
			ch.list.InsertAfter(&e.node, ch.prev)
			e.state, e.folds = ch.state, ch.folds
		case itemForgotten:
			e.table.done.InsertAfter(&e.node, nil)
			e.table.items[e.key] = e
		case turnChanged:
			c.s.turn = ch.turn
		case sessionChanged:
			c.s = ch.session
		case keyAdded:
			ch.key.node.Remove()
			delete(c.s.keys, ch.key.key)
		case keyForgotten:
			c.s.order.InsertAfter(&ch.key.node, nil)
			c.s.keys[ch.key.key] = ch.key
		}
	}
}
