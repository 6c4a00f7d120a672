package bridgekit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// call is a request to core that waits for its answer.
type call struct{ cancel context.CancelCauseFunc }

// Approve asks for permission and waits for the decision, however long a person takes. When no answer will come the
// error is ErrInterrupted; when ctx ends first, its cause, and core learns that the agent no longer waits. The
// RequestKey must be the only one of the agent's process that is pending. A bridge that enforces approvals itself calls
// AutoDeny first.
func (t *Thread) Approve(ctx context.Context, q *protocol.Approval) (*protocol.Decision, error) {
	if q == nil {
		return nil, errNoRequest
	}
	full := *q
	if full.Decisions == nil {
		full.Decisions = []protocol.DecisionKind{protocol.AllowOnce, protocol.Deny}
	}
	return interact[*protocol.Decision](ctx, t, full.RequestKey, full.Scope, &full)
}

// Ask asks a person questions and waits for the answers, as Approve does.
func (t *Thread) Ask(ctx context.Context, q *protocol.Questions) (*protocol.Answers, error) {
	if q == nil {
		return nil, errNoRequest
	}
	return interact[*protocol.Answers](ctx, t, q.RequestKey, q.Scope, q)
}

// Interact makes a request of a kind that the plugin declares and waits for what is submitted, as Approve does.
func (t *Thread) Interact(ctx context.Context, q *protocol.OpenInteraction) (*protocol.Submitted, error) {
	if q == nil {
		return nil, errNoRequest
	}
	return interact[*protocol.Submitted](ctx, t, q.RequestKey, q.Scope, q)
}

// CallTool runs a tool of core, one of those that the session was given, and waits for its result. When none will come
// the error is ErrInterrupted; when ctx ends first, its cause.
func (t *Thread) CallTool(ctx context.Context, c protocol.ToolCall) (protocol.ToolResult, error) {
	identity, err := t.identified()
	if err != nil {
		return protocol.ToolResult{}, err
	}
	raw, err := t.request(ctx, protocol.MethodToolCall, "", protocol.ToolCallParams{ThreadID: t.id, ProviderThreadID: identity, ToolCall: c})
	if err != nil {
		return protocol.ToolResult{}, err
	}
	result, bad := protocol.Decode[protocol.ToolResult](raw)
	if bad != nil {
		return protocol.ToolResult{}, fmt.Errorf("bridgekit: core's result of %s: %w", protocol.MethodToolCall, bad)
	}
	return result, nil
}

var errNoRequest = errors.New("bridgekit: the request is nil")

// interact makes an interaction/request and checks that the answer is its pair.
func interact[R protocol.Resolution](ctx context.Context, t *Thread, key string, scope protocol.Scope, q protocol.Interaction) (R, error) {
	var none R
	identity, err := t.identified()
	if err != nil {
		return none, err
	}
	raw, err := t.request(ctx, protocol.MethodInteractionRequest, key, protocol.InteractionParams{
		ThreadID: t.id, ProviderThreadID: identity, RequestKey: key, Scope: scope, Request: q})
	if err != nil {
		return none, err
	}
	resolution, bad := protocol.ParseResolution(raw)
	if bad != nil {
		return none, fmt.Errorf("bridgekit: core's answer to %s: %w", protocol.MethodInteractionRequest, bad)
	}
	if _, ok := resolution.(*protocol.InterruptedResolution); ok {
		return none, ErrInterrupted
	}
	if err := q.Accepts(resolution); err != nil {
		return none, fmt.Errorf("bridgekit: core's answer to %s: %w", protocol.MethodInteractionRequest, err)
	}
	return resolution.(R), nil // Accepts has checked the kind
}

// request calls core. Key is what core is told when the caller gives up, "" for what cannot be withdrawn.
func (t *Thread) request(ctx context.Context, method, key string, params any) (json.RawMessage, error) {
	if issues := protocol.Validate(params); len(issues) > 0 {
		return nil, &protocol.Error{Code: protocol.InvalidParams, Message: method, Issues: issues}
	}
	calling, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &call{cancel: cancel}
	t.mu.Lock()
	gone := t.ended || t.interrupting || t.ctx.Err() != nil
	if !gone {
		t.calls[c] = struct{}{}
	}
	t.mu.Unlock()
	if gone {
		return nil, ErrInterrupted
	}
	stop := context.AfterFunc(t.ctx, func() { cancel(ErrInterrupted) })
	defer stop()
	defer func() {
		t.mu.Lock()
		delete(t.calls, c)
		t.mu.Unlock()
	}()
	raw, err := t.c.peer.Call(calling, method, params)
	var remote *wire.Error
	switch {
	case err == nil:
		return raw, nil
	case errors.As(err, &remote):
		e := protocol.ErrorFromWire(remote.Code, remote.Message, remote.Data)
		if e.Code == protocol.InteractionInterrupted {
			return nil, ErrInterrupted
		}
		return nil, e
	case errors.Is(err, wire.ErrClosed), errors.Is(context.Cause(calling), ErrInterrupted):
		return nil, ErrInterrupted
	case calling.Err() != nil:
		if key != "" {
			if err := t.c.notify(protocol.MethodInteractionWithdrawn, protocol.WithdrawnParams{ThreadID: t.id, RequestKey: key}); err != nil {
				report(err.Error())
			}
		}
		return nil, context.Cause(calling)
	}
	return nil, err
}
