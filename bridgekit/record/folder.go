package record

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// processFolder holds the lines that belong to no thread. The escape of a thread id never begins with "_".
const processFolder = "_process"

// maxFolder is the longest escaped id that becomes a name as it is: file systems take 255 bytes.
const maxFolder = 120

// folder turns an id that came from outside into a name that is valid, and different for different ids, on every file
// system, those that ignore case included: letters in lower case, digits, "-" and "." inside stay, every other byte
// becomes "=" and two hexadecimal digits. A long name is cut and ends in its hash.
func folder(id string) string {
	var b strings.Builder
	for i := 0; i < len(id); i++ {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-' && i > 0, c == '.' && i > 0 && i < len(id)-1:
			b.WriteByte(c)
		case c == '_' && i > 0:
			b.WriteByte(c)
		default:
			b.WriteByte('=')
			b.WriteString(hex.EncodeToString([]byte{c}))
		}
	}
	name := b.String()
	switch {
	case name == "":
		return "=" // the empty id: no other escapes to it
	case len(name) > maxFolder:
		sum := sha256.Sum256([]byte(id))
		return name[:maxFolder] + "=" + hex.EncodeToString(sum[:16])
	case reserved(name):
		return "=" + hex.EncodeToString([]byte{name[0]}) + name[1:]
	}
	return name
}

// reserved tells the names that Windows keeps for devices.
func reserved(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	switch base {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(base) == 4 && (strings.HasPrefix(base, "com") || strings.HasPrefix(base, "lpt")) && base[3] >= '0' && base[3] <= '9'
}

func threadFolder(threadID string) string {
	if threadID == "" {
		return processFolder
	}
	return folder(threadID)
}
