package route_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/route"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// everyShape has one property of every shape that a parameter can have.
var everyShape = &schema.Schema{Type: schema.Object, Strict: true,
	Properties: []schema.Property{
		{Name: "text", Schema: &schema.Schema{Type: schema.String}},
		{Name: "count", Schema: &schema.Schema{Type: schema.Integer}},
		{Name: "ratio", Schema: &schema.Schema{Type: schema.Number}},
		{Name: "deep", Schema: &schema.Schema{Type: schema.Boolean}},
		{Name: "tags", Schema: &schema.Schema{Type: schema.Array, Items: &schema.Schema{Type: schema.String}}},
		{Name: "sizes", Schema: &schema.Schema{Type: schema.Array, Items: &schema.Schema{Type: schema.Integer, Nullable: true}}},
		{Name: "maybeText", Schema: &schema.Schema{Type: schema.String, Nullable: true}},
		{Name: "maybeCount", Schema: &schema.Schema{Type: schema.Integer, Nullable: true}},
		{Name: "maybeTags", Schema: &schema.Schema{Type: schema.Array, Nullable: true, Items: &schema.Schema{Type: schema.String}}},
		{Name: "filter", Schema: &schema.Schema{Ref: "Filter"}},
		{Name: "filters", Schema: &schema.Schema{Type: schema.Array, Items: &schema.Schema{Ref: "Filter"}}},
		{Name: "grid", Schema: &schema.Schema{Type: schema.Array, Items: &schema.Schema{Type: schema.Array, Items: &schema.Schema{Type: schema.Integer}}}},
		{Name: "shape", Schema: &schema.Schema{Discriminator: "kind", OneOf: []*schema.Schema{{Type: schema.Object}}}},
		{Name: "mixed", Schema: &schema.Schema{OneOf: []*schema.Schema{{Type: schema.String}, {Type: schema.Integer}}}},
		{Name: "any", Schema: &schema.Schema{}},
		{Name: "level", Schema: &schema.Schema{Type: schema.String, Enum: []json.RawMessage{[]byte(`"low"`), []byte(`"high"`)}}},
	},
	Defs: []schema.Def{{Name: "Filter", Schema: &schema.Schema{Type: schema.Object, Properties: []schema.Property{{Name: "a", Schema: &schema.Schema{Type: schema.Integer}}}}}},
}

// withTransportNames has fields that are named as transport parameters are.
var withTransportNames = &schema.Schema{Type: schema.Object, Properties: []schema.Property{
	{Name: "raw", Schema: &schema.Schema{Type: schema.Boolean}},
	{Name: "since", Schema: &schema.Schema{Type: schema.String}},
}}

func TestPathAndVerb(t *testing.T) {
	is := is.New(t)
	d := &kernelcontract.MethodDef{PluginID: "hello-slot", Service: "greeter", Method: "hostGreet"}
	is.Equal(route.Path(d), "/api/v1/hello-slot/greeter/hostGreet")
	d.Path = "/internal/uploads"
	is.Equal(route.Path(d), "/internal/uploads")
	is.Equal(route.Verb(kernelcontract.KindQuery), "GET")
	is.Equal(route.Verb(kernelcontract.KindStream), "GET")
	is.Equal(route.Verb(kernelcontract.KindMutation), "POST")
	is.Equal(route.Verb(kernelcontract.KindCustom), "")
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		want       []string
	}{
		{"a method", "/api/v1/hello-slot/greeter/hostGreet", []string{"hello-slot", "greeter", "hostGreet"}},
		{"digits", "/api/v1/p2/s-3/m4B", []string{"p2", "s-3", "m4B"}},
		{"trailing slash", "/api/v1/p/s/m/", nil},
		{"escaped slash", "/api/v1/p/s%2fm", nil},
		{"escaped slash inside a name", "/api/v1/p/s/m%2f", nil},
		{"escaped letter", "/api/v1/p/s/%6d", nil},
		{"double slash", "/api/v1//p/s/m", nil},
		{"double slash before the prefix", "//api/v1/p/s/m", nil},
		{"dot segment", "/api/v1/p/./m", nil},
		{"two dots", "/api/v1/p/x/../s/m", nil},
		{"too few", "/api/v1/p/s", nil},
		{"too many", "/api/v1/p/s/m/x", nil},
		{"empty names", "/api/v1///", nil},
		{"other case of a plugin", "/api/v1/P/s/m", nil},
		{"other case of the prefix", "/API/v1/p/s/m", nil},
		{"method in kebab case", "/api/v1/p/s/host-greet", nil},
		{"leading digit", "/api/v1/1p/s/m", nil},
		{"leading capital", "/api/v1/p/s/Greet", nil},
		{"underscore", "/api/v1/p_q/s/m", nil},
		{"other prefix", "/internal/p/s/m", nil},
		{"empty", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			p, s, m, ok := route.Match(tt.path)
			is.Equal(ok, tt.want != nil)
			if ok {
				is.Equal([]string{p, s, m}, tt.want)
			}
		})
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	is := is.New(t)
	is.Equal(testing.AllocsPerRun(100, func() { route.Match("/api/v1/hello-slot/greeter/greet") }), 0.0)
}

func TestDecode(t *testing.T) {
	const q, m, s = kernelcontract.KindQuery, kernelcontract.KindMutation, kernelcontract.KindStream
	for _, tt := range []struct {
		name  string
		in    *schema.Schema
		kind  kernelcontract.Kind
		query string
		want  string
	}{
		{"nothing", everyShape, q, "", `{}`},
		{"string", everyShape, q, "text=a+b%21", `{"text":"a b!"}`},
		{"empty string", everyShape, q, "text=", `{"text":""}`},
		{"no equals sign", everyShape, q, "text", `{"text":""}`},
		{"string null is a word", everyShape, q, "text=null&maybeText=null", `{"text":"null","maybeText":"null"}`},
		{"string of any bytes in UTF-8", everyShape, q, "text=%22%5C%0A%00%C3%A9%E2%80%A8", "{\"text\":\"\\\"\\\\\\u000a\\u0000é\u2028\"}"},
		{"equals sign in a value", everyShape, q, "text=a=b", `{"text":"a=b"}`},
		{"semicolon is no separator", everyShape, q, "text=a;b", `{"text":"a;b"}`},
		{"empty segments", everyShape, q, "&text=a&&", `{"text":"a"}`},
		{"integer beyond float64", everyShape, q, "count=9007199254740993", `{"count":9007199254740993}`},
		{"negative integer", everyShape, q, "count=-5", `{"count":-5}`},
		{"number", everyShape, q, "ratio=-0.5e%2B3", `{"ratio":-0.5e+3}`},
		{"booleans as words", everyShape, q, "deep=true", `{"deep":true}`},
		{"booleans as digits", everyShape, q, "deep=0", `{"deep":false}`},
		{"repeated", everyShape, q, "tags=a&text=x&tags=b", `{"text":"x","tags":["a","b"]}`},
		{"one item", everyShape, q, "tags=", `{"tags":[""]}`},
		{"null among items", everyShape, q, "sizes=1&sizes=null", `{"sizes":[1,null]}`},
		{"nullable integer", everyShape, q, "maybeCount=null", `{"maybeCount":null}`},
		{"nullable list", everyShape, q, "maybeTags=null", `{"maybeTags":null}`},
		{"nullable list of two words", everyShape, q, "maybeTags=null&maybeTags=null", `{"maybeTags":["null","null"]}`},
		{"object as JSON", everyShape, q, "filter=%7B%22a%22:1%7D", `{"filter":{"a":1}}`},
		{"list of objects", everyShape, q, "filters=%7B%22a%22:1%7D&filters=%7B%7D", `{"filters":[{"a":1},{}]}`},
		{"list of lists", everyShape, q, "grid=%5B1%5D&grid=%5B%5D", `{"grid":[[1],[]]}`},
		{"union as JSON", everyShape, q, `shape={"kind":"a"}`, `{"shape":{"kind":"a"}}`},
		{"mixed union as JSON", everyShape, q, `mixed="a"`, `{"mixed":"a"}`},
		{"anything as JSON", everyShape, q, `any=[1]`, `{"any":[1]}`},
		{"schema order", everyShape, q, "level=low&text=a", `{"text":"a","level":"low"}`},
		{"whole input", everyShape, q, `$input={"tags":[]}`, `{"tags":[]}`},
		{"whole input, escaped name", everyShape, q, `%24input=%7B%7D`, `{}`},
		{"whole input beside the transport", everyShape, q, `$input={}&$raw=1`, `{}`},
		{"field named as the transport", withTransportNames, q, "raw=1&since=x", `{"raw":true,"since":"x"}`},
		{"field and transport", withTransportNames, s, "since=x&$since=y", `{"since":"x"}`},
		{"mutation", everyShape, m, "$raw=1", `{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			got, _, issues := route.Decode(tt.in, tt.kind, tt.query)
			is.Equal(len(issues), 0)
			is.Equal(string(got), tt.want)
			is.True(json.Valid(got))
		})
	}
}

func TestDecodeTransport(t *testing.T) {
	const q, m, s = kernelcontract.KindQuery, kernelcontract.KindMutation, kernelcontract.KindStream
	for _, tt := range []struct {
		name  string
		in    *schema.Schema
		kind  kernelcontract.Kind
		query string
		want  route.Transport
	}{
		{"raw", everyShape, q, "$raw=1", route.Transport{Raw: true}},
		{"raw without the dollar sign", everyShape, q, "raw=1", route.Transport{Raw: true}},
		{"raw of a mutation", everyShape, m, "raw=true", route.Transport{Raw: true}},
		{"not raw", everyShape, q, "$raw=0", route.Transport{}},
		{"since", everyShape, s, "$since=0", route.Transport{Since: "0"}},
		{"since without the dollar sign", everyShape, s, "since=a%20b", route.Transport{Since: "a b"}},
		{"empty since", everyShape, s, "since=", route.Transport{}},
		{"a field of that name wins", withTransportNames, s, "since=x", route.Transport{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			_, got, issues := route.Decode(tt.in, tt.kind, tt.query)
			is.Equal(len(issues), 0)
			is.Equal(got, tt.want)
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	const q, m, s = kernelcontract.KindQuery, kernelcontract.KindMutation, kernelcontract.KindStream
	type want []string // "path code"
	for _, tt := range []struct {
		name  string
		kind  kernelcontract.Kind
		query string
		want  want
	}{
		{"unknown key", q, "nme=x", want{"nme unrecognized_key"}},
		{"unknown keys once each, sorted, first", q, "z=1&count=x&b=1&z=2", want{"b unrecognized_key", "z unrecognized_key", "count invalid_type"}},
		{"unknown key of a stream", s, "x=1", want{"x unrecognized_key"}},
		{"unknown key of a mutation", m, "x=1", want{"x unrecognized_key"}},
		{"a mutation's field", m, "text=1", want{"text unrecognized_key"}},
		{"a mutation's whole input", m, "$input={}", want{"$input unrecognized_key"}},
		{"since of a query", q, "$since=1", want{"$since unrecognized_key"}},
		{"raw of a stream", s, "$raw=1", want{"$raw unrecognized_key"}},
		{"other case", q, "Text=x", want{"Text unrecognized_key"}},
		{"repeated scalar", q, "text=a&text=b", want{"text duplicate_key"}},
		{"repeated whole input", q, "$input={}&$input={}", want{"$input duplicate_key"}},
		{"repeated transport", q, "raw=1&$raw=1", want{"$raw duplicate_key"}},
		{"whole input beside a field", q, "$input={}&text=a", want{"$input invalid_value"}},
		{"whole input is a list", q, "$input=[]", want{"$input invalid_type"}},
		{"whole input is empty", q, "$input=", want{"$input invalid_json"}},
		{"whole input has trailing bytes", q, "$input={}x", want{"$input invalid_json"}},
		{"plus sign", q, "count=%2B5", want{"count invalid_type"}},
		{"leading zero", q, "count=05", want{"count invalid_type"}},
		{"decimals of an integer", q, "count=1.0", want{"count invalid_type"}},
		{"exponent of an integer", q, "count=1e3", want{"count invalid_type"}},
		{"hexadecimal", q, "count=0x10", want{"count invalid_type"}},
		{"empty integer", q, "count=", want{"count invalid_type"}},
		{"space around an integer", q, "count=+5", want{"count invalid_type"}},
		{"not a number", q, "ratio=NaN", want{"ratio invalid_type"}},
		{"number without digits", q, "ratio=1.", want{"ratio invalid_type"}},
		{"exponent without digits", q, "ratio=1e", want{"ratio invalid_type"}},
		{"other boolean", q, "deep=yes", want{"deep invalid_type"}},
		{"capital boolean", q, "deep=True", want{"deep invalid_type"}},
		{"null of what is not nullable", q, "count=null", want{"count invalid_type"}},
		{"object is not JSON", q, "filter=x", want{"filter invalid_json"}},
		{"two JSON values", q, `any=1,"text":2`, want{"any invalid_json"}},
		{"item", q, "sizes=1&sizes=x", want{"sizes.1 invalid_type"}},
		{"schema order", q, "deep=x&ratio=x", want{"ratio invalid_type", "deep invalid_type"}},
		{"broken escape in a value", q, "text=%zz", want{"text invalid_format"}},
		{"cut escape", q, "text=%4", want{"text invalid_format"}},
		{"broken escape in a name", q, "te%xt=1", want{"te%xt invalid_format"}},
		{"invalid UTF-8", q, "text=%ff", want{"text invalid_format"}},
		{"invalid UTF-8 unescaped", q, "text=\xff", want{"text invalid_format"}},
		{"raw is no boolean", q, "$raw=yes", want{"$raw invalid_type"}},
		{"cursor with a control character", s, "since=%0a", want{"since invalid_format"}},
		{"cursor too long", s, "since=" + strings.Repeat("x", 257), want{"since invalid_format"}},
		{"too long", q, "text=" + strings.Repeat("x", route.MaxURL), want{" too_big"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			got, _, issues := route.Decode(everyShape, tt.kind, tt.query)
			is.Equal(got, nil)
			var seen want
			for _, i := range issues {
				var path []string
				for _, p := range i.Path {
					switch p := p.(type) {
					case string:
						path = append(path, p)
					case int:
						path = append(path, string(rune('0'+p)))
					}
				}
				seen = append(seen, strings.Join(path, ".")+" "+string(i.Code))
				is.True(i.Message != "")
			}
			is.Equal(seen, tt.want)
		})
	}
}

func TestEncode(t *testing.T) {
	for _, tt := range []struct{ name, input, want string }{
		{"nothing", ``, ``},
		{"empty object", ` {} `, ``},
		{"given order", `{"count":3,"text":"a b"}`, `count=3&text=a+b`},
		{"repeated", `{"tags":["a",""]}`, `tags=a&tags=`},
		{"booleans and numbers", `{"deep":true,"ratio":1e400}`, `deep=true&ratio=1e400`},
		{"null", `{"maybeCount":null,"maybeTags":null}`, `maybeCount=null&maybeTags=null`},
		{"compact JSON", `{"filter":{ "a" : 1 }}`, `filter=%7B%22a%22%3A1%7D`},
		{"mixed union", `{"mixed":"a"}`, `mixed=%22a%22`},
		{"whole: empty list", `{"tags":[]}`, `$input=%7B%22tags%22%3A%5B%5D%7D`},
		{"whole: null string", `{"maybeText":null}`, `$input=%7B%22maybeText%22%3Anull%7D`},
		{"whole: one word null in a nullable list", `{"maybeTags":["null"]}`, `$input=%7B%22maybeTags%22%3A%5B%22null%22%5D%7D`},
		{"whole: unknown key", `{"nme":"a"}`, `$input=%7B%22nme%22%3A%22a%22%7D`},
		{"whole: duplicate key", `{"count":1,"count":2}`, `$input=%7B%22count%22%3A1%2C%22count%22%3A2%7D`},
		{"whole: integer in another form", `{"count":1e3}`, `$input=%7B%22count%22%3A1e3%7D`},
		{"whole: another type", `{"text":5}`, `$input=%7B%22text%22%3A5%7D`},
		{"whole: half a surrogate pair", `{"text":"\ud800"}`, `$input=%7B%22text%22%3A%22%5Cud800%22%7D`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			got, err := route.Encode(everyShape, json.RawMessage(tt.input))
			is.NoErr(err)
			is.Equal(got, tt.want)
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, tt := range []struct{ name, input string }{
		{"list", `[]`},
		{"null", `null`},
		{"not JSON", `{`},
		{"trailing bytes", `{} {}`},
		{"not UTF-8", "{\"\xa8\":[]}"},
		{"too long", `{"text":"` + strings.Repeat("x", route.MaxURL) + `"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			_, err := route.Encode(everyShape, json.RawMessage(tt.input))
			is.True(err != nil)
		})
	}
}

// sameJSON compares two JSON texts with numbers as they are written.
func sameJSON(a, b []byte) bool {
	decode := func(raw []byte) any {
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil {
			return nil
		}
		return v
	}
	return reflect.DeepEqual(decode(a), decode(b))
}

func FuzzDecode(f *testing.F) {
	for _, q := range []string{"text=a&count=1", "tags=a&tags=b", "$input={}", "filter={}&any=[1]", "text=%zz", "since=x&raw=1", "sizes=null"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, kind := range []kernelcontract.Kind{kernelcontract.KindQuery, kernelcontract.KindMutation, kernelcontract.KindStream} {
			got, _, issues := route.Decode(everyShape, kind, query)
			if (len(issues) == 0) != (got != nil) {
				t.Fatalf("%s %q: input %q with issues %v", kind, query, got, issues)
			}
			more := route.Issues(everyShape, kind, query, func(input json.RawMessage) []schema.Issue {
				if !json.Valid(input) || input[0] != '{' && input[0] > ' ' {
					t.Fatalf("%s %q: %q is checked", kind, query, input)
				}
				return nil
			})
			if len(more) != len(issues) {
				t.Fatalf("%s %q: %d issues became %d", kind, query, len(issues), len(more))
			}
			var object map[string]json.RawMessage
			if got != nil && json.Unmarshal(got, &object) != nil {
				t.Fatalf("%s %q: input %q is no object", kind, query, got)
			}
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	for _, in := range []string{`{"text":"a","count":9007199254740993}`, `{"tags":["null"],"maybeTags":["null"]}`, `{"any":{"a":[1,null]},"mixed":"x"}`, `{"text":"\ud800"}`, `{"sizes":[null]}`} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, input string) {
		query, err := route.Encode(everyShape, json.RawMessage(input))
		if err != nil {
			return
		}
		if strings.TrimSpace(input) == "" {
			input = "{}"
		}
		got, _, issues := route.Decode(everyShape, kernelcontract.KindQuery, query)
		if len(issues) > 0 {
			t.Fatalf("%q as %q: %v", input, query, issues)
		}
		if !sameJSON(got, []byte(input)) {
			t.Fatalf("%q as %q came back as %q", input, query, got)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		route.Decode(everyShape, kernelcontract.KindQuery, "text=hello&count=42&deep=true")
	}
}

func BenchmarkMatch(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		route.Match("/api/v1/hello-slot/greeter/greet")
	}
}
