package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Version is the version of OpenAPI that documents are written in. Its schemas are those of JSON Schema 2020-12, which is
// what methods have.
const Version = "3.1.0"

// MediaType is the media type of a document.
const MediaType = "application/vnd.oai.openapi+json;version=3.1"

// Of returns the document of the methods of m that have a route, indented and with a newline at its end. baseURL is where
// the server answers, without a path; "" means that where the document was fetched from. Equal manifests give equal bytes;
// neither the server's id nor the generation is in them, so that a document kept in a repository changes with what it
// describes and nothing else. The error names a method with a schema that cannot be written.
func Of(m *manifest.Manifest, baseURL string) ([]byte, error) {
	if baseURL == "" {
		baseURL = "/"
	}
	b := builder{paths: paths{at: map[string]int{}}}
	tags := []object{}
	version := ""
	for _, p := range m.Plugins {
		if p.ID == kernelcontract.KernelID {
			version = p.Version
		}
		for _, s := range p.Services {
			routed := false
			for i := range s.Methods {
				if s.Methods[i].HTTP == nil {
					continue
				}
				routed = true
				if err := b.method(&s.Methods[i], s.ID); err != nil {
					return nil, fmt.Errorf("openapi: %s: %w", s.Methods[i].Ref(), err)
				}
			}
			if routed {
				tag := object{{"name", s.ID}}
				if s.Summary != "" {
					tag = tag.with("description", s.Summary)
				}
				tags = append(tags, tag)
			}
		}
	}
	if version == "" {
		version = "0"
	}
	raw, err := jsontext.Marshal(object{
		{"openapi", Version},
		{"info", object{
			{"title", "bb"}, {"version", version},
			{"description", "The methods of a bb server, as its plugins define them. A success is `{\"ok\": true, \"result\": …}`, a failure " +
				"`{\"ok\": false, \"error\": …}` with the status of its code."},
		}},
		{"servers", []object{{{"url", baseURL}}}},
		{"security", optionalBearer},
		{"tags", tags},
		{"paths", b.paths.items},
		{"components", object{
			{"schemas", append(b.schemas, sharedSchemas()...)},
			{"responses", sharedResponses()},
			{"parameters", sharedParameters()},
			{"headers", sharedHeaders()},
			{"securitySchemes", object{{bearer, object{
				{"type", "http"}, {"scheme", "bearer"},
				{"description", "A token (`bbt_…`), as `bb token create` makes them. A caller on the server's own machine needs none, unless the operator decided otherwise."},
			}}}},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// bearer is the name of the security scheme.
const bearer = "bearer"

// optionalBearer asks for a token or nothing: callers on the server's machine need none.
var optionalBearer = []object{{{bearer, []string{}}}, {}}

// builder gathers the parts of a document.
type builder struct {
	paths   paths
	schemas object
}

// paths are the path items by path, in the order of their first method.
type paths struct {
	items object
	at    map[string]int
}

func (p *paths) add(path, name string, value any) {
	i, known := p.at[path]
	if !known {
		i = len(p.items)
		p.at[path] = i
		p.items = append(p.items, member{path, object{}})
	}
	p.items[i].value = p.items[i].value.(object).with(name, value)
}

// partFunc writes a schema that stands inside a component.
type partFunc func(*schema.Schema) (json.RawMessage, error)

// partOf returns how the schemas inside the component of that name are written: its definitions are components beside it.
func partOf(name string) partFunc {
	refer := func(def string) string { return "#/components/schemas/" + definitionName(name, def) }
	return func(s *schema.Schema) (json.RawMessage, error) { return s.Part(refer) }
}

// definitionName returns the name of the component for a definition of another one. Definitions of Go types have names of
// letters and digits; what else a schema of a plugin's own may have is escaped.
func definitionName(component, def string) string {
	var b strings.Builder
	b.WriteString(component)
	b.WriteByte('.')
	for i := range len(def) {
		if c := def[i]; 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// component adds a schema and its definitions under a name.
func (b *builder) component(name string, s *schema.Schema) error {
	part := partOf(name)
	add := func(name string, s *schema.Schema) error {
		raw, err := part(s)
		b.schemas = append(b.schemas, member{name, raw})
		return err
	}
	if err := add(name, s); err != nil {
		return err
	}
	for _, d := range s.Defs {
		if err := add(definitionName(name, d.Name), d.Schema); err != nil {
			return err
		}
	}
	return nil
}

// method adds a method.
func (b *builder) method(d *docs.MethodDoc, tag string) error {
	verb := d.HTTP.Verb
	if verb == "" { // a raw endpoint, which says neither its verbs nor its types
		b.paths.add(d.HTTP.Path, "summary", d.Summary)
		if d.Description != "" {
			b.paths.add(d.HTTP.Path, "description", d.Description)
		}
		b.paths.add(d.HTTP.Path, "x-bb-kind", d.Kind)
		return nil
	}
	op, err := b.operation(d, tag)
	if err != nil {
		return err
	}
	switch verb {
	case "GET":
		b.paths.add(d.HTTP.Path, "get", op)
	case "POST":
		b.paths.add(d.HTTP.Path, "post", op)
	default:
		return fmt.Errorf("the verb %s is neither GET nor POST", verb)
	}
	return nil
}
