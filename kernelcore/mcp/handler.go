package mcp

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
)

// Bounds of what clients may use up.
const (
	// MaxBody bounds one message, in bytes: the largest input of a call, and room for the envelope around it.
	MaxBody = 1<<20 + 64<<10
	// MaxSessions bounds the sessions that are open at once. Clients that die leave theirs behind, so another one ends
	// the oldest.
	MaxSessions = 1000
	// SessionTimeout ends a session that sent nothing for so long. An agent may wait for its user over night.
	SessionTimeout = 24 * time.Hour
)

// statelessVersion is the first version of the protocol without sessions: each request stands for itself.
const statelessVersion = "2026-07-28"

// Handler returns the endpoint for the tools of k, by streamable HTTP with and without sessions. Mount it behind k.Guard:
// it refuses requests that did not come through it. It needs no end of its own: what it keeps open ends with k.Drain or
// k.Close.
func Handler(k *kernelcore.Kernel) http.Handler {
	e := &endpoint{kernel: k, registered: map[string]*registered{}, resources: map[string]resource{}, owners: map[string]*kernelcore.Visitor{}}
	e.server = sdk.NewServer(&sdk.Implementation{Name: "bb", Title: "bb", Version: version()}, &sdk.ServerOptions{
		// Said even while there is no tool, since one may come.
		Capabilities: &sdk.ServerCapabilities{
			Tools: &sdk.ToolCapabilities{ListChanged: true}, Resources: &sdk.ResourceCapabilities{ListChanged: true},
		},
	})
	e.server.AddReceivingMiddleware(e.receive)
	serve := func(o sdk.StreamableHTTPOptions) http.Handler {
		o.JSONResponse, o.MaxRequestBodyBytes = true, MaxBody
		o.DisableLocalhostProtection = true // the guard judges the Host header, and knows which names are ours
		h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return e.server }, &o)
		return auth.RequireBearerToken(owner, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
	}
	e.sessions = serve(sdk.StreamableHTTPOptions{SessionTimeout: SessionTimeout})
	e.stateless = serve(sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	return e
}

// endpoint is the handler.
type endpoint struct {
	kernel    *kernelcore.Kernel
	server    *sdk.Server
	sessions  http.Handler
	stateless http.Handler

	catalogMu    sync.Mutex
	generation   uint64
	registered   map[string]*registered // by name
	resources    map[string]resource    // by URI
	instructions string                 // of all tools

	ownersMu sync.Mutex
	owners   map[string]*kernelcore.Visitor // of sessions, by their id
}

// The names of headers.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := e.kernel.Visitor(r.Context())
	if v == nil {
		http.Error(w, "the tools are not served here: mount the handler behind Kernel.Guard", http.StatusInternalServerError)
		return
	}
	e.refresh()
	ctx := context.WithValue(r.Context(), visitorKey{}, v)
	session := r.Header.Get(sessionHeader)
	next := e.sessions
	switch {
	case r.Header.Get(versionHeader) >= statelessVersion:
		next = e.stateless
	case r.Method == http.MethodGet:
		var end func()
		if ctx, end = e.follow(ctx, v); ctx.Err() != nil {
			end()
			w.Header().Set("Retry-After", "1")
			http.Error(w, string(kernelcontract.ServiceUnavailable)+": the server is stopping", http.StatusServiceUnavailable)
			return
		}
		defer e.closeRevoked(v, session)
		defer end()
	case r.Method == http.MethodPost && session == "":
		e.makeRoom()
	}
	// As long as a call or a stream takes, whatever the server allows its other answers.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	r = r.WithContext(ctx)
	r.Header = maps.Clone(r.Header)
	r.Header.Set("Authorization", "Bearer guarded") // what the guard has checked is nobody else's business
	next.ServeHTTP(w, r)
}

// visitorKey is the context key of the *kernelcore.Visitor of a request.
type visitorKey struct{}

// visitorExtra is where a request of the protocol's library carries the visitor.
const visitorExtra = "visitor"

// owner tells the library whom the guard let in. It refuses the requests of others in a session.
func owner(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	v := ctx.Value(visitorKey{}).(*kernelcore.Visitor)
	p := v.Principal()
	return &auth.TokenInfo{UserID: p.Actor + " by " + string(p.Via), Extra: map[string]any{visitorExtra: v}}, nil
}

// visitorOf returns who sent a request.
func visitorOf(r sdk.Request) *kernelcore.Visitor {
	extra := r.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	v, _ := extra.TokenInfo.Extra[visitorExtra].(*kernelcore.Visitor)
	return v
}

// receive is called around each message of a client.
func (e *endpoint) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		v := visitorOf(r)
		if v != nil && method == "subscriptions/listen" {
			var end func()
			ctx, end = e.follow(ctx, v)
			defer end()
		}
		res, err := next(ctx, method, r)
		if err != nil {
			return nil, err
		}
		switch res := res.(type) {
		case *sdk.InitializeResult:
			res.Instructions = e.guidance()
			if id := r.GetSession().ID(); id != "" && v != nil {
				e.own(id, v)
			}
		case *sdk.DiscoverResult:
			res.Instructions = e.guidance()
		}
		return res, nil
	}
}

// follow keeps the tools of the protocol's library those of the catalog, which tells clients of changes, until end is
// called. The context ends with that, when the visitor's credential is revoked, and when the kernel stops.
func (e *endpoint) follow(ctx context.Context, v *kernelcore.Visitor) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	select {
	case <-e.kernel.Stopping():
		cancel()
	default:
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		defer cancel()
		for {
			changed := e.kernel.Changed()
			e.refresh()
			select {
			case <-changed:
			case <-v.Revoked():
				return
			case <-e.kernel.Stopping():
				return
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() {
		cancel()
		wait.Wait()
	}
}
