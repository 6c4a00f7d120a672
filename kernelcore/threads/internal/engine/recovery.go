package engine

import (
	"fmt"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/providers"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

// recovery takes a hint that a bridge sends by itself: about one thread, or about all that it runs.
func (e *Engine) recovery(b *providers.Bridge, p protocol.RecoveryParams) {
	if p.ThreadID != "" {
		e.on(b, p.ThreadID, func(t *thread) { t.recover(t.session, p.Hint, p.Message) })
		return
	}
	e.mu.Lock()
	var all []*thread
	for _, t := range e.live {
		all = append(all, t)
	}
	e.mu.Unlock()
	for _, t := range all {
		e.on(b, t.id, func(t *thread) { t.recover(t.session, p.Hint, p.Message) })
	}
	e.act(b, p.Hint, p.Message)
}

// recover records a hint and acts on it. t.mu is held; s is the session that it is about.
func (t *thread) recover(s *session, hint protocol.RecoveryHint, message string) {
	events := []timeline.Event{t.note(t.openTurn(), protocol.WarningRecovery, fmt.Sprintf("the provider asks for %s: %s", hint, message), "")}
	if hint == protocol.RecoverResumeFresh {
		if t.session == s && s != nil {
			now := t.e.now()
			events = append(events, t.observe(s.lines.Settle(now, "the agent's session is gone"))...)
			events = append(events, t.interruptRest("the agent's session is gone")...)
			t.session = nil
			s.end()
			t.endSession(s)
		}
		t.kept.ProviderThreadID, t.kept.Restorable = "", false
		t.touch()
		events = append(events, t.change(threadapi.SessionChange{State: "lost", ContextLost: true, Reason: message}))
	}
	_ = t.commit(events...)
	t.e.act(s.bridge, hint, message)
}

// act does what a hint asks of the provider as a whole.
func (e *Engine) act(b *providers.Bridge, hint protocol.RecoveryHint, message string) {
	switch hint {
	case protocol.RecoverRestartProcess:
		e.mu.Lock()
		_, known := e.stale[b]
		e.stale[b] = message
		e.mu.Unlock()
		if !known {
			e.goes(func() { e.restartWhenIdle(b) })
		}
	case protocol.RecoverReauthenticate, protocol.RecoverReinstall:
		e.pool.Report(b.ProviderID, hint, message)
	}
}

// awaitEnd lets nothing new be sent to a bridge that is being stopped.
func (e *Engine) awaitEnd(b *providers.Bridge) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-b.Done(): // exited has been, or is about to be, and there is nothing to wait for
	default:
		e.stale[b] = "it is being stopped"
	}
}

// isStale reports whether nothing new is to be sent to a bridge, since it is about to be restarted.
func (e *Engine) isStale(b *providers.Bridge) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, stale := e.stale[b]
	return stale
}

// restartWhenIdle stops a bridge as soon as none of its threads has a turn. Their next turns resume them in a new one.
func (e *Engine) restartWhenIdle(b *providers.Bridge) {
	for {
		busy := e.busyOn(b)
		if busy == nil {
			_ = b.Stop(e.ctx) // exited settles and kicks
			return
		}
		select {
		case <-busy:
		case <-b.Done():
			return
		case <-e.ctx.Done():
			return
		}
	}
}

// busyOn returns the channel that closes at the next change of a thread that has a turn on b, or nil.
func (e *Engine) busyOn(b *providers.Bridge) <-chan struct{} {
	e.mu.Lock()
	var all []*thread
	for _, t := range e.live {
		all = append(all, t)
	}
	e.mu.Unlock()
	for _, t := range all {
		t.mu.Lock()
		busy := t.session != nil && t.session.bridge == b && (len(t.kept.Sent) > 0 || len(t.asks) > 0 || t.stop != nil)
		changed := t.changed
		t.mu.Unlock()
		if busy {
			return changed
		}
	}
	return nil
}
