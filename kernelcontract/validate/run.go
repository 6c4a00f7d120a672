package validate

import (
	"strconv"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// run is one pass over one text. Its methods return false when the text is not JSON, which ends the pass; issues do not.
type run struct {
	in    []byte
	pos   int
	input bool // fill defaults and rewrite integers

	// What is written so far, when it differs from the text: in[:copied] has gone into out.
	out    []byte
	copied int

	depth   int
	path    []step
	pathBuf [8]step
	keys    []string // the free keys of the open objects, for finding duplicates
	scratch []byte   // the last string that had escapes

	found     []finding
	left      int      // issues beyond MaxIssues
	failure   *finding // why the text is not JSON
	rescanned int      // bytes read again for ambiguous unions

	settle func(*prop) // while compiling: makes a default ready before it is used
}

// document reads the whole text as a value of n and reports whether it conforms.
func (r *run) document(n *node) bool {
	if !r.value(n) {
		return false
	}
	r.space()
	if r.pos < len(r.in) {
		r.fail("there are bytes after the value")
		return false
	}
	return len(r.found) == 0
}

// result is the normalized text.
func (r *run) result() []byte {
	if len(r.out) == 0 {
		return r.in
	}
	return append(r.out, r.in[r.copied:]...)
}

// replace writes text in place of in[from:to]. Calls come in the order of the text.
func (r *run) replace(from, to int, text ...string) {
	if r.out == nil {
		r.out = make([]byte, 0, len(r.in)+128)
	}
	r.out = append(r.out, r.in[r.copied:from]...)
	for _, t := range text {
		r.out = append(r.out, t...)
	}
	r.copied = to
}

// fail notes why the text is not JSON, at the current place.
func (r *run) fail(why string) bool {
	if r.failure == nil {
		r.failure = &finding{
			path:    r.pathCopy(),
			code:    schema.IssueInvalidJSON,
			message: why + " (at byte " + strconv.Itoa(r.pos) + ")",
		}
	}
	return false
}

// space skips white space.
func (r *run) space() {
	for r.pos < len(r.in) {
		switch r.in[r.pos] {
		case ' ', '\t', '\r', '\n':
			r.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte without taking it, 0 at the end.
func (r *run) peek() byte {
	r.space()
	if r.pos < len(r.in) {
		return r.in[r.pos]
	}
	return 0
}

// unexpected fails at the current byte.
func (r *run) unexpected(want string) bool {
	if r.pos >= len(r.in) {
		if len(r.in) == 0 {
			return r.fail("the text is empty, " + want + " is expected")
		}
		return r.fail("the text ends where " + want + " is expected")
	}
	return r.fail("unexpected " + strconv.QuoteRune(rune(r.in[r.pos])) + " where " + want + " is expected")
}

// open enters an object or array.
func (r *run) open() bool {
	if r.depth == MaxDepth {
		return r.fail("nested more than " + strconv.Itoa(MaxDepth) + " deep")
	}
	r.depth++
	r.pos++
	return true
}

func (r *run) close() {
	r.depth--
	r.pos++
}

// value reads one value of n.
func (r *run) value(n *node) bool {
	c := r.peek()
	nullable := n.nullable
	for n.target != nil {
		n = n.target
		nullable = nullable || n.nullable
	}
	if c == 'n' && nullable {
		return r.word("null")
	}
	switch n.kind {
	case kindAny:
		return r.anything(n)
	case kindUnion:
		return r.union(n, nullable)
	case kindMixed:
		return r.mixed(n)
	}
	if kindsOf(c)&n.kind == 0 {
		return r.mismatch(n, nullable)
	}
	switch n.kind {
	case kindObject:
		return r.object(n)
	case kindArray:
		return r.array(n)
	case kindString:
		return r.text(n)
	case kindInteger:
		return r.integer(n)
	case kindNumber:
		return r.number(n)
	default:
		return r.boolean(n)
	}
}

// kindsOf returns the kinds of value that can begin with c.
func kindsOf(c byte) kind {
	switch {
	case c == '{':
		return kindObject
	case c == '[':
		return kindArray
	case c == '"':
		return kindString
	case c == 't', c == 'f':
		return kindBoolean
	case c == '-', '0' <= c && c <= '9':
		return kindInteger | kindNumber
	case c == 'n':
		return kindNull
	}
	return 0
}

// mismatch reads a value of another type than that of n.
func (r *run) mismatch(n *node, nullable bool) bool {
	start := r.pos
	if !r.skip() {
		return false
	}
	want := kindName(n.kind)
	if nullable {
		want += " or null"
	}
	r.issue(schema.IssueInvalidType, "must be "+want+", got "+describe(r.in[start:r.pos]))
	return true
}

// word reads true, false or null.
func (r *run) word(word string) bool {
	if len(r.in)-r.pos < len(word) || string(r.in[r.pos:r.pos+len(word)]) != word {
		return r.unexpected("a value")
	}
	r.pos += len(word)
	return true
}

func (r *run) boolean(n *node) bool {
	start := r.pos
	word := "true"
	if r.in[r.pos] == 'f' {
		word = "false"
	}
	if !r.word(word) {
		return false
	}
	r.constants(n, start)
	return true
}

// anything reads a value without a type.
func (r *run) anything(n *node) bool {
	start := r.pos
	if !r.skip() {
		return false
	}
	r.constants(n, start)
	return true
}

// skip reads a value that nothing but JSON itself constrains: nesting, duplicate keys and the range of numbers still
// count.
func (r *run) skip() bool {
	switch c := r.peek(); {
	case c == '{':
		return r.object(anyObject)
	case c == '[':
		return r.array(anyArray)
	case c == '"':
		_, ok := r.string()
		return ok
	case c == 't':
		return r.word("true")
	case c == 'f':
		return r.word("false")
	case c == 'n':
		return r.word("null")
	case c == '-', '0' <= c && c <= '9':
		return r.number(anyNumber)
	}
	return r.unexpected("a value")
}

// What skip reads containers and numbers as.
var (
	anyValue  = &node{kind: kindAny, takes: ^kind(0)}
	anyObject = &node{kind: kindObject, values: anyValue, min: noLimit, max: noLimit}
	anyArray  = &node{kind: kindArray, items: anyValue, min: noLimit, max: noLimit}
	anyNumber = &node{kind: kindNumber}
)
