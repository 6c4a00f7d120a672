package assembler

import (
	"errors"
	"slices"
	"time"

	"github.com/bb-kernel/bb/bridgekit/internal/itemkey"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// ErrTooManyWaiting is returned when MaxWaiting turns or inputs wait already: wait until a turn opens, or withdraw one.
var ErrTooManyWaiting = errors.New("too many turns or inputs wait for the bridge: let one open, or withdraw one")

// turn is the open turn.
type turn struct {
	id    string
	key   string // as itemkey.Kept
	keyed bool   // false: the bridge opened it with null
	input string // the client request that asked for it; "" when none did, or when its input was accepted
	items *table
}

func (t *turn) is(key string) bool { return t.keyed && t.key == itemkey.Kept(key) }

// expectedTurn is a turn id that waits for its turn.open.
type expectedTurn struct {
	turnID, input string
	spare         bool
	accepted      bool // the bridge has the input
}

// expectedInput is a steering input that waits for its input.accepted, or for a turn to be accepted into.
type expectedInput struct {
	input    string
	accepted bool
}

// Expect hands in the id of a turn that core asked the bridge for, by turn/start or by a steer that the agent queues, with
// the client request that is its input. Turns open in the order in which their ids came.
func (a *Assembler) Expect(turnID, clientRequestID string) error {
	return a.expect(expectedTurn{turnID: turnID, input: clientRequestID})
}

// Spare hands in an id for a turn that the agent may start by itself. It is used when no other id waits.
func (a *Assembler) Spare(turnID string) error {
	return a.expect(expectedTurn{turnID: turnID, spare: true})
}

func (a *Assembler) expect(e expectedTurn) error {
	if len(a.waiting) >= MaxWaiting {
		return ErrTooManyWaiting
	}
	a.waiting = append(a.waiting, e)
	return nil
}

// HasSpare tells whether a spare id waits. It is gone after the agent used it, and after the session ended.
func (a *Assembler) HasSpare() bool {
	return slices.ContainsFunc(a.waiting, func(e expectedTurn) bool { return e.spare })
}

// ExpectInput hands in the client request of an input that steers the open turn.
func (a *Assembler) ExpectInput(clientRequestID string) error {
	if len(a.steers) >= MaxWaiting {
		return ErrTooManyWaiting
	}
	a.steers = append(a.steers, expectedInput{input: clientRequestID})
	return nil
}

// Withdraw takes back a turn id whose request failed, and says so with turn.completed: failed, with the message. When the
// id no longer waits, since its turn opened or was settled, there is nothing to take back and no event. A spare id goes
// without an event.
func (a *Assembler) Withdraw(at time.Time, turnID, message string) []Event {
	a.begin(at)
	i := slices.IndexFunc(a.waiting, func(e expectedTurn) bool { return e.turnID == turnID })
	if i >= 0 {
		e := a.waiting[i]
		a.waiting = slices.Delete(a.waiting, i, i+1)
		a.fail(e, protocol.Failed, message)
	}
	return a.end()
}

// WithdrawInput takes back a steering input whose request failed, and says so with turn.input_failed. When it no longer
// waits there is no event.
func (a *Assembler) WithdrawInput(at time.Time, clientRequestID, message string) []Event {
	a.begin(at)
	i := slices.IndexFunc(a.steers, func(e expectedInput) bool { return e.input == clientRequestID })
	if i >= 0 {
		a.steers = slices.Delete(a.steers, i, i+1)
		a.emit(nil, nil, &InputFailed{ClientRequestID: clientRequestID, Message: message})
	}
	return a.end()
}

// OpenTurn returns the id of the open turn and the key that the bridge gave it, "" for null; false when none is open. A
// key of more than 256 bytes is not kept: then a digest of it is returned.
func (a *Assembler) OpenTurn() (turnID, key string, ok bool) {
	if a.turn == nil {
		return "", "", false
	}
	return a.turn.id, a.turn.key, true
}

// TurnID returns the id of the open turn that a scope means, "" for the thread; false when it means a turn that is not
// open.
func (a *Assembler) TurnID(s protocol.Scope) (string, bool) {
	t, ok := a.scope(s)
	if t == nil {
		return "", ok
	}
	return t.id, ok
}

// turnOpen binds a turn to an id that waits (turn/bound-to-requested).
func (a *Assembler) turnOpen(d *protocol.TurnOpen) {
	if t := a.turn; t != nil && (d.TurnKey == nil && !t.keyed || d.TurnKey != nil && t.is(*d.TurnKey)) {
		return // a repeat
	}
	i := slices.IndexFunc(a.waiting, func(e expectedTurn) bool { return !e.spare })
	if i < 0 && len(a.waiting) > 0 {
		i = 0
	}
	if i < 0 {
		a.unhandledDelta(d, string(BoundToRequested))
		a.settleTurn(protocol.Interrupted, nil, nil)
		return
	}
	a.flushSuppressed()
	a.settleTurn(protocol.Interrupted, nil, nil)
	a.startTurn(i, d.TurnKey)
}

// startTurn opens the turn of waiting[i] and delivers the inputs that were accepted for it (turn/accepted-input-queues).
func (a *Assembler) startTurn(i int, key *string) {
	e := a.waiting[i]
	a.waiting = slices.Delete(a.waiting, i, i+1)
	t := &turn{id: e.turnID, input: e.input, items: newTable()}
	t.items.turn = t
	if key != nil {
		t.key, t.keyed = itemkey.Kept(*key), true
		a.turns.add(t.key)
	}
	a.turn = t
	a.unhandled = 0
	clear(a.last)
	started := &TurnStarted{Origin: OriginClient}
	if e.spare {
		started.Origin = OriginAgent
	} else {
		started.ClientRequestID = &e.input
	}
	a.emit(t, nil, started)
	if e.accepted {
		a.accept(t, e.input)
	}
	a.steers = slices.DeleteFunc(a.steers, func(s expectedInput) bool {
		if s.accepted {
			a.accept(t, s.input)
		}
		return s.accepted
	})
}

func (a *Assembler) accept(t *turn, input string) {
	if t.input == input {
		t.input = ""
	}
	a.emit(t, nil, &InputAccepted{ClientRequestID: input})
}

// inputAccepted follows the client request to its turn (turn/accepted-input-queues).
func (a *Assembler) inputAccepted(d *protocol.InputAccepted) {
	input := d.ClientRequestID
	if t := a.turn; t != nil && t.input == input && input != "" {
		a.accept(t, input)
		return
	}
	if i := slices.IndexFunc(a.steers, func(s expectedInput) bool { return s.input == input && !s.accepted }); i >= 0 {
		if a.turn == nil {
			a.steers[i].accepted = true
			return
		}
		a.steers = slices.Delete(a.steers, i, i+1)
		a.accept(a.turn, input)
		return
	}
	i := slices.IndexFunc(a.waiting, func(e expectedTurn) bool { return !e.spare && e.input == input && !e.accepted })
	switch {
	case i < 0:
		a.unhandledDelta(d, string(AcceptedInputQueues))
	case a.turn == nil:
		a.waiting[i].accepted = true
	default: // the agent merged it into the turn that it is at
		e := a.waiting[i]
		a.waiting = slices.Delete(a.waiting, i, i+1)
		a.accept(a.turn, input)
		a.emit(&turn{id: e.turnID}, nil, &TurnCompleted{Status: Merged, MergedInto: &a.turn.id})
	}
}

// turnBoundary ends the open turn, or makes a turn without work (turn/zero-work-settles).
func (a *Assembler) turnBoundary(d *protocol.TurnBoundary) {
	if t := a.turn; t != nil {
		if d.TurnKey == nil || t.is(*d.TurnKey) {
			a.settleTurn(d.Status, d.Error, d.CheckpointID)
		}
		return
	}
	if d.TurnKey != nil && a.turns.keys[itemkey.Kept(*d.TurnKey)] {
		return // its turn is settled
	}
	i := slices.IndexFunc(a.waiting, func(e expectedTurn) bool { return e.accepted })
	if i < 0 {
		return
	}
	a.flushSuppressed()
	a.startTurn(i, d.TurnKey)
	a.settleTurn(d.Status, d.Error, d.CheckpointID)
}

// failWaiting withdraws every id and input that waits.
func (a *Assembler) failWaiting(status protocol.Status, message string) {
	for _, e := range a.waiting {
		a.fail(e, status, message)
	}
	for _, s := range a.steers {
		a.emit(nil, nil, &InputFailed{ClientRequestID: s.input, Message: message})
	}
	a.waiting, a.steers = nil, nil
}

func (a *Assembler) fail(e expectedTurn, status protocol.Status, message string) {
	if !e.spare {
		a.emit(&turn{id: e.turnID}, nil, &TurnCompleted{Status: status, Error: &protocol.TurnError{Message: message}})
	}
}
