package metadata

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// ReservedPrefixes begin the paths that no bundle may have; they are compared by bytes, so that /a2ax is one of them.
func ReservedPrefixes() []string {
	return []string{"/bundle/", "/a2a-callback", "/a2a", "/.well-known/", "/__", "/mcp/", "/schedules"}
}

// ReservedPaths are the paths that belong to the host.
func ReservedPaths() []string {
	return []string{"/", "/prompt", "/schedules", "/turn", "/actions", "/events"}
}

// ReservedActionIDs are ids of capabilities whose actions belong to the host.
func ReservedActionIDs() []string { return []string{"agent-config", "schedules", "queue"} }

// Methods are the HTTP methods that a route may have. GET also answers HEAD.
func Methods() []string { return []string{"GET", "POST", "PUT", "DELETE"} }

// Reserved returns the rule that keeps a decoded path for the host, "" for none.
func Reserved(path string) string {
	for _, p := range ReservedPaths() {
		if path == p {
			return "the path " + p + " belongs to the host"
		}
	}
	for _, p := range ReservedPrefixes() {
		if strings.HasPrefix(path, p) {
			return "paths that begin with " + p + " belong to the host"
		}
	}
	return ""
}

// Pattern is a parsed path of a route.
type Pattern struct{ segments []segment }

// segment is a literal, or a parameter by name.
type segment struct {
	text  string
	param bool
}

// ParsePattern parses a route's path: segments of letters, digits, ".", "_", "~" and "-", or :name for a value, each behind
// a slash. Names are letters, digits and "_", and unique.
func ParsePattern(path string) (Pattern, error) {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(path) > MaxPath {
		add("it has %d bytes, over %d", len(path), MaxPath)
	}
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return Pattern{}, errors.Join(append(problems, errors.New("it does not begin with a slash"))...)
	}
	if rule := Reserved(path); rule != "" {
		return Pattern{}, errors.Join(append(problems, errors.New(rule))...)
	}
	var p Pattern
	for s := range strings.SplitSeq(rest, "/") {
		name, param := strings.CutPrefix(s, ":")
		switch {
		case s == "":
			add("it has an empty segment")
		case param && !word(name, "_"):
			add("the parameter %q is not letters, digits and _", s)
		case param && slices.Contains(p.segments, segment{name, true}):
			add("the parameter %q is there twice", s)
		case !param && !word(s, "._~-"):
			add("the segment %q has other characters than letters, digits and . _ ~ -", s)
		case s == "." || s == "..":
			add("the segment %q would be resolved away", s)
		}
		p.segments = append(p.segments, segment{name, param})
	}
	return p, errors.Join(problems...)
}

// word reports whether s is letters, digits and what more has.
func word(s, more string) bool {
	for i := range len(s) {
		c := s[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && strings.IndexByte(more, c) < 0 {
				return false
			}
		}
	}
	return s != ""
}

// Shape returns the pattern with every parameter alike: two routes of one method and shape are the same.
func (p Pattern) Shape() string {
	var b strings.Builder
	for _, s := range p.segments {
		b.WriteByte('/')
		if s.param {
			b.WriteByte(':')
		} else {
			b.WriteString(s.text)
		}
	}
	return b.String()
}

// match returns the values of the parameters when the segments of a path fit.
func (p Pattern) match(path []string) (map[string]string, bool) {
	if len(path) != len(p.segments) {
		return nil, false
	}
	params := map[string]string{}
	for i, s := range p.segments {
		switch {
		case s.param:
			params[s.text] = path[i]
		case s.text != path[i]:
			return nil, false
		}
	}
	return params, true
}

// before reports whether p is chosen rather than q when both match: a literal beats a parameter, from left to right.
func (p Pattern) before(q Pattern) bool {
	for i, s := range p.segments {
		if s.param != q.segments[i].param {
			return !s.param
		}
	}
	return false
}

// Table finds the route of a request.
type Table struct{ rows []row }

type row struct {
	route   Route
	pattern Pattern
}

// NewTable makes a table of routes that have been checked; one whose path is no pattern is left out.
func NewTable(routes []Route) *Table {
	t := &Table{}
	for _, r := range routes {
		if p, err := ParsePattern(r.Path); err == nil {
			t.rows = append(t.rows, row{r, p})
		}
	}
	return t
}

// Match is the outcome of a look into a Table.
type Match struct {
	Route  Route
	Params map[string]string // values of the parameters, decoded
	// Allow lists the methods of a path that is there when Found is not set; empty: there is no such path.
	Allow []string
	Found bool
}

// Match finds the route of a method and an escaped path, which begins with a slash. HEAD finds GET.
func (t *Table) Match(method, escapedPath string) Match {
	path, ok := SplitPath(escapedPath)
	if !ok || Reserved("/"+strings.Join(path, "/")) != "" {
		return Match{}
	}
	if method == "HEAD" {
		method = "GET"
	}
	var found Match
	var best Pattern
	for _, r := range t.rows {
		params, fits := r.pattern.match(path)
		if !fits {
			continue
		}
		if r.route.Method != method {
			found.Allow = append(found.Allow, r.route.Method)
			continue
		}
		if !found.Found || r.pattern.before(best) {
			found.Route, found.Params, found.Found, best = r.route, params, true, r.pattern
		}
	}
	if found.Found {
		found.Allow = nil
		return found
	}
	if slices.Contains(found.Allow, "GET") {
		found.Allow = append(found.Allow, "HEAD")
	}
	slices.Sort(found.Allow)
	found.Allow = slices.Compact(found.Allow)
	return found
}

// SplitPath splits an escaped path at its slashes and decodes each segment once, so that an escaped slash stays inside its
// segment. A segment that is empty, ".", "..", has a zero byte or is not UTF-8 makes it no path.
func SplitPath(escaped string) ([]string, bool) {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return nil, false
	}
	var segments []string
	for s := range strings.SplitSeq(rest, "/") {
		s, err := url.PathUnescape(s)
		if err != nil || s == "" || s == "." || s == ".." || strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
			return nil, false
		}
		segments = append(segments, s)
	}
	return segments, true
}
