package openapi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/openapi"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

const at1 = "/api/v1/demo/shelf/"

func TestGolden(t *testing.T) {
	is := is.New(t)
	got, err := openapi.Of(catalog(t, shelf()), "")
	is.NoErr(err)
	file := filepath.Join("testdata", "shelf.json")
	if *update {
		is.NoErr(os.MkdirAll("testdata", 0o755))
		is.NoErr(os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	is.NoErr(err)
	if !bytes.Equal(got, bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))) {
		t.Errorf("the document is not that of %s; see the change after go test -update", file)
	}
}

func TestTheDocumentSaysWhatIsStable(t *testing.T) {
	is := is.New(t)
	m := catalog(t, shelf())
	first, err := openapi.Of(m, "")
	is.NoErr(err)
	raw, err := manifest.Encode(m)
	is.NoErr(err)
	there, err := manifest.Decode(raw)
	is.NoErr(err)
	there.ServerID, there.Generation = "s2", 8
	second, err := openapi.Of(there, "")
	is.NoErr(err)
	is.Equal(string(first), string(second)) // on either end of a connection, whatever the generation
	is.True(bytes.HasSuffix(first, []byte("}\n")))
	is.True(bytes.Contains(first, []byte("<a> & b"))) // not as escapes for HTML
}

func TestTheHead(t *testing.T) {
	is := is.New(t)
	d := document(t, catalog(t, shelf()))
	is.Equal(at(t, d, "openapi"), `"3.1.0"`)
	is.Equal(at(t, d, "info", "version"), `"v0.9.0"`) // the kernel's
	is.Equal(at(t, d, "servers", 0, "url"), `"/"`)
	is.Equal(at(t, d, "tags", 0), `{"name":"kernel/upload"}`)
	is.Equal(at(t, d, "tags", 1), `{"description":"Keep things","name":"demo/shelf"}`)
	is.Equal(at(t, d, "security"), `[{"bearer":[]},{}]`) // a caller on the machine needs no token
	is.Equal(at(t, d, "components", "securitySchemes", "bearer", "scheme"), `"bearer"`)
	raw, err := openapi.Of(&manifest.Manifest{}, "https://bb.example.com")
	is.NoErr(err)
	var empty map[string]any
	is.NoErr(json.Unmarshal(raw, &empty))
	is.Equal(at(t, empty, "servers", 0, "url"), `"https://bb.example.com"`)
	is.Equal(at(t, empty, "paths"), `{}`)
	is.Equal(at(t, empty, "info", "version"), `"0"`)
}

func TestEveryRouteIsThere(t *testing.T) {
	is := is.New(t)
	d := document(t, catalog(t, shelf()))
	paths := d["paths"].(map[string]any)
	is.Equal(len(paths), 6) // what has no route is not in it
	is.Equal(at(t, paths, at1+"find", "get", "operationId"), `"demo_shelf_find"`)
	is.Equal(at(t, paths, at1+"find", "get", "tags"), `["demo/shelf"]`)
	is.Equal(at(t, paths, at1+"find", "get", "summary"), `"Find things"`)
	is.Equal(at(t, paths, at1+"find", "get", "description"), `"Looks *everywhere*."`)
	is.Equal(at(t, paths, at1+"drop", "post", "operationId"), `"demo_shelf_drop"`)
	is.Equal(at(t, paths, at1+"follow", "get", "operationId"), `"demo_shelf_follow"`)
	is.Equal(at(t, paths, "/internal/uploads"), `{"description":"As it comes.","summary":"Take a file","x-bb-kind":"custom"}`)
}

func TestDefinitionsAreComponents(t *testing.T) {
	is := is.New(t)
	raw, err := openapi.Of(catalog(t, shelf()), "")
	is.NoErr(err)
	is.True(!strings.Contains(string(raw), "$defs"))
	d := document(t, catalog(t, shelf()))
	schemas := d["components"].(map[string]any)["schemas"]
	is.Equal(at(t, schemas, "demo.shelf.find.input.node", "properties", "kids", "items"), `{"$ref":"#/components/schemas/demo.shelf.find.input.node"}`)
	is.Equal(at(t, schemas, "demo.shelf.find.input", "properties", "root", "$ref"), `"#/components/schemas/demo.shelf.find.input.node"`)
	is.Equal(at(t, schemas, "demo.shelf.find.input", "additionalProperties"), `false`)
	is.Equal(at(t, schemas, "demo.shelf.photo.input"), "") // nothing would refer to it
	is.True(at(t, schemas, "demo.shelf.photo.output", "properties", "base64") != "")
	for ref := range refs(d) {
		var v any = d
		for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			v = v.(map[string]any)[step]
		}
		if v == nil {
			t.Errorf("%s leads nowhere", ref)
		}
	}
}

// refs collects every reference in v.
func refs(v any) map[string]bool {
	found := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if s, ok := v["$ref"].(string); ok {
				found[s] = true
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(v)
	return found
}

func TestASchemaThatCannotBeWritten(t *testing.T) {
	is := is.New(t)
	for i, side := range []string{"input", "output"} {
		m := catalog(t, shelf())
		d := &m.Plugins[1].Services[0].Methods[1]
		bad := &schema.Schema{Type: schema.Object, Defs: []schema.Def{{Name: "x", Schema: &schema.Schema{Minimum: "one"}}}}
		*[]**schema.Schema{&d.Input, &d.Output}[i] = bad
		_, err := openapi.Of(m, "")
		if err == nil || !strings.Contains(err.Error(), "demo/shelf.drop") {
			t.Errorf("%s: got %v", side, err)
		}
	}
	m := catalog(t, shelf())
	m.Plugins[1].Services[0].Methods[0].HTTP.Verb = "PATCH"
	_, err := openapi.Of(m, "")
	is.True(err != nil)
}
