package schema_test

import (
	"reflect"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

func TestFieldPresence(t *testing.T) {
	type all struct {
		Plain      string           `json:"plain" description:"As it is"`
		OmitEmpty  string           `json:"omitEmpty,omitempty"`
		OmitZero   point            `json:"omitZero,omitzero"`
		Default    string           `json:"default" default:"x"`
		Pointer    *string          `json:"pointer"`
		PointerOpt *string          `json:"pointerOpt,omitempty"`
		PointerDef *bool            `json:"pointerDef,omitempty" default:"true"`
		PointerNil *int             `json:"pointerNil" default:"null"`
		Null       schema.Null[int] `json:"null"`
		NullDef    schema.Null[int] `json:"nullDef" default:"1"`
		Slice      []string         `json:"slice"`
		Map        map[string]int   `json:"map"`
	}
	type presence struct{ required, nullable bool }
	want := map[string]presence{
		"plain":      {required: true},
		"omitEmpty":  {},
		"omitZero":   {},
		"default":    {},
		"pointer":    {required: true, nullable: true},
		"pointerOpt": {nullable: true},
		"pointerDef": {},
		"pointerNil": {nullable: true},
		"null":       {required: true, nullable: true},
		"nullDef":    {nullable: true},
		"slice":      {required: true},
		"map":        {required: true},
	}
	fields, err := schema.Fields(reflect.TypeFor[all]())
	is.New(t).NoErr(err)
	s, err := schema.Of(reflect.TypeFor[all]())
	is.New(t).NoErr(err)
	is.New(t).Equal(len(fields), len(want))
	for i, f := range fields {
		t.Run(f.Name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(presence{f.Required, f.Nullable}, want[f.Name])
			is.Equal(s.Properties[i].Name, f.Name) // the schema has the same order
			is.Equal(s.Properties[i].Required, f.Required)
			is.Equal(s.Properties[i].Schema.Nullable, f.Nullable)
			is.Equal(s.Properties[i].Schema.Default != nil, f.HasDefault)
			is.Equal(s.Properties[i].Schema.Description, f.Description)
		})
	}
}

func TestFieldsOfEmbeddedStructs(t *testing.T) {
	is := is.New(t)
	type outer struct {
		First string `json:"first"`
		common
		Last    string `json:"last"`
		Skipped string `json:"-"`
		hidden  string
	}
	fields, err := schema.Fields(reflect.TypeFor[outer]())
	is.NoErr(err)
	var names []string
	v := reflect.ValueOf(outer{First: "1", common: common{ID: "2", Note: "3"}, Last: "4", hidden: "5"})
	var values []string
	for _, f := range fields {
		names = append(names, f.Name)
		values = append(values, v.FieldByIndex(f.Index).String())
	}
	is.Equal(names, []string{"first", "id", "note", "last"})
	is.Equal(values, []string{"1", "2", "3", "4"})
	is.Equal(fields[1].GoName, "ID")
	is.Equal(fields[1].Type, reflect.TypeFor[string]())
}

func TestFieldsNeedsAStruct(t *testing.T) {
	for _, goType := range []reflect.Type{nil, reflect.TypeFor[int](), reflect.TypeFor[*point](), reflect.TypeFor[map[string]int]()} {
		_, err := schema.Fields(goType)
		is.New(t).True(err != nil)
	}
}

func BenchmarkFields(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.Fields(reflect.TypeFor[point]()); err != nil {
			b.Fatal(err)
		}
	}
}
