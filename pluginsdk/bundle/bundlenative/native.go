// Package bundlenative runs a bundle without a sandbox: as an http.Handler, with services in memory. It is for tests of
// bundles. What a host adds, such as the limits of time and memory, is not there.
package bundlenative

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/bb-kernel/bb/pluginsdk/bundle"
	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
	"github.com/bb-kernel/bb/pluginsdk/bundle/metadata"
)

// MaxBody bounds the body of a request, as a host does unless told otherwise.
const MaxBody = 256 << 10

// SessionHeader names the session of a request.
const SessionHeader = "Bb-Session-Id"

// Options says as whom an agent runs. The zero value is the agent "test" for user:local.
type Options struct {
	AgentID   string            // "": test
	Env       map[string]string // what the operator would set
	Caller    string            // "": user:local
	PublicURL string
	Services  *Services // nil: new ones
}

// Native is an agent that runs in this process. It is an http.Handler of the agent's routes, and safe for concurrent use:
// calls wait for one another, as they do in an instance.
type Native struct {
	o        Options
	agent    bundle.Agent
	metadata metadata.Metadata
	routes   *metadata.Table

	mu     sync.Mutex
	runner *bundle.Runner
}

// New returns an agent that runs in this process. The error is that of Agent.Check.
func New(a bundle.Agent, o Options) (*Native, error) {
	m, err := a.Metadata()
	if err != nil {
		return nil, err
	}
	if o.AgentID == "" {
		o.AgentID = "test"
	}
	if o.Caller == "" {
		o.Caller = "user:local"
	}
	if o.Services == nil {
		o.Services = &Services{}
	}
	n := &Native{o: o, agent: a, metadata: m, routes: metadata.NewTable(m.Surfaces.HTTPRoutes)}
	n.runner = bundle.NewRunner(&n.agent, o.Services.answer)
	return n, nil
}

// Services returns what the agent has kept and told.
func (n *Native) Services() *Services { return n.o.Services }

// ServeHTTP answers a route. It refuses what a host refuses: unknown paths and methods, and bodies over MaxBody.
func (n *Native) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := n.routes.Match(r.Method, r.URL.EscapedPath())
	if !m.Found {
		if len(m.Allow) > 0 {
			w.Header().Set("Allow", strings.Join(m.Allow, ", "))
			http.Error(w, "the route does not answer "+r.Method, http.StatusMethodNotAllowed)
			return
		}
		http.Error(w, "the agent has no such route", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	headers := map[string]string{}
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	res, out, err := n.dispatch(r.Context(), abi.Request{
		Kind: abi.HTTP, CapabilityID: m.Route.CapabilityID, SessionID: r.Header.Get(SessionHeader), Method: m.Route.Method, Route: m.Route.Path,
		Path: r.URL.EscapedPath(), Params: m.Params, Query: r.URL.Query(), Headers: headers,
	}, body)
	if err != nil {
		http.Error(w, err.Error(), statusOf(err))
		return
	}
	for name, value := range res.Headers {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	w.WriteHeader(res.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(out)
	}
}

// statusOf maps a code as the host's table does.
func statusOf(err error) int {
	switch {
	case errors.Is(err, bundle.InvalidInput):
		return http.StatusBadRequest
	case errors.Is(err, bundle.NotFound):
		return http.StatusNotFound
	case errors.Is(err, bundle.Conflict):
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

// Action runs an action of a capability. sessionID "" is none.
func (n *Native) Action(ctx context.Context, sessionID, capabilityID, action string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, _, err = n.dispatch(ctx, abi.Request{Kind: abi.Action, SessionID: sessionID, CapabilityID: capabilityID, Action: action}, raw)
	return err
}

// Tool runs a tool and returns its text.
func (n *Native) Tool(ctx context.Context, sessionID, tool string, input any) (string, error) {
	for _, t := range n.metadata.Surfaces.Tools {
		if t.Name != tool {
			continue
		}
		raw, err := json.Marshal(input)
		if err != nil {
			return "", err
		}
		_, out, err := n.dispatch(ctx, abi.Request{Kind: abi.Tool, SessionID: sessionID, CapabilityID: t.CapabilityID, Tool: tool, CallID: "call-1"}, raw)
		return string(out), err
	}
	return "", bundle.Errorf(bundle.NotFound, "the agent has no tool %q", tool)
}

// Hook runs a hook of a capability, or of the agent for metadata.AgentItself, and returns its text when it is a prompt.
func (n *Native) Hook(ctx context.Context, sessionID, capabilityID string, hook metadata.Hook) (string, error) {
	if capabilityID == metadata.AgentItself {
		capabilityID = ""
	}
	_, out, err := n.dispatch(ctx, abi.Request{Kind: abi.Hook, SessionID: sessionID, CapabilityID: capabilityID, Hook: hook}, nil)
	return string(out), err
}

// dispatch sends a request to the agent, one at a time.
func (n *Native) dispatch(ctx context.Context, q abi.Request, body []byte) (abi.Response, []byte, error) {
	q.AgentID, q.Caller, q.PublicURL, q.Env = n.o.AgentID, n.o.Caller, n.o.PublicURL, n.o.Env
	q.Token = n.o.Services.begin(running{q.AgentID, q.SessionID, q.CapabilityID})
	defer n.o.Services.end(q.Token)
	frame, err := abi.Append(nil, q, body)
	if err != nil {
		return abi.Response{}, nil, err
	}
	n.mu.Lock()
	answer := n.runner.Dispatch(ctx, frame)
	n.mu.Unlock()
	var res abi.Response
	out, err := abi.Split(answer, &res)
	if err != nil {
		return abi.Response{}, nil, fmt.Errorf("the bundle's answer: %w", err)
	}
	if res.Error != nil {
		return abi.Response{}, nil, res.Error
	}
	return res, out, nil
}
