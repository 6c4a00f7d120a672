package contracttest

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/internal/clip"
	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
)

// CheckSchema checks that the Go types of a method have schemas, that its examples and its sample fit them, and that
// ambient fields can hold what the context gives.
func CheckSchema(d *kernelcontract.MethodDef, samples Samples) []Problem {
	c := collector{def: d, surface: Schema}
	in, inErr := d.Input()
	if inErr != nil {
		c.typeErrors("input", inErr)
	}
	out, outErr := d.Output()
	if outErr != nil {
		c.typeErrors("output", outErr)
	}
	if inErr != nil || outErr != nil {
		return c.problems
	}
	if in.Type != schema.Object || in.Nullable {
		c.add("input: it must be an object")
	}
	if v := c.compile("input", in); v != nil {
		for i, e := range d.Examples {
			if e.Input == nil {
				c.add("Examples[%d]: the input does not encode", i)
				continue
			}
			_, issues := v.Input(e.Input)
			c.issues(fmt.Sprintf("Examples[%d]", i), issues)
		}
	}
	for _, f := range sortedFields(d.Ambient) {
		if p := in.Property(f); p != nil {
			if s := in.Resolve(p.Schema); s == nil || s.Type != schema.String {
				c.add("Ambient.%s: the context gives a string", f)
			}
		}
	}
	if v := c.compile("output", out); v != nil {
		if sample, ok := samples[d.Method]; ok {
			c.sample(sample, v)
		}
	}
	return c.problems
}

func (c *collector) typeErrors(what string, err error) {
	te, ok := err.(*schema.TypeError)
	if !ok {
		c.add("%s: %s", what, err)
		return
	}
	for _, p := range te.Problems {
		c.add("%s: %s", what, p)
	}
}

func (c *collector) compile(what string, s *schema.Schema) *validate.Validator {
	v, err := validate.Compile(s)
	if err != nil {
		c.add("%s: %s", what, err)
	}
	return v
}

func (c *collector) issues(what string, issues []schema.Issue) {
	for _, i := range issues {
		c.add("%s: %s", what, i)
	}
}

func (c *collector) sample(sample any, v *validate.Validator) {
	if got := reflect.TypeOf(sample); got != c.def.OutputType() {
		c.add("the sample is a %v, not a %v", got, c.def.OutputType())
		return
	}
	raw, err := schema.Marshal(sample)
	if err != nil {
		c.add("the sample does not encode: %s", err)
		return
	}
	c.issues("the sample", v.Value(raw))
}

// CheckRoundTrip checks what typed callers rely on: an input and an output that fit their schemas decode into the Go types
// and encode back to what the schemas accept, again and again the same. Values are made from the schemas; shapes for which none can be
// made, such as a demanding pattern, are passed over.
func CheckRoundTrip(d *kernelcontract.MethodDef) []Problem {
	c := collector{def: d, surface: SDK}
	if in, err := d.Input(); err == nil {
		c.roundTrip("input", in, d.InputType())
	}
	if out, err := d.Output(); err == nil {
		c.roundTrip("output", out, d.OutputType())
	}
	return c.problems
}

func (c *collector) roundTrip(what string, s *schema.Schema, t reflect.Type) {
	v, err := validate.Compile(s)
	if err != nil {
		return // CheckSchema says it
	}
	for _, raw := range values(s) {
		normalized, issues := v.Input(raw)
		if len(issues) > 0 {
			continue
		}
		first := reflect.New(t)
		if err := json.Unmarshal(normalized, first.Interface()); err != nil {
			c.add("%s: %s fits the schema and does not decode: %s", what, clip.Text(string(raw), maxShown), err)
			continue
		}
		again, err := schema.Marshal(first.Elem().Interface())
		if err != nil {
			c.add("%s: %s decodes and does not encode again: %s", what, clip.Text(string(raw), maxShown), err)
			continue
		}
		if issues := v.Value(again); len(issues) > 0 {
			c.add("%s: the Go type turns %s into %s, which does not fit its schema: %s", what, clip.Text(string(raw), maxShown), clip.Text(string(again), maxShown), issues[0])
			continue
		}
		second := reflect.New(t)
		if err := json.Unmarshal(again, second.Interface()); err != nil {
			c.add("%s: the Go type does not read what it writes, %s: %s", what, clip.Text(string(again), maxShown), err)
			continue
		}
		if third, err := schema.Marshal(second.Elem().Interface()); err != nil || !jsontext.Equal(again, third) {
			c.add("%s: the Go type writes %s and, having read that, %s", what, clip.Text(string(again), maxShown), clip.Text(string(third), maxShown))
		}
	}
}

// maxShown bounds the JSON that a problem shows, in bytes.
const maxShown = 200
