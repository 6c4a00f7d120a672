package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// calls calls every method that has a typed form, with params for thread t1 of the provider puppet.
var calls = map[string]func(ctx context.Context, b *host.Bridge) error{
	"model/list":      func(ctx context.Context, b *host.Bridge) error { _, err := b.ModelList(ctx, provider); return err },
	"provider/health": func(ctx context.Context, b *host.Bridge) error { _, err := b.Health(ctx, provider); return err },
	"provider/usage":  func(ctx context.Context, b *host.Bridge) error { _, err := b.Usage(ctx, provider); return err },
	"provider/installation/status": func(ctx context.Context, b *host.Bridge) error {
		_, err := b.InstallationStatus(ctx, protocol.InstallationStatusParams{ProviderParams: provider})
		return err
	},
	"provider/installation/run": func(ctx context.Context, b *host.Bridge) error {
		_, err := b.InstallationRun(ctx, protocol.InstallationRunParams{ProviderParams: provider, Action: "install"})
		return err
	},
	"skills/discover": func(ctx context.Context, b *host.Bridge) error { _, err := b.SkillsDiscover(ctx, provider); return err },
	"skills/configure": func(ctx context.Context, b *host.Bridge) error {
		return b.SkillsConfigure(ctx, protocol.SkillsConfigureParams{ThreadID: "t1"})
	},
	"thread/resume": func(ctx context.Context, b *host.Bridge) error {
		_, err := b.ThreadResume(ctx, protocol.ResumeParams{SessionParams: session("t2"), ProviderThreadID: "p-t2"})
		return err
	},
	"thread/fork": func(ctx context.Context, b *host.Bridge) error {
		_, err := b.ThreadFork(ctx, protocol.ForkParams{SessionParams: session("t3"), SourceProviderThreadID: "p-t1", SourceCheckpointID: "c"})
		return err
	},
	"thread/archive":    func(ctx context.Context, b *host.Bridge) error { return b.ThreadArchive(ctx, ref("t1")) },
	"thread/unarchive":  func(ctx context.Context, b *host.Bridge) error { return b.ThreadUnarchive(ctx, ref("t1")) },
	"thread/goal/clear": func(ctx context.Context, b *host.Bridge) error { return b.ThreadGoalClear(ctx, ref("t1")) },
	"thread/goal/set": func(ctx context.Context, b *host.Bridge) error {
		return b.ThreadGoalSet(ctx, protocol.ThreadGoalParams{ThreadRef: ref("t1"), Goal: "g"})
	},
	"thread/name/set": func(ctx context.Context, b *host.Bridge) error {
		return b.ThreadNameSet(ctx, protocol.ThreadNameParams{ThreadRef: ref("t1"), Title: "n"})
	},
	"turn/start": func(ctx context.Context, b *host.Bridge) error { return b.TurnStart(ctx, turn("t1", "")) },
	"turn/steer": func(ctx context.Context, b *host.Bridge) error {
		return b.TurnSteer(ctx, protocol.TurnSteerParams{TurnStartParams: turn("t1", "x"), TurnID: "k1"})
	},
	"thread/stop": func(ctx context.Context, b *host.Bridge) error {
		return b.ThreadStop(ctx, stop("t1", protocol.Interrupt))
	},
	"thread/start": func(ctx context.Context, b *host.Bridge) error {
		_, err := b.ThreadStart(ctx, session("t4"))
		return err
	},
	"thread/discard": func(ctx context.Context, b *host.Bridge) error { return b.ThreadDiscard(ctx, ref("t9")) },
}

var provider = protocol.ProviderParams{ProviderID: "puppet", Cwd: "/"}

// results are good answers to the methods that the puppet does not answer well by itself.
var results = map[string]string{
	"provider/health":              `{"health":{"status":"ready","statusMessage":null,"accountEmail":null,"planLabel":null,"installedVersion":null,"minimumSupportedVersion":null,"canInstall":false,"canUpdate":false,"loginCommand":null}}`,
	"provider/usage":               `{"usage":{"status":"ok","accountEmail":null,"planLabel":null,"windows":[]}}`,
	"provider/installation/status": `{"status":{"executableName":"x","executablePath":null,"installed":false,"installSource":"notInstalled","currentVersion":null,"latestVersion":null,"minimumSupportedVersion":null,"npmPackageName":null,"npmGlobalPackageVersion":null,"installAction":null,"needsUpdate":false,"versionUnsupported":false}}`,
	"provider/installation/run":    `{"available":false,"message":"no"}`,
}

func TestCalls(t *testing.T) {
	for _, spec := range protocol.CoreToBridge() {
		if spec.Method == "initialize" || spec.Method == "shutdown" {
			continue
		}
		t.Run(spec.Method, func(t *testing.T) {
			is := is.New(t)
			call := calls[spec.Method]
			is.True(call != nil) // every method has a typed form
			o := options("echo")
			if r := results[spec.Method]; r != "" {
				o = options("echo", "on "+spec.Method+" result "+r)
			}
			s := watch(&o)
			b := start(t, o)
			begin(t, b, "t1")
			is.NoErr(call(background, b))
			s.wait(t, `"method":"`+spec.Method+`"`)
		})
		t.Run("a wrong result of "+spec.Method, func(t *testing.T) {
			is := is.New(t)
			o := options("on " + spec.Method + " result []")
			b := start(t, o)
			if spec.Method != "thread/start" {
				begin(t, b, "t1")
			}
			err := calls[spec.Method](background, b)
			var wrong *host.ResultError
			is.True(errors.As(err, &wrong))
			is.Equal(wrong.Method, spec.Method)
			is.True(len(wrong.Issues) > 0)
		})
	}
}

func TestGates(t *testing.T) {
	none := strings.NewReplacer("true", "false", "checkpoint", "none", "native", "none").Replace(allCapabilities)
	o := options("echo", `on initialize result {"protocol":3,"capabilities":`+none+`}`)
	d := &o.Declarations[0]
	d.Maintenance = protocol.Maintenance{}
	d.Models.Catalog = protocol.CatalogStatic
	d.Models.Fallback = []protocol.ModelDecl{{ID: "m", Label: "M", IsDefault: true}}
	d.Skills = protocol.SkillSupport{}
	s := watch(&o)
	b := start(t, o)
	begin(t, b, "t1")
	for _, spec := range protocol.CoreToBridge() {
		if spec.Required {
			continue
		}
		t.Run(spec.Method, func(t *testing.T) {
			is := is.New(t)
			err := calls[spec.Method](background, b)
			is.True(errors.Is(err, protocol.CapabilityNotAdvertised))
			is.Equal(index(s.all(), spec.Method), -1) // it was not sent
		})
	}
}

func TestRefusedHere(t *testing.T) {
	tip := strings.Replace(allCapabilities, "checkpoint", "tip", 1)
	o := options("echo", `on initialize result {"protocol":3,"capabilities":`+tip+`}`)
	s := watch(&o)
	b := start(t, o)
	begin(t, b, "t1")
	for _, tt := range []struct {
		name string
		call func() error
		want protocol.Code
	}{
		{"unknown provider", func() error {
			p := session("t2")
			p.ProviderID = "other"
			_, err := b.ThreadStart(background, p)
			return err
		}, protocol.InvalidParams},
		{"unknown provider without a session", func() error {
			_, err := b.ModelList(background, protocol.ProviderParams{ProviderID: "other", Cwd: "/"})
			return err
		}, protocol.InvalidParams},
		{"wrong params", func() error {
			p := session("t2")
			p.Options.Permission.Mode = "all"
			_, err := b.ThreadStart(background, p)
			return err
		}, protocol.InvalidParams},
		{"turn without a session", func() error { return b.TurnStart(background, turn("t2", "")) }, protocol.InvalidParams},
		{"second session of a thread", func() error { _, err := b.ThreadStart(background, session("t1")); return err }, protocol.InvalidParams},
		{"checkpoint of a bridge that forks at the tip", func() error { return calls["thread/fork"](background, b) }, protocol.ForkCheckpointUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			is.True(errors.Is(tt.call(), tt.want))
		})
	}
	is := is.New(t)
	is.NoErr(b.ThreadArchive(background, ref("t1")))
	s.wait(t, "thread/archive")
	for _, method := range []string{"model/list", "turn/start", "thread/fork", `"t2"`} {
		is.Equal(index(s.all(), method), -1) // nothing of it was sent
	}
}

func TestErrorsOfTheBridge(t *testing.T) {
	is := is.New(t)
	o := options(`on turn/steer error {"code":-32001,"message":"gone"}`,
		`on thread/resume error {"code":-32002,"message":"lost","data":{"recovery":"resume-fresh"}}`,
		`on thread/archive error {"code":-32000,"message":"broken","data":{"recovery":"restart-process"}}`)
	s := watch(&o)
	b := start(t, o)
	begin(t, b, "t1")
	is.True(errors.Is(calls["turn/steer"](background, b), protocol.NoActiveTurn))
	is.True(errors.Is(calls["thread/resume"](background, b), protocol.SessionNotRestorable))
	var e *protocol.Error
	is.True(errors.As(b.ThreadArchive(background, ref("t1")), &e))
	is.Equal(e.Recovery, protocol.RecoverRestartProcess)
	// a session that was not made is forgotten
	do(t, b, "t1", notification("thread/delta", `{"threadId":"t2","deltas":[]}`))
	s.wait(t, "without a session", "t2")
}

func TestDeadlines(t *testing.T) {
	for method, timeouts := range map[string]host.Timeouts{
		"model/list":    {Request: 30 * time.Millisecond},
		"thread/resume": {Session: 30 * time.Millisecond},
		"thread/stop":   {Stop: 30 * time.Millisecond},
	} {
		t.Run(method, func(t *testing.T) {
			is := is.New(t)
			o := options("on "+method+" quiet", "on thread/archive say {\"jsonrpc\":\"2.0\",\"id\":\"3\",\"result\":{}}")
			s := watch(&o)
			o.Timeouts = timeouts
			o.Timeouts.Session = max(timeouts.Session, 30*time.Millisecond)
			o.Timeouts.Handshake = time.Minute
			if method != "thread/resume" {
				o.Timeouts.Session = time.Minute
			}
			b := start(t, o)
			if method != "thread/resume" {
				begin(t, b, "t1")
			}
			err := calls[method](background, b)
			var late *host.TimeoutError
			is.True(errors.As(err, &late))
			is.Equal(late.Method, method)
			is.Equal(late.After, 30*time.Millisecond)
			is.True(errors.Is(err, context.DeadlineExceeded))
			if method == "model/list" { // the late answer is the one that the archive brings, under the third id
				b.ThreadArchive(background, ref("t1"))
				s.wait(t, "warn", "late-response")
			}
		})
	}
	t.Run("defaults", func(t *testing.T) {
		is := is.New(t)
		is.Equal([]time.Duration{host.HandshakeTimeout, host.RequestTimeout, host.SessionTimeout, host.StopTimeout, host.ShutdownTimeout},
			[]time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 10 * time.Second, 5 * time.Second})
	})
	t.Run("time in which the reader is held back does not count", func(t *testing.T) {
		is := is.New(t)
		o := options()
		o.Timeouts.Request = 200 * time.Millisecond
		timer := make(chan struct{})
		o.Handler.Raw = func(protocol.RawParams) { <-timer }
		b := start(t, o)
		begin(t, b, "t1")
		go func() {
			<-time.After(3 * o.Timeouts.Request)
			close(timer)
		}()
		// the answer stands behind the notification
		is.NoErr(b.TurnStart(background, turn("t1", notification("provider/raw", `{"threadId":null,"coverage":"noise","payload":1}`))))
	})
}

func TestAnswers(t *testing.T) {
	t.Run("context ends", func(t *testing.T) {
		is := is.New(t)
		o := options()
		s := watch(&o)
		b := start(t, o)
		begin(t, b, "t1")
		ctx, cancel := context.WithCancel(background)
		err := make(chan error)
		go func() {
			err <- b.TurnStart(ctx, turn("t1", notification("provider/raw", `{"threadId":null,"coverage":"noise","payload":1}`), "on thread/archive say "+`{"jsonrpc":"2.0","id":"3","result":{}}`, "quiet"))
		}()
		s.wait(t, "raw")
		cancel()
		is.True(errors.Is(<-err, context.Canceled))
		is.NoErr(b.ThreadArchive(background, ref("t1"))) // goes on, and brings the answer after the cancellation
		s.wait(t, "warn", "late-response")
	})
	t.Run("answered twice", func(t *testing.T) {
		is := is.New(t)
		o := options(`on model/list say {"jsonrpc":"2.0","id":$ID,"result":{"models":[]}}`)
		s := watch(&o)
		b := start(t, o)
		_, err := b.ModelList(background, provider)
		is.NoErr(err)
		s.wait(t, "warn", "unknown-id")
		_, err = b.SkillsDiscover(background, provider)
		is.NoErr(err)
	})
	t.Run("exit in the middle", func(t *testing.T) {
		is := is.New(t)
		o := options("stderr 100000", "on model/list exit 7")
		s := watch(&o)
		b := start(t, o)
		_, err := b.ModelList(background, provider)
		var exit *host.ExitError
		is.True(errors.As(err, &exit))
		is.True(errors.Is(err, host.ErrExited))
		is.Equal(exit.Exit.Code, 7)
		is.Equal(len(exit.Stderr), 64<<10)
		is.True(!exit.Stopped)
		s.wait(t, "exit", "status 7", "xxx")
		<-b.Done()
		_, err = b.ModelList(background, provider)
		is.True(errors.Is(err, host.ErrExited)) // later calls too
		is.NoErr(b.Stop(background))
	})
	t.Run("everything before the exit is handled first", func(t *testing.T) {
		is := is.New(t)
		o := options()
		s := watch(&o)
		b := start(t, o)
		begin(t, b, "t1")
		err := b.TurnStart(background, turn("t1", deltas(turnOpen, messageOpen), "flood 100", "exit 0"))
		is.True(errors.Is(err, host.ErrExited))
		is.True(index(s.all(), "delta t1", `"text":"99"`) > 0)
		<-b.Done()
		is.Equal(index(s.all(), "exit "), len(s.all())-1)
	})
	t.Run("everything before an answer is handled first", func(t *testing.T) {
		is := is.New(t)
		o := options()
		s := watch(&o)
		b := start(t, o)
		begin(t, b, "t1")
		is.True(index(s.all(), "identity t1") >= 0)
		do(t, b, "t1", "on thread/stop flood 300", deltas(turnOpen, messageOpen))
		is.NoErr(b.ThreadStop(background, stop("t1", protocol.Interrupt)))
		is.True(index(s.all(), "delta t1", `"text":"299"`) > 0)
	})
}

func TestSessionParams(t *testing.T) {
	is := is.New(t)
	o := options("echo")
	o.Ambient = map[string]string{"BB_HOST_ID": "h", "BB_THREAD_ID": "wrong"}
	s := watch(&o)
	b := start(t, o)
	begin(t, b, "t1")
	line := s.wait(t, "thread/start")
	is.True(strings.Contains(line, `"workspace":{"root":"/","writeRoots":["/"]}`))
	is.True(strings.Contains(line, `"env":{"BB_HOST_ID":"h","BB_THREAD_ID":"t1"}`))
	p := session("t2")
	p.Workspace = protocol.Workspace{Root: "/r", WriteRoots: []string{"/w"}}
	_, err := b.ThreadStart(background, p)
	is.NoErr(err)
	s.wait(t, "thread/start", `"workspace":{"root":"/r","writeRoots":["/w"]}`)
}
