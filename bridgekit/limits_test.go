package bridgekit_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// TestLimits proves the limits that no other test reaches.
func TestLimits(t *testing.T) {
	t.Run("initialize-that-hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			never := make(chan struct{})
			defer close(never)
			c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
				b.Initialize = func(context.Context, protocol.InitializeParams) (protocol.Capabilities, error) {
					<-never
					return protocol.Capabilities{}, nil
				}
			}))
			begin := time.Now()
			m := c.call(protocol.MethodInitialize, hello())
			is.Equal(m.Error.Code, int(protocol.BridgeError))
			is.True(time.Since(begin) < bridgekit.HandshakeTimeout)
			c.in.Close()
			is.NoErr(c.wait())
		})
	})
	t.Run("outstanding", func(t *testing.T) {
		is := is.New(t)
		release := make(chan struct{})
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.ModelList = func(context.Context, protocol.ProviderParams) (protocol.ModelListResult, error) {
				<-release
				return protocol.ModelListResult{}, nil
			}
		}))
		c.initialize()
		params := protocol.ProviderParams{ProviderID: "test", Cwd: "/"}
		var ids []string
		for range 1024 {
			ids = append(ids, c.request(protocol.MethodModelList, params))
		}
		m := c.call(protocol.MethodModelList, params)
		is.True(m.Error != nil && strings.Contains(m.Error.Message, "1024 requests are unanswered"))
		close(release)
		for _, id := range ids {
			is.Equal(c.response(id).Error, nil)
		}
		c.must(protocol.MethodShutdown, protocol.ShutdownParams{})
	})
	t.Run("panic-in-work", func(t *testing.T) {
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = func(a *agent, _ context.Context, p protocol.TurnStartParams) error {
				if err := a.t.Send(&protocol.InputAccepted{ClientRequestID: p.ClientRequestID}, &protocol.TurnOpen{TurnKey: protocol.Ptr("k0")}); err != nil {
					return err
				}
				a.t.Go(func(context.Context) error { panic("boom") })
				return nil
			}
		}))
		c.begin("t1")
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		c.logged("panicked: boom")
		c.await("the failure", func(m *message) bool { return strings.Contains(m.line, `"settlesTurn":true`) })
	})
	t.Run("work-of-a-turn-the-agent-started", func(t *testing.T) {
		is := is.New(t)
		ended := make(chan struct{})
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			start := b.ThreadStart
			b.ThreadStart = func(ctx context.Context, th *bridgekit.Thread, p protocol.SessionParams) (*agent, protocol.SessionIdentity, error) {
				th.Go(func(ctx context.Context) error { <-ctx.Done(); close(ended); return ctx.Err() })
				return start(ctx, th, p)
			}
		}))
		c.begin("t1")
		c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Interrupt))
		select {
		case <-ended:
		default:
			is.Fail() // it was awaited
		}
	})
}
