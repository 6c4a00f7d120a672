package bridgecheck

import (
	"slices"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// isAccepted matches the acceptance of an input.
func isAccepted(clientRequestID string) func(*delta) bool {
	return func(d *delta) bool {
		return d.kind == protocol.KindInputAccepted && d.string("clientRequestId") == clientRequestID
	}
}

// accepted checks that the turn's input was accepted once, before the turn settled.
func (u *turn) accepted() {
	n := 0
	for _, d := range u.deltas(u.from, u.settled) {
		if isAccepted(u.client)(&d) {
			n++
		}
	}
	if n != 1 {
		u.breachf(u.owner, u.settled, "the turn settled with %d input.accepted for its clientRequestId, want 1", n)
	}
}

// completed checks that the turn settled as completed.
func (u *turn) completed() {
	for _, d := range u.deltas(u.from, u.settled) {
		if d.settlesTurn() && (d.kind != protocol.KindTurnBoundary || d.status != protocol.Completed) {
			u.breachf(u.owner, u.settled, "the turn settled with %s %s, want turn.boundary completed", d.kind, d.status)
		}
	}
}

func checkLifecycle(s *scenario) {
	plain := s.need(s.fixture.Prompts.Plain, "plain")
	t := s.initialized().startThread()
	for range 2 {
		u := t.turn(turnLifecycle, plain)
		u.accepted()
		u.completed()
		u.message()
	}
	_ = t.proc.Stdin.Close() // a turn that goes on after its end shows now at the latest
	t.drain(t.ctx, t.fixture.timeout())
	t.inOrder()
}

// message checks that the turn has a message that was closed with text.
func (u *turn) message() {
	for _, d := range u.deltas(u.from, u.settled) {
		if d.kind == protocol.KindItemClose && d.item == protocol.KindMessage {
			return
		}
	}
	u.breachf(u.owner, u.settled, "the prompt was not answered with a message: no item.close of one")
}

// inOrder checks that turns open before they settle, one at a time, and that nothing that belongs to a turn lies outside
// of one. What is left of known items is for the item rules to judge.
func (t *thread) inOrder() {
	open := false
	for at, l := range t.all() {
		for _, d := range l.deltas {
			if d.thread != t.id {
				continue
			}
			switch {
			case d.kind == protocol.KindTurnOpen && open:
				t.breachf(t.rule, at, "a turn.open came while a turn was open")
			case d.kind == protocol.KindTurnOpen:
				open = true
			case d.kind == protocol.KindTurnBoundary && !open:
				t.breachf(t.rule, at, "a turn.boundary came without an open turn, though its turn had work")
			case d.settlesTurn():
				open = false
			case d.kind == protocol.KindItemOpen && !open && d.string("scope") == "turn":
				t.breachf(t.rule, at, "an item of a turn was opened while no turn was open")
			}
		}
	}
}

func checkZeroWork(s *scenario) {
	prompt := s.need(s.fixture.Prompts.ZeroWork, "zeroWork")
	u := s.initialized().startThread().turn(turnZeroWork, prompt)
	u.accepted()
	for _, d := range u.deltas(u.from, u.settled) {
		if d.key != "" {
			u.breachf(u.owner, u.settled, "the turn has an item: %s", d.kind)
		}
	}
	u.completed()
}

// opened waits for the turn's turn.open and returns its key.
func (u *turn) opened(owner string) *string {
	at := u.delta(owner, u.from, "the turn.open of the turn", func(d *delta) bool { return d.kind == protocol.KindTurnOpen })
	deltas := u.deltas(at, at)
	i := slices.IndexFunc(deltas, func(d delta) bool { return d.kind == protocol.KindTurnOpen })
	return deltas[i].turnKey
}

func checkSteer(s *scenario) {
	slow, steer := s.need(s.fixture.Prompts.Slow, "slow"), s.need(s.fixture.Prompts.Steer, "steer")
	b := s.initialized()
	mode := b.capabilities().Steer
	if mode != protocol.SteerNative && mode != protocol.SteerQueue {
		s.skipf("the bridge does not advertise steer in this profile")
	}
	t := b.startThread()
	u := t.begin(turnLifecycle, slow)
	key := u.opened(turnLifecycle)
	if key == nil {
		b.breachf(b.rule, b.position()-1, "turn.open has no turnKey, with steer %s: turn/steer names the turn by it", mode)
	}
	from := b.position()
	t.mustCall(turnSteer, protocol.MethodTurnSteer, t.turnParams(steer, "request-steer").with("turnId", *key))
	if mode == protocol.SteerNative {
		at := t.delta(turnSteer, from, "input.accepted for the steer", isAccepted("request-steer"))
		for _, d := range t.deltas(u.from, at) {
			if d.settlesTurn() {
				b.breachf(b.rule, at, "the open turn settled before it took the steer")
			}
		}
	}
	t.interrupt(stopInterrupt) // an agent that queues may drop what it queued
	u.settle()
	b.refuse(protocol.MethodTurnSteer, t.turnParams(steer, "request-late").with("turnId", *key), protocol.NoActiveTurn, "when its turn is gone")
}
