package bridgekit_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// message is a line from the bridge.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	line string
	used bool
}

// core is the other side of a bridge, over pipes in memory.
type core struct {
	t       testing.TB
	in      *io.PipeWriter
	out     *io.PipeReader
	done    chan error // Run's
	cancel  context.CancelFunc
	readEnd chan struct{}

	mu       sync.Mutex
	changed  *sync.Cond
	messages []*message
	banner   bool // the first line is no message
	ended    bool
	id       int
}

// declaration is a valid one whose ceiling is everything.
func declaration(change ...func(*protocol.ProviderDeclaration)) protocol.ProviderDeclaration {
	d := protocol.ProviderDeclaration{
		ID: "test", DisplayName: "Test", Icon: "flask",
		Capabilities: protocol.Capabilities{SessionRestore: true, ThreadArchive: true, ThreadRename: true, ThreadGoal: true,
			Fork: protocol.ForkCheckpoint, ApprovalEnforcedBy: protocol.EnforcedByRuntime, Steer: protocol.SteerNative},
		PermissionModes: []protocol.PermissionMode{protocol.ModeAuto},
		Maintenance:     protocol.Maintenance{Health: true, Usage: true, Installation: true},
		Models:          protocol.ModelSource{Catalog: protocol.CatalogBridge, Scope: protocol.ModelsPerHost},
		Skills:          protocol.SkillSupport{Configure: true, Discover: true},
		Visibility:      protocol.VisibleAlways,
	}
	for _, c := range change {
		c(&d)
	}
	return d
}

// agent is the session type of the tests.
type agent struct {
	t *bridgekit.Thread
}

// bridge is a bridge that does nothing, as a start for tests.
func bridge(change ...func(*bridgekit.Bridge[*agent])) bridgekit.Bridge[*agent] {
	b := bridgekit.Bridge[*agent]{
		Declarations: []protocol.ProviderDeclaration{declaration()},
		ThreadStart: func(_ context.Context, t *bridgekit.Thread, _ protocol.SessionParams) (*agent, protocol.SessionIdentity, error) {
			return &agent{t}, protocol.SessionIdentity{ProviderThreadID: "p-" + t.ID(), SessionRestorable: true}, nil
		},
		TurnStart:     func(*agent, context.Context, protocol.TurnStartParams) error { return nil },
		ThreadStop:    func(*agent, context.Context, protocol.ThreadStopParams) error { return nil },
		ThreadDiscard: func(*agent, context.Context, protocol.ThreadRef) error { return nil },
		Shutdown:      func(context.Context, protocol.ShutdownParams) error { return nil },
	}
	for _, c := range change {
		c(&b)
	}
	return b
}

// run starts a bridge. It ends with the test.
func run(t testing.TB, b bridgekit.Bridge[*agent]) *core {
	t.Helper()
	r, err := bridgekit.Define(b)
	if err != nil {
		t.Fatal(err)
	}
	return runRuntime(t, r)
}

func runRuntime(t testing.TB, r *bridgekit.Runtime) *core {
	ctx, cancel := context.WithCancel(context.Background())
	inRead, in := io.Pipe()
	out, outWrite := io.Pipe()
	c := &core{t: t, in: in, out: out, done: make(chan error, 1), cancel: cancel, readEnd: make(chan struct{})}
	c.begun()
	go func() {
		err := r.Run(ctx, inRead, outWrite)
		outWrite.Close()
		c.done <- err
	}()
	go c.read(out)
	t.Cleanup(func() {
		in.Close()
		cancel()
		select {
		case <-c.readEnd:
		case <-time.After(patience):
			t.Error("the bridge did not end")
		}
	})
	return c
}

func (c *core) begun() { c.changed = sync.NewCond(&c.mu) }

func (c *core) read(r io.Reader) {
	defer close(c.readEnd)
	s := bufio.NewScanner(r)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		c.mu.Lock()
		banner := c.banner
		c.banner = false
		c.mu.Unlock()
		if banner {
			continue
		}
		m := &message{line: s.Text()}
		if err := json.Unmarshal(s.Bytes(), m); err != nil {
			c.t.Errorf("the bridge wrote a line that is not JSON: %q", s.Text())
		}
		c.mu.Lock()
		c.messages = append(c.messages, m)
		c.changed.Broadcast()
		c.mu.Unlock()
	}
	c.mu.Lock()
	c.ended = true
	c.changed.Broadcast()
	c.mu.Unlock()
}

// write sends a raw line.
func (c *core) write(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatalf("writing to the bridge: %v", err)
	}
}

// request sends a request and returns its id.
func (c *core) request(method string, params any) string {
	c.t.Helper()
	c.id++
	id := fmt.Sprintf(`"r%d"`, c.id)
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, jsonOf(c.t, params)))
	return id
}

// call sends a request and waits for its answer.
func (c *core) call(method string, params any) *message {
	c.t.Helper()
	return c.response(c.request(method, params))
}

// must is call for requests that succeed.
func (c *core) must(method string, params any) json.RawMessage {
	c.t.Helper()
	m := c.call(method, params)
	if m.Error != nil {
		c.t.Fatalf("%s failed: %s", method, m.line)
	}
	return m.Result
}

// response waits for the answer to a request.
func (c *core) response(id string) *message {
	c.t.Helper()
	return c.await("the answer to "+id, func(m *message) bool { return m.Method == "" && string(m.ID) == id })
}

// method waits for a request or notification.
func (c *core) method(method string) *message {
	c.t.Helper()
	return c.await(method, func(m *message) bool { return m.Method == method })
}

// logged waits for a log message that holds a text.
func (c *core) logged(text string) *message {
	c.t.Helper()
	return c.await("a log message with "+text, func(m *message) bool {
		return m.Method == protocol.MethodBridgeLog && strings.Contains(m.line, text)
	})
}

// await waits for a message that was not awaited before.
func (c *core) await(what string, match func(*message) bool) *message {
	c.t.Helper()
	timeout := false
	timer := time.AfterFunc(patience, func() {
		c.mu.Lock()
		timeout = true
		c.changed.Broadcast()
		c.mu.Unlock()
	})
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for _, m := range c.messages {
			if !m.used && match(m) {
				m.used = true
				return m
			}
		}
		if timeout || c.ended {
			c.t.Fatalf("%s never came; the bridge wrote:\n%s", what, c.transcript())
		}
		c.changed.Wait()
	}
}

func (c *core) transcript() string {
	var b strings.Builder
	for _, m := range c.messages {
		b.WriteString(m.line + "\n")
	}
	return b.String()
}

// lines returns what the bridge wrote so far.
func (c *core) lines() []*message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*message(nil), c.messages...)
}

// answer answers a request of the bridge.
func (c *core) answer(m *message, result string) {
	c.t.Helper()
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
}

// initialize shakes hands.
func (c *core) initialize() protocol.InitializeResult {
	c.t.Helper()
	var r protocol.InitializeResult
	if err := json.Unmarshal(c.must(protocol.MethodInitialize, hello()), &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

// begin shakes hands and starts a thread.
func (c *core) begin(thread string) {
	c.t.Helper()
	c.initialize()
	c.must(protocol.MethodThreadStart, sessionParams(thread))
}

// wait waits for Run to return.
func (c *core) wait() error {
	c.t.Helper()
	select {
	case err := <-c.done:
		return err
	case <-time.After(patience):
		c.t.Fatal("Run did not return")
		return nil
	}
}

func hello() protocol.InitializeParams {
	return protocol.InitializeParams{Protocol: protocol.VersionRange{Min: 3, Max: 3}, Client: protocol.ClientInfo{Name: "bb", Version: "1"},
		Plugin: protocol.PluginInfo{ID: "test-plugin", Version: "1"}, ProviderIDs: []string{"test"}}
}

func options() protocol.ExecutionOptions {
	return protocol.ExecutionOptions{Model: "m", Permission: protocol.PermissionPolicy{Mode: protocol.ModeAuto,
		Scope: protocol.ScopeWorkspace, Reviewer: protocol.ReviewerAutomatic, Escalation: protocol.EscalateAsk}}
}

func sessionParams(thread string) protocol.SessionParams {
	return protocol.SessionParams{ThreadID: thread, ProviderID: "test", Cwd: "/w", Workspace: protocol.Workspace{Root: "/w"},
		Options: options(), InstructionMode: protocol.InstructionsAppend}
}

func turnParams(thread, request string) protocol.TurnStartParams {
	return protocol.TurnStartParams{ThreadID: thread, ProviderThreadID: "p-" + thread, ClientRequestID: request, Options: options(),
		Input: protocol.Inputs{&protocol.TextInput{Text: "hi", Visibility: protocol.VisibleUser}}}
}

func steerParams(thread, request, turn string) protocol.TurnSteerParams {
	return protocol.TurnSteerParams{TurnStartParams: turnParams(thread, request), TurnID: turn}
}

func ref(thread string) protocol.ThreadRef {
	return protocol.ThreadRef{ThreadID: thread, ProviderThreadID: "p-" + thread}
}

func stopParams(thread string, intent protocol.StopIntent) protocol.ThreadStopParams {
	return protocol.ThreadStopParams{ThreadRef: ref(thread), Intent: intent}
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	if s, ok := v.(string); ok {
		return s
	}
	raw, err := protocol.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
