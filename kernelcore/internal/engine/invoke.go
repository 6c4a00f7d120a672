package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/text"
)

var emptyObject = []byte("{}")

// errGoexit is what a handler did that returned neither a result nor a panic.
var errGoexit = errors.New("the handler ended its goroutine with runtime.Goexit instead of returning")

// Call runs a query or a mutation through the whole pipeline. It answers by the deadline even when the handler does not.
func (e *Engine) Call(ctx context.Context, r *Request) (Result, *kernelcontract.Error) {
	start := time.Now()
	res, err := e.call(ctx, r)
	e.record(r, start, err)
	return res, err
}

func (e *Engine) call(ctx context.Context, r *Request) (Result, *kernelcontract.Error) {
	d := r.Method.Def
	if d.Kind != kernelcontract.KindQuery && d.Kind != kernelcontract.KindMutation {
		return Result{}, kernelcontract.InvalidInput.Errorf("%s is a %s: it cannot be called, only opened", d.Ref(), d.Kind)
	}
	if err := e.Admit(r); err != nil {
		return Result{}, err
	}
	c := &callContext{}
	kerr := e.begin(ctx, r, &c.info)
	if kerr != nil {
		return Result{}, kerr
	}
	c.Context, c.deadline = kernelcontract.WithCall(ctx, &c.info), r.Deadline
	defer c.end(context.Canceled)
	input, kerr := e.input(r)
	if kerr != nil {
		return Result{}, kerr
	}
	m, kerr := e.enter(r.Method)
	if kerr != nil {
		return Result{}, kerr
	}
	if err := ctx.Err(); err != nil {
		c.end(err)
	}
	if !time.Now().Before(c.deadline) {
		c.end(context.DeadlineExceeded)
	}
	j := e.newJob()
	j.ctx, j.request, j.method, j.input = c, r, m, input
	e.deadlines.add(j)
	e.workers.do(j)
	select {
	case <-j.done:
		e.deadlines.remove(j)
		return j.answer()
	case <-ctx.Done():
		c.end(ctx.Err())
	case <-j.late:
		c.end(context.DeadlineExceeded)
	}
	e.deadlines.remove(j)
	select { // an answer that came at the same time counts
	case <-j.done:
		return j.answer()
	default: // the job is the handler's from here on
		return Result{}, contextError(c, d)
	}
}

// enter counts the call into the method's instance. A method whose instance has just been retired is looked up again:
// the swap came between resolution and call, and no call fails because of it.
func (e *Engine) enter(m *Method) (*Method, *kernelcontract.Error) {
	for {
		if m.instance.enter() {
			return m, nil
		}
		next := e.Catalog().Ref(m.Def.Ref())
		if next == nil {
			return nil, unavailable("%s is gone: its plugin was disabled or removed", m.Def.Ref())
		}
		if next.instance == m.instance {
			return nil, unavailable("the plugin of %s is stopping", m.Def.Ref())
		}
		m = next
	}
}

// Check returns what is wrong with the input of a request, as a call with it would answer.
func (e *Engine) Check(r *Request) []kernelcontract.Issue {
	if _, err := e.input(r); err != nil {
		return err.Issues
	}
	return nil
}

// input returns the validated input with ambient fields and defaults filled and hosts named by their ids.
func (e *Engine) input(r *Request) ([]byte, *kernelcontract.Error) {
	raw := r.Input
	if len(raw) == 0 {
		raw = emptyObject
	}
	raw = r.Method.Def.FillAmbient(raw, r.Context)
	v, err := r.Method.input.get(r.Method.Def.Input)
	if err != nil {
		return nil, e.pluginFault(r.Method, r.CallID, fmt.Errorf("the input type has no schema: %w", err))
	}
	normalized, issues := v.Input(raw)
	if len(issues) > 0 {
		return nil, kernelcontract.InvalidIssues(issues)
	}
	return e.resolveHosts(normalized, r.Method.Def), nil
}

// run is the part of a call that executes plugins: guards, handler, encoding, rendering. Nothing panics out of it.
func (e *Engine) run(ctx context.Context, r *Request, m *Method, info *kernelcontract.CallInfo, input []byte) (res Result, err *kernelcontract.Error) {
	defer func() {
		if p := recover(); p != nil {
			err = e.panicked(m, info.ID, p)
		}
	}()
	if err := e.guard(ctx, m, info, input); err != nil {
		return Result{}, err
	}
	value, herr := m.handler.Call(ctx, input)
	if herr != nil {
		return Result{}, e.handlerError(ctx, m, info.ID, herr)
	}
	res.Value = value
	if res.JSON, herr = m.encodeOutput(value); herr != nil {
		return Result{}, e.pluginFault(m, info.ID, fmt.Errorf("the result does not encode: %w", herr))
	}
	if err := e.checkOutput(m, info.ID, res.JSON); err != nil {
		return Result{}, err
	}
	if r.Text != nil {
		if res.Text, err = e.render(m, info.ID, value, res.JSON, *r.Text); err != nil {
			return Result{}, err
		}
	}
	return res, nil
}

func (e *Engine) guard(ctx context.Context, m *Method, info *kernelcontract.CallInfo, input []byte) *kernelcontract.Error {
	if m.PluginID() == kernelcontract.KernelID {
		return nil // else a guard could keep operators from disabling its plugin
	}
	for _, g := range e.Catalog().guards {
		if veto := g.guard(ctx, info, input); veto != nil {
			switch {
			case ctx.Err() != nil && errors.Is(veto, ctx.Err()):
				return contextError(ctx, m.Def)
			case errors.Is(veto, kernelcontract.ServiceUnavailable): // it has not judged
				return kernelcontract.AsError(veto)
			}
			err := kernelcontract.Vetoed.Errorf("%s", vetoReason(veto))
			err.Details = map[string]any{"by": g.plugin}
			return err
		}
	}
	return nil
}

func vetoReason(err error) string {
	var k *kernelcontract.Error
	if errors.As(err, &k) && k.Message != "" {
		return k.Message
	}
	return err.Error()
}

// checkOutput validates a result: always in development, where a violation is an error, and by sample in production,
// where it is a problem of the plugin.
func (e *Engine) checkOutput(m *Method, callID string, raw []byte) *kernelcontract.Error {
	if !e.o.Development && m.calls.Add(1)%OutputSample != 1 {
		return nil
	}
	v, err := m.output.get(m.Def.Output)
	if err != nil {
		return e.pluginFault(m, callID, fmt.Errorf("the output type has no schema: %w", err))
	}
	issues := v.Value(raw)
	if len(issues) == 0 {
		return nil
	}
	err = fmt.Errorf("%s returned what its schema refuses: %s", m.Def.Ref(), issues[0])
	if !e.o.Development {
		e.problem(m.PluginID(), err)
		return nil
	}
	return e.pluginFault(m, callID, err)
}

func (e *Engine) render(m *Method, callID string, value any, raw []byte, r kernelcontract.Render) (string, *kernelcontract.Error) {
	if m.Def.RendersText() {
		s, err := m.Def.RenderText(value, r)
		if err != nil {
			return "", e.pluginFault(m, callID, err)
		}
		return s, nil
	}
	out, err := m.Def.Output()
	if err != nil {
		return "", e.pluginFault(m, callID, err)
	}
	return text.Render(raw, out, r), nil
}

// handlerError turns what a handler returned into what its caller may see: a kernel code or a declared one as it is, all
// else Internal with the text in the log only.
func (e *Engine) handlerError(ctx context.Context, m *Method, callID string, err error) *kernelcontract.Error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return contextError(ctx, m.Def)
	}
	k := kernelcontract.AsError(err)
	if k.Code == kernelcontract.Internal {
		return e.pluginFault(m, callID, err)
	}
	c := *k
	if def, declared := m.Def.Errors[c.Code]; declared {
		c.Like, c.Retryable = def.Like, def.Retryable
		if c.Message == "" {
			c.Message = def.Description
		}
		return &c
	}
	if _, kernel := c.Code.Row(); !kernel {
		return e.pluginFault(m, callID, fmt.Errorf("the code %q is not declared in Errors: %w", c.Code, err))
	}
	return &c
}

// contextError is the answer to a call whose context ended before it.
func contextError(ctx context.Context, d *kernelcontract.MethodDef) *kernelcontract.Error {
	var err *kernelcontract.Error
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = kernelcontract.Timeout.Errorf("%s did not answer within its deadline", d.Ref())
	} else {
		err = kernelcontract.Cancelled.Errorf("the caller of %s went away", d.Ref())
	}
	err.Retryable = d.Kind == kernelcontract.KindQuery || d.Kind == kernelcontract.KindStream
	return err
}

// pluginFault logs what a plugin did wrong and returns the Internal that hides it.
func (e *Engine) pluginFault(m *Method, callID string, cause error) *kernelcontract.Error {
	e.o.Log.Error("handler failed", "call", callID, "ref", m.Def.Ref(), "error", cause)
	return (&kernelcontract.Error{
		Code: kernelcontract.Internal, Message: "the handler failed; the log has the cause under call " + callID,
	}).WithCause(cause)
}

func (e *Engine) panicked(m *Method, callID string, p any) *kernelcontract.Error {
	e.o.Log.Error("handler panicked", "call", callID, "ref", m.Def.Ref(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return &kernelcontract.Error{
		Code: kernelcontract.Internal, Message: "the handler panicked; the log has the stack under call " + callID,
	}
}
