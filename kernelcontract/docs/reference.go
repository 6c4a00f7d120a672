package docs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// RenderReference renders the reference of a plugin as Markdown that also reads well in a terminal. Within a method there
// is no blank line. Control sequences are stripped.
func RenderReference(doc ReferenceDoc) string {
	var w writer
	for i, s := range doc.Services {
		if i > 0 {
			w.line("")
		}
		w.line("## " + s.ID + " — " + s.Summary)
		for j := range s.Methods {
			if j > 0 {
				w.line("")
			}
			w.method(&s.Methods[j])
		}
	}
	return text.Strip(w.String())
}

type writer struct{ strings.Builder }

func (w *writer) line(s string) {
	w.WriteString(strings.TrimRight(s, " \t"))
	w.WriteByte('\n')
}

// rows writes a label with one line a value, the later ones below the first.
func (w *writer) rows(label string, values []string) {
	for i, v := range values {
		if i > 0 {
			label = strings.Repeat(" ", len(label))
		}
		w.line(label + v)
	}
}

func (w *writer) method(d *MethodDoc) {
	w.line("### " + heading(d))
	w.line(d.Summary)
	if strings.TrimSpace(d.Description) == "" {
		w.line(answers(d))
	}
	for l := range strings.SplitSeq(d.Description, "\n") {
		if strings.TrimSpace(l) != "" {
			w.line(l)
		}
	}
	if d.CLI != nil {
		for l := range strings.Lines(word.Help(d.CLI)) {
			w.line(strings.TrimSuffix(l, "\n"))
		}
		w.rows("Aliases: ", aliases(d.CLI))
	} else {
		w.rows("Input: ", properties(d.Input, d.Ambient))
	}
	if d.HTTP != nil {
		w.line(strings.TrimSpace("HTTP: " + d.HTTP.Verb + " " + d.HTTP.Path))
	}
	w.line("Output: " + output(d))
	w.rows("        ", properties(d.Output, nil))
	w.rows("Examples: ", examples(d))
	w.rows("Errors: ", errorRows(d))
	if d.Blocking != nil {
		w.line("Deadline: " + strconv.FormatFloat(float64(d.Blocking.MaxMs)/1000, 'f', -1, 64) + " s")
	}
	if s := access(d); s != "" {
		w.line("Auth: " + s)
	}
	w.rows("Ambient: ", ambient(d))
	if d.Resumable {
		w.line("Resumes: after a cursor")
	}
	if d.Target == kernelcontract.OnHost {
		w.line("Target: host")
	}
	if d.Destructive {
		w.line("Destructive: confirm with the user first.")
	}
}

func heading(d *MethodDoc) string {
	notes := string(d.Kind)
	if d.Tool != nil {
		notes += ", tool: " + d.Tool.Name
	}
	name := d.Ref()
	if d.CLI != nil {
		name = "bb " + strings.Join(d.CLI.Path(), " ")
	}
	return name + "  (" + notes + ")"
}

// answers says on which surfaces the method is, for those whose author does not describe them.
func answers(d *MethodDoc) string {
	var on []string
	if d.HTTP != nil {
		on = append(on, "HTTP")
	}
	if d.SDK {
		on = append(on, "SDK")
	}
	if d.CLI != nil {
		on = append(on, "CLI (`"+required(d.CLI)+"`)")
	}
	if d.Tool != nil {
		on = append(on, "the agent tool")
	}
	switch n := len(on); n {
	case 4:
		return "Answers on every surface: " + strings.Join(on[:3], ", ") + ", and " + on[3] + "."
	case 0:
		return "Answers on no surface."
	case 1:
		return "Answers on " + on[0] + "."
	default:
		return "Answers on " + strings.Join(on[:n-1], ", ") + " and " + on[n-1] + "."
	}
}

// required is the command with what it cannot do without, and its positionals.
func required(w *word.Word) string {
	parts := append([]string{"bb"}, w.Path()...)
	for _, f := range w.Positionals() {
		if !f.Hidden {
			parts = append(parts, f.Placeholder)
		}
	}
	for i := range w.Fields {
		if f := &w.Fields[i]; f.Position == nil && f.Required {
			parts = append(parts, strings.TrimSpace("--"+f.Flag+" "+f.Placeholder))
		}
	}
	return strings.Join(parts, " ")
}

// aliases lists the other commands that run the word.
func aliases(w *word.Word) []string {
	var out []string
	for i, group := range w.Groups {
		for j, name := range append([]string{w.Name}, w.Aliases...) {
			if i > 0 || j > 0 {
				out = append(out, strings.Join(append(append([]string{"bb"}, group...), name), " "))
			}
		}
	}
	if a := w.FlagAlias; a != nil {
		out = append(out, strings.Join(append(append([]string{"bb"}, a.Group...), a.Name, "--"+a.Flag), " "))
	}
	return out
}

func output(d *MethodDoc) string {
	t := typeText(d.Output, d.Output)
	if d.Kind == kernelcontract.KindStream {
		return "stream of " + t
	}
	return t
}

// typeText names the type of a schema in a few words.
func typeText(root, s *schema.Schema) string {
	if root == nil || s == nil {
		return "any JSON"
	}
	if s = root.Resolve(s); s == nil {
		return "any JSON"
	}
	t := "any JSON"
	switch {
	case s.IsBytes():
		t = "bytes"
	case s.Const != nil:
		t = string(s.Const)
	case len(s.Enum) > 0:
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = string(v)
		}
		t = strings.Join(values, " or ")
	case len(s.OneOf) > 0:
		t = "one of " + strconv.Itoa(len(s.OneOf)) + " forms"
		if s.Discriminator != "" {
			t += " by " + s.Discriminator
		}
	case s.Type == schema.Array:
		t = "array of " + typeText(root, s.Items)
	case s.Type == schema.Object && s.Values != nil && len(s.Properties) == 0:
		t = "map of " + typeText(root, s.Values)
	case s.Type != schema.Any:
		t = string(s.Type)
		switch {
		case s.ContentEncoding != "":
			t += " (" + s.ContentEncoding + ")"
		case s.Format != "":
			t += " (" + s.Format + ")"
		}
	}
	if s.Nullable {
		t += " or null"
	}
	return t
}

// properties lists the members of an object, or of the objects in an array: "name: type, required   what it is".
func properties(root *schema.Schema, ambient map[string]kernelcontract.ContextKey) []string {
	if root == nil || root.IsBytes() {
		return nil
	}
	s := root
	if s.Type == schema.Array {
		if s = root.Resolve(s.Items); s == nil {
			return nil
		}
	}
	var out []string
	for _, p := range s.Properties {
		row := p.Name + ": " + typeText(root, p.Schema)
		if !p.Required || ambient[p.Name] != "" {
			row += ", optional"
		}
		r := root.Resolve(p.Schema)
		if r != nil && r.Description != "" {
			row += "   " + strings.Join(strings.Fields(r.Description), " ")
		}
		if r != nil && len(r.Default) > 0 {
			row += " (default: " + string(r.Default) + ")"
		}
		out = append(out, row)
	}
	return out
}

func examples(d *MethodDoc) []string {
	out := make([]string, 0, len(d.Examples))
	for _, e := range d.Examples {
		s := e.CLI
		switch {
		case s != "":
		case d.CLI != nil:
			s = word.CommandLine(d.CLI, e.Input)
		default:
			s = string(e.Input)
		}
		if e.Note != "" {
			s += "  # " + e.Note
		}
		out = append(out, s)
	}
	return out
}

func errorRows(d *MethodDoc) []string {
	var out []string
	for _, code := range slices.Sorted(maps.Keys(d.Errors)) {
		def := d.Errors[code]
		row, _ := def.Like.Row()
		s := fmt.Sprintf("%s (like %s: HTTP %d, exit %d", code, def.Like, row.HTTPStatus, row.Exit)
		if def.Retryable {
			s += ", retryable"
		}
		s += ")"
		if def.Description != "" {
			s += "   " + def.Description
		}
		out = append(out, s)
	}
	return out
}

// access says who may call, "" when every operator may.
func access(d *MethodDoc) string {
	var parts []string
	if d.Auth != kernelcontract.AuthOperator && d.Auth != "" {
		parts = append(parts, string(d.Auth))
	}
	if d.Local {
		parts = append(parts, "from this machine only")
	}
	if d.Actors != nil {
		kinds := make([]string, len(d.Actors))
		for i, k := range d.Actors {
			kinds[i] = string(k)
		}
		parts = append(parts, "actors "+strings.Join(kinds, ", "))
	}
	return strings.Join(parts, "; ")
}

func ambient(d *MethodDoc) []string {
	var out []string
	for _, f := range slices.Sorted(maps.Keys(d.Ambient)) {
		out = append(out, f+" is "+d.Ambient[f].Current()+" when omitted")
	}
	return out
}
