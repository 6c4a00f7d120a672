package validate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
)

// oracle compiles a schema with an independent validator. Formats are not asserted: ours are narrower by design.
func oracle(t testing.TB, s *schema.Schema) *jsonschema.Schema {
	t.Helper()
	document, err := s.Document()
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refusingLoader{})
	if err := c.AddResource("mem:///schema.json", value); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("mem:///schema.json")
	if err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	return compiled
}

type refusingLoader struct{}

func (refusingLoader) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not loaded", url) }

// subject is a schema with both validators.
type subject struct {
	s      *schema.Schema
	ours   *validate.Validator
	theirs *jsonschema.Schema
}

// subjects are the schemas that values are tried on, all without formats and encodings.
func subjects(t testing.TB) []subject {
	t.Helper()
	type unformatted struct {
		Text    string               `json:"text" minLength:"1" maxLength:"3"`
		Lower   string               `json:"lower,omitempty" pattern:"^[a-z]+$"`
		Choice  *string              `json:"choice,omitempty" enum:"a,b"`
		Tiny    int8                 `json:"tiny"`
		Wide    uint64               `json:"wide,omitempty"`
		Even    int                  `json:"even,omitempty" minimum:"-4" maximum:"4" multipleOf:"2"`
		Ratio   float64              `json:"ratio,omitempty" exclusiveMinimum:"0" maximum:"1" multipleOf:"0.25"`
		Flag    *bool                `json:"flag,omitempty" default:"true"`
		Null    schema.Null[int]     `json:"null,omitempty"`
		List    []string             `json:"list,omitempty" minItems:"1" maxItems:"2" uniqueItems:"true"`
		Pair    [2]any               `json:"pair,omitempty"`
		Table   map[string]*int8     `json:"table,omitempty" maxProperties:"2"`
		Tree    *tree                `json:"tree,omitempty"`
		Shape   schema.Union[shape]  `json:"shape,omitempty"`
		NoShape *schema.Union[shape] `json:"noShape,omitempty"`
		Mixed   mixed                `json:"mixed,omitempty"`
	}
	var all []subject
	add := func(s *schema.Schema) {
		ours, err := validate.Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, subject{s, ours, oracle(t, s)})
	}
	for _, goType := range []reflect.Type{
		reflect.TypeFor[unformatted](), reflect.TypeFor[*tree](), reflect.TypeFor[[]schema.Union[shape]](), reflect.TypeFor[mixed](),
		reflect.TypeFor[map[string]point](), reflect.TypeFor[any](),
	} {
		s, err := schema.Of(goType)
		if err != nil {
			t.Fatal(err)
		}
		add(s)
	}
	for _, text := range []string{
		`{"enum":[null,1,"a",[1],{"a":1}]}`,
		`{"type":["integer","null"],"enum":[1,2,null]}`,
		`{"anyOf":[{"type":"string","const":"a"},{"type":"null"}]}`,
		`{"type":"array","items":{"oneOf":[{"type":"integer"},{"type":"number","minimum":2},{"type":["array","null"],"items":{}}]},"uniqueItems":true}`,
	} {
		s := &schema.Schema{}
		if err := s.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		add(s)
	}
	return all
}

// hugeExponent finds numbers with exponents of more than three digits.
var hugeExponent = regexp.MustCompile(`[eE][+-]?0*[1-9][0-9]{3}`)

// compare checks that both validators agree about a text. It passes over what is ours alone: text that encoding/json
// reads another way (duplicate keys, surrogates, depth) and numbers beyond every Go type.
func (s subject) compare(t *testing.T, raw []byte) {
	t.Helper()
	issues := s.ours.Value(raw)
	if hugeExponent.Match(raw) {
		return // theirs computes with it and gives up, or does not end
	}
	for _, i := range issues {
		if i.Code == schema.IssueInvalidJSON || i.Code == schema.IssueDuplicateKey || strings.Contains(i.Message, "range of a") {
			return
		}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%s: we read it, encoding/json does not: %v", raw, err)
	}
	theirs := s.theirs.Validate(value)
	if (theirs == nil) != (len(issues) == 0) {
		document, _ := s.s.Document()
		t.Fatalf("schema %s\nvalue %s\nours %q\ntheirs %v", document, raw, lines(issues), theirs)
	}
	normalized, inputIssues := s.ours.Input(raw)
	if !reflect.DeepEqual(inputIssues, issues) {
		t.Fatalf("%s: as input %q, as value %q", raw, lines(inputIssues), lines(issues))
	}
	if len(issues) > 0 {
		return
	}
	again, issues := s.ours.Input(normalized)
	if len(issues) > 0 || !bytes.Equal(again, normalized) {
		t.Fatalf("%s: normalized to %s, then %s %q", raw, normalized, again, lines(issues))
	}
	value, err = jsonschema.UnmarshalJSON(bytes.NewReader(normalized))
	if err != nil {
		t.Fatalf("%s: normalized to %s: %v", raw, normalized, err)
	}
	if err := s.theirs.Validate(value); err != nil {
		t.Fatalf("%s: normalized to %s: %v", raw, normalized, err)
	}
}

func TestAgainstAnotherValidator(t *testing.T) {
	const seed, rounds = 7, 4000
	for i, s := range subjects(t) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			g := generator{rand.New(rand.NewPCG(seed, uint64(i))), s.s}
			valid := 0
			for range rounds {
				raw := g.value(s.s, 0)
				s.compare(t, raw)
				if len(s.ours.Value(raw)) == 0 {
					valid++
				}
			}
			if valid < rounds/50 || valid == rounds && s.s.Type != schema.Any {
				t.Errorf("%d of %d values were valid: the generator is of no use", valid, rounds)
			}
		})
	}
}

// generator writes values that mostly fit a schema.
type generator struct {
	*rand.Rand
	root *schema.Schema
}

func (g generator) pick(texts ...string) string { return texts[g.IntN(len(texts))] }

func (g generator) value(s *schema.Schema, depth int) []byte {
	s = g.root.Resolve(s)
	switch {
	case depth > 8 || g.IntN(60) == 0:
		return []byte(g.pick("null", "1", "1.5", `""`, "[]", "{}", "true", `"ab"`, "[1,1.0]", `{"a":1}`, "-0", "1e2", `{"kind":"circle"}`))
	case s.Nullable && g.IntN(5) == 0:
		return []byte("null")
	case s.Const != nil:
		return s.Const
	case s.Enum != nil && g.IntN(8) > 0:
		return s.Enum[g.IntN(len(s.Enum))]
	case s.OneOf != nil:
		return g.value(s.OneOf[g.IntN(len(s.OneOf))], depth)
	}
	switch s.Type {
	case schema.Object:
		return g.object(s, depth)
	case schema.Array:
		var items []string
		n := g.IntN(3)
		if s.MinItems != nil {
			n = *s.MinItems + g.IntN(5)/4
		}
		for range n {
			items = append(items, string(g.value(s.Items, depth+1)))
		}
		return []byte("[" + strings.Join(items, " , ") + "]")
	case schema.String:
		return []byte(g.pick(`"a"`, `"ab"`, `"\u00e9b"`, `"abc"`, `"abc"`, `"\ud83d\ude00"`, `"AB"`, `"abcd"`, `""`))
	case schema.Integer:
		return []byte(g.pick("0", "1", "2", "4", "-4", "2.0", "20e-1", "-0", "127", "128", "-128", "1.28e2", "-129", "18446744073709551615", "18446744073709551616", "9223372036854775808", "0.5"))
	case schema.Number:
		return []byte(g.pick("0", "0.25", "0.5", "1", "1.0", "0.3", "1.25", "25e-2", "-0.25", "2", "1e300"))
	case schema.Boolean:
		return []byte(g.pick("true", "false"))
	}
	return []byte(g.pick("null", "1", "1.0", `"a"`, "[1]", "[1.0]", `{"a":1}`, `{"a":1e0}`, `{"b":[{}]}`))
}

func (g generator) object(s *schema.Schema, depth int) []byte {
	var members []string
	for _, p := range s.Properties {
		if p.Required && g.IntN(40) > 0 || !p.Required && g.IntN(4) == 0 {
			members = append(members, `"`+p.Name+`":`+string(g.value(p.Schema, depth+1)))
		}
	}
	for range g.IntN(3) {
		if s.Values != nil || g.IntN(20) == 0 {
			values := s.Values
			if values == nil {
				values = &schema.Schema{}
			}
			members = append(members, fmt.Sprintf(`"k%d": %s`, g.IntN(1000), g.value(values, depth+1)))
		}
	}
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return []byte("{ " + strings.Join(members, ",") + "}")
}

// FuzzAgainstAnotherValidator tries arbitrary text on every schema.
func FuzzAgainstAnotherValidator(f *testing.F) {
	all := subjects(f)
	for i, s := range all {
		g := generator{rand.New(rand.NewPCG(1, uint64(i))), s.s}
		for range 4 {
			f.Add(byte(i), g.value(s.s, 0))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, raw []byte) {
		all[int(which)%len(all)].compare(t, raw)
	})
}

// FuzzReading checks what is accepted against encoding/json: everything that is read must be valid JSON, the same
// value for every reader, and everything that is refused as not JSON must be so for a reason.
func FuzzReading(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e-3,"\u00e9\ud83d\ude00",true,null]}`, "[\"\xff\"]", `"\ud800"`, `{"a":1,"a":2}`, ` 1 `, `[[[[]]]]`, `1e400`, `01`, "\xef\xbb\xbf1"} {
		f.Add([]byte(s))
	}
	v, err := validate.Compile(&schema.Schema{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		issues := v.Value(raw)
		valid := json.Valid(raw)
		if len(issues) == 0 {
			if !valid {
				t.Fatalf("%q was read", raw)
			}
			var value any
			if err := json.Unmarshal(raw, &value); err != nil {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		for _, i := range issues {
			reason := false
			for _, known := range []string{"UTF-8", "surrogate", "deep"} {
				reason = reason || strings.Contains(i.Message, known)
			}
			if i.Code == schema.IssueInvalidJSON && valid && !reason {
				t.Fatalf("%q is JSON, but %q", raw, i.Message)
			}
			if i.Code != schema.IssueInvalidJSON && !valid {
				t.Fatalf("%q is not JSON, but %q", raw, i.Message)
			}
		}
	})
}

// FuzzAcceptedInputDecodes checks that what is accepted as input decodes into the Go type without an error.
func FuzzAcceptedInputDecodes(f *testing.F) {
	v := compile(f, reflect.TypeFor[everyShape]())
	for _, s := range []string{
		`{"whole":1.0,"tiny":1e2,"single":3.4e38,"at":"2026-01-31T15:04:05.5+02:00","took":"PT1.5S","data":"AAA="}`,
		`{"shape":{"kind":"group","of":[{"kind":"circle","radius":1e-9}]},"known":null,"maybe":null,"pair":[-0,1],"table":{"a":1}}`,
		`{"tree":{"name":"x","kids":[]},"mixed":{"z":1},"unique":[1,"1"],"list":["\ud83d\ude00"],"picked":3,"wide":18446744073709551615}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		normalized, issues := v.Input(raw)
		if len(issues) > 0 {
			return
		}
		d := json.NewDecoder(bytes.NewReader(normalized))
		d.DisallowUnknownFields()
		var value everyShape
		if err := d.Decode(&value); err != nil {
			t.Fatalf("%s: %v", normalized, err)
		}
		text, err := schema.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(text) {
			t.Fatalf("%s is not JSON", text)
		}
	})
}
