package bridgekit_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// answered is what a blocking call returned.
type answered struct {
	value any
	err   error
}

func approval() *protocol.Approval {
	return &protocol.Approval{RequestKey: "k1", Subject: &protocol.CommandSubject{ItemKey: protocol.ItemKey{ProviderItemID: "c"}, Command: "ls"}}
}

// asks starts a thread whose turns make one blocking call each.
func asks(t testing.TB, ask func(ctx context.Context, th *bridgekit.Thread) (any, error)) (*core, chan answered) {
	t.Helper()
	got := make(chan answered, 10)
	c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
		b.ThreadStop = settle
		b.TurnStart = func(a *agent, _ context.Context, p protocol.TurnStartParams) error {
			a.t.Go(func(ctx context.Context) error {
				v, err := ask(ctx, a.t)
				got <- answered{v, err}
				return err
			})
			return a.t.Send(&protocol.InputAccepted{ClientRequestID: p.ClientRequestID}, &protocol.TurnOpen{TurnKey: protocol.Ptr("k0")})
		}
	}))
	c.begin("t1")
	c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
	return c, got
}

// TestInteractions proves requests to core and what ends them.
func TestInteractions(t *testing.T) {
	approve := func(ctx context.Context, th *bridgekit.Thread) (any, error) { return th.Approve(ctx, approval()) }
	t.Run("approve", func(t *testing.T) {
		is := is.New(t)
		c, got := asks(t, approve)
		m := c.method(protocol.MethodInteractionRequest)
		is.Equal(string(m.Params), `{"threadId":"t1","providerThreadId":"p-t1","requestKey":"k1","scope":"turn","turnKey":null,"request":{"kind":"approval","subject":{"kind":"command","itemKey":{"providerItemId":"c","channel":null,"parentRef":null},"command":"ls","cwd":null,"actions":[],"sessionGrant":null},"reason":null,"decisions":["allow_once","deny"]}}`)
		c.answer(m, `{"kind":"approval","decision":"allow_once","granted":null}`)
		a := <-got
		is.NoErr(a.err)
		is.True(a.value.(*protocol.Decision).Allowed())
	})
	t.Run("ask", func(t *testing.T) {
		is := is.New(t)
		c, got := asks(t, func(ctx context.Context, th *bridgekit.Thread) (any, error) {
			return th.Ask(ctx, &protocol.Questions{RequestKey: "q", Questions: []protocol.Question{{ID: "a", Prompt: "?", AllowFreeText: true}}})
		})
		c.answer(c.method(protocol.MethodInteractionRequest), `{"kind":"answer","answers":{"a":{"selected":[],"freeText":"yes"}}}`)
		a := <-got
		is.NoErr(a.err)
		is.Equal(*a.value.(*protocol.Answers).Answers["a"].FreeText, "yes")
	})
	t.Run("interact", func(t *testing.T) {
		is := is.New(t)
		c, got := asks(t, func(ctx context.Context, th *bridgekit.Thread) (any, error) {
			return th.Interact(ctx, &protocol.OpenInteraction{RequestKey: "o", Name: "test/form", Title: "Form", Data: json.RawMessage(`{"a":1}`)})
		})
		c.answer(c.method(protocol.MethodInteractionRequest), `{"kind":"submitted","data":{"b":2}}`)
		a := <-got
		is.NoErr(a.err)
		is.Equal(string(a.value.(*protocol.Submitted).Data), `{"b":2}`)
	})
	for name, answer := range map[string]string{
		"answer-of-another-kind": `{"kind":"submitted","data":1}`,
		"answer-not-offered":     `{"kind":"approval","decision":"allow_for_session","granted":null}`,
		"answer-without-sense":   `{"kind":"maybe"}`,
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			c, got := asks(t, approve)
			c.answer(c.method(protocol.MethodInteractionRequest), answer)
			a := <-got
			is.True(a.err != nil && strings.Contains(a.err.Error(), "core's answer"))
			is.Equal(a.value.(*protocol.Decision), nil)
		})
	}
	t.Run("invalid-request", func(t *testing.T) {
		is := is.New(t)
		_, got := asks(t, func(ctx context.Context, th *bridgekit.Thread) (any, error) {
			return th.Approve(ctx, &protocol.Approval{RequestKey: "k"})
		})
		is.True(errors.Is((<-got).err, protocol.InvalidParams))
		_, got = asks(t, func(ctx context.Context, th *bridgekit.Thread) (any, error) { return th.Approve(ctx, nil) })
		is.True((<-got).err != nil)
	})
	t.Run("core-refuses", func(t *testing.T) {
		is := is.New(t)
		c, got := asks(t, approve)
		m := c.method(protocol.MethodInteractionRequest)
		c.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32602,"message":"other params","data":{"issues":[]}}}`)
		is.True(errors.Is((<-got).err, protocol.InvalidParams))
	})
	t.Run("core-interrupts", func(t *testing.T) {
		is := is.New(t)
		c, got := asks(t, approve)
		m := c.method(protocol.MethodInteractionRequest)
		c.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32007,"message":"stopped"}}`)
		is.True(errors.Is((<-got).err, bridgekit.ErrInterrupted))
	})
	t.Run("stop-interrupts", func(t *testing.T) {
		is := is.New(t)
		c, got := asks(t, func(_ context.Context, th *bridgekit.Thread) (any, error) {
			return th.Approve(context.Background(), approval()) // whatever context it has
		})
		c.method(protocol.MethodInteractionRequest)
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
		is.True(errors.Is((<-got).err, bridgekit.ErrInterrupted))
		for _, m := range c.lines() {
			is.True(m.Method != protocol.MethodInteractionWithdrawn) // core knows
		}
	})
	t.Run("shutdown-interrupts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			c, got := asks(t, func(_ context.Context, th *bridgekit.Thread) (any, error) {
				return th.CallTool(context.Background(), protocol.ToolCall{RequestKey: "k", Tool: "x"})
			})
			c.method(protocol.MethodToolCall)
			begin := time.Now()
			c.must(protocol.MethodShutdown, protocol.ShutdownParams{GraceMs: 5000})
			is.True(errors.Is((<-got).err, bridgekit.ErrInterrupted))
			is.Equal(time.Since(begin), time.Duration(0)) // not only when the connection closes
			is.NoErr(c.wait())
		})
	})
	t.Run("end-of-input-interrupts", func(t *testing.T) {
		is := is.New(t)
		c, got := asks(t, func(_ context.Context, th *bridgekit.Thread) (any, error) {
			return th.Approve(context.Background(), approval())
		})
		c.method(protocol.MethodInteractionRequest)
		c.in.Close()
		is.True(errors.Is((<-got).err, bridgekit.ErrInterrupted))
		is.NoErr(c.wait())
	})
	t.Run("withdrawn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			gone := errors.New("the agent answered itself")
			c, got := asks(t, func(ctx context.Context, th *bridgekit.Thread) (any, error) {
				ctx, cancel := context.WithTimeoutCause(ctx, time.Hour, gone)
				defer cancel()
				return th.Approve(ctx, approval())
			})
			is.True(errors.Is((<-got).err, gone))
			is.Equal(string(c.method(protocol.MethodInteractionWithdrawn).Params), `{"threadId":"t1","requestKey":"k1"}`)
			m := c.method(protocol.MethodInteractionRequest)
			c.answer(m, `{"kind":"approval","decision":"deny","granted":null}`) // too late: dropped without a word
			c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
			for _, m := range c.lines() {
				is.True(m.Method != protocol.MethodBridgeLog || strings.Contains(m.line, "answered itself"))
			}
		})
	})
	t.Run("tool-result", func(t *testing.T) {
		is := is.New(t)
		c, got := asks(t, func(ctx context.Context, th *bridgekit.Thread) (any, error) {
			return th.CallTool(ctx, protocol.ToolCall{RequestKey: "k", Tool: "x", Arguments: json.RawMessage(`{"n":9007199254740993}`)})
		})
		m := c.method(protocol.MethodToolCall)
		is.Equal(string(m.Params), `{"threadId":"t1","providerThreadId":"p-t1","requestKey":"k","turnKey":null,"itemKey":null,"tool":"x","arguments":{"n":9007199254740993}}`)
		c.answer(m, `{"success":"yes"}`)
		is.True((<-got).err != nil)
	})
}
