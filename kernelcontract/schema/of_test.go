package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

var update = flag.Bool("update", false, "write the golden files")

func TestGoldenDocument(t *testing.T) {
	is := is.New(t)
	s, err := schema.Of(reflect.TypeFor[everyShape]())
	is.NoErr(err)
	document, err := s.Document()
	is.NoErr(err)
	var pretty bytes.Buffer
	is.NoErr(json.Indent(&pretty, document, "", "  "))
	pretty.WriteByte('\n')
	name := filepath.Join("testdata", "every-shape.json")
	if *update {
		is.NoErr(os.WriteFile(name, pretty.Bytes(), 0o644))
	}
	want, err := os.ReadFile(name)
	is.NoErr(err)
	is.Equal(pretty.String(), string(want)) // run with -update after a wanted change
}

func TestSchemaOfField(t *testing.T) {
	const width = `"minimum":-9223372036854775808,"maximum":9223372036854775807`
	tests := []struct {
		rule, want string
		t          reflect.Type
	}{
		{"string", `{"type":"string"}`, reflect.TypeFor[string]()},
		{"bool", `{"type":"boolean"}`, reflect.TypeFor[bool]()},
		{"int has the bounds of 64 bits", `{"type":"integer",` + width + `}`, reflect.TypeFor[int]()},
		{"int8", `{"type":"integer","minimum":-128,"maximum":127}`, reflect.TypeFor[int8]()},
		{"int16", `{"type":"integer","minimum":-32768,"maximum":32767}`, reflect.TypeFor[int16]()},
		{"int32", `{"type":"integer","minimum":-2147483648,"maximum":2147483647}`, reflect.TypeFor[int32]()},
		{"uint8", `{"type":"integer","minimum":0,"maximum":255}`, reflect.TypeFor[uint8]()},
		{"uint16", `{"type":"integer","minimum":0,"maximum":65535}`, reflect.TypeFor[uint16]()},
		{"uint32", `{"type":"integer","minimum":0,"maximum":4294967295}`, reflect.TypeFor[uint32]()},
		{"uint64 is exact", `{"type":"integer","minimum":0,"maximum":18446744073709551615}`, reflect.TypeFor[uint64]()},
		{"float64", `{"type":"number"}`, reflect.TypeFor[float64]()},
		{"float32 has a format", `{"type":"number","format":"float"}`, reflect.TypeFor[float32]()},
		{"json.Number", `{"type":"number"}`, reflect.TypeFor[json.Number]()},
		{"time", `{"type":"string","format":"date-time"}`, reflect.TypeFor[time.Time]()},
		{"duration", `{"type":"string","format":"duration"}`, reflect.TypeFor[schema.Duration]()},
		{"bytes are base64", `{"type":"string","contentEncoding":"base64"}`, reflect.TypeFor[[]byte]()},
		{"any", `{}`, reflect.TypeFor[any]()},
		{"pointer to any is any", `{}`, reflect.TypeFor[*any]()},
		{"raw message", `{}`, reflect.TypeFor[json.RawMessage]()},
		{"pointer is nullable", `{"type":["string","null"]}`, reflect.TypeFor[*string]()},
		{"pointer to pointer is nullable once", `{"type":["string","null"]}`, reflect.TypeFor[**string]()},
		{"Null is nullable", `{"type":["boolean","null"]}`, reflect.TypeFor[schema.Null[bool]]()},
		{"slice is not nullable", `{"type":"array","items":{"type":"string"}}`, reflect.TypeFor[[]string]()},
		{"slice of pointers", `{"type":"array","items":{"type":["string","null"]}}`, reflect.TypeFor[[]*string]()},
		{"array has a length", `{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":2}`, reflect.TypeFor[[2]bool]()},
		{"array of bytes is a list of numbers", `{"type":"array","items":{"type":"integer","minimum":0,"maximum":255},"minItems":1,"maxItems":1}`, reflect.TypeFor[[1]byte]()},
		{"map is not nullable", `{"type":"object","additionalProperties":{"type":"boolean"}}`, reflect.TypeFor[map[string]bool]()},
		{"map of any", `{"type":"object","additionalProperties":{}}`, reflect.TypeFor[map[string]any]()},
		{"empty struct", `{"type":"object","additionalProperties":false}`, reflect.TypeFor[struct{}]()},
		{"enum method", `{"type":"string","enum":["red","green"]}`, reflect.TypeFor[colour]()},
		{"nullable enum lists null", `{"type":["string","null"],"enum":["red","green",null]}`, reflect.TypeFor[*colour]()},
		{"text marshaler is a string", `{"type":"string"}`, reflect.TypeFor[level]()},
		{"own schema", `{"type":"string","pattern":"^[0-9]+%$"}`, reflect.TypeFor[percent]()},
		{"own schema, nullable", `{"type":["string","null"],"pattern":"^[0-9]+%$"}`, reflect.TypeFor[*percent]()},
		{"mixed union", `{"oneOf":[{"type":"string"},{"type":"integer",` + width + `},{"type":"array","items":{"type":"string"}}]}`, reflect.TypeFor[scalar]()},
		{"nullable union", `{"anyOf":[{"oneOf":[{"type":"string"},{"type":"integer",` + width + `},{"type":"array","items":{"type":"string"}}]},{"type":"null"}]}`, reflect.TypeFor[*scalar]()},
		{"recursive list", `{"type":"array","items":{"$ref":"#/$defs/listOfLists"},"$defs":{"listOfLists":{"type":"array","items":{"$ref":"#/$defs/listOfLists"}}}}`, reflect.TypeFor[listOfLists]()},
		{"generic names lose their packages", `{"type":"object","properties":{"a":{"$ref":"#/$defs/pagepoint"},"b":{"$ref":"#/$defs/pagepoint"}},"required":["a","b"],"additionalProperties":false,"$defs":{"pagepoint":{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer",` + width + `},"y":{"type":"integer",` + width + `,"default":7}},"required":["x"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}}}`,
			reflect.TypeFor[struct {
				A page[point] `json:"a"`
				B page[point] `json:"b"`
			}]()},
		{"pointer to a struct that is used once", `{"type":["object","null"],"properties":{"only":{"type":"boolean"}},"required":["only"],"additionalProperties":false}`, reflect.TypeFor[*once]()},
		{"pointer to a recursive struct", `{"type":["object","null"],"properties":{"name":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["name"],"additionalProperties":false,"$defs":{"tree":{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["name"],"additionalProperties":false}}}`,
			reflect.TypeFor[*tree]()},
		{"no type at all", `{}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			is := is.New(t)
			s, err := schema.Of(tt.t)
			is.NoErr(err)
			text, err := s.MarshalJSON()
			is.NoErr(err)
			is.Equal(string(text), tt.want)
		})
	}
}

type listOfLists []listOfLists

type page[T any] struct {
	Items []T `json:"items"`
}

func TestSameNameFromTwoTypes(t *testing.T) {
	is := is.New(t)
	type point struct {
		Z *point `json:"z"`
	}
	s, err := schema.Of(reflect.TypeFor[struct {
		A point       `json:"a"`
		B page[point] `json:"b"`
		C point2      `json:"c"`
	}]())
	is.NoErr(err)
	var names []string
	for _, d := range s.Defs {
		names = append(names, d.Name)
	}
	is.Equal(names, []string{"point", "point2"}) // the second one of a name gets a number
}

// point2 mentions the other type named point twice.
type point2 struct {
	P, Q page2 `json:"-"`
	R    point `json:"r"`
	S    point `json:"s"`
}

type page2 struct{}

func TestTypeProblems(t *testing.T) {
	tests := []struct {
		rule string
		t    reflect.Type
		want []string // path and a part of the message each
	}{
		{"channel", reflect.TypeFor[struct {
			A chan int `json:"a"`
		}](), []string{"a: the Go type chan int has no JSON form"}},
		{"function", reflect.TypeFor[struct {
			A func() `json:"a"`
		}](), []string{"a: the Go type func() has no JSON form"}},
		{"complex", reflect.TypeFor[struct {
			A []complex64 `json:"a"`
		}](), []string{"a[]: the Go type complex64 has no JSON form"}},
		{"uintptr", reflect.TypeFor[struct {
			A uintptr `json:"a"`
		}](), []string{"a: the Go type uintptr has no JSON form"}},
		{"time.Duration", reflect.TypeFor[struct {
			A time.Duration `json:"a"`
		}](), []string{"a: time.Duration travels as a bare number; use kernelcontract.Duration"}},
		{"option string", reflect.TypeFor[struct {
			A int `json:"a,string"`
		}](), []string{"a: must not use the json option string"}},
		{"map key", reflect.TypeFor[struct {
			A map[int]string `json:"a"`
		}](), []string{"a: a map needs a plain string as key, not int"}},
		{"map key that encodes itself", reflect.TypeFor[struct {
			A map[level]string `json:"a"`
		}](), []string{"a: a map needs a plain string as key"}},
		{"interface", reflect.TypeFor[struct {
			A error `json:"a"`
		}](), []string{"a: an interface type has no schema"}},
		{"name", reflect.TypeFor[struct {
			A int `json:"Aa"`
			B int `json:"b_c"`
			C int `json:"9"`
		}](), []string{"9: is not a valid name", "Aa: is not a valid name", "b_c: is not a valid name"}},
		{"no tag", reflect.TypeFor[struct {
			UserID int
			B      int `json:",omitempty"`
		}](), []string{"B: has no name in its json tag; write `json:\"b\"`", "UserID: has no json tag; add `json:\"userID\"`"}},
		{"two fields with one name", reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"a"`},
			{Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"a"`},
		}), []string{"a: the fields A and B have the same name"}},
		{"embedded field with the same name", reflect.TypeFor[struct {
			common
			ID int `json:"id"`
		}](), []string{"id: the fields ID and ID have the same name"}},
		{"embedded pointer", reflect.TypeFor[struct {
			*once
		}](), []string{"once: an embedded pointer has no fixed members"}},
		{"bool that defaults to true", reflect.TypeFor[struct {
			A bool `json:"a,omitempty" default:"true"`
		}](), []string{"a: a bool that defaults to true cannot send false"}},
		{"Null with omitzero and a default", reflect.TypeFor[struct {
			A schema.Null[int] `json:"a,omitzero" default:"1"`
		}](), []string{"a: with omitzero and a default null cannot be sent"}},
		{"default of another type", reflect.TypeFor[struct {
			A int `json:"a,omitempty" default:"x"`
		}](), []string{"a: default must be JSON of type integer, not \"x\""}},
		{"default that is a fraction", reflect.TypeFor[struct {
			A int `json:"a,omitempty" default:"1.5"`
		}](), []string{"a: default \"1.5\" is not of type integer"}},
		{"default below the minimum", reflect.TypeFor[struct {
			A int `json:"a,omitempty" default:"1" minimum:"2"`
		}](), []string{"a: default \"1\" is below the minimum 2"}},
		{"default above the width", reflect.TypeFor[struct {
			A int8 `json:"a,omitempty" default:"128"`
		}](), []string{"a: default \"128\" is above the maximum 127"}},
		{"default too short", reflect.TypeFor[struct {
			A string `json:"a,omitempty" default:"x" minLength:"2"`
		}](), []string{"a: default \"\\\"x\\\"\" is shorter than minLength 2"}},
		{"default off the pattern", reflect.TypeFor[struct {
			A string `json:"a,omitempty" default:"x" pattern:"^y"`
		}](), []string{"a: default \"\\\"x\\\"\" does not match the pattern"}},
		{"default not in the enum", reflect.TypeFor[struct {
			A string `json:"a,omitempty" default:"x" enum:"y,z"`
		}](), []string{"a: default \"\\\"x\\\"\" is not one of the enum"}},
		{"default of a time", reflect.TypeFor[struct {
			A time.Time `json:"a,omitzero" default:"yesterday"`
		}](), []string{"a: default \"\\\"yesterday\\\"\" does not fit time.Time"}},
		{"default with an unknown key", reflect.TypeFor[struct {
			A point `json:"a,omitzero" default:"{\"z\":1}"`
		}](), []string{"a: default \"{\\\"z\\\":1}\" does not fit schema_test.point"}},
		{"default null of a field that is not nullable", reflect.TypeFor[struct {
			A int `json:"a,omitempty" default:"null"`
		}](), []string{"a: default \"null\" is null, but the field is not nullable"}},
		{"keyword of another type", reflect.TypeFor[struct {
			A int            `json:"a" minLength:"1" minItems:"1"`
			B string         `json:"b" minimum:"1"`
			C point          `json:"c" minProperties:"1" title:"x"`
			D []string       `json:"d" enum:"a,b" pattern:"x"`
			E map[string]int `json:"e" maxItems:"1"`
		}](), []string{"a: minItems applies to an array only", "a: minLength applies to a string only", "b: minimum applies to a number only",
			"c: a title applies to the struct type", "c: minProperties applies to a map only", "d: enum applies to a scalar", "d: pattern applies to a string only",
			"e: maxItems applies to an array only"}},
		{"tags that say it twice", reflect.TypeFor[struct {
			A int `json:"a" required:"true" nullable:"true" additionalProperties:"false"`
		}](), []string{"a: the tag additionalProperties is not supported", "a: the tag nullable is not supported", "a: the tag required is not supported"}},
		{"bound that is no number", reflect.TypeFor[struct {
			A int `json:"a" minimum:"one" maximum:"1e999"`
		}](), []string{"a: maximum must be a number, not \"1e999\"", "a: minimum must be a number, not \"one\""}},
		{"bound beyond the width", reflect.TypeFor[struct {
			A uint8 `json:"a" maximum:"300"`
		}](), []string{"a: the bound 300 is beyond the range of uint8"}},
		{"bounds crossed", reflect.TypeFor[struct {
			A int      `json:"a" minimum:"2" maximum:"1"`
			B string   `json:"b" minLength:"2" maxLength:"1"`
			C []string `json:"c" minItems:"2" maxItems:"1"`
		}](), []string{"a: minimum 2 is above maximum 1", "b: minLength 2 is above maxLength 1", "c: minItems 2 is above maxItems 1"}},
		{"length that is no count", reflect.TypeFor[struct {
			A string `json:"a" minLength:"-1"`
		}](), []string{"a: minLength must be a whole number"}},
		{"uniqueItems", reflect.TypeFor[struct {
			A []int `json:"a" uniqueItems:"yes"`
		}](), []string{"a: uniqueItems must be true or false"}},
		{"multipleOf", reflect.TypeFor[struct {
			A int `json:"a" multipleOf:"0"`
		}](), []string{"a: multipleOf must be above 0"}},
		{"pattern", reflect.TypeFor[struct {
			A string `json:"a" pattern:"("`
		}](), []string{"a: pattern: error parsing regexp"}},
		{"enum of another type", reflect.TypeFor[struct {
			A int    `json:"a" enum:"1,x"`
			B string `json:"b" enum:"[1]"`
			C string `json:"c" enum:"x,x"`
		}](), []string{"a: enum lists \"x\", which is not of type integer", "b: enum lists \"1\", which is not of type string", "c: enum lists \"\\\"x\\\"\" twice"}},
		{"enum method of another type", reflect.TypeFor[struct {
			A badEnum `json:"a"`
		}](), []string{"a: Enum of schema_test.badEnum lists \"1\", which is not of type string"}},
		{"constant of another type", reflect.TypeFor[struct {
			A int `json:"a" const:"true"`
		}](), []string{"a: const \"true\" is not of type integer"}},
		{"encodes itself", reflect.TypeFor[struct {
			A selfMade `json:"a"`
		}](), []string{"a: schema_test.selfMade encodes itself"}},
		{"embeds what encodes itself", reflect.TypeFor[struct {
			A struct {
				time.Time
				N int `json:"n"`
			} `json:"a"`
		}](), []string{"a: struct { time.Time; N int \"json:\\\"n\\\"\" } encodes itself"}},
		{"text only one way", reflect.TypeFor[struct {
			A oneWay `json:"a"`
		}](), []string{"a: schema_test.oneWay reads or writes itself as text, but not both ways"}},
		{"own schema outside the subset", reflect.TypeFor[struct {
			A foreignSchema `json:"a"`
		}](), []string{"a: JSONSchemaBytes of schema_test.foreignSchema: schema: not: this keyword is not part of the subset"}},
		{"nothing travels", reflect.TypeFor[struct {
			A hidden `json:"a"`
		}](), []string{"a: schema_test.hidden has no exported field"}},
		{"union", reflect.TypeFor[struct {
			A schema.Union[badVariants] `json:"a"`
		}](), []string{"a: the discriminator \"Kind\"", "a.B: needs a variant tag", "a.C: a variant must be an exported field", "a.D: the variant \"a\" is listed twice"}},
		{"union with a field like its discriminator", reflect.TypeFor[struct {
			A schema.Union[clash] `json:"a"`
		}](), []string{"a.one: has a field named only, which is the discriminator"}},
		{"union of nothing", reflect.TypeFor[struct {
			A schema.Union[noVariants] `json:"a"`
		}](), []string{"a: schema_test.noVariants lists no variants"}},
		{"problems at every depth, all at once", reflect.TypeFor[struct {
			A struct {
				B []map[string]struct {
					C chan int `json:"c"`
				} `json:"b"`
			} `json:"a"`
			D int `json:"D"`
		}](), []string{"D: is not a valid name", "a.b[]{}.c: the Go type chan int has no JSON form"}},
		{"panicking method", reflect.TypeFor[struct {
			A panicky `json:"a"`
		}](), []string{"a method of the type panicked while its schema was built: out of order"}},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			is := is.New(t)
			_, err := schema.Of(tt.t)
			var typeErr *schema.TypeError
			is.True(errors.As(err, &typeErr)) // a problem is expected
			var got []string
			for _, p := range typeErr.Problems {
				got = append(got, p.String())
				is.True(strings.Contains(err.Error(), p.String())) // the error shows each
			}
			if len(got) != len(tt.want) {
				t.Fatalf("got %q", got)
			}
			for i, want := range tt.want {
				found := false
				for _, g := range got {
					found = found || strings.HasPrefix(g, want)
				}
				if !found {
					t.Errorf("problem %d: want %q in %q", i, want, got)
				}
			}
		})
	}
}

type badEnum string

func (badEnum) Enum() []any { return []any{1} }

type selfMade struct{}

func (selfMade) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

type oneWay int

func (oneWay) MarshalText() ([]byte, error) { return nil, nil }

type foreignSchema struct{}

func (foreignSchema) JSONSchemaBytes() ([]byte, error) { return []byte(`{"not":{}}`), nil }

type hidden struct{ n int }

var _ = hidden{n: 1}

type badVariants struct {
	A *once `variant:"a"`
	B *once
	C string `variant:"c"`
	D *once  `variant:"a"`
}

func (badVariants) Discriminator() string { return "Kind" }

type clash struct {
	One *once `variant:"one"`
}

func (clash) Discriminator() string { return "only" }

type noVariants struct{}

func (noVariants) Discriminator() string { return "kind" }

type panicky string

func (panicky) Enum() []any { panic("out of order") }

func TestIsBytes(t *testing.T) {
	is := is.New(t)
	for _, goType := range []reflect.Type{reflect.TypeFor[schema.Bytes](), reflect.TypeFor[*schema.Bytes]()} {
		s, err := schema.Of(goType)
		is.NoErr(err)
		is.True(s.IsBytes())
		text, err := s.MarshalJSON()
		is.NoErr(err)
		var back schema.Schema
		is.NoErr(back.UnmarshalJSON(text))
		is.True(back.IsBytes()) // also when it came over the wire
	}
	s, err := schema.Of(reflect.TypeFor[point]())
	is.NoErr(err)
	is.True(!s.IsBytes())
	is.True(!(*schema.Schema)(nil).IsBytes())
}

// The values of an enum say more than the width of its Go type; a bound of the author's own stays.
func TestEnumHidesTheWidth(t *testing.T) {
	is := is.New(t)
	s, err := schema.Of(reflect.TypeFor[struct {
		Narrow int8   `json:"narrow" enum:"1,2"`
		Wide   uint64 `json:"wide" enum:"1,2"`
		Own    int    `json:"own" enum:"1,2" minimum:"1" maximum:"100"`
		Plain  int8   `json:"plain"`
	}]())
	is.NoErr(err)
	bounds := func(name string) [2]json.Number {
		p := s.Property(name).Schema
		return [2]json.Number{p.Minimum, p.Maximum}
	}
	is.Equal(bounds("narrow"), [2]json.Number{})
	is.Equal(bounds("wide"), [2]json.Number{})
	is.Equal(bounds("own"), [2]json.Number{"1", "100"})
	is.Equal(bounds("plain"), [2]json.Number{"-128", "127"})
}

func BenchmarkOf(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.Of(reflect.TypeFor[everyShape]()); err != nil {
			b.Fatal(err)
		}
	}
}
