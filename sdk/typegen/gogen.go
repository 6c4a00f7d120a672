package typegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"go/token"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Go writes a Go package with a type for each service, whose methods call it through any kernelcontract.Caller: an sdk.Client, or
// a kernel in the same process. The error names a plugin that is not there, or a package name that is none.
func Go(m *manifest.Manifest, o Options) ([]byte, error) {
	if o.Package == "" {
		o.Package = "bbclient"
	}
	if !token.IsIdentifier(o.Package) || o.Package == "_" {
		return nil, kernelcontract.InvalidInput.Errorf("%q cannot be the name of a Go package", o.Package)
	}
	list, err := services(m, o)
	if err != nil {
		return nil, err
	}
	g := &goWriter{taken: map[string]bool{}, imports: map[string]bool{}}
	for _, s := range list {
		g.taken[camel(strings.Split(s.id, "/")...)] = true // the services have the short names
	}
	for _, s := range list {
		g.service(s)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "// %s\n\n// Package %s calls the plugins of a server.\npackage %s\n\n", header(m, "go"), o.Package, o.Package)
	if len(g.imports) > 0 {
		out.WriteString("import (\n")
		for _, path := range slices.Sorted(keys(g.imports)) {
			if !strings.Contains(path, ".") {
				fmt.Fprintf(&out, "\t%q\n", path)
			}
		}
		out.WriteString("\n")
		for _, path := range slices.Sorted(keys(g.imports)) {
			if strings.Contains(path, ".") {
				fmt.Fprintf(&out, "\t%q\n", path)
			}
		}
		out.WriteString(")\n")
	}
	out.Write(g.out.Bytes())
	source, err := format.Source(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the client cannot be written: %w", err)
	}
	return source, nil
}

func keys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// contractPath is what every client imports.
const contractPath = "github.com/bb-kernel/bb/kernelcontract"

type goWriter struct {
	out     bytes.Buffer
	taken   map[string]bool
	imports map[string]bool
}

func (g *goWriter) printf(format string, args ...any) { fmt.Fprintf(&g.out, format, args...) }

func (g *goWriter) comment(lines ...string) {
	for _, l := range lines {
		g.printf("// %s\n", l)
	}
}

// name returns a free name for a type or a constant.
func (g *goWriter) name(want string) string {
	name := want
	for n := 2; g.taken[name]; n++ {
		name = want + strconv.Itoa(n)
	}
	g.taken[name] = true
	return name
}

func (g *goWriter) service(s service) {
	g.imports["context"], g.imports[contractPath] = true, true
	name := camel(strings.Split(s.id, "/")...)
	g.printf("\n")
	g.comment(append([]string{name + " calls the service " + s.id + "."}, plainText(s.summary)...)...)
	g.printf("type %s struct{ caller kernelcontract.Caller }\n\n", name)
	g.printf("// New%s returns the service behind a caller.\nfunc New%s(caller kernelcontract.Caller) %s { return %s{caller} }\n", name, name, name, name)
	for _, d := range s.methods {
		g.codes(name, d)
	}
	taken := map[string]bool{}
	for _, d := range s.methods {
		g.method(name, d, taken)
	}
}

// codes writes the codes that a method declares, so that errors.Is tells them.
func (g *goWriter) codes(service string, d docs.MethodDoc) {
	for _, code := range slices.Sorted(func(yield func(string) bool) {
		for c := range d.Errors {
			if !yield(string(c)) {
				return
			}
		}
	}) {
		name := service + "Code" + camel(code)
		if g.taken[name] {
			continue // another method of the service declares it too
		}
		g.taken[name] = true
		g.printf("\n")
		g.comment(append([]string{name + " is an error of " + d.Ref() + "."}, plainText(d.Errors[kernelcontract.Code(code)].Description)...)...)
		g.printf("const %s kernelcontract.Code = %q\n", name, code)
	}
}

func (g *goWriter) method(service string, d docs.MethodDoc, taken map[string]bool) {
	method := camel(d.Method)
	for n := 2; taken[method]; n++ {
		method = camel(d.Method) + strconv.Itoa(n)
	}
	taken[method] = true
	in := goTypes{g: g, root: d.Input, prefix: service + method, refs: map[string]string{}}
	out := goTypes{g: g, root: d.Output, prefix: service + method, refs: map[string]string{}}
	param, arg := "", "nil"
	if object := d.Input.Resolve(d.Input); object != nil && len(object.Properties) > 0 {
		param, arg = ", in "+in.of(d.Input, "Input"), "in"
	}
	result := out.of(d.Output, outputName(d.Kind))
	g.printf("\n")
	lines := append([]string{method + " calls " + d.Ref() + "."}, plainText(d.Summary)...)
	if d.Destructive {
		lines = append(lines, "It is destructive: ask a person first.")
	}
	g.comment(append(lines, plainText(d.Description)...)...)
	if d.Kind == kernelcontract.KindStream {
		g.imports["iter"], g.imports["encoding/json"] = true, true
		g.comment("It goes on after the cursor since; \"\" is the beginning. An error is the last pair.")
		g.printf("func (s %s) %s(ctx context.Context%s, since string) iter.Seq2[kernelcontract.Event[%s], error] {\n", service, method, param, result)
		g.printf("return func(yield func(kernelcontract.Event[%s], error) bool) {\n", result)
		g.printf("for ev, err := range s.caller.Open(ctx, %q, %s, since) {\n", d.Ref(), arg)
		g.printf("out := kernelcontract.Event[%s]{Cursor: ev.Cursor}\nif err == nil {\nerr = json.Unmarshal(ev.Item, &out.Item)\n}\n", result)
		g.printf("if !yield(out, err) || err != nil {\nreturn\n}\n}\n}\n}\n")
		return
	}
	g.printf("func (s %s) %s(ctx context.Context%s) (out %s, err error) {\n", service, method, param, result)
	g.printf("err = s.caller.Call(ctx, %q, %s, &out)\nreturn out, err\n}\n", d.Ref(), arg)
}

func outputName(k kernelcontract.Kind) string {
	if k == kernelcontract.KindStream {
		return "Item"
	}
	return "Output"
}

// goTypes writes the types of one schema.
type goTypes struct {
	g      *goWriter
	root   *schema.Schema
	prefix string
	refs   map[string]string // Go names of definitions
}

// of returns the Go type of a schema; what needs a name is written as prefix and name.
func (t *goTypes) of(s *schema.Schema, name string) string {
	out := t.plain(s, name)
	if s.Nullable && out != "json.RawMessage" && !strings.HasPrefix(out, "*") {
		return "*" + out
	}
	return out
}

// plain is of without null.
func (t *goTypes) plain(s *schema.Schema, name string) string {
	if s.Ref != "" {
		return t.reference(s.Ref)
	}
	switch {
	case s.IsBytes():
		return "kernelcontract.Bytes"
	case s.Discriminator != "" && len(s.OneOf) > 0:
		return t.union(s, name)
	}
	if texts := constants(s); texts != nil {
		return t.enum(texts, name)
	}
	if len(s.OneOf) > 0 {
		t.g.imports["encoding/json"] = true
		return "json.RawMessage"
	}
	switch s.Type {
	case schema.Boolean:
		return "bool"
	case schema.Integer:
		if most, ok := new(big.Int).SetString(string(s.Maximum), 10); ok && !most.IsInt64() {
			return "uint64"
		}
		return "int64"
	case schema.Number:
		return "float64"
	case schema.String:
		return t.text(s)
	case schema.Array:
		if s.Items == nil {
			t.g.imports["encoding/json"] = true
			return "[]json.RawMessage"
		}
		return "[]" + t.of(s.Items, name+"Element")
	case schema.Object:
		return t.object(s, name)
	}
	t.g.imports["encoding/json"] = true
	return "json.RawMessage"
}

func (t *goTypes) text(s *schema.Schema) string {
	switch {
	case s.ContentEncoding == "base64":
		return "[]byte"
	case s.Format == "date-time":
		t.g.imports["time"] = true
		return "time.Time"
	case s.Format == "duration":
		return "kernelcontract.Duration"
	}
	return "string"
}

func (t *goTypes) reference(ref string) string {
	if name, ok := t.refs[ref]; ok {
		return name
	}
	target := t.root.Resolve(&schema.Schema{Ref: ref})
	if target == nil {
		t.g.imports["encoding/json"] = true
		return "json.RawMessage"
	}
	// The name is known before its type is written: definitions may name themselves.
	name := t.g.name(t.prefix + camel(ref))
	t.refs[ref] = name
	out := (&named{t}).write(target, name)
	if out != name { // not an object: a type of its own all the same
		t.g.printf("\n// %s is %s.\ntype %s %s\n", name, "a part of "+t.prefix, name, out)
	}
	return name
}

// named writes objects under a name that is taken already.
type named struct{ t *goTypes }

func (n *named) write(s *schema.Schema, name string) string {
	if s.Type == schema.Object && s.Values == nil && s.Strict && len(s.OneOf) == 0 && !s.IsBytes() {
		n.t.structOf(s, name)
		return name
	}
	return n.t.plain(s, strings.TrimPrefix(name, n.t.prefix)+"Value")
}

func (t *goTypes) object(s *schema.Schema, name string) string {
	switch {
	case s.Values != nil:
		return "map[string]" + t.of(s.Values, name+"Value")
	case !s.Strict && len(s.Properties) == 0:
		t.g.imports["encoding/json"] = true
		return "map[string]json.RawMessage"
	case len(s.Properties) == 0:
		return "kernelcontract.None"
	}
	full := t.g.name(t.prefix + name)
	t.structOf(s, full)
	return full
}

// structOf writes a struct. The types of its fields come first into a buffer of their own, so that it stands whole.
func (t *goTypes) structOf(s *schema.Schema, full string) {
	var body bytes.Buffer
	taken := map[string]bool{}
	for _, p := range s.Properties {
		field := camel(p.Name)
		for n := 2; taken[field]; n++ {
			field = camel(p.Name) + strconv.Itoa(n)
		}
		taken[field] = true
		target := t.root.Resolve(p.Schema)
		if target == nil {
			target = p.Schema
		}
		for _, line := range plainText(target.Description) {
			fmt.Fprintf(&body, "// %s\n", line)
		}
		kind, options := t.field(p, strings.TrimPrefix(full, t.prefix)+field)
		fmt.Fprintf(&body, "%s %s `json:\"%s%s\"`\n", field, kind, p.Name, options)
	}
	t.g.printf("\n")
	t.g.comment(append([]string{full + " is a value of " + t.prefix + "."}, plainText(s.Description)...)...)
	t.g.printf("type %s struct {\n%s}\n", full, body.String())
}

// field returns the type of a member and the options of its tag: a pointer is null, or absent when the member may be.
func (t *goTypes) field(p schema.Property, name string) (kind, options string) {
	kind = t.of(p.Schema, name)
	if p.Required {
		return kind, ""
	}
	bare := strings.TrimPrefix(kind, "*")
	switch {
	case strings.HasPrefix(bare, "[]"), strings.HasPrefix(bare, "map["), bare == "json.RawMessage":
		return bare, ",omitzero" // nil is absent, and an empty one is sent
	case p.Schema.Nullable && p.Schema.Default != nil && string(p.Schema.Default) != "null":
		return "*kernelcontract.Null[" + bare + "]", ",omitempty" // absent, null and a value are three things
	}
	return "*" + bare, ",omitempty"
}

func (t *goTypes) enum(texts []string, name string) string {
	full := t.g.name(t.prefix + name)
	t.g.printf("\n// %s is one of its constants.\ntype %s string\n\n// The values of %s.\nconst (\n", full, full, full)
	for _, text := range texts {
		t.g.printf("%s %s = %s\n", t.g.name(full+camel(text)), full, strconv.Quote(text))
	}
	t.g.printf(")\n")
	return full
}

// union writes a discriminated union as kernelcontract.Union wants it.
func (t *goTypes) union(s *schema.Schema, name string) string {
	full := t.g.name(t.prefix + name)
	var fields bytes.Buffer
	taken := map[string]bool{}
	for _, one := range s.OneOf {
		branch := t.root.Resolve(one)
		if branch == nil {
			t.g.imports["encoding/json"] = true
			return "json.RawMessage"
		}
		var label string
		rest := *branch
		rest.Properties = nil
		for _, p := range branch.Properties {
			if p.Name == s.Discriminator {
				label, _ = unquote(p.Schema.Const)
				continue
			}
			rest.Properties = append(rest.Properties, p)
		}
		field := camel(label)
		if label == "" || taken[field] || strings.ContainsAny(label, "\"`\\\n") {
			t.g.imports["encoding/json"] = true
			return "json.RawMessage" // not one that a Go type can tell apart
		}
		taken[field] = true
		kind := t.g.name(full + field)
		t.structOf(&rest, kind)
		fmt.Fprintf(&fields, "%s *%s `variant:\"%s\"`\n", field, kind, label)
	}
	t.g.printf("\n// %s has exactly one field that is not nil.\ntype %s struct {\n%s}\n\n", full, full, fields.String())
	t.g.printf("// Discriminator implements kernelcontract.Union's variants.\nfunc (%s) Discriminator() string { return %q }\n", full, s.Discriminator)
	return "kernelcontract.Union[" + full + "]"
}

// unquote returns the text of a JSON string.
func unquote(raw json.RawMessage) (string, bool) {
	var text string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	return text, true
}
