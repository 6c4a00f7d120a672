package text

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// What stands for nothing.
const (
	doneMark  = "done"    // a method that has no output
	emptyMark = "(empty)" // an empty string or object
	noneMark  = "(none)"  // an empty array, or null
	nullMark  = "-"       // null beside other values
)

// SGR sequences of the renderer.
const (
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	red   = "\x1b[1;31m"
	reset = "\x1b[0m"
)

// Result renders the result of d, or one item of a stream: v is of the method's output type, or its JSON as
// json.RawMessage. The author's RenderText wins over the generic text; its colours stay when r asks for colour. A panic
// in it is an Internal error.
func Result(d *kernelcontract.MethodDef, v any, r kernelcontract.Render) (s string, err error) {
	if d.RendersText() {
		defer func() {
			if p := recover(); p != nil {
				s, err = "", kernelcontract.Internal.Errorf("the text form of %s failed: %w", d.Ref(), fmt.Errorf("panic: %v", p))
			}
		}()
		s, err = d.RenderText(v, r)
		if err != nil {
			return "", err
		}
		if r.Color {
			return StripButColors(s), nil
		}
		return Strip(s), nil
	}
	out, err := d.Output()
	if err != nil {
		return "", kernelcontract.Internal.Errorf("the output of %s has no schema: %w", d.Ref(), err)
	}
	raw, ok := v.(json.RawMessage)
	if !ok {
		if raw, err = schema.Marshal(v); err != nil {
			return "", kernelcontract.Internal.Errorf("the result of %s does not encode: %w", d.Ref(), err)
		}
	}
	return Render(raw, out, r), nil
}

// Render renders a JSON value by its schema, which may be nil: members then keep the order they have. A table is fitted
// to r.Width; with neither a width nor a terminal nothing is shortened. What is not JSON prints stripped.
func Render(raw json.RawMessage, s *schema.Schema, r kernelcontract.Render) string {
	v, err := parse(raw)
	if err != nil {
		return Strip(string(raw))
	}
	p := printer{root: s, color: r.Color}
	if r.Width > 0 || r.TTY {
		p.width = r.Columns()
	}
	p.top(&v, s)
	return strings.Join(p.lines, "\n")
}

// printer lays a value out in lines.
type printer struct {
	root  *schema.Schema
	width int // columns, 0: no limit
	color bool
	lines []string
}

func (p *printer) paint(sgr, s string) string {
	if !p.color || s == "" {
		return s
	}
	return sgr + s + reset
}

func (p *printer) line(indent int, s string) {
	p.lines = append(p.lines, strings.TrimRight(strings.Repeat(" ", indent)+s, " "))
}

// resolve follows a reference; nil stays nil.
func (p *printer) resolve(s *schema.Schema) *schema.Schema {
	if s == nil || p.root == nil {
		return nil
	}
	return p.root.Resolve(s)
}

func (p *printer) property(s *schema.Schema, name string) *schema.Schema {
	if s = p.resolve(s); s == nil {
		return nil
	}
	if prop := s.Property(name); prop != nil {
		return prop.Schema
	}
	return s.Values
}

func (p *printer) items(s *schema.Schema) *schema.Schema {
	if s = p.resolve(s); s == nil {
		return nil
	}
	return s.Items
}

func (p *printer) top(v *value, s *schema.Schema) {
	switch {
	case v.kind == str && v.scalar == "":
		p.line(0, p.paint(dim, emptyMark))
	case v.kind == null, v.kind == array && len(v.items) == 0:
		p.line(0, p.paint(dim, noneMark))
	case v.isScalar():
		p.lines = append(p.lines, v.scalar)
	case v.kind == object && len(v.members) == 0:
		if s != nil && s.Type == schema.Object && s.Strict && len(s.Properties) == 0 {
			p.line(0, doneMark)
		} else {
			p.line(0, p.paint(dim, emptyMark))
		}
	case v.isList():
		for i := range v.items {
			p.line(0, oneLine(p.short(&v.items[i])))
		}
	default:
		p.block(v, s, 0)
	}
}

// block lays out an object or an array that is not empty.
func (p *printer) block(v *value, s *schema.Schema, indent int) {
	if d, ok := bytesOf(v); ok {
		p.line(indent, d)
		return
	}
	switch {
	case v.kind == object:
		s = p.resolve(s)
		for _, m := range ordered(v, s) {
			p.member(&m, p.property(s, m.key), indent)
		}
	case v.isTable():
		p.table(v, p.items(s), indent)
	case v.kind == array:
		for i := range v.items {
			p.item(&v.items[i], p.items(s), indent)
		}
	default:
		p.line(indent, v.compact())
	}
}

func (p *printer) member(m *member, s *schema.Schema, indent int) {
	key := p.paint(bold, oneLine(Strip(m.key))+":")
	if short, ok := p.inline(&m.value, indent+Width(m.key)+2); ok {
		p.line(indent, key+" "+short)
		return
	}
	p.line(indent, key)
	if m.kind == str {
		for l := range strings.SplitSeq(m.scalar, "\n") {
			p.line(indent+2, l)
		}
		return
	}
	p.block(&m.value, s, indent+2)
}

// item lays out one element of an array that is neither a list of scalars nor a table.
func (p *printer) item(v *value, s *schema.Schema, indent int) {
	if short, ok := p.inline(v, indent+2); ok {
		p.line(indent, "- "+short)
		return
	}
	at := len(p.lines)
	p.block(v, s, indent+2)
	if at < len(p.lines) && len(p.lines[at]) > indent {
		p.lines[at] = strings.Repeat(" ", indent) + "-" + p.lines[at][indent+1:]
	}
}

// inline returns v for the rest of a line that begins at column at; ok is false when it needs lines of its own.
func (p *printer) inline(v *value, at int) (s string, ok bool) {
	if d, ok := bytesOf(v); ok {
		return d, true
	}
	switch {
	case v.kind == str && strings.Contains(v.scalar, "\n"):
		return "", false
	case v.isScalar(), v.kind == deep, len(v.items)+len(v.members) == 0:
		return p.short(v), true
	case !v.isList():
		return "", false
	}
	parts := make([]string, len(v.items))
	for i := range v.items {
		if parts[i] = p.short(&v.items[i]); strings.ContainsAny(parts[i], "\n,") {
			return "", false
		}
	}
	s = strings.Join(parts, ", ")
	return s, p.width == 0 || at+Width(s) <= p.width
}

// short returns a scalar, a mark for nothing, or compact JSON.
func (p *printer) short(v *value) string {
	switch {
	case v.kind == null:
		return p.paint(dim, nullMark)
	case v.kind == str && v.scalar == "", v.kind == object && len(v.members) == 0:
		return p.paint(dim, emptyMark)
	case v.kind == array && len(v.items) == 0:
		return p.paint(dim, noneMark)
	case v.isScalar():
		return v.scalar
	}
	return v.compact()
}

// oneLine replaces line feeds and tabs, which would break a row.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\t' }), " ")
}
