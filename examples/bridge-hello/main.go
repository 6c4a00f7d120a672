// Bridge-hello is the smallest honest bridge: an agent that says everything back, and asks before it would run ls.
package main

import (
	"context"
	"errors"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

var declaration = protocol.ProviderDeclaration{
	ID: "hello", DisplayName: "Hello", Icon: "hand", Visibility: protocol.VisibleAlways,
	Capabilities:    protocol.Capabilities{Fork: protocol.ForkNone, Steer: protocol.SteerNone, ApprovalEnforcedBy: protocol.EnforcedByRuntime},
	PermissionModes: []protocol.PermissionMode{protocol.ModeFull},
	Models:          protocol.ModelSource{Catalog: protocol.CatalogStatic, Scope: protocol.ModelsPerHost},
}

func main() {
	bridgekit.Main(bridgekit.Bridge[*session]{
		Declarations:  []protocol.ProviderDeclaration{declaration},
		ThreadStart:   start,
		TurnStart:     (*session).turn,
		ThreadStop:    (*session).stop,
		ThreadDiscard: func(*session, context.Context, protocol.ThreadRef) error { return nil },
		Shutdown:      func(context.Context, protocol.ShutdownParams) error { return nil },
	})
}

// session is what the bridge keeps of a thread.
type session struct{ t *bridgekit.Thread }

func start(ctx context.Context, t *bridgekit.Thread, p protocol.SessionParams) (*session, protocol.SessionIdentity, error) {
	return &session{t: t}, protocol.SessionIdentity{ProviderThreadID: "hello-" + t.ID()}, nil
}

func (s *session) turn(ctx context.Context, p protocol.TurnStartParams) error {
	if err := s.t.Send(&protocol.InputAccepted{ClientRequestID: p.ClientRequestID}, &protocol.TurnOpen{}); err != nil {
		return err
	}
	s.t.Go(func(ctx context.Context) error { return s.answer(ctx, p) })
	return nil
}

func (s *session) answer(ctx context.Context, p protocol.TurnStartParams) error {
	text := p.Text()
	if text == "RUN ls" {
		d, err := s.t.Approve(ctx, &protocol.Approval{RequestKey: p.ClientRequestID, Subject: &protocol.CommandSubject{
			ItemKey: protocol.ItemKey{ProviderItemID: "c-" + p.ClientRequestID}, Command: "ls"}})
		if errors.Is(err, bridgekit.ErrInterrupted) {
			return s.t.Send(&protocol.TurnBoundary{Status: protocol.Interrupted})
		}
		if err != nil {
			return err // fails the turn
		}
		if !d.Allowed() {
			text = "not allowed"
		}
	}
	key := protocol.ItemKey{ProviderItemID: "m-" + p.ClientRequestID}
	return s.t.Send(
		&protocol.ItemOpen{Key: key, Item: &protocol.Message{}, Presentation: protocol.Presentation{Label: "Writing", Icon: "message"}},
		&protocol.ItemText{Key: key, Stream: protocol.Text, Text: text},
		&protocol.ItemClose{Key: key, Status: protocol.Completed, Item: &protocol.Message{Text: text},
			Presentation: protocol.Presentation{Label: "Wrote", Icon: "message"}},
		&protocol.TurnBoundary{Status: protocol.Completed})
}

// stop has nothing to do: it ends the context of answer, which then settles the turn.
func (s *session) stop(ctx context.Context, p protocol.ThreadStopParams) error { return nil }
