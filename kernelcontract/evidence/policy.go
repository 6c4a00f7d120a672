package evidence

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Config is what an operator decides about callers. The zero value trusts this machine and nobody else.
type Config struct {
	Hosts        []string // names that the server is reached by beside loopback ones, such as bb.example.com
	Origins      []string // web origins that may call, such as https://app.example.com
	RequireToken bool     // a loopback peer needs a credential too
}

// Policy is a checked Config, read-only.
type Policy struct {
	hosts, origins []string // normalized
	requireToken   bool
}

// NewPolicy checks c. The error lists every host and origin that is none.
func NewPolicy(c Config) (*Policy, error) {
	p := &Policy{requireToken: c.RequireToken}
	var problems []error
	for _, h := range c.Hosts {
		name, ok := hostName(h)
		if !ok {
			problems = append(problems, fmt.Errorf("hosts: %q is not a host name; write it without scheme and path", h))
		}
		p.hosts = append(p.hosts, name)
	}
	for _, o := range c.Origins {
		origin, ok := parseOrigin(strings.TrimSuffix(o, "/"))
		if !ok {
			problems = append(problems, fmt.Errorf("origins: %q is not an origin such as https://app.example.com", o))
		}
		p.origins = append(p.origins, origin.String())
	}
	return p, errors.Join(problems...)
}

// hostKnown reports whether a Host header names this server.
func (p *Policy) hostKnown(host string) bool {
	name, ok := hostName(host)
	return ok && (isLoopbackName(name) || slices.Contains(p.hosts, name))
}

// originAllowed reports whether e's Origin, one header, is the server's own on loopback or one of the configured.
func (p *Policy) originAllowed(e *Evidence) bool {
	if len(e.Origin) != 1 {
		return false
	}
	o, ok := parseOrigin(e.Origin[0])
	if !ok {
		return false
	}
	own := e.Port != 0 && o.port == strconv.Itoa(int(e.Port)) && o.scheme == map[bool]string{false: "http", true: "https"}[e.TLS]
	return own && isLoopbackName(o.host) || slices.Contains(p.origins, o.String())
}

// hostName returns the name in a Host header: without port, in lower case, without one trailing dot, and an IPv6 address
// without brackets. ok is false for what is no host, the empty one included.
func hostName(host string) (name string, ok bool) {
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && (strings.HasSuffix(host[:i], "]") || strings.IndexByte(host, ':') == i) {
		name, port = host[:i], host[i+1:]
	}
	for i := range len(port) {
		if port[i] < '0' || port[i] > '9' {
			return "", false
		}
	}
	if inner, bracketed := strings.CutPrefix(name, "["); bracketed {
		inner, ok = strings.CutSuffix(inner, "]")
		if a, err := netip.ParseAddr(inner); !ok || err != nil || !a.Is6() || a.Zone() != "" {
			return "", false
		}
		return strings.ToLower(inner), true
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_') {
			return "", false
		}
	}
	return name, name != ""
}

func isLoopbackName(name string) bool {
	if name == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && isLoopback(a)
}

// origin is a web origin with its port written out.
type origin struct{ scheme, host, port string }

func (o origin) String() string { return o.scheme + "://" + o.host + ":" + o.port }

// parseOrigin reads scheme://host[:port], http and https only; "null" is none.
func parseOrigin(s string) (origin, bool) {
	scheme, authority, ok := strings.Cut(strings.ToLower(s), "://")
	if !ok {
		return origin{}, false
	}
	o := origin{scheme: scheme}
	switch scheme {
	case "http":
		o.port = "80"
	case "https":
		o.port = "443"
	default:
		return origin{}, false
	}
	if o.host, ok = hostName(authority); !ok || strings.HasSuffix(authority, ":") {
		return origin{}, false
	}
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		n, err := strconv.ParseUint(authority[i+1:], 10, 16)
		if err != nil {
			return origin{}, false
		}
		o.port = strconv.FormatUint(n, 10)
	}
	return o, true
}
