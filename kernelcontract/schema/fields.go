package schema

import (
	"fmt"
	"reflect"
	"strings"
)

// Field is one member of a struct type as JSON sees it. It is the one place that says when a member is required,
// optional or nullable (docs/spec/schemas.md); every surface follows it.
type Field struct {
	// Name is the name of the member on the wire, GoName that of the Go field.
	Name, GoName string
	// Type is the Go type of the field.
	Type reflect.Type
	// Tag is the whole struct tag.
	Tag reflect.StructTag
	// Index is the path to the field for reflect.Value.FieldByIndex; longer than one inside an embedded struct.
	Index []int
	// Required says that the member must be given: the field has neither omitempty nor omitzero nor a default.
	Required bool
	// OmitZero says that the zero value may be left out on the wire: omitempty or omitzero.
	OmitZero bool
	// HasDefault says that the field has a default tag; Default is its text.
	HasDefault bool
	Default    string
	// Nullable says that null is a value: a pointer (unless it has a default other than null) or a Null.
	Nullable bool
	// Description is the description tag.
	Description string
}

// Fields lists the members of a struct type in Go order, with those of embedded structs at their place. It is cheap
// and needs no schema. The error is a *TypeError with every problem that can be seen without looking into field types.
func Fields(t reflect.Type) ([]Field, error) {
	fields, problems := fieldsOf(t)
	if len(problems) > 0 {
		return fields, &TypeError{Type: typeName(t), Problems: problems}
	}
	return fields, nil
}

// fieldsOf is Fields with the problems as a list.
func fieldsOf(t reflect.Type) ([]Field, []Problem) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, []Problem{{Message: "must be a struct type with one field for each member"}}
	}
	w := fieldWalk{fields: make([]Field, 0, t.NumField())}
	w.walk(t, nil)
	for i := range w.fields {
		for j := range i {
			if w.fields[j].Name == w.fields[i].Name {
				w.problem(w.fields[i].Name, "the fields "+w.fields[j].GoName+" and "+w.fields[i].GoName+" have the same name; rename one")
				break
			}
		}
	}
	return w.fields, w.problems
}

type fieldWalk struct {
	fields   []Field
	problems []Problem
}

func (w *fieldWalk) problem(path, message string) {
	w.problems = append(w.problems, Problem{Path: path, Message: message})
}

func (w *fieldWalk) walk(t reflect.Type, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, hasTag := f.Tag.Lookup("json")
		if tag == "-" || f.Name == "_" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		at := append(index[:len(index):len(index)], i)
		if f.Anonymous && name == "" {
			if f.Type.Kind() == reflect.Struct {
				w.walk(f.Type, at)
				continue
			}
			if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
				w.problem(f.Name, "an embedded pointer has no fixed members; embed the struct itself")
				continue
			}
		}
		if !f.IsExported() {
			continue
		}
		w.field(f, name, options, hasTag, at)
	}
}

func (w *fieldWalk) field(f reflect.StructField, name, options string, hasTag bool, index []int) {
	switch {
	case !hasTag:
		w.problem(f.Name, "has no json tag; add `json:\""+lowerFirst(f.Name)+"\"`, or `json:\"-\"` to leave it out")
		name = f.Name
	case name == "":
		w.problem(f.Name, "has no name in its json tag; write `json:\""+lowerFirst(f.Name)+"\"`")
		name = f.Name
	case !ValidName(name):
		w.problem(name, "is not a valid name: it must match ^[a-z][a-zA-Z0-9]*$")
	}
	field := Field{Name: name, GoName: f.Name, Type: f.Type, Tag: f.Tag, Index: index, Description: f.Tag.Get("description")}
	omitsNull := false
	for options != "" {
		var option string
		option, options, _ = strings.Cut(options, ",")
		switch option {
		case "omitempty":
			field.OmitZero = true
		case "omitzero":
			field.OmitZero, omitsNull = true, isNull(f.Type)
		case "string":
			w.problem(name, "must not use the json option string: numbers are exact on every surface without it")
		}
	}
	field.Default, field.HasDefault = f.Tag.Lookup("default")
	field.Required = !field.OmitZero && !field.HasDefault
	switch {
	case isNull(f.Type):
		field.Nullable = true
	case f.Type.Kind() == reflect.Pointer:
		field.Nullable = !field.HasDefault || field.Default == "null"
	}
	if f.Type.Kind() == reflect.Bool && field.OmitZero && field.Default == "true" {
		w.problem(name, "a bool that defaults to true cannot send false when it is omitted; make it a *bool")
	}
	if omitsNull && field.HasDefault && field.Default != "null" {
		w.problem(name, "with omitzero and a default null cannot be sent; leave out one of them, or use a pointer")
	}
	w.fields = append(w.fields, field)
}

// ValidName reports whether a member may have the name: it matches ^[a-z][a-zA-Z0-9]*$.
func ValidName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || i > 0 && ('A' <= c && c <= 'Z' || '0' <= c && c <= '9')) {
			return false
		}
	}
	return name != ""
}

// lowerFirst suggests a member name for a Go field name.
func lowerFirst(s string) string {
	i := 0
	for i < len(s) && 'A' <= s[i] && s[i] <= 'Z' && (i == 0 || i+1 == len(s) || 'A' <= s[i+1] && s[i+1] <= 'Z') {
		i++
	}
	return strings.ToLower(s[:i]) + s[i:]
}

// Problem is one reason why a Go type has no schema.
type Problem struct {
	// Path names the member, such as "filter.tags[]"; empty for the type itself.
	Path string
	// Message says what is wrong and what to do.
	Message string
}

// String returns "path: message".
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// TypeError lists everything that keeps a Go type from having a schema.
type TypeError struct {
	// Type is the name of the Go type.
	Type string
	// Problems holds at least one entry.
	Problems []Problem
}

// Error returns the type, then one problem a line.
func (e *TypeError) Error() string {
	if len(e.Problems) == 1 {
		return "type " + e.Type + ": " + e.Problems[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "type %s: %d problems:", e.Type, len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n\t" + p.String())
	}
	return b.String()
}

func typeName(t reflect.Type) string {
	if t == nil {
		return "nil"
	}
	return t.String()
}
