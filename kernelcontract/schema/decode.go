package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// maxSchemaDepth bounds the nesting of a schema that is read; derived schemas nest through Defs and stay far below.
const maxSchemaDepth = 128

// UnmarshalJSON reads what MarshalJSON and Document write. It is strict: a keyword outside the subset, a value of the
// wrong type or a reference into nowhere is an error that names the place. White space between tokens means nothing: values
// that the schema holds as JSON are kept without it.
func (s *Schema) UnmarshalJSON(raw []byte) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err == nil { // else what follows says what is wrong
		raw = compact.Bytes()
	}
	read, err := readSchema(raw, 0)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if err := read.checkRefs(read); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	*s = *read
	return nil
}

// readSchema reads the schema of one place.
func readSchema(raw []byte, depth int) (*Schema, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxSchemaDepth)
	}
	members, err := readMembers(raw)
	if err != nil {
		return nil, err
	}
	s := &Schema{}
	var required []string
	for _, m := range members {
		if err := readKeyword(s, m, &required, depth); err != nil {
			return nil, fmt.Errorf("%s: %w", shortName(m.Name), err)
		}
	}
	for _, name := range required {
		p := s.Property(name)
		switch {
		case p == nil:
			return nil, fmt.Errorf("required: %s is not among the properties", quoteShort(name))
		case p.Required:
			return nil, fmt.Errorf("required: %s is listed twice", quoteShort(name))
		}
		p.Required = true
	}
	return s, s.normalize()
}

// shortName is a keyword for a message.
func shortName(name string) string {
	if len(name) > maxQuoted || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return quoteShort(name)
	}
	return name
}

func readKeyword(s *Schema, m jsontext.Member, required *[]string, depth int) error {
	switch m.Name {
	case "$schema":
		var dialect string
		if err := readText(m.Raw, &dialect); err != nil {
			return err
		}
		if depth > 0 || dialect != Dialect {
			return fmt.Errorf("must be %s, and only at the root", Dialect)
		}
		return nil
	case "title":
		return readText(m.Raw, &s.Title)
	case "description":
		return readText(m.Raw, &s.Description)
	case "default":
		return readLiteral(m.Raw, &s.Default)
	case "const":
		return readLiteral(m.Raw, &s.Const)
	case "enum":
		return readEnum(m.Raw, s)
	case "$ref":
		var ref string
		if err := readText(m.Raw, &ref); err != nil {
			return err
		}
		name, ok := strings.CutPrefix(ref, refPrefix)
		if !ok || name == "" || strings.ContainsAny(name, "/~%") {
			return fmt.Errorf("must be %sName", refPrefix)
		}
		s.Ref = name
		return nil
	case "type":
		return readType(m.Raw, s)
	case "anyOf":
		return readNullable(s, m.Raw, depth)
	case "$defs":
		if depth > 0 {
			return errors.New("allowed at the root only")
		}
		return readDefs(s, m.Raw)
	}
	if known, err := objectKeyword(s, m, required, depth); known {
		return err
	}
	if known, err := listKeyword(s, m, depth); known {
		return err
	}
	if known, err := scalarKeyword(s, m); known {
		return err
	}
	return errors.New("this keyword is not part of the subset")
}

func objectKeyword(s *Schema, m jsontext.Member, required *[]string, depth int) (bool, error) {
	switch m.Name {
	case "properties":
		members, err := readMembers(m.Raw)
		if err != nil {
			return true, err
		}
		for _, p := range members {
			sub, err := readSchema(p.Raw, depth+1)
			if err != nil {
				return true, fmt.Errorf("%s: %w", shortName(p.Name), err)
			}
			s.Properties = append(s.Properties, Property{Name: p.Name, Schema: sub})
		}
		return true, nil
	case "required":
		if err := json.Unmarshal(m.Raw, required); err != nil || *required == nil {
			return true, errors.New("must be an array of names")
		}
		return true, nil
	case "additionalProperties":
		if string(m.Raw) == "false" {
			s.Strict = true
			return true, nil
		}
		var err error
		s.Values, err = readSchema(m.Raw, depth+1)
		return true, err
	case "minProperties":
		return true, readCount(m.Raw, &s.MinProperties)
	case "maxProperties":
		return true, readCount(m.Raw, &s.MaxProperties)
	}
	return false, nil
}

func listKeyword(s *Schema, m jsontext.Member, depth int) (bool, error) {
	switch m.Name {
	case "items":
		var err error
		s.Items, err = readSchema(m.Raw, depth+1)
		return true, err
	case "minItems":
		return true, readCount(m.Raw, &s.MinItems)
	case "maxItems":
		return true, readCount(m.Raw, &s.MaxItems)
	case "uniqueItems":
		return true, readBool(m.Raw, &s.UniqueItems)
	case "oneOf":
		branches, err := readArray(m.Raw)
		if err != nil {
			return true, err
		}
		if len(branches) == 0 {
			return true, errors.New("must list a branch")
		}
		for i, raw := range branches {
			b, err := readSchema(raw, depth+1)
			if err != nil {
				return true, fmt.Errorf("[%d]: %w", i, err)
			}
			s.OneOf = append(s.OneOf, b)
		}
		return true, nil
	case "discriminator":
		members, err := readMembers(m.Raw)
		if err != nil {
			return true, err
		}
		if len(members) != 1 || members[0].Name != "propertyName" {
			return true, errors.New("must hold propertyName and nothing else")
		}
		return true, readText(members[0].Raw, &s.Discriminator)
	}
	return false, nil
}

func scalarKeyword(s *Schema, m jsontext.Member) (bool, error) {
	switch m.Name {
	case "format":
		return true, readText(m.Raw, &s.Format)
	case "contentEncoding":
		return true, readText(m.Raw, &s.ContentEncoding)
	case "pattern":
		return true, readText(m.Raw, &s.Pattern)
	case "minLength":
		return true, readCount(m.Raw, &s.MinLength)
	case "maxLength":
		return true, readCount(m.Raw, &s.MaxLength)
	case "minimum":
		return true, readNumber(m.Raw, &s.Minimum)
	case "maximum":
		return true, readNumber(m.Raw, &s.Maximum)
	case "exclusiveMinimum":
		return true, readNumber(m.Raw, &s.ExclusiveMinimum)
	case "exclusiveMaximum":
		return true, readNumber(m.Raw, &s.ExclusiveMaximum)
	case "multipleOf":
		return true, readNumber(m.Raw, &s.MultipleOf)
	}
	return false, nil
}

// readNullable reads anyOf, which the subset has in one form only: a schema, or null.
func readNullable(s *Schema, raw []byte, depth int) error {
	branches, err := readArray(raw)
	if err != nil {
		return err
	}
	if len(branches) != 2 || string(branches[1]) != `{"type":"null"}` {
		return errors.New(`must be one schema and {"type":"null"}`)
	}
	inner, err := readSchema(branches[0], depth+1)
	if err != nil {
		return err
	}
	if inner.Title != "" || inner.Description != "" || inner.Default != nil || inner.Nullable {
		return errors.New("title, description and default stand beside it, not inside")
	}
	inner.Title, inner.Description, inner.Default, inner.Defs = s.Title, s.Description, s.Default, s.Defs
	inner.Nullable = true
	if !wrapped(inner) {
		return errors.New("a schema with a type lists null in its type instead")
	}
	rest := *s
	rest.Title, rest.Description, rest.Default, rest.Defs = "", "", nil, nil
	if !rest.empty() {
		return errors.New("no other constraint may stand beside it")
	}
	*s = *inner
	return nil
}

// empty reports whether s is the zero Schema.
func (s *Schema) empty() bool {
	raw, err := s.MarshalJSON()
	return err == nil && string(raw) == "{}"
}

// normalize settles what depends on several keywords.
func (s *Schema) normalize() error {
	if s.Ref != "" {
		rest := *s
		rest.Ref, rest.Title, rest.Description, rest.Default, rest.Nullable, rest.Defs = "", "", "", nil, false, nil
		if !rest.empty() {
			return errors.New("$ref: only a description and a default may stand beside it")
		}
	}
	if s.Strict && s.Values != nil {
		return errors.New("additionalProperties: given twice")
	}
	if s.Nullable && s.Type != Any && s.Enum != nil {
		if i := len(s.Enum) - 1; i >= 0 && string(s.Enum[i]) == "null" {
			s.Enum = s.Enum[:i:i]
		} else {
			return errors.New("enum: a nullable value lists null last")
		}
	}
	if s.Discriminator != "" && s.OneOf == nil {
		return errors.New("discriminator: needs oneOf")
	}
	return nil
}

func readDefs(s *Schema, raw []byte) error {
	members, err := readMembers(raw)
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Name == "" || strings.ContainsAny(m.Name, "/~%") {
			return fmt.Errorf("%s is not a name", quoteShort(m.Name))
		}
		d, err := readSchema(m.Raw, 1)
		if err != nil {
			return fmt.Errorf("%s: %w", shortName(m.Name), err)
		}
		s.Defs = append(s.Defs, Def{Name: m.Name, Schema: d})
	}
	if !slices.IsSortedFunc(s.Defs, func(x, y Def) int { return strings.Compare(x.Name, y.Name) }) {
		return errors.New("must be sorted by name")
	}
	return nil
}

// checkRefs reports a reference below s that root does not define, or that leads to itself.
func (root *Schema) checkRefs(s *Schema) error {
	if s == nil {
		return nil
	}
	if s.Ref != "" && root.Resolve(s) == nil {
		return fmt.Errorf("$ref: %s%s leads nowhere", refPrefix, s.Ref)
	}
	subs := append([]*Schema{s.Values, s.Items}, s.OneOf...)
	for _, p := range s.Properties {
		subs = append(subs, p.Schema)
	}
	for _, d := range s.Defs {
		subs = append(subs, d.Schema)
	}
	for _, sub := range subs {
		if err := root.checkRefs(sub); err != nil {
			return err
		}
	}
	return nil
}

func readType(raw []byte, s *Schema) error {
	var name string
	if raw[0] == '[' {
		var pair []string
		if err := json.Unmarshal(raw, &pair); err != nil || len(pair) != 2 || pair[1] != "null" {
			return errors.New(`must be a type, or an array of a type and "null"`)
		}
		name, s.Nullable = pair[0], true
	} else if err := readText(raw, &name); err != nil {
		return err
	}
	switch t := Type(name); t {
	case Object, Array, String, Integer, Number, Boolean:
		s.Type = t
		return nil
	}
	return fmt.Errorf("%s is not a type", quoteShort(name))
}

func readEnum(raw []byte, s *Schema) error {
	list, err := readArray(raw)
	if err != nil {
		return err
	}
	s.Enum = make([]json.RawMessage, len(list))
	for i, v := range list {
		if err := readLiteral(v, &s.Enum[i]); err != nil {
			return err
		}
	}
	return nil
}

func readArray(raw []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, errors.New("must be an array")
	}
	return list, nil
}

// readText reads a string that is not empty; an empty one says nothing and is not written.
func readText(raw []byte, dst *string) error {
	if raw[0] != '"' {
		return errors.New("must be a string")
	}
	if err := json.Unmarshal(raw, dst); err != nil {
		return err
	}
	if *dst == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func readBool(raw []byte, dst *bool) error {
	if string(raw) != "true" {
		return errors.New("must be true, or left out")
	}
	*dst = true
	return nil
}

func readCount(raw []byte, dst **int) error {
	var n int
	if err := json.Unmarshal(raw, &n); err != nil || n < 0 || string(raw) == "null" {
		return errors.New("must be a whole number from 0")
	}
	*dst = &n
	return nil
}

func readNumber(raw []byte, dst *json.Number) error {
	if !jsontext.IsNumber(string(raw)) {
		return errors.New("must be a number")
	}
	*dst = json.Number(raw)
	return nil
}

func readLiteral(raw []byte, dst *json.RawMessage) error {
	w := writer{}
	w.value(raw)
	compact, err := w.result()
	*dst = compact
	return err
}
