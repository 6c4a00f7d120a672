package bridgekit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// narrow is a bridge that can do as little as possible.
func narrow(b *bridgekit.Bridge[*agent]) {
	b.Declarations = []protocol.ProviderDeclaration{declaration(func(d *protocol.ProviderDeclaration) {
		d.Capabilities = protocol.Capabilities{Fork: protocol.ForkNone, ApprovalEnforcedBy: protocol.EnforcedByRuntime, Steer: protocol.SteerNone}
		d.Maintenance, d.Skills = protocol.Maintenance{}, protocol.SkillSupport{}
		d.Models.Catalog = protocol.CatalogStatic
	})}
}

// gated are params of every method that can be unadvertised.
func gated() map[string]any {
	provider := protocol.ProviderParams{ProviderID: "test", Cwd: "/w"}
	return map[string]any{
		protocol.MethodModelList:          provider,
		protocol.MethodHealth:             provider,
		protocol.MethodUsage:              provider,
		protocol.MethodInstallationStatus: protocol.InstallationStatusParams{ProviderParams: provider},
		protocol.MethodInstallationRun:    protocol.InstallationRunParams{ProviderParams: provider, Action: "install"},
		protocol.MethodSkillsDiscover:     provider,
		protocol.MethodSkillsConfigure:    protocol.SkillsConfigureParams{ThreadID: "t1"},
		protocol.MethodThreadResume:       protocol.ResumeParams{SessionParams: sessionParams("t1"), ProviderThreadID: "p"},
		protocol.MethodThreadFork:         protocol.ForkParams{SessionParams: sessionParams("t1"), SourceProviderThreadID: "p"},
		protocol.MethodThreadArchive:      ref("t1"),
		protocol.MethodThreadUnarchive:    ref("t1"),
		protocol.MethodThreadNameSet:      protocol.ThreadNameParams{ThreadRef: ref("t1"), Title: "x"},
		protocol.MethodThreadGoalSet:      protocol.ThreadGoalParams{ThreadRef: ref("t1"), Goal: "x"},
		protocol.MethodThreadGoalClear:    ref("t1"),
		protocol.MethodTurnSteer:          steerParams("t1", "r", "k"),
	}
}

// TestDispatch proves the checks of a request and their order.
func TestDispatch(t *testing.T) {
	code := func(t *testing.T, m *message, want protocol.Code) {
		t.Helper()
		if m.Error == nil || m.Error.Code != int(want) {
			t.Fatalf("want %s, got %s", want.Name(), m.line)
		}
	}
	t.Run("before-initialize", func(t *testing.T) {
		c := run(t, bridge())
		for _, method := range []string{protocol.MethodThreadStart, protocol.MethodShutdown, "no/such", ""} {
			code(t, c.call(method, `{}`), protocol.BridgeError)
		}
		c.initialize() // and the bridge still serves
	})
	t.Run("second-initialize", func(t *testing.T) {
		c := run(t, bridge())
		c.initialize()
		code(t, c.call(protocol.MethodInitialize, hello()), protocol.BridgeError)
		code(t, c.call(protocol.MethodInitialize, `{}`), protocol.BridgeError)
		c.must(protocol.MethodThreadStart, sessionParams("t1"))
	})
	t.Run("unknown-method", func(t *testing.T) {
		c := run(t, bridge())
		c.initialize()
		for _, method := range []string{"no/such", "", "thread/delta", "Thread/start", "turn/start "} {
			code(t, c.call(method, `{"threadId":1}`), protocol.MethodNotFound)
		}
	})
	t.Run("invalid-params", func(t *testing.T) {
		is := is.New(t)
		c := run(t, bridge())
		c.initialize()
		m := c.call(protocol.MethodThreadStop, `{"threadId":"","providerThreadId":"p","intent":"pause"}`)
		code(t, m, protocol.InvalidParams)
		var data struct{ Issues []protocol.Issue }
		is.NoErr(json.Unmarshal(m.Error.Data, &data))
		var paths []string
		for _, i := range data.Issues {
			paths = append(paths, i.Path)
		}
		is.Equal(paths, []string{"intent", "threadId"})
		for _, params := range []string{`{}`, `[]`, `null`, `"x"`, `{"threadId":"t","threadId":"t"}`} {
			code(t, c.call(protocol.MethodThreadDiscard, params), protocol.InvalidParams)
		}
		c.write(`{"jsonrpc":"2.0","id":"none","method":"shutdown"}`)
		code(t, c.response(`"none"`), protocol.InvalidParams)
	})
	t.Run("params-before-gates", func(t *testing.T) {
		c := run(t, bridge(narrow))
		c.initialize()
		for method := range gated() {
			code(t, c.call(method, `{}`), protocol.InvalidParams)
		}
	})
	t.Run("unknown-provider", func(t *testing.T) {
		is := is.New(t)
		c := run(t, bridge(narrow))
		c.initialize()
		p := sessionParams("t1")
		p.ProviderID = "other"
		m := c.call(protocol.MethodThreadStart, p)
		code(t, m, protocol.InvalidParams)
		is.True(strings.Contains(string(m.Error.Data), `"path":["providerId"]`))
		// the provider comes before the gate
		code(t, c.call(protocol.MethodHealth, protocol.ProviderParams{ProviderID: "other", Cwd: "/"}), protocol.InvalidParams)
	})
	t.Run("unadvertised", func(t *testing.T) {
		c := run(t, bridge(narrow))
		c.initialize()
		for method, params := range gated() {
			code(t, c.call(method, params), protocol.CapabilityNotAdvertised)
		}
	})
	t.Run("fork-checkpoint", func(t *testing.T) {
		forks := func(f protocol.Fork) *core {
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
				b.Declarations[0].Capabilities.Fork = f
				b.ThreadFork = func(_ context.Context, t *bridgekit.Thread, _ protocol.ForkParams) (*agent, protocol.SessionIdentity, error) {
					return &agent{t}, protocol.SessionIdentity{ProviderThreadID: "f"}, nil
				}
			}))
			c.initialize()
			return c
		}
		tip := protocol.ForkParams{SessionParams: sessionParams("t1"), SourceProviderThreadID: "p"}
		checkpoint := tip
		checkpoint.ThreadID, checkpoint.SourceCheckpointID = "t2", "cp"
		c := forks(protocol.ForkTip)
		code(t, c.call(protocol.MethodThreadFork, checkpoint), protocol.ForkCheckpointUnsupported)
		c.must(protocol.MethodThreadFork, tip)
		forks(protocol.ForkCheckpoint).must(protocol.MethodThreadFork, checkpoint)
	})
	t.Run("fork-checkpoint-before-handler", func(t *testing.T) {
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) { b.Declarations[0].Capabilities.Fork = protocol.ForkTip }))
		c.initialize()
		code(t, c.call(protocol.MethodThreadFork, protocol.ForkParams{SessionParams: sessionParams("t1"),
			SourceProviderThreadID: "p", SourceCheckpointID: "cp"}), protocol.ForkCheckpointUnsupported)
	})
	t.Run("advertised-without-handler", func(t *testing.T) {
		c := run(t, bridge())
		c.initialize()
		for method, params := range gated() {
			code(t, c.call(method, params), protocol.MethodNotFound)
		}
	})
	t.Run("result-checked", func(t *testing.T) {
		is := is.New(t)
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.ModelList = func(context.Context, protocol.ProviderParams) (protocol.ModelListResult, error) {
				return protocol.ModelListResult{Models: []protocol.ModelDecl{{Label: "no id"}}}, nil
			}
			b.ThreadStart = func(_ context.Context, t *bridgekit.Thread, _ protocol.SessionParams) (*agent, protocol.SessionIdentity, error) {
				return &agent{t}, protocol.SessionIdentity{}, nil
			}
		}))
		c.initialize()
		m := c.call(protocol.MethodModelList, protocol.ProviderParams{ProviderID: "test", Cwd: "/"})
		code(t, m, protocol.BridgeError)
		is.True(strings.Contains(m.Error.Message, "models[0].id"))
		code(t, c.call(protocol.MethodThreadStart, sessionParams("t1")), protocol.BridgeError)
		code(t, c.call(protocol.MethodTurnStart, turnParams("t1", "r")), protocol.BridgeError) // no session was made
	})
	t.Run("without-session", func(t *testing.T) {
		is := is.New(t)
		var got []string
		note := func(name string, a *agent) { got = append(got, fmt.Sprint(name, a == nil)) }
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.ThreadStop = func(a *agent, _ context.Context, _ protocol.ThreadStopParams) error { note("stop", a); return nil }
			b.ThreadDiscard = func(a *agent, _ context.Context, _ protocol.ThreadRef) error { note("discard", a); return nil }
			b.ThreadArchive = func(a *agent, _ context.Context, _ protocol.ThreadRef) error { note("archive", a); return nil }
			b.ThreadUnarchive = func(a *agent, _ context.Context, _ protocol.ThreadRef) error { note("unarchive", a); return nil }
			b.ThreadNameSet = func(a *agent, _ context.Context, _ protocol.ThreadNameParams) error { note("name", a); return nil }
			b.ThreadGoalSet = func(a *agent, _ context.Context, _ protocol.ThreadGoalParams) error { note("goal", a); return nil }
			b.ThreadGoalClear = func(a *agent, _ context.Context, _ protocol.ThreadRef) error { note("clear", a); return nil }
			b.SkillsConfigure = func(a *agent, _ context.Context, _ protocol.SkillsConfigureParams) error {
				note("skills", a)
				return nil
			}
			b.TurnSteer = func(a *agent, _ context.Context, _ protocol.TurnSteerParams) error { note("steer", a); return nil }
		}))
		c.initialize()
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
		c.must(protocol.MethodThreadDiscard, ref("t1"))
		for _, method := range []string{protocol.MethodThreadArchive, protocol.MethodThreadUnarchive, protocol.MethodThreadNameSet,
			protocol.MethodThreadGoalSet, protocol.MethodThreadGoalClear} {
			c.must(method, gated()[method])
		}
		code(t, c.call(protocol.MethodSkillsConfigure, gated()[protocol.MethodSkillsConfigure]), protocol.BridgeError)
		code(t, c.call(protocol.MethodTurnStart, turnParams("t1", "r")), protocol.BridgeError)
		code(t, c.call(protocol.MethodTurnSteer, steerParams("t1", "r", "k")), protocol.NoActiveTurn)
		is.Equal(got, []string{"discardtrue", "archivetrue", "unarchivetrue", "nametrue", "goaltrue", "cleartrue"})
	})
	t.Run("second-session", func(t *testing.T) {
		c := run(t, bridge())
		c.begin("t1")
		code(t, c.call(protocol.MethodThreadStart, sessionParams("t1")), protocol.BridgeError)
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Release))
		c.must(protocol.MethodThreadStart, sessionParams("t1"))
	})
}

// TestHandshake proves what initialize agrees on.
func TestHandshake(t *testing.T) {
	t.Run("version", func(t *testing.T) {
		for _, test := range []struct {
			min, max int
			ok       bool
		}{{3, 3, true}, {1, 3, true}, {3, 9, true}, {1, 2, false}, {4, 9, false}} {
			is := is.New(t)
			c := run(t, bridge())
			p := hello()
			p.Protocol = protocol.VersionRange{Min: test.min, Max: test.max}
			m := c.call(protocol.MethodInitialize, p)
			if test.ok {
				is.Equal(m.Error, nil)
				continue
			}
			is.Equal(m.Error.Code, int(protocol.ProtocolUnsupported))
			is.Equal(string(m.Error.Data), fmt.Sprintf(`{"core":{"min":%d,"max":%d},"bridge":{"min":3,"max":3}}`, test.min, test.max))
			c.initialize() // a refused handshake can be tried again
		}
	})
	t.Run("narrower", func(t *testing.T) {
		is := is.New(t)
		want := declaration().Capabilities
		want.Fork, want.SessionRestore = protocol.ForkTip, false
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.Initialize = func(ctx context.Context, p protocol.InitializeParams) (protocol.Capabilities, error) {
				is.Equal(p.Plugin.ID, "test-plugin")
				return want, nil
			}
			b.ModelList = func(ctx context.Context, _ protocol.ProviderParams) (protocol.ModelListResult, error) {
				is.Equal(bridgekit.ContextOf(ctx).Capabilities(), want)
				is.Equal(bridgekit.ContextOf(ctx).Declaration().ID, "test")
				return protocol.ModelListResult{}, nil
			}
		}))
		is.Equal(c.initialize().Capabilities, want)
		is.Equal(string(c.must(protocol.MethodModelList, protocol.ProviderParams{ProviderID: "test", Cwd: "/"})), `{"models":[]}`)
		is.Equal(c.call(protocol.MethodThreadResume, gated()[protocol.MethodThreadResume]).Error.Code, int(protocol.CapabilityNotAdvertised))
	})
	for name, test := range map[string]struct {
		change func(*protocol.Capabilities)
		err    error
	}{
		"wider":         {change: func(c *protocol.Capabilities) { c.ThreadGoal = true }},
		"wider-fork":    {change: func(c *protocol.Capabilities) { c.Fork = protocol.ForkTip }},
		"wider-steer":   {change: func(c *protocol.Capabilities) { c.Steer = protocol.SteerQueue }},
		"enforcer":      {change: func(c *protocol.Capabilities) { c.ApprovalEnforcedBy = protocol.EnforcedByProvider }},
		"no-capability": {change: func(c *protocol.Capabilities) { c.Fork = "everything" }},
		"error":         {change: func(*protocol.Capabilities) {}, err: errors.New("no")},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			fail := true
			c := run(t, bridge(narrow, func(b *bridgekit.Bridge[*agent]) {
				caps := b.Declarations[0].Capabilities
				b.Initialize = func(context.Context, protocol.InitializeParams) (protocol.Capabilities, error) {
					reported := caps
					if fail {
						test.change(&reported)
						fail = false
						return reported, test.err
					}
					return reported, nil
				}
			}))
			is.Equal(c.call(protocol.MethodInitialize, hello()).Error.Code, int(protocol.BridgeError))
			c.initialize()
		})
	}
	t.Run("unknown-provider", func(t *testing.T) {
		is := is.New(t)
		p := hello()
		p.ProviderIDs = []string{"test", "other"}
		m := run(t, bridge()).call(protocol.MethodInitialize, p)
		is.Equal(m.Error.Code, int(protocol.InvalidParams))
		is.True(strings.Contains(string(m.Error.Data), `"path":["providerIds",1]`))
	})
	t.Run("pipelined", func(t *testing.T) {
		// what follows initialize on the wire finds the bridge ready, however long its function takes
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			caps := b.Declarations[0].Capabilities
			b.Initialize = func(context.Context, protocol.InitializeParams) (protocol.Capabilities, error) { return caps, nil }
		}))
		c.request(protocol.MethodInitialize, hello())
		c.must(protocol.MethodThreadStart, sessionParams("t1"))
	})
}

// TestProviders proves that the provider of thread/start decides for its thread.
func TestProviders(t *testing.T) {
	is := is.New(t)
	c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
		b.Declarations = append(b.Declarations, declaration(func(d *protocol.ProviderDeclaration) {
			d.ID, d.Skills.Configure, d.Maintenance.Health = "second", false, false
		}))
		b.SkillsConfigure = func(*agent, context.Context, protocol.SkillsConfigureParams) error { return nil }
		b.TurnStart = func(a *agent, ctx context.Context, _ protocol.TurnStartParams) error {
			return protocol.BridgeError.Errorf("%s", bridgekit.ContextOf(ctx).Declaration().ID)
		}
	}))
	c.initialize()
	p := sessionParams("t2")
	p.ProviderID = "second"
	c.must(protocol.MethodThreadStart, p)
	c.must(protocol.MethodThreadStart, sessionParams("t1"))
	is.Equal(c.call(protocol.MethodTurnStart, turnParams("t2", "r")).Error.Message, "second")
	is.Equal(c.call(protocol.MethodTurnStart, turnParams("t1", "r")).Error.Message, "test")
	is.Equal(c.call(protocol.MethodSkillsConfigure, protocol.SkillsConfigureParams{ThreadID: "t2"}).Error.Code, int(protocol.CapabilityNotAdvertised))
	c.must(protocol.MethodSkillsConfigure, protocol.SkillsConfigureParams{ThreadID: "t1"})
	is.Equal(c.call(protocol.MethodHealth, protocol.ProviderParams{ProviderID: "second", Cwd: "/"}).Error.Code, int(protocol.CapabilityNotAdvertised))
}

// TestErrors proves what an author's error becomes.
func TestErrors(t *testing.T) {
	_, notFound := exec.LookPath("no-such-program-anywhere")
	started := exec.Command("/no/such/program").Run()
	_, child := process.Start(t.Context(), process.Options{Command: []string{"/no/such/program"}})
	_, named := process.Start(t.Context(), process.Options{Command: []string{"no-such-program-anywhere"}})
	for name, test := range map[string]struct {
		err     error
		code    protocol.Code
		message string
		data    string
	}{
		"other":              {errors.New("broken"), protocol.BridgeError, "broken", ""},
		"protocol-error":     {protocol.SessionNotRestorable.Errorf("gone"), protocol.SessionNotRestorable, "gone", ""},
		"wrapped":            {fmt.Errorf("resume: %w", protocol.SessionNotRestorable.Errorf("gone")), protocol.SessionNotRestorable, "gone", ""},
		"code":               {protocol.NoActiveTurn, protocol.NoActiveTurn, "NO_ACTIVE_TURN", ""},
		"recovery":           {&protocol.Error{Code: protocol.BridgeError, Message: "logged out", Recovery: protocol.RecoverReauthenticate}, protocol.BridgeError, "logged out", `{"recovery":"reauthenticate"}`},
		"missing-executable": {fmt.Errorf("start: %w", notFound), protocol.MissingExecutable, "", ""},
		"missing-path":       {started, protocol.MissingExecutable, "", ""},
		"missing-child":      {child, protocol.MissingExecutable, "", ""},
		"missing-child-name": {named, protocol.MissingExecutable, "", ""},
		"missing-file":       {&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, protocol.BridgeError, "", ""},
		"interrupted":        {bridgekit.ErrInterrupted, protocol.InteractionInterrupted, "", ""},
		"long":               {errors.New(strings.Repeat("x", 9<<20)), protocol.BridgeError, "", ""},
		"not-utf8":           {errors.New("a\xffb"), protocol.BridgeError, "a\uFFFDb", ""},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
				b.ThreadStart = func(context.Context, *bridgekit.Thread, protocol.SessionParams) (*agent, protocol.SessionIdentity, error) {
					return nil, protocol.SessionIdentity{}, test.err
				}
			}))
			c.initialize()
			m := c.call(protocol.MethodThreadStart, sessionParams("t1"))
			is.Equal(protocol.Code(m.Error.Code), test.code)
			if test.message != "" {
				is.Equal(m.Error.Message, test.message)
			}
			is.Equal(string(m.Error.Data), test.data)
		})
	}
}

// TestPanics proves that a panic is answered and logged and that the process lives.
func TestPanics(t *testing.T) {
	is := is.New(t)
	ends := map[string]func(){
		"panic": func() { panic("boom") },
		"nil":   func() { var b *bridgekit.Bridge[*agent]; b.Shutdown = nil },
	}
	for name, end := range ends {
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = func(*agent, context.Context, protocol.TurnStartParams) error { end(); return nil }
			b.ModelList = func(context.Context, protocol.ProviderParams) (protocol.ModelListResult, error) {
				end()
				return protocol.ModelListResult{}, nil
			}
			b.Shutdown = func(context.Context, protocol.ShutdownParams) error { end(); return nil }
		}))
		c.begin("t1")
		is.Equal(c.call(protocol.MethodTurnStart, turnParams("t1", "r")).Error.Code, int(protocol.BridgeError))
		is.True(strings.Contains(c.logged("turn/start panicked").line, "dispatch_test.go")) // the stack; name
		is.Equal(c.call(protocol.MethodModelList, protocol.ProviderParams{ProviderID: "test", Cwd: "/"}).Error.Code, int(protocol.BridgeError))
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Release))
		c.must(protocol.MethodShutdown, protocol.ShutdownParams{GraceMs: 1000})
		c.logged("Shutdown panicked")
		is.NoErr(c.wait())
		_ = name
	}
}

// TestGoexit proves that a function which ends its goroutine is answered.
func TestGoexit(t *testing.T) {
	is := is.New(t)
	c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
		b.TurnStart = func(*agent, context.Context, protocol.TurnStartParams) error { exitGoroutine(); return nil }
	}))
	c.begin("t1")
	is.Equal(c.call(protocol.MethodTurnStart, turnParams("t1", "r")).Error.Code, int(protocol.BridgeError))
	is.Equal(c.call(protocol.MethodTurnStart, turnParams("t1", "r2")).Error.Code, int(protocol.BridgeError))
}
