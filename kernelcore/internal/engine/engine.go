package engine

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// MaxNesting bounds how deep plugins may call each other inside one call: a cycle ends with an error, not with the
// memory of the machine.
const MaxNesting = 64

// OutputSample is how many calls of a method share one output validation in production: violations of a deployed plugin
// are found within a hundred calls at a cost that no one can measure.
const OutputSample = 64

// Options configures an engine.
type Options struct {
	Log *slog.Logger
	// Development validates every output and answers a violation as an error; otherwise every OutputSample-th is
	// validated and a violation is reported.
	Development bool
	// OnCall observes every finished call; nil: none. It must be fast and safe for concurrent use.
	OnCall func(CallRecord)
	// OnProblem is told of a plugin's fault that did not fail the call; nil: it is only logged.
	OnProblem func(plugin string, err error)
	// ResolveHost returns the id of a host that is named by id or name, and what is neither as it is; nil: names stay.
	ResolveHost func(idOrName string) string
}

// Engine runs calls against the current catalog.
type Engine struct {
	o         Options
	catalog   atomic.Pointer[Catalog]
	draining  atomic.Bool
	streams   atomic.Int64 // that are open
	ids       *callIDs
	workers   *workers
	jobs      sync.Pool // of *job that wait for a call
	deadlines deadlines
	Log       CallLog
}

// New returns an engine with an empty catalog.
func New(o Options) *Engine {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{o: o, ids: newCallIDs(), workers: newWorkers()}
	e.catalog.Store(NewCatalog(0, nil, nil))
	return e
}

// Catalog returns the current snapshot.
func (e *Engine) Catalog() *Catalog { return e.catalog.Load() }

// Swap makes c current. Calls in flight finish on the snapshot that they began with.
func (e *Engine) Swap(c *Catalog) { e.catalog.Store(c) }

// Drain makes every further call answer ServiceUnavailable. Calls in flight go on; whoever retires their instances waits
// for them.
func (e *Engine) Drain() { e.draining.Store(true) }

// Stop releases what the engine keeps for the next call. Call it once every instance is retired.
func (e *Engine) Stop() {
	e.workers.close()
	e.deadlines.stop()
}

// Draining reports whether Drain was called.
func (e *Engine) Draining() bool { return e.draining.Load() }

// OpenStreams returns how many streams are open now.
func (e *Engine) OpenStreams() int { return int(e.streams.Load()) }

// NextCallID returns a new call id.
func (e *Engine) NextCallID() string { return string(e.AppendCallID(nil, time.Now())) }

// AppendCallID appends a new call id to b: the text of a call that began now.
func (e *Engine) AppendCallID(b []byte, now time.Time) []byte { return e.ids.append(b, now) }

// Request is one call. Method, Principal and Input are required.
type Request struct {
	Method    *Method
	Input     []byte // the input object; empty is {}
	Principal kernelcontract.Principal
	Client    kernelcontract.ClientInfo
	Context   kernelcontract.Context
	CallID    string    // "": a new one
	Since     string    // cursor of a resumed stream
	Deadline  time.Time // zero: the method's budget from now
	Local     bool      // the caller meets the rules of local methods
	ReadOnly  bool      // the caller's credential admits only queries and streams
	// Text asks for the text rendering besides the value.
	Text *kernelcontract.Render
}

// Result is what a query or a mutation answered.
type Result struct {
	Value any    // of the method's output type
	JSON  []byte // Value as JSON
	Text  string // when the request asked for it
}

// Admit decides whether the caller may call at all, before any of the input is read: auth, local, actor, scope, target,
// drain.
func (e *Engine) Admit(r *Request) *kernelcontract.Error {
	d := r.Method.Def
	switch {
	case !d.Access.Auth.Admits(r.Principal.Via) && r.Principal.Via == kernelcontract.ViaAnonymous:
		return kernelcontract.Unauthenticated.Errorf("%s needs a credential: send Authorization: Bearer with a token made by `bb-server token create`", d.Ref())
	case !d.Access.Auth.Admits(r.Principal.Via):
		return kernelcontract.Forbidden.Errorf("%s does not admit callers by %s", d.Ref(), r.Principal.Via)
	case d.Access.Local && !r.Local:
		return kernelcontract.Forbidden.Errorf("%s can only be called from the machine that the server runs on", d.Ref())
	case !d.Access.AdmitsActor(r.Principal.Kind()):
		return kernelcontract.Forbidden.Errorf("%s does not admit the actor %s", d.Ref(), r.Principal.Actor)
	case r.ReadOnly && d.Kind != kernelcontract.KindQuery && d.Kind != kernelcontract.KindStream:
		return kernelcontract.Forbidden.Errorf("%s changes something and the token's scope is read", d.Ref())
	case d.Target == kernelcontract.OnHost:
		return unavailable("%s runs on a host, and no host runs it now", d.Ref())
	case e.draining.Load():
		return unavailable("the server is stopping")
	}
	return nil
}

// unavailable is a ServiceUnavailable of a call whose handler was not reached.
func unavailable(format string, args ...any) *kernelcontract.Error {
	err := kernelcontract.ServiceUnavailable.Errorf(format, args...)
	err.Retryable = true
	return err
}

// begin fills what the request leaves open, and info with what its handler may know.
func (e *Engine) begin(ctx context.Context, r *Request, info *kernelcontract.CallInfo) *kernelcontract.Error {
	if r.CallID == "" {
		r.CallID = e.NextCallID()
	}
	if r.Deadline.IsZero() {
		r.Deadline = time.Now().Add(r.Method.Def.Budget())
	}
	depth := kernelcontract.CallFrom(ctx).Depth
	if depth >= MaxNesting {
		return kernelcontract.Internal.Errorf("%s was called %d plugins deep: they call each other in a circle", r.Method.Def.Ref(), depth)
	}
	*info = kernelcontract.CallInfo{
		ID: r.CallID, Ref: r.Method.Def.Ref(), Since: r.Since, Principal: r.Principal, Client: r.Client, Context: r.Context,
		Depth: depth + 1,
	}
	return nil
}

func (e *Engine) record(r *Request, start time.Time, err *kernelcontract.Error) {
	rec := CallRecord{
		ID: r.CallID, Ref: r.Method.Def.Ref(), Kind: r.Method.Def.Kind, Principal: r.Principal, Client: r.Client,
		Start: start, Duration: time.Since(start), Generation: e.Catalog().Generation,
	}
	if err != nil {
		rec.Code = err.Code
		err.CallID = r.CallID
	}
	e.Log.add(&rec)
	if e.o.OnCall != nil {
		e.o.OnCall(rec)
	}
}

// Record logs a call that was refused before it reached the pipeline.
func (e *Engine) Record(r *Request, start time.Time, err *kernelcontract.Error) {
	e.record(r, start, err)
}

func (e *Engine) problem(plugin string, err error) {
	e.o.Log.Warn("plugin problem", "plugin", plugin, "problem", err)
	if e.o.OnProblem != nil {
		e.o.OnProblem(plugin, err)
	}
}
