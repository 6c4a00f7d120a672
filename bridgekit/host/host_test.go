package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

const allCapabilities = `{"sessionRestore":true,"threadArchive":true,"threadRename":true,"threadGoal":true,"fork":"checkpoint","approvalEnforcedBy":"runtime","steer":"native"}`

var background = context.Background()

// declaration declares everything that a bridge can do.
func declaration(id string) protocol.ProviderDeclaration {
	d := protocol.ProviderDeclaration{
		ID: id, DisplayName: "Puppet", Icon: "robot",
		PermissionModes: []protocol.PermissionMode{protocol.ModeFull},
		Maintenance:     protocol.Maintenance{Health: true, Usage: true, Installation: true},
		Models:          protocol.ModelSource{Catalog: protocol.CatalogBridge, Scope: protocol.ModelsPerHost},
		Skills:          protocol.SkillSupport{Configure: true, Discover: true},
		Visibility:      protocol.VisibleAlways,
		ExtensionKinds: map[string]protocol.ExtensionKind{
			"demo/chart": {Item: json.RawMessage(`{"type":"object","required":["points"]}`)},
		},
	}
	if err := json.Unmarshal([]byte(allCapabilities), &d.Capabilities); err != nil {
		panic(err)
	}
	return d
}

// options starts a puppet that runs the commands first.
func options(commands ...string) host.Options {
	return host.Options{
		Command:      []string{os.Args[0]},
		Env:          []string{role + "=puppet", rules + "=" + strings.Join(commands, "\n"), "GORACE=atexit_sleep_ms=0"},
		Plugin:       protocol.PluginInfo{ID: "demo", Version: "1"},
		Declarations: []protocol.ProviderDeclaration{declaration("puppet")},
		// Long enough for a machine that is busy with other tests; a test that waits for one to pass sets it.
		Timeouts: host.Timeouts{Handshake: time.Minute, Request: time.Minute, Session: time.Minute, Stop: time.Minute, Shutdown: time.Minute},
	}
}

// seen keeps what a Handler was called with, each as one line.
type seen struct {
	mu     sync.Mutex
	lines  []string
	change chan struct{}
}

func (s *seen) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
	close(s.change)
	s.change = make(chan struct{})
}

func (s *seen) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines...)
}

// index returns where a line that contains every part stands, -1 for nowhere.
func index(lines []string, parts ...string) int {
next:
	for i, line := range lines {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		return i
	}
	return -1
}

// wait waits for a line that contains every part, and returns it.
func (s *seen) wait(t *testing.T, parts ...string) string {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		i, change := index(s.lines, parts...), s.change
		if i >= 0 {
			defer s.mu.Unlock()
			return s.lines[i]
		}
		s.mu.Unlock()
		select {
		case <-change:
		case <-deadline:
			t.Fatalf("no line with %q in\n%s", parts, strings.Join(s.all(), "\n"))
		}
	}
}

// watch makes the handler note everything.
func watch(o *host.Options) *seen {
	s := &seen{change: make(chan struct{})}
	h := &o.Handler
	h.Deltas = func(thread string, ds protocol.Deltas) {
		for _, d := range ds {
			raw, _ := json.Marshal(d)
			s.add("delta %s %s", thread, raw)
		}
	}
	h.Identity = func(p protocol.IdentityParams) { s.add("identity %s %s", p.ThreadID, p.ProviderThreadID) }
	h.Replaced = func(p protocol.ReplacedParams) { s.add("replaced %s %s", p.ThreadID, p.ProviderThreadID) }
	h.Recovery = func(p protocol.RecoveryParams) { s.add("recovery %q %s", p.ThreadID, p.Hint) }
	h.Withdrawn = func(p protocol.WithdrawnParams) { s.add("withdrawn %s %s", p.ThreadID, p.RequestKey) }
	h.Raw = func(p protocol.RawParams) { s.add("raw %q %s", p.ThreadID, p.Payload) }
	h.Log = func(p protocol.LogParams) { s.add("%s %s %s %s", p.Level, p.ThreadID, p.Message, p.Data) }
	h.Lost = func(threads []string) { s.add("lost %v", threads) }
	h.Exit = func(e *host.ExitError) { s.add("exit %v", e) }
	return s
}

// start starts a bridge that ends with the test.
func start(t testing.TB, o host.Options) *host.Bridge {
	t.Helper()
	var log lockedBuffer
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	}
	b, err := host.Start(background, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.Kill()
		<-b.Done()
		if t.Failed() {
			t.Logf("log:\n%s\nstandard error:\n%s", log.String(), b.Stderr())
		}
	})
	return b
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func fullAccess() protocol.ExecutionOptions {
	return protocol.ExecutionOptions{Model: "m", Permission: protocol.PermissionPolicy{Mode: protocol.ModeFull, Scope: protocol.ScopeFull}}
}

func session(thread string) protocol.SessionParams {
	return protocol.SessionParams{ThreadID: thread, ProviderID: "puppet", Cwd: "/", Options: fullAccess(), InstructionMode: protocol.InstructionsAppend}
}

func ref(thread string) protocol.ThreadRef {
	return protocol.ThreadRef{ThreadID: thread, ProviderThreadID: "p-" + thread}
}

func stop(thread string, intent protocol.StopIntent) protocol.ThreadStopParams {
	return protocol.ThreadStopParams{ThreadRef: ref(thread), Intent: intent}
}

func turn(thread string, commands ...string) protocol.TurnStartParams {
	return protocol.TurnStartParams{
		ThreadID: thread, ProviderThreadID: "p-" + thread, ClientRequestID: "c1", Options: fullAccess(),
		Input: protocol.Inputs{&protocol.TextInput{Text: strings.Join(commands, "\n"), Visibility: protocol.VisibleUser}},
	}
}

// do has the puppet run commands in a turn/start.
func do(t testing.TB, b *host.Bridge, thread string, commands ...string) {
	t.Helper()
	if err := b.TurnStart(background, turn(thread, commands...)); err != nil {
		t.Fatal(err)
	}
}

// begin starts a thread.
func begin(t testing.TB, b *host.Bridge, thread string) {
	t.Helper()
	if _, err := b.ThreadStart(background, session(thread)); err != nil {
		t.Fatal(err)
	}
}

const (
	key         = `"key":{"providerItemId":"m1","channel":null,"parentRef":null}`
	label       = `"presentation":{"label":"Writing","icon":"message"}`
	turnOpen    = `{"kind":"turn.open","turnKey":null,"parentRef":null}`
	boundary    = `{"kind":"turn.boundary","turnKey":null,"status":"completed","error":null,"checkpointId":null}`
	messageOpen = `{"kind":"item.open","scope":"turn","turnKey":null,` + key + `,"item":{"kind":"message","text":""},` + label + `}`
)

// notification is the command that says one.
func notification(method, params string) string {
	return fmt.Sprintf(`say {"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

func deltas(ds ...string) string {
	return notification("thread/delta", `{"threadId":"$T","deltas":[`+strings.Join(ds, ",")+`]}`)
}

func question(id, requestKey, scope string) string {
	return fmt.Sprintf(`say {"jsonrpc":"2.0","id":%s,"method":"interaction/request","params":{"threadId":"$T","providerThreadId":"$P","requestKey":%q,%s,"request":{"kind":"question","questions":[{"id":"q","prompt":"Which?","shortLabel":null,"multiSelect":false,"options":[{"value":"a","label":"A","description":null}],"allowFreeText":false}]}}}`, id, requestKey, scope)
}

func approval(id, requestKey string) string {
	return fmt.Sprintf(`say {"jsonrpc":"2.0","id":%s,"method":"interaction/request","params":{"threadId":"$T","providerThreadId":"$P","requestKey":%q,"scope":"thread","turnKey":null,"request":{"kind":"approval","subject":{"kind":"plan",%s,"plan":"p","planFilePath":null},"reason":null,"decisions":["allow_once"]}}}`, id, requestKey, strings.Replace(key, "key", "itemKey", 1))
}

func toolCall(id, requestKey, arguments string) string {
	return fmt.Sprintf(`say {"jsonrpc":"2.0","id":%s,"method":"tool/call","params":{"threadId":"$T","providerThreadId":"$P","requestKey":%q,"turnKey":null,"itemKey":null,"tool":"add","arguments":%s}}`, id, requestKey, arguments)
}

func TestStart(t *testing.T) {
	is := is.New(t)
	o := options("echo")
	s := watch(&o)
	b := start(t, o)
	is.Equal(b.Capabilities().Fork, protocol.ForkCheckpoint)
	begin(t, b, "t1")
	hello := s.wait(t, `"method":"initialize"`)
	is.True(strings.Contains(hello, `"protocol":{"min":3,"max":3}`))
	is.True(strings.Contains(hello, `"client":{"name":"bb"`))
	is.True(strings.Contains(hello, `"plugin":{"id":"demo","version":"1"}`))
	is.True(strings.Contains(hello, `"providerIds":["puppet"]`))
	s.wait(t, "identity t1 p-t1")
	is.NoErr(b.Stop(background))
	is.Equal(b.Exit().Exit.Code, 0)
	is.True(b.Exit().Stopped)
	is.True(index(s.all(), "exit ") == len(s.all())-1) // nothing comes after Exit
}
