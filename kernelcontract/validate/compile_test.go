package validate_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
)

func TestCompileProblems(t *testing.T) {
	one := 1
	field := func(s *schema.Schema) *schema.Schema {
		return &schema.Schema{Type: schema.Object, Properties: []schema.Property{{Name: "a", Schema: s}}}
	}
	tests := []struct {
		rule string
		s    *schema.Schema
		want []string
	}{
		{"reference into nowhere", field(&schema.Schema{Ref: "X"}), []string{"a: the reference X leads nowhere"}},
		{"reference to itself", &schema.Schema{Ref: "X", Defs: []schema.Def{{Name: "X", Schema: &schema.Schema{Ref: "X"}}}}, []string{"the reference X leads nowhere"}},
		{"unknown type", field(&schema.Schema{Type: "text"}), []string{`a: "text" is not a type`}},
		{"pattern", field(&schema.Schema{Type: schema.String, Pattern: "("}), []string{"a: error parsing regexp"}},
		{"encoding", field(&schema.Schema{Type: schema.String, ContentEncoding: "base32"}), []string{`a: the encoding "base32" is not known`}},
		{"bound", field(&schema.Schema{Type: schema.Integer, Minimum: "one", Maximum: "1 "}), []string{`a: the bound "one" is not a number`, `a: the bound "1 " is not a number`}},
		{"multipleOf", field(&schema.Schema{Type: schema.Integer, MultipleOf: "0"}), []string{"a: multipleOf must be above 0"}},
		{"length of a number", field(&schema.Schema{Type: schema.Integer, MinLength: &one}), []string{"a: pattern, contentEncoding and length must stand beside type string"}},
		{"bound without a type", field(&schema.Schema{Minimum: "1"}), []string{"a: bounds must stand beside type integer or number"}},
		{"items of an object", field(&schema.Schema{Type: schema.Object, Items: &schema.Schema{}}), []string{"a: items and their limits must stand beside type array"}},
		{"properties of a string", field(&schema.Schema{Type: schema.String, Strict: true}), []string{"a: properties and their limits must stand beside type object"}},
		{"type beside oneOf", field(&schema.Schema{Type: schema.String, OneOf: []*schema.Schema{{}}}), []string{"a: type, const and enum must stand beside no oneOf"}},
		{"oneOf of nothing", field(&schema.Schema{OneOf: []*schema.Schema{}}), []string{"a: oneOf lists no branch"}},
		{"strict map", field(&schema.Schema{Type: schema.Object, Strict: true, Values: &schema.Schema{}}), []string{"a: a strict object has no values of other keys"}},
		{"two properties of one name", &schema.Schema{Type: schema.Object, Properties: []schema.Property{{Name: "a"}, {Name: "a"}}}, []string{"a: two properties have this name"}},
		{"constant that is no JSON", field(&schema.Schema{Const: json.RawMessage("{")}), []string{"a: a constant is not JSON"}},
		{"const and enum", field(&schema.Schema{Const: json.RawMessage("1"), Enum: []json.RawMessage{[]byte("1")}}), []string{"a: const and enum must not stand together"}},
		{"default", field(&schema.Schema{Type: schema.Integer, Default: json.RawMessage(`"x"`)}), []string{"the default of a: [] must be an integer, got the string"}},
		{"default that is no JSON", field(&schema.Schema{Type: schema.Integer, Default: json.RawMessage(`{`)}), []string{"the default of a:"}},
		{"default that contains itself", &schema.Schema{Ref: "T", Defs: []schema.Def{{Name: "T", Schema: field(&schema.Schema{Ref: "T", Default: json.RawMessage("{}")})}}}, []string{"the default of a contains itself"}},
		{"discriminator without oneOf", field(&schema.Schema{Discriminator: "kind"}), []string{"a: discriminator must stand beside oneOf"}},
		{"branch that is no object", field(&schema.Schema{Discriminator: "kind", OneOf: []*schema.Schema{{Type: schema.String}}}), []string{"a|0: a branch with a discriminator must be an object"}},
		{"branch without its discriminator", field(&schema.Schema{Discriminator: "kind", OneOf: []*schema.Schema{field(&schema.Schema{})}}), []string{`a|0: the discriminator "kind" must be required`}},
		{"discriminator without a constant", field(&schema.Schema{Discriminator: "kind", OneOf: []*schema.Schema{
			{Type: schema.Object, Properties: []schema.Property{{Name: "kind", Required: true, Schema: &schema.Schema{Type: schema.String}}}}}}), []string{`a|0: the discriminator "kind" must have a string as const`}},
		{"two branches of one name", field(&schema.Schema{Discriminator: "kind", OneOf: []*schema.Schema{branch("x"), branch("x")}}), []string{`a|1: two branches have the discriminator "x"`}},
		{"union of itself", &schema.Schema{Ref: "U", Defs: []schema.Def{{Name: "U", Schema: &schema.Schema{OneOf: []*schema.Schema{{Type: schema.String}, {Ref: "U"}}}}}}, []string{"$defs.U: the union lists itself as a branch"}},
		{"everything at once", &schema.Schema{Type: schema.Object, Properties: []schema.Property{
			{Name: "a", Schema: &schema.Schema{Type: "text"}}, {Name: "b", Schema: &schema.Schema{Type: schema.Array, Items: &schema.Schema{Type: schema.String, Pattern: "("}}}}},
			[]string{`a: "text" is not a type`, "b[]: error parsing regexp"}},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			v, err := validate.Compile(tt.s)
			if err == nil {
				t.Fatal("want an error")
			}
			is.New(t).True(v == nil)
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
}

func branch(kind string) *schema.Schema {
	return &schema.Schema{Type: schema.Object, Properties: []schema.Property{
		{Name: "kind", Required: true, Schema: &schema.Schema{Type: schema.String, Const: json.RawMessage(`"` + kind + `"`)}}}}
}

func TestCompileNothing(t *testing.T) {
	is := is.New(t)
	for _, s := range []*schema.Schema{nil, {}} {
		v, err := validate.Compile(s)
		is.NoErr(err)
		is.Equal(len(v.Value([]byte(`{"anything":[1,null]}`))), 0)
	}
}

func TestMixedUnion(t *testing.T) {
	v := ofSchema(t, `{"oneOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"},{"type":"integer"},{"type":"number","minimum":10},{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}],
		"$defs":{"A":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},
		"B":{"type":"object","properties":{"b":{"type":"array","items":{"$ref":"#/$defs/B"}}},"required":["b"],"additionalProperties":false}}}`)
	for in, want := range map[string]string{
		`{"b":[]}`:         "",
		`{"b":[{"b":[]}]}`: "",
		`{"b":[{"b":1}]}`:  " invalid_union: must be",
		`{"a":1}`:          " invalid_union: fits more than one branch",
		`{"a":1,"b":[]}`:   " invalid_union: fits more than one branch",
		`{"b":[],"c":1}`:   " invalid_union: must be",
		`5`:                "",
		`10.5`:             "",
		`12`:               " invalid_union: fits more than one branch",
		`1.5`:              " invalid_union: must be an object or a number or null, got the number 1.5",
		`null`:             "",
		`"x"`:              " invalid_union: must be an object or a number or null, got the string \"x\"",
	} {
		t.Run(in, func(t *testing.T) {
			issues := lines(v.Value([]byte(in)))
			switch {
			case want == "" && issues != nil:
				t.Errorf("got %q", issues)
			case want != "" && (len(issues) != 1 || !strings.HasPrefix(issues[0], want)):
				t.Errorf("got %q, want %q", issues, want)
			}
		})
	}
}

// TestUnionOfConstants checks that a value which is none of the constants of a union is told so as with an enum.
func TestUnionOfConstants(t *testing.T) {
	for _, tt := range []struct{ schema, in, want string }{
		{`{"oneOf":[{"const":"low"},{"const":"high"}]}`, `"low"`, ""},
		{`{"oneOf":[{"const":"low"},{"const":"high"}]}`, `"hihg"`, ` invalid_value: must be one of "low", "high", got the string "hihg"; did you mean "high"?`},
		{`{"oneOf":[{"const":"low"},{"const":"high"}]}`, `1`, ` invalid_value: must be one of "low", "high", got the number 1`},
		{`{"oneOf":[{"const":"low"},{"const":"high"}]}`, `null`, ` invalid_value: must be one of "low", "high", got null`},
		{`{"anyOf":[{"oneOf":[{"const":"low"},{"const":"high"}]},{"type":"null"}]}`, `null`, ""},
		{`{"oneOf":[{"const":1},{"const":2}]}`, `3`, ` invalid_value: must be one of 1, 2, got the number 3`},
		{`{"oneOf":[{"const":1},{"const":2}]}`, `2.0`, ""},
		{`{"oneOf":[{"const":"auto"},{"type":"integer"}]}`, `7`, ""},
		{`{"oneOf":[{"const":"auto"},{"type":"integer"}]}`, `"x"`, ` invalid_value: must be "auto", got the string "x"`},
		{`{"oneOf":[{"const":"auto"},{"type":"integer"}]}`, `true`, ` invalid_union: must be a string or an integer, got true`},
		{`{"oneOf":[{"const":"on"},{"const":"off"},{"type":"integer"}]}`, `"of"`, ` invalid_value: must be one of "on", "off", got the string "of"; did you mean "on"?`},
		{`{"oneOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}],"$defs":{"A":{"const":"a"},"B":{"const":{"b":1}}}}`, `{"b":2}`, ` invalid_value: must be {"b":1}, got an object`},
		{`{"const":"yes"}`, `"no"`, ` invalid_value: must be "yes", got the string "no"`},
	} {
		t.Run(tt.schema+" "+tt.in, func(t *testing.T) {
			is.New(t).Equal(strings.Join(lines(ofSchema(t, tt.schema).Value([]byte(tt.in))), "\n"), tt.want)
		})
	}
}

// TestAmbiguousUnionsEnd checks that nested unions whose branches look alike do not take exponential time.
func TestAmbiguousUnionsEnd(t *testing.T) {
	v := ofSchema(t, `{"$ref":"#/$defs/U","$defs":{"U":{"oneOf":[
		{"type":"object","properties":{"a":{"$ref":"#/$defs/U"}},"required":["a"]},
		{"type":"object","properties":{"a":{"$ref":"#/$defs/U"}}},
		{"type":"object","properties":{"a":{"$ref":"#/$defs/U"},"b":{"type":"integer"}}}]}}}`)
	depth := validate.MaxDepth - 1
	issues := v.Value([]byte(strings.Repeat(`{"a":`, depth) + `{}` + strings.Repeat(`}`, depth)))
	is.New(t).True(len(issues) > 0) // an answer, within the time of a test
}

func TestValidatorIsSafeForConcurrentUse(t *testing.T) {
	v := compile(t, reflect.TypeFor[everyShape]())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				normalized, issues := v.Input([]byte(`{"point":{"x":1.0},"lower":"abc","shape":{"kind":"circle","radius":1}}`))
				if len(issues) > 0 || string(normalized) != `{"point":{"x":1,"y":7},"lower":"abc","shape":{"kind":"circle","radius":1,"unit":"cm"}}` {
					t.Errorf("%s %q", normalized, lines(issues))
				}
			}
		})
	}
	wg.Wait()
}
