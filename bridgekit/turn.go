package bridgekit

import (
	"context"
	"slices"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// turn is the context of a turn's work.
type turn struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	works  int // functions that run with it; guarded by the thread's mutex
}

// Go runs work of the open turn, or of the one that opens next, on a goroutine of its own. Its context is the turn's: an
// interruption cancels it after ThreadStop has run, with the cause ErrInterrupted, and waits for it. An error that fn
// returns fails the turn if that is still open and is logged; so does a panic. ErrInterrupted, and the context's own
// error after an interruption, fail nothing. After the session has ended fn does not run.
func (t *Thread) Go(fn func(ctx context.Context) error) {
	turn := t.currentTurn()
	if turn == nil {
		return
	}
	release, _ := t.work(turn)
	started := t.c.spawn(func() {
		defer release()
		o := <-t.c.contain("work of a turn", t.id, func() (any, error) { return nil, fn(turn.ctx) })
		if o.err != nil {
			t.failTurn(turn, "", "work of a turn", o.err)
		}
	})
	if !started {
		release()
	}
}

// newTurn makes the context of a turn that core asked for.
func (t *Thread) newTurn() *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.turn; old != nil && old.works == 0 {
		old.cancel(nil)
	}
	return t.makeTurn()
}

// currentTurn returns the turn that new work belongs to; nil when the session has ended.
func (t *Thread) currentTurn() *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil
	}
	if t.turn == nil {
		return t.makeTurn()
	}
	return t.turn
}

func (t *Thread) makeTurn() *turn {
	n := &turn{}
	n.ctx, n.cancel = context.WithCancelCause(t.ctx)
	t.turn = n
	return n
}

// work registers work of a turn, for interrupt to wait for; release ends it. The channel is closed when the runtime
// waits for the work no longer.
func (t *Thread) work(n *turn) (release func(), abandoned <-chan struct{}) {
	done := make(chan struct{})
	t.mu.Lock()
	abandoned = t.abandoned
	t.works[done] = n
	n.works++
	t.mu.Unlock()
	return func() {
		t.mu.Lock()
		delete(t.works, done)
		n.works--
		if n.works == 0 && n != t.turn {
			n.cancel(nil)
		}
		t.mu.Unlock()
		close(done)
	}, abandoned
}

// expect registers a turn/start whose function runs.
func (t *Thread) expect(clientRequestID string, j *job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starts[clientRequestID] = j
	if len(t.asked) >= maxAsked {
		clear(t.asked)
	}
	t.asked[clientRequestID] = struct{}{}
}

func (t *Thread) forget(clientRequestID string, j *job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.starts[clientRequestID] == j {
		delete(t.starts, clientRequestID)
	}
}

// abandon stops waiting for functions that ignored their context, now and at the next interruption.
func (t *Thread) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.abandoned)
	t.abandoned = make(chan struct{})
	clear(t.starts)
	clear(t.works)
}

// isOpen tells whether the turn with the key is open. Core may know more than what observe has seen of a Send that has
// just written, so it waits for that.
func (t *Thread) isOpen(key string) bool {
	t.sending.Lock()
	defer t.sending.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open && t.openKey == key
}

// unsettled tells whether a turn is open, or input accepted whose turn did not open yet. Like isOpen it waits for what
// is being sent.
func (t *Thread) unsettled() bool {
	t.sending.Lock()
	defer t.sending.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open || t.waiting > 0
}

// awaitSettled waits until no turn is unsettled.
func (t *Thread) awaitSettled(ctx context.Context) {
	t.mu.Lock()
	var settled chan struct{}
	if t.open || t.waiting > 0 {
		if t.settled == nil {
			t.settled = make(chan struct{})
		}
		settled = t.settled
	}
	t.mu.Unlock()
	if settled != nil {
		select {
		case <-settled:
		case <-ctx.Done():
		}
	}
}

// interrupt cancels the turns and what waits for core, and waits for all work. It tells whether all of it has ended.
func (t *Thread) interrupt(ctx context.Context) bool {
	t.stopping.Lock()
	defer t.stopping.Unlock()
	t.mu.Lock()
	t.interrupting = true
	for c := range t.calls {
		c.cancel(ErrInterrupted)
	}
	if t.turn != nil {
		t.turn.cancel(ErrInterrupted)
	}
	for _, n := range t.works {
		n.cancel(ErrInterrupted)
	}
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.interrupting, t.turn = false, nil
		t.mu.Unlock()
	}()
	for {
		var one chan struct{}
		t.mu.Lock()
		for one = range t.works {
			break
		}
		t.mu.Unlock()
		if one == nil {
			return true
		}
		select {
		case <-one:
		case <-ctx.Done():
			return false
		}
	}
}

// failTurn lets the error of a turn's work fail the turn, if that is still open and nobody else settles it.
// ClientRequestID is the input of the turn/start whose function failed, "" for other work.
func (t *Thread) failTurn(n *turn, clientRequestID, what string, err error) {
	if interrupted(n.ctx, err) {
		return
	}
	t.sending.Lock()
	defer t.sending.Unlock()
	t.mu.Lock()
	j := t.starts[clientRequestID]
	answered := j == nil || j.answered.Load()
	open := t.open && t.openBy == n
	waiting := !t.open && t.waiting > 0 && answered && t.turn == n
	ended := t.ended
	t.mu.Unlock()
	if answered && !ended {
		t.c.log(t.id, protocol.LogError, what+" failed: "+err.Error(), nil)
	}
	message := protocolError(err).Message
	var ds protocol.Deltas
	switch {
	case open:
		ds = protocol.Deltas{&protocol.ProviderError{Category: protocol.ErrorInternal, Message: message, SettlesTurn: true}}
	case waiting:
		ds = protocol.Deltas{&protocol.TurnBoundary{Status: protocol.Failed, Error: &protocol.TurnError{Message: message}}}
	}
	t.sendOwn(ds)
}

// settleInterrupted settles what ThreadStop left open.
func (t *Thread) settleInterrupted() {
	t.sending.Lock()
	defer t.sending.Unlock()
	t.mu.Lock()
	var ds protocol.Deltas
	if t.open {
		b := &protocol.TurnBoundary{Status: protocol.Interrupted}
		if t.openKey != "" {
			b.TurnKey = protocol.Ptr(t.openKey)
		}
		ds = append(ds, b)
	}
	ds = append(ds, slices.Repeat(protocol.Deltas{&protocol.TurnBoundary{Status: protocol.Interrupted}}, t.waiting)...)
	t.mu.Unlock()
	if len(ds) > 0 {
		t.c.log(t.id, protocol.LogWarn, "ThreadStop left a turn open: the runtime settles it as interrupted", nil)
	}
	t.sendOwn(ds)
}

// sendOwn sends deltas of the runtime. The caller holds t.sending.
func (t *Thread) sendOwn(ds protocol.Deltas) {
	if len(ds) == 0 {
		return
	}
	lines, err := t.encode(ds)
	if err == nil {
		err = t.send(lines, ds)
	}
	if err != nil && t.ctx.Err() == nil {
		t.c.log(t.id, protocol.LogError, "the turn could not be settled: "+err.Error(), nil)
	}
}
