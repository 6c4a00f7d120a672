package schema_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

func TestDocumentRoundTrip(t *testing.T) {
	for _, goType := range []reflect.Type{
		reflect.TypeFor[everyShape](), reflect.TypeFor[*everyShape](), reflect.TypeFor[tree](), reflect.TypeFor[*tree](), reflect.TypeFor[[]tree](),
		reflect.TypeFor[schema.Union[shape]](), reflect.TypeFor[*scalar](), reflect.TypeFor[listOfLists](), reflect.TypeFor[any](),
	} {
		t.Run(goType.String(), func(t *testing.T) {
			is := is.New(t)
			s, err := schema.Of(goType)
			is.NoErr(err)
			document, err := s.Document()
			is.NoErr(err)
			is.True(strings.HasPrefix(string(document), `{"$schema":"`+schema.Dialect+`"`))
			var back schema.Schema
			is.NoErr(back.UnmarshalJSON(document))
			is.True(reflect.DeepEqual(&back, s)) // nothing is lost
			text, err := json.Marshal(s)
			is.NoErr(err)
			is.True(!strings.Contains(string(text), "$schema")) // only a document of its own has it
			again, err := json.Marshal(&back)
			is.NoErr(err)
			is.Equal(string(again), string(text))
		})
	}
}

func TestRootOfRecursiveTypeHasItsMembers(t *testing.T) {
	is := is.New(t)
	s, err := schema.Of(reflect.TypeFor[tree]())
	is.NoErr(err)
	is.Equal(s.Ref, "")
	is.True(s.Property("kids") != nil)
	items := s.Property("kids").Schema.Items
	is.Equal(items.Ref, "tree")
	is.True(s.Resolve(items).Property("name") != nil)
	is.True(s.Resolve(&schema.Schema{Ref: "none"}) == nil)
	is.Equal(s.Resolve(&schema.Schema{Ref: "tree", Description: "d", Nullable: true}).Description, "d")
}

func TestReadingRefuses(t *testing.T) {
	for text, why := range map[string]string{
		`[]`:                                "must be an object",
		`{`:                                 "the JSON text ends early",
		`{"type":"string"} 1`:               "bytes after the object",
		`{"type":"string","type":"string"}`: `"type" is given twice`,
		`{"allOf":[]}`:                      "allOf: this keyword is not part of the subset",
		`{"properties":{"a":{"if":{}}}}`:    "properties: a: if: this keyword",
		`{"items":{"x y":1}}`:               "items: x y: this keyword",
		`{"oneOf":[{},{"nope":1}]}`:         "oneOf: [1]: nope: this keyword",
		`{"oneOf":[]}`:                      "oneOf: must list a branch",
		`{"oneOf":null}`:                    "oneOf: must be an array",
		`{"type":"null"}`:                   `type: "null" is not a type`,
		`{"type":["string","integer"]}`:     "type: must be a type",
		`{"type":1}`:                        "type: must be a string",
		`{"title":1}`:                       "title: must be a string",
		`{"title":""}`:                      "title: must not be empty",
		`{"minimum":"1"}`:                   "minimum: must be a number",
		`{"minLength":-1}`:                  "minLength: must be a whole number",
		`{"minLength":1.5}`:                 "minLength: must be a whole number",
		`{"minLength":null}`:                "minLength: must be a whole number",
		`{"uniqueItems":false}`:             "uniqueItems: must be true",
		`{"required":["a"]}`:                `required: "a" is not among the properties`,
		`{"required":"a"}`:                  "required: must be an array",
		`{"properties":{"a":{}},"required":["a","a"]}`:             `required: "a" is listed twice`,
		`{"additionalProperties":true}`:                            "additionalProperties: must be an object",
		`{"additionalProperties":false,"x":1}`:                     "x: this keyword",
		`{"$ref":"#/definitions/A"}`:                               "$ref: must be #/$defs/Name",
		`{"$ref":"http://example.org"}`:                            "$ref: must be #/$defs/Name",
		`{"$ref":"#/$defs/A"}`:                                     "$ref: #/$defs/A leads nowhere",
		`{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/A"}}}`:  "leads nowhere",
		`{"$ref":"#/$defs/A","type":"string","$defs":{"A":{}}}`:    "$ref: only a description and a default",
		`{"$defs":{"B":{},"A":{}}}`:                                "$defs: must be sorted",
		`{"items":{"$defs":{}}}`:                                   "items: $defs: allowed at the root only",
		`{"items":{"$schema":"` + schema.Dialect + `"}}`:           "only at the root",
		`{"$schema":"http://json-schema.org/draft-07/schema#"}`:    "$schema: must be",
		`{"anyOf":[{},{}]}`:                                        "anyOf: must be one schema and",
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`:            "lists null in its type instead",
		`{"anyOf":[{"oneOf":[{}],"title":"x"},{"type":"null"}]}`:   "stand beside it",
		`{"minLength":1,"anyOf":[{"oneOf":[{}]},{"type":"null"}]}`: "no other constraint",
		`{"type":["string","null"],"enum":["a"]}`:                  "lists null last",
		`{"enum":1}`:                             "enum: must be an array",
		`{"discriminator":{"propertyName":"a"}}`: "discriminator: needs oneOf",
		`{"discriminator":{"mapping":{}}}`:       "must hold propertyName",
		strings.Repeat(`{"items":`, 200) + `{}` + strings.Repeat(`}`, 200): "nested more than 128 deep",
	} {
		t.Run(why, func(t *testing.T) {
			is := is.New(t)
			var s schema.Schema
			err := s.UnmarshalJSON([]byte(text))
			if err == nil {
				t.Fatalf("%s: want an error with %q", text, why)
			}
			if !strings.Contains(err.Error(), why) {
				t.Errorf("got %q, want %q", err, why)
			}
			is.True(reflect.DeepEqual(s, schema.Schema{})) // nothing half read
		})
	}
}

func TestWritingRefusesWhatIsNoJSON(t *testing.T) {
	for _, s := range []schema.Schema{{Minimum: "one"}, {Default: json.RawMessage("{")}, {Enum: []json.RawMessage{[]byte("x")}}} {
		_, err := json.Marshal(&s)
		is.New(t).True(err != nil)
		_, err = s.Document()
		is.New(t).True(err != nil)
	}
}

func FuzzUnmarshalSchema(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "every-shape.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	for _, s := range []string{
		`{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}],"$defs":{"A":{"type":"string"}}}`,
		`{"type":["integer","null"],"enum":[1,1.0,1e2,null],"minimum":-0.5e-7}`,
		`{"oneOf":[{"const":null}],"discriminator":{"propertyName":"a"},"default":{"a" : 1}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s schema.Schema
		if s.UnmarshalJSON(raw) != nil {
			return
		}
		text, err := s.MarshalJSON()
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		var back schema.Schema
		if err := back.UnmarshalJSON(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if again, err := back.MarshalJSON(); err != nil || string(again) != string(text) {
			t.Fatalf("wrote %s, then %s, %v", text, again, err)
		}
	})
}

// A part of a larger document refers to definitions where that document has them, and has none itself.
func TestPart(t *testing.T) {
	is := is.New(t)
	s := &schema.Schema{
		Type: schema.Object,
		Properties: []schema.Property{
			{Name: "a", Schema: &schema.Schema{Ref: "X", Nullable: true}},
			{Name: "b", Schema: &schema.Schema{Type: schema.Object, OneOf: []*schema.Schema{{Ref: "X"}}, Discriminator: "kind"}},
		},
		Defs: []schema.Def{{Name: "X", Schema: &schema.Schema{Type: schema.Object}}},
	}
	raw, err := s.Part(func(def string) string { return "#/there/" + def })
	is.NoErr(err)
	is.Equal(string(raw), `{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/there/X"},{"type":"null"}]},"b":{"type":"object","oneOf":[{"$ref":"#/there/X"}]}}}`)
	is.Equal(len(s.Defs), 1) // the schema itself stays
	_, err = (&schema.Schema{Minimum: "one"}).Part(func(string) string { return "" })
	is.True(err != nil)
}

// A document that was indented for people is the same schema.
func TestWhiteSpaceMeansNothing(t *testing.T) {
	is := is.New(t)
	const plain = `{"$defs":{"p":{"type":"object","properties":{"x":{"type":"integer","default":1}},"additionalProperties":false}},"type":"object","properties":{"p":{"anyOf":[{"$ref":"#/$defs/p"},{"type":"null"}],"default":null},"e":{"enum":["a",null]}},"additionalProperties":false}`
	var want schema.Schema
	is.NoErr(json.Unmarshal([]byte(plain), &want))
	var indented bytes.Buffer
	is.NoErr(json.Indent(&indented, []byte(plain), "", "  "))
	var got schema.Schema
	is.NoErr(got.UnmarshalJSON(indented.Bytes()))
	is.Equal(got, want)
}
