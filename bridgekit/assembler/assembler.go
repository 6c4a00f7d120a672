// Package assembler turns the deltas of a bridge into the events that core stores. An Assembler belongs to one thread of
// one bridge process. It is synchronous: no clock, no goroutine, no input or output, and the same calls with the same
// entropy give the same events, byte for byte.
//
// Core tells it which turns it asked for (Expect, ExpectInput, Spare, Withdraw), feeds it each delta that passed package
// grammar (Apply), asks for the ids of items that requests name (ItemID), and settles what is open when the bridge is
// gone (Settle). Whatever a bridge sends, an Assembler neither fails nor grows beyond its bounds.
//
// The sixteen rules that it keeps are those of docs/spec/bridges-assembler.md.
package assembler

import (
	"strconv"
	"time"

	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/internal/order"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// The bounds of what an Assembler remembers.
const (
	// MaxOpenItems bounds the open items of a thread. Beyond it the item that was opened first settles as interrupted.
	MaxOpenItems = 1024
	// MaxSettledKeys bounds the settled items that a turn, and the thread, remembers, so that a late delta is told from
	// an early one. Beyond it the key that settled first is forgotten.
	MaxSettledKeys = 1024
	// MaxWaiting bounds the turn ids that wait for their turn.open, and apart from them the steering inputs that wait
	// for their input.accepted: more sends than a person queues.
	MaxWaiting = 64
	// MaxUnhandled bounds the provider.unhandled events from one turn.started to the next: enough to see what a bridge
	// does wrong. The rest are counted in one more event.
	MaxUnhandled = 200
	// maxTurnKeys bounds the turn keys that are remembered as used in this session.
	maxTurnKeys = 1024
	// maxExpected bounds the ids that a turn, or the thread, has minted for items that did not open yet.
	maxExpected = 1024
	// maxHeldKeys bounds the items, not open yet, whose output is held.
	maxHeldKeys = 1024
)

// Options say what an Assembler works for.
type Options struct {
	ThreadID string // core's id of the thread
	// Entropy begins the id of every item. It differs between any two Assemblers, also of one thread.
	Entropy string
	// Kinds, when not nil, checks extension items and states once more; what they refuse becomes provider.unhandled.
	// Leave it nil when package grammar has checked the deltas.
	Kinds *extension.Kinds
	// UsageBase is the thread's sum of tokens so far, from the store.
	UsageBase protocol.TokenBreakdown
}

// Assembler turns deltas into events. It is not safe for concurrent use.
type Assembler struct {
	threadID, entropy string
	kinds             *extension.Kinds
	serial            uint64

	waiting []expectedTurn  // oldest first
	steers  []expectedInput // oldest first
	turn    *turn           // nil: none is open
	turns   keySet          // the turn keys of this session

	thread *table
	open   order.List[*item] // of every scope, in the order of opening
	ids    map[string]*item  // every item that a table knows
	held   order.List[*heldOutput]
	bytes  int // of all held output

	usage      protocol.TokenBreakdown
	last       map[EventType]string // what fallback/dedup compares with
	unhandled  int                  // since turn.started
	suppressed int
	dropped    uint64

	at      time.Time
	events  []Event
	scratch []byte
}

// New returns an Assembler of a thread in which nothing is open.
func New(o Options) *Assembler {
	a := &Assembler{threadID: o.ThreadID, entropy: o.Entropy, kinds: o.Kinds, usage: o.UsageBase}
	a.forget()
	return a
}

// forget begins the provider's keys afresh.
func (a *Assembler) forget() {
	a.turns = keySet{}
	a.thread = newTable()
	a.ids = map[string]*item{}
	a.held, a.bytes = order.List[*heldOutput]{}, 0
	a.last = map[EventType]string{}
}

// Dropped returns how many deltas, or held pieces of output, came to nothing: they were late, named no item, or found no
// room. Deltas that say nothing new, such as a repeated turn.open, do not count.
func (a *Assembler) Dropped() uint64 { return a.dropped }

// Apply returns the events that a delta gives, in their order: completions of detached messages, at most one content
// event, completions of items, children first, and the end of the turn. The delta is one that package grammar let
// pass; at is when it came. Apply keeps parts of the delta: it must not be changed afterwards.
func (a *Assembler) Apply(d protocol.Delta, at time.Time) []Event {
	a.begin(at)
	switch d := d.(type) {
	case *protocol.ItemText:
		a.itemText(d)
	case *protocol.ItemOutput:
		a.itemOutput(d)
	case *protocol.ItemProgress:
		a.itemProgress(d)
	case *protocol.ItemOpen:
		a.itemOpen(d)
	case *protocol.ItemClose:
		a.itemClose(d)
	case *protocol.InputAccepted:
		a.inputAccepted(d)
	case *protocol.TurnOpen:
		a.turnOpen(d)
	case *protocol.TurnBoundary:
		a.turnBoundary(d)
	case *protocol.TurnDiff:
		if t, ok := a.turnOf(d, keyScope(d.TurnKey)); ok {
			a.emit(t, nil, &TurnDiff{Diff: d.Diff})
		}
	case *protocol.Usage:
		a.addUsage(d)
	case *protocol.ContextWindow:
		a.emit(nil, nil, &ContextWindow{Used: d.Used, Size: d.Size, Estimated: d.Estimated})
	case *protocol.ContextCleared:
		a.emit(nil, nil, &ContextCleared{})
	case *protocol.Todo:
		if t, ok := a.turnOf(d, keyScope(d.TurnKey)); ok {
			a.emit(t, nil, &Todo{Steps: append([]protocol.TodoStep{}, d.Steps...), Explanation: d.Explanation})
		}
	case *protocol.ThreadName:
		a.emit(nil, nil, &ThreadName{Name: d.Name})
	case *protocol.ExtensionState:
		a.extensionState(d)
	case *protocol.RateLimits:
		a.emitNew(nil, &RateLimits{RateLimits: d.RateLimits})
	case *protocol.ModelFallback:
		a.emitNew(nil, &ModelFallback{OriginalModel: d.OriginalModel, FallbackModel: d.FallbackModel, Reason: d.Reason, Message: d.Message})
	case *protocol.ProviderError:
		a.providerError(d)
	case *protocol.ProviderWarning:
		if t, ok := a.turnOf(d, d.Scope); ok {
			a.emitNew(t, &Warning{Category: d.Category, Summary: d.Summary, Details: d.Details})
		}
	case *protocol.ProviderUnhandled:
		t, _ := a.scope(d.Scope) // without its turn it belongs to the thread
		a.emitUnhandled(t, &Unhandled{RawType: d.RawType, Raw: d.Raw, ParentRef: d.ParentRef})
	case *protocol.SessionEnded:
		a.sessionEnded()
	case *protocol.SessionReset:
		a.sessionReset()
	}
	return a.end()
}

// Settle ends what is open because the bridge is gone: items and the turn settle as interrupted, and so do the turns
// that still wait; inputs that wait have failed. The reason becomes their error message. Ids that wait are withdrawn.
func (a *Assembler) Settle(at time.Time, reason string) []Event {
	a.begin(at)
	a.flushSuppressed()
	a.settleAll(&protocol.TurnError{Message: reason})
	a.failWaiting(protocol.Interrupted, reason)
	return a.end()
}

func (a *Assembler) begin(at time.Time) { a.at, a.events = at, nil }

// end hands the events over: they are the caller's from now on.
func (a *Assembler) end() []Event {
	events := a.events
	a.events = nil
	return events
}

// emit adds an event; t is the turn it belongs to, nil for the thread, it the item.
func (a *Assembler) emit(t *turn, it *item, p Payload) {
	e := Event{ThreadID: a.threadID, At: a.at, Type: p.Type(), Payload: p}
	if t != nil {
		e.Scope.TurnID = t.id
	}
	if it != nil {
		e.ItemID, e.ParentItemID = it.id, it.parent
	}
	if a.events == nil {
		a.events = make([]Event, 0, 1) // most deltas give one event
	}
	a.events = append(a.events, e)
}

// mint returns a new item id (ids/minted-centrally).
func (a *Assembler) mint() string {
	a.serial++
	id := make([]byte, 0, len(a.entropy)+21)
	id = append(append(id, a.entropy...), '-')
	return string(strconv.AppendUint(id, a.serial, 10))
}

// scope returns the open turn that a scope means, or nil for the thread; false when it means a turn that is not open.
func (a *Assembler) scope(s protocol.Scope) (*turn, bool) {
	switch {
	case s.Thread:
		return nil, true
	case a.turn == nil || s.Turn != "" && !a.turn.is(s.Turn):
		return nil, false
	}
	return a.turn, true
}

// turnOf is scope for a delta of no known item: without its turn it has become provider.unhandled
// (turnless/unhandled).
func (a *Assembler) turnOf(d protocol.Delta, s protocol.Scope) (*turn, bool) {
	t, ok := a.scope(s)
	if !ok {
		a.unhandledDelta(d, string(TurnlessUnhandled))
	}
	return t, ok
}

// keyScope is the scope of a delta that carries a turn key alone.
func keyScope(turnKey *string) protocol.Scope {
	if turnKey == nil {
		return protocol.Scope{}
	}
	return protocol.Scope{Turn: *turnKey}
}

// keySet remembers the newest maxTurnKeys keys.
type keySet struct {
	keys map[string]bool
	ring []string
	next int
}

func (s *keySet) add(key string) {
	if s.keys[key] {
		return
	}
	if s.keys == nil {
		s.keys = map[string]bool{}
	}
	s.keys[key] = true
	if len(s.ring) < maxTurnKeys {
		s.ring = append(s.ring, key)
		return
	}
	delete(s.keys, s.ring[s.next])
	s.ring[s.next] = key
	s.next = (s.next + 1) % maxTurnKeys
}
