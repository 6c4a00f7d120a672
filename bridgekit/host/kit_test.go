package host_test

import (
	"context"
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// serveKit is a bridge made with the kit, for core's side and the author's to meet in a test.
func serveKit() {
	type session struct{ t *bridgekit.Thread }
	message := &protocol.Message{}
	p := protocol.Presentation{Label: "Writing", Icon: "message"}
	k := protocol.ItemKey{ProviderItemID: "m1"}
	bridgekit.Main(bridgekit.Bridge[*session]{
		Declarations: []protocol.ProviderDeclaration{declaration("puppet")},
		ThreadStart: func(_ context.Context, t *bridgekit.Thread, _ protocol.SessionParams) (*session, protocol.SessionIdentity, error) {
			return &session{t}, protocol.SessionIdentity{ProviderThreadID: "p-" + t.ID(), SessionRestorable: true}, nil
		},
		TurnStart: func(s *session, ctx context.Context, in protocol.TurnStartParams) error {
			err := s.t.Send(&protocol.InputAccepted{ClientRequestID: in.ClientRequestID}, &protocol.TurnOpen{TurnKey: protocol.Ptr("k1")},
				&protocol.ItemOpen{Key: k, Item: message, Presentation: p})
			if err != nil {
				return err
			}
			d, err := s.t.Approve(ctx, &protocol.Approval{RequestKey: "a1", Subject: &protocol.PlanSubject{ItemKey: k, Plan: "p"}})
			if errors.Is(err, bridgekit.ErrInterrupted) {
				return s.t.Send(&protocol.TurnBoundary{TurnKey: protocol.Ptr("k1"), Status: protocol.Interrupted})
			}
			if err != nil {
				return err
			}
			text := "denied"
			if d.Allowed() {
				text = "allowed"
			}
			return s.t.Send(&protocol.ItemText{Key: k, Stream: protocol.Text, Text: text},
				&protocol.ItemClose{Key: k, Status: protocol.Completed, Item: &protocol.Message{Text: text}, Presentation: p},
				&protocol.TurnBoundary{TurnKey: protocol.Ptr("k1"), Status: protocol.Completed})
		},
		ThreadStop:    func(*session, context.Context, protocol.ThreadStopParams) error { return nil },
		ThreadDiscard: func(*session, context.Context, protocol.ThreadRef) error { return nil },
		Shutdown:      func(context.Context, protocol.ShutdownParams) error { return nil },
	})
}

// TestWithTheKit drives a bridge that is made with the author's side of the kit.
func TestWithTheKit(t *testing.T) {
	is := is.New(t)
	o := options()
	o.Env = []string{role + "=kit"}
	o.Declarations[0].Capabilities = declaration("puppet").Capabilities
	s := watch(&o)
	asked := answerer(&o, s)
	b := start(t, o)
	begin(t, b, "t1")
	s.wait(t, "identity t1 p-t1")
	is.NoErr(b.TurnStart(background, turn("t1", "hello"))) // answered once the input is accepted
	(<-asked).answer <- &protocol.Decision{Kind: protocol.AllowOnce}
	s.wait(t, "delta t1", "item.close", "allowed")
	s.wait(t, "delta t1", "turn.boundary", "completed")

	is.NoErr(b.TurnStart(background, turn("t1", "hello")))
	<-asked
	is.NoErr(b.ThreadStop(background, stop("t1", protocol.Interrupt)))
	is.True(index(s.all(), "delta t1", "turn.boundary", "interrupted") > 0) // settled before the result
	s.wait(t, "ended a1")
	is.NoErr(b.ThreadStop(background, stop("t1", protocol.Release)))
	is.True(errors.Is(b.TurnStart(background, turn("t1", "hello")), protocol.InvalidParams))
	is.NoErr(b.Stop(background))
	is.Equal(b.Exit().Exit.Code, 0)
	is.Equal(index(s.all(), "warn "), -1) // neither side has anything to say against the other
}
