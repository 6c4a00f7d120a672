package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

// kick starts the driver if there is something to send. t.mu is held.
func (t *thread) kick() {
	if t.driving || t.next() == nil {
		return
	}
	t.driving = true
	if !t.e.goes(t.drive) {
		t.driving = false
	}
}

// drive sends one thing after the other until there is nothing to send.
func (t *thread) drive() {
	for {
		t.mu.Lock()
		step := t.next()
		if step == nil {
			t.rest()
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		step()
	}
}

// rest ends the driver's work, or that of who stood in for it. t.mu is held.
func (t *thread) rest() {
	t.driving = false
	t.wake()
}

// drivingFor runs fn in the driver's place: nothing else is sent meanwhile. t.mu is not held.
func (t *thread) drivingFor(ctx context.Context, fn func() error) error {
	t.mu.Lock()
	for t.driving || t.ending {
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		t.mu.Lock()
	}
	if t.gone || t.broken != nil {
		t.mu.Unlock()
		return kernelcontract.Conflict.Errorf("thread %s was just let go of: try again", t.id)
	}
	t.driving = true
	t.mu.Unlock()
	err := fn()
	t.mu.Lock()
	t.rest()
	t.kick()
	t.mu.Unlock()
	return err
}

// next returns what is to be sent now, or nil. t.mu is held.
func (t *thread) next() func() {
	if t.gone || t.held || t.ending || t.broken != nil || t.stop != nil || t.e.ctx.Err() != nil {
		return nil
	}
	if len(t.steers) > 0 {
		id := t.steers[0]
		if t.openTurn() != "" && t.session != nil && t.session.ready && t.session.bridge.Capabilities().Steer != protocol.SteerNone {
			return func() { t.steer(id) }
		}
		// The turn that it was meant for is gone, or cannot be steered: it becomes a turn of its own.
		t.steers = t.steers[1:]
		t.kept.Queue = append(t.kept.Queue, id)
		t.touch()
		_ = t.commit()
	}
	if t.withAgent() || len(t.kept.Queue) == 0 {
		return nil
	}
	if s := t.session; s != nil && t.e.isStale(s.bridge) {
		return nil // the end of the process kicks
	}
	id := t.kept.Queue[0]
	return func() { t.dispatch(id) }
}

// dispatch gives a turn to the agent, in a session that is made when there is none.
func (t *thread) dispatch(id string) {
	s, err := t.begin(t.e.ctx)
	t.mu.Lock()
	k := t.turns[id]
	if k == nil || t.gone || t.stop != nil || len(t.kept.Queue) == 0 || t.kept.Queue[0] != id { // stopped meanwhile
		t.mu.Unlock()
		return
	}
	if err == nil && (t.session != s || !s.ready) {
		err = host.ErrExited // it died between the two
	}
	if err != nil {
		t.refuse(k, err)
		t.mu.Unlock()
		return
	}
	if err := s.lines.Expect(id, k.ClientRequestID); err != nil {
		t.refuse(k, err)
		t.mu.Unlock()
		return
	}
	t.kept.Queue = t.kept.Queue[1:]
	t.kept.Sent = append(t.kept.Sent, id)
	k.Status, k.sentAt = threadapi.TurnSent, time.Now()
	p := protocol.TurnStartParams{
		ThreadID: t.id, ProviderThreadID: s.providerThreadID, Input: k.Input, ClientRequestID: k.ClientRequestID,
		Options: t.options(), Actions: k.Actions,
	}
	t.keep(k)
	t.touch()
	err = t.commit()
	t.mu.Unlock()
	if err != nil || t.flush(t.e.ctx) != nil { // that it was sent is stored before it is, so that it is not sent twice
		return
	}

	err = s.bridge.TurnStart(t.e.ctx, p)

	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.session != s, errors.Is(err, host.ErrExited): // its end settles the turn
	case errors.Is(err, host.ErrStopping) && t.turns[id] != nil: // it has not got the turn, which waits for the next process
		s.lines.Withdraw(t.e.now(), id, "")
		t.e.awaitEnd(s.bridge)
		t.requeue(k, true)
		_ = t.commit()
	case err != nil && t.turns[id] != nil:
		t.rejected(s, k, err)
	case err == nil && t.turns[id] == nil && k.Status == threadapi.TurnInterrupted && t.openTurn() == "":
		// It was stopped before the agent had it: the agent works on what nobody waits for.
		t.mu.Unlock()
		_ = s.bridge.ThreadStop(t.e.ctx, protocol.ThreadStopParams{ThreadRef: ref(t.id, s), Intent: protocol.Interrupt})
		t.mu.Lock()
	}
}

// refuse fails a turn whose session cannot be made. t.mu is held.
func (t *thread) refuse(k *keptTurn, err error) {
	message := messageOf(err)
	events := []timeline.Event{t.trouble("", categoryOf(err), message), t.settled(k.ID, protocol.Failed, message)}
	t.settle(k.ID, threadapi.TurnFailed, message, "", "")
	_ = t.commit(events...)
}

// rejected deals with a turn that the bridge did not take: it fails, or waits for a second try when the bridge says what
// helps. t.mu is held.
func (t *thread) rejected(s *session, k *keptTurn, err error) {
	message := messageOf(err)
	withdrawn := s.lines.Withdraw(t.e.now(), k.ID, message)
	var wrong *protocol.Error
	hinted := errors.As(err, &wrong) && wrong.Recovery != ""
	if hinted && !k.Retried && (wrong.Recovery == protocol.RecoverRestartProcess || wrong.Recovery == protocol.RecoverResumeFresh) {
		t.requeue(k, true)
		k.Retried = true
		t.keep(k)
		_ = t.commit()
	} else {
		_ = t.commit(t.observe(withdrawn)...)
	}
	if hinted {
		t.recover(s, wrong.Recovery, message)
	}
}

// requeue lets a turn wait again that the agent did not take. t.mu is held.
func (t *thread) requeue(k *keptTurn, first bool) {
	t.kept.Sent = slices.DeleteFunc(t.kept.Sent, func(id string) bool { return id == k.ID })
	if first {
		t.kept.Queue = append([]string{k.ID}, t.kept.Queue...)
	} else {
		t.kept.Queue = append(t.kept.Queue, k.ID)
	}
	k.Status, k.sentAt, k.native = threadapi.TurnQueued, time.Time{}, false
	t.keep(k)
	t.touch()
}

// steer gives the open turn an input.
func (t *thread) steer(id string) {
	t.mu.Lock()
	s, k := t.session, t.turns[id]
	open := t.openTurn()
	if s == nil || k == nil || open == "" || t.stop != nil {
		t.mu.Unlock()
		return // next decides anew
	}
	_, key, _ := s.lines.OpenTurn()
	native := s.bridge.Capabilities().Steer == protocol.SteerNative
	var err error
	if native {
		err = s.lines.ExpectInput(k.ClientRequestID)
	} else {
		err = s.lines.Expect(id, k.ClientRequestID)
	}
	t.steers = slices.DeleteFunc(t.steers, func(other string) bool { return other == id })
	if err != nil {
		events := []timeline.Event{t.settled(id, protocol.Failed, err.Error())}
		t.settle(id, threadapi.TurnFailed, err.Error(), "", "")
		_ = t.commit(events...)
		t.mu.Unlock()
		return
	}
	k.Status, k.sentAt, k.native = threadapi.TurnSent, time.Now(), native
	t.kept.Sent = append(t.kept.Sent, id)
	t.keep(k)
	t.touch()
	p := protocol.TurnSteerParams{TurnID: key, TurnStartParams: protocol.TurnStartParams{
		ThreadID: t.id, ProviderThreadID: s.providerThreadID, Input: k.Input, ClientRequestID: k.ClientRequestID,
		Options: t.options(), Actions: k.Actions,
	}}
	err = t.commit()
	t.mu.Unlock()
	if err != nil || t.flush(t.e.ctx) != nil {
		return
	}

	err = s.bridge.TurnSteer(t.e.ctx, p)

	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil || t.session != s || t.turns[id] == nil || errors.Is(err, host.ErrExited) {
		return
	}
	if native {
		s.lines.WithdrawInput(t.e.now(), k.ClientRequestID, messageOf(err))
	} else {
		s.lines.Withdraw(t.e.now(), id, messageOf(err))
	}
	if errors.Is(err, protocol.NoActiveTurn) || errors.Is(err, host.ErrStopping) { // it came too late: a turn of its own
		t.requeue(k, false)
		_ = t.commit()
		return
	}
	message := messageOf(err)
	event := t.settled(id, protocol.Failed, message)
	t.settle(id, threadapi.TurnFailed, message, "", "")
	_ = t.commit(event)
}

// ref addresses a session.
func ref(threadID string, s *session) protocol.ThreadRef {
	return protocol.ThreadRef{ThreadID: threadID, ProviderThreadID: s.providerThreadID}
}

// messageOf is what people read about an error of a bridge.
func messageOf(err error) string {
	var wrong *protocol.Error
	var known *kernelcontract.Error
	switch {
	case errors.As(err, &wrong):
		return wrong.Message
	case errors.As(err, &known):
		return known.Message
	}
	return err.Error()
}

// categoryOf says what kind of trouble an error of a bridge is.
func categoryOf(err error) protocol.ErrorCategory {
	switch {
	case errors.Is(err, host.ErrExited):
		return protocol.ErrorStreamDisconnected
	case errors.Is(err, context.DeadlineExceeded):
		return protocol.ErrorOverloaded
	}
	var wrong *protocol.Error
	if errors.As(err, &wrong) && wrong.Recovery == protocol.RecoverReauthenticate {
		return protocol.ErrorUnauthorized
	}
	return protocol.ErrorInternal
}
