package text

import (
	"strings"
	"unicode/utf8"
)

// Strip removes from foreign text what a terminal would obey: escape sequences (colours, cursor moves, titles, the
// clipboard, device strings), control characters except line feed and tab, and what turns the direction of text.
// Invalid UTF-8 becomes U+FFFD. What is left prints as it reads (docs/spec/cli.md).
func Strip(s string) string { return strip(s, false) }

// StripButColors is Strip for text that the server rendered: sequences that only set colours and styles stay.
func StripButColors(s string) string { return strip(s, true) }

func strip(s string, colors bool) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == esc:
			n = escapeLen(s[i:])
			if colors && isSGR(s[i:i+n]) {
				b.WriteString(s[i : i+n])
			}
		case r == c1CSI:
			n += csiLen(s[i+n:])
		case r == c1OSC || r == c1DCS || r == c1SOS || r == c1PM || r == c1APC:
			n += stringLen(s[i+n:])
		case isControl(r):
		default:
			b.WriteRune(r) // U+FFFD for an invalid byte
		}
		i += n
	}
	return b.String()
}

// The characters that begin a sequence. A terminal takes the C1 ones like ESC and the letter.
const (
	esc   = 0x1b
	c1DCS = 0x90
	c1SOS = 0x98
	c1CSI = 0x9b
	c1OSC = 0x9d
	c1PM  = 0x9e
	c1APC = 0x9f
	c1ST  = 0x9c // ends a string
	bel   = 0x07 // ends a string too
	can   = 0x18 // cancels a sequence
	sub   = 0x1a // cancels a sequence
)

func isControl(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || turns(r)
}

// turns reports whether r embeds, overrides or isolates a direction: with these a command that waits for approval can be
// made to look like another one. Letters bring their direction along without them.
func turns(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// clean reports whether there is nothing to strip, the usual case.
func clean(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x80 {
			return cleanRunes(s[i:])
		} else if isControl(rune(c)) {
			return false
		}
	}
	return true
}

func cleanRunes(s string) bool {
	for i, r := range s {
		if isControl(r) {
			return false
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
	}
	return true
}

// escapeLen returns the length of the sequence at the ESC that s begins with. Of a sequence that does not end only the
// beginning counts, so that no text is lost: without it the rest is harmless.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch c := s[1]; {
	case c == '[':
		return 2 + csiLen(s[2:])
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return 2 + stringLen(s[2:])
	case c >= 0x20 && c <= 0x2f: // intermediates, then one final byte
		i := 1
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
			i++
		}
		return i
	case c >= 0x30 && c <= 0x7e:
		return 2
	}
	return 1
}

// csiLen returns the length of parameters, intermediates and final byte after a CSI.
func csiLen(s string) int {
	i := 0
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
		return i + 1
	}
	return i
}

// stringLen returns the length of a string with its terminator, 0 when it has none.
func stringLen(s string) int {
	for i, r := range s {
		switch r {
		case bel, can, sub:
			return i + 1
		case c1ST:
			return i + 2 // two bytes of UTF-8
		case esc:
			if strings.HasPrefix(s[i+1:], `\`) {
				return i + 2
			}
			return i // another sequence begins
		}
	}
	return 0
}

// isSGR reports whether a sequence only selects colours and styles: ESC [ digits ; : m.
func isSGR(seq string) bool {
	if len(seq) < 3 || seq[1] != '[' || seq[len(seq)-1] != 'm' {
		return false
	}
	for _, c := range seq[2 : len(seq)-1] {
		if (c < '0' || c > '9') && c != ';' && c != ':' {
			return false
		}
	}
	return true
}
