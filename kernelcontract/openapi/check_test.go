package openapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/openapi"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

func TestCheckAcceptsWhatOfWrites(t *testing.T) {
	is := is.New(t)
	raw, err := openapi.Of(catalog(t, shelf()), "")
	is.NoErr(err)
	is.Equal(openapi.Check(raw), nil)
}

func TestCheckFinds(t *testing.T) {
	find := func(d map[string]any) map[string]any {
		return d["paths"].(map[string]any)[at1+"find"].(map[string]any)["get"].(map[string]any)
	}
	parameters := func(d map[string]any) []any { return find(d)["parameters"].([]any) }
	for _, c := range []struct {
		rule  string
		spoil func(d map[string]any)
		want  string
	}{
		{"another version", func(d map[string]any) { d["openapi"] = "3.0.0" }, `openapi: it must be "3.1.0"`},
		{"no title", func(d map[string]any) { delete(d, "info") }, "info: title is missing"},
		{"a tag twice", func(d map[string]any) { d["tags"] = append(d["tags"].([]any), d["tags"].([]any)[0]) }, "tags: "},
		{"an unknown tag", func(d map[string]any) { d["tags"] = nil }, `the tag "demo/shelf" is not declared`},
		{"a template", func(d map[string]any) { d["paths"].(map[string]any)["/a/{b}"] = map[string]any{} }, "/a/{b}: "},
		{"an unknown member", func(d map[string]any) { d["paths"].(map[string]any)[at1+"find"].(map[string]any)["fetch"] = 1 }, `"fetch" is neither`},
		{"a bad operationId", func(d map[string]any) { find(d)["operationId"] = "a b" }, `operationId "a b" is not made`},
		{"an operationId twice", func(d map[string]any) { find(d)["operationId"] = "demo_shelf_drop" }, "is also that of"},
		{"a GET with a body", func(d map[string]any) { find(d)["requestBody"] = map[string]any{} }, "a GET has no body"},
		{"a body without content", func(d map[string]any) {
			d["paths"].(map[string]any)[at1+"drop"].(map[string]any)["post"].(map[string]any)["requestBody"] = map[string]any{}
		}, "the body has no content"},
		{"a parameter without a place", func(d map[string]any) { delete(parameters(d)[0].(map[string]any), "in") }, "parameters[0]: it needs a name"},
		{"a parameter twice", func(d map[string]any) { parameters(d)[1].(map[string]any)["name"] = "text" }, "query text is there twice"},
		{"a header twice", func(d map[string]any) { find(d)["parameters"] = append(parameters(d), parameters(d)[9]) }, "header X-BB-Client is there twice"},
		{"a parameter without a schema", func(d map[string]any) { delete(parameters(d)[0].(map[string]any), "schema") }, "text needs either"},
		{"no success", func(d map[string]any) { delete(find(d)["responses"].(map[string]any), "200") }, "there is no response for 200"},
		{"no status", func(d map[string]any) { find(d)["responses"].(map[string]any)["2xx"] = map[string]any{} }, `"2xx" is no status`},
		{"a response without a text", func(d map[string]any) { find(d)["responses"].(map[string]any)["404"] = map[string]any{} }, "the response for 404 has no description"},
		{"a reference into nowhere", func(d map[string]any) {
			delete(d["components"].(map[string]any)["schemas"].(map[string]any), "demo.shelf.find.output")
		}, "the reference #/components/schemas/demo.shelf.find.output leads nowhere"},
		{"a reference out of the document", func(d map[string]any) {
			find(d)["x-y"] = map[string]any{"$ref": "other.json"}
		}, "the reference other.json leads nowhere"},
		{"a bad name", func(d map[string]any) {
			d["components"].(map[string]any)["schemas"].(map[string]any)["a b"] = map[string]any{}
		}, `components/schemas: "a b" is no name`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			d := document(t, catalog(t, shelf()))
			c.spoil(d)
			raw, err := json.Marshal(d)
			is.NoErr(err)
			problems := openapi.Check(raw)
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("got %q, want %q among them", problems, c.want)
			}
		})
	}
	is.New(t).True(len(openapi.Check([]byte("[]"))) == 1)
}

// Fields may be called as keywords are, and definitions of a plugin's own schema as it likes.
func TestNamesOfPlugins(t *testing.T) {
	is := is.New(t)
	m := catalog(t, shelf())
	whole := &schema.Schema{
		Type: schema.Object,
		Properties: []schema.Property{
			{Name: "default", Schema: &schema.Schema{Ref: "a/b c"}},
			{Name: "enum", Schema: &schema.Schema{Ref: "a_b"}},
		},
		Defs: []schema.Def{{Name: "a/b c", Schema: &schema.Schema{}}, {Name: "a_b", Schema: &schema.Schema{}}},
	}
	m.Plugins[1].Services[0].Methods[1].Output = whole
	raw, err := openapi.Of(m, "")
	is.NoErr(err)
	is.Equal(openapi.Check(raw), nil)
	is.True(strings.Contains(string(raw), `"demo.shelf.drop.output.a_2fb_20c"`))
	spoiled := strings.Replace(string(raw), `"#/components/schemas/demo.shelf.drop.output.a_5fb"`, `"#/nothing"`, 1)
	is.Equal(len(openapi.Check([]byte(spoiled))), 1)
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"openapi":"3.1.0","paths":{"/a":{"get":{"parameters":[{"$ref":"#/a~1b"}]}}}}`))
	f.Fuzz(func(_ *testing.T, raw []byte) { openapi.Check(raw) })
}
