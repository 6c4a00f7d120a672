package bridgecheck

import (
	"context"
	"encoding/json"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// interactions are the prompts that raise one.
func (s *scenario) interactions() []*Prompt {
	var prompts []*Prompt
	for _, p := range []*Prompt{s.fixture.Prompts.Question, s.fixture.Prompts.Approval} {
		if p != nil {
			prompts = append(prompts, p)
		}
	}
	if len(prompts) == 0 {
		s.skipf("the fixture has neither prompts.question nor prompts.approval")
	}
	return prompts
}

func checkInteraction(s *scenario) {
	prompts := s.interactions()
	t := s.initialized().startThread()
	for _, p := range prompts {
		u := t.begin(interactionRoundTrip, p)
		at := u.wait(u.owner, u.from, "an interaction/request", isRequest(protocol.MethodInteractionRequest))
		u.settle()
		for ; at <= u.settled; at++ {
			if l := t.all()[at]; !l.sent && isRequest(protocol.MethodInteractionRequest)(&l) {
				t.checkRequest(at, l)
			}
		}
		u.completed()
	}
}

// checkRequest checks an interaction/request and that it is the pair of the answer it was given.
func (t *thread) checkRequest(at int, l line) {
	p, problem := protocol.Decode[protocol.InteractionParams](l.msg.Params)
	if problem != nil {
		t.breachf(t.rule, at, "interaction/request is malformed: %s", problem.Error())
	}
	t.addressed(at, "interaction/request", p.ThreadID, p.ProviderThreadID)
	for _, reply := range t.all()[at:] {
		if !reply.sent || reply.msg.Kind != wire.ResponseKind || reply.msg.ID != l.msg.ID {
			continue
		}
		resolution, err := protocol.ParseResolution(reply.msg.Result)
		if err != nil {
			t.breachf(t.rule, at, "the kit found no answer to the request: %s", err.Error())
		}
		if err := p.Request.Accepts(resolution); err != nil {
			t.breachf(t.rule, at, "the answer of the fixture does not fit the request: %v", err)
		}
		return
	}
}

// addressed checks that a request names the session of the thread.
func (t *thread) addressed(at int, method, threadID, providerThreadID string) {
	if threadID != t.id || providerThreadID != t.provider {
		t.breachf(t.rule, at, "%s is for thread %q and session %q, want %q and %q", method, threadID, providerThreadID, t.id, t.provider)
	}
}

// isRequest matches a request of the bridge.
func isRequest(method string) func(*line) bool {
	return func(l *line) bool { return l.msg.Kind == wire.RequestKind && l.msg.Method == method }
}

func checkTool(s *scenario) {
	prompt := s.need(s.fixture.Prompts.DynamicTool, "dynamicTool")
	t := s.initialized().startThread()
	u := t.begin(toolRoundTrip, prompt)
	at := u.wait(u.owner, u.from, "a tool/call", isRequest(protocol.MethodToolCall))
	p, problem := protocol.Decode[protocol.ToolCallParams](t.all()[at].msg.Params)
	if problem != nil {
		t.breachf(t.rule, at, "tool/call is malformed: %s", problem.Error())
	}
	t.addressed(at, "tool/call", p.ThreadID, p.ProviderThreadID)
	if want := s.fixture.Tools[0].Name; p.Tool != want {
		t.breachf(t.rule, at, "tool/call is for the tool %q, want %q", p.Tool, want)
	}
	u.settle()
	u.completed()
}

// checkShutdown shuts down while the bridge waits for an answer.
func checkShutdown(s *scenario) {
	prompt := s.interactions()[0]
	t := s.initialized().startThread()
	t.reply.silence()
	u := t.begin(interactionRoundTrip, prompt)
	u.wait(interactionRoundTrip, u.from, "an interaction/request", isRequest(protocol.MethodInteractionRequest))
	a := t.mustCall(shutdownOutstanding, protocol.MethodShutdown, object{"graceMs": shutdownGrace.Milliseconds()})
	var result map[string]json.RawMessage
	if json.Unmarshal(a.result, &result) != nil || result == nil {
		t.breachf(t.rule, a.at, "shutdown was not answered with {}")
	}
	ctx, cancel := context.WithTimeout(t.ctx, shutdownGrace)
	defer cancel()
	select {
	case <-t.proc.Done():
	case <-ctx.Done():
		t.breachf(t.rule, -1, "the process did not end within graceMs (%d) of the answer to shutdown", shutdownGrace.Milliseconds())
	}
}
