package bridgecheck_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/conformance/bridgecheck"
)

// answer changes the responses to a method.
func answer(method string, change func(p *proxy, request, m message)) func(*proxy, message, message) {
	return func(p *proxy, request, m message) {
		if request.str("method") == method {
			change(p, request, m)
		}
		p.toCore(m)
	}
}

// errorCode changes the code of errors that have another one.
func errorCode(from, to int) func(*proxy, message, message) {
	return func(p *proxy, request, m message) {
		if codeOf(m) == from {
			m.fail(to)
		}
		p.toCore(m)
	}
}

func codeOf(m message) int {
	n, _ := m.obj("error")["code"].(json.Number)
	code, _ := n.Int64()
	return int(code)
}

// lost is the hook that sends nothing for a method.
func lost(method string) func(*proxy, message, message) {
	return func(p *proxy, request, m message) {
		if request.str("method") != method {
			p.toCore(m)
		}
	}
}

// edit changes deltas of a kind, during turns of a prompt ("" for every one).
func edit(prompt, kind string, change func(p *proxy, d message) []message) func(*proxy, message) []message {
	return func(p *proxy, v message) []message {
		d := v.obj("d")
		if d.str("kind") != kind || prompt != "" && p.prompts[v.str("thread")] != prompt {
			return []message{d}
		}
		return change(p, d)
	}
}

func drop(*proxy, message) []message { return nil }

func twice(_ *proxy, d message) []message { return []message{d, d} }

func set(name string, value any) func(*proxy, message) []message {
	return func(_ *proxy, d message) []message {
		d[name] = value
		return []message{d}
	}
}

func unset(name string) func(*proxy, message) []message {
	return func(_ *proxy, d message) []message {
		delete(d, name)
		return []message{d}
	}
}

// before puts another delta in front.
func before(more string) func(*proxy, message) []message {
	return func(_ *proxy, d message) []message {
		var m message
		if !decode([]byte(more), &m) {
			panic(more)
		}
		return []message{m, d}
	}
}

// asks changes the bridge's requests of a method.
func asks(method string, change func(params message)) func(*proxy, message) {
	return func(p *proxy, m message) {
		if m.str("method") == method {
			change(m.obj("params"))
		}
		p.toCore(m)
	}
}

// dropAnswers keeps core's answers to the bridge's requests from it.
func dropAnswers(method string) (message1 func(*proxy, message), request func(*proxy, message)) {
	asked := map[string]bool{}
	return func(p *proxy, m message) {
			if m.str("method") == method {
				asked[idOf(m)] = true
			}
			p.toCore(m)
		}, func(p *proxy, m message) {
			if m["method"] == nil && asked[idOf(m)] {
				return
			}
			p.toBridge(m)
		}
}

const (
	full  = iota // the profile that advertises everything
	queue        // the one between
	bare         // the one that advertises little
)

const unopened = `{"kind":"item.progress","scope":"turn","turnKey":null,"key":{"providerItemId":"never-opened","channel":null,"parentRef":null},"message":"on","item":null,"presentation":null}`

// mutants breaks every rule, the first of each in the way that is held against all others.
func mutants() []mutant {
	list := []mutant{
		{rule: "rpc/unknown-method", response: answer("conformance/no-such-method", func(_ *proxy, _, m message) { m.succeed(message{}) })},
		{rule: "rpc/unknown-method", variant: "another-code", response: answer("conformance/no-such-method", func(_ *proxy, _, m message) { m.fail(-32600) })},
		{rule: "rpc/unknown-method", variant: "short-ids", response: answer("conformance/no-such-method", func(_ *proxy, _, m message) {
			if id, ok := m["id"].(json.Number); ok && len(id) > 4300 {
				m["id"] = nil
			}
		})},
		{rule: "rpc/unknown-method", variant: "ids-as-floats", response: answer("conformance/no-such-method", func(_ *proxy, _, m message) {
			if m["id"] == json.Number("9007199254740993") {
				m["id"] = json.Number("9007199254740992")
			}
		})},
		{rule: "rpc/unknown-method", variant: "silence", response: lost("conformance/no-such-method")},

		{rule: "rpc/invalid-params", response: answer("turn/start", func(_ *proxy, r, m message) {
			if r.obj("params")["input"] == nil {
				m.fail(-32000)
			}
		})},
		{rule: "rpc/invalid-params", variant: "no-issues", response: answer("thread/discard", func(_ *proxy, r, m message) {
			if codeOf(m) == -32602 {
				m.fail(-32602)
			}
		})},
		{rule: "rpc/invalid-params", variant: "gate-first", profile: bare, response: answer("thread/goal/set", func(_ *proxy, r, m message) {
			if codeOf(m) == -32602 {
				m.fail(-32005)
			}
		})},

		{rule: "rpc/non-json-ignored", junk: func(p *proxy, line []byte) {
			p.toCore(message{"jsonrpc": "2.0", "id": nil, "error": message{"code": -32700, "message": "parse error"}})
		}},
		{rule: "rpc/non-json-ignored", variant: "batch", junk: func(p *proxy, line []byte) {
			if strings.Contains(string(line), "batched") {
				p.toCore(message{"jsonrpc": "2.0", "id": "batched", "result": message{}})
			}
		}},
		{rule: "rpc/non-json-ignored", variant: "dies", junk: func(p *proxy, line []byte) { os.Exit(1) }},

		{rule: "rpc/response-not-request", request: func(p *proxy, m message) {
			if m["method"] == nil && strings.Contains(idOf(m), "conformance") {
				p.toCore(message{"jsonrpc": "2.0", "id": m["id"], "error": message{"code": -32601, "message": "no such method"}})
				return
			}
			p.toBridge(m)
		}},
		{rule: "rpc/response-not-request", variant: "dies", request: func(p *proxy, m message) {
			if m["method"] == nil && idOf(m) == `{"id":987654321}` {
				os.Exit(1)
			}
			p.toBridge(m)
		}},

		{rule: "rpc/stdout-clean", start: func(p *proxy) { p.core.Write([]byte("Echo bridge 1.0, ready.\n")) }},
		{rule: "rpc/stdout-clean", variant: "answers-twice", response: answer("thread/start", func(p *proxy, _, m message) { p.toCore(m) })},

		{rule: "handshake/initialize", response: answer("initialize", func(_ *proxy, _, m message) {
			if r := m.obj("result"); r != nil {
				r["protocol"] = 4
			}
		})},
		{rule: "handshake/initialize", variant: "a-capability-is-missing", response: answer("initialize", func(_ *proxy, _, m message) {
			if r := m.obj("result"); r != nil {
				delete(r.obj("capabilities"), "steer")
			}
		})},
		{rule: "handshake/initialize", variant: "wide-range", response: answer("initialize", func(_ *proxy, r, m message) {
			if r.obj("params").obj("protocol")["max"] == json.Number("9") && m["result"] != nil {
				m.obj("result")["protocol"] = 9
			}
		})},

		{rule: "handshake/before-initialize", response: func(p *proxy, r, m message) {
			if p.first == nil && codeOf(m) == -32000 {
				m.fail(-32601)
			}
			p.toCore(m)
		}},
		{rule: "handshake/second-initialize", response: answer("initialize", func(p *proxy, _, m message) {
			if codeOf(m) == -32000 && p.first != nil {
				m.succeed(p.first.obj("result"))
			}
		})},
		{rule: "handshake/version-negotiation", response: errorCode(-32006, -32000)},
		{rule: "handshake/version-negotiation", variant: "no-data", response: errorCode(-32006, -32006)},
		{rule: "handshake/capabilities-narrow", profile: bare, response: answer("initialize", func(_ *proxy, _, m message) {
			if r := m.obj("result"); r != nil {
				r.obj("capabilities")["threadGoal"] = true
			}
		})},

		{rule: "capability/unadvertised-refused", profile: bare, response: errorCode(-32005, -32601)},
		{rule: "capability/unadvertised-refused", variant: "judges-unknown-fields", profile: bare, response: func(p *proxy, r, m message) {
			if r.str("method") == "model/list" && r.obj("params")["threadId"] != nil {
				m.fail(-32000)
			}
			p.toCore(m)
		}},
		{rule: "capability/unadvertised-refused", variant: "done", profile: bare, response: func(p *proxy, _, m message) {
			if codeOf(m) == -32005 {
				m.succeed(message{})
			}
			p.toCore(m)
		}},

		{rule: "session/start-identity", response: answer("thread/start", func(_ *proxy, _, m message) {
			if r := m.obj("result"); r != nil {
				delete(r, "sessionRestorable")
			}
		})},
		{rule: "session/start-identity", variant: "no-provider-thread", response: answer("thread/start", func(_ *proxy, _, m message) {
			if r := m.obj("result"); r != nil {
				r["providerThreadId"] = ""
			}
		})},
		{rule: "session/start-identity", variant: "two-stories", message: asks("thread/identity", func(params message) {
			params["sessionRestorable"] = params["sessionRestorable"] != true
		})},

		{rule: "session/identity-precedes-delta", message: func(p *proxy, m message) {
			if m.str("method") != "thread/identity" {
				p.toCore(m)
			}
		}},
		{rule: "session/identity-precedes-delta", variant: "late", message: func(p *proxy, m message) {
			if m.str("method") == "thread/identity" {
				p.held = append(p.held, m)
				return
			}
			p.toCore(m)
			for _, h := range p.held {
				p.toCore(h)
			}
			p.held = nil
		}},

		{rule: "session/resume-identity", response: answer("thread/resume", func(_ *proxy, _, m message) {
			if r := m.obj("result"); r != nil {
				r["providerThreadId"] = "another"
			}
		}), message: func(p *proxy, m message) {
			if m.str("method") == "thread/identity" && p.sent("thread/resume", m.obj("params").str("threadId")) != nil {
				m.obj("params")["providerThreadId"] = "another"
			}
			p.toCore(m)
		}},
		{rule: "session/resume-identity", variant: "two-stories", response: answer("thread/resume", func(_ *proxy, _, m message) {
			if r := m.obj("result"); r != nil {
				r["providerThreadId"] = "another"
			}
		})},
		{rule: "session/resume-identity", variant: "refused", response: answer("thread/resume", func(_ *proxy, _, m message) {
			if m["result"] != nil {
				m.fail(-32002)
			}
		})},
		{rule: "session/fork-identity", response: answer("thread/fork", func(_ *proxy, r, m message) {
			if r.obj("params")["sourceCheckpointId"] == nil && m["result"] != nil {
				m.obj("result")["providerThreadId"] = r.obj("params")["sourceProviderThreadId"]
			}
		}), message: func(p *proxy, m message) {
			if fork := p.sent("thread/fork", m.obj("params").str("threadId")); fork != nil && m.str("method") == "thread/identity" && fork.obj("params")["sourceCheckpointId"] == nil {
				m.obj("params")["providerThreadId"] = fork.obj("params")["sourceProviderThreadId"]
			}
			p.toCore(m)
		}},
		{rule: "session/fork-checkpoint-gate", profile: full, response: answer("thread/fork", func(_ *proxy, r, m message) {
			if r.obj("params")["sourceCheckpointId"] != nil && m["result"] != nil {
				m.fail(-32003)
			}
		})},

		{rule: "session/fork-checkpoint-gate", variant: "tip", profile: queue, response: errorCode(-32003, -32000)},

		{rule: "session/threads-independent", request: func(p *proxy, m message) {
			thread := m.obj("params").str("threadId")
			if m.str("method") == "turn/start" && p.open != "" && p.open != thread {
				p.held = append(p.held, m)
				return
			}
			p.toBridge(m)
		}},
		{rule: "session/threads-independent", variant: "foreign-item", delta: func(p *proxy, v message) []message {
			d := v.obj("d")
			switch thread := v.str("thread"); {
			case d.str("kind") == "item.open" && p.first != nil && len(p.held) == 0:
				p.held = append(p.held, message{"thread": thread, "key": d["key"]})
			case d.str("kind") == "turn.boundary" && len(p.held) > 0 && p.held[0].str("thread") != thread && p.prompts[thread] == "plain" && p.open != thread:
				var more message
				decode([]byte(unopened), &more)
				more["key"] = p.held[0]["key"]
				return []message{more, d}
			}
			return []message{d}
		}},

		{rule: "turn/lifecycle", delta: edit("plain", "input.accepted", drop)},
		{rule: "turn/lifecycle", variant: "accepted-twice", delta: edit("plain", "input.accepted", twice)},
		{rule: "turn/lifecycle", variant: "settles-twice", delta: edit("plain", "turn.boundary", twice)},
		{rule: "turn/lifecycle", variant: "fails", delta: edit("plain", "turn.boundary", set("status", "failed"))},
		{rule: "turn/lifecycle", variant: "never-settles", delta: edit("plain", "turn.boundary", drop)},
		{rule: "turn/lifecycle", variant: "refused", response: answer("turn/start", func(p *proxy, r, m message) {
			if p.promptOf(r) == "plain" {
				m.fail(-32000)
			}
		})},

		{rule: "turn/zero-work-settles", delta: edit("zeroWork", "turn.boundary", set("status", "failed"))},
		{rule: "turn/zero-work-settles", variant: "never-settles", delta: edit("zeroWork", "turn.boundary", drop)},
		{rule: "turn/zero-work-settles", variant: "not-accepted", delta: edit("zeroWork", "input.accepted", drop)},

		{rule: "turn/steer", response: answer("turn/steer", func(_ *proxy, _, m message) {
			if codeOf(m) == -32001 {
				m.succeed(message{})
			}
		})},
		{rule: "turn/steer", variant: "not-accepted", delta: func(p *proxy, v message) []message {
			if d := v.obj("d"); d.str("kind") != "input.accepted" || d.str("clientRequestId") != "request-steer" {
				return []message{d}
			}
			return nil
		}},
		{rule: "turn/steer", variant: "no-turn-key", delta: func(p *proxy, v message) []message {
			d := v.obj("d")
			if d["turnKey"] != nil {
				d["turnKey"] = nil
			}
			return []message{d}
		}},

		{rule: "turn/vouched-keys-only", delta: edit("items", "item.close", set("turnKey", "never-opened"))},
		{rule: "turn/vouched-keys-only", variant: "request", message: asks("interaction/request", func(params message) { params["turnKey"] = "never-opened" })},

		{rule: "provider/unknown-id", response: answer("thread/start", func(_ *proxy, r, m message) {
			if r.obj("params").str("providerId") == "no-such-provider" {
				m.fail(-32000)
			}
		})},
		{rule: "provider/unknown-id", variant: "started", response: answer("thread/start", func(_ *proxy, r, m message) {
			if r.obj("params").str("providerId") == "no-such-provider" {
				m.succeed(message{"providerThreadId": "s", "sessionRestorable": false})
			}
		})},

		{rule: "events/schema-valid", delta: edit("items", "item.close", set("extra", 1))},
		{rule: "events/schema-valid", variant: "missing-field", delta: edit("", "turn.boundary", unset("checkpointId"))},
		{rule: "events/schema-valid", variant: "unknown-kind", delta: edit("plain", "turn.boundary", before(`{"kind":"item.blink"}`))},
		{rule: "events/schema-valid", variant: "params", message: asks("thread/delta", func(params message) { params["extra"] = 1 })},

		{rule: "scope/explicit", delta: edit("items", "item.close", unset("scope"))},
		{rule: "scope/explicit", variant: "no-turn-key", delta: edit("items", "item.close", unset("turnKey"))},
		{rule: "scope/explicit", variant: "thread-with-turn-key", delta: edit("", "turn.boundary", before(
			`{"kind":"provider.warning","scope":"thread","turnKey":null,"category":"general","summary":null,"details":null}`))},

		{rule: "item/presentation-present", delta: edit("items", "item.close", unset("presentation"))},
		{rule: "item/presentation-present", variant: "null", delta: edit("items", "item.open", set("presentation", nil))},

		{rule: "item/extension-kind-declared", delta: edit("", "turn.boundary", before(`{"kind":"extension.state","extensionKind":"echo/undeclared","payload":{}}`))},
		{rule: "item/extension-kind-declared", variant: "item", delta: edit("items", "turn.boundary", before(
			`{"kind":"item.close","scope":"turn","turnKey":null,"key":{"providerItemId":"x","channel":null,"parentRef":null},"status":"completed","item":{"kind":"echo/undeclared","payload":{}},"presentation":{"label":"x","icon":"x"}}`))},

		{rule: "item/opens-before-delta", delta: edit("items", "turn.boundary", before(unopened))},
		{rule: "item/opens-before-delta", variant: "text", delta: edit("plain", "item.open", drop)},

		{rule: "item/settles-once", delta: edit("items", "item.close", twice)},
		{rule: "item/settles-once", variant: "goes-on", delta: edit("items", "item.close", func(_ *proxy, d message) []message {
			var more message
			decode([]byte(unopened), &more)
			more["key"], more["scope"], more["turnKey"] = d["key"], d["scope"], d["turnKey"]
			if d["turnKey"] == nil && d.str("scope") == "thread" {
				delete(more, "turnKey")
			}
			return []message{d, more}
		})},

		{rule: "interaction/round-trip", message: asks("interaction/request", func(params message) { delete(params, "requestKey") })},
		{rule: "interaction/round-trip", variant: "foreign-session", message: asks("interaction/request", func(params message) { params["providerThreadId"] = "another" })},
		{rule: "tool/round-trip", message: asks("tool/call", func(params message) { params["tool"] = "another" })},

		{rule: "stop/interrupt-settles-before-result", message: func(p *proxy, m message) {
			if m.str("method") == "thread/delta" && strings.Contains(string(m.line()), `"interrupted"`) {
				p.held = append(p.held, m)
				return
			}
			p.toCore(m)
		}, response: func(p *proxy, r, m message) {
			p.toCore(m)
			for _, h := range p.held {
				p.toCore(h)
			}
			p.held = nil
		}},
		{rule: "stop/interrupt-settles-before-result", variant: "completed", delta: edit("slow", "turn.boundary", set("status", "completed"))},

		{rule: "stop/release-not-interrupted", response: answer("thread/stop", func(p *proxy, r, m message) {
			if r.obj("params").str("intent") == "release" {
				var boundary message
				decode([]byte(`{"kind":"turn.boundary","turnKey":null,"status":"interrupted","error":null,"checkpointId":null}`), &boundary)
				p.toCore(message{"jsonrpc": "2.0", "method": "thread/delta", "params": message{"threadId": r.obj("params")["threadId"], "deltas": []message{boundary}}})
			}
		})},
		{rule: "stop/release-not-interrupted", variant: "refused", response: answer("thread/stop", func(_ *proxy, r, m message) {
			if r.obj("params").str("intent") == "release" {
				m.fail(-32000)
			}
		})},

		{rule: "shutdown/answers-outstanding", response: answer("shutdown", func(_ *proxy, _, m message) {
			if m["result"] != nil {
				m.fail(-32000)
			}
		})},
		{rule: "shutdown/answers-outstanding", variant: "silence", response: lost("shutdown")},
		{rule: "shutdown/answers-outstanding", variant: "lives-on", lives: true},
	}
	for _, m := range []mutant{{rule: "interaction/round-trip", variant: "answer-lost"}, {rule: "tool/round-trip", variant: "answer-lost"}} {
		method := "interaction/request"
		if m.rule == "tool/round-trip" {
			method = "tool/call"
		}
		m.message, m.request = dropAnswers(method)
		list = append(list, m)
	}
	return list
}

// mutantFixture is the echo bridge's with this test binary as the mutant in one profile.
func mutantFixture(t *testing.T, m mutant) bridgecheck.Fixture {
	t.Helper()
	f, err := bridgecheck.ParseFixture(echoFixture())
	if err != nil {
		t.Fatal(err)
	}
	profile := f.Profiles[m.profile]
	profile.Env = map[string]string{mutantEnv: m.name()}
	f.Profiles = []bridgecheck.Profile{profile}
	f.TimeoutMs = 5000
	return f
}

// TestMutants breaks each rule in turn: the kit must find it, and must not find it anywhere else.
func TestMutants(t *testing.T) {
	known := bridgecheck.Rules()
	covered := map[string]bool{}
	for _, m := range mutants() {
		if m.variant != "" {
			continue
		}
		covered[m.rule] = true
		t.Run(m.name(), func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			f := mutantFixture(t, m)
			report, err := bridgecheck.Run(t.Context(), []string{os.Args[0]}, f, bridgecheck.Options{})
			is.NoErr(err)
			is.Equal(len(report.Results), len(known))
			for _, r := range report.Results {
				o := r.Profiles[0]
				switch {
				case r.Rule == m.rule:
					t.Log(r.Detail)
					if r.Status != bridgecheck.Fail {
						t.Errorf("%s is %s (%s), want fail", r.Rule, r.Status, r.Detail)
					}
				case r.Status == bridgecheck.Fail:
					t.Errorf("%s fails too: %s", r.Rule, r.Detail)
					t.Log(o.Stderr)
					for _, l := range o.Lines {
						t.Log(l.Sent, l.Text)
					}
				case r.Status == bridgecheck.Skip && o.BlockedBy != m.rule && !slices.Contains(notHere(m.profile), r.Rule):
					t.Errorf("%s is skipped: %s", r.Rule, r.Detail)
				}
			}
		})
	}
	for _, r := range known {
		if !covered[r.ID] {
			t.Errorf("no mutant breaks %s", r.ID)
		}
	}
}

// notHere lists the rules that a profile cannot show.
func notHere(profile int) []string {
	switch profile {
	case full:
		return []string{"capability/unadvertised-refused"}
	case queue:
		return nil
	}
	return []string{"session/resume-identity", "turn/steer", "session/fork-identity", "session/fork-checkpoint-gate"}
}

// TestVariants breaks rules in further ways, each held against its own rule.
func TestVariants(t *testing.T) {
	for _, m := range mutants() {
		if m.variant == "" {
			continue
		}
		t.Run(m.name(), func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			f := mutantFixture(t, m)
			f.TimeoutMs = 2000 // several wait for what never comes
			report, err := bridgecheck.Run(t.Context(), []string{os.Args[0]}, f, bridgecheck.Options{Rules: []string{m.rule}})
			is.NoErr(err)
			r := report.Results[0]
			t.Log(r.Detail)
			if r.Status != bridgecheck.Fail || strings.Contains(r.Detail, "did not hold here") {
				t.Errorf("%s is %s (%s), want fail", r.Rule, r.Status, r.Detail)
			}
		})
	}
}
