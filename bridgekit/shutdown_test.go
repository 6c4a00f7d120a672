package bridgekit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// TestShutdown proves how a bridge ends.
func TestShutdown(t *testing.T) {
	stubborn := func(never chan struct{}, log *journal) func(*bridgekit.Bridge[*agent]) {
		return func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = func(*agent, context.Context, protocol.TurnStartParams) error { <-never; return nil }
			b.Shutdown = func(ctx context.Context, p protocol.ShutdownParams) error {
				log.add("shutdown %d", p.GraceMs)
				return nil
			}
		}
	}
	t.Run("answered-first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			var log journal
			never := make(chan struct{})
			defer close(never)
			c := run(t, bridge(stubborn(never, &log)))
			c.begin("t1")
			one := c.request(protocol.MethodTurnStart, turnParams("t1", "a"))
			two := c.request(protocol.MethodTurnStart, turnParams("t1", "b")) // waits in the queue
			begin := time.Now()
			down := c.request(protocol.MethodShutdown, protocol.ShutdownParams{GraceMs: 3000})
			is.Equal(string(c.response(down).Result), `{}`)
			is.Equal(c.response(one).Error.Code, int(protocol.InteractionInterrupted))
			is.Equal(c.response(two).Error.Code, int(protocol.InteractionInterrupted))
			is.NoErr(c.wait()) // within the grace, though the function ignores its context
			is.True(time.Since(begin) < 3*time.Second)
			is.Equal(log.list(), []string{"shutdown 3000"})
			for i, m := range c.lines() {
				if string(m.ID) == down {
					is.Equal(len(c.lines())-i, 3) // before what it interrupts
				}
			}
		})
	})
	t.Run("answered-before-what-has-not-begun", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			var log journal
			never := make(chan struct{})
			defer close(never)
			c := run(t, bridge(stubborn(never, &log)))
			c.initialize()
			const threads = 50
			for n := range threads {
				c.must(protocol.MethodThreadStart, sessionParams(fmt.Sprint(n)))
			}
			for n := range threads { // some of their functions begin before the shutdown, some do not
				c.request(protocol.MethodTurnStart, turnParams(fmt.Sprint(n), "a"))
			}
			down := c.request(protocol.MethodShutdown, protocol.ShutdownParams{GraceMs: 3000})
			is.NoErr(c.wait())
			for i, m := range c.lines() {
				if string(m.ID) == down {
					is.Equal(len(c.lines())-i, 1+threads)
				}
			}
		})
	})
	t.Run("answered-before-what-comes-behind-it", func(t *testing.T) {
		is := is.New(t)
		hold := make(chan struct{})
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.Shutdown = func(context.Context, protocol.ShutdownParams) error { <-hold; return nil }
		}))
		c.begin("t1")
		lines := `{"jsonrpc":"2.0","id":"down","method":"shutdown","params":{"graceMs":3000}}` + "\n"
		const behind = 20
		for n := range behind {
			lines += fmt.Sprintf(`{"jsonrpc":"2.0","id":"late%d","method":"shutdown","params":{"graceMs":0}}`+"\n", n)
		}
		_, err := io.WriteString(c.in, lines) // one write: all of it is there when the first is handled
		is.NoErr(err)
		is.Equal(string(c.response(`"down"`).Result), `{}`)
		for n := range behind {
			is.Equal(c.response(fmt.Sprintf(`"late%d"`, n)).Error.Code, int(protocol.BridgeError))
		}
		close(hold)
		is.NoErr(c.wait())
		for _, m := range c.lines() {
			if id := string(m.ID); id == `"down"` {
				break
			} else {
				is.True(!strings.HasPrefix(id, `"late`)) // behind the answer to shutdown
			}
		}
	})
	t.Run("end-of-input", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			var log journal
			never := make(chan struct{})
			defer close(never)
			c := run(t, bridge(stubborn(never, &log)))
			c.begin("t1")
			one := c.request(protocol.MethodTurnStart, turnParams("t1", "a"))
			synctest.Wait()
			begin := time.Now()
			c.in.Close()
			is.Equal(c.response(one).Error.Code, int(protocol.InteractionInterrupted))
			is.NoErr(c.wait())
			is.True(time.Since(begin) < time.Second)
			is.Equal(log.list(), []string{"shutdown 0"})
		})
	})
	t.Run("context", func(t *testing.T) {
		is := is.New(t)
		var log journal
		c := run(t, bridge(stubborn(nil, &log)))
		c.initialize()
		c.cancel()
		is.NoErr(c.wait())
		is.Equal(log.list(), []string{"shutdown 0"})
	})
	t.Run("before-initialize", func(t *testing.T) {
		is := is.New(t)
		var log journal
		c := run(t, bridge(stubborn(nil, &log)))
		is.Equal(c.call(protocol.MethodShutdown, protocol.ShutdownParams{}).Error.Code, int(protocol.BridgeError))
		c.in.Close()
		is.NoErr(c.wait())
		is.Equal(len(log.list()), 0) // nothing was begun
	})
	t.Run("contexts-end", func(t *testing.T) {
		is := is.New(t)
		ended := make(chan error, 3)
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			start := b.ThreadStart
			b.ThreadStart = func(ctx context.Context, th *bridgekit.Thread, p protocol.SessionParams) (*agent, protocol.SessionIdentity, error) {
				context.AfterFunc(ctx, func() { ended <- context.Cause(ctx) })
				return start(ctx, th, p)
			}
			b.TurnStart = func(a *agent, ctx context.Context, _ protocol.TurnStartParams) error {
				a.t.Go(func(ctx context.Context) error { <-ctx.Done(); ended <- context.Cause(ctx); return nil })
				return nil
			}
			b.ModelList = func(ctx context.Context, _ protocol.ProviderParams) (protocol.ModelListResult, error) {
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return protocol.ModelListResult{}, ctx.Err()
			}
			b.Shutdown = func(ctx context.Context, _ protocol.ShutdownParams) error { return ctx.Err() }
		}))
		c.begin("t1")
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		list := c.request(protocol.MethodModelList, protocol.ProviderParams{ProviderID: "test", Cwd: "/"})
		c.must(protocol.MethodShutdown, protocol.ShutdownParams{GraceMs: 5000})
		for range 2 {
			is.True(errors.Is(<-ended, bridgekit.ErrInterrupted))
		}
		is.Equal(c.response(list).Error.Code, int(protocol.InteractionInterrupted))
		is.NoErr(c.wait())
	})
	t.Run("nothing-starts-after-it", func(t *testing.T) {
		is := is.New(t)
		hold := make(chan struct{})
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.Shutdown = func(context.Context, protocol.ShutdownParams) error { <-hold; return nil }
		}))
		c.begin("t1")
		c.must(protocol.MethodShutdown, protocol.ShutdownParams{GraceMs: 5000})
		for _, method := range []string{protocol.MethodThreadStart, protocol.MethodInitialize, protocol.MethodShutdown, "no/such"} {
			is.Equal(c.call(method, `{}`).Error.Code, int(protocol.BridgeError))
		}
		close(hold)
		is.NoErr(c.wait())
	})
	t.Run("core-does-not-read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			r, err := bridgekit.Define(bridge(func(b *bridgekit.Bridge[*agent]) {
				b.Shutdown = func(context.Context, protocol.ShutdownParams) error { return nil }
			}))
			is.NoErr(err)
			in, write := io.Pipe()
			out, stdout := io.Pipe() // nobody reads
			done := make(chan error)
			go func() { done <- r.Run(context.Background(), in, stdout) }()
			go io.WriteString(write, strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"x"}`+"\n", 10))
			synctest.Wait()
			write.Close()
			out.Close()
			<-done
		})
	})
}

// TestNothingIsLeft proves that a bridge which ended leaves no goroutine.
func TestNothingIsLeft(t *testing.T) {
	is := is.New(t)
	before := runtime.NumGoroutine()
	for range 5 {
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = (*agent).openAndBlock
			b.ThreadStop = settle
		}))
		c.begin("t1")
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
		c.must(protocol.MethodTurnStart, turnParams("t1", "b"))
		c.must(protocol.MethodShutdown, protocol.ShutdownParams{GraceMs: 5000})
		is.NoErr(c.wait())
		<-c.readEnd
	}
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}

// TestDirectories proves where a bridge keeps files.
func TestDirectories(t *testing.T) {
	is := is.New(t)
	home, base := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home+"/config")
	t.Setenv("AppData", home+"/config")
	t.Setenv(bridgekit.DataDirVariable, "")
	t.Setenv(bridgekit.TempDirVariable, base)
	contexts := make(chan *bridgekit.Context, 1)
	c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
		b.ModelList = func(ctx context.Context, _ protocol.ProviderParams) (protocol.ModelListResult, error) {
			contexts <- bridgekit.ContextOf(ctx)
			return protocol.ModelListResult{}, nil
		}
	}))
	p := hello()
	p.Plugin.ID = "../evil"
	c.must(protocol.MethodInitialize, p)
	c.must(protocol.MethodModelList, protocol.ProviderParams{ProviderID: "test", Cwd: "/"})
	x := <-contexts
	dir, err := x.DataDir()
	is.NoErr(err)
	is.True(strings.HasPrefix(dir, home) && strings.HasSuffix(dir, "___evil"))
	info, err := os.Stat(dir)
	is.NoErr(err)
	is.Equal(info.Mode().Perm(), os.FileMode(0o700))
	t.Setenv(bridgekit.DataDirVariable, base+"/data")
	dir, err = x.DataDir()
	is.NoErr(err)
	is.Equal(dir, base+"/data")
	temp, err := x.TempDir()
	is.NoErr(err)
	is.True(strings.HasPrefix(temp, base))
	again, _ := x.TempDir()
	is.Equal(again, temp)
	c.must(protocol.MethodShutdown, protocol.ShutdownParams{})
	is.NoErr(c.wait())
	_, err = os.Stat(temp)
	is.True(os.IsNotExist(err))
}

// TestContext proves what the context of a function says.
func TestContext(t *testing.T) {
	t.Run("log", func(t *testing.T) {
		is := is.New(t)
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = func(_ *agent, ctx context.Context, _ protocol.TurnStartParams) error {
				x := bridgekit.ContextOf(ctx)
				x.Log(protocol.LogWarn, "hm", map[string]int{"n": 1})
				x.Log(protocol.LogInfo, "odd", func() {})
				return x.Raw(protocol.CoverageUnknown, map[string]string{"type": "new"})
			}
			b.ModelList = func(ctx context.Context, _ protocol.ProviderParams) (protocol.ModelListResult, error) {
				bridgekit.ContextOf(ctx).Log(protocol.LogDebug, "models", nil)
				return protocol.ModelListResult{}, bridgekit.ContextOf(ctx).Recover(protocol.RecoverReinstall, "old")
			}
		}))
		c.begin("t1")
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		is.Equal(string(c.method(protocol.MethodBridgeLog).Params), `{"threadId":"t1","level":"warn","message":"hm","data":{"n":1}}`)
		is.True(strings.Contains(c.method(protocol.MethodBridgeLog).line, `"message":"odd"`))
		is.Equal(string(c.method(protocol.MethodProviderRaw).Params), `{"threadId":"t1","coverage":"unknown","payload":{"type":"new"}}`)
		c.must(protocol.MethodModelList, protocol.ProviderParams{ProviderID: "test", Cwd: "/"})
		is.Equal(string(c.method(protocol.MethodBridgeLog).Params), `{"threadId":null,"level":"debug","message":"models","data":null}`)
		is.Equal(string(c.method(protocol.MethodProviderRecovery).Params), `{"threadId":null,"hint":"reinstall","message":"old"}`)
	})
	t.Run("foreign", func(t *testing.T) {
		is := is.New(t)
		x := bridgekit.ContextOf(t.Context())
		is.Equal(x.Declaration().ID, "")
		is.Equal(x.Capabilities(), protocol.Capabilities{})
		x.Log(protocol.LogInfo, "to standard error", nil)
		is.True(x.Raw(protocol.CoverageNoise, 1) != nil)
		_, err := x.TempDir()
		is.True(err != nil)
	})
}
