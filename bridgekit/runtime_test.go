package bridgekit_test

import (
	"context"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

func TestConversation(t *testing.T) {
	is := is.New(t)
	c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
		b.TurnStart = func(a *agent, ctx context.Context, p protocol.TurnStartParams) error {
			if err := a.t.Send(&protocol.InputAccepted{ClientRequestID: p.ClientRequestID}, &protocol.TurnOpen{TurnKey: protocol.Ptr("k0")}); err != nil {
				return err
			}
			a.t.Go(func(context.Context) error {
				return a.t.Send(&protocol.TurnBoundary{Status: protocol.Completed})
			})
			return nil
		}
	}))
	r := c.initialize()
	is.Equal(r.Protocol, 3)
	is.Equal(r.Capabilities, declaration().Capabilities)
	is.Equal(string(c.must(protocol.MethodThreadStart, sessionParams("t1"))), `{"providerThreadId":"p-t1","sessionRestorable":true}`)
	is.Equal(string(c.must(protocol.MethodTurnStart, turnParams("t1", "r1"))), `{}`)
	c.await("the boundary", func(m *message) bool { return strings.Contains(m.line, "turn.boundary") })
	is.Equal(string(c.must(protocol.MethodThreadStop, stopParams("t1", protocol.Release))), `{}`)
	is.Equal(string(c.must(protocol.MethodShutdown, protocol.ShutdownParams{GraceMs: 1000})), `{}`)
	is.NoErr(c.wait())
	var methods []string
	for _, m := range c.lines() {
		if m.Method != "" {
			methods = append(methods, m.Method)
		}
	}
	is.Equal(methods, []string{"thread/identity", "thread/delta", "thread/delta"})
}
