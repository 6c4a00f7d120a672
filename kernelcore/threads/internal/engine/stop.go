package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

// Stop ends what a thread does, or lets go of its idle session. It returns when all has settled and is stored; a context
// that ends before that ends the waiting, not the stop.
func (e *Engine) Stop(ctx context.Context, in threadapi.StopInput) (threadapi.Thread, error) {
	t, err := e.thread(ctx, in.Thread)
	if err != nil {
		return threadapi.Thread{}, err
	}
	if in.Intent == threadapi.Release {
		err = t.letGoNow(ctx)
	} else {
		err = t.interrupt(ctx)
	}
	if err != nil {
		return threadapi.Thread{}, err
	}
	if err := t.flush(ctx); err != nil {
		return threadapi.Thread{}, err
	}
	return t.shown(), nil
}

// letGoNow releases the session of an idle thread.
func (t *thread) letGoNow(ctx context.Context) error {
	t.mu.Lock()
	if t.status() != threadapi.Idle || t.driving {
		t.mu.Unlock()
		return kernelcontract.Conflict.Errorf("thread %s is %s: interrupt it first, only an idle one can be released", t.id, t.view.Load().Status)
	}
	t.mu.Unlock()
	if err := t.drivingFor(ctx, func() error { return t.release(ctx, "asked for") }); err != nil {
		return bridgeError(err)
	}
	return nil
}

// bridgeError is what a caller gets for an error of a bridge.
func bridgeError(err error) error {
	var known *kernelcontract.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, protocol.CapabilityNotAdvertised), errors.Is(err, protocol.MethodNotFound), errors.Is(err, protocol.ForkCheckpointUnsupported):
		return threadapi.Unsupported.Errorf("%s", messageOf(err))
	case errors.Is(err, context.Canceled):
		return err
	}
	return threadapi.ProviderUnavailable.Errorf("%s", messageOf(err))
}

// interrupt ends the open turn and what is queued. A second call joins the first.
func (t *thread) interrupt(ctx context.Context) error {
	t.mu.Lock()
	stop := t.stop
	if stop == nil {
		var events []timeline.Event
		for _, id := range append(slices.Clone(t.kept.Queue), t.steers...) {
			events = append(events, t.settled(id, protocol.Interrupted, "stopped"))
			t.settle(id, threadapi.TurnInterrupted, "stopped", "", "")
		}
		s := t.session
		if s == nil || !s.ready || len(t.kept.Sent) == 0 && len(t.asks) == 0 {
			// Nothing has reached the agent; a session that is being made will be idle.
			err := t.commit(events...)
			t.mu.Unlock()
			return err
		}
		stop = &stopping{done: make(chan struct{})}
		t.stop = stop
		t.touch()
		if err := t.commit(events...); err != nil {
			t.stop = nil
			close(stop.done)
			t.mu.Unlock()
			return err
		}
		if !t.e.goes(func() { t.finishStop(s, stop) }) {
			t.stop = nil
			close(stop.done)
			t.mu.Unlock()
			return kernelcontract.ServiceUnavailable.Errorf("the server is stopping")
		}
	}
	t.mu.Unlock()
	select {
	case <-stop.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// finishStop asks the bridge to interrupt, and settles what it leaves open.
func (t *thread) finishStop(s *session, stop *stopping) {
	err := s.bridge.ThreadStop(t.e.ctx, protocol.ThreadStopParams{ThreadRef: ref(t.id, s), Intent: protocol.Interrupt})
	if err != nil && errors.Is(err, host.ErrExited) {
		<-s.bridge.Done() // exited settles
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(stop.done)
	var events []timeline.Event
	if t.session == s {
		now, reason := t.e.now(), "stopped"
		if err == nil {
			for _, id := range slices.Clone(t.kept.Sent) {
				if k := t.turns[id]; k != nil && id != t.openTurn() {
					events = append(events, t.withdraw(k, reason)...)
				}
			}
		}
		if err != nil || t.openTurn() != "" {
			if err != nil {
				reason = "the agent did not stop: " + messageOf(err)
			} else {
				reason = "the agent did not settle the turn when it was stopped"
			}
			events = append(events, t.observe(s.lines.Settle(now, reason))...)
		}
		events = append(events, t.interruptRest(reason)...)
		if err != nil {
			t.session = nil
			s.end()
			events = append(events, t.change(threadapi.SessionChange{State: "lost", ProviderThreadID: s.providerThreadID, Reason: reason}))
			t.endSession(s)
		}
	}
	t.stop = nil
	t.touch()
	_ = t.commit(events...)
	t.kick()
}
