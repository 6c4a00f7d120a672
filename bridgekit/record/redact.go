package record

import (
	"encoding/json"
	"slices"
	"strings"
)

// minSecret is the shortest value that is redacted, in bytes. Shorter ones occur in ordinary text.
const minSecret = 8

// mask is what a line shows in the place of a secret.
const mask = "[redacted]"

// secretNames are what the name of a variable with a secret contains.
var secretNames = []string{"KEY", "TOKEN", "SECRET", "PASSWORD"}

// redactor takes secrets out of lines.
type redactor struct {
	values []string // the secrets and their escaped forms, the longest first
	all    *strings.Replacer
}

// add makes the secrets of an environment known.
func (r *redactor) add(env []string) {
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		if len(value) < minSecret || !secretName(name) {
			continue
		}
		for _, form := range []string{value, escaped(value, true), escaped(value, false)} {
			if !slices.Contains(r.values, form) {
				r.values = append(r.values, form)
			}
		}
	}
	slices.SortFunc(r.values, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(r.values))
	for _, v := range r.values {
		pairs = append(pairs, v, mask)
	}
	r.all = strings.NewReplacer(pairs...)
}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) })
}

// escaped is the value inside a JSON string.
func escaped(value string, html bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(value) != nil {
		return value
	}
	return b.String()[1 : b.Len()-2]
}

// redact returns line without the secrets, however they are written: as they are, or inside JSON strings with any of
// JSON's escapes.
func (r *redactor) redact(line string) string {
	if len(r.values) == 0 {
		return line
	}
	return r.all.Replace(r.strings(line))
}

// strings rewrites the JSON strings of line that hold a secret in an escaped form.
func (r *redactor) strings(line string) string {
	if !strings.Contains(line, `\`) {
		return line
	}
	var b strings.Builder
	rest := line
	for {
		start := strings.IndexByte(rest, '"')
		if start < 0 {
			break
		}
		end, escapes := stringEnd(rest[start:])
		if end < 0 {
			break
		}
		end += start
		literal := rest[start:end]
		var text string
		if escapes && json.Unmarshal([]byte(literal), &text) == nil {
			if clean := r.all.Replace(text); clean != text {
				literal = `"` + escaped(clean, false) + `"`
			}
		}
		b.WriteString(rest[:start])
		b.WriteString(literal)
		rest = rest[end:]
	}
	b.WriteString(rest)
	return b.String()
}

// stringEnd returns the end of the JSON string that s begins with, -1 when it has none.
func stringEnd(s string) (end int, escapes bool) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			escapes = true
			i++
		case '"':
			return i + 1, escapes
		}
	}
	return -1, escapes
}
