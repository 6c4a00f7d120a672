// Package grammar holds the seven rules that the deltas of a bridge keep, and the Checker that holds a bridge to them:
// core drops a delta that breaks one, and the author's side refuses to send it.
//
// See docs/spec/bridges-assembler.md.
package grammar

import (
	"fmt"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/internal/itemkey"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// Rule is the id of a rule.
type Rule string

// The rules, in the order in which they are looked at: of several that a delta breaks, the first after SchemaValid is
// reported, and SchemaValid when it breaks no other.
const (
	SchemaValid           Rule = "events/schema-valid"          // the delta has the shape of its kind
	ScopeExplicit         Rule = "scope/explicit"               // a scoped delta says what it belongs to
	PresentationPresent   Rule = "item/presentation-present"    // item.open and item.close say how the item is shown
	ExtensionKindDeclared Rule = "item/extension-kind-declared" // extension kinds are in the declaration
	VouchedKeysOnly       Rule = "turn/vouched-keys-only"       // a turn key was opened in this session
	OpensBeforeDelta      Rule = "item/opens-before-delta"      // text and progress come after their item.open
	SettlesOnce           Rule = "item/settles-once"            // an item is closed once
)

// Rules returns the seven rules.
func Rules() []Rule {
	return []Rule{SchemaValid, ScopeExplicit, PresentationPresent, ExtensionKindDeclared, VouchedKeysOnly, OpensBeforeDelta,
		SettlesOnce}
}

// The bounds of what a Checker remembers. What falls out of them is judged mildly: it counts as never seen, and an item
// that falls out of the open ones may be closed once more.
const (
	// MaxOpenItems bounds the open items of a turn, and of the thread.
	MaxOpenItems = 1024
	// MaxSettledKeys bounds the settled items that are remembered of a turn, and of the thread.
	MaxSettledKeys = 1024
	// MaxTurnKeys bounds the turn keys that are remembered as opened in a session: bridges refer to the last few.
	MaxTurnKeys = 1024
)

// Violation is a delta that breaks a rule.
type Violation struct {
	Rule   Rule
	Index  int // of the delta in its list, set by CheckAll; Check leaves it 0 for the caller
	Kind   protocol.DeltaKind
	Detail string // what is wrong, and where
}

// Error returns "deltas[3]: item.text: item/opens-before-delta: …".
func (v *Violation) Error() string {
	kind := string(v.Kind)
	if kind == "" {
		kind = "delta" // it does not say what it is
	}
	return fmt.Sprintf("deltas[%d]: %s: %s: %s", v.Index, kind, v.Rule, v.Detail)
}

// Checker holds the deltas of one thread of one bridge process to the rules. It is not safe for concurrent use.
type Checker struct {
	kinds    *extension.Kinds
	s        *session
	undo     []change
	keepUndo bool
	scratch  []byte
}

// New returns a Checker for a thread whose session begins. Kinds are those of the provider's declaration, nil when it
// declares none.
func New(kinds *extension.Kinds) *Checker {
	return &Checker{kinds: kinds, s: newSession()}
}

// Check returns the rule that a delta breaks, nil when it may be applied. A delta that breaks one changes nothing.
func (c *Checker) Check(d protocol.DecodedDelta) *Violation {
	if d.Err != nil {
		return &Violation{Rule: ruleOf(d.Err.Kind, d.Err.Issues), Kind: d.Err.Kind, Detail: detail(d.Err.Issues)}
	}
	return c.step(d.Delta)
}

// CheckAll returns the first violation of a list that an author sends, nil when the whole list may be sent. It is all or
// none: a list with a violation changes nothing. Unlike Check it also holds each delta to its schema.
func (c *Checker) CheckAll(ds protocol.Deltas) *Violation {
	c.keepUndo = len(ds) > 1
	var v *Violation
	for i, d := range ds {
		if v = invalid(d); v == nil {
			v = c.step(d)
		}
		if v != nil {
			v.Index = i
			c.revert()
			break
		}
	}
	clear(c.undo)
	c.undo, c.keepUndo = c.undo[:0], false
	return v
}

// step judges a delta that has the shape of its kind, and applies it.
func (c *Checker) step(d protocol.Delta) *Violation {
	v := c.judge(d)
	if v == nil {
		c.apply(d)
	}
	return v
}

// judge looks at the rules in their order.
func (c *Checker) judge(d protocol.Delta) *Violation {
	if v := c.extension(d); v != nil {
		return v
	}
	if key := turnKey(d); key != "" && !c.s.vouched(key) {
		return broken(d, VouchedKeysOnly, "no turn.open of this session brought the turnKey %q", key)
	}
	switch d := d.(type) {
	case *protocol.ItemText:
		e := c.find(d.Key)
		if e == nil {
			return broken(d, OpensBeforeDelta, "%s was never opened in this turn: send item.open first", name(d.Key))
		}
		if e.state == open && !e.folds.text(d.Stream) {
			return broken(d, SchemaValid, "%s is of a kind without %s", name(d.Key), d.Stream)
		}
	case *protocol.ItemOutput:
		if e := c.find(d.Key); e != nil && e.state == open && !e.folds.output {
			return broken(d, SchemaValid, "%s is of a kind without output", name(d.Key))
		}
	case *protocol.ItemProgress:
		if c.find(d.Key) == nil {
			return broken(d, OpensBeforeDelta, "%s was never opened in this turn: send item.open first", name(d.Key))
		}
	case *protocol.ItemClose:
		if e := c.find(d.Key); e != nil && e.state == closed {
			return broken(d, SettlesOnce, "%s is closed already: open it again first, or give another key", name(d.Key))
		}
	}
	return nil
}

// apply changes the state as a delta says.
func (c *Checker) apply(d protocol.Delta) {
	switch d := d.(type) {
	case *protocol.TurnOpen:
		key := valueOf(d.TurnKey)
		if t := c.s.turn; t.open && t.key == itemkey.Kept(key) {
			return // a repeat
		}
		c.setTurn(turn{open: true, key: itemkey.Kept(key), items: &table{}})
		c.vouch(key)
	case *protocol.TurnBoundary:
		t, key := c.s.turn, itemkey.Kept(valueOf(d.TurnKey))
		if key == "" || t.open && t.key == key {
			c.setTurn(turn{items: &table{}})
		} else if !t.open { // perhaps a turn without work
			c.vouch(key)
		}
	case *protocol.ProviderError:
		if t := c.s.turn; d.SettlesTurn && t.open && (d.Scope.Turn == "" || t.key == itemkey.Kept(d.Scope.Turn)) {
			c.setTurn(turn{items: &table{}})
		}
	case *protocol.ItemOpen:
		c.opened(d.Scope, d.Key, foldsOf(d.Item))
	case *protocol.ItemProgress:
		if e := c.find(d.Key); e != nil && e.state == open && d.Item != nil {
			c.change(e)
			e.folds = foldsOf(d.Item)
		}
	case *protocol.ItemClose:
		c.closed(d.Scope, d.Key)
	case *protocol.SessionEnded:
		c.setTurn(turn{items: &table{}})
		for n := c.s.items.open.Front(); n != nil; n = c.s.items.open.Front() {
			c.settle(n.Value, lapsed)
		}
	case *protocol.SessionReset:
		c.note(change{what: sessionChanged, session: c.s})
		c.s = newSession()
	}
}

// extension checks extension items and states.
func (c *Checker) extension(d protocol.Delta) *Violation {
	var i protocol.Item
	switch d := d.(type) {
	case *protocol.ItemOpen:
		i = d.Item
	case *protocol.ItemProgress:
		i = d.Item
	case *protocol.ItemClose:
		i = d.Item
	case *protocol.ExtensionState:
		if !c.kinds.HasState(d.Name) {
			return broken(d, ExtensionKindDeclared, "the declaration's extensionKinds have no state %q", d.Name)
		}
		if err := c.kinds.CheckState(d.Name, d.Payload); err != nil {
			return broken(d, SchemaValid, "payload: %v", err)
		}
	}
	if e, ok := i.(*protocol.Extension); ok {
		if !c.kinds.HasItem(e.Name) {
			return broken(d, ExtensionKindDeclared, "the declaration's extensionKinds have no item %q", e.Name)
		}
		if err := c.kinds.CheckItem(e.Name, e.Payload); err != nil {
			return broken(d, SchemaValid, "item: payload: %v", err)
		}
	}
	return nil
}

func broken(d protocol.Delta, r Rule, format string, args ...any) *Violation {
	return &Violation{Rule: r, Kind: d.Kind(), Detail: fmt.Sprintf(format, args...)}
}

// name shows a key as JSON-like parts, shortened.
func name(k protocol.ItemKey) string {
	var parts []string
	for _, p := range []struct{ name, value string }{
		{"providerItemId", k.ProviderItemID}, {"channel", k.Channel}, {"parentRef", k.ParentRef}} {
		if p.value != "" {
			parts = append(parts, fmt.Sprintf("%s %.64q", p.name, p.value))
		}
	}
	return "the item of " + strings.Join(parts, ", ")
}

func valueOf(key *string) string {
	if key == nil {
		return ""
	}
	return *key
}

// turnKey returns the turn key that a delta names, "" for none. turn.open and turn.boundary may bring a new one.
func turnKey(d protocol.Delta) string {
	switch d := d.(type) {
	case *protocol.TurnDiff:
		return valueOf(d.TurnKey)
	case *protocol.Usage:
		return valueOf(d.TurnKey)
	case *protocol.Todo:
		return valueOf(d.TurnKey)
	case *protocol.ItemOpen:
		return d.Scope.Turn
	case *protocol.ItemText:
		return d.Scope.Turn
	case *protocol.ItemOutput:
		return d.Scope.Turn
	case *protocol.ItemProgress:
		return d.Scope.Turn
	case *protocol.ItemClose:
		return d.Scope.Turn
	case *protocol.ProviderError:
		return d.Scope.Turn
	case *protocol.ProviderWarning:
		return d.Scope.Turn
	case *protocol.ProviderUnhandled:
		return d.Scope.Turn
	}
	return ""
}
