package validate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
)

// TestNotJSON has a row for each way in which text is not JSON, or more than what is read.
func TestNotJSON(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct{ rule, in, want string }{
		{"empty", ``, ` invalid_json: the text is empty, a value is expected (at byte 0)`},
		{"white space alone", " \n", ` invalid_json: the text ends where a value is expected (at byte 2)`},
		{"ends in an object", `{"free":{`, `free invalid_json: the text ends where a key is expected (at byte 9)`},
		{"ends in a key", `{"fr`, ` invalid_json: the text ends inside a string (at byte 4)`},
		{"ends before a colon", `{"free"`, `free invalid_json: the text ends where a colon is expected (at byte 7)`},
		{"ends before a value", `{"free":`, `free invalid_json: the text ends where a value is expected (at byte 8)`},
		{"ends in a word", `{"flag":tru`, `flag invalid_json: unexpected 't' where a value is expected (at byte 8)`},
		{"ends in a list", `{"list":["a"`, `list invalid_json: the text ends where a comma or ] is expected (at byte 12)`},
		{"trailing comma in an object", `{"flag":true,}`, ` invalid_json: unexpected '}' where a key is expected (at byte 13)`},
		{"trailing comma in a list", `{"list":["a",]}`, `list[1] invalid_json: unexpected ']' where a value is expected (at byte 13)`},
		{"missing comma", `{"flag":true "x":1}`, ` invalid_json: unexpected '"' where a comma or } is expected (at byte 13)`},
		{"key without quotes", `{flag:true}`, ` invalid_json: unexpected 'f' where a key is expected (at byte 1)`},
		{"single quotes", `{'flag':true}`, ` invalid_json: unexpected '\'' where a key is expected (at byte 1)`},
		{"another word", `{"flag":True}`, `flag invalid_json: unexpected 'T' where a value is expected (at byte 8)`},
		{"word that goes on", `{"flag":trueish}`, ` invalid_json: unexpected 'i' where a comma or } is expected (at byte 12)`},
		{"NaN", `{"real":NaN}`, `real invalid_json: unexpected 'N' where a value is expected (at byte 8)`},
		{"comment", `{/**/}`, ` invalid_json: unexpected '/' where a key is expected (at byte 1)`},
		{"leading zero", `{"whole":01}`, `whole invalid_json: a number must not begin with 0 (at byte 9)`},
		{"leading plus", `{"whole":+1}`, `whole invalid_json: unexpected '+' where a value is expected (at byte 9)`},
		{"minus alone", `{"whole":-}`, `whole invalid_json: unexpected '}' where a digit is expected (at byte 10)`},
		{"no digit after the point", `{"real":1.}`, `real invalid_json: unexpected '}' where a digit is expected (at byte 10)`},
		{"no digit before the point", `{"real":.5}`, `real invalid_json: unexpected '.' where a value is expected (at byte 8)`},
		{"no digit in the exponent", `{"real":1e+}`, `real invalid_json: unexpected '}' where a digit is expected (at byte 11)`},
		{"hexadecimal", `{"whole":0x1}`, ` invalid_json: unexpected 'x' where a comma or } is expected (at byte 10)`},
		{"bytes after the value", `{} {}`, ` invalid_json: there are bytes after the value (at byte 3)`},
		{"a zero byte after the value", "{}\x00", ` invalid_json: there are bytes after the value (at byte 2)`},
		{"byte order mark", "\xef\xbb\xbf{}", ` invalid_json: unexpected 'ï' where a value is expected (at byte 0)`},
		{"invalid UTF-8", "{\"text\":\"a\xff\"}", `text invalid_json: the text is not valid UTF-8 (at byte 10)`},
		{"invalid UTF-8 after an escape", "{\"text\":\"\\n\xff\"}", `text invalid_json: the text is not valid UTF-8 (at byte 11)`},
		{"invalid UTF-8 in a key", "{\"\xc3\":1}", ` invalid_json: the text is not valid UTF-8 (at byte 2)`},
		{"overlong UTF-8", "{\"text\":\"\xc0\xaf\"}", `text invalid_json: the text is not valid UTF-8 (at byte 9)`},
		{"surrogate in UTF-8", "{\"text\":\"\xed\xa0\x80\"}", `text invalid_json: the text is not valid UTF-8 (at byte 9)`},
		{"control character", "{\"text\":\"a\nb\"}", `text invalid_json: a control character in a string must be escaped (at byte 10)`},
		{"control character after an escape", "{\"text\":\"\\t\x00\"}", `text invalid_json: a control character in a string must be escaped (at byte 11)`},
		{"unknown escape", `{"text":"\x41"}`, `text invalid_json: an escape in a string is not one of \" \\ \/ \b \f \n \r \t \uXXXX (at byte 9)`},
		{"short escape", `{"text":"\u00g0"}`, `text invalid_json: \u needs four hexadecimal digits (at byte 9)`},
		{"ends in an escape", `{"text":"\`, `text invalid_json: an escape in a string is not one of \" \\ \/ \b \f \n \r \t \uXXXX (at byte 9)`},
		{"ends after an escape", `{"text":"\n`, `text invalid_json: the text ends inside a string (at byte 11)`},
		{"lone high surrogate", `{"text":"\ud800"}`, `text invalid_json: a surrogate escape must come as a pair (at byte 9)`},
		{"lone low surrogate", `{"text":"\udc00x"}`, `text invalid_json: a surrogate escape must come as a pair (at byte 9)`},
		{"two high surrogates", `{"text":"\ud800\ud800"}`, `text invalid_json: a surrogate escape must come as a pair (at byte 9)`},
		{"lone surrogate in a key", `{"free":{"\ud800":1}}`, `free invalid_json: a surrogate escape must come as a pair (at byte 10)`},
		{"too deep", `{"free":` + deep(validate.MaxDepth) + `}`, `free` + strings.Repeat("[0]", 63) + ` invalid_json: nested more than 64 deep (at byte 71)`},
		{"syntax after an issue is all that is said", `{"nope":1,"text":5,`, ` invalid_json: the text ends where a key is expected (at byte 19)`},
		{"syntax behind a union's discriminator", `{"shape":{"kind":"circle","radius":}}`, `shape.radius invalid_json: unexpected '}' where a value is expected (at byte 35)`},
		{"syntax before a union's discriminator", `{"shape":{"radius":,"kind":"circle"}}`, `shape invalid_json: unexpected ',' where a value is expected (at byte 19)`},
		{"syntax in a mixed union", `{"mixed":{"x":}}`, `mixed.x invalid_json: unexpected '}' where a value is expected (at byte 14)`},
	}
	v := compile(t, reflect.TypeFor[everyShape]())
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			is := is.New(t)
			normalized, issues := v.Input([]byte(tt.in))
			is.Equal(lines(issues), []string{tt.want})
			is.True(normalized == nil)
			is.Equal(lines(v.Value([]byte(tt.in))), []string{tt.want})
		})
	}
}

func TestDepthThatIsRead(t *testing.T) {
	v := compile(t, reflect.TypeFor[everyShape]())
	n := validate.MaxDepth - 1
	_, issues := v.Input([]byte(`{"free":` + strings.Repeat(`[`, n) + strings.Repeat(`]`, n) + `}`))
	is.New(t).Equal(len(issues), 0)
}

func TestUnchangedInputIsNotCopied(t *testing.T) {
	v := compile(t, reflect.TypeFor[everyShape]())
	for _, in := range []string{
		`{}`, ` { "text" : "abc" , "whole" : -5 } `, `{"text":"\u00e9\n\"","real":1e2,"free":{"a":1.0}}`, `{"point":{"x":1,"y":2}}`,
		`{"text":"\ud83d\ude00!"}`, `{"mixed":"x"}`, `{"shape":{"side":1,"kind":"square"}}`,
	} {
		is := is.New(t)
		raw := []byte(in)
		normalized, issues := v.Input(raw)
		is.Equal(len(issues), 0)
		is.True(&normalized[0] == &raw[0] && len(normalized) == len(raw)) // the very same bytes
	}
}

// TestIntegers checks that every way to write an integer is decoded to the exact value.
func TestIntegers(t *testing.T) {
	v := compile(t, reflect.TypeFor[everyShape]())
	for in, want := range map[string]string{
		`{"whole":1.0}`:                           `{"whole":1}`,
		`{"whole":1e3}`:                           `{"whole":1000}`,
		`{"whole":-1.50e1}`:                       `{"whole":-15}`,
		`{"whole":100e-2}`:                        `{"whole":1}`,
		`{"whole":-0}`:                            `{"whole":0}`,
		`{"whole":-0.0e5}`:                        `{"whole":0}`,
		`{"whole":0e999999999999999999999}`:       `{"whole":0}`,
		`{"whole":9007199254740993}`:              `{"whole":9007199254740993}`,
		`{"whole":9007199254740993.0}`:            `{"whole":9007199254740993}`,
		`{"whole":9.223372036854775807e18}`:       `{"whole":9223372036854775807}`,
		`{"whole":-9223372036854775808}`:          `{"whole":-9223372036854775808}`,
		`{"wide":18446744073709551615}`:           `{"wide":18446744073709551615}`,
		`{"wide":-0}`:                             `{"wide":0}`,
		`{"tiny":1.27E+2}`:                        `{"tiny":127}`,
		`{"known":1.0}`:                           `{"known":1}`,
		`{"table":{"a":1e1,"b":2}}`:               `{"table":{"a":10,"b":2}}`,
		`{"pair":[ 1.0 , 2.00 ]}`:                 `{"pair":[ 1 , 2 ]}`,
		`{"picked":2.0}`:                          `{"picked":2}`,
		`{"tree":{"name":"1.0"},"bounded":0.4e1}`: `{"tree":{"name":"1.0"},"bounded":4}`,
		`{"mixed":5e0}`:                           `{"mixed":5}`,
		`{"free":1.0}`:                            `{"free":1.0}`, // without a type nothing is rewritten
		`{"real":1.0}`:                            `{"real":1.0}`,
	} {
		t.Run(in, func(t *testing.T) {
			is := is.New(t)
			normalized, issues := v.Input([]byte(in))
			is.Equal(lines(issues), nil)
			is.Equal(string(normalized), want)
			var decoded everyShape
			is.NoErr(json.Unmarshal(normalized, &decoded)) // as a handler decodes it
			is.Equal(len(v.Value([]byte(in))), 0)
		})
	}
}

// TestExactBounds checks numbers next to bounds that a float64 cannot tell apart.
func TestExactBounds(t *testing.T) {
	tests := []struct {
		schema   string
		ok, miss []string
	}{
		{`{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}`,
			[]string{"9223372036854775807", "-9223372036854775808", "9223372036854775807.0"},
			[]string{"9223372036854775808", "-9223372036854775809", "9223372036854775808.0", "92233720368547758080e-1"}},
		{`{"type":"integer","maximum":18446744073709551615}`, []string{"18446744073709551615"}, []string{"18446744073709551616", "1844674407370955161.6e1"}},
		{`{"type":"integer","exclusiveMaximum":9007199254740993}`, []string{"9007199254740992"}, []string{"9007199254740993", "9007199254740994"}},
		{`{"type":"number","maximum":0.1}`, []string{"0.1", "0.10", "1e-1", "-5", "0.09999999999999999999999999"}, []string{"0.10000000000000000000000001", "1"}},
		{`{"type":"number","exclusiveMinimum":0}`, []string{"1e-300", "0.1"}, []string{"0", "-0", "0e5", "-1e-300"}},
		{`{"type":"number","exclusiveMaximum":1}`, []string{"0.999", "-1"}, []string{"1.0", "10e-1", "1"}},
		{`{"type":"number","minimum":-1.5}`, []string{"-1.5", "-15e-1", "0"}, []string{"-1.50000000000000000000001", "-2"}},
		{`{"type":"number","multipleOf":0.01}`, []string{"0.07", "19.99", "1e10", "0", "-0.35"}, []string{"0.001", "19.995", "1e-2000"}},
		{`{"type":"integer","multipleOf":7}`, []string{"0", "-14", "7e1", "9223372036854775807"}, []string{"1", "9223372036854775808", "1e100"}},
		{`{"type":"integer"}`, []string{"1e308", strings.Repeat("9", 309)}, []string{"1e309", strings.Repeat("9", 310), "1e99999999999999999999", "1.5", "1e-99999999999999999999"}},
		{`{"type":"number"}`, []string{"1.7976931348623157e308", "1e-400", "5e-324"}, []string{"1e309", "-1e99999999999999999999"}},
		{`{"type":"number","format":"float"}`, []string{"3.4028234e38", "-3.4028234e38"}, []string{"3.5e38", "-1e39"}},
		{`{"const":1}`, []string{"1", "1.0", "10e-1"}, []string{"2", `"1"`, "true", "1.0000000000000000000001"}},
		{`{"type":"integer","enum":[9007199254740993]}`, []string{"9007199254740993", "9007199254740993.0"}, []string{"9007199254740992"}},
	}
	for _, tt := range tests {
		t.Run(tt.schema, func(t *testing.T) {
			v := ofSchema(t, tt.schema)
			for _, in := range tt.ok {
				if issues := v.Value([]byte(in)); len(issues) > 0 {
					t.Errorf("%s: %q", in, lines(issues))
				}
			}
			for _, in := range tt.miss {
				if len(v.Value([]byte(in))) == 0 {
					t.Errorf("%s: want an issue", in)
				}
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	type leaf struct {
		A int    `json:"a,omitempty" default:"1"`
		B string `json:"b,omitempty" default:"two"`
	}
	type input struct {
		First string               `json:"first"`
		Leaf  leaf                 `json:"leaf,omitzero" default:"{\"b\":\"set\"}"`
		Loud  *bool                `json:"loud,omitempty" default:"true"`
		Null  *int                 `json:"null,omitempty" default:"null"`
		List  []leaf               `json:"list,omitempty"`
		Map   map[string]leaf      `json:"map,omitempty"`
		Shape *schema.Union[shape] `json:"shape,omitempty"`
		Mixed *mixed               `json:"mixed,omitempty"`
		Deep  struct {
			Leaf leaf `json:"leaf"`
		} `json:"deep,omitzero"`
		Last   float64 `json:"last,omitempty" default:"1e2"`
		Number int     `json:"number,omitempty" default:"1e2"`
	}
	const rest = `"loud":true,"null":null,"last":1e2,"number":100}`
	tests := []struct{ rule, in, want string }{
		{"all", `{"first":"x"}`, `{"first":"x","leaf":{"b":"set","a":1},` + rest},
		{"what is given stays", `{"first":"x","leaf":{},"loud":false,"null":1,"last":0,"number":-1}`, `{"first":"x","leaf":{"a":1,"b":"two"},"loud":false,"null":1,"last":0,"number":-1}`},
		{"in a list", `{"first":"x","leaf":{"a":0,"b":""},"list":[{},{"b":"q"}]}`, `{"first":"x","leaf":{"a":0,"b":""},"list":[{"a":1,"b":"two"},{"b":"q","a":1}],` + rest},
		{"in a map", `{"first":"x","leaf":{"a":0,"b":""},"map":{"k":{}}}`, `{"first":"x","leaf":{"a":0,"b":""},"map":{"k":{"a":1,"b":"two"}},` + rest},
		{"in a union", `{"first":"x","leaf":{"a":0,"b":""},"shape":{"radius":1,"kind":"circle"}}`, `{"first":"x","leaf":{"a":0,"b":""},"shape":{"radius":1,"kind":"circle","unit":"cm"},` + rest},
		{"in a mixed union", `{"first":"x","leaf":{"a":0,"b":""},"mixed":{"x":1.0}}`, `{"first":"x","leaf":{"a":0,"b":""},"mixed":{"x":1,"y":7},` + rest},
		{"in an object that has none of its own", `{"first":"x","leaf":{"a":0,"b":""},"deep":{"leaf":{}}}`, `{"first":"x","leaf":{"a":0,"b":""},"deep":{"leaf":{"a":1,"b":"two"}},` + rest},
		{"white space stays", ` { "first" : "x" } `, ` { "first" : "x" ,"leaf":{"b":"set","a":1},` + rest + ` `},
	}
	v := compile(t, reflect.TypeFor[input]())
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			is := is.New(t)
			normalized, issues := v.Input([]byte(tt.in))
			is.Equal(lines(issues), nil)
			is.Equal(string(normalized), tt.want)
			again, issues := v.Input(normalized)
			is.Equal(lines(issues), nil)
			is.True(bytes.Equal(again, normalized)) // a second time nothing changes
			is.Equal(lines(v.Value([]byte(tt.in))), nil)
		})
	}
	t.Run("only defaults", func(t *testing.T) {
		normalized, issues := compile(t, reflect.TypeFor[leaf]()).Input([]byte(`{}`))
		is.New(t).Equal(string(normalized), `{"a":1,"b":"two"}`)
		is.New(t).Equal(len(issues), 0)
	})
}

func TestFormats(t *testing.T) {
	tests := map[string]struct{ ok, miss []string }{
		"date-time": {
			[]string{"2026-01-31T15:04:05Z", "2026-01-31T15:04:05.123456789+02:00", "2024-02-29T00:00:00-23:59", "0000-01-01T00:00:00Z"},
			[]string{"", "2026-01-31", "2026-01-31 15:04:05Z", "2026-01-31t15:04:05Z", "2026-01-31T15:04:05z", "2026-01-31T15:04:05", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
				"2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T23:60:00Z", "2026-01-31T23:59:60Z", "2026-01-31T15:04:05.Z",
				"2026-01-31T15:04:05+0200", "2026-01-31T15:04:05+24:00", "2026-01-31T15:04:05+02:60", "2026-01-31T15:04Z", "2026-1-31T15:04:05Z", "1900-02-29T00:00:00Z", "+026-01-31T15:04:05Z"}},
		"date":     {[]string{"2026-01-31", "2000-02-29"}, []string{"", "2026-1-31", "2026-02-30", "20260131", "2026/01/31", "1900-02-29", "2026-06-31", "2026-01-31Z"}},
		"time":     {[]string{"15:04:05Z", "00:00:00.5-01:30"}, []string{"", "15:04:05", "25:00:00Z", "15:04Z", "15:04:05+1:00", "15:04:05ZZ", "15-04-05Z"}},
		"duration": {[]string{"PT1M30S", "P1D", "P2W", "-PT1S", "PT0S"}, []string{"", "90s", "P1Y", "P", "PT", "1M"}},
		"email":    {[]string{"me@example.org", "a.b+c@x-y.example", "me@localhost"}, []string{"", "me", "@example.org", "me@", "me@-x", "a b@example.org", "a..b@example.org", ".a@example.org", "a.@example.org", "a@b@c", "é@example.org", strings.Repeat("x", 65) + "@example.org", "me@exa_mple.org"}},
		"uri":      {[]string{"https://example.org/a?b=c#d", "mailto:me@example.org", "urn:a:b", "file:///tmp"}, []string{"", "/a/b", "example.org", "http://a b", "http://[::1", "://x", "http://é.org", "http://a\\b", "http://a/%zz"}},
		"uuid":     {[]string{"123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"}, []string{"", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g", "123e4567-e89b-12d3-a456_426614174000"}},
		"hostname": {[]string{"example.org", "a", "1.2.3.4", "xn--4ca.org", strings.Repeat("a", 63)}, []string{"", ".", "a.", "-a", "a-", "a_b", "a..b", strings.Repeat("a", 64), strings.Repeat("a.", 127) + "aa", "é"}},
		"ipv4":     {[]string{"192.0.2.1", "0.0.0.0"}, []string{"", "1.2.3", "1.2.3.256", "01.2.3.4", "1.2.3.4/8", "::1"}},
		"ipv6":     {[]string{"::1", "2001:db8::1", "::ffff:1.2.3.4"}, []string{"", "1.2.3.4", ":::1", "fe80::1%eth0", "2001:db8::g"}},
		"unheard":  {[]string{"", "anything"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := ofSchema(t, `{"type":"string","format":"`+name+`"}`)
			check := func(s string, ok bool) {
				raw, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				if issues := v.Value(raw); (len(issues) == 0) != ok || !ok && issues[0].Code != schema.IssueInvalidFormat {
					t.Errorf("%q: %q", s, lines(issues))
				}
			}
			for _, s := range tt.ok {
				check(s, true)
			}
			for _, s := range tt.miss {
				check(s, false)
			}
		})
	}
}

func TestBase64(t *testing.T) {
	v := ofSchema(t, `{"type":"string","contentEncoding":"base64"}`)
	for s, ok := range map[string]bool{
		"": true, "AA==": true, "AAA=": true, "AAAA": true, "+/+/": true, "AAAAAA==": true,
		"A": false, "AA": false, "AAA": false, "AA=": false, "A===": false, "====": false, "AAAA====": false, "AA==AAAA": false, "AA=A": false,
		"AB==": false, "AAB=": false, "-_-_": false, "AA==\\n": false, "AA AA===": false, "AAAé": false,
	} {
		if issues := v.Value([]byte(`"` + s + `"`)); (len(issues) == 0) != ok {
			t.Errorf("%q: %q", s, lines(issues))
		}
	}
}

// TestConstants checks literals of every type against constants.
func TestConstants(t *testing.T) {
	v := ofSchema(t, `{"enum":[null,1,"a",[1,{"b":true}],{"x":1,"y":"\u00e9"}]}`)
	for in, ok := range map[string]bool{
		`null`: true, `1.0`: true, `"\u0061"`: true, `[1e0, {"b" : true}]`: true, `{"y":"é","x":1.00}`: true,
		`false`: false, `2`: false, `"b"`: false, `[1]`: false, `[]`: false, `{}`: false, `{"x":1,"y":"e"}`: false, `[1,{"b":false}]`: false,
	} {
		if issues := v.Value([]byte(in)); (len(issues) == 0) != ok {
			t.Errorf("%s: %q", in, lines(issues))
		}
	}
}

func TestManyKeys(t *testing.T) {
	is := is.New(t)
	// More properties than a word has bits, and more than are looked at one by one.
	var properties, given []string
	for i := range 150 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"integer"}`, i))
		given = append(given, fmt.Sprintf(`"p%d":%d`, 149-i, i))
	}
	v := ofSchema(t, `{"type":"object","properties":{`+strings.Join(properties, ",")+`},"required":["p0","p149"],"additionalProperties":false}`)
	is.Equal(lines(v.Value([]byte(`{`+strings.Join(given, ",")+`}`))), nil)
	slices.Reverse(given)
	is.Equal(lines(v.Value([]byte(`{`+strings.Join(given, ",")+`}`))), nil)
	is.Equal(lines(v.Value([]byte(`{`+strings.Join(given, ",")+`,"p70":1,"p140":1,"x":1}`))), []string{
		`x unrecognized_key: is not a known key; leave it out, the keys are "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11" and 138 more`,
		`p70 duplicate_key: is given twice; leave one "p70" out`, `p140 duplicate_key: is given twice; leave one "p140" out`,
	})
	is.Equal(len(v.Value([]byte(`{"p1":1}`))), 2)

	// A map with many keys.
	m := ofSchema(t, `{"type":"object","additionalProperties":{}}`)
	var free []string
	for i := range 5000 {
		free = append(free, fmt.Sprintf(`"k%d":{"k%d":1}`, i, i))
	}
	is.Equal(lines(m.Value([]byte(`{`+strings.Join(free, ",")+`}`))), nil)
	is.Equal(lines(m.Value([]byte(`{`+strings.Join(free, ",")+`,"k4321":1,"k3":1}`))), []string{
		`k3 duplicate_key: is given twice; leave one "k3" out`, `k4321 duplicate_key: is given twice; leave one "k4321" out`,
	})
}
