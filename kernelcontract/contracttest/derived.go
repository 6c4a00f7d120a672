package contracttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/internal/clip"
	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
	"github.com/bb-kernel/bb/kernelcontract/route"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/tool"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// CheckHTTP checks the route of a method, and that inputs travel through the query string without loss.
func CheckHTTP(d *kernelcontract.MethodDef) []Problem {
	c := collector{def: d, surface: HTTP}
	if !d.Expose.HTTP {
		return nil
	}
	path := route.Path(d)
	if d.Path == "" {
		if p, s, m, ok := route.Match(path); !ok || p != d.PluginID || s != d.Service || m != d.Method {
			c.add("the path %s does not lead back to the method", path)
		}
	}
	if d.Kind == kernelcontract.KindQuery || d.Kind == kernelcontract.KindStream {
		c.queries()
	}
	return c.problems
}

func (c *collector) queries() {
	in, err := c.def.Input()
	if err != nil {
		c.add("there is no input schema: %s", err)
		return
	}
	for _, raw := range inputs(c.def) {
		query, err := route.Encode(in, raw)
		if err != nil {
			c.add("%s does not fit a query string: %s", clip.Text(string(raw), maxShown), err)
			continue
		}
		back, _, issues := route.Decode(in, c.def.Kind, query)
		switch {
		case len(issues) > 0:
			c.add("%s travels as ?%s and is refused: %s", clip.Text(string(raw), maxShown), query, issues[0])
		case !jsontext.Equal(raw, back):
			c.add("%s travels as ?%s and arrives as %s", clip.Text(string(raw), maxShown), query, clip.Text(string(back), maxShown))
		}
	}
}

// CheckWord checks the command line of a method: the word, its usage and help, and that inputs travel through words
// without loss, or through --input where words cannot say them.
func CheckWord(d *kernelcontract.MethodDef, s *kernelcontract.ServiceDef) []Problem {
	c := collector{def: d, surface: CLI}
	w, err := word.Of(d, s)
	switch {
	case err != nil:
		c.add("%s", strings.TrimPrefix(err.Error(), d.Ref()+": "))
		return c.problems
	case w == nil:
		if d.Expose.CLI && d.Kind != kernelcontract.KindCustom {
			c.add("it has no word")
		}
		return c.problems
	}
	group := s.Group
	if d.CLI.Group != nil {
		group = d.CLI.Group
	}
	begin := strings.Join(append(append([]string{"bb"}, group...), d.CLI.Name), " ")
	if usage := word.UsageLine(w); usage != begin && !strings.HasPrefix(usage, begin+" ") {
		c.add("the usage %q does not begin with %q", usage, begin)
	}
	if help := word.Help(w); hasBlankLine(help) {
		c.add("the help has a blank line: %q", help)
	}
	for _, raw := range inputs(d) {
		if _, ok := word.Words(w, raw); ok {
			continue // it reads its own words back
		}
		whole := string(raw)
		back, err := word.Input(w, word.Values{Whole: &whole})
		switch {
		case err != nil:
			c.add("%s cannot be said, not even as --input: %s", clip.Text(string(raw), maxShown), err)
		case !jsontext.Equal(raw, back):
			c.add("%s given as --input arrives as %s", clip.Text(string(raw), maxShown), clip.Text(string(back), maxShown))
		}
	}
	return c.problems
}

// CheckTool checks the tool of a method: a name that models take, a whole presentation, an object as input.
func CheckTool(d *kernelcontract.MethodDef) []Problem {
	c := collector{def: d, surface: Tool}
	spec, err := tool.SpecOf(d)
	if err != nil {
		c.add("%s", err)
	}
	if spec == nil {
		return c.problems
	}
	if n := len(spec.Tool.Name); n > tool.MaxName {
		c.add("the name %s has %d characters, at most %d are allowed: set Tool.Name", spec.Tool.Name, n, tool.MaxName)
	}
	if spec.Tool.Description == "" {
		c.add("it has no description")
	}
	p := spec.Tool.Presentation
	if p.Pending == "" || p.Completed == "" || p.Icon == "" || p.Intent == "" {
		c.add("the presentation needs pending, completed, icon and intent")
	}
	if spec.Tool.InputSchema.Type != schema.Object {
		c.add("the input schema is not an object")
	}
	return c.problems
}

// CheckText checks that a method's RenderText returns a text for its sample, whatever the screen.
func CheckText(d *kernelcontract.MethodDef, samples Samples) []Problem {
	c := collector{def: d, surface: Text}
	sample, ok := samples[d.Method]
	if !ok {
		if d.RendersText() {
			c.add("it has a RenderText and needs a sample")
		}
		return c.problems
	}
	if reflect.TypeOf(sample) != d.OutputType() {
		return nil // CheckSchema says it
	}
	for _, r := range []kernelcontract.Render{{}, {Width: kernelcontract.MinWidth}, {Width: kernelcontract.MaxWidth, Color: true, TTY: true}} {
		if _, err := text.Result(d, sample, r); err != nil {
			c.add("for %+v: %s", r, causeOf(err))
			break
		}
	}
	return c.problems
}

// causeOf returns the text of an error with its cause, which surfaces hide.
func causeOf(err error) string {
	if cause := kernelcontract.AsError(err).Unwrap(); cause != nil {
		return fmt.Sprintf("%s: %s", kernelcontract.AsError(err).Message, cause)
	}
	return err.Error()
}

// CheckDocs checks the reference of a method: the record survives its JSON, and the text has no blank line in it.
func CheckDocs(d *kernelcontract.MethodDef, s *kernelcontract.ServiceDef) []Problem {
	c := collector{def: d, surface: Docs}
	w, err := word.Of(d, s)
	if err != nil {
		return nil // CheckWord says it
	}
	doc, err := docs.Of(d, w)
	if err != nil {
		c.add("%s", err)
		return c.problems
	}
	first, err := json.Marshal(doc)
	if err != nil {
		c.add("the record does not encode: %s", err)
		return c.problems
	}
	var back docs.MethodDoc
	decoder := json.NewDecoder(bytes.NewReader(first))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&back); err != nil {
		c.add("the record does not decode: %s", err)
		return c.problems
	}
	if second, err := json.Marshal(back); err != nil || !bytes.Equal(first, second) {
		c.add("the record changes on its way through JSON")
	}
	reference := docs.RenderReference(docs.ReferenceDoc{
		PluginID: d.PluginID, Services: []docs.ServiceDoc{{ID: s.ID(), Summary: s.Summary, Methods: []docs.MethodDoc{doc}}},
	})
	if hasBlankLine(reference) {
		c.add("the reference has a blank line inside a method")
	}
	return c.problems
}

func hasBlankLine(s string) bool {
	for l := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if strings.TrimSpace(l) == "" {
			return true
		}
	}
	return false
}
