package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// Dialect is the URI of the JSON Schema version that documents are written in.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Document returns s as a JSON document of its own, with "$schema" first.
func (s *Schema) Document() (json.RawMessage, error) {
	w := writer{}
	w.open()
	w.text("$schema", Dialect)
	w.keywords(s)
	w.close()
	return w.result()
}

// Part returns s without its Defs, each reference written as ref names it: for documents that keep the definitions of many
// schemas in a place of their own. The discriminator of a union is left out: there, it may only choose among named schemas,
// and the constants of the branches tell them apart as well.
func (s *Schema) Part(ref func(def string) string) (json.RawMessage, error) {
	bare := *s
	bare.Defs = nil
	w := writer{ref: ref}
	w.schema(&bare)
	return w.result()
}

// MarshalJSON writes s as JSON Schema 2020-12. The order of the keywords is fixed and that of the properties is theirs,
// so that equal schemas are equal text.
func (s *Schema) MarshalJSON() ([]byte, error) {
	w := writer{}
	w.schema(s)
	return w.result()
}

// writer writes keywords in order.
type writer struct {
	b     bytes.Buffer
	first bool
	err   error
	ref   func(def string) string // nil: as refPrefix says
}

func (w *writer) result() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	return w.b.Bytes(), nil
}

func (w *writer) open()  { w.b.WriteByte('{'); w.first = true }
func (w *writer) close() { w.b.WriteByte('}'); w.first = false }

func (w *writer) key(name string) {
	if !w.first {
		w.b.WriteByte(',')
	}
	w.first = false
	w.string(name)
	w.b.WriteByte(':')
}

func (w *writer) string(s string) {
	raw, err := jsontext.Marshal(s)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.b.Write(raw)
}

func (w *writer) text(name, value string) {
	if value != "" {
		w.key(name)
		w.string(value)
	}
}

func (w *writer) count(name string, n *int) {
	if n != nil {
		w.key(name)
		w.b.WriteString(strconv.Itoa(*n))
	}
}

func (w *writer) number(name string, n json.Number) {
	if n == "" {
		return
	}
	if !jsontext.IsNumber(string(n)) && w.err == nil {
		w.err = fmt.Errorf("schema: %s is %s, which is not a number", name, quoteShort(string(n)))
	}
	w.key(name)
	w.b.WriteString(string(n))
}

func (w *writer) raw(name string, raw json.RawMessage) {
	if raw == nil {
		return
	}
	w.key(name)
	w.value(raw)
}

func (w *writer) value(raw json.RawMessage) {
	if err := json.Compact(&w.b, raw); err != nil && w.err == nil {
		w.err = fmt.Errorf("schema: a literal is not JSON: %w", err)
	}
}

func (w *writer) sub(name string, s *Schema) {
	if s != nil {
		w.key(name)
		w.schema(s)
	}
}

func (w *writer) schema(s *Schema) {
	w.open()
	if s != nil {
		w.keywords(s)
	}
	w.close()
}

// wrapped reports whether null must stand beside s in an anyOf, because s has no type to add it to.
func wrapped(s *Schema) bool {
	return s.Nullable && (s.Ref != "" || s.OneOf != nil || s.Const != nil && s.Type != Any)
}

func (w *writer) keywords(s *Schema) {
	w.text("title", s.Title)
	w.text("description", s.Description)
	if wrapped(s) {
		inner := *s
		inner.Title, inner.Description, inner.Default, inner.Nullable, inner.Defs = "", "", nil, false, nil
		w.key("anyOf")
		w.b.WriteByte('[')
		w.schema(&inner)
		w.b.WriteString(`,{"type":"null"}]`)
		w.first = false
	} else {
		w.constraints(s)
	}
	w.raw("default", s.Default)
	if len(s.Defs) > 0 {
		w.key("$defs")
		w.open()
		for _, d := range s.Defs {
			w.sub(d.Name, d.Schema)
		}
		w.close()
	}
}

// refPrefix begins the reference to a definition.
const refPrefix = "#/$defs/"

func (w *writer) constraints(s *Schema) {
	if s.Ref != "" {
		if w.ref != nil {
			w.text("$ref", w.ref(s.Ref))
		} else {
			w.text("$ref", refPrefix+s.Ref)
		}
		return
	}
	if s.Type != Any {
		w.key("type")
		if s.Nullable {
			w.b.WriteString(`["` + string(s.Type) + `","null"]`)
		} else {
			w.string(string(s.Type))
		}
	}
	w.text("format", s.Format)
	w.text("contentEncoding", s.ContentEncoding)
	w.raw("const", s.Const)
	w.enum(s)
	w.text("pattern", s.Pattern)
	w.count("minLength", s.MinLength)
	w.count("maxLength", s.MaxLength)
	w.number("minimum", s.Minimum)
	w.number("exclusiveMinimum", s.ExclusiveMinimum)
	w.number("maximum", s.Maximum)
	w.number("exclusiveMaximum", s.ExclusiveMaximum)
	w.number("multipleOf", s.MultipleOf)
	w.sub("items", s.Items)
	w.count("minItems", s.MinItems)
	w.count("maxItems", s.MaxItems)
	if s.UniqueItems {
		w.key("uniqueItems")
		w.b.WriteString("true")
	}
	w.object(s)
	if s.OneOf != nil {
		w.key("oneOf")
		w.b.WriteByte('[')
		for i, o := range s.OneOf {
			if i > 0 {
				w.b.WriteByte(',')
			}
			w.schema(o)
		}
		w.b.WriteByte(']')
		w.first = false
	}
	if s.Discriminator != "" && w.ref == nil {
		w.key("discriminator")
		w.open()
		w.text("propertyName", s.Discriminator)
		w.close()
	}
}

func (w *writer) enum(s *Schema) {
	if s.Enum == nil {
		return
	}
	w.key("enum")
	w.b.WriteByte('[')
	for i, e := range s.Enum {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.value(e)
	}
	if s.Nullable && s.Type != Any {
		if len(s.Enum) > 0 {
			w.b.WriteByte(',')
		}
		w.b.WriteString("null")
	}
	w.b.WriteByte(']')
}

func (w *writer) object(s *Schema) {
	if len(s.Properties) > 0 {
		w.key("properties")
		w.open()
		for _, p := range s.Properties {
			w.key(p.Name)
			w.schema(p.Schema)
		}
		w.close()
		var required []string
		for _, p := range s.Properties {
			if p.Required {
				required = append(required, p.Name)
			}
		}
		if required != nil {
			w.key("required")
			raw, err := jsontext.Marshal(required)
			if err != nil && w.err == nil {
				w.err = err
			}
			w.b.Write(raw)
		}
	}
	switch {
	case s.Strict:
		w.key("additionalProperties")
		w.b.WriteString("false")
	case s.Values != nil:
		w.sub("additionalProperties", s.Values)
	}
	w.count("minProperties", s.MinProperties)
	w.count("maxProperties", s.MaxProperties)
}
