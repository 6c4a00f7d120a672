package bundle

import (
	"context"

	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

// HTTPContext is what a route's handler gets beside the request.
type HTTPContext struct {
	CapabilityID string
	AgentID      string
	SessionID    string // "": the request named none
	Caller       string // the actor, such as user:local
	PublicURL    string // where others reach the server; "": not known
	Params       map[string]string
	Query        Values
	Headers      map[string]string // names in lower case, repeated values joined by ", "
	KV           KV
	Channel      Channel

	link link
}

// EmitCost keeps a cost: in the session, or in the agent's ledger without one. Clients are told.
func (c *HTTPContext) EmitCost(ctx context.Context, cost Cost) error { return emit(ctx, c.link, cost) }

// ActionContext is what an action gets.
type ActionContext struct {
	CapabilityID string
	AgentID      string
	SessionID    string
	Caller       string // the actor, such as user:local
	PublicURL    string // where others reach the server; "": not known
	KV           KV
	Channel      Channel
	Spine        Spine

	link link
}

// EmitCost keeps a cost: in the session, or in the agent's ledger without one. Clients are told.
func (c *ActionContext) EmitCost(ctx context.Context, cost Cost) error {
	return emit(ctx, c.link, cost)
}

// TurnContext is what AfterTurn and OnConnect get.
type TurnContext = ActionContext

// ToolContext is what a tool gets.
type ToolContext struct {
	ActionContext
	CallID string // of the model's call
}

// PromptContext is what Prompt gets.
type PromptContext struct {
	CapabilityID string
	AgentID      string
	SessionID    string
	KV           KV
	Spine        Spine
}

// DisposeContext is what Dispose gets. There is no session: calls of Spine fail with SessionRequired.
type DisposeContext struct {
	AgentID      string
	CapabilityID string
	KV           KV
	Spine        Spine
}

// SessionContext is what OnTurnEnd and OnSessionCreated get.
type SessionContext struct {
	AgentID   string
	SessionID string
	Spine     Spine
}

func emit(ctx context.Context, l link, cost Cost) error {
	return l.send(ctx, abi.Call{Op: abi.CostEmit}, cost)
}

// actionContext returns the context of an action, a tool or a hook after it.
func actionContext(r *abi.Request, l link) ActionContext {
	return ActionContext{
		CapabilityID: r.CapabilityID, AgentID: r.AgentID, SessionID: r.SessionID, Caller: r.Caller, PublicURL: r.PublicURL,
		KV: KV{l}, Channel: Channel{l, r.SessionID != ""}, Spine: Spine{l}, link: l,
	}
}
