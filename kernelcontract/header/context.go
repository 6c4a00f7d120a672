package header

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/internal/clip"
	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// MaxContextValue bounds each value of x-bb-context, in bytes: the longest path that systems commonly take.
const MaxContextValue = 4096

// ParseContext reads x-bb-context: a JSON object in ASCII with any of the context's keys, each a string of 1 to
// MaxContextValue bytes, and nothing else. Absent is the empty context.
func ParseContext(values []string) (kernelcontract.Context, *kernelcontract.Error) {
	value, present, err := one(Context, values)
	if err != nil || !present {
		return kernelcontract.Context{}, err
	}
	c, problem := parseContext(value)
	if problem != "" {
		return kernelcontract.Context{}, refuse(Context, "%s", problem)
	}
	return c, nil
}

func parseContext(value string) (c kernelcontract.Context, problem string) {
	for i := range len(value) {
		if value[i] >= utf8.RuneSelf {
			return c, `holds bytes that are not ASCII; write them as \u escapes`
		}
	}
	if !json.Valid([]byte(value)) || !strings.HasPrefix(strings.TrimLeft(value, " \t"), "{") {
		return c, "is not a JSON object"
	}
	if loneSurrogate(value) {
		return c, `holds half of a surrogate pair; write both halves`
	}
	d := json.NewDecoder(strings.NewReader(value))
	if _, err := d.Token(); err != nil {
		return c, "is not a JSON object"
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return c, "is not a JSON object"
		}
		key, _ := token.(string)
		field := fieldOf(&c, kernelcontract.ContextKey(key))
		if field == nil {
			return c, fmt.Sprintf("%q is not one of threadId, projectId, environmentId, hostId, cwd", clip.Text(key, shown))
		}
		if *field != "" {
			return c, key + " is given twice"
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil || raw[0] != '"' || json.Unmarshal(raw, field) != nil {
			return c, key + " must be a string"
		}
		if n := len(*field); n == 0 || n > MaxContextValue {
			return c, fmt.Sprintf("%s has %d bytes, it takes 1 to %d", key, n, MaxContextValue)
		}
	}
	return c, ""
}

func fieldOf(c *kernelcontract.Context, k kernelcontract.ContextKey) *string {
	switch k {
	case kernelcontract.ThreadID:
		return &c.ThreadID
	case kernelcontract.ProjectID:
		return &c.ProjectID
	case kernelcontract.EnvironmentID:
		return &c.EnvironmentID
	case kernelcontract.HostID:
		return &c.HostID
	case kernelcontract.CWD:
		return &c.CWD
	}
	return nil
}

// loneSurrogate reports whether a JSON text escapes half of a surrogate pair, which decoding would silently replace.
func loneSurrogate(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		r := escaped(text, i-1)
		i += 4
		if !utf16.IsSurrogate(r) {
			continue
		}
		if utf16.DecodeRune(r, escaped(text, i+1)) == utf8.RuneError {
			return true
		}
		i += 6
	}
	return false
}

// escaped returns the code unit of the \u escape at i, 0 when there is none.
func escaped(text string, i int) rune {
	if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
		return 0
	}
	var r rune
	for _, c := range text[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0
		}
		r = r<<4 | c
	}
	return r
}

// FormatContext writes x-bb-context, "" for an empty context: send no header then. The error says which value cannot be
// sent.
func FormatContext(c kernelcontract.Context) (string, error) {
	if c == (kernelcontract.Context{}) {
		return "", nil
	}
	for _, k := range kernelcontract.ContextKeys() {
		v := c.Value(k)
		if len(v) > MaxContextValue {
			return "", refuse(Context, "%s has %d bytes, it takes at most %d", k, len(v), MaxContextValue)
		}
		if !utf8.ValidString(v) {
			return "", refuse(Context, "%s is not UTF-8", k)
		}
	}
	wide, err := jsontext.Marshal(c)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range string(wide) {
		switch {
		case r < 0x7f: // DEL is ASCII and no header may hold it
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String(), nil
}
