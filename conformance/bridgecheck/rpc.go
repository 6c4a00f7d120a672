package bridgecheck

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

func checkUnknownMethod(s *scenario) {
	b := s.initialized()
	const method = "conformance/no-such-method"
	b.refuse(method, object{}, protocol.MethodNotFound, "which does not exist")
	for _, id := range []wire.ID{"-1", `"7"`, "9007199254740993", wire.ID(strings.Repeat("9", longID))} {
		a := b.answerTo(b.rule, method, b.position(), b.requestAs(id, method, object{}))
		if a.err == nil || a.err.Code != int(protocol.MethodNotFound) {
			b.breachf(b.rule, a.at, "%s under the id %.30s was not answered with %d", method, id, int(protocol.MethodNotFound))
		}
	}
}

// longID is how many digits the longest id has: more than what some languages read as a number by default (4,300).
const longID = 5000

func checkInvalidParams(s *scenario) {
	b := s.initialized()
	id := b.newThreadID()
	ref := object{"threadId": id, "providerThreadId": "session-1"}
	session := b.sessionParams(id)
	turn := ref.with("input", []object{{"type": "text", "text": "hello", "mentions": []object{}, "visibility": "user"}}).
		with("clientRequestId", "request-1").with("options", b.fixture.Options).with("actions", []string{})
	for _, c := range []struct {
		method string
		params object
		field  string
	}{
		{protocol.MethodThreadStart, session, "threadId"},
		{protocol.MethodThreadStart, session, "options"},
		{protocol.MethodTurnStart, turn, "input"},
		{protocol.MethodThreadStop, ref.with("intent", "interrupt"), "intent"},
		{protocol.MethodThreadDiscard, ref, "providerThreadId"},
		{protocol.MethodThreadGoalSet, ref.with("goal", "done"), "goal"}, // gated: params are parsed before the gate
		{protocol.MethodShutdown, object{"graceMs": 1}, "graceMs"},
	} {
		a := b.refuse(c.method, c.params.without(c.field), protocol.InvalidParams, "without "+c.field)
		var data struct {
			Issues []struct {
				Path, Code json.RawMessage
				Message    string
			} `json:"issues"`
		}
		if json.Unmarshal(a.err.Data, &data) != nil || len(data.Issues) == 0 {
			b.breachf(b.rule, a.at, "the error for %s without %s has no data.issues", c.method, c.field)
		}
		for _, issue := range data.Issues {
			if issue.Path == nil || issue.Code == nil || issue.Message == "" {
				b.breachf(b.rule, a.at, "an issue of the error for %s without %s is not {path, code, message}", c.method, c.field)
			}
		}
	}
}

// checkNonJSON sends what must be dropped. None of it may be answered, with or without an id.
func checkNonJSON(s *scenario) {
	b := s.initialized()
	checkIgnored(b, "a line that is no message",
		`this is not JSON`, `null`, `42`, `"thread/start"`, `[]`, `[{"jsonrpc":"2.0","id":"batched","method":"thread/start","params":{}}]`,
		`{"jsonrpc":"2.0","id":"cut","method":"thread/st`, "\xff\xfe", ``)
}

// checkResponse sends responses that nobody waits for. One has the id of a request of the kit's own, since the two
// directions count independently.
func checkResponse(s *scenario) {
	b := s.initialized()
	checkIgnored(b, "a response to no request",
		`{"jsonrpc":"2.0","id":"conformance-unknown","result":{}}`, `{"jsonrpc":"2.0","id":987654321,"result":{"method":"thread/start"}}`,
		`{"jsonrpc":"2.0","id":"conformance-error","error":{"code":-32000,"message":"nobody asked"}}`)
}

// checkIgnored sends lines that must be ignored, then thread/start, and sees that only that is answered.
func checkIgnored(b *bridge, what string, lines ...string) {
	from := b.position()
	for _, text := range lines {
		b.send([]byte(text))
	}
	id := b.newThreadID()
	good := b.position()
	request := b.request(protocol.MethodThreadStart, b.sessionParams(id))
	b.wait(b.rule, good, "the answer to thread/start after "+what, func(l *line) bool {
		return l.msg.Kind == wire.ResponseKind && l.msg.ID == request
	})
	b.onlyAnswer(from, what, request)
}

// onlyAnswer closes the bridge's input and looks at all it wrote since: a late answer counts too.
func (b *bridge) onlyAnswer(from int, what string, request wire.ID) {
	_ = b.proc.Stdin.Close()
	b.drain(b.ctx, b.fixture.timeout())
	for at, l := range b.all() {
		if at < from || l.sent {
			continue
		}
		if isAnswer(l) && l.msg.ID != request {
			b.breachf(b.rule, at, "%s was answered", what)
		}
	}
}

// isAnswer reports whether a line is a response, also one whose id is null or no id.
func isAnswer(l line) bool {
	if l.dropped == nil {
		return l.msg.Kind == wire.ResponseKind
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(l.text, &fields) != nil {
		return false
	}
	return fields["method"] == nil && (fields["error"] != nil || fields["result"] != nil)
}

// checkStdout has a conversation and looks at every line of standard output.
func checkStdout(s *scenario) {
	b := s.initialized()
	end := caught(func() {
		t := b.startThread()
		if p := b.fixture.Prompts.Plain; p != nil {
			t.turn(turnLifecycle, p)
		}
		b.mustCall(shutdownOutstanding, protocol.MethodShutdown, object{"graceMs": shutdownGrace.Milliseconds()})
		b.drain(b.ctx, shutdownGrace)
	})
	open := map[wire.ID]bool{}
	for at, l := range b.all() {
		switch {
		case l.sent:
			if l.msg.Kind == wire.RequestKind {
				open[l.msg.ID] = true
			}
		case l.dropped != nil:
			b.breachf(b.rule, at, "standard output has a line that is no message (logs belong on standard error): %v", l.dropped)
		case l.msg.Kind == wire.ResponseKind && !open[l.msg.ID]:
			b.breachf(b.rule, at, "a response answers no open request of core, or a second time: id %s", l.msg.ID)
		case l.msg.Kind == wire.ResponseKind:
			delete(open, l.msg.ID)
		}
	}
	if end != nil {
		panic(end)
	}
}

func checkUnknownProvider(s *scenario) {
	b := s.initialized()
	id := b.newThreadID()
	b.refuse(protocol.MethodThreadStart, b.sessionParams(id).with("providerId", "no-such-provider"), protocol.InvalidParams,
		fmt.Sprintf("for provider %q", "no-such-provider"))
}

// shutdownGrace is the graceMs of shutdown, that of core.
const shutdownGrace = 5 * time.Second
