package contracttest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
)

// maxDepth ends made values of recursive types.
const maxDepth = 4

// values makes JSON values from a schema: one with every member, one with only the required ones, and each branch of a
// union at the root's members. It returns none when a required part cannot be made.
func values(s *schema.Schema) []json.RawMessage {
	var out []json.RawMessage
	for _, m := range []maker{{root: s, full: true}, {root: s}, {root: s, full: true, branch: 1}, {root: s, full: true, branch: 2}} {
		if raw, ok := m.value(s, 0); ok && !slices.ContainsFunc(out, func(r json.RawMessage) bool { return string(r) == string(raw) }) {
			out = append(out, raw)
		}
	}
	return out
}

// inputs are the values that a method's round trips run on: those of its examples, then made ones.
func inputs(d *kernelcontract.MethodDef) []json.RawMessage {
	var out []json.RawMessage
	for _, e := range d.Examples {
		if e.Input != nil {
			out = append(out, e.Input)
		}
	}
	if in, err := d.Input(); err == nil {
		out = append(out, values(in)...)
	}
	return out
}

type maker struct {
	root   *schema.Schema
	full   bool
	branch int // of unions, where they have so many
}

func (m maker) value(s *schema.Schema, depth int) (json.RawMessage, bool) {
	if s = m.root.Resolve(s); s == nil {
		return nil, false
	}
	switch {
	case depth > maxDepth && s.Nullable:
		return json.RawMessage("null"), true
	case depth > 2*maxDepth:
		return nil, false
	case s.Const != nil:
		return s.Const, true
	case len(s.Enum) > 0:
		return s.Enum[m.branch%len(s.Enum)], true
	case len(s.OneOf) > 0:
		return m.value(s.OneOf[m.branch%len(s.OneOf)], depth+1)
	}
	switch s.Type {
	case schema.Object:
		return m.object(s, depth)
	case schema.Array:
		return m.array(s, depth)
	case schema.Any:
		return json.RawMessage(`{"any":[1,null]}`), true
	}
	for _, candidate := range candidates(s) {
		if accepts(s, candidate) {
			return candidate, true
		}
	}
	return nil, false
}

func (m maker) object(s *schema.Schema, depth int) (json.RawMessage, bool) {
	b := []byte{'{'}
	member := func(name string, value json.RawMessage) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(strconv.AppendQuote(b, name), ':'), value...)
	}
	for _, p := range s.Properties {
		if !p.Required && (!m.full || depth > maxDepth) {
			continue
		}
		value, ok := m.value(p.Schema, depth+1)
		switch {
		case ok:
			member(p.Name, value)
		case p.Required:
			return nil, false
		}
	}
	if s.Values != nil {
		n := 0
		if m.full && depth <= maxDepth {
			n = 2
		}
		if s.MinProperties != nil {
			n = max(n, *s.MinProperties)
		}
		if s.MaxProperties != nil {
			n = min(n, *s.MaxProperties)
		}
		for i := range n {
			value, ok := m.value(s.Values, depth+1)
			if !ok {
				return nil, false
			}
			member("key"+strconv.Itoa(i), value)
		}
	}
	return append(b, '}'), true
}

func (m maker) array(s *schema.Schema, depth int) (json.RawMessage, bool) {
	n := 0
	if m.full && depth <= maxDepth {
		n = 2
	}
	if s.UniqueItems {
		n = min(n, 1)
	}
	if s.MinItems != nil {
		n = max(n, *s.MinItems)
	}
	if s.MaxItems != nil {
		n = min(n, *s.MaxItems)
	}
	b := []byte{'['}
	for i := range n {
		value, ok := m.value(s.Items, depth+1)
		if !ok {
			return nil, false
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, value...)
	}
	return append(b, ']'), true
}

// candidates are scalars to try, the telling ones first: an integer that a float would round, text with quotes.
func candidates(s *schema.Schema) []json.RawMessage {
	var out []json.RawMessage
	add := func(texts ...string) {
		for _, t := range texts {
			if t != "" {
				out = append(out, json.RawMessage(t))
			}
		}
	}
	switch s.Type {
	case schema.Boolean:
		add("true")
	case schema.Integer:
		add("9007199254740993", "7", s.Maximum.String(), s.Minimum.String(), s.MultipleOf.String(), "0", "-1")
	case schema.Number:
		add("-0.5", "0.5", "7", s.Maximum.String(), s.Minimum.String(), s.MultipleOf.String())
	case schema.String:
		if s.ContentEncoding != "" {
			add(`"aGk="`, `""`)
			break
		}
		for _, text := range []string{
			"say \"hi\", é", "2026-01-02T03:04:05Z", "PT1M30S", "2026-01-02", "03:04:05Z", "someone@example.com", "https://example.com/a",
			"123e4567-e89b-12d3-a456-426614174000", "example.com", "192.0.2.1", "2001:db8::1", "a", "A", "1", "abc", "a-b", "a1", "",
		} {
			add(strconv.Quote(text))
		}
		if s.MinLength != nil {
			add(strconv.Quote(strings.Repeat("a", *s.MinLength)))
		}
		if s.MaxLength != nil {
			add(strconv.Quote(strings.Repeat("a", min(*s.MaxLength, 8))))
		}
	}
	return out
}

func accepts(s *schema.Schema, raw json.RawMessage) bool {
	v, err := validate.Compile(s)
	return err == nil && len(v.Value(raw)) == 0
}

func sortedFields[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
