package httpapi

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/evidence"
	"github.com/bb-kernel/bb/kernelcontract/header"
)

// identify finds out who calls, and reads the headers that are not evidence; a problem of those is kept for later. It
// answers what ends here: a refusal, and a preflight, which carries no credentials. ok is false then.
func (x *exchange) identify(auth kernelcontract.Auth) (ok bool) {
	r, e := x.r, &x.evidence
	x.render, x.problem = header.ParseRender(r.Header[header.Render])
	x.gather(auth)
	policy := x.h.o.Policy
	if len(e.Origin) > 0 && policy.AllowsOrigin(e) {
		x.share(e.Origin[0])
	}
	if err := policy.Screen(e); err != nil {
		x.refuse(err)
		return false
	}
	if r.Method == http.MethodOptions {
		x.preflight()
		return false
	}
	if err := x.credentials(); err != nil {
		x.refuse(err)
		return false
	}
	principal, _, err := policy.Derive(e)
	if err != nil {
		x.refuse(err)
		return false
	}
	x.req.Principal, x.req.Context, x.req.Local = principal, x.context(), policy.Local(e)
	return true
}

// context returns the context of the call: that of the request, with what the session of its credential knows in the place
// of what it leaves out. A thread that does not exist is a problem of the header.
func (x *exchange) context() kernelcontract.Context {
	c, own := x.evidence.Context, x.session
	if c.ThreadID != "" && c.ThreadID != own.ThreadID && x.h.o.LiveThread != nil && x.problem == nil && !x.h.o.LiveThread(c.ThreadID) {
		x.problem = kernelcontract.InvalidInput.Errorf("the header %s names the thread %q, which does not exist; `bb thread list` shows them", header.Context, short(c.ThreadID))
	}
	return kernelcontract.Context{
		ThreadID: cmp.Or(c.ThreadID, own.ThreadID), ProjectID: cmp.Or(c.ProjectID, own.ProjectID),
		EnvironmentID: cmp.Or(c.EnvironmentID, own.EnvironmentID), HostID: cmp.Or(c.HostID, own.HostID), CWD: cmp.Or(c.CWD, own.CWD),
	}
}

// gather collects the evidence that costs nothing, and the other headers. Of their problems the first counts, in the
// order X-BB-Client, x-bb-context, Bb-Render, Last-Event-ID.
func (x *exchange) gather(auth kernelcontract.Auth) {
	r, e := x.r, &x.evidence
	client, clientProblem := header.ParseClient(r.Header[clientKey])
	x.req.Client = client
	context, contextProblem := header.ParseContext(r.Header[contextKey])
	since, sinceProblem := header.ParseLastEventID(r.Header[lastEventIDKey])
	x.since = since
	for _, problem := range []*kernelcontract.Error{sinceProblem, x.problem, contextProblem, clientProblem} {
		if problem != nil {
			x.problem = problem
		}
	}
	e.Auth, e.Context, e.Host = auth, context, r.Host
	if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		e.Peer = addr.Addr()
	}
	e.Origin, e.FetchSite = r.Header["Origin"], r.Header["Sec-Fetch-Site"]
	if len(e.Origin) > 0 {
		e.TLS = r.TLS != nil
		if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			if local, err := netip.ParseAddrPort(addr.String()); err == nil {
				e.Port = local.Port()
			}
		}
	}
	if len(e.FetchSite) > 0 {
		e.Navigation = (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.URL.EscapedPath() == "/" &&
			r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	}
	e.Forwarded = evidence.Forwarded(r.Header)
	if proxy := r.Header[header.HostProxy]; len(proxy) == 1 {
		e.HostProxy = proxy[0] == "1"
	}
	e.GatePresent = len(r.Header[header.Gate]) > 0
}

// credentials looks up the bearer and verifies the gate header. It runs after the screen: a gate's nonce is used up, and
// a foreign page gets no answer about a secret.
func (x *exchange) credentials() *kernelcontract.Error {
	r, e := x.r, &x.evidence
	kind, secret := evidence.Bearer(r.Header["Authorization"])
	e.Credential.Kind = kind
	if secret != "" {
		e.Credential.Kind = evidence.InvalidCredential
		if x.h.o.Lookup != nil {
			found, err := x.h.o.Lookup(r.Context(), kind, secret, e.Context)
			if err != nil {
				x.h.o.Log.Error("credential lookup failed", "call", x.callID, "error", err)
				return kernelcontract.Internal.Errorf("the credential could not be looked up; the log has the cause under call %s", x.callID)
			}
			e.Credential, x.req.ReadOnly, x.revoked = found.Credential, found.ReadOnly, found.Revoked
			x.session = found.Context
		}
	}
	if gate := r.Header[header.Gate]; len(gate) > 0 {
		e.GatePresent = true
		if e.Loopback() {
			e.Gate, _ = x.h.o.Gate.Verify(gate, r.Method, r.RequestURI, time.Now())
		}
	}
	return nil
}
