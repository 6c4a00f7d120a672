package validate_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
)

// TestIssues has a row for each way in which a value can fail; the path and the message are what callers see.
func TestIssues(t *testing.T) {
	v := compile(t, reflect.TypeFor[everyShape]())
	tests := []struct {
		rule, in string
		want     []string
	}{
		{"unrecognized key", `{"nope":1}`, []string{`nope unrecognized_key: is not a known key; leave it out, the keys are "text", "lower", "choice", "fixed", "whole", "bounded", "tiny", "wide", "picked", "real", "ratio", "step" and 18 more`}},
		{"unrecognized key, near one", `{"pont":{}}`, []string{`pont unrecognized_key: is not a known key; did you mean "point"?`}},
		{"unrecognized key, other case", `{"Text":"ab"}`, []string{`Text unrecognized_key: is not a known key; did you mean "text"?`}},
		{"unrecognized key, same prefix", `{"boundary":2}`, []string{`boundary unrecognized_key: is not a known key; did you mean "bounded"?`}},
		{"unrecognized key below", `{"point":{"x":1,"q":1}}`, []string{`point.q unrecognized_key: is not a known key; leave it out, the keys are "x", "y"`}},
		{"unrecognized key that is written with escapes", `{"\u0054ext":"ab"}`, []string{`Text unrecognized_key: is not a known key; did you mean "text"?`}},
		{"required", `{"point":{}}`, []string{`point.x required: is required; add "x"`}},
		{"invalid type: string", `{"text":5}`, []string{`text invalid_type: must be a string, got the number 5`}},
		{"invalid type: integer", `{"whole":"5"}`, []string{`whole invalid_type: must be an integer, got the string "5"`}},
		{"invalid type: fraction", `{"whole":1.5}`, []string{`whole invalid_type: must be an integer, got 1.5`}},
		{"invalid type: number", `{"real":true}`, []string{`real invalid_type: must be a number, got true`}},
		{"invalid type: boolean", `{"flag":1}`, []string{`flag invalid_type: must be true or false, got the number 1`}},
		{"invalid type: array", `{"list":{}}`, []string{`list invalid_type: must be an array, got an object`}},
		{"invalid type: object", `{"point":[]}`, []string{`point invalid_type: must be an object or null, got an array`}},
		{"invalid type: null", `{"text":null}`, []string{`text invalid_type: must be a string, got null`}},
		{"invalid type: nullable", `{"maybe":false}`, []string{`maybe invalid_type: must be a string or null, got false`}},
		{"invalid type in a list", `{"list":["a",1]}`, []string{`list[1] invalid_type: must be a string, got the number 1`}},
		{"invalid type in a map", `{"table":{"a b":"c"}}`, []string{`table.a b invalid_type: must be an integer, got the string "c"`}},
		{"invalid value: enum", `{"choice":"gren"}`, []string{`choice invalid_value: must be one of "red", "green", "blue", got "gren"; did you mean "green"?`}},
		{"invalid value: enum of numbers", `{"picked":4}`, []string{`picked invalid_value: must be one of 1, 2, 3, got the number 4`}},
		{"invalid value: constant", `{"fixed":"no"}`, []string{`fixed invalid_value: must be "yes", got "no"`}},
		{"invalid value: multiple", `{"bounded":3}`, []string{`bounded invalid_value: must be a multiple of 2, got 3`}},
		{"invalid value: multiple of a fraction", `{"step":0.25}`, []string{`step invalid_value: must be a multiple of 0.1, got 0.25`}},
		{"invalid value: repeated item", `{"unique":[1,{"a":1,"b":2},1.0]}`, []string{`unique invalid_value: must not repeat an item: 0 and 2 are equal`}},
		{"invalid value: repeated object", `{"unique":[{"a":1,"b":[null]},{"b":[null],"a":1e0}]}`, []string{`unique invalid_value: must not repeat an item: 0 and 1 are equal`}},
		{"too small: number", `{"bounded":0}`, []string{`bounded too_small: must be at least 1, got 0`}},
		{"too small: exclusive", `{"ratio":0.0}`, []string{`ratio too_small: must be above 0, got 0.0`}},
		{"too small: width", `{"tiny":-129}`, []string{`tiny too_small: must be at least -128, got -129`}},
		{"too small: unsigned", `{"wide":-1}`, []string{`wide too_small: must be at least 0, got -1`}},
		{"too small: length", `{"text":"é"}`, []string{`text too_small: must be at least 2 characters long, got 1`}},
		{"too small: items", `{"list":[]}`, []string{`list too_small: must have at least 1 item, got 0`}},
		{"too small: fixed array", `{"pair":[1]}`, []string{`pair too_small: must have at least 2 items, got 1`}},
		{"too big: number", `{"bounded":12}`, []string{`bounded too_big: must be at most 10, got 12`}},
		{"too big: exclusive", `{"ratio":1}`, []string{`ratio too_big: must be below 1, got 1`}},
		{"too big: width", `{"tiny":128}`, []string{`tiny too_big: must be at most 127, got 128`}},
		{"too big: 64 bits", `{"wide":18446744073709551616}`, []string{`wide too_big: must be at most 18446744073709551615, got 18446744073709551616`}},
		{"too big: float64", `{"real":1e400}`, []string{`real too_big: is beyond the range of a 64-bit float, got 1e400`}},
		{"too small: float64", `{"real":-1e400}`, []string{`real too_small: is below the range of a 64-bit float, got -1e400`}},
		{"too big: float32", `{"single":1e39}`, []string{`single too_big: is beyond the range of a 32-bit float, got 1e39`}},
		{"too big: integer", `{"whole":1e400}`, []string{`whole too_big: is beyond the range of a number, got 1e400`}},
		{"too big: anywhere", `{"free":[{"a":1e400}]}`, []string{`free[0].a too_big: is beyond the range of a 64-bit float, got 1e400`}},
		{"too big: length counts code points", `{"text":"äöüßa"}`, []string{`text too_big: must be at most 4 characters long, got 5`}},
		{"too big: items", `{"list":["a","b","c","d"]}`, []string{`list too_big: must have at most 3 items, got 4`}},
		{"too big: keys", `{"table":{"a":1,"b":1,"c":1}}`, []string{`table too_big: must have at most 2 keys, got 3`}},
		{"invalid format: pattern", `{"lower":"A"}`, []string{`lower invalid_format: must match the pattern ^[a-z]*$, got "A"`}},
		{"invalid format: time", `{"at":"2026-01-31T15:04:05"}`, []string{`at invalid_format: must be a date and time with offset such as "2026-01-31T15:04:05Z", got "2026-01-31T15:04:05"`}},
		{"invalid format: duration", `{"took":"90s"}`, []string{`took invalid_format: must be an ISO 8601 duration such as "PT1M30S", got "90s"`}},
		{"invalid format: email", `{"mail":"me"}`, []string{`mail invalid_format: must be an e-mail address such as "someone@example.org", got "me"`}},
		{"invalid format: base64", `{"data":"AA"}`, []string{`data invalid_format: must be padded base64 without line breaks, got "AA"`}},
		{"duplicate key", `{"flag":true,"flag":true}`, []string{`flag duplicate_key: is given twice; leave one "flag" out`}},
		{"duplicate key that is written with escapes", `{"flag":true,"fl\u0061g":true}`, []string{`flag duplicate_key: is given twice; leave one "flag" out`}},
		{"duplicate key in a map", `{"table":{"a":1,"a":1}}`, []string{`table.a duplicate_key: is given twice; leave one "a" out`}},
		{"duplicate key anywhere", `{"free":{"b":[{"a":1,"a":1}]}}`, []string{`free.b[0].a duplicate_key: is given twice; leave one "a" out`}},
		{"duplicate unrecognized key", `{"nope":1,"nope":1}`, []string{
			`nope unrecognized_key: is not a known key; leave it out, the keys are "text", "lower", "choice", "fixed", "whole", "bounded", "tiny", "wide", "picked", "real", "ratio", "step" and 18 more`,
			`nope duplicate_key: is given twice; leave one "nope" out`,
		}},
		{"invalid union: unknown branch", `{"shape":{"kind":"sqare","side":1}}`, []string{`shape.kind invalid_union: must be one of "circle", "square", "group", got "sqare"; did you mean "square"?`}},
		{"invalid union: branch is no string", `{"shape":{"kind":7}}`, []string{`shape.kind invalid_union: must be one of "circle", "square", "group", got "7"`}},
		{"union without its discriminator", `{"shape":{"side":1}}`, []string{`shape.kind required: is required; add "kind", one of "circle", "square", "group"`}},
		{"union that is no object", `{"shape":"circle"}`, []string{`shape invalid_type: must be an object or null, got the string "circle"`}},
		{"union: only the chosen branch reports", `{"shape":{"side":1,"kind":"circle"}}`, []string{
			`shape.side unrecognized_key: is not a known key; leave it out, the keys are "kind", "radius", "unit"`,
			`shape.radius required: is required; add "radius"`,
		}},
		{"union in a union", `{"shape":{"kind":"group","of":[{"kind":"square","side":"x"}]}}`, []string{`shape.of[0].side invalid_type: must be an integer, got the string "x"`}},
		{"invalid union: mixed, no such type", `{"mixed":true}`, []string{`mixed invalid_union: must be an object or a string or an integer or null, got true`}},
		{"mixed union: the only branch of the type reports", `{"mixed":1.5}`, []string{`mixed invalid_type: must be an integer, got 1.5`}},
		{"invalid union: mixed, no object fits", `{"mixed":{"q":1}}`, []string{`mixed invalid_union: must be an object or a string or an integer or null, got an object`}},
		{"recursive", `{"tree":{"name":"a","kids":[{"name":"b","kids":[{"name":1}]}]}}`, []string{`tree.kids[0].kids[0].name invalid_type: must be a string, got the number 1`}},
		{"root", `[]`, []string{` invalid_type: must be an object, got an array`}},
		{"several of one value, by code", `{"text":"","lower":"` + strings.Repeat("A", 70) + `"}`, []string{
			`text too_small: must be at least 2 characters long, got 0`,
			`lower invalid_format: must match the pattern ^[a-z]*$, got "` + strings.Repeat("A", 64) + `"…`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			is := is.New(t)
			normalized, issues := v.Input([]byte(tt.in))
			is.Equal(lines(issues), tt.want)
			is.True(normalized == nil) // nothing to decode
			is.Equal(lines(v.Value([]byte(tt.in))), tt.want)
		})
	}
}

func TestIssueOrder(t *testing.T) {
	type input struct {
		B point            `json:"b"`
		A string           `json:"a" minLength:"2" pattern:"^x" format:"email"`
		M map[string]point `json:"m"`
		L []point          `json:"l"`
	}
	v := compile(t, reflect.TypeFor[input]())
	const want = `z unrecognized_key
b.zz unrecognized_key
b.x required
a invalid_format
a invalid_format
a too_small
m.k1.x invalid_type
m.k2.x required
l[2].x invalid_type
l[10].x invalid_type`
	item := `{"x":1}`
	list := `[` + strings.Repeat(item+",", 2) + `{"x":"2"},` + strings.Repeat(item+",", 7) + `{"x":"10"}]`
	for _, in := range []string{
		`{"l":` + list + `,"m":{"k2":{},"k1":{"x":"1"}},"a":"a","z":1,"b":{"zz":1}}`,
		`{"z":1,"b":{"zz":1},"a":"a","m":{"k1":{"x":"1"},"k2":{}},"l":` + list + `}`,
	} {
		is := is.New(t)
		_, issues := v.Input([]byte(in))
		var got []string
		for _, l := range lines(issues) {
			got = append(got, strings.SplitN(l, ":", 2)[0])
		}
		// An undeclared key below a declared one sorts by its parent; at one level it comes after what is declared.
		wantLines := strings.Split(want, "\n")
		wantLines[0], wantLines[1] = wantLines[1], wantLines[0]
		is.Equal(got, wantLines)
	}
}

func TestIssuesAreBounded(t *testing.T) {
	v := compile(t, reflect.TypeFor[[]int8]())
	many := func(n int) []byte { return []byte("[" + strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") + "]") }
	is := is.New(t)
	_, issues := v.Input(many(validate.MaxIssues))
	is.Equal(len(issues), validate.MaxIssues)
	is.Equal(issues[validate.MaxIssues-1].Path, []any{validate.MaxIssues - 1}) // exactly as many are all shown
	_, issues = v.Input(many(validate.MaxIssues + 900))
	is.Equal(len(issues), validate.MaxIssues)
	is.Equal(lines(issues[validate.MaxIssues-1:]), []string{" invalid_value: 901 more issues were left out; fix these first"})
	is.Equal(len(v.Value(many(validate.MaxIssues+900))), validate.MaxIssues)
}

func TestMessagesRepeatLittle(t *testing.T) {
	long := strings.Repeat("ä", 100_000)
	v := compile(t, reflect.TypeFor[everyShape]())
	for _, in := range []string{
		`{"choice":"` + long + `"}`, `{"whole":"` + long + `"}`, `{"lower":"` + long + `"}`, `{"` + long + `":1}`, `{"` + long + `":1,"` + long + `":1}`,
		`{"whole":` + strings.Repeat("1", 1000) + `}`, `{"bounded":1` + strings.Repeat("0", 300) + `}`, `{"mixed":["` + long + `"]}`, `{"shape":{"kind":"` + long + `"}}`,
		`{"picked":` + strings.Repeat("1", 300) + `}`, `{"fixed":"` + long + `"}`, `{"at":"` + long + `"}`, `{"data":"` + long + `"}`,
		`{"real":1` + strings.Repeat("0", 1000) + `}`,
	} {
		_, issues := v.Input([]byte(in))
		if len(issues) == 0 {
			t.Fatalf("%.40s…: want issues", in)
		}
		for _, i := range issues {
			if len(i.Message) > 350 || !utf8.ValidString(i.Message) {
				t.Errorf("%.40s…: %d bytes, %q", in, len(i.Message), i.Message)
			}
			if text, err := json.Marshal(i.Path); err != nil || len(text) > 400 {
				t.Errorf("%.40s…: a path of %d bytes, %v", in, len(text), err)
			}
		}
	}
}

// TestEveryCode checks that each of the closed codes is one that a value can have.
func TestEveryCode(t *testing.T) {
	v := compile(t, reflect.TypeFor[everyShape]())
	for code, in := range map[schema.IssueCode]string{
		schema.IssueUnrecognizedKey: `{"q":1}`,
		schema.IssueRequired:        `{"point":{}}`,
		schema.IssueInvalidType:     `{"text":1}`,
		schema.IssueInvalidValue:    `{"fixed":"no"}`,
		schema.IssueTooSmall:        `{"bounded":0}`,
		schema.IssueTooBig:          `{"bounded":12}`,
		schema.IssueInvalidFormat:   `{"mail":""}`,
		schema.IssueDuplicateKey:    `{"flag":true,"flag":true}`,
		schema.IssueInvalidJSON:     `{`,
		schema.IssueInvalidUnion:    `{"mixed":true}`,
	} {
		t.Run(string(code), func(t *testing.T) {
			_, issues := v.Input([]byte(in))
			is.New(t).Equal(len(issues), 1)
			is.New(t).Equal(issues[0].Code, code)
		})
	}
}

func ExampleValidator_Value() {
	var s schema.Schema
	_ = s.UnmarshalJSON([]byte(`{"type":"array","items":{"type":"integer","minimum":1}}`))
	v, err := validate.Compile(&s)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, i := range v.Value([]byte(`[1, 0]`)) {
		fmt.Println(i.Path, i.Code, i.Message)
	}
	// Output: [1] too_small must be at least 1, got 0
}
