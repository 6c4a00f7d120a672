package evidence

import (
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/internal/clip"
)

// localUser is who a process on this machine is taken for.
const localUser = "user:local"

// Row is the line of docs/spec/principals.md that decided.
type Row uint8

// Screen refuses what must not get as far as credentials: a request to this machine under a foreign name (row 0), and
// one that a foreign page sends. The refusal holds for every route and every auth.
func (p *Policy) Screen(e *Evidence) *kernelcontract.Error {
	if e.inProcess() {
		return nil
	}
	if e.Loopback() && !e.GatePresent && !p.hostKnown(e.Host) {
		return kernelcontract.Forbidden.Errorf("the Host header %q does not name this server; list it under hosts in the configuration", clip.Text(e.Host, shown))
	}
	for _, site := range e.FetchSite {
		if (site == "cross-site" || site == "same-site") && !e.Navigation && !p.originAllowed(e) {
			return kernelcontract.Forbidden.Errorf("a page of another site may not call; list its origin under origins in the configuration")
		}
	}
	return nil
}

// Derive returns who calls and the row that said so, or why nobody is admitted: Forbidden or Unauthenticated. It
// includes Screen. That the principal may call the method is for the method's Access to say.
func (p *Policy) Derive(e *Evidence) (kernelcontract.Principal, Row, *kernelcontract.Error) {
	if err := p.Screen(e); err != nil {
		return kernelcontract.Principal{}, 0, err
	}
	principal, row, err := p.derive(e)
	if err != nil && err.Code == kernelcontract.Unauthenticated && e.Auth == kernelcontract.AuthNone {
		if err := p.foreignOrigin(e); err != nil {
			return kernelcontract.Principal{}, 8, err
		}
		return kernelcontract.Principal{Actor: "user:anonymous", Via: kernelcontract.ViaAnonymous}, 12, nil
	}
	return principal, row, err
}

func (e *Evidence) inProcess() bool { return e.Relay != "" || e.Session != "" }

func (p *Policy) derive(e *Evidence) (kernelcontract.Principal, Row, *kernelcontract.Error) {
	switch {
	case e.Relay != "":
		return relayed(e), 1, nil
	case e.Session != "":
		return agent(e.Session, kernelcontract.ViaTool), 2, nil
	}
	if err := e.brokenCredential(); err != nil {
		return kernelcontract.Principal{}, 13, err
	}
	switch {
	case e.Credential.Kind == SessionCredential:
		return agent(e.Credential.ThreadID, kernelcontract.ViaTool), 2, nil
	case e.Credential.Kind == HostCredential && e.HostProxy:
		principal, err := hostProxy(e)
		return principal, 3, err
	case e.Credential.Kind == HostCredential:
		return kernelcontract.Principal{Actor: "system:host:" + e.Credential.HostID, Via: kernelcontract.ViaHost}, 4, nil
	case e.Gate != nil:
		return p.gated(e)
	case e.Credential.Kind == TokenCredential:
		return kernelcontract.Principal{Actor: "user:" + e.Credential.Name, Via: kernelcontract.ViaToken}, 7, nil
	}
	if err := p.foreignOrigin(e); err != nil {
		return kernelcontract.Principal{}, 8, err
	}
	if e.Loopback() && !e.Forwarded && !p.requireToken {
		switch {
		case len(e.Origin) > 0:
			return kernelcontract.Principal{Actor: localUser, Via: kernelcontract.ViaOrigin}, 9, nil
		case e.Context.ThreadID != "":
			return agent(e.Context.ThreadID, kernelcontract.ViaLoopback), 10, nil
		}
		return kernelcontract.Principal{Actor: localUser, Via: kernelcontract.ViaLoopback}, 11, nil
	}
	return kernelcontract.Principal{}, 13, p.noEvidence(e)
}

// noEvidence says why nothing matched, and what would.
func (p *Policy) noEvidence(e *Evidence) *kernelcontract.Error {
	why := "the request shows no valid evidence of who calls"
	switch {
	case e.Loopback() && e.Forwarded:
		why = "the request came through a proxy (Forwarded, X-Forwarded-*, X-Real-IP or Via), so its peer proves nothing"
	case e.Loopback() && p.requireToken:
		why = "this server asks callers on its own machine for a token too"
	}
	return kernelcontract.Unauthenticated.Errorf("%s; send Authorization: Bearer with a token from bb runtime token create", why)
}

// brokenCredential refuses a credential that is not valid whole: none falls through to a weaker row.
func (e *Evidence) brokenCredential() *kernelcontract.Error {
	switch {
	case e.Credential.Kind == InvalidCredential:
		return kernelcontract.Unauthenticated.Errorf("the Authorization header is not one valid bearer; the token may be mistyped, expired or revoked")
	case e.Credential.Kind == SessionCredential && (!e.Loopback() || e.GatePresent):
		return kernelcontract.Unauthenticated.Errorf("a session key is valid on its own machine only")
	case e.GatePresent && (e.Gate == nil || !e.Loopback()):
		return kernelcontract.Unauthenticated.Errorf("the Bb-Gate header does not verify: key, time, nonce and request must match, and its sender must be on this machine")
	}
	return nil
}

func relayed(e *Evidence) kernelcontract.Principal {
	via := kernelcontract.ViaPlugin(e.Relay)
	if e.Relayed.Actor != "" {
		return kernelcontract.Principal{Actor: e.Relayed.Actor, Via: via}
	}
	return kernelcontract.Principal{Actor: string(kernelcontract.Plugin) + ":" + e.Relay, Via: via}
}

func agent(threadID string, via kernelcontract.Via) kernelcontract.Principal {
	return kernelcontract.Principal{Actor: string(kernelcontract.Agent) + ":" + threadID, Via: via}
}

func hostProxy(e *Evidence) (kernelcontract.Principal, *kernelcontract.Error) {
	c := e.Credential
	switch {
	case !c.Proxy:
		return kernelcontract.Principal{}, kernelcontract.Forbidden.Errorf("the host key was not enrolled with --proxy; enroll the host again or drop Bb-Host-Proxy")
	case e.Context.HostID != c.HostID:
		return kernelcontract.Principal{}, kernelcontract.Forbidden.Errorf("the context's hostId is not the host of the key")
	case e.Context.ThreadID == "":
		return kernelcontract.Principal{Actor: "user:host:" + c.HostID, Via: kernelcontract.ViaHostProxy}, nil
	case !c.ThreadOnHost:
		return kernelcontract.Principal{}, kernelcontract.Forbidden.Errorf("the context's threadId is not a live thread on the host of the key")
	}
	return agent(e.Context.ThreadID, kernelcontract.ViaHostProxy), nil
}

// gated is rows 5 and 6. The proxy that signed may pass on the Host that it was called by, or write its own.
func (p *Policy) gated(e *Evidence) (kernelcontract.Principal, Row, *kernelcontract.Error) {
	g := e.Gate
	row := Row(5)
	if g.Kind == GateSession {
		row = 6
	}
	if name, ok := hostName(e.Host); !p.hostKnown(e.Host) && !(ok && sameHost(name, g.Host)) {
		return kernelcontract.Principal{}, row, kernelcontract.Forbidden.Errorf("the Host header %q is not the host of the gate", clip.Text(e.Host, shown))
	}
	if g.Kind == GateMachine {
		if e.Context.ThreadID != "" {
			return agent(e.Context.ThreadID, kernelcontract.ViaGateMachine), row, nil
		}
		return kernelcontract.Principal{Actor: "user:" + g.Account, Via: kernelcontract.ViaGateMachine}, row, nil
	}
	if len(e.Origin) > 0 {
		want, _ := parseOrigin(g.Proto + "://" + g.Host)
		got, ok := parseOrigin(e.Origin[0])
		if len(e.Origin) > 1 || !ok || got != want {
			return kernelcontract.Principal{}, row, kernelcontract.Forbidden.Errorf("the Origin is not the host of the gate")
		}
	}
	return kernelcontract.Principal{Actor: "user:" + g.Account, Via: kernelcontract.ViaGateSession}, row, nil
}

func sameHost(name, gateHost string) bool {
	gate, ok := hostName(gateHost)
	return ok && name == gate
}

// foreignOrigin is row 8.
func (p *Policy) foreignOrigin(e *Evidence) *kernelcontract.Error {
	if len(e.Origin) == 0 || p.originAllowed(e) {
		return nil
	}
	return kernelcontract.Forbidden.Errorf("the origin %s is not allowed; list it under origins in the configuration", clip.Quote(e.Origin[0], shown))
}

// Local reports whether e satisfies a method with local access: a peer on this machine, no gate, and an allowed Origin
// when one is present. Calls made in process do.
func (p *Policy) Local(e *Evidence) bool {
	return e.inProcess() || e.Loopback() && !e.GatePresent && p.foreignOrigin(e) == nil
}

// AllowsOrigin reports whether the answer may be read by the page that asks: the Origin is there and allowed.
func (p *Policy) AllowsOrigin(e *Evidence) bool { return p.originAllowed(e) }

// shown bounds how much of a foreign value a message repeats, in bytes.
const shown = 80
