package bridgecheck

import (
	"encoding/json"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

func checkStart(s *scenario) {
	s.initialized().startThread()
}

func checkIdentityFirst(s *scenario) {
	plain := s.need(s.fixture.Prompts.Plain, "plain")
	t := s.initialized().startThread()
	u := t.turn(turnLifecycle, plain)
	for at, l := range t.all()[:u.settled+1] {
		if l.sent {
			continue
		}
		if l.msg.Method == protocol.MethodThreadIdentity {
			var p protocol.IdentityParams
			if json.Unmarshal(l.msg.Params, &p) != nil || p.ThreadID != t.id {
				continue
			}
			if p.ProviderThreadID != t.provider {
				t.breachf(t.rule, at, "thread/identity names another session than the result of thread/start")
			}
			return
		}
		for _, d := range l.deltas {
			if d.thread == t.id {
				t.breachf(t.rule, at, "a delta of the thread came before its thread/identity")
			}
		}
	}
}

func checkResume(s *scenario) {
	plain := s.need(s.fixture.Prompts.Plain, "plain")
	b := s.initialized()
	if !b.capabilities().SessionRestore {
		s.skipf("the bridge does not advertise sessionRestore in this profile")
	}
	t := b.startThread()
	t.turn(turnLifecycle, plain)
	if t.restorable == nil {
		t.breachf(sessionStart, -1, "the session identity does not say whether the session is restorable")
	}
	if !*t.restorable {
		s.skipf("the session is not restorable, says its identity")
	}
	if s.fixture.Resume == ResumeSameProcess {
		t.mustCall(stopRelease, protocol.MethodThreadStop, t.ref().with("intent", protocol.Release))
	} else {
		b.mustCall(shutdownOutstanding, protocol.MethodShutdown, object{"graceMs": shutdownGrace.Milliseconds()})
		b.drain(b.ctx, shutdownGrace)
		b = s.initialized()
	}
	resumed := b.identified(sessionResume, protocol.MethodThreadResume, t.id, b.sessionParams(t.id).with("providerThreadId", t.provider))
	if resumed.provider != t.provider && !b.replaced(t.id, resumed.provider) {
		b.breachf(b.rule, b.position()-1, "the resumed session is %q and not %q, and session/replaced did not announce it", resumed.provider, t.provider)
	}
	resumed.turn(sessionResume, plain)
}

// replaced reports whether session/replaced has announced the session.
func (b *bridge) replaced(threadID, providerThreadID string) bool {
	for _, l := range b.all() {
		var p protocol.ReplacedParams
		if !l.sent && l.msg.Method == protocol.MethodSessionReplaced && json.Unmarshal(l.msg.Params, &p) == nil &&
			p.ThreadID == threadID && p.ProviderThreadID == providerThreadID {
			return true
		}
	}
	return false
}

// fork copies the session to a new thread.
func (t *thread) fork(owner string, checkpoint any) *thread {
	id := t.newThreadID()
	return t.identified(owner, protocol.MethodThreadFork, id,
		t.sessionParams(id).with("sourceProviderThreadId", t.provider).with("sourceCheckpointId", checkpoint))
}

// forks skips when the bridge does not fork.
func (b *bridge) forks() protocol.Fork {
	f := b.capabilities().Fork
	if f != protocol.ForkTip && f != protocol.ForkCheckpoint {
		b.skipf("the bridge does not advertise fork in this profile")
	}
	return f
}

func checkFork(s *scenario) {
	plain := s.need(s.fixture.Prompts.Plain, "plain")
	b := s.initialized()
	b.forks()
	t := b.startThread()
	t.turn(turnLifecycle, plain)
	c := t.fork(sessionFork, nil)
	if c.provider == t.provider {
		b.breachf(b.rule, b.position()-1, "the copy has the identity of its source: %q", c.provider)
	}
	c.turn(sessionFork, plain)
}

func checkForkGate(s *scenario) {
	plain := s.need(s.fixture.Prompts.Plain, "plain")
	b := s.initialized()
	forks := b.forks()
	t := b.startThread()
	u := t.turn(turnLifecycle, plain)
	if forks == protocol.ForkTip {
		id := t.newThreadID()
		b.refuse(protocol.MethodThreadFork, b.sessionParams(id).with("sourceProviderThreadId", t.provider).with("sourceCheckpointId", "checkpoint-1"),
			protocol.ForkCheckpointUnsupported, "at a checkpoint, with fork tip")
		return
	}
	checkpoint := ""
	for _, d := range t.deltas(u.from, u.settled) {
		if d.kind == protocol.KindTurnBoundary {
			checkpoint = d.string("checkpointId")
		}
	}
	if checkpoint == "" {
		s.skipf("the boundary of the plain turn has no checkpointId")
	}
	t.fork(sessionForkGate, checkpoint)
}

// checkThreads lets two threads work side by side.
func checkThreads(s *scenario) {
	plain := s.need(s.fixture.Prompts.Plain, "plain")
	b := s.initialized()
	first, second := b.startThread(), b.startThread()
	if first.provider == second.provider {
		b.breachf(b.rule, b.position()-1, "two threads have the same session %q", first.provider)
	}
	first.turn(turnLifecycle, plain)
	if slow := s.fixture.Prompts.Slow; slow == nil {
		second.turn(threadsIndependent, plain)
		first.turn(threadsIndependent, plain)
	} else {
		u := first.begin(stopInterrupt, slow)
		u.delta(turnLifecycle, u.from, "the turn.open of the slow turn", func(d *delta) bool { return d.kind == protocol.KindTurnOpen })
		second.turn(threadsIndependent, plain)
		for _, d := range first.deltas(u.from, b.position()-1) {
			if d.settlesTurn() {
				b.breachf(b.rule, -1, "the slow turn of one thread settled while the other thread worked")
			}
		}
		first.interrupt(stopInterrupt)
		second.turn(threadsIndependent, plain)
	}
	for _, br := range grade(b.all(), s.kinds[s.profile]) {
		if br.rule == b.rule {
			b.breachf(b.rule, br.at, "%s", br.detail)
		}
	}
	for at, l := range b.all() {
		for _, d := range l.deltas {
			if d.thread != first.id && d.thread != second.id {
				b.breachf(b.rule, at, "a delta is for the thread %q, which does not exist", d.thread)
			}
		}
	}
}
