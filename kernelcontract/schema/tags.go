package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// The tags that constrain a value, by the JSON type that they apply to.
var (
	stringTags = []string{"pattern", "minLength", "maxLength"}
	numberTags = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
	arrayTags  = []string{"minItems", "maxItems", "uniqueItems"}
	objectTags = []string{"minProperties", "maxProperties"}
	countTags  = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
)

// unsupportedTags would say a second time, or differently, what the type and the json tag say.
var unsupportedTags = []struct{ name, instead string }{
	{"required", "a field without omitempty, omitzero and default is required"},
	{"nullable", "use a pointer or kernelcontract.Null"},
	{"additionalProperties", "every object is strict; use a map for free keys"},
}

// exactTags reads the tags that must stay exact, and refuses those that mean nothing on the field's type.
func (b *builder) exactTags(f *fieldSchema) {
	kind := f.kind()
	// Beside a definition or a union nothing but a description and a default may stand.
	fixed := f.schema.Ref != "" || f.schema.OneOf != nil
	refuse := func(tags []string, where string) {
		for _, tag := range tags {
			if _, ok := f.Tag.Lookup(tag); ok {
				b.problem(f.path, tag+" applies to "+where+" only")
			}
		}
	}
	if kind != String || fixed {
		refuse(stringTags, "a string")
	}
	if kind != Integer && kind != Number {
		refuse(numberTags, "a number")
	}
	if kind != Array || fixed {
		refuse(arrayTags, "an array")
	}
	if kind != Object || fixed || f.schema.Values == nil {
		refuse(objectTags, "a map")
	}
	if kind == Object || kind == Array || fixed {
		refuse([]string{"enum", "const", "format"}, "a scalar, or a named element type with an Enum method,")
	}
	if _, ok := f.Tag.Lookup("title"); ok && fixed {
		b.problem(f.path, "a title applies to the struct type itself: put it on its field _ struct{}")
	}
	for _, tag := range unsupportedTags {
		if _, ok := f.Tag.Lookup(tag.name); ok {
			b.problem(f.path, "the tag "+tag.name+" is not supported: "+tag.instead)
		}
	}
	for _, tag := range countTags {
		if text, ok := f.Tag.Lookup(tag); ok {
			if n, err := strconv.ParseInt(text, 10, 32); err != nil || n < 0 {
				b.problem(f.path, tag+" must be a whole number from 0 to 2147483647, not "+quoteShort(text))
			}
		}
	}
	if text, ok := f.Tag.Lookup("uniqueItems"); ok && text != "true" && text != "false" {
		b.problem(f.path, "uniqueItems must be true or false, not "+quoteShort(text))
	}
	if kind == Integer || kind == Number {
		b.numberTags(f)
	}
	if text, ok := f.Tag.Lookup("enum"); ok && kind != Object && kind != Array && !fixed {
		f.schema.Enum = b.enumTag(f, kind, text)
	}
	if text, ok := f.Tag.Lookup("const"); ok && kind != Object && kind != Array && !fixed {
		f.schema.Const = b.literal(f, kind, "const", text)
	}
	if s := f.schema; s.Enum != nil || s.Const != nil {
		// The listed values say more than the width of the type.
		if widthBound(s.Minimum) || s.Minimum == "0" {
			s.Minimum = ""
		}
		if widthBound(s.Maximum) {
			s.Maximum = ""
		}
	}
	if f.HasDefault {
		f.schema.Default = b.literal(f, kind, "default", f.Default)
	}
}

func (b *builder) numberTags(f *fieldSchema) {
	s := f.schema
	read := func(tag string) (json.Number, bool) {
		text, ok := f.Tag.Lookup(tag)
		if !ok {
			return "", false
		}
		if _, ok := rational(json.Number(text)); !ok {
			b.problem(f.path, tag+" must be a number, not "+quoteShort(text))
			return "", false
		}
		return json.Number(text), true
	}
	// The width of the Go type stays the bound where a tag would reach beyond it.
	tighter := func(dst *json.Number, n json.Number, sign int) {
		if *dst == "" || compareNumbers(n, *dst)*sign > 0 {
			*dst = n
			return
		}
		if n != *dst {
			b.problem(f.path, fmt.Sprintf("the bound %s is beyond the range of %s", n, f.Type))
		}
	}
	if n, ok := read("minimum"); ok {
		tighter(&s.Minimum, n, 1)
	}
	if n, ok := read("maximum"); ok {
		tighter(&s.Maximum, n, -1)
	}
	if n, ok := read("exclusiveMinimum"); ok {
		s.ExclusiveMinimum = n
	}
	if n, ok := read("exclusiveMaximum"); ok {
		s.ExclusiveMaximum = n
	}
	if n, ok := read("multipleOf"); ok {
		if compareNumbers(n, "0") <= 0 {
			b.problem(f.path, "multipleOf must be above 0")
		}
		s.MultipleOf = n
	}
}

// compareNumbers compares two numbers that rational accepts.
func compareNumbers(x, y json.Number) int {
	a, okA := rational(x)
	c, okC := rational(y)
	if !okA || !okC {
		return 0
	}
	return a.Cmp(c)
}

// enumTag reads a JSON array, or values with commas between them.
func (b *builder) enumTag(f *fieldSchema, kind Type, text string) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal([]byte(text), &list) != nil {
		for part := range strings.SplitSeq(text, ",") {
			if kind == String {
				raw, _ := jsontext.Marshal(part)
				list = append(list, raw)
			} else {
				list = append(list, json.RawMessage(strings.TrimSpace(part)))
			}
		}
	}
	for i, raw := range list {
		if !json.Valid(raw) || !fitsType(raw, kind) {
			b.problem(f.path, fmt.Sprintf("enum lists %s, which is not of type %s", quoteShort(string(raw)), kind))
			return nil
		}
		for _, other := range list[:i] {
			if bytes.Equal(other, raw) {
				b.problem(f.path, "enum lists "+quoteShort(string(raw))+" twice")
			}
		}
	}
	return list
}

// literal turns the text of a tag into JSON. The text of a string needs no quotes.
func (b *builder) literal(f *fieldSchema, kind Type, tag, text string) json.RawMessage {
	if text == "null" && f.Nullable {
		return json.RawMessage("null")
	}
	if kind == String {
		raw, _ := jsontext.Marshal(text)
		return raw
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		b.problem(f.path, fmt.Sprintf("%s must be JSON of type %s, not %s", tag, kindName(kind), quoteShort(text)))
		return nil
	}
	return compact.Bytes()
}

func kindName(t Type) string {
	if t == Any {
		return "any"
	}
	return string(t)
}

// checkField checks the finished schema of a field: that its bounds leave room and that its pattern, constant and
// default hold.
func (b *builder) checkField(f *fieldSchema) {
	s := f.schema
	if s.Pattern != "" {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			b.problem(f.path, "pattern: "+err.Error())
		}
	}
	for _, r := range []struct {
		lowest, highest *int
		what            string
	}{{s.MinLength, s.MaxLength, "Length"}, {s.MinItems, s.MaxItems, "Items"}, {s.MinProperties, s.MaxProperties, "Properties"}} {
		if r.lowest != nil && r.highest != nil && *r.lowest > *r.highest {
			b.problem(f.path, fmt.Sprintf("min%s %d is above max%s %d", r.what, *r.lowest, r.what, *r.highest))
		}
	}
	if s.Minimum != "" && s.Maximum != "" && compareNumbers(s.Minimum, s.Maximum) > 0 {
		b.problem(f.path, fmt.Sprintf("minimum %s is above maximum %s", s.Minimum, s.Maximum))
	}
	for _, raw := range s.Enum {
		if why := b.misfit(f, raw); why != "" {
			b.problem(f.path, "enum "+quoteShort(string(raw))+" "+why)
		}
	}
	if s.Const != nil {
		if why := b.misfit(f, s.Const); why != "" {
			b.problem(f.path, "const "+quoteShort(string(s.Const))+" "+why)
		}
	}
	if s.Default == nil {
		return
	}
	if why := b.misfit(f, s.Default); why != "" {
		b.problem(f.path, "default "+quoteShort(string(s.Default))+" "+why)
	} else if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e json.RawMessage) bool { return bytes.Equal(e, s.Default) }) && !isNullText(s.Default) {
		b.problem(f.path, "default "+quoteShort(string(s.Default))+" is not one of the enum")
	}
}

func isNullText(raw json.RawMessage) bool { return string(raw) == "null" }

// misfit says why a literal does not fit its field, "" when it does. Objects and arrays are checked by decoding into
// the Go type; package validate checks them against the schema.
func (b *builder) misfit(f *fieldSchema, raw json.RawMessage) string {
	if isNullText(raw) {
		if f.Nullable || f.kind() == Any {
			return ""
		}
		return "is null, but the field is not nullable"
	}
	s := f.schema
	kind := f.kind()
	if !fitsType(raw, kind) {
		return "is not of type " + string(kind)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(reflect.New(f.Type).Interface()); err != nil {
		// 1.0 and 1e3 are integers on the wire; encoding/json does not see them so.
		if r, ok := rational(json.Number(raw)); !ok || !r.IsInt() || kind != Integer {
			return "does not fit " + f.Type.String() + ": " + err.Error()
		}
	}
	switch kind {
	case Integer, Number:
		return numberMisfit(s, json.Number(raw))
	case String:
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return "is not a string"
		}
		return stringMisfit(s, text)
	}
	return ""
}

func numberMisfit(s *Schema, n json.Number) string {
	if _, ok := rational(n); !ok {
		return "is out of range"
	}
	switch {
	case s.Minimum != "" && compareNumbers(n, s.Minimum) < 0:
		return "is below the minimum " + string(s.Minimum)
	case s.Maximum != "" && compareNumbers(n, s.Maximum) > 0:
		return "is above the maximum " + string(s.Maximum)
	case s.ExclusiveMinimum != "" && compareNumbers(n, s.ExclusiveMinimum) <= 0:
		return "is not above " + string(s.ExclusiveMinimum)
	case s.ExclusiveMaximum != "" && compareNumbers(n, s.ExclusiveMaximum) >= 0:
		return "is not below " + string(s.ExclusiveMaximum)
	}
	return ""
}

func stringMisfit(s *Schema, text string) string {
	length := utf8.RuneCountInString(text)
	switch {
	case s.MinLength != nil && length < *s.MinLength:
		return fmt.Sprintf("is shorter than minLength %d", *s.MinLength)
	case s.MaxLength != nil && length > *s.MaxLength:
		return fmt.Sprintf("is longer than maxLength %d", *s.MaxLength)
	case s.Pattern != "":
		if re, err := regexp.Compile(s.Pattern); err == nil && !re.MatchString(text) {
			return "does not match the pattern"
		}
	}
	return ""
}

// fitsType reports whether valid JSON text is of the type; null is of none but Any.
func fitsType(raw json.RawMessage, t Type) bool {
	if len(raw) == 0 {
		return false
	}
	switch t {
	case Any:
		return true
	case Object:
		return raw[0] == '{'
	case Array:
		return raw[0] == '['
	case String:
		return raw[0] == '"'
	case Boolean:
		return raw[0] == 't' || raw[0] == 'f'
	case Number:
		return jsontext.IsNumber(string(raw))
	case Integer:
		r, ok := rational(json.Number(raw))
		return ok && r.IsInt()
	}
	return false
}
