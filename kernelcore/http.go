package kernelcore

import (
	"context"
	"errors"
	"net/http"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/evidence"
	"github.com/bb-kernel/bb/kernelcore/internal/httpapi"
	"github.com/bb-kernel/bb/kernelcore/token"
)

// HTTPOptions says whom the handler trusts. The zero value trusts this machine, tokens and host keys.
type HTTPOptions struct {
	Hosts   []string // names that the server is reached by, beside loopback ones
	Origins []string // web origins that may call, such as https://app.example.com
	// RequireToken asks callers on this machine for a credential too.
	RequireToken bool
	// GateKey verifies Bb-Gate headers of a gate on this machine; nil: none verifies.
	GateKey []byte
}

// handler builds the HTTP surface. The error lists what is wrong with the options.
func (k *Kernel) newHandler() (*httpapi.Handler, error) {
	policy, err := evidence.NewPolicy(evidence.Config{
		Hosts: k.o.HTTP.Hosts, Origins: k.o.HTTP.Origins, RequireToken: k.o.HTTP.RequireToken,
	})
	var gate *evidence.Gate
	if k.o.HTTP.GateKey != nil {
		var gerr error
		gate, gerr = evidence.NewGate(k.o.HTTP.GateKey)
		err = errors.Join(err, gerr)
	}
	if err != nil {
		return nil, err
	}
	return httpapi.New(httpapi.Options{
		Engine: k.engine, ServerID: k.serverID, Policy: policy, Gate: gate, Lookup: k.lookup, LiveThread: k.liveThread, Log: k.log,
	}), nil
}

// Handler returns every method on HTTP (docs/spec/http.md). It finds each in the live catalog, so it stays valid across
// changes of the composition.
func (k *Kernel) Handler() http.Handler { return k.handler }

// Guard puts a page or an endpoint beside the methods behind the same evidence and admission as they have. With headers
// its answers carry the Bb-* headers. The caller is in kernelcontract.CallFrom of the request's context.
func (k *Kernel) Guard(access kernelcontract.Access, headers bool, next http.Handler) http.Handler {
	return k.handler.Guard(access, headers, next)
}

// Tokens returns the tokens of the kernel's store.
func (k *Kernel) Tokens() *token.Tokens { return k.tokens }

// lookup finds the owner of a bearer secret.
func (k *Kernel) lookup(_ context.Context, kind evidence.CredentialKind, secret string, c kernelcontract.Context) (httpapi.Found, error) {
	invalid := httpapi.Found{Credential: evidence.Credential{Kind: evidence.InvalidCredential}}
	_, hash, err := token.Parse(secret)
	if err != nil {
		return invalid, nil
	}
	switch kind {
	case evidence.TokenCredential:
		t, ended, err := k.tokens.Lookup(hash)
		if err != nil {
			return invalid, nil
		}
		return httpapi.Found{Credential: evidence.Credential{Kind: kind, Name: t.Name}, ReadOnly: t.Scope == token.Read, Revoked: ended}, nil
	case evidence.HostCredential:
		h, ended, err := k.hosts.Lookup(hash)
		if err != nil {
			return invalid, nil
		}
		return httpapi.Found{Credential: evidence.Credential{Kind: kind, HostID: h.ID, Proxy: h.Proxy, ThreadOnHost: k.threadOnHost(c)}, Revoked: ended}, nil
	case evidence.SessionCredential:
		session, ended, err := k.sessions.Lookup(hash)
		if err != nil {
			return invalid, nil
		}
		return httpapi.Found{Credential: evidence.Credential{Kind: kind, ThreadID: session.ThreadID}, Context: session, Revoked: ended}, nil
	}
	return invalid, nil
}
