package jsontext

// IsInteger reports whether s is -?(0|[1-9][0-9]*).
func IsInteger(s string) bool {
	rest, ok := cutInteger(s)
	return ok && rest == ""
}

// IsNumber reports whether s is a JSON number, with nothing around it.
func IsNumber(s string) bool {
	s, ok := cutInteger(s)
	if !ok {
		return false
	}
	if s != "" && s[0] == '.' {
		if s, ok = cutDigits(s[1:]); !ok {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if s, ok = cutDigits(s); !ok {
			return false
		}
	}
	return s == ""
}

func cutInteger(s string) (rest string, ok bool) {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	if s != "" && s[0] == '0' {
		return s[1:], true
	}
	return cutDigits(s)
}

func cutDigits(s string) (rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[i:], i > 0
}
