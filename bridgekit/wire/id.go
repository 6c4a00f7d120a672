package wire

// ID is a request's id: the JSON text of a string or an integer, byte for byte as it stood on the wire, such as "a" with
// its quotes or 9007199254740993. The empty ID is that of a notification.
type ID string

// canonical is equal for two ids that are the same JSON value, however they are written: a string becomes a quote and
// its characters, an integer its digits.
func (id ID) canonical() string {
	if id == "-0" {
		return "0"
	}
	if id == "" || id[0] != '"' {
		return string(id)
	}
	s, _ := unquote([]byte(id))
	return `"` + s
}

// isID reports whether the JSON value raw may be an id.
func isID(raw []byte) bool {
	if raw[0] == '"' {
		return true
	}
	if raw[0] == '-' {
		raw = raw[1:]
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
