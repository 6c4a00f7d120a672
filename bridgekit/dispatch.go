package bridgekit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// job is a request of core on its way through the bridge.
type job struct {
	c           *conn
	request     *wire.Request
	method      string
	params      any // a pointer to the method's type
	declaration *protocol.ProviderDeclaration
	handle      handler
	ahead       []*job        // of an interruption: the turn/start requests that it overtook
	refused     bool          // of a release: it overtook a turn/start
	done        chan struct{} // closed when what it runs in its lane has ended
	late        bool          // it came behind shutdown
	answered    atomic.Bool
}

// answer sends the one answer of a request. Later ones are ignored: who comes second is told so by accepted.
func (j *job) answer(result any, err error) {
	if !j.answered.CompareAndSwap(false, true) {
		return
	}
	j.c.mu.Lock()
	delete(j.c.pending, j)
	j.c.mu.Unlock()
	if err == nil {
		if err = j.c.wrote(j.request.Reply(result)); err == nil || errors.Is(err, wire.ErrClosed) {
			return
		}
		j.c.log("", protocol.LogError, fmt.Sprintf("the result of %s cannot be sent: %v", j.method, err), nil)
		err = protocol.BridgeError.Errorf("the result cannot be sent: %v", err)
	}
	j.c.wrote(j.request.Fail(wireError(err))) // fails only when the connection is gone
}

// request handles a request in wire order, on the reader's goroutine.
func (c *conn) request(_ context.Context, r *wire.Request) {
	j := &job{c: c, request: r, method: r.Method}
	c.mu.Lock()
	crowded := len(c.pending) >= maxOutstanding && r.Method != protocol.MethodShutdown
	j.late = !crowded && c.state == ending && !c.told
	if !crowded {
		c.pending[j] = struct{}{}
	}
	c.mu.Unlock()
	if j.late {
		return // refused behind the answer to shutdown
	}
	err := crowdedError(crowded, maxOutstanding, "requests are unanswered")
	if err == nil {
		err = c.dispatch(j)
	}
	if err != nil {
		j.answer(nil, err)
	}
}

func crowdedError(crowded bool, limit int, what string) error {
	if !crowded {
		return nil
	}
	return protocol.BridgeError.Errorf("%d %s, which is the most that the bridge takes: wait for answers", limit, what)
}

// dispatch runs the checks of a request in their order and starts its function. An error is the request's answer.
func (c *conn) dispatch(j *job) error {
	c.mu.Lock()
	now, caps := c.state, c.caps
	c.mu.Unlock()
	switch {
	case now == ending:
		return errShuttingDown()
	case j.method == protocol.MethodInitialize:
		return c.handshake(j, now)
	case now == fresh:
		return protocol.BridgeError.Errorf("%s came before initialize", clip(j.method))
	}
	spec, ok := protocol.SpecOf(j.method)
	if !ok {
		return protocol.MethodNotFound.Errorf("there is no method %q", clip(j.method))
	}
	j.params = spec.Params()
	if err := decode(j.request.Params, j.params); err != nil {
		return err
	}
	if j.method == protocol.MethodShutdown {
		c.beginShutdown(j)
		return nil
	}
	var err error
	if j.declaration, err = c.declarationFor(j.params); err != nil {
		return err
	}
	if spec.Advertised != nil && !spec.Advertised(j.declaration, &caps) {
		return protocol.CapabilityNotAdvertised.Errorf("%s is not among what provider %s can do here", j.method, j.declaration.ID)
	}
	if f, ok := j.params.(*protocol.ForkParams); ok && f.SourceCheckpointID != "" && caps.Fork != protocol.ForkCheckpoint {
		return protocol.ForkCheckpointUnsupported.Errorf("provider %s forks only at the tip of a session: leave sourceCheckpointId null", j.declaration.ID)
	}
	if j.handle = c.runtime.handlers[j.method]; j.handle == nil {
		return protocol.MethodNotFound.Errorf("the bridge has no function for %s", j.method)
	}
	if id := threadOf(j.params); id != "" {
		return c.enqueue(id, j)
	}
	if !c.spawn(func() { c.answerSessionless(j) }) {
		return errShuttingDown()
	}
	return nil
}

func errShuttingDown() error { return protocol.BridgeError.Errorf("the bridge is shutting down") }

// beginShutdown lets Run go on to the end, which answers the request. Nothing is started after it.
func (c *conn) beginShutdown(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == ending { // another came first
		return
	}
	c.state = ending
	delete(c.pending, j) // it is not among those that it interrupts
	c.shutdown <- j      // has room for the one that gets here
}

func (c *conn) answerSessionless(j *job) {
	ctx, cancel := context.WithCancel(c.contextFor(j.declaration, ""))
	defer cancel()
	o := <-c.contain(j.method, "", func() (any, error) { return j.handle(ctx, nil, j.params) })
	j.finish(ctx, o)
}

// finish answers with the outcome of a function, whose result is checked first. An error of a function that gave up
// because its context was interrupted is the interruption.
func (j *job) finish(ctx context.Context, o outcome) {
	if interrupted(ctx, o.err) {
		o.err = ErrInterrupted
	}
	if o.err == nil {
		if issues := protocol.Validate(o.out); len(issues) > 0 {
			o.err = fmt.Errorf("the bridge's result of %s breaks the protocol: %w", j.method, &protocol.Error{Code: protocol.BridgeError, Message: "result", Issues: issues})
			j.c.log(threadOf(j.params), protocol.LogError, o.err.Error(), nil)
			o.err = protocol.BridgeError.Errorf("%s", o.err.Error())
		}
	}
	j.answer(o.out, o.err)
}

// handshake answers initialize. It runs on the reader's goroutine, so that what core sends after it finds the bridge
// ready; the function gets HandshakeTimeout at most.
func (c *conn) handshake(j *job, now state) error {
	if now != fresh {
		return protocol.BridgeError.Errorf("initialize came a second time")
	}
	var p protocol.InitializeParams
	if err := decode(j.request.Params, &p); err != nil {
		return err
	}
	own := protocol.VersionRange{Min: protocol.MinVersion, Max: protocol.MaxVersion}
	version := min(p.Protocol.Max, own.Max)
	if version < max(p.Protocol.Min, own.Min) {
		err := protocol.ProtocolUnsupported.Errorf("core speaks protocol versions %d to %d and the bridge %d to %d", p.Protocol.Min, p.Protocol.Max, own.Min, own.Max)
		err.Versions = &protocol.Versions{Core: p.Protocol, Bridge: own}
		return err
	}
	for i, id := range p.ProviderIDs {
		if c.declared(id) == nil {
			return unknownProvider(fmt.Sprintf("providerIds[%d]", i), id)
		}
	}
	caps, err := c.capabilities(p)
	if err != nil {
		return err
	}
	c.mu.Lock()
	if c.state == fresh {
		c.state, c.greeted, c.caps, c.plugin = ready, true, caps, p.Plugin
	}
	c.mu.Unlock()
	j.answer(protocol.InitializeResult{Protocol: version, Capabilities: caps}, nil)
	return nil
}

// capabilities asks the bridge what it can do and holds it to every declaration.
func (c *conn) capabilities(p protocol.InitializeParams) (protocol.Capabilities, error) {
	caps := c.runtime.declarations[0].Capabilities
	if c.runtime.initialize != nil {
		ctx, cancel := context.WithTimeout(c.contextFor(c.runtime.declarations[0], ""), HandshakeTimeout-answerMargin)
		defer cancel()
		var o outcome
		select {
		case o = <-c.contain("Initialize", "", func() (any, error) { return c.runtime.initialize(ctx, p) }):
		case <-ctx.Done():
			o.err = protocol.BridgeError.Errorf("Initialize did not return within %v: it reports what the code can do and starts nothing", HandshakeTimeout)
		}
		if o.err != nil {
			return caps, o.err
		}
		caps = o.out.(protocol.Capabilities)
	}
	if issues := protocol.Validate(caps); len(issues) > 0 {
		return caps, protocol.BridgeError.Errorf("the bridge's capabilities break the protocol: %s", (&protocol.Error{Code: protocol.BridgeError, Issues: issues}).Error())
	}
	for _, d := range c.runtime.declarations {
		if wider := protocol.CapabilityWidens(d.Capabilities, caps); len(wider) > 0 {
			return caps, protocol.BridgeError.Errorf("the bridge reports more than provider %s declares: %v", d.ID, wider)
		}
	}
	return caps, nil
}

// declared returns the declaration of a provider, or nil.
func (c *conn) declared(id string) *protocol.ProviderDeclaration {
	for _, d := range c.runtime.declarations {
		if d.ID == id {
			return d
		}
	}
	return nil
}

func unknownProvider(path, id string) error {
	return &protocol.Error{Code: protocol.InvalidParams, Message: "the bridge does not serve this provider", Issues: []protocol.Issue{{
		Path: path, Code: protocol.IssueInvalidValue, Message: fmt.Sprintf("no declaration has the id %q", clip(id))}}}
}

// declarationFor picks the declaration of a request: that of the provider it names, else that of its thread, else the
// first.
func (c *conn) declarationFor(params any) (*protocol.ProviderDeclaration, error) {
	if id := providerOf(params); id != "" {
		d := c.declared(id)
		if d == nil {
			return nil, unknownProvider("providerId", id)
		}
		return d, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.lanes[threadOf(params)]; l != nil && l.declaration != nil {
		return l.declaration, nil
	}
	return c.runtime.declarations[0], nil
}

// decode reads params into a pointer to a message type.
func decode(raw json.RawMessage, into any) error {
	if raw == nil {
		raw = json.RawMessage("{}") // params may be left out
	}
	err := json.Unmarshal(raw, into)
	var typed *protocol.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return &protocol.Error{Code: protocol.InvalidParams, Message: "the params break the method's schema", Issues: typed.Issues}
	}
	return &protocol.Error{Code: protocol.InvalidParams, Message: "the params break the method's schema", Issues: []protocol.Issue{{Code: protocol.IssueInvalidJSON, Message: err.Error()}}}
}

// providerOf returns the provider that params name, or "".
func providerOf(params any) string {
	switch p := params.(type) {
	case *protocol.SessionParams:
		return p.ProviderID
	case *protocol.ResumeParams:
		return p.ProviderID
	case *protocol.ForkParams:
		return p.ProviderID
	case *protocol.ProviderParams:
		return p.ProviderID
	case *protocol.InstallationStatusParams:
		return p.ProviderID
	case *protocol.InstallationRunParams:
		return p.ProviderID
	}
	return ""
}

// threadOf returns the thread that params name, or "".
func threadOf(params any) string {
	switch p := params.(type) {
	case *protocol.SessionParams:
		return p.ThreadID
	case *protocol.ResumeParams:
		return p.ThreadID
	case *protocol.ForkParams:
		return p.ThreadID
	case *protocol.ThreadRef:
		return p.ThreadID
	case *protocol.ThreadStopParams:
		return p.ThreadID
	case *protocol.ThreadNameParams:
		return p.ThreadID
	case *protocol.ThreadGoalParams:
		return p.ThreadID
	case *protocol.SkillsConfigureParams:
		return p.ThreadID
	case *protocol.TurnStartParams:
		return p.ThreadID
	case *protocol.TurnSteerParams:
		return p.ThreadID
	}
	return ""
}
