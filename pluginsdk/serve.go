package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/pluginsdk/stdio"
)

// StopGrace is how long a plugin that is a program has for its stop functions when the kernel goes away without a word.
const StopGrace = 10 * time.Second

// Serve serves a plugin to the kernel at the other end of r and w, by docs/spec/plugin-protocol.md, until the kernel closes
// its end or ctx ends. By then Setup, handlers and stop functions have returned, unless one of them ignores its context for
// longer than StopGrace. The error is that of the connection. Main is Serve on standard input and output.
func Serve(ctx context.Context, p *Plugin, r io.Reader, w io.Writer) error {
	s := &program{plugin: p, calls: map[string]context.CancelFunc{}}
	s.peer = wire.NewPeer(r, w, wire.Options{Request: s.request, Notify: s.notify, MaxLine: stdio.MaxLine})
	s.log = slog.New(&logHandler{send: s.sendLog})
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	err := s.peer.Run(ctx)
	s.streams.Fail(errGone())
	s.cancel()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopGrace)
	defer cancel()
	stopped := make(chan struct{})
	go func() { // ends with the last handler, or with the process
		defer close(stopped)
		_ = s.stop(end) // nobody is there to be told
		s.work.Wait()
	}()
	select {
	case <-stopped:
	case <-end.Done():
	}
	s.peer.Close()
	return err
}

func errGone() error { return kernelcontract.ServiceUnavailable.Errorf("the kernel is gone") }

// program is a plugin that serves a kernel.
type program struct {
	plugin  *Plugin
	peer    *wire.Peer
	log     *slog.Logger
	streams stdio.Streams

	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	work   sync.WaitGroup // requests that are being answered
	ids    atomic.Uint64  // of the streams that the plugin opens
	slow   sync.Mutex     // held by transactions that have lost once, so that they do not go on losing to one another

	mu       sync.Mutex
	begun    bool // initialize has been answered
	setUp    bool // setup has been asked for
	loaded   *Loaded
	encoders map[string]*schema.Encoder    // of results and items, by ref
	calls    map[string]context.CancelFunc // by the id of a call, a guard or a stream
}

// request takes a request of the kernel. What may take long is answered on a goroutine of its own, so that the next message
// is read at once.
func (s *program) request(_ context.Context, r *wire.Request) {
	switch r.Method {
	case stdio.Ping:
		reply(r, stdio.Nothing{}, nil)
	case stdio.Initialize:
		answer(s, r, s.initialize)
	case stdio.Setup:
		s.work.Go(func() { answer(s, r, s.setup) })
	case stdio.Render:
		s.work.Go(func() { answer(s, r, s.render) })
	case stdio.Shutdown:
		s.work.Go(func() { answer(s, r, s.shutdown) })
	case stdio.Call:
		serve(s, r, func(p stdio.CallParams) stdio.CallInfo { return p.Call }, s.call)
	case stdio.Guard:
		serve(s, r, func(p stdio.GuardParams) stdio.CallInfo { return p.Call }, s.guard)
	case stdio.StreamOpen:
		s.open(r)
	default:
		_ = r.Fail(&wire.Error{Code: wire.CodeNoMethod, Message: "there is no method " + strconv.Quote(r.Method)})
	}
}

// notify takes a notification of the kernel. What cannot be read, or belongs to nothing, is dropped.
func (s *program) notify(_ context.Context, n wire.Notification) {
	switch n.Method {
	case stdio.Cancel:
		var p stdio.CancelParams
		if json.Unmarshal(n.Params, &p) != nil {
			return
		}
		s.mu.Lock()
		cancel := s.calls[p.Call]
		s.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	case stdio.StreamItem:
		var p stdio.ItemParams
		if json.Unmarshal(n.Params, &p) == nil && !s.streams.Received(p) {
			s.streams.Ended(stdio.EndParams{Stream: p.Stream, Error: stdio.ErrorOf(errors.New("the kernel sent more items than it had credit for"))})
		}
	case stdio.StreamEnd:
		var p stdio.EndParams
		if json.Unmarshal(n.Params, &p) == nil {
			s.streams.Ended(p)
		}
	case stdio.StreamCredit:
		var p stdio.CreditParams
		if json.Unmarshal(n.Params, &p) == nil {
			s.streams.Credited(p)
		}
	}
}

// reply answers a request. A result that does not encode, or is too long, is an error of the plugin.
func reply(r *wire.Request, result any, err error) {
	if err == nil {
		if err = r.Reply(result); err == nil || errors.Is(err, wire.ErrClosed) || errors.Is(err, wire.ErrAnswered) {
			return
		}
		err = fmt.Errorf("the answer to %s cannot be sent: %w", r.Method, err)
	}
	_ = r.Fail(stdio.Fail(err)) // fails only when the connection is gone
}

// answer decodes the params of a request, and answers it with what fn returns. A panic is an error.
func answer[P any](s *program, r *wire.Request, fn func(p P) (any, error)) {
	p, err := params[P](r)
	if err != nil {
		reply(r, nil, err)
		return
	}
	result, err := contained(s.log, r.Method, func() (any, error) { return fn(p) })
	reply(r, result, err)
}

func params[P any](r *wire.Request) (p P, err error) {
	if r.Params != nil {
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return p, kernelcontract.InvalidInput.Errorf("the params of %s cannot be read: %s", r.Method, err)
		}
	}
	return p, nil
}

// contained runs fn, and returns its panic as an error; the stack goes to the log.
func contained[T any](log *slog.Logger, what string, fn func() (T, error)) (out T, err error) {
	returned := false
	defer func() {
		p := recover()
		switch {
		case p != nil:
			log.Error(what+" panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("it panicked: %v", p)
		case !returned:
			err = errors.New("it ended its goroutine instead of returning")
		}
	}()
	out, err = fn()
	returned = true
	return out, err
}

// serve answers a request that belongs to a call, on a goroutine of its own. It ends early when the call is cancelled.
func serve[P any](s *program, r *wire.Request, call func(P) stdio.CallInfo, fn func(ctx context.Context, p P) (any, error)) {
	p, err := params[P](r)
	if err != nil {
		reply(r, nil, err)
		return
	}
	info := call(p)
	ctx, done, err := s.enter(info)
	if err != nil {
		reply(r, nil, err)
		return
	}
	s.work.Go(func() {
		result, err := contained(s.log, info.Ref, func() (any, error) { return fn(ctx, p) })
		err = cancelled(ctx, err)
		done() // before the answer: behind it the kernel may use the id again, for the call that a guard has let pass
		reply(r, result, err)
	})
}

// cancelled makes the end of a call's own context the code that it stands for.
func cancelled(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return kernelcontract.Timeout.Errorf("the deadline passed")
	}
	return kernelcontract.Cancelled.Errorf("the call was cancelled")
}

// enter makes a call known by its id, so that it can be cancelled.
func (s *program) enter(info stdio.CallInfo) (ctx context.Context, done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch _, twice := s.calls[info.ID]; {
	case s.loaded == nil:
		return nil, nil, kernelcontract.ServiceUnavailable.Errorf("the plugin %s is not set up", s.plugin.ID)
	case twice:
		return nil, nil, kernelcontract.InvalidInput.Errorf("the call %q is under way already", info.ID)
	}
	ctx, cancel := context.WithCancel(kernelcontract.WithCall(s.ctx, info.Info()))
	s.calls[info.ID] = cancel
	return ctx, func() {
		s.mu.Lock()
		delete(s.calls, info.ID)
		s.mu.Unlock()
		cancel()
	}, nil
}

func (s *program) initialize(p stdio.InitializeParams) (any, error) {
	if p.Protocol != stdio.Version {
		e := kernelcontract.Precondition.Errorf("the plugin %s speaks version %d of the protocol, not %d", s.plugin.ID, stdio.Version, p.Protocol)
		e.Details = map[string]any{"supported": []int{stdio.Version}}
		return nil, e
	}
	if p.PluginID != s.plugin.ID {
		return nil, kernelcontract.Precondition.Errorf("this is the plugin %s, not %s", s.plugin.ID, p.PluginID)
	}
	s.mu.Lock()
	s.begun = true
	s.mu.Unlock()
	return stdio.InitializeResult{Protocol: stdio.Version, PluginID: s.plugin.ID, Version: s.plugin.Version}, nil
}

func (s *program) setup(stdio.SetupParams) (any, error) {
	s.mu.Lock()
	begun, again := s.begun, s.setUp
	s.setUp = s.setUp || begun
	s.mu.Unlock()
	if !begun || again {
		return nil, kernelcontract.Precondition.Errorf("setup comes once, after initialize")
	}
	loaded, err := Load(s.ctx, s.plugin, Backend{
		KV: wireKV{s}, Config: s.config, Secret: s.secret, Caller: wireCaller{s}, HasService: s.hasService, Log: s.log,
	})
	if err != nil {
		return nil, kernelcontract.Precondition.Errorf("%s", err)
	}
	out := stdio.SetupResult{Methods: []string{}, Guards: len(loaded.Guards) > 0, Requires: loaded.Requires, Bridges: map[string]stdio.Bridge{}}
	encoders := map[string]*schema.Encoder{}
	for _, def := range loaded.Services {
		for _, m := range def.Methods {
			out.Methods = append(out.Methods, m.Ref())
			encoders[m.Ref()] = schema.NewEncoder(m.OutputType())
		}
	}
	for _, p := range loaded.Providers {
		h := p.Program.Hooks
		if h.DeriveProviderOptions != nil || h.BridgeEnv != nil || h.ModelCatalog != nil {
			return nil, errors.Join(kernelcontract.Precondition.Errorf("the provider %s has hooks, which are for plugins that are compiled in", p.Declaration.ID), loaded.Stop(s.ctx))
		}
		out.Bridges[p.Declaration.ID] = stdio.Bridge{Command: p.Program.Command, Options: p.Program.Options, Agent: p.Program.Agent}
	}
	s.mu.Lock()
	s.loaded, s.encoders = loaded, encoders
	s.mu.Unlock()
	return out, nil
}

// method returns the handler and the definition of a ref.
func (s *program) method(ref string) (kernelcontract.Handler, *kernelcontract.MethodDef, error) {
	if h, ok := s.loaded.Handlers[ref]; ok {
		_, service, name, _ := kernelcontract.SplitRef(ref)
		for _, def := range s.loaded.Services {
			if def.Name == service {
				return h, def.Method(name), nil
			}
		}
	}
	return kernelcontract.Handler{}, nil, kernelcontract.NotFound.Errorf("the plugin %s has no method %q", s.plugin.ID, ref)
}

func (s *program) call(ctx context.Context, p stdio.CallParams) (any, error) {
	h, d, err := s.method(p.Call.Ref)
	if err != nil {
		return nil, err
	}
	if d.Kind == kernelcontract.KindStream {
		return nil, kernelcontract.InvalidInput.Errorf("%s is a stream: it cannot be called, only opened", p.Call.Ref)
	}
	if !p.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, p.Deadline)
		defer cancel()
	}
	value, err := h.Call(ctx, p.Input)
	if err != nil {
		return nil, cancelled(ctx, err)
	}
	raw, err := s.encoders[p.Call.Ref].Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("the result does not encode: %w", err)
	}
	return stdio.CallResult{Result: raw}, nil
}

// guard asks the plugin's guards in their order.
func (s *program) guard(ctx context.Context, p stdio.GuardParams) (any, error) {
	for _, g := range s.loaded.Guards {
		if err := g(ctx, p.Call.Info(), p.Input); err != nil {
			reason := err.Error()
			if e := kernelcontract.AsError(err); e.Code != kernelcontract.Internal && e.Message != "" {
				reason = e.Message
			}
			return nil, kernelcontract.Vetoed.Errorf("%s", reason)
		}
	}
	return stdio.Nothing{}, nil
}

func (s *program) render(p stdio.RenderParams) (any, error) {
	s.mu.Lock()
	there := s.loaded != nil
	s.mu.Unlock()
	if !there {
		return nil, kernelcontract.ServiceUnavailable.Errorf("the plugin %s is not set up", s.plugin.ID)
	}
	_, d, err := s.method(p.Ref)
	if err != nil {
		return nil, err
	}
	if !d.RendersText() {
		return nil, kernelcontract.InvalidInput.Errorf("%s has no text form of its own", p.Ref)
	}
	text, err := d.RenderText(p.Value, kernelcontract.Render{Width: p.Render.Width, Color: p.Render.Color, TTY: p.Render.TTY})
	return stdio.RenderResult{Text: text}, err
}

// open opens a stream, and sends its items when the handler has one.
func (s *program) open(r *wire.Request) {
	p, err := params[stdio.OpenParams](r)
	var ctx context.Context
	var done func()
	if err == nil {
		ctx, done, err = s.enter(p.Call)
	}
	if err != nil {
		reply(r, nil, err)
		return
	}
	s.streams.Begin(p.Call.ID, min(p.Credit, stdio.Credit)) // enter has seen to it that the id is free
	s.work.Go(func() {
		defer done()
		items, err := contained(s.log, p.Call.Ref, func() (iter.Seq2[kernelcontract.Event[any], error], error) {
			h, d, err := s.method(p.Call.Ref)
			if err != nil {
				return nil, err
			}
			if d.Kind != kernelcontract.KindStream {
				return nil, kernelcontract.InvalidInput.Errorf("%s is a %s: it cannot be opened, only called", p.Call.Ref, d.Kind)
			}
			return h.Open(ctx, p.Input)
		})
		if err != nil {
			s.streams.Forget(p.Call.ID)
			err = cancelled(ctx, err)
			done()
			reply(r, nil, err)
			return
		}
		reply(r, stdio.Nothing{}, nil)
		_ = s.streams.Serve(ctx, s.peer, p.Call.ID, s.encoded(ctx, p.Call.Ref, items)) // its error is that nobody listens
	})
}

// encoded returns the items of a handler as they cross. A panic of the sequence ends it with an error.
func (s *program) encoded(ctx context.Context, ref string, items iter.Seq2[kernelcontract.Event[any], error]) iter.Seq2[stdio.Event, error] {
	return func(yield func(stdio.Event, error) bool) {
		over := false // the reader wants no more
		_, err := contained(s.log, ref, func() (struct{}, error) {
			for ev, err := range items {
				if err != nil {
					return struct{}{}, cancelled(ctx, err)
				}
				raw, err := s.encoders[ref].Marshal(ev.Item)
				if err != nil {
					return struct{}{}, fmt.Errorf("an item does not encode: %w", err)
				}
				if over = !yield(stdio.Event{Cursor: ev.Cursor, Item: raw}, nil); over {
					break
				}
			}
			return struct{}{}, nil
		})
		if err != nil && !over {
			yield(stdio.Event{}, err)
		}
	}
}

func (s *program) shutdown(p stdio.ShutdownParams) (any, error) {
	ctx := s.ctx
	if p.GraceMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(p.GraceMs)*time.Millisecond)
		defer cancel()
	}
	return stdio.Nothing{}, s.stop(ctx)
}

// stop runs the plugin's stop functions, once.
func (s *program) stop(ctx context.Context) error {
	s.mu.Lock()
	loaded := s.loaded
	s.mu.Unlock()
	if loaded == nil {
		return nil
	}
	return loaded.Stop(ctx)
}
