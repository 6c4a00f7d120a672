package wire

// This file checks JSON text in one pass and without allocation. It accepts exactly what encoding/json.Valid accepts,
// which a fuzz test holds it to.

// plain marks the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// space returns the index of the first byte from i on that is not white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// value returns the index behind the value that starts at b[i], or -1 when there is none. Arrays and objects are kept
// on a stack of bits, not of calls.
func value(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return text(b, i)
	case c == '{' || c == '[':
		return nested(b, i, depth)
	case c == '-' || '0' <= c && c <= '9':
		return number(b, i)
	case c == 't':
		return word(b, i, "true")
	case c == 'f':
		return word(b, i, "false")
	case c == 'n':
		return word(b, i, "null")
	}
	return -1
}

// nested is value for an array or object at depth.
func nested(b []byte, i, depth int) int {
	if depth > MaxDepth {
		return -1
	}
	object := b[i] == '{'
	last := byte(']')
	if object {
		last = '}'
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == last {
		return i + 1
	}
	for {
		if object {
			if i = key(b, i); i < 0 {
				return -1
			}
		}
		if i = value(b, i, depth+1); i < 0 {
			return -1
		}
		i = space(b, i)
		if i >= len(b) {
			return -1
		}
		if b[i] == last {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = space(b, i+1)
	}
}

// key returns the index of the value behind the member name and colon at b[i], or -1.
func key(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	if i = text(b, i); i < 0 {
		return -1
	}
	i = space(b, i)
	if i >= len(b) || b[i] != ':' {
		return -1
	}
	return space(b, i+1)
}

// text returns the index behind the string at b[i], or -1.
func text(b []byte, i int) int {
	for i++; i < len(b); i++ {
		c := b[i]
		if plain[c] {
			continue
		}
		if c == '"' {
			return i + 1
		}
		if c != '\\' {
			return -1
		}
		i++
		if i >= len(b) {
			return -1
		}
		switch b[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if i+4 >= len(b) {
				return -1
			}
			for _, h := range b[i+1 : i+5] {
				if (h < '0' || h > '9') && (h|0x20 < 'a' || h|0x20 > 'f') {
					return -1
				}
			}
			i += 4
		default:
			return -1
		}
	}
	return -1
}

// number returns the index behind the number at b[i], or -1.
func number(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = digits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = digits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digits(b, i)
	}
	return i
}

// digits returns the index behind one or more digits, or -1.
func digits(b []byte, i int) int {
	first := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == first {
		return -1
	}
	return i
}

func word(b []byte, i int, w string) int {
	if len(b)-i < len(w) || string(b[i:i+len(w)]) != w {
		return -1
	}
	return i + len(w)
}
