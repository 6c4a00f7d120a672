package bridgekit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// journal keeps what happened, in order.
type journal struct {
	mu  sync.Mutex
	all []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = append(j.all, fmt.Sprintf(format, args...))
}

func (j *journal) list() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.all...)
}

// open makes TurnStart open a turn with a key and block until its context ends.
func (a *agent) openAndBlock(ctx context.Context, p protocol.TurnStartParams) error {
	if err := a.t.Send(&protocol.InputAccepted{ClientRequestID: p.ClientRequestID}, &protocol.TurnOpen{TurnKey: protocol.Ptr("k-" + p.ClientRequestID)}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// settle is a ThreadStop that settles the turn.
func settle(a *agent, _ context.Context, p protocol.ThreadStopParams) error {
	if p.Intent == protocol.Interrupt {
		return a.t.Send(&protocol.TurnBoundary{Status: protocol.Interrupted})
	}
	return nil
}

// TestQueue proves in which order functions of threads run.
func TestQueue(t *testing.T) {
	t.Run("one-at-a-time", func(t *testing.T) {
		is := is.New(t)
		var log journal
		var running sync.Mutex
		step := func(name string) {
			if !running.TryLock() {
				t.Error("two functions of a thread run at once")
				return
			}
			defer running.Unlock()
			log.add("%s", name)
		}
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.ThreadNameSet = func(_ *agent, _ context.Context, p protocol.ThreadNameParams) error { step(p.Title); return nil }
			b.TurnStart = func(_ *agent, _ context.Context, p protocol.TurnStartParams) error {
				step(p.ClientRequestID)
				return nil
			}
		}))
		c.begin("t1")
		var want []string
		for i := range 20 {
			name := fmt.Sprint(i)
			want = append(want, name)
			if i%3 == 0 {
				c.request(protocol.MethodTurnStart, turnParams("t1", name))
			} else {
				c.request(protocol.MethodThreadNameSet, protocol.ThreadNameParams{ThreadRef: ref("t1"), Title: name})
			}
		}
		c.must(protocol.MethodThreadDiscard, ref("t1"))
		got := log.list()
		is.True(len(got) <= len(want)) // the discard interrupts turns that did not begin
		last := -1
		for _, name := range got {
			n := 0
			fmt.Sscan(name, &n)
			is.True(n > last)
			last = n
		}
	})
	t.Run("threads-side-by-side", func(t *testing.T) {
		meet := make(chan struct{})
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = func(_ *agent, _ context.Context, p protocol.TurnStartParams) error {
				select {
				case meet <- struct{}{}:
				case <-meet:
				}
				return nil
			}
		}))
		c.begin("t1")
		c.must(protocol.MethodThreadStart, sessionParams("t2"))
		one := c.request(protocol.MethodTurnStart, turnParams("t1", "a"))
		two := c.request(protocol.MethodTurnStart, turnParams("t2", "b"))
		c.response(one)
		c.response(two)
	})
	t.Run("steer-and-stop-overtake-turn-start", func(t *testing.T) {
		is := is.New(t)
		var log journal
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = func(a *agent, ctx context.Context, p protocol.TurnStartParams) error {
				log.add("start %s", p.ClientRequestID)
				return a.openAndBlock(ctx, p)
			}
			b.TurnSteer = func(_ *agent, _ context.Context, p protocol.TurnSteerParams) error { log.add("steer"); return nil }
			b.ThreadNameSet = func(*agent, context.Context, protocol.ThreadNameParams) error { log.add("rename"); return nil }
			b.ThreadStop = func(a *agent, ctx context.Context, p protocol.ThreadStopParams) error {
				log.add("stop")
				return settle(a, ctx, p)
			}
		}))
		c.begin("t1")
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		name := c.request(protocol.MethodThreadNameSet, protocol.ThreadNameParams{ThreadRef: ref("t1"), Title: "n"})
		c.must(protocol.MethodTurnSteer, steerParams("t1", "s", "k-a"))
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
		c.response(name)
		is.Equal(log.list(), []string{"start a", "steer", "stop", "rename"})
	})
	t.Run("stop-reaches-a-turn-that-just-began", func(t *testing.T) {
		for range 50 {
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
				b.TurnStart = func(_ *agent, ctx context.Context, _ protocol.TurnStartParams) error {
					<-ctx.Done()
					return ctx.Err()
				}
			}))
			c.begin("t1")
			start := c.request(protocol.MethodTurnStart, turnParams("t1", "a"))
			c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
			if m := c.response(start); m.Error == nil || m.Error.Code != int(protocol.InteractionInterrupted) {
				t.Fatal(m.line)
			}
		}
	})
	t.Run("handler-calls-core", func(t *testing.T) {
		is := is.New(t)
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = func(a *agent, ctx context.Context, p protocol.TurnStartParams) error {
				r, err := a.t.CallTool(ctx, protocol.ToolCall{RequestKey: "k", Tool: "x"})
				if err == nil && r.Content[0].Text != "fine" {
					err = errors.New(r.Content[0].Text)
				}
				return err
			}
		}))
		c.begin("t1")
		id := c.request(protocol.MethodTurnStart, turnParams("t1", "a"))
		call := c.method(protocol.MethodToolCall)
		c.must(protocol.MethodThreadStart, sessionParams("t2")) // the reader is free
		c.answer(call, `{"success":true,"content":[{"type":"text","text":"fine"}]}`)
		is.Equal(c.response(id).Error, nil)
	})
	t.Run("crowded", func(t *testing.T) {
		is := is.New(t)
		release := make(chan struct{})
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.ThreadNameSet = func(*agent, context.Context, protocol.ThreadNameParams) error { <-release; return nil }
		}))
		c.begin("t1")
		var ids []string
		for range 70 {
			ids = append(ids, c.request(protocol.MethodThreadNameSet, protocol.ThreadNameParams{ThreadRef: ref("t1"), Title: "n"}))
		}
		is.Equal(c.response(ids[69]).Error.Code, int(protocol.BridgeError))
		close(release)
		refused := 1
		for _, id := range ids[:69] {
			if c.response(id).Error != nil {
				refused++
			}
		}
		is.True(refused == 5 || refused == 6) // 64 wait, and one runs as soon as its goroutine does
	})
}

// TestTurnStart proves when turn/start is answered and what its error does.
func TestTurnStart(t *testing.T) {
	after := errors.New("the agent broke")
	for name, test := range map[string]struct {
		send    []protocol.Delta // before the error
		code    protocol.Code    // of the answer; 0: {}
		settles string           // what settles the turn; "": nothing
	}{
		"before-acceptance": {nil, protocol.BridgeError, ""},
		"open-without-acceptance": {[]protocol.Delta{&protocol.TurnOpen{TurnKey: protocol.Ptr("k0")}}, protocol.BridgeError,
			`"kind":"provider.error"`},
		"after-acceptance": {[]protocol.Delta{&protocol.InputAccepted{ClientRequestID: "a"}}, 0,
			`"kind":"turn.boundary","turnKey":null,"status":"failed","error":{"message":"the agent broke"}`},
		"after-open": {[]protocol.Delta{&protocol.InputAccepted{ClientRequestID: "a"}, &protocol.TurnOpen{TurnKey: protocol.Ptr("k0")}}, 0,
			`"message":"the agent broke"`},
		"after-settlement": {[]protocol.Delta{&protocol.InputAccepted{ClientRequestID: "a"}, &protocol.TurnOpen{TurnKey: protocol.Ptr("k0")},
			&protocol.TurnBoundary{Status: protocol.Completed}}, 0, ""},
		"others-acceptance": {[]protocol.Delta{&protocol.InputAccepted{ClientRequestID: "other"}}, protocol.BridgeError, ""},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			block := make(chan struct{})
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
				b.ThreadNameSet = func(*agent, context.Context, protocol.ThreadNameParams) error { return nil }
				b.TurnStart = func(a *agent, ctx context.Context, p protocol.TurnStartParams) error {
					if err := a.t.Send(test.send...); err != nil {
						return err
					}
					<-block
					return after
				}
			}))
			c.begin("t1")
			id := c.request(protocol.MethodTurnStart, turnParams("t1", "a"))
			if test.code == 0 {
				is.Equal(string(c.response(id).Result), `{}`) // while the function blocks
			}
			close(block)
			if test.code != 0 {
				is.Equal(c.response(id).Error.Code, int(test.code))
			} else {
				c.logged("the agent broke") // nothing is lost
			}
			c.call(protocol.MethodThreadNameSet, protocol.ThreadNameParams{ThreadRef: ref("t1"), Title: "n"}) // behind TurnStart
			settled := ""
			for _, m := range c.lines() {
				if m.Method == protocol.MethodThreadDelta && (strings.Contains(m.line, `"failed"`) || strings.Contains(m.line, `"settlesTurn":true`)) {
					settled = m.line
				}
			}
			if test.settles == "" {
				is.Equal(settled, "")
			} else {
				is.True(strings.Contains(settled, test.settles))
			}
		})
	}
	t.Run("go-error-fails-the-turn", func(t *testing.T) {
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = func(a *agent, ctx context.Context, p protocol.TurnStartParams) error {
				if err := a.t.Send(&protocol.InputAccepted{ClientRequestID: "a"}, &protocol.TurnOpen{TurnKey: protocol.Ptr("k0")}); err != nil {
					return err
				}
				a.t.Go(func(context.Context) error { return after })
				return nil
			}
		}))
		c.begin("t1")
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		c.await("the failure", func(m *message) bool {
			return strings.Contains(m.line, `"settlesTurn":true`) && strings.Contains(m.line, "the agent broke")
		})
	})
	t.Run("answer-follows-acceptance", func(t *testing.T) {
		is := is.New(t)
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = (*agent).openAndBlock
			b.ThreadStop = settle
		}))
		c.begin("t1")
		id := c.request(protocol.MethodTurnStart, turnParams("t1", "a"))
		c.response(id)
		lines := c.lines()
		is.Equal(lines[len(lines)-2].Method, protocol.MethodThreadDelta)
		is.Equal(string(lines[len(lines)-1].ID), id)
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
		for _, m := range c.lines() {
			is.True(m.Method != protocol.MethodBridgeLog) // being interrupted is no failure
		}
	})
}

// TestStop proves thread/stop.
func TestStop(t *testing.T) {
	t.Run("order", func(t *testing.T) {
		is := is.New(t)
		var log journal
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = func(a *agent, ctx context.Context, p protocol.TurnStartParams) error {
				a.t.Go(func(ctx context.Context) error {
					<-ctx.Done()
					is.True(errors.Is(context.Cause(ctx), bridgekit.ErrInterrupted))
					log.add("work ended")
					return ctx.Err()
				})
				return a.t.Send(&protocol.InputAccepted{ClientRequestID: "a"}, &protocol.TurnOpen{TurnKey: protocol.Ptr("k0")})
			}
			b.ThreadStop = func(a *agent, ctx context.Context, p protocol.ThreadStopParams) error {
				log.add("stop")
				deadline, ok := ctx.Deadline()
				is.True(ok && time.Until(deadline) > 5*time.Second)
				return settle(a, ctx, p)
			}
		}))
		c.begin("t1")
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		id := c.request(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
		is.Equal(string(c.response(id).Result), `{}`)
		is.Equal(log.list(), []string{"stop", "work ended"})
		lines := c.lines()
		is.True(strings.Contains(lines[len(lines)-2].line, `"status":"interrupted"`)) // before the result
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))                       // the session takes further turns
	})
	t.Run("settles-what-is-left-open", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) { b.TurnStart = (*agent).openAndBlock }))
			c.begin("t1")
			c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
			begin := time.Now()
			c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
			is.True(time.Since(begin) < bridgekit.StopGrace)
			c.await("the settlement", func(m *message) bool {
				return strings.Contains(m.line, `"kind":"turn.boundary","turnKey":"k-a","status":"interrupted"`)
			})
			c.logged("left a turn open")
		})
	})
	t.Run("waits-for-a-late-settlement", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
				b.TurnStart = (*agent).openAndBlock
				b.ThreadStop = func(a *agent, ctx context.Context, p protocol.ThreadStopParams) error {
					time.AfterFunc(time.Second, func() { settle(a, ctx, p) })
					return nil
				}
			}))
			c.begin("t1")
			c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
			begin := time.Now()
			c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
			is.Equal(time.Since(begin), time.Second)
		})
	})
	t.Run("settles-accepted-input", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
				b.TurnStart = func(a *agent, ctx context.Context, p protocol.TurnStartParams) error {
					return a.t.Send(&protocol.InputAccepted{ClientRequestID: p.ClientRequestID})
				}
			}))
			c.begin("t1")
			c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
			c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
			c.await("the settlement", func(m *message) bool {
				return strings.Contains(m.line, `"kind":"turn.boundary","turnKey":null,"status":"interrupted"`)
			})
		})
	})
	t.Run("work-that-ignores-its-context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			never := make(chan struct{})
			defer close(never)
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
				b.TurnStart = func(a *agent, ctx context.Context, p protocol.TurnStartParams) error {
					if p.ClientRequestID == "a" {
						a.t.Go(func(context.Context) error { <-never; return nil })
						<-never
					}
					return nil
				}
				b.ThreadStop = settleNothing
			}))
			c.begin("t1")
			start := c.request(protocol.MethodTurnStart, turnParams("t1", "a"))
			begin := time.Now()
			c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
			is.True(time.Since(begin) < bridgekit.StopGrace)
			is.Equal(c.response(start).Error.Code, int(protocol.InteractionInterrupted))
			c.logged("goes on after its context was cancelled")
			c.must(protocol.MethodTurnStart, turnParams("t1", "b")) // the thread goes on
			begin = time.Now()
			c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
			is.Equal(time.Since(begin), time.Duration(0)) // and it is not waited for again
		})
	})
	t.Run("stop-that-ignores-its-context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			never := make(chan struct{})
			defer close(never)
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
				b.TurnStart = (*agent).openAndBlock
				b.ThreadStop = func(*agent, context.Context, protocol.ThreadStopParams) error { <-never; return nil }
			}))
			c.begin("t1")
			c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
			begin := time.Now()
			m := c.call(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
			is.True(time.Since(begin) < bridgekit.StopGrace)
			is.Equal(m.Error.Code, int(protocol.BridgeError))
			c.await("the settlement", func(m *message) bool { return strings.Contains(m.line, `"status":"interrupted"`) })
		})
	})
	t.Run("goes-past-a-steer-that-hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			begun := make(chan struct{})
			never := make(chan struct{})
			defer close(never)
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
				b.TurnStart = (*agent).openAndBlock
				b.TurnSteer = func(_ *agent, ctx context.Context, p protocol.TurnSteerParams) error {
					begun <- struct{}{}
					if p.ClientRequestID == "deaf" {
						<-never
					}
					<-ctx.Done()
					return ctx.Err()
				}
				b.ThreadStop = settle
			}))
			c.begin("t1")
			for _, steer := range []string{"listens", "deaf"} {
				c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
				steered := c.request(protocol.MethodTurnSteer, steerParams("t1", steer, "k-a"))
				<-begun
				behind := c.request(protocol.MethodTurnSteer, steerParams("t1", "behind", "k-a"))
				begin := time.Now()
				c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
				is.True(time.Since(begin) < bridgekit.StopGrace)
				is.Equal(c.response(steered).Error.Code, int(protocol.InteractionInterrupted))
				is.Equal(c.response(behind).Error.Code, int(protocol.NoActiveTurn))
			}
		})
	})
	t.Run("goes-past-a-function-that-hangs", func(t *testing.T) {
		for _, intent := range []protocol.StopIntent{protocol.Interrupt, protocol.Release} {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				hang := make(chan struct{})
				c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
					b.ThreadGoalSet = func(*agent, context.Context, protocol.ThreadGoalParams) error { <-hang; return nil }
				}))
				c.begin("t1")
				goal := c.request(protocol.MethodThreadGoalSet, protocol.ThreadGoalParams{ThreadRef: ref("t1"), Goal: "g"})
				turn := c.request(protocol.MethodTurnStart, turnParams("t1", "a"))
				begin := time.Now()
				if intent == protocol.Interrupt {
					c.must(protocol.MethodThreadStop, stopParams("t1", intent))
					is.Equal(time.Since(begin), time.Duration(0))
					is.Equal(c.response(turn).Error.Code, int(protocol.InteractionInterrupted))
				} else {
					is.Equal(c.call(protocol.MethodThreadStop, stopParams("t1", intent)).Error.Code, int(protocol.BridgeError)) // a turn waits
				}
				close(hang)
				is.Equal(string(c.response(goal).Result), `{}`)
			})
		}
	})
	t.Run("release-lets-what-began-return", func(t *testing.T) {
		for name, takes := range map[string]time.Duration{"soon": time.Second, "too late": time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
					b.ThreadGoalSet = func(_ *agent, ctx context.Context, _ protocol.ThreadGoalParams) error {
						select {
						case <-time.After(takes):
							return nil
						case <-ctx.Done():
							return ctx.Err()
						}
					}
				}))
				c.begin("t1")
				goal := c.request(protocol.MethodThreadGoalSet, protocol.ThreadGoalParams{ThreadRef: ref("t1"), Goal: "g"})
				begin := time.Now()
				c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Release))
				is.True(time.Since(begin) < bridgekit.StopGrace)
				is.Equal(c.response(goal).Error == nil, name == "soon")
			})
		}
	})
	t.Run("refuses-turns-it-overtook", func(t *testing.T) {
		is := is.New(t)
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = (*agent).openAndBlock
			b.ThreadStop = settle
		}))
		c.begin("t1")
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		queued := c.request(protocol.MethodTurnStart, turnParams("t1", "b"))
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
		is.Equal(c.response(queued).Error.Code, int(protocol.InteractionInterrupted))
	})
	t.Run("release", func(t *testing.T) {
		is := is.New(t)
		var log journal
		var kept *bridgekit.Thread
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.ThreadStart = func(ctx context.Context, th *bridgekit.Thread, _ protocol.SessionParams) (*agent, protocol.SessionIdentity, error) {
				kept = th
				context.AfterFunc(ctx, func() { log.add("session ended: %v", errors.Is(context.Cause(ctx), bridgekit.ErrInterrupted)) })
				return &agent{th}, protocol.SessionIdentity{ProviderThreadID: "p"}, nil
			}
			b.ThreadStop = func(a *agent, ctx context.Context, p protocol.ThreadStopParams) error {
				log.add("stop %s", p.Intent)
				return nil
			}
		}))
		c.begin("t1")
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Release))
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Release)) // nothing to let go of
		is.True(errors.Is(kept.Send(&protocol.SessionReset{}), bridgekit.ErrEnded))
		_, err := kept.CallTool(t.Context(), protocol.ToolCall{RequestKey: "k", Tool: "x"})
		is.True(errors.Is(err, bridgekit.ErrEnded))
		is.True(errors.Is(kept.Replaced("x", "", false), bridgekit.ErrEnded))
		kept.Go(func(context.Context) error { t.Error("ran"); return nil })
		is.Equal(c.call(protocol.MethodTurnStart, turnParams("t1", "a")).Error.Code, int(protocol.BridgeError))
		for len(log.list()) < 2 { // AfterFunc has its own goroutine
			c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Release))
		}
		is.Equal(log.list(), []string{"stop release", "session ended: true"})
		for _, m := range c.lines() {
			is.True(m.Method != protocol.MethodThreadDelta) // no interruption
		}
	})
	t.Run("release-with-an-open-turn", func(t *testing.T) {
		is := is.New(t)
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = (*agent).openAndBlock
			b.ThreadStop = func(a *agent, ctx context.Context, p protocol.ThreadStopParams) error {
				is.Equal(p.Intent, protocol.Interrupt)
				return settle(a, ctx, p)
			}
		}))
		c.begin("t1")
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		is.Equal(c.call(protocol.MethodThreadStop, stopParams("t1", protocol.Release)).Error.Code, int(protocol.BridgeError))
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt)) // the session and its turn were kept
	})
	t.Run("discard", func(t *testing.T) {
		is := is.New(t)
		var log journal
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = func(a *agent, ctx context.Context, p protocol.TurnStartParams) error {
				err := a.openAndBlock(ctx, p)
				log.add("turn ended")
				return err
			}
			b.ThreadDiscard = func(a *agent, ctx context.Context, _ protocol.ThreadRef) error {
				log.add("discard %v %v", a != nil, ctx.Err())
				return nil
			}
		}))
		c.begin("t1")
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		c.must(protocol.MethodThreadDiscard, ref("t1"))
		is.Equal(log.list(), []string{"turn ended", "discard true <nil>"})
		is.Equal(c.call(protocol.MethodTurnStart, turnParams("t1", "a")).Error.Code, int(protocol.BridgeError))
		c.must(protocol.MethodThreadStart, sessionParams("t1"))
	})
	t.Run("discard-ends-a-start", func(t *testing.T) {
		is := is.New(t)
		begun := make(chan struct{})
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.ThreadStart = func(ctx context.Context, _ *bridgekit.Thread, _ protocol.SessionParams) (*agent, protocol.SessionIdentity, error) {
				close(begun)
				<-ctx.Done()
				return nil, protocol.SessionIdentity{}, ctx.Err()
			}
		}))
		c.initialize()
		start := c.request(protocol.MethodThreadStart, sessionParams("t1"))
		<-begun
		c.must(protocol.MethodThreadDiscard, ref("t1"))
		is.True(c.response(start).Error != nil)
	})
	t.Run("discard-right-behind", func(t *testing.T) {
		// Both lines come with one read, so that the discard is often there before what it ends has begun.
		until := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		pair := func(c *core, method string, params any, thread string) {
			c.t.Helper()
			c.id += 2
			first, discard := fmt.Sprintf(`"r%d"`, c.id-1), fmt.Sprintf(`"r%d"`, c.id)
			c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, first, method, jsonOf(c.t, params)) + "\n" +
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"thread/discard","params":%s}`, discard, jsonOf(c.t, ref(thread))))
			is := is.New(c.t)
			is.Equal(c.response(first).Error.Code, int(protocol.InteractionInterrupted))
			is.True(c.response(discard).Error == nil)
		}
		const times = 50
		t.Run("turn", func(t *testing.T) {
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
				b.TurnStart = func(_ *agent, ctx context.Context, _ protocol.TurnStartParams) error { return until(ctx) }
			}))
			c.initialize()
			for i := range times {
				thread := fmt.Sprint("t", i)
				c.must(protocol.MethodThreadStart, sessionParams(thread))
				pair(c, protocol.MethodTurnStart, turnParams(thread, "a"), thread)
			}
		})
		t.Run("session", func(t *testing.T) {
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
				b.ThreadStart = func(ctx context.Context, _ *bridgekit.Thread, _ protocol.SessionParams) (*agent, protocol.SessionIdentity, error) {
					return nil, protocol.SessionIdentity{}, until(ctx)
				}
			}))
			c.initialize()
			for i := range times {
				thread := fmt.Sprint("t", i)
				pair(c, protocol.MethodThreadStart, sessionParams(thread), thread)
			}
		})
	})
	t.Run("steer-needs-the-open-turn", func(t *testing.T) {
		is := is.New(t)
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = (*agent).openAndBlock
			b.ThreadStop = settle
			b.TurnSteer = func(_ *agent, ctx context.Context, p protocol.TurnSteerParams) error { return ctx.Err() }
		}))
		c.begin("t1")
		is.Equal(c.call(protocol.MethodTurnSteer, steerParams("t1", "s", "k-a")).Error.Code, int(protocol.NoActiveTurn))
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		is.Equal(c.call(protocol.MethodTurnSteer, steerParams("t1", "s", "k-b")).Error.Code, int(protocol.NoActiveTurn))
		c.must(protocol.MethodTurnSteer, steerParams("t1", "s", "k-a"))
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
		is.Equal(c.call(protocol.MethodTurnSteer, steerParams("t1", "s", "k-a")).Error.Code, int(protocol.NoActiveTurn))
	})
}

func settleNothing(*agent, context.Context, protocol.ThreadStopParams) error { return nil }
