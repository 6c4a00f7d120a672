package route

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Encode writes an input, a JSON object, as the query string that Decode reads for the same schema: one parameter a
// field where the schema's types can be said that way, the whole object in one parameter otherwise. It does not
// validate: what the method does not take, the server refuses. No input is the empty query string. The error says that
// input is no JSON object in UTF-8, or that the result is longer than MaxURL.
func Encode(in *schema.Schema, input json.RawMessage) (string, error) {
	if len(bytes.TrimSpace(input)) == 0 {
		return "", nil
	}
	if !utf8.Valid(input) {
		return "", errors.New("the input is not UTF-8")
	}
	members, err := membersOf(input)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, m := range members {
		if !encodeMember(&b, in, m) || jsontext.Find(members, m.Name) < i {
			var compact bytes.Buffer
			if err := json.Compact(&compact, input); err != nil {
				return "", fmt.Errorf("the input is not JSON: %w", err)
			}
			b.Reset()
			b.WriteString(InputParam + "=" + url.QueryEscape(compact.String()))
			break
		}
	}
	if b.Len() > MaxURL {
		return "", fmt.Errorf("the input takes %d bytes as a query string, a URL holds at most %d", b.Len(), MaxURL)
	}
	return b.String(), nil
}

// membersOf reads the members of a JSON object in their order.
func membersOf(input json.RawMessage) ([]jsontext.Member, error) {
	members, err := jsontext.Members(input)
	switch {
	case errors.Is(err, jsontext.ErrNotObject):
		return nil, errors.New("the input is not a JSON object")
	case err != nil:
		return nil, fmt.Errorf("the input is not one JSON value: %w", err)
	}
	return members, nil
}

// encodeMember appends a member's parameters; false when parameters cannot say it.
func encodeMember(b *strings.Builder, root *schema.Schema, m jsontext.Member) bool {
	p := root.Property(m.Name)
	if p == nil {
		return false
	}
	s := root.Resolve(p.Schema)
	if s == nil {
		return false
	}
	f := formOf(s)
	if f != asList {
		text, ok := textOf(s, f, m.Raw)
		if ok {
			appendParam(b, m.Name, text)
		}
		return ok
	}
	if string(m.Raw) == "null" {
		if s.Nullable {
			appendParam(b, m.Name, "null")
		}
		return s.Nullable
	}
	var items []json.RawMessage
	if json.Unmarshal(m.Raw, &items) != nil || len(items) == 0 {
		return false
	}
	item := itemOf(root, s)
	if f = formOf(item); f == asList {
		f = asJSON
	}
	texts := make([]string, len(items))
	for i := range items {
		var ok bool
		if texts[i], ok = textOf(item, f, items[i]); !ok {
			return false
		}
	}
	if s.Nullable && len(texts) == 1 && texts[0] == "null" {
		return false // it would be read as no list
	}
	for _, text := range texts {
		appendParam(b, m.Name, text)
	}
	return true
}

func appendParam(b *strings.Builder, name, text string) {
	if b.Len() > 0 {
		b.WriteByte('&')
	}
	b.WriteString(name)
	b.WriteByte('=')
	b.WriteString(url.QueryEscape(text))
}

// textOf returns the text that appendValue reads back as the same JSON value; false when there is none.
func textOf(s *schema.Schema, f form, value json.RawMessage) (string, bool) {
	text := string(value)
	if f == asText {
		var decoded string
		if text == "null" || json.Unmarshal(value, &decoded) != nil || !saysTheSame(decoded, text) {
			return "", false
		}
		return decoded, true
	}
	if text == "null" && s.Nullable {
		return text, true
	}
	switch f {
	case asInteger:
		return text, jsontext.IsInteger(text)
	case asNumber:
		return text, jsontext.IsNumber(text)
	case asBoolean:
		return text, text == "true" || text == "false"
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return "", false
	}
	return compact.String(), true
}

// saysTheSame reports whether no byte of a JSON string was lost in decoding it: what is not UTF-8, or half of a
// surrogate pair, becomes U+FFFD.
func saysTheSame(decoded, text string) bool {
	return strings.Count(decoded, "\ufffd") == strings.Count(text, "\ufffd")+strings.Count(strings.ToLower(text), `\ufffd`)
}
