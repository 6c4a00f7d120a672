package bridgecheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// suite is what all checks of a run share. It is not changed after it is made.
type suite struct {
	command     []string
	fixture     Fixture
	cwd         string
	environment []string
	kinds       []*extension.Kinds // one a profile
}

// scenario is one check of one rule in one profile. A step that finds the bridge at fault ends the check: with a failure
// when the step is what the rule is about, else with a skip that names the rule which has to hold first.
type scenario struct {
	*suite
	rule    string
	profile int
	ctx     context.Context
	startup time.Duration // how long a process may take to answer its first request
	bridges []*bridge
	first   time.Duration // how long the first process took to answer initialize
}

// bridge is one process and what the check knows of it.
type bridge struct {
	*scenario
	*exchange
	reply    *responder
	reported protocol.Capabilities // as the bridge says, decoded as far as possible
	talked   bool                  // it has answered before
	threads  int
}

// verdict ends a check.
type verdict struct {
	status       Status
	by           string // the rule that blocks
	detail       string
	bridge       *bridge // whose lines show it, nil for the last one
	at           int     // index of the line, -1 for the end
	unresponsive bool
}

// breachf ends the check: what owner is about did not hold, as line at of b shows.
func (b *bridge) breachf(owner string, at int, format string, args ...any) {
	b.end(verdict{bridge: b, at: at}, owner, format, args...)
}

func (s *scenario) end(v verdict, owner, format string, args ...any) {
	v.status, v.detail = Fail, fmt.Sprintf(format, args...)
	if owner != s.rule {
		v.status, v.by, v.detail = Skip, owner, blockedPrefix(owner)+v.detail
	}
	panic(v)
}

// skipf ends the check without a grade.
func (s *scenario) skipf(format string, args ...any) {
	panic(verdict{status: Skip, detail: fmt.Sprintf(format, args...), at: -1})
}

// need skips a rule whose prompt the fixture does not have.
func (s *scenario) need(p *Prompt, name string) *Prompt {
	if p == nil {
		s.skipf("the fixture has no prompts.%s", name)
	}
	return p
}

// run runs a check to its end and grades it.
func (s *scenario) run(check func(*scenario)) (o Outcome) {
	began := time.Now()
	o = Outcome{Profile: s.profile, Status: Pass}
	defer func() {
		s.finish(&o, recover())
		for _, b := range s.bridges {
			b.close()
		}
		o.DurationMs = time.Since(began).Milliseconds()
	}()
	check(s)
	return o
}

// finish turns what ended the check into its outcome.
func (s *scenario) finish(o *Outcome, end any) {
	if end == nil {
		return
	}
	v, ok := end.(verdict)
	if !ok {
		v = verdict{status: Fail, at: -1, detail: fmt.Sprintf("the check itself panicked, which is a bug of the kit: %v\n%s", end, debug.Stack())}
	}
	o.Status, o.Detail, o.BlockedBy, o.unresponsive = v.status, v.detail, v.by, v.unresponsive
	b := v.bridge
	if b == nil && len(s.bridges) > 0 {
		b = s.bridges[len(s.bridges)-1]
	}
	if b != nil && (o.Status == Fail || o.BlockedBy != "") {
		o.Lines, o.Stderr, o.Exit = b.excerpt(v.at), string(b.proc.Stderr()), b.exit()
	}
}

// caught runs steps and returns what ended them, nil when they went through.
func caught(steps func()) (end any) {
	defer func() { end = recover() }()
	steps()
	return nil
}

// start starts a process.
func (s *scenario) start() *bridge {
	p := s.fixture.Profiles[s.profile]
	b := &bridge{scenario: s, reply: &responder{}}
	x, err := open(s.ctx, process.Options{
		Command: slices.Concat(s.command, p.Args), Env: environment(s.environment, p.Env),
	}, b.reply.answer)
	if err != nil {
		s.end(verdict{at: -1, unresponsive: true}, handshakeInitialize, "the bridge could not be started: %v", err)
	}
	b.exchange = x
	s.bridges = append(s.bridges, b)
	return b
}

// declaration is that of the provider whose sessions are checked, nil when the profile declares none.
func (s *scenario) declaration() *protocol.ProviderDeclaration {
	p := &s.fixture.Profiles[s.profile]
	return p.declaration(s.fixture.providerID())
}

// wait waits for a line of the bridge, from index from on; owner is the rule that wants it.
func (b *bridge) wait(owner string, from int, what string, match func(*line) bool) int {
	timeout := b.fixture.timeout()
	if !b.talked {
		timeout = b.startup
	}
	at, err := b.await(b.ctx, from, timeout, match)
	if err == nil {
		return at
	}
	v := verdict{bridge: b, at: -1, unresponsive: true}
	switch {
	case errors.Is(err, errTimeout):
		b.end(v, owner, "%s did not come within %v", what, timeout)
	case errors.Is(err, errEnded):
		b.settleExit()
		b.end(v, owner, "%s did not come: the process ended (%s)", what, orUnknown(b.exit()))
	case errors.Is(err, context.DeadlineExceeded):
		b.end(v, owner, "%s did not come: the time for the rule is over", what)
	case b.ctx.Err() != nil:
		b.skipf("the run was cancelled")
	}
	b.end(v, owner, "%s did not come: %v", what, err)
	return -1
}

// settleExit gives a process whose output has ended the time to end itself, so that the report can say how.
func (b *bridge) settleExit() {
	select {
	case <-b.proc.Done():
	case <-time.After(exitGrace):
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "its output is closed, it still runs"
	}
	return s
}

// answer is a response.
type answer struct {
	at     int // index of its line
	result json.RawMessage
	err    *wire.Error
}

// call sends a request and waits for its response. owner is the rule that wants one.
func (b *bridge) call(owner, method string, params any) answer {
	from := b.position()
	return b.answerTo(owner, method, from, b.request(method, params))
}

// answerTo waits for the response to a request that was sent at index from.
func (b *bridge) answerTo(owner, method string, from int, id wire.ID) answer {
	at := b.wait(owner, from, "the answer to "+method, func(l *line) bool { return l.msg.Kind == wire.ResponseKind && l.msg.ID == id })
	b.talked = true
	l := b.all()[at]
	return answer{at: at, result: l.msg.Result, err: l.msg.Error}
}

// mustCall is call for a request that has to succeed.
func (b *bridge) mustCall(owner, method string, params any) answer {
	a := b.call(owner, method, params)
	if a.err != nil {
		b.breachf(owner, a.at, "%s was refused: %s", method, failure(a.err))
	}
	return a
}

// refuse is call for a request that has to fail with a code.
func (b *bridge) refuse(method string, params any, code protocol.Code, why string) answer {
	a := b.call(b.rule, method, params)
	switch {
	case a.err == nil:
		b.breachf(b.rule, a.at, "%s %s was answered with a result, want error %d %s", method, why, int(code), code.Name())
	case a.err.Code != int(code):
		b.breachf(b.rule, a.at, "%s %s was answered with %s, want %d %s", method, why, failure(a.err), int(code), code.Name())
	case a.err.Message == "":
		b.breachf(b.rule, a.at, "%s %s was refused without a message", method, why)
	}
	return a
}

func failure(e *wire.Error) string {
	return fmt.Sprintf("error %d %s (%s)", e.Code, protocol.Code(e.Code).Name(), clip([]byte(e.Message)))
}

// object are the params of a request.
type object map[string]any

// with returns a copy with another field.
func (o object) with(name string, value any) object {
	c := object{name: value}
	for k, v := range o {
		if k != name {
			c[k] = v
		}
	}
	return c
}

// without returns a copy without a field.
func (o object) without(name string) object {
	c := o.with(name, nil)
	delete(c, name)
	return c
}

// versions are the params of initialize with a range.
func (s *scenario) initializeParams(lowest, highest int) object {
	return object{
		"protocol":    object{"min": lowest, "max": highest},
		"client":      object{"name": "bb", "version": "conformance"},
		"plugin":      object{"id": s.fixture.Plugin.ID, "version": s.fixture.Plugin.Version},
		"providerIds": s.fixture.ProviderIDs,
	}
}

// initialized starts a process and shakes hands. Whether the answer is right is for handshake/initialize to judge.
func (s *scenario) initialized() *bridge {
	b := s.start()
	began := time.Now()
	a := b.mustCall(handshakeInitialize, protocol.MethodInitialize, s.initializeParams(protocol.Version, protocol.Version))
	if s.first == 0 {
		s.first = time.Since(began)
	}
	b.readCapabilities(a)
	return b
}

// readCapabilities keeps what the bridge reports, as far as it can be read.
func (b *bridge) readCapabilities(a answer) {
	var result struct {
		Capabilities map[string]json.RawMessage `json:"capabilities"`
	}
	if json.Unmarshal(a.result, &result) != nil {
		b.breachf(handshakeInitialize, a.at, "the result of initialize is not {protocol, capabilities}")
	}
	c := &b.reported
	for name, into := range map[string]any{
		"sessionRestore": &c.SessionRestore, "threadArchive": &c.ThreadArchive, "threadRename": &c.ThreadRename,
		"threadGoal": &c.ThreadGoal, "fork": &c.Fork, "approvalEnforcedBy": &c.ApprovalEnforcedBy, "steer": &c.Steer,
	} {
		if raw := result.Capabilities[name]; raw == nil || json.Unmarshal(raw, into) != nil {
			b.breachf(handshakeInitialize, a.at, "the capability %s is missing or cannot be read", name)
		}
	}
}

// capabilities are those that the bridge reports, below the ceiling of the declaration: what it claims beyond is
// handshake/capabilities-narrow's to judge.
func (b *bridge) capabilities() protocol.Capabilities {
	c := b.reported
	d := b.declaration()
	if d == nil {
		return c
	}
	ceiling := d.Capabilities
	c.SessionRestore = c.SessionRestore && ceiling.SessionRestore
	c.ThreadArchive = c.ThreadArchive && ceiling.ThreadArchive
	c.ThreadRename = c.ThreadRename && ceiling.ThreadRename
	c.ThreadGoal = c.ThreadGoal && ceiling.ThreadGoal
	forks := []protocol.Fork{protocol.ForkNone, protocol.ForkTip, protocol.ForkCheckpoint}
	c.Fork = forks[max(0, min(slices.Index(forks, c.Fork), slices.Index(forks, ceiling.Fork)))]
	steers := []protocol.Steer{protocol.SteerNone, protocol.SteerQueue, protocol.SteerNative}
	c.Steer = steers[max(0, min(slices.Index(steers, c.Steer), slices.Index(steers, ceiling.Steer)))]
	return c
}

// thread is a session that the check made.
type thread struct {
	*bridge
	id, provider string
	restorable   *bool // nil when the bridge did not say
	from         int   // index of the first line that may be about it
}

// sessionParams are the params of thread/start.
func (s *scenario) sessionParams(threadID string) object {
	return object{
		"threadId": threadID, "providerId": s.fixture.providerID(), "cwd": s.cwd,
		"workspace": object{"root": s.cwd, "writeRoots": []string{s.cwd}},
		"env":       object{"BB_THREAD_ID": threadID},
		"options":   s.fixture.Options, "tools": orNone(s.fixture.Tools), "disallowedTools": []string{},
		"instructionMode": protocol.InstructionsAppend, "actions": []string{}, "bridgeOptions": orNothing(s.fixture.BridgeOptions),
	}
}

func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func orNothing(o protocol.JSONObject) protocol.JSONObject {
	if o == nil {
		return protocol.JSONObject{}
	}
	return o
}

// newThreadID returns an id that no thread of the process has.
func (b *bridge) newThreadID() string {
	b.threads++
	return fmt.Sprintf("thread-%d-%d", len(b.bridges), b.threads)
}

// startThread makes a session. Whether the identity is whole is for session/start-identity to judge.
func (b *bridge) startThread() *thread {
	id := b.newThreadID()
	return b.identified(sessionStart, protocol.MethodThreadStart, id, b.sessionParams(id))
}

// identified makes a session with a method that answers an identity; owner is the method's rule.
func (b *bridge) identified(owner, method, threadID string, params object) *thread {
	from := b.position()
	a := b.mustCall(owner, method, params)
	var identity struct {
		ProviderThreadID  string `json:"providerThreadId"`
		SessionRestorable *bool  `json:"sessionRestorable"`
	}
	if err := json.Unmarshal(a.result, &identity); err != nil || identity.ProviderThreadID == "" {
		b.breachf(owner, a.at, "the result of %s has no providerThreadId", method)
	}
	if _, problem := protocol.Decode[protocol.SessionIdentity](a.result); problem != nil && owner == b.rule {
		b.breachf(owner, a.at, "the result of %s is no session identity: %s", method, problem.Error())
	}
	t := &thread{bridge: b, id: threadID, provider: identity.ProviderThreadID, restorable: identity.SessionRestorable, from: from}
	if owner == b.rule {
		t.sameIdentity(owner, method, a.at)
	}
	return t
}

// sameIdentity checks the thread/identity notifications that came before the result at index until.
func (t *thread) sameIdentity(owner, method string, until int) {
	for at, l := range t.all()[:until] {
		if l.sent || at < t.from || l.msg.Method != protocol.MethodThreadIdentity {
			continue
		}
		p, problem := protocol.Decode[protocol.IdentityParams](l.msg.Params)
		switch {
		case problem != nil:
			t.breachf(owner, at, "thread/identity is malformed: %s", problem.Error())
		case p.ThreadID == t.id && (p.ProviderThreadID != t.provider || t.restorable != nil && p.SessionRestorable != *t.restorable):
			t.breachf(owner, at, "thread/identity says something else than the result of %s", method)
		}
	}
}

// ref addresses the session.
func (t *thread) ref() object { return object{"threadId": t.id, "providerThreadId": t.provider} }

// turn is input that the check sent.
type turn struct {
	*thread
	owner   string // the rule that wants it to go well
	client  string // its clientRequestId
	from    int    // index of the line that sent it
	settled int    // index of the line that settled it
}

// turnParams are the params of turn/start.
func (t *thread) turnParams(p *Prompt, clientRequestID string) object {
	options := &t.fixture.Options
	if p.Options != nil {
		options = p.Options
	}
	return t.ref().with("input", p.Input).with("clientRequestId", clientRequestID).with("options", options).with("actions", []string{})
}

// begin sends a turn/start and waits for its result.
func (t *thread) begin(owner string, p *Prompt) *turn {
	from := t.position()
	u := &turn{thread: t, owner: owner, client: fmt.Sprintf("request-%d", from), from: from}
	t.reply.expect(p)
	t.mustCall(owner, protocol.MethodTurnStart, t.turnParams(p, u.client))
	return u
}

// delta waits for a delta of the thread from index from on and returns the index of its line.
func (t *thread) delta(owner string, from int, what string, match func(*delta) bool) int {
	return t.wait(owner, from, what, func(l *line) bool {
		return slices.ContainsFunc(l.deltas, func(d delta) bool { return d.thread == t.id && match(&d) })
	})
}

// settle waits until the turn has settled: for what ends a turn, after its input was accepted or it was opened.
func (u *turn) settle() {
	begun := false
	u.settled = u.delta(u.owner, u.from, "the turn.boundary of the turn, after its input.accepted or turn.open,", func(d *delta) bool {
		if !begun {
			begun = d.kind == protocol.KindTurnOpen || isAccepted(u.client)(d)
			return false
		}
		return d.settlesTurn()
	})
}

// turn is begin and settle.
func (t *thread) turn(owner string, p *Prompt) *turn {
	u := t.begin(owner, p)
	u.settle()
	return u
}

// deltas returns the deltas of the thread from index from on to the line at index to, to included.
func (t *thread) deltas(from, to int) []delta {
	var list []delta
	for _, l := range t.all()[from : to+1] {
		for _, d := range l.deltas {
			if d.thread == t.id {
				list = append(list, d)
			}
		}
	}
	return list
}

// interrupt stops the open turn and waits for the result.
func (t *thread) interrupt(owner string) answer {
	return t.mustCall(owner, protocol.MethodThreadStop, t.ref().with("intent", protocol.Interrupt))
}
