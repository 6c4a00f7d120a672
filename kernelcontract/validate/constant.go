package validate

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// constant is a value of an enum, or the const.
type constant struct {
	isText bool
	text   string // of a string
	raw    string // as the schema has it
	equal  string // canonical
}

// constants checks the value that ends here and began at start against the constants of n. It reports whether n has
// any: nothing else is to be checked then.
func (r *run) constants(n *node, start int) bool {
	if n.constants == nil {
		return false
	}
	raw := r.in[start:r.pos]
	text := canonical(raw)
	if !slices.ContainsFunc(n.constants, func(c constant) bool { return c.equal == text }) {
		r.issue(schema.IssueInvalidValue, noneOf(n.constants, raw))
	}
	return true
}

// noneOf says that a value is none of the constants, and which of them may be meant.
func noneOf(allowed []constant, raw []byte) string {
	names := make([]string, len(allowed))
	var texts []string
	for i, c := range allowed {
		names[i] = shorten(c.raw)
		if c.isText {
			texts = append(texts, c.text)
		}
	}
	message := "must be one of "
	if len(names) == 1 {
		message = "must be "
	}
	if len(names) > maxListed {
		names = append(names[:maxListed:maxListed], "…")
	}
	message += strings.Join(names, ", ") + ", got " + describe(raw)
	if raw[0] == '"' && len(allowed) > 1 {
		got, _ := (&run{in: raw}).string()
		if near := nearest(string(got), texts); near != "" {
			message += "; did you mean " + quote(near) + "?"
		}
	}
	return message
}

// kindsOfConstants returns the types of the constants.
func kindsOfConstants(all []constant) kind {
	var k kind
	for _, c := range all {
		k |= kindsOf(c.raw[0])
	}
	return k
}

// constantNames lists the constants of a string.
func (n *node) constantNames() []string {
	names := make([]string, 0, len(n.constants))
	for _, c := range n.constants {
		if c.isText {
			names = append(names, c.text)
		}
	}
	return names
}

func newConstant(raw json.RawMessage) (constant, error) {
	c := constant{raw: string(raw)}
	if err := json.Unmarshal(raw, &c.text); err == nil && len(raw) > 0 && raw[0] == '"' {
		c.isText = true
	} else if !json.Valid(raw) {
		return c, json.Unmarshal(raw, new(any))
	}
	c.equal = canonical(raw)
	return c, nil
}

// canonical writes valid JSON so that equal values have equal text: keys sorted, strings and numbers in one form.
func canonical(raw []byte) string {
	r := run{in: raw}
	var b strings.Builder
	r.canonical(&b)
	return b.String()
}

func (r *run) canonical(b *strings.Builder) {
	switch kindsOf(r.peek()) {
	case kindObject:
		r.canonicalObject(b)
	case kindArray:
		r.pos++
		b.WriteByte('[')
		for r.peek() != ']' {
			r.canonical(b)
			if r.peek() == ',' {
				r.pos++
			}
			b.WriteByte(',')
		}
		r.pos++
		b.WriteByte(']')
	case kindString:
		s, _ := r.string()
		b.WriteString(strconv.Quote(string(s)))
	case kindInteger | kindNumber:
		l, _ := r.literal()
		b.WriteString(parseDecimal(l.text).canonical())
	default:
		start := r.pos
		for r.pos < len(r.in) && 'a' <= r.in[r.pos] && r.in[r.pos] <= 'z' {
			r.pos++
		}
		b.Write(r.in[start:r.pos])
	}
}

func (r *run) canonicalObject(b *strings.Builder) {
	var members []string
	r.pos++
	for r.peek() != '}' {
		key, _ := r.string()
		var m strings.Builder
		m.WriteString(strconv.Quote(string(key)))
		r.peek()
		r.pos++
		m.WriteByte(':')
		r.canonical(&m)
		members = append(members, m.String())
		if r.peek() == ',' {
			r.pos++
			r.space()
		}
	}
	r.pos++
	slices.Sort(members)
	b.WriteString("{" + strings.Join(members, ",") + "}")
}
