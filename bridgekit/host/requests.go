package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// request is something that the bridge asked for and that is not answered yet, with every repetition that joined it.
type request struct {
	key         string // <providerId>:<providerThreadId>:<requestKey>
	requestKey  string
	thread      *thread
	interaction bool
	turn        bool   // of the turn that was open when it came
	same        []byte // method and params in one spelling: what a repetition has to equal
	ctx         context.Context
	cancel      context.CancelCauseFunc
	waiters     []*wire.Request // guarded by Bridge.mu
}

// handler runs a request.
type handler func(ctx context.Context) (any, error)

// request takes a request of the bridge, on the reader's goroutine.
func (b *Bridge) request(_ context.Context, r *wire.Request) {
	b.clock.hold()
	defer b.clock.release()
	b.mu.Lock()
	full := b.inFlight >= MaxRequests
	if !full {
		b.inFlight++
	}
	b.mu.Unlock()
	if full {
		// answered here, which holds a bridge back that asks without reading the answers
		fail(r, protocol.BridgeError.Errorf("%d requests of this bridge wait for an answer: wait for some of them", MaxRequests))
		return
	}
	q, run, refused := b.accept(r)
	if refused != nil {
		b.goes(func() {
			defer b.leave(1)
			fail(r, refused)
		})
		return
	}
	if q != nil {
		b.goes(func() { b.serve(q, run) })
	}
}

// goes runs fn on a goroutine that the end of the bridge waits for. Only the reader's goroutine calls it, which ends
// before that.
func (b *Bridge) goes(fn func()) { b.working.Go(fn) }

// leave ends the bookkeeping of n requests.
func (b *Bridge) leave(n int) {
	b.mu.Lock()
	b.inFlight -= n
	b.mu.Unlock()
}

// accept decides what becomes of a request: it is refused, it starts something, or, when there is nothing to run, it has
// joined one that waits.
func (b *Bridge) accept(r *wire.Request) (*request, handler, *protocol.Error) {
	params := r.Params
	if params == nil {
		params = json.RawMessage("{}")
	}
	switch r.Method {
	case protocol.MethodToolCall:
		if b.o.Handler.ToolCall == nil {
			return nil, nil, protocol.MethodNotFound.Errorf("this side offers no tools")
		}
		p, err := protocol.Decode[protocol.ToolCallParams](params)
		if err != nil {
			return nil, nil, err
		}
		q := &request{requestKey: p.RequestKey}
		joined, err := b.join(q, r, params, p.ThreadID, p.ProviderThreadID)
		if joined || err != nil {
			return nil, nil, err
		}
		return q, func(ctx context.Context) (any, error) { return b.callTool(ctx, p) }, nil
	case protocol.MethodInteractionRequest:
		if b.o.Handler.Interact == nil {
			return nil, nil, protocol.MethodNotFound.Errorf("this side answers no interactions")
		}
		p, err := protocol.Decode[protocol.InteractionParams](params)
		if err != nil {
			return nil, nil, err
		}
		if open, ok := p.Request.(*protocol.OpenInteraction); ok && !slices.Contains(b.o.InteractionKinds, open.Name) {
			return nil, nil, protocol.InvalidParams.Errorf("the plugin %s does not declare the interaction kind %q", b.o.Plugin.ID, open.Name)
		}
		q := &request{requestKey: p.RequestKey, interaction: true, turn: !p.Scope.Thread}
		joined, err := b.join(q, r, params, p.ThreadID, p.ProviderThreadID)
		if joined || err != nil {
			return nil, nil, err
		}
		return q, func(ctx context.Context) (any, error) { return b.interact(ctx, p) }, nil
	}
	return nil, nil, protocol.MethodNotFound.Errorf("core has no method %q", r.Method)
}

// join registers q, unless an equal request waits already: then r joins that one.
func (b *Bridge) join(q *request, r *wire.Request, params []byte, threadID, providerThreadID string) (joined bool, refused *protocol.Error) {
	same, err := spelling(r.Method, params)
	if err != nil {
		return false, protocol.InvalidParams.Errorf("the params: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.threads[threadID]
	switch {
	case t == nil:
		return false, protocol.InvalidParams.Errorf("thread %s has no session in this process", threadID)
	case t.providerThreadID == "":
		return false, protocol.InvalidParams.Errorf("thread %s has no identity yet: send thread/identity first", threadID)
	case t.providerThreadID != providerThreadID:
		return false, protocol.InvalidParams.Errorf("thread %s has the session %q, not %q", threadID, t.providerThreadID, providerThreadID)
	case t.stops > 0 || b.stopping:
		return false, protocol.InteractionInterrupted.Errorf("the thread is being stopped")
	}
	q.thread, q.same, q.waiters = t, same, []*wire.Request{r}
	q.key = t.declaration.ID + ":" + providerThreadID + ":" + q.requestKey
	if first := b.requests[q.key]; first != nil {
		if !bytes.Equal(first.same, same) {
			return false, protocol.InvalidParams.Errorf("another request with the key %q waits for its answer", q.requestKey)
		}
		first.waiters = append(first.waiters, r)
		return true, nil
	}
	q.ctx, q.cancel = context.WithCancelCause(b.ctx)
	b.requests[q.key] = q
	return false, nil
}

// spelling writes a request so that equal ones look equal: members in one order, numbers as they are written.
func spelling(method string, params []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(params))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal([]any{method, v})
}

// serve runs a request and answers it as soon as there is a result or it is interrupted, whether the function has
// returned by then or not.
func (b *Bridge) serve(q *request, run handler) {
	type outcome struct {
		result any
		err    error
	}
	out := make(chan outcome, 1)
	go func() {
		o := outcome{err: errors.New("the handler ended its goroutine")}
		defer func() {
			if v := recover(); v != nil {
				b.o.Log.Error("a handler panicked", "thread", q.thread.id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				o = outcome{err: protocol.BridgeError.Errorf("the request could not be handled: %v", v)}
			}
			out <- o
		}()
		o.result, o.err = run(q.ctx)
	}()
	var o outcome
	returned := false
	select {
	case o = <-out:
		returned = true
	case <-q.ctx.Done():
		o.err = ErrInterrupted
	}
	if o.err != nil && q.ctx.Err() != nil {
		o.err = ErrInterrupted
	}
	waiters := b.forget(q)
	for _, r := range waiters {
		if o.err != nil {
			fail(r, o.err)
		} else if err := r.Reply(o.result); err != nil && !errors.Is(err, wire.ErrClosed) {
			fail(r, protocol.BridgeError.Errorf("the answer cannot be sent: %w", err))
		}
	}
	q.cancel(nil)
	if !returned {
		<-out
	}
	b.leave(len(waiters))
}

// forget ends the time in which repetitions join q, and returns who waits for it.
func (b *Bridge) forget(q *request) []*wire.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.requests[q.key] == q {
		delete(b.requests, q.key)
	}
	return q.waiters
}

// interruptWhere ends the requests that match: their keys are free at once, their contexts end with cause, and they are
// answered INTERACTION_INTERRUPTED.
func (b *Bridge) interruptWhere(cause error, match func(*request) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, q := range b.requests {
		if match(q) {
			delete(b.requests, key)
			q.cancel(cause)
		}
	}
}

// interruptTurn ends the interactions of a thread's turn, which has settled.
func (b *Bridge) interruptTurn(t *thread) {
	b.interruptWhere(ErrInterrupted, func(q *request) bool { return q.thread == t && q.turn })
}

// callTool runs a tool and checks its result.
func (b *Bridge) callTool(ctx context.Context, p protocol.ToolCallParams) (any, error) {
	result, err := b.o.Handler.ToolCall(ctx, p)
	if err != nil {
		return nil, err
	}
	if issues := protocol.Validate(result); len(issues) > 0 {
		return nil, fmt.Errorf("the result of the tool %s is wrong: %s", p.Tool, (&ResultError{Method: protocol.MethodToolCall, Issues: issues}).Error())
	}
	return result, nil
}

// interact gets the answer to an interaction and checks that it is one.
func (b *Bridge) interact(ctx context.Context, p protocol.InteractionParams) (any, error) {
	resolution, err := b.o.Handler.Interact(ctx, p)
	if err != nil {
		return nil, err
	}
	if _, ok := resolution.(*protocol.InterruptedResolution); ok {
		return nil, ErrInterrupted
	}
	if d, ok := resolution.(*protocol.Decision); ok && d != nil && d.Kind == protocol.Deny && d.Granted == nil {
		if _, ok := p.Request.(*protocol.Approval); ok {
			return resolution, nil // nobody can be made to allow something, whatever the agent offers
		}
	}
	if err := p.Request.Accepts(resolution); err != nil {
		b.o.Log.Error("an interaction was answered with what it does not accept", "thread", p.ThreadID, "request", p.RequestKey, "error", err)
		return nil, fmt.Errorf("the answer does not fit the request: %w", err)
	}
	return resolution, nil
}

// fail answers a request with an error as it travels. When the bridge is gone there is nobody to tell.
func fail(r *wire.Request, err error) {
	var e *protocol.Error
	switch {
	case errors.Is(err, ErrInterrupted):
		e = protocol.InteractionInterrupted.Errorf("the request was interrupted")
	case !errors.As(err, &e):
		e = protocol.BridgeError.Errorf("%w", err)
	}
	_ = r.Fail(&wire.Error{Code: int(e.Code), Message: e.Message, Data: e.WireData()})
}
