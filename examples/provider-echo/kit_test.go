package echo_test

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
	echo "github.com/bb-kernel/bb/examples/provider-echo"
)

// profileVariable makes this test binary the echo bridge.
const profileVariable = "ECHO_TEST_PROFILE"

func TestMain(m *testing.M) {
	profile := os.Getenv(profileVariable)
	if profile == "" {
		os.Exit(m.Run())
	}
	bridge, err := echo.Bridge(echo.Options{Profile: echo.Profile(profile)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	bridgekit.Main(bridge)
}

// core is a kernel that talks to one echo bridge, a real child process.
type core struct {
	t      *testing.T
	bridge *host.Bridge
	kinds  *extension.Kinds
	stop   context.CancelFunc
	ctx    context.Context

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every event
	threads  map[string]*assembler.Assembler
	deltas   map[string]protocol.Deltas
	events   map[string][]assembler.Event
	notes    []string // other notifications, by method
	logs     []protocol.LogParams
	requests int
	answer   func(protocol.Interaction) (protocol.Resolution, error)
}

// start starts the bridge under a profile, with its sessions in dir.
func start(t *testing.T, profile echo.Profile, dir string, env ...string) *core {
	t.Helper()
	d, err := echo.Declaration(profile)
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := extension.New(d)
	if err != nil {
		t.Fatal(err)
	}
	c := &core{t: t, kinds: kinds, changed: make(chan struct{}), threads: map[string]*assembler.Assembler{}, deltas: map[string]protocol.Deltas{}, events: map[string][]assembler.Event{}, answer: allow}
	c.ctx, c.stop = context.WithTimeout(context.Background(), 60*time.Second)
	note := func(name string) { c.mu.Lock(); c.notes = append(c.notes, name); c.wake(); c.mu.Unlock() }
	c.bridge, err = host.Start(c.ctx, host.Options{
		Command: []string{os.Args[0]}, Env: append(env, "GORACE=atexit_sleep_ms=0", profileVariable+"="+string(profile), bridgekit.DataDirVariable+"="+dir),
		Client: protocol.ClientInfo{Name: "bb", Version: "1"}, Plugin: protocol.PluginInfo{ID: "echo", Version: "1"},
		Declarations: []protocol.ProviderDeclaration{d}, InteractionKinds: []string{"echo/form"},
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
			Identity:  func(protocol.IdentityParams) { note(protocol.MethodThreadIdentity) },
			Replaced:  func(protocol.ReplacedParams) { note(protocol.MethodSessionReplaced) },
			Recovery:  func(p protocol.RecoveryParams) { note(protocol.MethodProviderRecovery + " " + string(p.Hint)) },
			Withdrawn: func(protocol.WithdrawnParams) { note(protocol.MethodInteractionWithdrawn) },
			Raw:       func(p protocol.RawParams) { note(protocol.MethodProviderRaw + " " + string(p.Coverage)) },
			Log: func(p protocol.LogParams) {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.logs = append(c.logs, p)
				c.wake()
			},
			ToolCall: func(_ context.Context, p protocol.ToolCallParams) (protocol.ToolResult, error) {
				return protocol.ToolResult{Success: p.Tool == "lookup", Content: []protocol.ToolContent{{Type: protocol.ContentText, Text: "found " + string(p.Arguments)}}}, nil
			},
			Interact: func(ctx context.Context, p protocol.InteractionParams) (protocol.Resolution, error) {
				c.mu.Lock()
				c.requests++
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
		c.stop()
	})
	return c
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
			c.t.Fatalf("%s did not come; the bridge said: %s", what, c.bridge.Stderr())
		case <-c.bridge.Done():
			c.t.Fatalf("the bridge is gone before %s: %v", what, c.bridge.Exit())
		}
	}
}

func allow(i protocol.Interaction) (protocol.Resolution, error) {
	switch q := i.(type) {
	case *protocol.Approval:
		return &protocol.Decision{Kind: protocol.AllowOnce}, nil
	case *protocol.Questions:
		answers := &protocol.Answers{Answers: map[string]protocol.Answer{}}
		for _, question := range q.Questions {
			a := protocol.Answer{Selected: []string{}}
			if len(question.Options) > 0 {
				a.Selected = []string{question.Options[0].Value}
			} else {
				a.FreeText = protocol.Ptr("my words")
			}
			answers.Answers[question.ID] = a
		}
		return answers, nil
	default:
		return &protocol.Submitted{Data: json.RawMessage(`{"name":"bb"}`)}, nil
	}
}

func params(thread string) protocol.SessionParams {
	return protocol.SessionParams{ThreadID: thread, ProviderID: "echo", Cwd: "/project", Workspace: protocol.Workspace{Root: "/project"},
		Options: options, Tools: tools, InstructionMode: protocol.InstructionsAppend}
}

// open starts a session of a thread.
func (c *core) open(thread string) protocol.ThreadRef {
	c.t.Helper()
	identity, err := c.bridge.ThreadStart(c.ctx, params(thread))
	if err != nil {
		c.t.Fatal(err)
	}
	return protocol.ThreadRef{ThreadID: thread, ProviderThreadID: identity.ProviderThreadID}
}

// send begins a turn and returns its id.
func (c *core) send(ref protocol.ThreadRef, prompt string, actions ...protocol.Action) (turnID string, err error) {
	c.mu.Lock()
	turnID = fmt.Sprintf("turn-%s-%d", ref.ThreadID, len(c.events[ref.ThreadID]))
	c.assembler(ref.ThreadID).Expect(turnID, turnID)
	c.mu.Unlock()
	p := protocol.TurnStartParams{ThreadID: ref.ThreadID, ProviderThreadID: ref.ProviderThreadID, ClientRequestID: turnID, Options: options, Actions: actions}
	if prompt != "" {
		p.Input = text(prompt)
	}
	return turnID, c.bridge.TurnStart(c.ctx, p)
}

// completed finds how a turn ended.
func (c *core) completed(thread, turnID string) *assembler.TurnCompleted {
	for _, e := range c.events[thread] {
		if done, ok := e.Payload.(*assembler.TurnCompleted); ok && e.Scope.TurnID == turnID {
			return done
		}
	}
	return nil
}

// say runs a turn to its end and returns how it ended.
func (c *core) say(ref protocol.ThreadRef, prompt string, actions ...protocol.Action) protocol.Status {
	c.t.Helper()
	turnID, err := c.send(ref, prompt, actions...)
	if err != nil {
		c.t.Fatalf("%q: %v", prompt, err)
	}
	return c.settled(ref, turnID)
}

func (c *core) settled(ref protocol.ThreadRef, turnID string) (status protocol.Status) {
	c.t.Helper()
	c.await("the end of "+turnID, func() bool {
		done := c.completed(ref.ThreadID, turnID)
		if done != nil {
			status = done.Status
		}
		return done != nil
	})
	return status
}

// said returns the text of the last message.
func (c *core) said(thread string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range slices.Backward(c.deltas[thread]) {
		if d, ok := d.(*protocol.ItemClose); ok {
			if m, ok := d.Item.(*protocol.Message); ok {
				return m.Text
			}
		}
	}
	return ""
}

// complaints are the warnings of the host about what the bridge sent.
func (c *core) complaints() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, l := range c.logs {
		if l.Level == protocol.LogWarn || l.Level == protocol.LogError {
			all = append(all, l.Message+" "+string(l.Data))
		}
	}
	return strings.Join(all, "\n")
}
