package bundle

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
	"github.com/bb-kernel/bb/pluginsdk/bundle/metadata"
)

// Runner answers what a host dispatches to an agent, by the interface that package abi describes. Authors do not use it: the module and
// package bundlenative do. It answers one request at a time.
type Runner struct {
	agent *Agent
	host  func(ctx context.Context, frame []byte) ([]byte, error)
	env   map[string]string
	list  *listing // made for env at the first request
}

// NewRunner returns a runner. host answers the frames of the calls that handlers make; it may be called from several
// goroutines. Its error fails the call.
func NewRunner(a *Agent, host func(ctx context.Context, frame []byte) ([]byte, error)) *Runner {
	return &Runner{agent: a, host: host}
}

// Dispatch answers the frame of an abi.Request with that of an abi.Response. It never panics: a panic of the author's
// code is an error that says so.
func (r *Runner) Dispatch(ctx context.Context, frame []byte) []byte {
	var request abi.Request
	var response abi.Response
	body, err := abi.Split(frame, &request)
	if err == nil {
		if request.DeadlineMs > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(request.DeadlineMs)*time.Millisecond)
			defer cancel()
		}
		response, body = r.answer(ctx, &request, body)
	} else {
		response, body = abi.Response{Error: &abi.Error{Code: abi.Malformed, Message: err.Error()}}, nil
	}
	out, err := abi.Append(nil, response, body)
	if err != nil { // headers of the author's that are too long, or a schema that is not JSON
		out, _ = abi.Append(nil, abi.Response{Error: wire(err)}, nil)
	}
	return out
}

// answer runs what the request asks for, and contains the author's code.
func (r *Runner) answer(ctx context.Context, q *abi.Request, body []byte) (response abi.Response, out []byte) {
	defer func() {
		if p := recover(); p != nil {
			response, out = abi.Response{Error: &abi.Error{Code: abi.Internal, Message: fmt.Sprintf("it panicked: %v", p), Panicked: true}}, nil
		}
	}()
	if q.Kind == abi.Probe {
		m, err := r.agent.Metadata()
		if err != nil {
			return abi.Response{Error: wire(err)}, nil
		}
		return abi.Response{Metadata: &m}, nil
	}
	if r.list == nil || !maps.Equal(r.env, q.Env) {
		r.env, r.list = q.Env, list(r.agent, NewEnv(q.Env))
	}
	response, out, err := r.run(ctx, q, body)
	if err != nil {
		return abi.Response{Error: wire(err)}, nil
	}
	return response, out
}

func (r *Runner) run(ctx context.Context, q *abi.Request, body []byte) (abi.Response, []byte, error) {
	l := link{r.host, q.Token}
	c, there := r.list.capabilities[q.CapabilityID]
	if !there && q.CapabilityID != "" {
		return abi.Response{}, nil, r.missing("capability " + q.CapabilityID)
	}
	switch q.Kind {
	case abi.HTTP:
		return r.http(ctx, q, l, body)
	case abi.Action:
		if c.OnAction == nil {
			return abi.Response{}, nil, r.missing("action of " + q.CapabilityID)
		}
		a := actionContext(q, l)
		return abi.Response{}, nil, c.OnAction(ctx, &a, q.Action, json.RawMessage(body))
	case abi.Tool:
		t, ok := r.list.tools[q.Tool]
		if !ok {
			return abi.Response{}, nil, r.missing("tool " + q.Tool)
		}
		text, err := t.Run(ctx, &ToolContext{ActionContext: actionContext(q, l), CallID: q.CallID}, json.RawMessage(body))
		return abi.Response{}, []byte(text), err
	case abi.Hook:
		return r.hook(ctx, q, l, c)
	}
	return abi.Response{}, nil, fmt.Errorf("the bundle does not know requests of kind %q: build it with a newer bb", q.Kind)
}

func (r *Runner) http(ctx context.Context, q *abi.Request, l link, body []byte) (abi.Response, []byte, error) {
	route, ok := r.list.routes[routeKey(q.CapabilityID, q.Method, q.Route)]
	if !ok {
		return abi.Response{}, nil, r.missing("route " + q.Method + " " + q.Route)
	}
	c := &HTTPContext{
		CapabilityID: q.CapabilityID, AgentID: q.AgentID, SessionID: q.SessionID, Caller: q.Caller, PublicURL: q.PublicURL,
		Params: q.Params, Query: q.Query, Headers: q.Headers, KV: KV{l}, Channel: Channel{l, q.SessionID != ""}, link: l,
	}
	res, err := route.Handle(ctx, c, &Request{Method: q.Method, Path: q.Path, Body: body})
	if err != nil {
		return abi.Response{}, nil, err
	}
	if res == nil {
		res = &Response{}
	}
	status := res.Status
	if status == 0 {
		status = 200
		if len(res.Body) == 0 {
			status = 204
		}
	}
	return abi.Response{Status: status, Headers: res.Headers}, res.Body, nil
}

func (r *Runner) hook(ctx context.Context, q *abi.Request, l link, c Capability) (abi.Response, []byte, error) {
	turn := actionContext(q, l)
	session := &SessionContext{AgentID: q.AgentID, SessionID: q.SessionID, Spine: Spine{l}}
	switch {
	case q.Hook == metadata.Prompt && c.Prompt != nil:
		text, err := c.Prompt(ctx, &PromptContext{CapabilityID: q.CapabilityID, AgentID: q.AgentID, SessionID: q.SessionID, KV: KV{l}, Spine: Spine{l}})
		return abi.Response{}, []byte(text), err
	case q.Hook == metadata.AfterTurn && c.AfterTurn != nil:
		return abi.Response{}, nil, c.AfterTurn(ctx, &turn)
	case q.Hook == metadata.OnConnect && c.OnConnect != nil:
		return abi.Response{}, nil, c.OnConnect(ctx, &turn)
	case q.Hook == metadata.Dispose && c.Dispose != nil:
		return abi.Response{}, nil, c.Dispose(ctx, &DisposeContext{AgentID: q.AgentID, CapabilityID: q.CapabilityID, KV: KV{l}, Spine: Spine{l}})
	case q.Hook == metadata.TurnEnd && r.agent.OnTurnEnd != nil:
		return abi.Response{}, nil, r.agent.OnTurnEnd(ctx, session)
	case q.Hook == metadata.SessionCreated && r.agent.OnSessionCreated != nil:
		return abi.Response{}, nil, r.agent.OnSessionCreated(ctx, session)
	}
	return abi.Response{}, nil, r.missing("hook " + string(q.Hook))
}

// missing says that the environment hides what the metadata shows.
func (r *Runner) missing(what string) error {
	if len(r.list.problems) > 0 {
		return fmt.Errorf("the bundle has no %s with its present environment: %w", what, r.list.problems[0])
	}
	return fmt.Errorf("the bundle has no %s with its present environment", what)
}
