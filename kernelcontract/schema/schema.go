package schema

import "encoding/json"

// Type is a JSON Schema type name.
type Type string

// The JSON types. Any is a schema without a type: every JSON value.
const (
	Any     Type = ""
	Object  Type = "object"
	Array   Type = "array"
	String  Type = "string"
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
)

// Schema is one JSON Schema of the closed subset that definitions use. It is plain data: treat a Schema that another
// package hands out as read-only. The zero Schema accepts everything.
type Schema struct {
	// Ref names an entry of the root's Defs; all other fields except Nullable, Description and Default are empty then.
	Ref string
	// Type is the JSON type; a nullable value also takes null.
	Type     Type
	Nullable bool

	Title       string
	Description string
	Default     json.RawMessage // nil: none

	Const json.RawMessage   // nil: none
	Enum  []json.RawMessage // nil: none

	// Objects. Properties keep the Go field order. Strict refuses other keys; Values is the schema of a map's values.
	Properties    []Property
	Strict        bool
	Values        *Schema
	MinProperties *int
	MaxProperties *int

	// Arrays.
	Items       *Schema
	MinItems    *int
	MaxItems    *int
	UniqueItems bool

	// Strings. ContentEncoding "base64" marks bytes. Lengths count code points.
	Format          string
	Pattern         string
	ContentEncoding string
	MinLength       *int
	MaxLength       *int

	// Numbers, exact: "" means no bound.
	Minimum, Maximum                   json.Number
	ExclusiveMinimum, ExclusiveMaximum json.Number
	MultipleOf                         json.Number

	// Unions. Discriminator names the property whose const tells the branches apart; empty in a mixed union.
	OneOf         []*Schema
	Discriminator string

	// Defs holds the named schemas of a root, sorted by name.
	Defs []Def
}

// Property is a named member of an object. A property that is not Required may be omitted.
type Property struct {
	Name     string
	Schema   *Schema
	Required bool
}

// Def is a named schema at a root.
type Def struct {
	Name   string
	Schema *Schema
}

// Property returns the property of that name, nil when there is none.
func (s *Schema) Property(name string) *Property {
	for i := range s.Properties {
		if s.Properties[i].Name == name {
			return &s.Properties[i]
		}
	}
	return nil
}

// Resolve follows the reference of s, a part of root; a Schema without one is returned as it is. What the reference
// adds beside it (nullability, description, default) is kept in the copy. It returns nil when root has no such entry.
func (root *Schema) Resolve(s *Schema) *Schema {
	for depth := 0; s != nil && s.Ref != ""; depth++ {
		if depth > len(root.Defs) {
			return nil
		}
		var target *Schema
		for i := range root.Defs {
			if root.Defs[i].Name == s.Ref {
				target = root.Defs[i].Schema
				break
			}
		}
		if target == nil {
			return nil
		}
		if s.Nullable || s.Description != "" || s.Default != nil {
			merged := *target
			merged.Nullable = merged.Nullable || s.Nullable
			if s.Description != "" {
				merged.Description = s.Description
			}
			if s.Default != nil {
				merged.Default = s.Default
			}
			target = &merged
		}
		s = target
	}
	return s
}
