// Package route derives the HTTP surface of a method: its path and verb, and the codec between an input object and a
// query string. Clients encode, servers decode; what one writes the other reads. The rules are in docs/spec/http.md.
package route

import (
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Prefix begins the path of every method that has no path of its own.
const Prefix = "/api/v1/"

// MaxURL bounds a request target, in bytes. It is what proxies in front of a server commonly let through.
const MaxURL = 32 << 10

// Path returns the path of a method: its own, else /api/v1/<plugin>/<service>/<method>.
func Path(d *kernelcontract.MethodDef) string {
	if d.Path != "" {
		return d.Path
	}
	return Prefix + d.PluginID + "/" + d.Service + "/" + d.Method
}

// Verb returns the HTTP method of a kind: GET for what only reads, POST for a mutation, "" for a custom method, which
// chooses itself.
func Verb(k kernelcontract.Kind) string {
	switch k {
	case kernelcontract.KindQuery, kernelcontract.KindStream:
		return "GET"
	case kernelcontract.KindMutation:
		return "POST"
	}
	return ""
}

// Match cuts the path of a derived route, as it came on the wire, into the names of its method. It matches byte for
// byte: an escape, an empty segment, a dot segment or a trailing slash is no route.
func Match(escapedPath string) (pluginID, service, method string, ok bool) {
	rest, ok := strings.CutPrefix(escapedPath, Prefix)
	if !ok {
		return "", "", "", false
	}
	pluginID, rest, ok1 := strings.Cut(rest, "/")
	service, method, ok2 := strings.Cut(rest, "/")
	if !ok1 || !ok2 || !isName(pluginID, true) || !isName(service, true) || !isName(method, false) {
		return "", "", "", false
	}
	return pluginID, service, method, true
}

// isName reports whether s is a name of a plugin or service (lower case, dashes) or of a method (mixed case, none).
func isName(s string, dashed bool) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z':
		case i > 0 && c >= '0' && c <= '9':
		case i > 0 && dashed && c == '-':
		case i > 0 && !dashed && c >= 'A' && c <= 'Z':
		default:
			return false
		}
	}
	return s != ""
}
