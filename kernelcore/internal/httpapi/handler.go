// Package httpapi is the kernel's HTTP surface: one http.Handler that resolves each request against the live catalog, so
// that a reload remounts nothing. It owns what belongs to the transport, from evidence to server-sent events, and leaves
// what a call does to package engine. The rules are in docs/spec/http.md.
package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/evidence"
	"github.com/bb-kernel/bb/kernelcontract/header"
	"github.com/bb-kernel/bb/kernelcontract/route"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

// Limits of the transport.
const (
	// MaxBody bounds the input of a mutation: it is held in memory as a whole.
	MaxBody = 1 << 20
	// MaxDiscard and DiscardTime bound what is read of a body that nobody wants before the refusal is answered. Without
	// it a client that still writes sees a reset connection instead of the answer.
	MaxDiscard  = 2 << 20
	DiscardTime = time.Second
	// Heartbeat is the pause after which an idle stream sends a comment: below the idle timeouts of common proxies.
	Heartbeat = 15 * time.Second
	// SlowReader is how long a reader may take nothing before it is cut: its item buffer and its handler are held.
	SlowReader = 60 * time.Second
	// FlushBytes and FlushDelay bound what a stream holds back while further items are ready.
	FlushBytes = 32 << 10
	FlushDelay = 5 * time.Millisecond
	// RetryMillis is what a stream tells its reader to wait before it reconnects.
	RetryMillis = 1000
	// RetryAfter is what an unavailable service tells its caller to wait.
	RetryAfter = time.Second
)

// Options configures a Handler. Engine and Policy are required.
type Options struct {
	Engine   *engine.Engine
	ServerID string
	Policy   *evidence.Policy
	Gate     *evidence.Gate // nil: no gate header verifies
	// Lookup finds a bearer secret; nil: none is valid.
	Lookup Lookup
	// LiveThread reports whether a thread that a context names exists; nil: each does.
	LiveThread func(id string) bool
	Log        *slog.Logger // nil: nothing is logged
	// Heartbeat and SlowReader replace the constants of the same name; zero: those.
	Heartbeat, SlowReader time.Duration
}

// Lookup finds the owner of a bearer secret of a kind in the store. c is the context that a host key acts in. An unknown,
// expired or revoked one has the kind evidence.InvalidCredential.
type Lookup func(ctx context.Context, kind evidence.CredentialKind, secret string, c kernelcontract.Context) (Found, error)

// Found is what a Lookup found.
type Found struct {
	Credential evidence.Credential
	// Context fills what the request's own context leaves out, after the evidence was judged.
	Context  kernelcontract.Context
	ReadOnly bool            // its scope admits only queries and streams
	Revoked  <-chan struct{} // closed when it is revoked or expires, which ends its streams; nil: never
}

// Handler answers every method of the catalog, raw endpoints included. It is safe for concurrent use.
type Handler struct {
	o         Options
	serverID  []string
	exchanges sync.Pool // of *exchange
}

// New returns a Handler.
func New(o Options) *Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = Heartbeat
	}
	if o.SlowReader == 0 {
		o.SlowReader = SlowReader
	}
	return &Handler{o: o, serverID: []string{o.ServerID}, exchanges: sync.Pool{New: func() any { return new(exchange) }}}
}

// exchange is one request on its way through the steps.
type exchange struct {
	h        *Handler
	w        http.ResponseWriter
	r        *http.Request
	start    time.Time
	callID   string
	evidence evidence.Evidence
	method   *engine.Method         // nil: no such route
	render   *kernelcontract.Render // nil: JSON
	revoked  <-chan struct{}        // see Found
	session  kernelcontract.Context // see Found.Context
	req      engine.Request
	problem  *kernelcontract.Error // of a header, answered after route and verb
	since    string                // Last-Event-ID
	unread   bool                  // there is a body of which nothing was read
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := h.begin(w, r)
	path := escapedPath(r.URL)
	catalog := h.o.Engine.Catalog()
	if _, _, _, ok := route.Match(path); ok {
		x.method = catalog.Route(path[len(route.Prefix):])
	} else {
		x.method = catalog.Path(path)
	}
	auth, deadline := kernelcontract.AuthOperator, kernelcontract.QueryWait
	if x.method != nil {
		auth, deadline = x.method.Def.Access.Auth, x.method.Def.Budget()
	}
	x.stamp(catalog.Generation, deadline)
	if !x.identify(auth) {
		return
	}
	if x.method == nil {
		x.refuse(kernelcontract.NotFound.Errorf("there is no route %s; `bb --help` lists the words, `bb guide reference <plugin>` the routes of a plugin", short(path)))
		return
	}
	x.serve()
}

// escapedPath returns the path as it came on the wire. Without a raw form it is the path itself, wherever that has only
// the bytes of names; what has others is no route in either form.
func escapedPath(u *url.URL) string {
	if u.RawPath == "" {
		return u.Path
	}
	return u.EscapedPath()
}

func (h *Handler) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := h.exchanges.Get().(*exchange)
	x.h, x.w, x.r, x.start = h, w, r, time.Now()
	x.unread = r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
	return x
}

// end keeps the exchange for another request. Only a call that has answered may end it: the engine still reads the
// request of one that timed out, and of a stream.
func (x *exchange) end() {
	h := x.h
	*x = exchange{}
	h.exchanges.Put(x)
}

// serve goes on with a known method and a known caller.
func (x *exchange) serve() {
	d := x.method.Def
	x.req.Method, x.req.CallID, x.req.Deadline, x.req.Text = x.method, x.callID, x.start.Add(d.Budget()), x.render
	if allow := allowed(d.Kind); allow != "" && !takes(d.Kind, x.r.Method) {
		x.w.Header().Set("Allow", allow)
		err := kernelcontract.InvalidInput.Errorf("%s is a %s: use %s instead of %s", d.Ref(), d.Kind, route.Verb(d.Kind), short(x.r.Method))
		err.Refusal = kernelcontract.WrongVerb
		x.refuseCall(err)
		return
	}
	if x.problem != nil {
		x.refuseCall(x.problem)
		return
	}
	if err := x.h.o.Engine.Admit(&x.req); err != nil {
		x.refuseCall(err)
		return
	}
	switch d.Kind {
	case kernelcontract.KindCustom:
		x.custom(x.method.HTTPHandler())
	case kernelcontract.KindMutation:
		if x.body() {
			x.unary()
		}
	case kernelcontract.KindStream:
		if _, ok := x.query(); ok {
			x.stream()
		}
	default:
		x.keepReading()
		x.unary()
	}
}

// allowed is the Allow header of a kind; "" for a raw endpoint, which chooses itself.
func allowed(k kernelcontract.Kind) string {
	if k == kernelcontract.KindQuery {
		return "GET, HEAD"
	}
	return route.Verb(k)
}

func takes(k kernelcontract.Kind, verb string) bool {
	return verb == route.Verb(k) || k == kernelcontract.KindQuery && verb == http.MethodHead
}

// query reads the query string: the input unless the method is a mutation, and what the transport wants.
func (x *exchange) query() (t route.Transport, ok bool) {
	d := x.method.Def
	var in *schema.Schema
	if d.Kind != kernelcontract.KindMutation {
		in, _ = d.Input() // without a schema the call fails and says so
	}
	if len(x.r.RequestURI) > route.MaxURL {
		x.refuseCall(kernelcontract.InvalidInput.Errorf("the URL has %d bytes, it may have %d", len(x.r.RequestURI), route.MaxURL))
		return t, false
	}
	input, t, issues := route.Decode(in, d.Kind, x.r.URL.RawQuery)
	if len(issues) > 0 {
		issues = route.Issues(in, d.Kind, x.r.URL.RawQuery, func(input json.RawMessage) []schema.Issue {
			x.req.Input = input
			return x.h.o.Engine.Check(&x.req)
		})
		x.refuseCall(kernelcontract.InvalidIssues(issues))
		return t, false
	}
	if d.Kind != kernelcontract.KindMutation {
		x.req.Input = input
	}
	x.req.Since = t.Since
	if x.since != "" {
		x.req.Since = x.since
	}
	return t, true
}

// unary runs a query or a mutation and answers its result.
func (x *exchange) unary() {
	t, ok := x.query()
	if !ok {
		return
	}
	if x.method.Def.Wait > 0 { // as long as it takes, whatever the server allows its other answers
		_ = http.NewResponseController(x.w).SetWriteDeadline(x.req.Deadline.Add(x.h.o.SlowReader))
	}
	res, err := x.h.o.Engine.Call(x.r.Context(), &x.req)
	if err != nil {
		x.fail(err)
		return
	}
	x.result(&res, t.Raw)
	x.end()
}

// custom hands the request to a raw endpoint.
func (x *exchange) custom(next http.Handler) {
	if next == nil {
		x.refuseCall(kernelcontract.Internal.Errorf("%s has no HTTP handler", x.method.Def.Ref()))
		return
	}
	x.h.o.Engine.Record(&x.req, x.start, x.pass(next))
}

// pass runs a raw handler with the call in its context. Its panics are answered and returned, unless they are the one that
// net/http knows.
func (x *exchange) pass(next http.Handler) (failure *kernelcontract.Error) {
	info := &kernelcontract.CallInfo{ID: x.callID, Principal: x.req.Principal, Client: x.req.Client, Context: x.req.Context}
	if x.method != nil {
		info.Ref = x.method.Def.Ref()
	}
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			x.h.o.Log.Error("handler panicked", "call", x.callID, "path", x.r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			failure = kernelcontract.Internal.Errorf("the handler panicked; the log has the stack under call %s", x.callID)
			x.fail(failure)
		}
	}()
	next.ServeHTTP(x.w, x.r.WithContext(kernelcontract.WithCall(x.r.Context(), info)))
	return nil
}

// Guard puts next, a page or an endpoint beside the methods, behind the same evidence and admission. With headers its
// answers carry those of the API. The call's principal is in CallFrom of the request's context.
func (h *Handler) Guard(access kernelcontract.Access, headers bool, next http.Handler) http.Handler {
	auth := access.Auth
	if auth == "" {
		auth = kernelcontract.AuthOperator
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := h.begin(w, r)
		if headers {
			x.stamp(h.o.Engine.Catalog().Generation, kernelcontract.QueryWait)
		} else {
			x.callID = h.o.Engine.NextCallID()
		}
		if !x.identify(auth) {
			return
		}
		switch p := x.req.Principal; {
		case x.problem != nil:
			x.refuse(x.problem)
		case !auth.Admits(p.Via):
			x.refuse(kernelcontract.Forbidden.Errorf("%s does not admit callers by %s", r.URL.Path, p.Via))
		case access.Local && !x.req.Local:
			x.refuse(kernelcontract.Forbidden.Errorf("%s can only be used on the machine that the server runs on", r.URL.Path))
		case !access.AdmitsActor(p.Kind()):
			x.refuse(kernelcontract.Forbidden.Errorf("%s does not admit the actor %s", r.URL.Path, p.Actor))
		default:
			guest := &Guest{ReadOnly: x.req.ReadOnly, Local: x.req.Local, Revoked: x.revoked}
			x.r = r.WithContext(context.WithValue(r.Context(), guestKey{}, guest))
			x.pass(next)
		}
	})
}

// Guest is what Guard knows of a caller beside what CallFrom says.
type Guest struct {
	ReadOnly bool            // its scope admits only queries and streams
	Local    bool            // it meets the rules of local methods
	Revoked  <-chan struct{} // see Found
}

// guestKey is the context key of the Guest.
type guestKey struct{}

// GuestFrom returns the guest of a request that Guard let in, nil for others.
func GuestFrom(ctx context.Context) *Guest {
	g, _ := ctx.Value(guestKey{}).(*Guest)
	return g
}

// shown bounds how much of a foreign value a message repeats, in bytes.
const shown = 200

func short(s string) string {
	if len(s) > shown {
		return s[:shown] + "…"
	}
	return s
}

// keys of a header map for those names that are not written in canonical form.
var (
	clientKey      = http.CanonicalHeaderKey(header.Client)
	contextKey     = http.CanonicalHeaderKey(header.Context)
	lastEventIDKey = http.CanonicalHeaderKey(header.LastEventID)
)
