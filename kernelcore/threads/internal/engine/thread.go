package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/providers"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

// thread is the actor of a thread.
type thread struct {
	e    *Engine
	id   string
	view atomic.Pointer[threadapi.Thread] // what callers see, without waiting for mu

	mu      sync.Mutex
	kept    keptThread
	turns   map[string]*keptTurn // those that have not ended
	lines   *timeline.Writer
	session *session // nil: none
	steers  []string // turns that steer and have not been sent
	driving bool     // the driver runs
	held    bool     // the driver waits for the kernel to be composed
	ending  bool     // the driver waits for the end of a session that could not be stopped
	stop    *stopping
	asks    map[string]*ask
	files   map[string][]string // by open file change, its paths
	tasks   map[string]bool     // open background tasks
	records []timeline.Record   // for the next commit
	dirty   bool                // kept has changed
	changed chan struct{}       // closed and replaced when something changed that callers wait for
	idle    time.Time           // since when nothing is under way
	broken  error               // the store failed: the actor is of no more use
	gone    bool                // dropped or discarded
}

// session is what a bridge runs for a thread.
type session struct {
	bridge           *providers.Bridge
	providerThreadID string
	lines            *assembler.Assembler
	end              func() // of the session's credential
	ready            bool   // the bridge has answered
}

// stopping is a stop that is under way.
type stopping struct{ done chan struct{} }

// reset makes an actor without anything open.
func (t *thread) reset() {
	t.turns, t.asks = map[string]*keptTurn{}, map[string]*ask{}
	t.files, t.tasks = map[string][]string{}, map[string]bool{}
	t.changed, t.idle = make(chan struct{}), time.Now()
}

// status derives what the thread does. t.mu is held.
func (t *thread) status() threadapi.Status {
	switch {
	case t.broken != nil:
		return threadapi.Idle
	case t.stop != nil:
		return threadapi.Stopping
	case len(t.asks) > 0:
		return threadapi.Waiting
	case t.openTurn() != "":
		return threadapi.Running
	case len(t.kept.Sent) > 0 || len(t.kept.Queue) > 0 || len(t.steers) > 0:
		return threadapi.Starting
	}
	return threadapi.Idle
}

// openTurn returns the id of the open turn, or "". t.mu is held.
func (t *thread) openTurn() string {
	for _, id := range t.kept.Sent {
		if k := t.turns[id]; k != nil && k.Status == threadapi.TurnOpen {
			return id
		}
	}
	return ""
}

// touch says that kept has changed. t.mu is held.
func (t *thread) touch() { t.dirty = true }

// keep stores a turn with the next commit. t.mu is held.
func (t *thread) keep(k *keptTurn) {
	t.records = append(t.records, record(turnsBucket+t.id, k.ID, k))
}

// commit appends events with the records that go with them. The error is that of a store which has failed. t.mu is held;
// nothing is stored yet when it returns.
func (t *thread) commit(events ...timeline.Event) error {
	if t.broken != nil {
		return t.broken
	}
	if len(events) == 0 && !t.dirty && len(t.records) == 0 {
		return nil
	}
	if t.dirty {
		now := t.e.now()
		t.kept.Status = t.status()
		t.kept.TurnID, t.kept.Queued, t.kept.Pending = t.openTurn(), len(t.kept.Queue), len(t.asks)
		t.kept.UpdatedAt = now
		t.records = append(t.records, record(threadsBucket, t.id, &t.kept))
		if t.kept.Status == threadapi.Idle {
			t.records = append(t.records, unmark(activeBucket, t.id))
			t.idle = time.Now()
		} else {
			t.records = append(t.records, mark(activeBucket, t.id))
		}
	}
	records, dirty := t.records, t.dirty
	t.records, t.dirty = nil, false
	if err := t.lines.Append(t.e.ctx, events, records...); err != nil {
		if context.Cause(t.e.ctx) == nil {
			t.fail(err)
		}
		return err
	}
	if dirty {
		t.publish()
	}
	return nil
}

// publish shows callers the thread as it is and wakes those that wait. t.mu is held.
func (t *thread) publish() {
	v := t.kept.Thread
	v.LastSeq = t.lines.LastSeq()
	if t.broken != nil {
		v.Status, v.TurnID, v.Pending = threadapi.Idle, "", 0
		v.Problem = "the store failed while the thread ran; its last events may be missing: " + t.broken.Error()
	}
	t.view.Store(&v)
	t.wake()
}

// wake tells those that wait for a change of the thread. t.mu is held.
func (t *thread) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// shown returns the thread as callers see it.
func (t *thread) shown() threadapi.Thread {
	v := *t.view.Load()
	v.LastSeq = max(v.LastSeq, t.lines.LastSeq())
	return t.e.show(v)
}

// flush waits until all that was appended is stored.
func (t *thread) flush(ctx context.Context) error {
	if err := t.lines.Flush(ctx); err != nil {
		if ctx.Err() == nil {
			t.mu.Lock()
			t.fail(err)
			t.mu.Unlock()
		}
		return storeError(err)
	}
	return nil
}

// storeError is what a caller gets for a store that fails.
func storeError(err error) error {
	return kernelcontract.ServiceUnavailable.Errorf("the store cannot be written; nothing was changed, try again once there is space: %w", err)
}

// fail gives the actor up because the store has failed for good: what the agent does can no longer be kept, so its
// process is killed. The next use makes a new actor from what is stored. t.mu is held.
func (t *thread) fail(err error) {
	if t.broken != nil {
		return
	}
	t.broken = err
	t.e.log.Error("a thread's events cannot be stored; its agent is stopped", "thread", t.id, "error", err)
	if s := t.session; s != nil {
		s.end()
		s.bridge.Kill()
	}
	for id, a := range t.asks {
		a.cancel(err)
		delete(t.asks, id)
	}
	t.publish()
	t.e.retire(t, func() { t.e.revive(t.id) })
}

// revivePause is how long a thread whose store failed waits until it is tried again.
const revivePause = time.Second

// revive makes a new actor of a thread whose store failed, as soon as the store works: what is open in it settles then, and
// its queue goes on.
func (e *Engine) revive(id string) {
	for {
		t, err := e.thread(e.ctx, id)
		if err == nil {
			t.mu.Lock()
			t.kick()
			t.mu.Unlock()
			return
		}
		if errors.Is(err, kernelcontract.NotFound) {
			return
		}
		select {
		case <-time.After(revivePause):
		case <-e.ctx.Done():
			return
		}
	}
}

// settle ends a turn. t.mu is held.
func (t *thread) settle(id string, status threadapi.TurnStatus, message, mergedInto, checkpoint string) {
	k := t.turns[id]
	if k == nil {
		return
	}
	now := t.e.now()
	k.Status, k.Error, k.MergedInto, k.CheckpointID, k.SettledAt = status, message, mergedInto, checkpoint, &now
	k.Input, k.Actions = nil, nil
	is := func(other string) bool { return other == id }
	t.kept.Queue = slices.DeleteFunc(t.kept.Queue, is)
	t.kept.Sent = slices.DeleteFunc(t.kept.Sent, is)
	t.steers = slices.DeleteFunc(t.steers, is)
	delete(t.turns, id)
	t.kept.LastTurn = id
	t.keep(k)
	t.touch()
	t.e.compact(t.id, id)
}

// settled is the event of a turn that the engine ends by itself: the agent never began it.
func (t *thread) settled(id string, status protocol.Status, message string) timeline.Event {
	p := &assembler.TurnCompleted{Status: status}
	if message != "" {
		p.Error = &protocol.TurnError{Message: message}
	}
	return timeline.Event{At: t.e.now(), Type: string(assembler.TypeTurnCompleted), TurnID: id, Payload: p}
}

// note is a warning of the engine.
func (t *thread) note(turn string, category protocol.WarningCategory, summary, details string) timeline.Event {
	p := &assembler.Warning{Category: category, Summary: &summary}
	if details != "" {
		p.Details = &details
	}
	return timeline.Event{At: t.e.now(), Type: string(assembler.TypeProviderWarning), TurnID: turn, Payload: p}
}

// trouble is an error of the engine.
func (t *thread) trouble(turn string, category protocol.ErrorCategory, message string) timeline.Event {
	return timeline.Event{At: t.e.now(), Type: string(assembler.TypeProviderError), TurnID: turn, Payload: &assembler.Error{Category: category, Message: message}}
}

// change is what became of the session.
func (t *thread) change(c threadapi.SessionChange) timeline.Event {
	return timeline.Event{At: t.e.now(), Type: threadapi.EventThreadSession, Payload: c}
}

// check looks at what takes too long, and lets go of a session that nobody uses.
func (t *thread) check(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone || t.stop != nil {
		return
	}
	var events []timeline.Event
	for _, id := range slices.Clone(t.kept.Sent) {
		k := t.turns[id]
		if k == nil || k.sentAt.IsZero() || k.Status == threadapi.TurnOpen || t.openTurn() != "" {
			continue
		}
		switch waited := now.Sub(k.sentAt); {
		case waited >= t.e.o.WatchdogFail && t.session != nil:
			message := "the agent took the input and did not begin its turn within " + t.e.o.WatchdogFail.String()
			events = append(events, t.withdraw(k, message)...)
		case waited >= t.e.o.WatchdogWarn && !k.warned:
			k.warned = true
			events = append(events, t.note("", protocol.WarningTurnWatchdog, "the agent took the input and has not begun its turn", "turn "+id))
		}
	}
	if len(events) > 0 {
		_ = t.commit(events...)
		t.kick()
	}
	if t.status() == threadapi.Idle && !t.driving && now.Sub(t.idle) >= t.e.o.IdleRelease {
		t.letGo()
	}
}

// withdraw takes a turn back from the session that has not begun it. t.mu is held and there is a session.
func (t *thread) withdraw(k *keptTurn, message string) []timeline.Event {
	if k.native {
		return t.observe(t.session.lines.WithdrawInput(t.e.now(), k.ClientRequestID, message))
	}
	return t.observe(t.session.lines.Withdraw(t.e.now(), k.ID, message))
}

// withAgent tells whether the agent has an input that is to become a turn, or a turn. t.mu is held.
func (t *thread) withAgent() bool {
	return slices.ContainsFunc(t.kept.Sent, func(id string) bool { return t.turns[id] == nil || !t.turns[id].native })
}

// letGo releases an idle session that can be restored, and then the actor. t.mu is held.
func (t *thread) letGo() {
	switch {
	case t.session == nil:
		t.e.retire(t, nil)
	case t.kept.Restorable && t.session.ready && len(t.tasks) == 0 && t.kept.Goal == "":
		t.driving = true // nothing is sent meanwhile
		if !t.e.goes(func() {
			_ = t.release(t.e.ctx, "idle")
			t.mu.Lock()
			t.rest()
			t.kick()
			t.mu.Unlock()
		}) {
			t.driving = false
		}
	}
}
