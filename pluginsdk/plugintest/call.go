package plugintest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/header"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
	"github.com/bb-kernel/bb/pluginsdk"
)

// method is a method that the fake host can run.
type method struct {
	def     *kernelcontract.MethodDef
	handler kernelcontract.Handler // zero: not there

	once          sync.Once
	input, output *validate.Validator
	err           error
}

// validators compiles the schemas on first use.
func (m *method) validators() error {
	m.once.Do(func() {
		in, err := m.def.Input()
		if err != nil {
			m.err = err
			return
		}
		out, err := m.def.Output()
		if err != nil {
			m.err = err
			return
		}
		if m.input, m.err = validate.Compile(in); m.err == nil {
			m.output, m.err = validate.Compile(out)
		}
	})
	return m.err
}

// As returns a caller that makes its calls as p.
func (h *Host) As(p kernelcontract.Principal) kernelcontract.Caller {
	return &caller{host: h, principal: p}
}

// Call runs a query or a mutation.
func (h *Host) Call(ctx context.Context, ref string, in, out any) error {
	return h.As(h.o.Principal).Call(ctx, ref, in, out)
}

// Open runs a stream.
func (h *Host) Open(ctx context.Context, ref string, in any, since string) iter.Seq2[kernelcontract.Event[json.RawMessage], error] {
	return h.As(h.o.Principal).Open(ctx, ref, in, since)
}

// caller makes calls as one principal.
type caller struct {
	host      *Host
	principal kernelcontract.Principal
	relay     bool // calls that the plugin makes, for whoever called it
}

// Call runs a query or a mutation.
func (c *caller) Call(ctx context.Context, ref string, in, out any) error {
	m, ctx, raw, err := c.admit(ctx, ref, in, "")
	if err != nil {
		return err
	}
	if m.def.Kind == kernelcontract.KindStream {
		return kernelcontract.InvalidInput.Errorf("%s is a stream: use Stream or Events", ref)
	}
	ctx, cancel := context.WithTimeout(ctx, m.def.Budget())
	defer cancel()
	var result any
	err = c.host.contain(ref, func() (err error) {
		result, err = m.handler.Call(ctx, raw)
		return err
	})
	if err != nil {
		return c.failure(ctx, m, err)
	}
	encoded, err := checked(m, result)
	if err != nil {
		return c.failure(ctx, m, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(encoded, out); err != nil {
		return kernelcontract.Internal.Errorf("the result of %s does not fit %T: %w", ref, out, err)
	}
	return nil
}

// Open runs a stream.
func (c *caller) Open(ctx context.Context, ref string, in any, since string) iter.Seq2[kernelcontract.Event[json.RawMessage], error] {
	return func(yield func(kernelcontract.Event[json.RawMessage], error) bool) {
		fail := func(err error) { yield(kernelcontract.Event[json.RawMessage]{}, err) }
		m, ctx, raw, err := c.admit(ctx, ref, in, since)
		if err != nil {
			fail(err)
			return
		}
		if m.def.Kind != kernelcontract.KindStream {
			fail(kernelcontract.InvalidInput.Errorf("%s is a %s: use Call", ref, m.def.Kind))
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		// The budget ends when the handler has returned its sequence.
		budget := time.AfterFunc(m.def.Budget(), cancel)
		var items iter.Seq2[kernelcontract.Event[any], error]
		err = c.host.contain(ref, func() (err error) {
			items, err = m.handler.Open(ctx, raw)
			return err
		})
		if !budget.Stop() && err != nil {
			err = kernelcontract.Timeout.Errorf("%s did not begin within %s", ref, m.def.Budget())
		}
		if err != nil {
			fail(c.failure(ctx, m, err))
			return
		}
		c.pump(ctx, m, items, yield)
	}
}

// pump passes the items on. They are pulled, so that a recover in the plugin's sequence cannot swallow a panic of the
// loop around this one.
func (c *caller) pump(ctx context.Context, m *method, items iter.Seq2[kernelcontract.Event[any], error], yield func(kernelcontract.Event[json.RawMessage], error) bool) {
	next, stop := iter.Pull2(items)
	defer func() {
		_ = c.host.contain(m.def.Ref(), func() error { stop(); return nil })
	}()
	for {
		var item kernelcontract.Event[any]
		var more bool
		err := c.host.contain(m.def.Ref(), func() (err error) {
			item, err, more = next()
			return err
		})
		if err == nil && !more {
			return
		}
		event := kernelcontract.Event[json.RawMessage]{Cursor: item.Cursor}
		if err == nil {
			event.Item, err = checked(m, item.Item)
		}
		if err == nil {
			err = checkCursor(m, item.Cursor)
		}
		if err != nil {
			yield(kernelcontract.Event[json.RawMessage]{}, c.failure(ctx, m, err))
			return
		}
		if !yield(event, nil) {
			return
		}
	}
}

// admit finds the method, checks the caller and the input, fills what was omitted and asks the guards. The context it
// returns carries the call.
func (c *caller) admit(ctx context.Context, ref string, in any, since string) (*method, context.Context, json.RawMessage, error) {
	h := c.host
	m, guards, err := h.find(ref)
	if err != nil {
		return nil, nil, nil, err
	}
	info := &kernelcontract.CallInfo{
		ID: fmt.Sprintf("call-%06d", h.calls.Add(1)), Ref: ref, Since: since,
		Principal: c.principal, Client: kernelcontract.HeadlessClient(), Context: h.o.Context,
	}
	if c.relay {
		info.Principal = kernelcontract.Principal{Actor: string(kernelcontract.Plugin) + ":" + h.plugin.ID, Via: kernelcontract.ViaPlugin(h.plugin.ID)}
		if from := kernelcontract.CallFrom(ctx); from.Principal.Actor != "" {
			info.Principal.Actor = from.Principal.Actor
		}
	}
	if err := h.allowed(m, info.Principal); err != nil {
		return nil, nil, nil, withID(err, info)
	}
	raw, err := h.input(m, in)
	if err != nil {
		return nil, nil, nil, withID(err, info)
	}
	ctx = kernelcontract.WithCall(ctx, info)
	for _, g := range guards {
		if err := h.contain("a guard", func() error { return g(ctx, info, raw) }); err != nil {
			return nil, nil, nil, withID(vetoed(h.plugin.ID, err), info)
		}
	}
	return m, ctx, raw, nil
}

func (h *Host) find(ref string) (*method, []pluginsdk.Guard, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loaded == nil {
		return nil, nil, kernelcontract.ServiceUnavailable.Errorf("plugin %s is stopped", h.plugin.ID)
	}
	m := h.methods[ref]
	if m == nil {
		m = h.fakes[ref]
	}
	if m == nil {
		return nil, nil, kernelcontract.NotFound.Errorf("there is no method %s", ref)
	}
	return m, h.loaded.Guards, nil
}

func (h *Host) allowed(m *method, p kernelcontract.Principal) error {
	switch {
	case !m.def.Access.Auth.Admits(p.Via):
		return kernelcontract.Forbidden.Errorf("%s does not admit callers known by %q", m.def.Ref(), p.Via)
	case !m.def.Access.AdmitsActor(p.Kind()):
		return kernelcontract.Forbidden.Errorf("%s does not admit %s", m.def.Ref(), p.Actor)
	case m.def.Target == kernelcontract.OnHost && !h.o.RunsHost:
		return kernelcontract.ServiceUnavailable.Errorf("%s runs on a host, and none is connected", m.def.Ref())
	case m.handler.IsNil():
		return kernelcontract.ServiceUnavailable.Errorf("%s has no handler in Options.Services", m.def.Ref())
	}
	return nil
}

// input encodes in, fills ambient fields, and validates.
func (h *Host) input(m *method, in any) (json.RawMessage, error) {
	raw := json.RawMessage("{}")
	if in != nil {
		encoded, err := schema.Marshal(in)
		if err != nil {
			return nil, kernelcontract.InvalidInput.Errorf("the input of %s does not encode: %w", m.def.Ref(), err)
		}
		raw = encoded
	}
	raw = m.def.FillAmbient(raw, h.o.Context)
	if err := m.validators(); err != nil {
		return nil, kernelcontract.Internal.Errorf("the types of %s have no schema: %s", m.def.Ref(), err)
	}
	filled, issues := m.input.Input(raw)
	if e := kernelcontract.InvalidIssues(issues); e != nil {
		return nil, e
	}
	return filled, nil
}

// checked encodes a result and holds it against the output schema, as a kernel does in tests.
func checked(m *method, result any) (json.RawMessage, error) {
	raw, err := schema.Marshal(result)
	if err != nil {
		return nil, kernelcontract.Internal.Errorf("the result of %s does not encode: %s", m.def.Ref(), err)
	}
	if issues := m.output.Value(raw); len(issues) > 0 {
		return nil, kernelcontract.Internal.Errorf("the result of %s breaks its own schema: %s", m.def.Ref(), issues[0])
	}
	return raw, nil
}

func checkCursor(m *method, cursor string) error {
	if m.def.Resumable && !header.ValidCursor(cursor) {
		return kernelcontract.Internal.Errorf("a cursor of %s is %.300q, which is not printable ASCII of 1 to %d bytes without a space at its ends",
			m.def.Ref(), cursor, kernelcontract.MaxCursor)
	}
	return nil
}

// failure turns what a handler returned into what a caller gets: codes of the kernel and of the method pass, the rest
// is Internal and in the log.
func (c *caller) failure(ctx context.Context, m *method, err error) error {
	info := kernelcontract.CallFrom(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return withID(kernelcontract.Timeout.Errorf("%s did not finish within %s", m.def.Ref(), m.def.Budget()), info)
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return withID(kernelcontract.Cancelled.Errorf("the caller of %s went away", m.def.Ref()), info)
	}
	e := *kernelcontract.AsError(err)
	if declared, ok := m.def.Errors[e.Code]; ok {
		e.Like, e.Retryable = declared.Like, declared.Retryable
	} else if _, known := e.Code.Row(); !known {
		e = *kernelcontract.Internal.Errorf("%s returned the code %q, which its definition does not declare: %w", m.def.Ref(), e.Code, err)
	}
	if e.Code == kernelcontract.Internal {
		c.host.log.Error("a handler failed", "ref", m.def.Ref(), "call", info.ID, "error", err)
	}
	return withID(&e, info)
}

func vetoed(plugin string, err error) error {
	if errors.Is(err, errPanic) {
		return err
	}
	reason := kernelcontract.AsError(err).Message
	if kernelcontract.CodeOf(err) == kernelcontract.Internal {
		reason = err.Error()
	}
	v := kernelcontract.Vetoed.Errorf("%s", reason)
	v.Details = map[string]any{"by": plugin}
	return v.WithCause(err)
}

func withID(err error, info *kernelcontract.CallInfo) error {
	e := *kernelcontract.AsError(err)
	e.CallID = info.ID
	return &e
}

// errPanic marks the error of a panic.
var errPanic = errors.New("panic")

// contain runs the plugin's code and returns its panic as an error.
func (h *Host) contain(what string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error(what+" panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = kernelcontract.Internal.Errorf("%s panicked: %v%w", what, p, errPanic)
		}
	}()
	return fn()
}
