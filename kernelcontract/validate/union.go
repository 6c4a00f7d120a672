package validate

import (
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// maxRescan bounds how often ambiguous unions may read a text again, in multiples of its length. Nested unions whose
// branches look alike would otherwise take exponential time.
const maxRescan = 64

// mark is a state of a run to go back to.
type mark struct{ pos, out, copied, depth, path, keys, found, left int }

func (r *run) mark() mark {
	return mark{r.pos, len(r.out), r.copied, r.depth, len(r.path), len(r.keys), len(r.found), r.left}
}

func (r *run) back(m mark) {
	r.pos, r.copied, r.depth, r.left = m.pos, m.copied, m.depth, m.left
	r.out, r.path, r.keys, r.found = r.out[:m.out], r.path[:m.path], r.keys[:m.keys], r.found[:m.found]
}

// clean reports whether no issue was added since m.
func (r *run) clean(m mark) bool { return len(r.found) == m.found && r.left == m.left }

// union reads a value whose discriminator says which branch it is.
func (r *run) union(n *node, nullable bool) bool {
	if r.peek() != '{' {
		return r.mismatch(anyObject, nullable)
	}
	m := r.mark()
	tag, found, ok := r.discriminator(n.discriminator)
	if !ok {
		return false
	}
	r.rescanned += r.pos - m.pos
	r.back(m)
	if found {
		if b := n.branch(tag); b != nil {
			return r.value(b)
		}
	}
	r.path = append(r.path, step{key: n.discriminator, order: 0})
	if found {
		r.issue(schema.IssueInvalidUnion, oneOf(n.tags, tag))
	} else {
		r.issue(schema.IssueRequired, "is required; add "+quote(n.discriminator)+", one of "+list(n.tags))
	}
	r.path = r.path[:len(r.path)-1]
	return r.skip()
}

// discriminator looks ahead for the member of that name. A value that is no string is returned as its text, which no
// branch has for a name.
func (r *run) discriminator(name string) (tag string, found, ok bool) {
	if !r.open() {
		return "", false, false
	}
	for r.peek() == '"' {
		key, ok := r.string()
		if !ok {
			return "", false, false
		}
		here := string(key) == name
		if !r.colon() {
			return "", false, false
		}
		if r.peek() == '"' && here {
			text, ok := r.string()
			return string(text), true, ok
		}
		start := r.pos
		if !r.skip() {
			return "", false, false
		}
		if here {
			return string(r.in[start:r.pos]), true, true
		}
		if r.peek() != ',' {
			break
		}
		r.pos++
		r.space()
	}
	return "", false, true
}

// branch returns the branch of that name.
func (n *node) branch(tag string) *node {
	for i, t := range n.tags {
		if t == tag {
			return n.branches[i]
		}
	}
	return nil
}

// mixed reads a value that must fit exactly one branch.
func (r *run) mixed(n *node) bool {
	kinds := kindsOf(r.peek())
	var only *node
	candidates := 0
	for _, b := range n.branches {
		if b.takes&kinds != 0 {
			only = b
			candidates++
		}
	}
	start := r.pos
	if candidates == 1 {
		return r.value(only)
	}
	matches := 0
	if candidates > 1 {
		m := r.mark()
		for _, b := range n.branches {
			if b.takes&kinds == 0 {
				continue
			}
			if r.rescanned > maxRescan*len(r.in) {
				r.issue(schema.IssueInvalidUnion, "fits the branches of too many nested unions; simplify it")
				return r.skip()
			}
			if !r.value(b) {
				return false
			}
			r.rescanned += r.pos - start
			if r.clean(m) {
				only = b
				matches++
			}
			r.back(m)
		}
	}
	if matches == 1 {
		return r.value(only)
	}
	if !r.skip() {
		return false
	}
	raw := r.in[start:r.pos]
	if matches > 1 {
		r.issue(schema.IssueInvalidUnion, "fits more than one branch of the union; it must fit exactly one")
	} else if allowed := n.choices(kinds); allowed != nil {
		r.issue(schema.IssueInvalidValue, noneOf(allowed, raw))
	} else {
		r.issue(schema.IssueInvalidUnion, "must be "+n.expects()+", got "+describe(raw))
	}
	return true
}

// choices lists the constants of the branches that take one of the kinds, of all branches when none does; nil when one of
// them takes more than constants.
func (n *node) choices(kinds kind) []constant {
	if n.takes&kinds == 0 {
		kinds = n.takes
	}
	var all []constant
	for _, b := range n.branches {
		if b.takes&kinds == 0 {
			continue
		}
		for b.target != nil {
			b = b.target
		}
		if b.constants == nil {
			return nil
		}
		all = append(all, b.constants...)
	}
	return all
}

// expects names what the branches take, such as "a string or an array".
func (n *node) expects() string {
	var names []string
	kinds := n.takes
	if kinds&kindNumber != 0 {
		kinds &^= kindInteger
	}
	for k := kindObject; k <= kindNull; k <<= 1 {
		if kinds&k != 0 {
			names = append(names, kindName(k))
		}
	}
	if len(n.branches) > 1 && len(names) == 1 {
		return "one of the kinds of " + strings.TrimPrefix(strings.TrimPrefix(names[0], "an "), "a ") + " that the union lists"
	}
	return strings.Join(names, " or ")
}
