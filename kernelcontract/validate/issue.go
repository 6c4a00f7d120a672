package validate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/internal/clip"
	"github.com/bb-kernel/bb/kernelcontract/internal/near"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// step is one element of a path.
type step struct {
	key     string
	index   int
	element bool // index counts, not key
	order   int  // the place in the schema or the array; keys that are not declared come last, by name
}

// finding is an issue with what sorts it.
type finding struct {
	path    []step
	code    schema.IssueCode
	message string
}

func (r *run) pathCopy() []step { return slices.Clone(r.path) }

// issue notes an issue at the current place.
func (r *run) issue(code schema.IssueCode, message string) {
	if len(r.found) == MaxIssues {
		r.left++
		return
	}
	r.found = append(r.found, finding{path: r.pathCopy(), code: code, message: message})
}

// report returns the issues in their order: unrecognized keys first, then in schema order, then by code.
func (r *run) report() []schema.Issue {
	if r.failure != nil {
		return []schema.Issue{r.failure.issue()}
	}
	slices.SortStableFunc(r.found, compareFindings)
	left := r.left
	if left > 0 {
		r.found = r.found[:MaxIssues-1]
		left++
	}
	issues := make([]schema.Issue, 0, len(r.found)+1)
	for i := range r.found {
		issues = append(issues, r.found[i].issue())
	}
	if left > 0 {
		issues = append(issues, schema.Issue{
			Path:    []any{},
			Code:    schema.IssueInvalidValue,
			Message: strconv.Itoa(left) + " more issues were left out; fix these first",
		})
	}
	return issues
}

func compareFindings(x, y finding) int {
	if a, b := x.code == schema.IssueUnrecognizedKey, y.code == schema.IssueUnrecognizedKey; a != b {
		if a {
			return -1
		}
		return 1
	}
	for i := range min(len(x.path), len(y.path)) {
		a, b := x.path[i], y.path[i]
		if c := cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.key, b.key)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x.path), len(y.path)), cmp.Compare(x.code, y.code))
}

// maxPathKey bounds the bytes of a key in a path; only keys that no schema declares can be longer.
const maxPathKey = 256

func (f *finding) issue() schema.Issue {
	path := make([]any, len(f.path))
	for i, s := range f.path {
		if s.element {
			path[i] = s.index
		} else {
			path[i] = clip.Text(s.key, maxPathKey)
		}
	}
	return schema.Issue{Path: path, Code: f.code, Message: f.message}
}

// maxEcho is the number of bytes of a value that a message repeats: enough to recognise it.
const maxEcho = 64

// maxListed is the number of allowed values or names that a message lists.
const maxListed = 12

// shorten cuts a literal for a message.
func shorten(s string) string { return clip.Text(s, maxEcho) }

// quote quotes a string for a message.
func quote(s string) string { return clip.Quote(s, maxEcho) }

// describe names a value of the text for a message.
func describe(raw []byte) string {
	switch kindsOf(raw[0]) {
	case kindObject:
		return "an object"
	case kindArray:
		return "an array"
	case kindString:
		return "the string " + quoteRaw(raw)
	case kindNull:
		return "null"
	case kindBoolean:
		return string(raw)
	}
	return "the number " + shorten(string(raw))
}

// quoteRaw shows a string of the text as it was written.
func quoteRaw(raw []byte) string {
	if len(raw) <= maxEcho+2 {
		return string(raw)
	}
	return clip.Bytes(string(raw), maxEcho) + `"…`
}

// plural counts things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// oneOf says which values are allowed and which of them may be meant.
func oneOf(allowed []string, got string) string {
	if len(allowed) == 1 {
		return "must be " + quote(allowed[0]) + ", got " + quote(got)
	}
	text := "must be one of " + list(allowed) + ", got " + quote(got)
	if near := nearest(got, allowed); near != "" {
		text += "; did you mean " + quote(near) + "?"
	}
	return text
}

// list writes names with commas.
func list(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i == maxListed {
			b.WriteString(" and " + strconv.Itoa(len(names)-i) + " more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(n))
	}
	return b.String()
}

// unrecognized says what to do about a key that n does not have.
func unrecognized(key string, n *node) string {
	names := make([]string, len(n.props))
	for i := range n.props {
		names[i] = n.props[i].name
	}
	if near := nearest(key, names); near != "" {
		return "is not a known key; did you mean " + quote(near) + "?"
	}
	if len(names) == 0 {
		return "is not a known key; none is allowed here"
	}
	return "is not a known key; leave it out, the keys are " + list(names)
}

// The limits of what counts as near.
const (
	maxDistance = 2
	minPrefix   = 3
)

// nearest returns the name that was probably meant, "" when none is near: one that differs in case only, else the one
// within maxDistance edits, else one that shares minPrefix leading bytes.
func nearest(s string, names []string) string {
	if len(s) > maxEcho {
		return ""
	}
	best, bestDistance := "", maxDistance+1
	for _, n := range names {
		if strings.EqualFold(s, n) {
			return n
		}
		if len(n) > maxEcho {
			continue
		}
		if d := near.Distance(s, n, maxDistance); d < bestDistance && d < len(n) && d < len(s) {
			best, bestDistance = n, d
		}
	}
	if best != "" {
		return best
	}
	for _, n := range names {
		if len(s) >= minPrefix && len(n) >= minPrefix && strings.EqualFold(s[:minPrefix], n[:minPrefix]) {
			return n
		}
	}
	return ""
}
