package route

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// form is how the values of a schema are written in a parameter.
type form uint8

const (
	asText    form = iota // the string itself
	asInteger             // decimal digits
	asNumber              // a JSON number
	asBoolean             // true, false, 1 or 0
	asList                // the parameter repeated, once an item
	asJSON                // JSON text: objects, unions, and whatever has no type
)

// formOf returns the form of a resolved schema.
func formOf(s *schema.Schema) form {
	if len(s.OneOf) > 0 {
		return asJSON
	}
	switch s.Type {
	case schema.String:
		return asText
	case schema.Integer:
		return asInteger
	case schema.Number:
		return asNumber
	case schema.Boolean:
		return asBoolean
	case schema.Array:
		return asList
	}
	return asJSON
}

// itemOf returns the schema of a list's items: anything when it names none.
func itemOf(root, list *schema.Schema) *schema.Schema {
	if list.Items != nil {
		if s := root.Resolve(list.Items); s != nil {
			return s
		}
	}
	return &schema.Schema{}
}

// appendValue appends one parameter value as JSON, or returns the problem it has.
func appendValue(dst []byte, s *schema.Schema, f form, text string) ([]byte, *schema.Issue) {
	if s.Nullable && f != asText && text == "null" {
		return append(dst, text...), nil
	}
	switch f {
	case asText:
		return appendString(dst, text), nil
	case asInteger:
		if !jsontext.IsInteger(text) {
			return dst, issue(schema.IssueInvalidType, "must be an integer in decimal digits")
		}
	case asNumber:
		if !jsontext.IsNumber(text) {
			return dst, issue(schema.IssueInvalidType, "must be a number such as 2.5 or 1e3")
		}
	case asBoolean:
		switch text {
		case "1":
			text = "true"
		case "0":
			text = "false"
		case "true", "false":
		default:
			return dst, issue(schema.IssueInvalidType, "must be true, false, 1 or 0")
		}
	default:
		if !json.Valid([]byte(text)) {
			return dst, issue(schema.IssueInvalidJSON, "must be one JSON value")
		}
	}
	return append(dst, text...), nil
}

func issue(code schema.IssueCode, message string) *schema.Issue {
	return &schema.Issue{Code: code, Message: message}
}

// appendString appends s, which is valid UTF-8, as a JSON string.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		if c < 0x20 {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, '\\', c)
		}
		start = i + 1
	}
	return append(append(dst, s[start:]...), '"')
}

// unescape undoes the escaping of a query string: %XX and + for a space. ok is false for a broken escape or bytes that
// are not UTF-8.
func unescape(s string) (out string, ok bool) {
	plain, ascii := true, true
	for i := range len(s) {
		switch c := s[i]; {
		case c == '%' || c == '+':
			plain = false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if plain {
		return s, ascii || utf8.ValidString(s)
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '+':
			b = append(b, ' ')
		case '%':
			if i+2 >= len(s) {
				return "", false
			}
			hi, ok1 := unhex(s[i+1])
			lo, ok2 := unhex(s[i+2])
			if !ok1 || !ok2 {
				return "", false
			}
			b = append(b, hi<<4|lo)
			i += 2
		default:
			b = append(b, c)
		}
	}
	return string(b), utf8.Valid(b)
}

func unhex(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
