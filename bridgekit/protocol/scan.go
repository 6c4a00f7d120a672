package protocol

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deep JSON may be nested: far deeper than payloads of agents are, and shallow enough for the recursive
// readers of other languages.
const MaxDepth = 256

// scanner reads JSON text (RFC 8259) and checks it as it goes, UTF-8 included. Its methods return false when the text
// is not JSON; bad then says why, and nothing may be read any more.
type scanner struct {
	data  []byte
	pos   int
	depth int
	bad   string
}

func (s *scanner) fail(why string) bool {
	if s.bad == "" {
		s.bad = why + " at byte " + strconv.Itoa(s.pos)
	}
	return false
}

// space skips white space and returns the next byte, 0 at the end of the text.
func (s *scanner) space() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// end checks that nothing but white space is left.
func (s *scanner) end() bool {
	s.space()
	if s.pos < len(s.data) {
		return s.fail("unexpected text after the value")
	}
	return true
}

func (s *scanner) enter() bool {
	s.depth++
	if s.depth > MaxDepth {
		return s.fail("nested deeper than " + strconv.Itoa(MaxDepth) + " levels")
	}
	s.pos++
	return true
}

func (s *scanner) leave() {
	s.depth--
	s.pos++
}

// key reads a field's name and the colon after it. more is false at the end of the object, which is left then.
func (s *scanner) key(first bool) (name []byte, more, ok bool) {
	c := s.space()
	if c == '}' {
		s.leave()
		return nil, false, true
	}
	if !first {
		if c != ',' {
			return nil, false, s.fail("missing comma or brace")
		}
		s.pos++
		c = s.space()
	}
	if c != '"' {
		return nil, false, s.fail("missing name of a field")
	}
	name, escaped, ok := s.text()
	if !ok {
		return nil, false, false
	}
	if escaped {
		name = unescape(name)
	}
	if s.space() != ':' {
		return nil, false, s.fail("missing colon")
	}
	s.pos++
	s.space()
	return name, true, true
}

// element goes to the next element of an array. more is false at its end, which is left then.
func (s *scanner) element(first bool) (more, ok bool) {
	c := s.space()
	if c == ']' {
		s.leave()
		return false, true
	}
	if !first {
		if c != ',' {
			return false, s.fail("missing comma or bracket")
		}
		s.pos++
		if s.space() == ']' {
			return false, s.fail("unexpected ]")
		}
	}
	return true, true
}

// text reads a string and returns what is between its quotes.
func (s *scanner) text() (raw []byte, escaped, ok bool) {
	data := s.data
	i := s.pos + 1
	for i < len(data) {
		c := data[i]
		if plain[c] {
			i++
			continue
		}
		switch {
		case c == '"':
			raw = data[s.pos+1 : i]
			s.pos = i + 1
			return raw, escaped, true
		case c == '\\':
			escaped = true
			if i+1 >= len(data) {
				s.pos = i
				return nil, false, s.fail("unfinished string")
			}
			switch data[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if _, ok := hex4(data[i+2:]); !ok {
					s.pos = i
					return nil, false, s.fail("bad escape in a string")
				}
				i += 6
			default:
				s.pos = i
				return nil, false, s.fail("bad escape in a string")
			}
		case c < ' ':
			s.pos = i
			return nil, false, s.fail("control character in a string")
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				s.pos = i
				return nil, false, s.fail("invalid UTF-8")
			}
			i += size
		}
	}
	s.pos = len(data)
	return nil, false, s.fail("unfinished string")
}

// plain tells which bytes of a string need no attention.
var plain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape replaces the escapes of a string that text has checked. A surrogate without its partner becomes U+FFFD.
func unescape(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for {
		k := bytes.IndexByte(raw, '\\')
		if k < 0 {
			return append(out, raw...)
		}
		out = append(out, raw[:k]...)
		c := raw[k+1]
		raw = raw[k+2:]
		switch c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, _ := hex4(raw)
			raw = raw[4:]
			if utf16.IsSurrogate(r) {
				second := rune(0)
				if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
					second, _ = hex4(raw[2:])
				}
				if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
					raw = raw[6:]
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
		}
	}
}

// number reads a number.
func (s *scanner) number() (raw []byte, ok bool) {
	data, start, i := s.data, s.pos, s.pos
	digits := func() bool {
		from := i
		for i < len(data) && data[i] >= '0' && data[i] <= '9' {
			i++
		}
		return i > from
	}
	if data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++
	} else if !digits() {
		return nil, s.fail("unexpected character")
	}
	if i < len(data) && data[i] == '.' {
		i++
		if !digits() {
			return nil, s.fail("bad number")
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if !digits() {
			return nil, s.fail("bad number")
		}
	}
	s.pos = i
	return data[start:i], true
}

// word reads true, false or null.
func (s *scanner) word(w string) bool {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return s.fail("unexpected character")
	}
	s.pos += len(w)
	return true
}

// wordOf returns the literal that begins with c.
func wordOf(c byte) string {
	switch c {
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return "null"
}

// integer returns the exact value of a JSON number, which may be written as 1.0 or 1e3. When no int64 has it, code says
// why: invalid_type for a fraction, too_big or too_small.
func integer(raw []byte) (n int64, code IssueCode) {
	negative := raw[0] == '-'
	digits := raw
	if negative {
		digits = raw[1:]
	}
	tooFar := IssueTooBig
	if negative {
		tooFar = IssueTooSmall
	}
	exponent := 0
	if k := bytes.IndexAny(digits, ".eE"); k >= 0 {
		mantissa := append([]byte(nil), digits[:k]...)
		rest := digits[k:]
		if rest[0] == '.' {
			fraction := rest[1:]
			rest = nil
			if e := bytes.IndexAny(fraction, "eE"); e >= 0 {
				fraction, rest = fraction[:e], fraction[e:]
			}
			mantissa = append(mantissa, fraction...)
			exponent = -len(fraction)
		}
		mantissa = bytes.TrimLeft(mantissa, "0")
		if len(mantissa) == 0 {
			return 0, ""
		}
		trimmed := bytes.TrimRight(mantissa, "0")
		exponent += len(mantissa) - len(trimmed)
		if len(rest) > 0 {
			e, err := strconv.Atoi(string(rest[1:]))
			switch {
			case err != nil && rest[1] == '-', e < math.MinInt32:
				return 0, IssueInvalidType
			case err != nil, e > math.MaxInt32:
				return 0, tooFar
			}
			exponent += e
		}
		if exponent < 0 {
			return 0, IssueInvalidType
		}
		digits = trimmed
	}
	if len(digits)+exponent > 19 {
		return 0, tooFar
	}
	var u uint64
	for _, c := range digits {
		u = u*10 + uint64(c-'0')
	}
	for range exponent {
		u *= 10
	}
	switch {
	case negative && u <= 1<<63:
		return -int64(u), ""
	case !negative && u <= math.MaxInt64:
		return int64(u), ""
	}
	return 0, tooFar
}
