package bridgecheck

import (
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// tour goes through every prompt of the fixture in one session.
func (t *thread) tour() {
	p := &t.fixture.Prompts
	for _, step := range []struct {
		owner  string
		prompt *Prompt
	}{
		{turnLifecycle, p.Plain}, {turnLifecycle, p.Items}, {turnZeroWork, p.ZeroWork}, {toolRoundTrip, p.DynamicTool},
		{interactionRoundTrip, p.Question}, {interactionRoundTrip, p.Approval}, {turnLifecycle, p.Plain},
	} {
		if step.prompt != nil {
			t.turn(step.owner, step.prompt)
		}
	}
	if p.Slow != nil {
		u := t.begin(stopInterrupt, p.Slow)
		key := u.opened(turnLifecycle)
		if mode := t.capabilities().Steer; p.Steer != nil && key != nil && mode == protocol.SteerNative {
			from := t.position()
			t.mustCall(turnSteer, protocol.MethodTurnSteer, t.turnParams(p.Steer, "request-steer").with("turnId", *key))
			t.delta(turnSteer, from, "input.accepted for the steer", isAccepted("request-steer"))
		}
		t.interrupt(stopInterrupt)
		u.settle()
	}
	t.mustCall(stopRelease, protocol.MethodThreadStop, t.ref().with("intent", protocol.Release))
	t.mustCall(shutdownOutstanding, protocol.MethodShutdown, object{"graceMs": shutdownGrace.Milliseconds()})
	t.drain(t.ctx, shutdownGrace)
}

// checkStream makes the check of a rule about deltas.
func checkStream(rule string) func(*scenario) {
	return func(s *scenario) {
		p := s.fixture.Prompts
		if p.Items == nil && (p.Plain == nil || rule == itemPresentation || rule == itemOpensFirst || rule == itemSettlesOnce) {
			s.need(p.Items, "items")
		}
		t := s.initialized().startThread()
		end := caught(t.tour)
		lines := t.all()
		for _, br := range grade(lines, s.kinds[s.profile]) {
			if br.rule == rule {
				t.breachf(rule, br.at, "%s", br.detail)
			}
		}
		if end != nil {
			panic(end)
		}
		if p.Items != nil && (rule == itemPresentation || rule == itemOpensFirst || rule == itemSettlesOnce) && !closesItem(lines) {
			t.breachf(rule, -1, "the prompt items opened and closed no item beside messages")
		}
	}
}

// closesItem reports whether an item that is no message was opened and closed.
func closesItem(lines []line) bool {
	opened := map[string]bool{}
	for _, l := range lines {
		for _, d := range l.deltas {
			switch {
			case d.kind == protocol.KindItemOpen && d.item != protocol.KindMessage:
				opened[d.key] = true
			case d.kind == protocol.KindItemClose && opened[d.key]:
				return true
			}
		}
	}
	return false
}
