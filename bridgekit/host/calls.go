package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// The methods of a Bridge call the method of the protocol with the same name, and return when the bridge has answered:
// everything that it sent before the answer has then been handled. They fail with
//
//   - a *protocol.Error: what the bridge answered, or what was refused here without asking it: INVALID_PARAMS for wrong
//     params, unknown providers and missing sessions, CAPABILITY_NOT_ADVERTISED, FORK_CHECKPOINT_UNSUPPORTED;
//   - a *ResultError when the answer breaks the schema, a *TimeoutError when it does not come in time;
//   - an *ExitError when the bridge ends before it answers, ErrStopping after Stop, or the context's error.

// ModelList calls model/list.
func (b *Bridge) ModelList(ctx context.Context, p protocol.ProviderParams) (protocol.ModelListResult, error) {
	return sessionless[protocol.ModelListResult](ctx, b, protocol.MethodModelList, p.ProviderID, p)
}

// Health calls provider/health.
func (b *Bridge) Health(ctx context.Context, p protocol.ProviderParams) (protocol.HealthResult, error) {
	return sessionless[protocol.HealthResult](ctx, b, protocol.MethodHealth, p.ProviderID, p)
}

// Usage calls provider/usage.
func (b *Bridge) Usage(ctx context.Context, p protocol.ProviderParams) (protocol.UsageResult, error) {
	return sessionless[protocol.UsageResult](ctx, b, protocol.MethodUsage, p.ProviderID, p)
}

// InstallationStatus calls provider/installation/status.
func (b *Bridge) InstallationStatus(ctx context.Context, p protocol.InstallationStatusParams) (protocol.InstallationStatusResult, error) {
	return sessionless[protocol.InstallationStatusResult](ctx, b, protocol.MethodInstallationStatus, p.ProviderID, p)
}

// InstallationRun calls provider/installation/run.
func (b *Bridge) InstallationRun(ctx context.Context, p protocol.InstallationRunParams) (protocol.InstallationRunResult, error) {
	return sessionless[protocol.InstallationRunResult](ctx, b, protocol.MethodInstallationRun, p.ProviderID, p)
}

// SkillsDiscover calls skills/discover.
func (b *Bridge) SkillsDiscover(ctx context.Context, p protocol.ProviderParams) (protocol.SkillsDiscoverResult, error) {
	return sessionless[protocol.SkillsDiscoverResult](ctx, b, protocol.MethodSkillsDiscover, p.ProviderID, p)
}

// SkillsConfigure calls skills/configure.
func (b *Bridge) SkillsConfigure(ctx context.Context, p protocol.SkillsConfigureParams) error {
	return b.threadCall(ctx, protocol.MethodSkillsConfigure, p.ThreadID, p, false)
}

// ThreadStart calls thread/start. Workspace and Env may be left empty: then the agent may write in Cwd, and gets
// Options.Ambient.
func (b *Bridge) ThreadStart(ctx context.Context, p protocol.SessionParams) (protocol.SessionIdentity, error) {
	return b.session(ctx, protocol.MethodThreadStart, &p, func() any { return p })
}

// ThreadResume calls thread/resume; Workspace and Env as with ThreadStart.
func (b *Bridge) ThreadResume(ctx context.Context, p protocol.ResumeParams) (protocol.SessionIdentity, error) {
	return b.session(ctx, protocol.MethodThreadResume, &p.SessionParams, func() any { return p })
}

// ThreadFork calls thread/fork; Workspace and Env as with ThreadStart. A SourceCheckpointID needs a bridge that forks at
// checkpoints.
func (b *Bridge) ThreadFork(ctx context.Context, p protocol.ForkParams) (protocol.SessionIdentity, error) {
	if p.SourceCheckpointID != "" && b.capabilities.Fork == protocol.ForkTip {
		return protocol.SessionIdentity{}, protocol.ForkCheckpointUnsupported.Errorf("the bridge forks at the tip only: leave the checkpoint out")
	}
	return b.session(ctx, protocol.MethodThreadFork, &p.SessionParams, func() any { return p })
}

// ThreadStop calls thread/stop. What the thread asked for and still waits for is answered INTERACTION_INTERRUPTED as
// soon as the request is sent. A thread that was released is forgotten.
func (b *Bridge) ThreadStop(ctx context.Context, p protocol.ThreadStopParams) error {
	return b.stopThread(ctx, protocol.MethodThreadStop, p.ThreadID, p, p.Intent == protocol.Release)
}

// ThreadDiscard calls thread/discard, which ends the thread's session, if it has one, like ThreadStop with a release.
func (b *Bridge) ThreadDiscard(ctx context.Context, p protocol.ThreadRef) error {
	return b.stopThread(ctx, protocol.MethodThreadDiscard, p.ThreadID, p, true)
}

// ThreadArchive calls thread/archive.
func (b *Bridge) ThreadArchive(ctx context.Context, p protocol.ThreadRef) error {
	return b.threadCall(ctx, protocol.MethodThreadArchive, p.ThreadID, p, false)
}

// ThreadUnarchive calls thread/unarchive.
func (b *Bridge) ThreadUnarchive(ctx context.Context, p protocol.ThreadRef) error {
	return b.threadCall(ctx, protocol.MethodThreadUnarchive, p.ThreadID, p, false)
}

// ThreadNameSet calls thread/name/set.
func (b *Bridge) ThreadNameSet(ctx context.Context, p protocol.ThreadNameParams) error {
	return b.threadCall(ctx, protocol.MethodThreadNameSet, p.ThreadID, p, false)
}

// ThreadGoalSet calls thread/goal/set.
func (b *Bridge) ThreadGoalSet(ctx context.Context, p protocol.ThreadGoalParams) error {
	return b.threadCall(ctx, protocol.MethodThreadGoalSet, p.ThreadID, p, false)
}

// ThreadGoalClear calls thread/goal/clear.
func (b *Bridge) ThreadGoalClear(ctx context.Context, p protocol.ThreadRef) error {
	return b.threadCall(ctx, protocol.MethodThreadGoalClear, p.ThreadID, p, false)
}

// TurnStart calls turn/start. It returns when the agent has the input, not at the turn's end.
func (b *Bridge) TurnStart(ctx context.Context, p protocol.TurnStartParams) error {
	return b.threadCall(ctx, protocol.MethodTurnStart, p.ThreadID, p, true)
}

// TurnSteer calls turn/steer. The error is protocol.NoActiveTurn when the turn is gone.
func (b *Bridge) TurnSteer(ctx context.Context, p protocol.TurnSteerParams) error {
	return b.threadCall(ctx, protocol.MethodTurnSteer, p.ThreadID, p, true)
}

// sessionless calls a method that names its provider.
func sessionless[T any](ctx context.Context, b *Bridge, method, providerID string, params any) (T, error) {
	var none T
	d, err := b.declaration(providerID)
	if err != nil {
		return none, err
	}
	return call[T](ctx, b, method, d, params, b.o.Timeouts.Request, nil)
}

// threadCall calls a method of a thread that answers {}. Those that need a live session are refused without one.
func (b *Bridge) threadCall(ctx context.Context, method, threadID string, params any, live bool) error {
	t, d := b.of(threadID)
	if live && t == nil {
		return protocol.InvalidParams.Errorf("thread %s has no session in this process: start or resume it first", threadID)
	}
	_, err := call[protocol.Empty](ctx, b, method, d, params, b.o.Timeouts.Request, nil)
	return err
}

// session calls a method that makes the session of a thread. params returns what is sent, of which p is a part that is
// filled in before.
func (b *Bridge) session(ctx context.Context, method string, p *protocol.SessionParams, params func() any) (protocol.SessionIdentity, error) {
	d, err := b.declaration(p.ProviderID)
	if err != nil {
		return protocol.SessionIdentity{}, err
	}
	if err := b.gate(method, d); err != nil {
		return protocol.SessionIdentity{}, err
	}
	b.fill(p)
	t, err := b.begin(p.ThreadID, d)
	if err != nil {
		return protocol.SessionIdentity{}, err
	}
	id, err := call[protocol.SessionIdentity](ctx, b, method, d, params(), b.o.Timeouts.Session, nil)
	if err != nil {
		b.end(t)
		return protocol.SessionIdentity{}, err
	}
	if announced := b.answered(t, id.ProviderThreadID); announced != "" && announced != id.ProviderThreadID {
		b.warn(t.id, "the result names another session than thread/identity did", "", "method", method, "notified", announced, "result", id.ProviderThreadID)
	}
	return id, nil
}

// stopThread calls a method that ends what goes on in a thread.
func (b *Bridge) stopThread(ctx context.Context, method, threadID string, params any, ends bool) error {
	t, d := b.of(threadID)
	sent := false
	_, err := call[protocol.Empty](ctx, b, method, d, params, b.o.Timeouts.Stop, func() {
		if t == nil {
			return
		}
		sent = true
		b.mu.Lock()
		t.stops++
		b.mu.Unlock()
		b.interruptWhere(ErrInterrupted, func(r *request) bool { return r.thread == t })
	})
	if sent {
		b.mu.Lock()
		t.stops--
		b.mu.Unlock()
	}
	if err == nil && t != nil && ends {
		b.end(t)
	}
	return err
}

// call calls a method in its time and decodes the result. sent is called when the request is written.
func call[T any](ctx context.Context, b *Bridge, method string, d *protocol.ProviderDeclaration, params any, timeout time.Duration, sent func()) (T, error) {
	var none T
	if err := check(method, params); err != nil {
		return none, err
	}
	if err := b.gate(method, d); err != nil {
		return none, err
	}
	b.mu.Lock()
	stopping := b.stopping
	b.mu.Unlock()
	if stopping {
		return none, ErrStopping
	}
	raw, err := b.roundTrip(ctx, method, params, timeout, sent)
	if err != nil {
		return none, err
	}
	result, wrong := protocol.Decode[T](raw)
	if wrong != nil {
		return none, &ResultError{Method: method, Issues: wrong.Issues}
	}
	return result, nil
}

// roundTrip sends a request and waits for its answer, in its time.
func (b *Bridge) roundTrip(ctx context.Context, method string, params any, timeout time.Duration, sent func()) (json.RawMessage, error) {
	ctx, stop := b.clock.withDeadline(ctx, timeout, &TimeoutError{Method: method, After: timeout})
	defer stop()
	raw, err := b.peer.CallSent(ctx, method, params, sent)
	var answered *wire.Error
	switch {
	case err == nil:
		return raw, nil
	case errors.As(err, &answered):
		return nil, protocol.ErrorFromWire(answered.Code, answered.Message, answered.Data)
	case ctx.Err() != nil:
		return nil, ended(ctx, method)
	case errors.Is(err, wire.ErrClosed), errors.Is(err, wire.ErrStalled):
		select {
		case <-b.reaped:
			return nil, b.exit
		case <-ctx.Done():
			return nil, ended(ctx, method)
		}
	}
	return nil, fmt.Errorf("host: %s was not sent: %w", method, err)
}

// ended is the error of a call whose context ended.
func ended(ctx context.Context, method string) error {
	cause := context.Cause(ctx)
	var timeout *TimeoutError
	if errors.As(cause, &timeout) {
		return cause
	}
	return fmt.Errorf("host: %s: %w", method, cause)
}
