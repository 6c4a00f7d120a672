package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	acp "github.com/bb-kernel/bb/examples/provider-acp"
)

// Variables that make this test binary a bridge, with the options in the value, or an agent that plays the value.
const (
	bridgeVariable = "ACP_TEST_BRIDGE"
	agentVariable  = "ACP_TEST_AGENT"
)

func TestMain(m *testing.M) {
	if scene := os.Getenv(agentVariable); scene != "" {
		playAgent(scene)
		return
	}
	options := os.Getenv(bridgeVariable)
	if options == "" {
		os.Exit(m.Run())
	}
	var o acp.Options
	err := json.Unmarshal([]byte(options), &o)
	bridge, bridgeErr := acp.Bridge(o)
	if err != nil || bridgeErr != nil {
		fmt.Fprintln(os.Stderr, err, bridgeErr)
		os.Exit(2)
	}
	bridgekit.Main(bridge)
}

// core is a kernel that talks to one bridge, a real child process.
type core struct {
	t       *testing.T
	cwd     string
	bridge  *host.Bridge
	kinds   *extension.Kinds
	ctx     context.Context
	options protocol.ExecutionOptions
	bridgeO protocol.JSONObject
	env     map[string]string

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced at every event
	threads   map[string]*assembler.Assembler
	deltas    map[string]protocol.Deltas
	events    map[string][]assembler.Event
	notes     []string // other notifications, by method
	logs      []protocol.LogParams
	questions []protocol.Interaction
	answer    func(protocol.Interaction) (protocol.Resolution, error) // nil: never
}

var ask = protocol.ExecutionOptions{Permission: protocol.PermissionPolicy{Mode: protocol.ModeAcceptEdits, Scope: protocol.ScopeWorkspace, Reviewer: protocol.ReviewerUser, Escalation: protocol.EscalateAsk}}

// start starts the bridge under options, for sessions in cwd.
func start(t *testing.T, o acp.Options, cwd string, env ...string) *core {
	t.Helper()
	d := acp.Declaration(o)
	kinds, err := extension.New(d)
	if err != nil {
		t.Fatal(err)
	}
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	c := &core{t: t, cwd: cwd, kinds: kinds, options: ask, changed: make(chan struct{}), threads: map[string]*assembler.Assembler{},
		deltas: map[string]protocol.Deltas{}, events: map[string][]assembler.Event{}, answer: decide(protocol.AllowOnce)}
	var stop context.CancelFunc
	c.ctx, stop = context.WithTimeout(context.Background(), 2*time.Minute)
	note := func(name string) { c.mu.Lock(); c.notes = append(c.notes, name); c.wake(); c.mu.Unlock() }
	c.bridge, err = host.Start(c.ctx, host.Options{
		Command: []string{os.Args[0]}, Env: append(env, "PATH="+os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0", bridgeVariable+"="+string(options), bridgekit.DataDirVariable+"="+t.TempDir()),
		Client: protocol.ClientInfo{Name: "bb", Version: "1"}, Plugin: protocol.PluginInfo{ID: "acp", Version: "1"},
		Declarations: []protocol.ProviderDeclaration{d}, InteractionKinds: []string{acp.InteractionKind(o)},
		Handler: host.Handler{
			Deltas: func(thread string, ds protocol.Deltas) {
				c.mu.Lock()
				defer c.mu.Unlock()
				for _, d := range ds {
					c.deltas[thread] = append(c.deltas[thread], d)
					c.events[thread] = append(c.events[thread], c.assembler(thread).Apply(d, time.Unix(0, 0))...)
				}
				c.wake()
			},
			Recovery:  func(p protocol.RecoveryParams) { note(protocol.MethodProviderRecovery + " " + string(p.Hint)) },
			Withdrawn: func(protocol.WithdrawnParams) { note(protocol.MethodInteractionWithdrawn) },
			Raw:       func(p protocol.RawParams) { note(protocol.MethodProviderRaw + " " + string(p.Coverage)) },
			Log: func(p protocol.LogParams) {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.logs = append(c.logs, p)
				c.wake()
			},
			Interact: func(ctx context.Context, p protocol.InteractionParams) (protocol.Resolution, error) {
				c.mu.Lock()
				c.questions = append(c.questions, p.Request)
				answer := c.answer
				c.wake()
				c.mu.Unlock()
				if answer == nil {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return answer(p.Request)
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.bridge.Stop(c.ctx)
		stop()
		if t.Failed() {
			t.Logf("the bridge said: %s", c.bridge.Stderr())
			for _, l := range c.logs {
				t.Logf("log: %s %s %s", l.Level, l.Message, l.Data)
			}
		}
	})
	return c
}

// decide answers approvals with a decision.
func decide(kind protocol.DecisionKind) func(protocol.Interaction) (protocol.Resolution, error) {
	return func(q protocol.Interaction) (protocol.Resolution, error) {
		if _, ok := q.(*protocol.Approval); !ok {
			return nil, fmt.Errorf("%T is no approval", q)
		}
		return &protocol.Decision{Kind: kind}, nil
	}
}

func (c *core) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *core) assembler(thread string) *assembler.Assembler {
	if c.threads[thread] == nil {
		c.threads[thread] = assembler.New(assembler.Options{ThreadID: thread, Entropy: "e", Kinds: c.kinds})
	}
	return c.threads[thread]
}

// await waits until the condition holds; the condition runs with the mutex.
func (c *core) await(what string, condition func() bool) {
	c.t.Helper()
	for {
		c.mu.Lock()
		ok, changed := condition(), c.changed
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
			c.t.Fatalf("%s did not come", what)
		case <-c.bridge.Done():
			c.t.Fatalf("the bridge is gone before %s: %v", what, c.bridge.Exit())
		}
	}
}

func (c *core) params(thread string) protocol.SessionParams {
	return protocol.SessionParams{ThreadID: thread, ProviderID: "acp", Cwd: c.cwd, Workspace: protocol.Workspace{Root: c.cwd, WriteRoots: []string{c.cwd}},
		Options: c.options, Env: c.env, InstructionMode: protocol.InstructionsAppend, BridgeOptions: c.bridgeO}
}

// open starts a session of a thread.
func (c *core) open(thread string) protocol.ThreadRef {
	c.t.Helper()
	identity, err := c.bridge.ThreadStart(c.ctx, c.params(thread))
	if err != nil {
		c.t.Fatal(err)
	}
	return protocol.ThreadRef{ThreadID: thread, ProviderThreadID: identity.ProviderThreadID}
}

// send begins a turn and returns its id.
func (c *core) send(ref protocol.ThreadRef, prompt string) (turnID string, err error) {
	c.mu.Lock()
	turnID = fmt.Sprintf("turn-%s-%d", ref.ThreadID, len(c.events[ref.ThreadID]))
	c.assembler(ref.ThreadID).Expect(turnID, turnID)
	c.mu.Unlock()
	return turnID, c.bridge.TurnStart(c.ctx, protocol.TurnStartParams{ThreadID: ref.ThreadID, ProviderThreadID: ref.ProviderThreadID,
		ClientRequestID: turnID, Options: c.options, Input: text(prompt)})
}

func text(s string) protocol.Inputs {
	return protocol.Inputs{&protocol.TextInput{Text: s, Mentions: []protocol.PromptMention{}, Visibility: protocol.VisibleUser}}
}

// say runs a turn to its end and returns how it ended.
func (c *core) say(ref protocol.ThreadRef, prompt string) protocol.Status {
	c.t.Helper()
	turnID, err := c.send(ref, prompt)
	if err != nil {
		c.t.Fatalf("%q: %v", prompt, err)
	}
	return c.settled(ref, turnID)
}

func (c *core) settled(ref protocol.ThreadRef, turnID string) (status protocol.Status) {
	c.t.Helper()
	c.await("the end of "+turnID, func() bool {
		for _, e := range c.events[ref.ThreadID] {
			if done, ok := e.Payload.(*assembler.TurnCompleted); ok && e.Scope.TurnID == turnID {
				status = done.Status
				return true
			}
		}
		return false
	})
	return status
}

// stop interrupts the open turn.
func (c *core) stop(ref protocol.ThreadRef, intent protocol.StopIntent) {
	c.t.Helper()
	if err := c.bridge.ThreadStop(c.ctx, protocol.ThreadStopParams{ThreadRef: ref, Intent: intent}); err != nil {
		c.t.Fatal(err)
	}
}

// find returns the deltas of a kind.
func find[D protocol.Delta](c *core, thread string) (found []D) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.deltas[thread] {
		if d, ok := d.(D); ok {
			found = append(found, d)
		}
	}
	return found
}

// items returns the items of a kind as they closed.
func items[I protocol.Item](c *core, thread string) (found []I, how []protocol.Status) {
	for _, d := range find[*protocol.ItemClose](c, thread) {
		if i, ok := d.Item.(I); ok {
			found, how = append(found, i), append(how, d.Status)
		}
	}
	return found, how
}

// said joins the texts of all messages.
func (c *core) said(thread string) string {
	var all []string
	messages, _ := items[*protocol.Message](c, thread)
	for _, m := range messages {
		all = append(all, m.Text)
	}
	return strings.Join(all, "|")
}

// clean fails the test when core complained about what the bridge sent.
func (c *core) clean() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.logs {
		if l.Level == protocol.LogWarn || l.Level == protocol.LogError {
			c.t.Errorf("%s: %s %s", l.Level, l.Message, l.Data)
		}
	}
	for thread, events := range c.events {
		if slices.ContainsFunc(events, func(e assembler.Event) bool { return e.Type == "provider.unhandled" }) {
			c.t.Errorf("something of %s was not handled", thread)
		}
	}
}
