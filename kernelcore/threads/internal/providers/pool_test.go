package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/providers"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// rig is a kernel with the agent's plugin and a pool.
type rig struct {
	*providers.Pool
	kernel    *kernelcore.Kernel
	starts    string // the file of the agent's starts
	behaviour atomic.Value
	exits     chan *host.ExitError
	recovery  chan protocol.RecoveryParams
}

type rigOptions struct {
	hooks     bridge.ProviderHooks
	behaviour string
	declare   func(*protocol.ProviderDeclaration)
	agent     string
	command   []string
	pool      providers.Options
}

func newRig(t *testing.T, o rigOptions) *rig {
	t.Helper()
	r := &rig{starts: filepath.Join(t.TempDir(), "starts"), exits: make(chan *host.ExitError, 16), recovery: make(chan protocol.RecoveryParams, 16)}
	r.behaviour.Store(o.behaviour)
	d := declaration()
	if o.declare != nil {
		o.declare(&d)
	}
	plugin := &pluginsdk.Plugin{ID: "agents", Version: "1.0", Providers: []protocol.ProviderDeclaration{d},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			command := o.command
			if command == nil {
				command = []string{os.Args[0], agentWord, r.starts, r.behaviour.Load().(string)}
			}
			h.ProvideBridge("agent", bridge.Program{Command: command, Agent: o.agent, Hooks: o.hooks})
			return nil
		}}
	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{plugin}, DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r.kernel = k
	o.pool.Kernel = k
	o.pool.Sink.Exit = func(_ *providers.Bridge, e *host.ExitError) { r.exits <- e }
	o.pool.Sink.Recovery = func(_ *providers.Bridge, p protocol.RecoveryParams) { r.recovery <- p }
	if r.Pool, err = providers.New(o.pool); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := errors.Join(r.Close(ctx), k.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// started returns how often the agent was started.
func (r *rig) started() int {
	raw, _ := os.ReadFile(r.starts)
	return strings.Count(string(raw), "\n")
}

// session begins a session of a thread on b.
func session(t *testing.T, b *providers.Bridge, thread string) {
	t.Helper()
	_, err := b.ThreadStart(t.Context(), protocol.SessionParams{
		ThreadID: thread, ProviderID: "agent", Cwd: t.TempDir(), Options: options(), InstructionMode: protocol.InstructionsAppend,
		Tools: []protocol.DynamicTool{}, DisallowedTools: []string{}, BridgeOptions: b.Options,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func options() protocol.ExecutionOptions {
	return protocol.ExecutionOptions{Permission: protocol.PermissionPolicy{Mode: protocol.ModeFull, Scope: protocol.ScopeFull}}
}

// tell gives the agent of a thread an input; what it answers does not matter.
func tell(t *testing.T, b *providers.Bridge, thread, text string) {
	t.Helper()
	_ = b.TurnStart(t.Context(), protocol.TurnStartParams{
		ThreadID: thread, ProviderThreadID: "agent-" + thread, ClientRequestID: text, Options: options(),
		Input: protocol.Inputs{&protocol.TextInput{Text: text, Visibility: protocol.VisibleUser}},
	})
}

func TestOneProcessForSessions(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works"})
	var wait sync.WaitGroup
	bridges := make([]*providers.Bridge, 8)
	for i := range bridges {
		wait.Go(func() {
			b, err := r.Bridge(t.Context(), "agent")
			if err != nil {
				t.Error(err)
			}
			bridges[i] = b
		})
	}
	wait.Wait()
	is.Equal(r.started(), 1) // single flight
	for _, b := range bridges {
		is.True(b == bridges[0])
	}
	is.Equal(bridges[0].PluginID, "agents")
	shown, err := r.Get(t.Context(), "agent")
	is.NoErr(err)
	is.Equal(shown.State, threadapi.ProviderRunning)
	is.Equal(shown.Threads, 0)
	session(t, bridges[0], "t1")
	shown, err = r.Get(t.Context(), "agent")
	is.NoErr(err)
	is.Equal(shown.Threads, 1)
	_, err = r.Health(t.Context(), "agent") // on a process of its own
	is.NoErr(err)
	is.Equal(r.started(), 2)
}

func TestUnknownProvider(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works"})
	_, err := r.Provider("agnt")
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.NotFound)
	is.True(strings.Contains(err.Error(), "did you mean agent?"))
	_, err = r.Bridge(t.Context(), "nobody")
	is.Equal(kernelcontract.CodeOf(err), threadapi.ProviderUnavailable)
	_, err = r.DeriveOptions(t.Context(), bridge.OptionsRequest{ProviderID: "nobody"})
	is.Equal(kernelcontract.CodeOf(err), threadapi.ProviderUnavailable)
}

func TestProgramThatIsNotThere(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works", command: []string{"no-such-bridge-anywhere"}})
	for range 2 { // no backoff: once it is there it is used
		_, err := r.Bridge(t.Context(), "agent")
		is.Equal(kernelcontract.CodeOf(err), threadapi.ProviderUnavailable)
		is.True(strings.Contains(err.Error(), "no-such-bridge-anywhere"))
		is.True(strings.Contains(err.Error(), "bb provider install agent"))
	}
	shown, err := r.Get(t.Context(), "agent")
	is.NoErr(err)
	is.Equal(shown.State, threadapi.ProviderDegraded)
	is.True(strings.Contains(shown.Problem, "not installed"))
	is.Equal(*shown.Installed, false)
}

func TestStartThatFailsShowsStderrAndBacksOff(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "fails-once"})
	_, err := r.Bridge(t.Context(), "agent")
	is.Equal(kernelcontract.CodeOf(err), threadapi.ProviderUnavailable)
	is.True(strings.Contains(err.Error(), "the agent's config is broken"))
	shown, err := r.Get(t.Context(), "agent")
	is.NoErr(err)
	is.Equal(shown.State, threadapi.ProviderBackoff)
	is.True(strings.Contains(shown.Problem, "the agent's config is broken"))

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = r.Bridge(ctx, "agent") // does not wait longer than its caller
	is.True(errors.Is(err, context.DeadlineExceeded))
	_, err = r.Bridge(t.Context(), "agent") // waits for the backoff
	is.NoErr(err)
	shown, err = r.Get(t.Context(), "agent")
	is.NoErr(err)
	is.Equal(shown.State, threadapi.ProviderRunning)
	is.Equal(shown.Problem, "")
}

func TestCrashIsToldAndStartsAnew(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works"})
	b, err := r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	session(t, b, "t1")
	tell(t, b, "t1", "exit 7")
	exit := <-r.exits
	is.Equal(exit.Exit.Code, 7)
	is.True(!exit.Stopped)
	again, err := r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	is.True(again.Serial != b.Serial)
	shown, err := r.Get(t.Context(), "agent")
	is.NoErr(err)
	is.Equal(shown.Restarts, 1)
}

func TestEnvironmentOfBridges(t *testing.T) {
	is := is.New(t)
	t.Setenv("AGENT_KEY", "passed")
	t.Setenv("SOME_SECRET", "kept")
	t.Setenv("BB_DATA_DIR", "kept")
	r := newRig(t, rigOptions{behaviour: "works", hooks: bridge.ProviderHooks{
		BridgeEnv: func(_ context.Context, q bridge.EnvRequest) (map[string]string, error) {
			return map[string]string{"FROM_HOOK": fmt.Sprint(q.ProviderID, q.Maintenance), "AGENT_KEY": "set"}, nil
		},
	}})
	b, err := r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	session(t, b, "t1")
	out := filepath.Join(t.TempDir(), "env")
	tell(t, b, "t1", "env "+out)
	raw, err := os.ReadFile(out)
	is.NoErr(err)
	env := map[string]string{}
	for _, line := range strings.Split(string(raw), "\n") {
		name, value, _ := strings.Cut(line, "=")
		_, twice := env[name]
		is.True(!twice)
		env[name] = value
	}
	is.Equal(env["FROM_HOOK"], "agentfalse")
	is.Equal(env["AGENT_KEY"], "set") // the plugin's word wins
	_, there := env["SOME_SECRET"]
	is.True(!there)
	_, there = env["BB_DATA_DIR"]
	is.True(!there)
	is.Equal(env["BB_PLUGIN_DATA_DIR"], r.kernel.PluginDir("agents"))
	is.True(strings.HasPrefix(env["BB_PLUGIN_TEMP_DIR"], filepath.Join(r.kernel.DataDir(), "plugins-temp", "agents")))
	_, err = os.Stat(env["BB_PLUGIN_TEMP_DIR"])
	is.NoErr(err)
	_, err = r.Restart(t.Context(), "agent")
	is.NoErr(err)
	_, err = os.Stat(env["BB_PLUGIN_TEMP_DIR"]) // it goes with the process
	is.True(os.IsNotExist(err))
}

func TestHooksThatFail(t *testing.T) {
	is := is.New(t)
	env := map[string]string{"BB_TOKEN": "x"}
	var failure error
	r := newRig(t, rigOptions{behaviour: "works", hooks: bridge.ProviderHooks{
		BridgeEnv: func(context.Context, bridge.EnvRequest) (map[string]string, error) { return env, failure },
		DeriveProviderOptions: func(context.Context, bridge.OptionsRequest) (protocol.JSONObject, error) {
			return nil, errors.New("no account")
		},
	}})
	_, err := r.Bridge(t.Context(), "agent")
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.BridgeEnvReserved)
	failure = errors.New("the key ring is locked")
	_, err = r.Bridge(t.Context(), "agent")
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.BridgeEnvFailed)
	is.True(strings.Contains(err.Error(), "the key ring is locked"))
	_, err = r.DeriveOptions(t.Context(), bridge.OptionsRequest{ProviderID: "agent"})
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.ProviderOptionsFailed)
	env, failure = nil, nil
	_, err = r.Bridge(t.Context(), "agent") // without delay
	is.NoErr(err)
}

func TestRestart(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "fails"})
	for range 2 {
		_, err := r.Bridge(t.Context(), "agent")
		is.True(err != nil)
	}
	shown, err := r.Restart(t.Context(), "agent") // forgets the failures
	is.NoErr(err)
	is.Equal(shown.State, threadapi.ProviderStopped)
	is.Equal(shown.Problem, "")

	r = newRig(t, rigOptions{behaviour: "works"})
	b, err := r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	session(t, b, "t1")
	r.Report("agent", protocol.RecoverReauthenticate, "the token is gone")
	shown, err = r.Get(t.Context(), "agent")
	is.NoErr(err)
	is.Equal(shown.State, threadapi.ProviderDegraded)
	is.Equal(shown.Problem, "the token is gone: run `agent login`")
	_, err = r.Restart(t.Context(), "agent")
	is.NoErr(err)
	is.True((<-r.exits).Stopped) // which interrupts what was open
	shown, err = r.Get(t.Context(), "agent")
	is.NoErr(err)
	is.Equal(shown.State, threadapi.ProviderStopped)
	_, err = r.Restart(t.Context(), "nobody")
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.NotFound)
}

func TestReportsShowUntilHealthIsReady(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works"})
	for hint, want := range map[protocol.RecoveryHint]string{
		protocol.RecoverReauthenticate: "why: run `agent login`",
		protocol.RecoverReinstall:      "why: run `bb provider install agent`",
		protocol.RecoverRestartProcess: "", // the engine's business
	} {
		r.Report("agent", hint, "why.")
		shown, err := r.Get(t.Context(), "agent")
		is.NoErr(err)
		is.Equal(shown.Problem, want)
		h, err := r.Health(t.Context(), "agent")
		is.NoErr(err)
		is.Equal(h.Status, "ready")
		is.Equal(h.InstalledVersion, "1.0")
		shown, err = r.Get(t.Context(), "agent")
		is.NoErr(err)
		is.Equal(shown.Problem, "")
	}
	r.Report("nobody", protocol.RecoverReinstall, "why")
}

func TestHealthSaysWhatToDo(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "signed-out"})
	h, err := r.Health(t.Context(), "agent")
	is.NoErr(err)
	is.Equal(h.Status, "unauthenticated")
	is.Equal(h.Hint, "run `agent login`")
}

func TestUsage(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works"})
	raw, err := r.Usage(t.Context(), "agent")
	is.NoErr(err)
	var u struct{ Status string }
	is.NoErr(json.Unmarshal(raw, &u))
	is.Equal(u.Status, "ok")
}

func TestMaintenanceThatIsNotDeclared(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works", declare: func(d *protocol.ProviderDeclaration) { d.Maintenance = protocol.Maintenance{} }})
	_, err := r.Usage(t.Context(), "agent")
	is.Equal(kernelcontract.CodeOf(err), threadapi.Unsupported)
	_, err = r.InstallationStatus(t.Context(), threadapi.InstallationStatusInput{ID: "agent"})
	is.Equal(kernelcontract.CodeOf(err), threadapi.Unsupported)
	_, err = r.Install(t.Context(), threadapi.InstallInput{ID: "agent", Action: "install"})
	is.Equal(kernelcontract.CodeOf(err), threadapi.Unsupported)
	is.True(strings.Contains(err.Error(), "https://agent.example"))
	h, err := r.Health(t.Context(), "agent")
	is.NoErr(err)
	is.Equal(h.Status, "unknown")
	is.Equal(r.started(), 0) // nobody was asked
}

func models(t *testing.T, r *rig, cwd string, refresh bool) string {
	t.Helper()
	list, err := r.Models(t.Context(), threadapi.ModelsInput{ID: "agent", Cwd: cwd, Refresh: refresh})
	if err != nil {
		t.Fatal(err)
	}
	return list[0].ID
}

func TestModelsAreAskedOnceForADirectory(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works"})
	is.Equal(models(t, r, "/a", false), "/a#1")
	is.Equal(models(t, r, "/a", false), "/a#1")
	is.Equal(models(t, r, "/b", false), "/b#2")
	is.Equal(models(t, r, "/a", true), "/a#3")
	var wait sync.WaitGroup
	for range 5 {
		wait.Go(func() { _ = models(t, r, "/c", false) })
	}
	wait.Wait()
	is.Equal(models(t, r, "/c", false), "/c#4") // all used one answer
	_, err := r.Models(t.Context(), threadapi.ModelsInput{ID: "agent", Cwd: "relative"})
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.InvalidInput)
	_, err = r.Restart(t.Context(), "agent")
	is.NoErr(err)
	is.Equal(models(t, r, "/a", false), "/a#1") // of a fresh process
}

func TestModelsOfAHost(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works", declare: func(d *protocol.ProviderDeclaration) { d.Models.Scope = protocol.ModelsPerHost }})
	first := models(t, r, "/a", false)
	is.Equal(models(t, r, "/b", false), first)
}

func TestModelsOfThePluginComeFirst(t *testing.T) {
	is := is.New(t)
	list := []protocol.ModelDecl{{ID: "mine"}}
	r := newRig(t, rigOptions{behaviour: "works", hooks: bridge.ProviderHooks{
		ModelCatalog: func(context.Context, bridge.ModelsRequest) ([]protocol.ModelDecl, error) { return list, nil },
	}})
	is.Equal(models(t, r, "/a", false), "mine")
	list = nil // ask the bridge
	is.Equal(models(t, r, "/a", false), "/a#1")
}

func TestModelsFallBack(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "no-models"})
	is.Equal(models(t, r, "/a", false), "fallback")
	r = newRig(t, rigOptions{behaviour: "no-models", declare: func(d *protocol.ProviderDeclaration) { d.Models.Fallback = nil }})
	_, err := r.Models(t.Context(), threadapi.ModelsInput{ID: "agent"})
	is.Equal(kernelcontract.CodeOf(err), threadapi.ProviderUnavailable)
	is.True(strings.Contains(err.Error(), "the account has no models"))
	r = newRig(t, rigOptions{behaviour: "works", declare: func(d *protocol.ProviderDeclaration) { d.Models.Catalog = protocol.CatalogStatic }})
	is.Equal(models(t, r, "/a", false), "fallback")
	is.Equal(r.started(), 0)
}

// await polls until what a test waits for has come.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func stateOf(t *testing.T, r *rig) threadapi.ProviderState {
	t.Helper()
	shown, err := r.Get(t.Context(), "agent")
	if err != nil {
		t.Fatal(err)
	}
	return shown.State
}

func TestIdleProcessesEnd(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works", pool: providers.Options{IdleTimeout: 50 * time.Millisecond, MaintenanceIdle: 50 * time.Millisecond}})
	b, err := r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	is.True((<-r.exits).Stopped)
	<-b.Done()
	b, err = r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	session(t, b, "t1") // with a session it stays
	_, err = r.Health(t.Context(), "agent")
	is.NoErr(err)
	_, err = r.Health(t.Context(), "agent")
	is.NoErr(err)
	select {
	case <-r.exits:
		t.Fatal("a process with a session has ended")
	case <-time.After(200 * time.Millisecond):
	}
	is.NoErr(b.ThreadDiscard(t.Context(), protocol.ThreadRef{ThreadID: "t1", ProviderThreadID: "agent-t1"}))
	is.True((<-r.exits).Stopped)
}

func TestPluginThatIsGoneTakesItsBridgeAlong(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works"})
	b, err := r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	session(t, b, "t1")
	is.NoErr(r.kernel.Disable(t.Context(), "agents"))
	is.True((<-r.exits).Stopped)
	_, err = r.Bridge(t.Context(), "agent")
	is.Equal(kernelcontract.CodeOf(err), threadapi.ProviderUnavailable)
	is.NoErr(r.kernel.Enable(t.Context(), "agents"))
	_, err = r.Bridge(t.Context(), "agent")
	is.NoErr(err)
}

func TestPluginThatChangesGetsAFreshBridge(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works"})
	b, err := r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	is.NoErr(r.kernel.Reload(t.Context(), "agents"))
	same, err := r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	is.True(same == b) // nothing about it has changed

	session(t, b, "t1")
	r.behaviour.Store("signed-out")
	is.NoErr(r.kernel.Reload(t.Context(), "agents"))
	asked := <-r.recovery // its threads come to rest first
	is.Equal(asked.Hint, protocol.RecoverRestartProcess)
	same, err = r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	is.True(same == b)
	is.NoErr(b.Stop(t.Context()))
	fresh, err := r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	is.True(fresh != b)

	r.behaviour.Store("works") // without a session it is ended at once
	is.NoErr(r.kernel.Reload(t.Context(), "agents"))
	<-fresh.Done()
}

func TestListShowsWhatIsInstalled(t *testing.T) {
	installed := func(d *protocol.ProviderDeclaration) { d.Visibility = protocol.VisibleInstalled }
	for _, tt := range []struct {
		name    string
		o       rigOptions
		version string
		listed  bool
		known   bool
	}{
		{"always", rigOptions{behaviour: "works", agent: "no-such-agent-anywhere"}, "", true, true},
		{"program found", rigOptions{behaviour: "works", agent: "sh", declare: installed}, "", true, true},
		{"program not found", rigOptions{behaviour: "works", agent: "no-such-agent-anywhere", declare: installed}, "", false, true},
		{"bridge says so", rigOptions{behaviour: "works", declare: installed}, "1.0", true, true},
		{"bridge denies it", rigOptions{behaviour: "works", declare: installed}, "", false, true},
		{"nobody knows", rigOptions{behaviour: "works", declare: func(d *protocol.ProviderDeclaration) {
			installed(d)
			d.Maintenance.Installation = false
		}}, "", true, false},
		{"bridge does not start", rigOptions{behaviour: "fails", declare: installed}, "", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			r := newRig(t, tt.o)
			if tt.version != "" {
				is.NoErr(os.WriteFile(r.starts+".version", []byte(tt.version), 0o600))
			}
			is.Equal(len(r.List(t.Context(), false)) == 1, tt.listed)
			all := r.List(t.Context(), true)
			is.Equal(len(all), 1)
			is.Equal(all[0].Installed != nil, tt.known)
		})
	}
}

func install(t *testing.T, r *rig, action string) (text string, last threadapi.InstallOutput) {
	t.Helper()
	out, err := r.Install(t.Context(), threadapi.InstallInput{ID: "agent", Action: action})
	if err != nil {
		t.Fatal(err)
	}
	first := true
	for piece, err := range out {
		if err != nil {
			if !last.Done || last.OK || !errors.Is(err, threadapi.ProviderUnavailable) {
				t.Fatal(err)
			}
			return text, last // whoever ranges over it learns that it failed
		}
		if first && piece.Command != "install agent" {
			t.Errorf("the first piece is %+v", piece)
		}
		first = false
		text += piece.Text
		last = piece
	}
	if !last.OK {
		t.Error("a failed installation ends without an error")
	}
	return text, last
}

func TestInstallRunsTheCommandAndVerifies(t *testing.T) {
	for _, tt := range []struct {
		behaviour, action, before string
		ok                        bool
		says                      []string
	}{
		{"works", "install", "", true, []string{"fetching", "careful"}},
		{"works", "update", "1.0", true, []string{"fetching"}},
		{"install-fails", "install", "", false, []string{"no network", "exited with status 4"}},
		{"install-does-nothing", "install", "", false, []string{"nothing to do", "agent is not found"}},
		{"same-version", "update", "1.0", false, []string{"still has version 1.0"}},
		{"at-least-3", "update", "1.0", false, []string{"version 2.0 instead of 3.0"}},
	} {
		t.Run(tt.behaviour+" "+tt.action, func(t *testing.T) {
			is := is.New(t)
			r := newRig(t, rigOptions{behaviour: tt.behaviour})
			if tt.before != "" {
				is.NoErr(os.WriteFile(r.starts+".version", []byte(tt.before), 0o600))
			}
			r.Report("agent", protocol.RecoverReinstall, "broken")
			text, last := install(t, r, tt.action)
			is.True(last.Done)
			is.Equal(last.OK, tt.ok)
			for _, want := range tt.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q does not say %q", text, want)
				}
			}
			shown, err := r.Get(t.Context(), "agent")
			is.NoErr(err)
			is.Equal(shown.Problem == "", tt.ok) // what was reported is mended
		})
	}
}

func TestInstallThatTheBridgeDoesNotOffer(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "managed"})
	_, err := r.Install(t.Context(), threadapi.InstallInput{ID: "agent", Action: "install"})
	is.Equal(kernelcontract.CodeOf(err), threadapi.Unsupported)
	is.True(strings.Contains(err.Error(), "the system administrator installs it"))
}

func TestInstallEndsWithItsReader(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "install-hangs"})
	in := threadapi.InstallInput{ID: "agent", Action: "install"}
	out, err := r.Install(t.Context(), in)
	is.NoErr(err)
	for piece, err := range out {
		is.NoErr(err)
		_, busy := r.Install(t.Context(), in)
		is.Equal(kernelcontract.CodeOf(busy), kernelcontract.Conflict) // one at a time
		if piece.Text != "" {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, err = r.Install(ctx, in)
	is.NoErr(err)
	var last error
	for piece, err := range out {
		last = err
		if piece.Text != "" {
			cancel()
		}
	}
	is.True(errors.Is(last, context.Canceled))
}

func TestInstallLetsSessionsBeginAnew(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works"})
	b, err := r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	session(t, b, "t1")
	_, last := install(t, r, "install")
	is.True(last.OK)
	is.Equal((<-r.recovery).Hint, protocol.RecoverRestartProcess)
}

func TestClosedPool(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works"})
	b, err := r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	is.NoErr(r.Close(t.Context()))
	<-b.Done()
	is.True((<-r.exits).Stopped) // before Close returns
	_, err = r.Bridge(t.Context(), "agent")
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.ServiceUnavailable)
	is.Equal(stateOf(t, r), threadapi.ProviderStopped)
}
