package bridgecheck

import (
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

func checkInterrupt(s *scenario) {
	slow := s.need(s.fixture.Prompts.Slow, "slow")
	t := s.initialized().startThread()
	u := t.begin(turnLifecycle, slow)
	u.opened(turnLifecycle)
	a := t.interrupt(stopInterrupt)
	settled := false
	for _, d := range t.deltas(u.from, a.at) {
		if !d.settlesTurn() {
			continue
		}
		settled = true
		if d.kind == protocol.KindTurnBoundary && d.status != protocol.Interrupted {
			t.breachf(t.rule, a.at, "the turn settled as %s, want interrupted", d.status)
		}
	}
	if !settled {
		t.breachf(t.rule, a.at, "thread/stop was answered before the turn had settled")
	}
	next := s.fixture.Prompts.Plain
	if next == nil {
		return
	}
	t.turn(stopInterrupt, next)
	for at, l := range t.all() {
		if at <= a.at || l.sent {
			continue
		}
		for _, d := range l.deltas {
			if d.thread != t.id {
				continue
			}
			if d.kind == protocol.KindInputAccepted || d.kind == protocol.KindTurnOpen {
				return
			}
			if d.settlesTurn() || d.key != "" {
				t.breachf(t.rule, at, "a %s of the stopped turn came after the answer to thread/stop", d.kind)
			}
		}
	}
}

func checkRelease(s *scenario) {
	plain := s.need(s.fixture.Prompts.Plain, "plain")
	t := s.initialized().startThread()
	t.turn(turnLifecycle, plain)
	from := t.position()
	t.mustCall(stopRelease, protocol.MethodThreadStop, t.ref().with("intent", protocol.Release))
	t.call(shutdownOutstanding, protocol.MethodShutdown, object{"graceMs": shutdownGrace.Milliseconds()})
	t.drain(t.ctx, shutdownGrace)
	for at, l := range t.all() {
		if at < from {
			continue
		}
		for _, d := range l.deltas {
			if d.thread == t.id && (d.settlesTurn() || d.kind == protocol.KindItemClose || d.status == protocol.Interrupted) {
				t.breachf(t.rule, at, "the release of an idle session sent %s %s: nothing was interrupted", d.kind, d.status)
			}
		}
	}
}
