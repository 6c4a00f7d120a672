package typegen

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

//go:embed client.js
var clientSource string

//go:embed client.d.ts
var clientTypes string

// TypeScript writes the declarations of a client: the interface BbServices with a member for each service, and what JavaScript
// has for them. Other files may add services by merging declarations.
func TypeScript(m *manifest.Manifest, o Options) ([]byte, error) {
	list, err := services(m, o)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s\n\n%s\n", header(m, "ts"), strings.TrimSpace(clientTypes))
	b.WriteString("\n/** The services of the server, by their ids. */\nexport interface BbServices {\n")
	for _, s := range list {
		doc(&b, "  ", plainText(s.summary)...)
		fmt.Fprintf(&b, "  %s: {\n", quote(s.id))
		for _, d := range s.methods {
			method(&b, d)
		}
		b.WriteString("  };\n")
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

// JavaScript writes the client that TypeScript declares: a module without dependencies, for browsers and Node.
func JavaScript(m *manifest.Manifest, o Options) ([]byte, error) {
	list, err := services(m, o)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s\n\n%s\n\n", header(m, "js"), strings.TrimSpace(clientSource))
	b.WriteString("// The methods by service; a stream that can be resumed is \"resumable\".\nconst methods = {\n")
	for _, s := range list {
		fmt.Fprintf(&b, "  %s: {\n", quote(s.id))
		for _, d := range s.methods {
			kind := string(d.Kind)
			if d.Resumable {
				kind = "resumable"
			}
			fmt.Fprintf(&b, "    %s: %s,\n", quote(d.Method), quote(kind))
		}
		b.WriteString("  },\n")
	}
	b.WriteString("};\n")
	return b.Bytes(), nil
}

// quote writes a string literal that is the same in JSON and JavaScript.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(true) // nothing of it can end a script or a comment
	_ = e.Encode(s)       // texts encode
	return strings.TrimSpace(b.String())
}

// doc writes a comment, which nothing in it can end.
func doc(b *bytes.Buffer, indent string, lines ...string) {
	if len(lines) == 0 {
		return
	}
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(l, "*/", "*\u200b/")
	}
	if len(lines) == 1 {
		fmt.Fprintf(b, "%s/** %s */\n", indent, lines[0])
		return
	}
	fmt.Fprintf(b, "%s/**\n", indent)
	for _, l := range lines {
		fmt.Fprintf(b, "%s * %s\n", indent, l)
	}
	fmt.Fprintf(b, "%s */\n", indent)
}

func method(b *bytes.Buffer, d docs.MethodDoc) {
	lines := append(plainText(d.Summary), plainText(d.Description)...)
	if d.Destructive {
		lines = append(lines, "Destructive: ask a person first.")
	}
	doc(b, "    ", lines...)
	in := tsTypes{root: d.Input}
	out := tsTypes{root: d.Output}
	object := d.Input.Resolve(d.Input)
	param := "input: " + in.of(d.Input, "    ")
	optional := true
	if object != nil {
		for _, p := range object.Properties {
			optional = optional && !p.Required
		}
	}
	if optional {
		param = strings.Replace(param, "input:", "input?:", 1)
	}
	name := quote(d.Method)
	if tsName.MatchString(d.Method) {
		name = d.Method
	}
	if d.Kind == kernelcontract.KindStream {
		fmt.Fprintf(b, "    %s(%s, options?: StreamOptions): AsyncIterable<%s>;\n", name, param, out.of(d.Output, "    "))
		return
	}
	fmt.Fprintf(b, "    %s(%s, options?: CallOptions): Promise<%s>;\n", name, param, out.of(d.Output, "    "))
}

var tsName = regexp.MustCompile(`^[a-zA-Z_$][a-zA-Z0-9_$]*$`)

// maxTSDepth bounds how far definitions are written out: one that names itself has no end in a type without a name.
const maxTSDepth = 4

// tsTypes writes the types of one schema.
type tsTypes struct {
	root  *schema.Schema
	depth int // definitions within definitions
}

// of returns the type of a schema; indent is that of its line.
func (t *tsTypes) of(s *schema.Schema, indent string) string {
	out := t.plain(s, indent)
	if s.Nullable && out != "unknown" {
		return out + " | null"
	}
	return out
}

func (t *tsTypes) plain(s *schema.Schema, indent string) string {
	if s.Ref != "" {
		target := t.root.Resolve(&schema.Schema{Ref: s.Ref})
		if target == nil || t.depth == maxTSDepth {
			return "unknown"
		}
		t.depth++
		defer func() { t.depth-- }()
		return t.of(target, indent)
	}
	switch {
	case s.IsBytes():
		return "BbBytes"
	case s.Const != nil:
		return literal(s.Const)
	case len(s.Enum) > 0:
		all := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			all[i] = literal(v)
		}
		return strings.Join(all, " | ")
	case len(s.OneOf) > 0:
		all := make([]string, len(s.OneOf))
		for i, one := range s.OneOf {
			all[i] = t.of(one, indent)
		}
		return "(" + strings.Join(all, " | ") + ")"
	}
	switch s.Type {
	case schema.Boolean:
		return "boolean"
	case schema.Integer:
		return "Integer"
	case schema.Number:
		return "number"
	case schema.String:
		return "string"
	case schema.Array:
		if s.Items == nil {
			return "unknown[]"
		}
		return "Array<" + t.of(s.Items, indent) + ">"
	case schema.Object:
		return t.object(s, indent)
	}
	return "unknown"
}

// literal writes a constant.
func literal(raw json.RawMessage) string {
	if text, ok := unquote(raw); ok {
		return quote(text)
	}
	switch string(raw) {
	case "true", "false", "null":
		return string(raw)
	}
	if regexp.MustCompile(`^-?[0-9]{1,15}$`).Match(raw) {
		return string(raw)
	}
	return "unknown"
}

func (t *tsTypes) object(s *schema.Schema, indent string) string {
	switch {
	case s.Values != nil:
		return "Record<string, " + t.of(s.Values, indent) + ">"
	case len(s.Properties) == 0 && s.Strict:
		return "Record<string, never>"
	case len(s.Properties) == 0:
		return "Record<string, unknown>"
	}
	var b bytes.Buffer
	b.WriteString("{\n")
	for _, p := range s.Properties {
		target := t.root.Resolve(p.Schema)
		if target == nil {
			target = p.Schema
		}
		doc(&b, indent+"  ", plainText(target.Description)...)
		name := quote(p.Name)
		if tsName.MatchString(p.Name) {
			name = p.Name
		}
		mark := ""
		if !p.Required {
			mark = "?"
		}
		fmt.Fprintf(&b, "%s  %s%s: %s;\n", indent, name, mark, t.of(p.Schema, indent+"  "))
	}
	b.WriteString(indent + "}")
	return b.String()
}
