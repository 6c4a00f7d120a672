package wire

import (
	"encoding/json"
	"strings"
)

// ID is a request's id: the JSON text of a string or an integer, byte for byte as it stood on the wire, such as "a" with
// its quotes or 9007199254740993. The empty ID is that of a notification.
type ID string

// canonical is equal for two ids that are the same JSON value, however they are written.
func (id ID) canonical() string {
	if id == "-0" {
		return "0"
	}
	if strings.IndexByte(string(id), '\\') < 0 {
		return string(id)
	}
	var s string
	if json.Unmarshal([]byte(id), &s) != nil {
		return string(id)
	}
	return `"` + s // without a second quote no other id looks like it
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
