package validate

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// string reads a string; the next byte is its quote. The result is good until the next string with escapes is read.
func (r *run) string() ([]byte, bool) {
	start := r.pos + 1
	for i := start; i < len(r.in); {
		switch c := r.in[i]; {
		case c == '"':
			r.pos = i + 1
			return r.in[start:i], true
		case c == '\\':
			return r.escaped(start, i)
		case c < ' ':
			r.pos = i
			return nil, r.fail("a control character in a string must be escaped")
		case c < utf8.RuneSelf:
			i++
		default:
			n, ok := r.rune(i)
			if !ok {
				return nil, false
			}
			i += n
		}
	}
	r.pos = len(r.in)
	return nil, r.fail("the text ends inside a string")
}

// rune returns the length of the code point at i.
func (r *run) rune(i int) (int, bool) {
	c, n := utf8.DecodeRune(r.in[i:])
	if c == utf8.RuneError && n <= 1 {
		r.pos = i
		return 0, r.fail("the text is not valid UTF-8")
	}
	return n, true
}

// escaped reads the rest of a string whose first escape is at i.
func (r *run) escaped(start, i int) ([]byte, bool) {
	b := append(r.scratch[:0], r.in[start:i]...)
	for i < len(r.in) {
		switch c := r.in[i]; {
		case c == '"':
			r.pos, r.scratch = i+1, b
			return b, true
		case c == '\\':
			c, n, ok := r.escape(i)
			if !ok {
				return nil, false
			}
			b = utf8.AppendRune(b, c)
			i += n
		case c < ' ':
			r.pos = i
			return nil, r.fail("a control character in a string must be escaped")
		default:
			n, ok := r.rune(i)
			if !ok {
				return nil, false
			}
			b = append(b, r.in[i:i+n]...)
			i += n
		}
	}
	r.pos = len(r.in)
	return nil, r.fail("the text ends inside a string")
}

// escape reads the escape at i and returns its code point and length.
func (r *run) escape(i int) (rune, int, bool) {
	if i+1 < len(r.in) {
		switch c := r.in[i+1]; c {
		case '"', '\\', '/':
			return rune(c), 2, true
		case 'b':
			return '\b', 2, true
		case 'f':
			return '\f', 2, true
		case 'n':
			return '\n', 2, true
		case 'r':
			return '\r', 2, true
		case 't':
			return '\t', 2, true
		case 'u':
			return r.unicodeEscape(i)
		}
	}
	r.pos = i
	return 0, 0, r.fail("an escape in a string is not one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX")
}

func (r *run) unicodeEscape(i int) (rune, int, bool) {
	c, ok := hex4(r.in, i+2)
	if !ok {
		r.pos = i
		return 0, 0, r.fail("\\u needs four hexadecimal digits")
	}
	if !utf16.IsSurrogate(c) {
		return c, 6, true
	}
	if i+7 < len(r.in) && r.in[i+6] == '\\' && r.in[i+7] == 'u' {
		if low, ok := hex4(r.in, i+8); ok {
			if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
				return pair, 12, true
			}
		}
	}
	r.pos = i
	return 0, 0, r.fail("a surrogate escape must come as a pair")
}

// hex4 reads four hexadecimal digits at i.
func hex4(in []byte, i int) (rune, bool) {
	if i+4 > len(in) {
		return 0, false
	}
	var v rune
	for _, c := range in[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			v = v<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

// text reads a string value of n.
func (r *run) text(n *node) bool {
	s, ok := r.string()
	if !ok || !n.checked {
		return ok
	}
	if n.constants != nil {
		if !n.allowsText(s) {
			r.issue(schema.IssueInvalidValue, oneOf(n.constantNames(), string(s)))
		}
		return true
	}
	if n.min != noLimit || n.max != noLimit {
		switch length := utf8.RuneCount(s); {
		case n.min != noLimit && length < n.min:
			r.issue(schema.IssueTooSmall, "must be at least "+plural(n.min, "character")+" long, got "+strconv.Itoa(length))
		case n.max != noLimit && length > n.max:
			r.issue(schema.IssueTooBig, "must be at most "+plural(n.max, "character")+" long, got "+strconv.Itoa(length))
		}
	}
	if n.pattern != nil && !n.pattern.Match(s) {
		r.issue(schema.IssueInvalidFormat, "must match the pattern "+n.pattern.String()+", got "+quote(string(s)))
	}
	if n.format != nil && !n.format.ok(string(s)) {
		r.issue(schema.IssueInvalidFormat, "must be "+n.format.want+", got "+quote(string(s)))
	}
	if n.base64 && !isBase64(s) {
		r.issue(schema.IssueInvalidFormat, "must be padded base64 without line breaks, got "+quote(string(s)))
	}
	return true
}

// allowsText reports whether s is one of the constants of n.
func (n *node) allowsText(s []byte) bool {
	for i := range n.constants {
		if c := &n.constants[i]; c.isText && c.text == string(s) {
			return true
		}
	}
	return false
}
