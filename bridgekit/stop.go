package bridgekit

import (
	"context"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// stopContext is the own context of a function that ends work: StopGrace, less what the answer needs.
func (l *lane) stopContext(d *protocol.ProviderDeclaration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(l.c.contextFor(d, l.id), StopGrace-answerMargin)
}

// stop answers thread/stop. Without a session there is nothing to stop.
func (l *lane) stop(j *job, p *protocol.ThreadStopParams) {
	t := l.session()
	if t == nil {
		j.answer(protocol.Empty{}, nil)
		return
	}
	if p.Intent == protocol.Release {
		l.release(j, t)
		return
	}
	ctx, cancel := l.stopContext(j.declaration)
	defer cancel()
	l.refuse(j.ahead)
	o := l.runStop(ctx, j, t)
	l.interrupt(ctx, t)
	if o.err == nil {
		t.awaitSettled(ctx)
	}
	t.settleInterrupted()
	j.finish(ctx, o)
}

// release lets go of an idle session.
func (l *lane) release(j *job, t *Thread) {
	l.c.mu.Lock()
	starting := j.refused || l.starting != nil && !l.starting.answered.Load()
	l.c.mu.Unlock()
	if starting || t.unsettled() {
		j.answer(nil, protocol.BridgeError.Errorf("thread %s has an open turn: interrupt it before the release", clip(l.id)))
		return
	}
	ctx, cancel := l.stopContext(j.declaration)
	defer cancel()
	l.awaitRunning()
	o := l.runStop(ctx, j, t)
	l.drop(t)
	l.interrupt(ctx, t)
	j.finish(ctx, o)
}

// awaitRunning gives a function that a release overtook the time to return, so that a name that was set just before is not
// lost. One that hangs ends with the session.
func (l *lane) awaitRunning() {
	l.c.mu.Lock()
	running := l.running
	l.c.mu.Unlock()
	if running == nil {
		return
	}
	patience := time.NewTimer(releasePatience)
	defer patience.Stop()
	select {
	case <-running.done:
	case <-patience.C:
	case <-l.c.ctx.Done():
	}
}

// runStop runs ThreadStop, for as long as its context lives.
func (l *lane) runStop(ctx context.Context, j *job, t *Thread) outcome {
	select {
	case o := <-l.c.contain(j.method, l.id, func() (any, error) { return j.handle(ctx, t, j.params) }):
		return o
	case <-ctx.Done():
		return outcome{err: protocol.BridgeError.Errorf("ThreadStop did not return within %v", StopGrace)}
	}
}

// interrupt ends the work of a thread. What ignores its context is left behind, so that the thread can go on.
func (l *lane) interrupt(ctx context.Context, t *Thread) {
	if t.interrupt(ctx) {
		return
	}
	t.abandon()
	l.c.log(l.id, protocol.LogWarn, "work of a turn goes on after its context was cancelled: the runtime waits no longer", nil)
}

// refuse answers turn/start requests that a stop overtook: what was asked for before it does not begin after it.
func (l *lane) refuse(jobs []*job) {
	for _, j := range jobs {
		j.answer(nil, protocol.InteractionInterrupted.Errorf("the thread was stopped before the turn began"))
	}
}

// discard deletes a session. The turn that may be open ends first.
func (l *lane) discard(j *job) {
	t := l.session()
	ctx, cancel := l.stopContext(j.declaration)
	defer cancel()
	if t != nil {
		l.interrupt(ctx, t)
		ctx = t.ctx
	}
	o := <-l.c.contain(j.method, l.id, func() (any, error) { return j.handle(ctx, t, j.params) })
	if t != nil {
		l.drop(t)
	}
	j.finish(l.c.ctx, o)
}

// hasten ends what a discard that just came waits for. The caller holds the connection's mutex.
func (l *lane) hasten(ahead []*job, d *protocol.ProviderDeclaration) {
	t := l.thread
	l.c.running.Go(func() {
		l.refuse(ahead)
		if t == nil {
			return
		}
		if _, err := t.identified(); err != nil {
			t.cancel(ErrInterrupted) // the session is still being made
			return
		}
		ctx, cancel := l.stopContext(d)
		defer cancel()
		l.interrupt(ctx, t)
	})
}
