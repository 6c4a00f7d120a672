// Package evidence derives who calls from what the transport shows: a pure function over plain data, one row of
// docs/spec/principals.md after the other, the first match wins. A client cannot assert its own actor.
package evidence

import (
	"net/netip"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Evidence is what is known of a caller before its request is read. The zero value shows nothing. Header values are
// given as they came.
type Evidence struct {
	// Relay is the plugin whose call this is, "" for none; Relayed is on whose behalf it calls, zero for its own. They
	// are set in process, never from a header.
	Relay   string
	Relayed kernelcontract.Principal
	// Session is the thread of the live bridge session whose tool adapter calls, "" for none; set in process.
	Session string

	Peer      netip.Addr // the socket's address; invalid when it has none
	Port      uint16     // the port that the server listens on, 0 when unknown
	TLS       bool       // whether the socket speaks TLS
	Host      string     // the Host header
	Origin    []string   // the Origin headers
	FetchSite []string   // the Sec-Fetch-Site headers
	// Navigation says that a browser's top-level navigation asks for "/".
	Navigation bool
	// Forwarded says that a proxy's header is there; see Forwarded.
	Forwarded bool

	Credential Credential
	// HostProxy says that Bb-Host-Proxy asks to act for a thread of a host.
	HostProxy bool
	// GatePresent says that Bb-Gate is there; Gate is what it holds, nil when it does not verify whole.
	GatePresent bool
	Gate        *Claims

	Context kernelcontract.Context
	Auth    kernelcontract.Auth // what the route asks for; zero: operator
}

// CredentialKind says what an Authorization header holds.
type CredentialKind uint8

// The kinds of credentials.
const (
	NoCredential      CredentialKind = iota
	InvalidCredential                // anything but exactly one valid bearer
	TokenCredential                  // bbt_
	HostCredential                   // bbh_
	SessionCredential                // bbs_
)

// Credential is an Authorization header together with what the server knows of it.
type Credential struct {
	Kind CredentialKind
	// Name is the name of a token.
	Name string
	// HostID is the host of a host key; Proxy says that it was enrolled to act for its threads.
	HostID string
	Proxy  bool
	// ThreadOnHost says that the context's thread is a live one on the key's host.
	ThreadOnHost bool
	// ThreadID is the thread of a session key.
	ThreadID string
}

// Bearer prefixes.
const (
	TokenPrefix   = "bbt_"
	HostPrefix    = "bbh_"
	SessionPrefix = "bbs_"
)

// Bearer reads the Authorization headers: the kind that the prefix claims and the whole secret, whose validity is for
// the caller to look up. More than one header, another scheme or another prefix is InvalidCredential.
func Bearer(values []string) (CredentialKind, string) {
	if len(values) == 0 {
		return NoCredential, ""
	}
	scheme, secret, ok := strings.Cut(values[0], " ")
	if len(values) > 1 || !ok || !strings.EqualFold(scheme, "bearer") {
		return InvalidCredential, ""
	}
	for i := range len(secret) {
		c := secret[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return InvalidCredential, ""
		}
	}
	switch {
	case len(secret) <= len(TokenPrefix):
	case strings.HasPrefix(secret, TokenPrefix):
		return TokenCredential, secret
	case strings.HasPrefix(secret, HostPrefix):
		return HostCredential, secret
	case strings.HasPrefix(secret, SessionPrefix):
		return SessionCredential, secret
	}
	return InvalidCredential, ""
}

// Forwarded reports whether a header map, with canonical keys, shows that a proxy stands in front: such a peer is not
// the caller.
func Forwarded(headers map[string][]string) bool {
	for name := range headers {
		switch name {
		case "Forwarded", "X-Real-Ip", "Via":
			return true
		}
		if strings.HasPrefix(name, "X-Forwarded-") {
			return true
		}
	}
	return false
}

// isLoopback reports whether a socket's address is this machine: 127/8, ::1, and the former as mapped into IPv6.
func isLoopback(a netip.Addr) bool { return a.Unmap().IsLoopback() }

// Loopback reports whether the caller's socket is on this machine. A gate or a proxy may still stand in between.
func (e *Evidence) Loopback() bool { return isLoopback(e.Peer) }
