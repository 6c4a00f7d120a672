package typegen_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/sdk/typegen"
)

// document is a manifest with one plugin, whose method has an input and an output.
func document(t testing.TB, input, output, more string) *manifest.Manifest {
	t.Helper()
	raw := `{"format":1,"serverId":"s","generation":1,"problems":[],"plugins":[
	 {"id":"my-shop","version":"1","summary":"","state":"ready","services":[{"id":"my-shop/cart","summary":"Keep a cart","group":[],"aliases":[],"methods":[
	  {"pluginId":"my-shop","service":"cart","method":"put","kind":"mutation","summary":"Put it in","description":"","input":` + input + `,"output":` + output + `,"cli":null,"tool":null,
	   "http":null,"sdk":true,"examples":[],"errors":{"sold_out":{"like":"conflict","description":"None is left"}},"ambient":{},"destructive":true,"blocking":null,"resumable":false,"target":"server","auth":"operator","local":false,"actors":null}` + more + `]}]},
	 {"id":"off","version":"1","summary":"","state":"disabled","services":[]}]}`
	m, err := manifest.Decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const empty = `{"type":"object","additionalProperties":false}`

func TestGoTypes(t *testing.T) {
	for name, c := range map[string]struct{ schema, want string }{
		"string":          {`{"type":"string"}`, "A string `json:\"a\"`"},
		"time":            {`{"type":"string","format":"date-time"}`, "A time.Time `json:\"a\"`"},
		"duration":        {`{"type":"string","format":"duration"}`, "A kernelcontract.Duration `json:\"a\"`"},
		"bytes in base64": {`{"type":"string","contentEncoding":"base64"}`, "A []byte `json:\"a\"`"},
		"integer":         {`{"type":"integer"}`, "A int64 `json:\"a\"`"},
		"large integer":   {`{"type":"integer","minimum":0,"maximum":18446744073709551615}`, "A uint64 `json:\"a\"`"},
		"number":          {`{"type":"number"}`, "A float64 `json:\"a\"`"},
		"boolean":         {`{"type":"boolean"}`, "A bool `json:\"a\"`"},
		"anything":        {`{}`, "A json.RawMessage `json:\"a\"`"},
		"null":            {`{"type":["string","null"]}`, "A *string `json:\"a\"`"},
		"array":           {`{"type":"array","items":{"type":["integer","null"]}}`, "A []*int64 `json:\"a\"`"},
		"map":             {`{"type":"object","additionalProperties":{"type":"number"}}`, "A map[string]float64 `json:\"a\"`"},
		"object":          {`{"type":"object","properties":{"b":{"type":"string"}},"required":["b"],"additionalProperties":false}`, "A MyShopCartPutInputA `json:\"a\"`"},
		"enum":            {`{"enum":["x","y y"]}`, "A MyShopCartPutInputA `json:\"a\"`"},
		"constants":       {`{"oneOf":[{"const":"x"},{"const":"y"}]}`, "A MyShopCartPutInputA `json:\"a\"`"},
		"mixed union":     {`{"oneOf":[{"type":"string"},{"type":"integer"}]}`, "A json.RawMessage `json:\"a\"`"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			m := document(t, `{"type":"object","properties":{"a":`+c.schema+`},"required":["a"],"additionalProperties":false}`, empty, "")
			source, err := typegen.Go(m, typegen.Options{})
			is.NoErr(err)
			if !strings.Contains(oneSpace(string(source)), c.want) {
				t.Errorf("%s\ndoes not have %s", source, c.want)
			}
		})
	}
	t.Run("optional members", func(t *testing.T) {
		is := is.New(t)
		m := document(t, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"string"}},"c":{"type":["integer","null"]},"d":{"type":["boolean","null"],"default":true}},"additionalProperties":false}`, empty, "")
		source, err := typegen.Go(m, typegen.Options{})
		is.NoErr(err)
		for _, want := range []string{"A *string `json:\"a,omitempty\"`", "B []string `json:\"b,omitzero\"`", "C *int64 `json:\"c,omitempty\"`", "D *kernelcontract.Null[bool] `json:\"d,omitempty\"`"} {
			is.True(strings.Contains(oneSpace(string(source)), want)) // want
		}
	})
	t.Run("a union that is told apart", func(t *testing.T) {
		is := is.New(t)
		m := document(t, empty, `{"oneOf":[{"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"],"additionalProperties":false},{"type":"object","properties":{"kind":{"const":"dot"}},"required":["kind"],"additionalProperties":false}],"discriminator":{"propertyName":"kind"}}`, "")
		source, err := typegen.Go(m, typegen.Options{})
		is.NoErr(err)
		for _, want := range []string{"out kernelcontract.Union[MyShopCartPutOutput]", "Circle *MyShopCartPutOutputCircle `variant:\"circle\"`", `func (MyShopCartPutOutput) Discriminator() string { return "kind" }`} {
			is.True(strings.Contains(oneSpace(string(source)), want)) // want
		}
	})
	t.Run("a type that names itself", func(t *testing.T) {
		is := is.New(t)
		m := document(t, empty, `{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["children"],"additionalProperties":false}}}`, "")
		source, err := typegen.Go(m, typegen.Options{})
		is.NoErr(err)
		is.True(strings.Contains(oneSpace(string(source)), "Children []MyShopCartPutTree `json:\"children\"`"))
		ts, err := typegen.TypeScript(m, typegen.Options{})
		is.NoErr(err)
		is.True(strings.Contains(string(ts), "children: Array<"))
	})
}

// oneSpace takes the alignment out of a source.
func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestClients(t *testing.T) {
	input := `{"type":"object","properties":{"name":{"type":"string","description":"What */ it is\u2028// called"}},"required":["name"],"additionalProperties":false}`
	follow := `,{"pluginId":"my-shop","service":"cart","method":"follow","kind":"stream","summary":"Follow","description":"","input":` + empty + `,"output":{"type":"integer"},"cli":null,"tool":null,
	   "http":null,"sdk":true,"examples":[],"errors":{},"ambient":{},"destructive":false,"blocking":null,"resumable":true,"target":"server","auth":"operator","local":false,"actors":null},
	  {"pluginId":"my-shop","service":"cart","method":"hidden","kind":"query","summary":"Hidden","description":"","input":` + empty + `,"output":{},"cli":null,"tool":null,
	   "http":null,"sdk":false,"examples":[],"errors":{},"ambient":{},"destructive":false,"blocking":null,"resumable":false,"target":"server","auth":"operator","local":false,"actors":null}`
	m := document(t, input, `{"type":"string"}`, follow)
	t.Run("Go", func(t *testing.T) {
		is := is.New(t)
		source, err := typegen.Go(m, typegen.Options{Package: "shop"})
		is.NoErr(err)
		for _, want := range []string{
			"package shop", "func NewMyShopCart(caller kernelcontract.Caller) MyShopCart",
			"func (s MyShopCart) Put(ctx context.Context, in MyShopCartPutInput) (out string, err error)",
			`const MyShopCartCodeSoldOut kernelcontract.Code = "sold_out"`, "It is destructive: ask a person first.",
			"func (s MyShopCart) Follow(ctx context.Context, since string) iter.Seq2[kernelcontract.Event[int64], error]",
		} {
			is.True(strings.Contains(oneSpace(string(source)), want)) // want
		}
		is.True(!strings.Contains(string(source), "Hidden"))
	})
	t.Run("TypeScript", func(t *testing.T) {
		is := is.New(t)
		source, err := typegen.TypeScript(m, typegen.Options{})
		is.NoErr(err)
		for _, want := range []string{
			`"my-shop/cart": {`, "put(input: { /** What *\u200b/ it is// called */ name: string; }, options?: CallOptions): Promise<string>;",
			"follow(input?: Record<string, never>, options?: StreamOptions): AsyncIterable<Integer>;",
		} {
			is.True(strings.Contains(oneSpace(string(source)), want)) // want
		}
	})
	t.Run("JavaScript", func(t *testing.T) {
		is := is.New(t)
		source, err := typegen.JavaScript(m, typegen.Options{})
		is.NoErr(err)
		is.True(strings.HasSuffix(string(source), "const methods = {\n  \"my-shop/cart\": {\n    \"put\": \"mutation\",\n    \"follow\": \"resumable\",\n  },\n};\n"))
	})
	t.Run("equal manifests give equal text", func(t *testing.T) {
		is := is.New(t)
		for _, write := range []func(*manifest.Manifest, typegen.Options) ([]byte, error){typegen.Go, typegen.TypeScript, typegen.JavaScript} {
			a, err := write(m, typegen.Options{})
			is.NoErr(err)
			b, err := write(document(t, input, `{"type":"string"}`, follow), typegen.Options{})
			is.NoErr(err)
			is.True(bytes.Equal(a, b))
		}
	})
	t.Run("only some plugins", func(t *testing.T) {
		is := is.New(t)
		_, err := typegen.Go(m, typegen.Options{Plugins: []string{"my-shop"}})
		is.NoErr(err)
		for _, id := range []string{"off", "nobody"} {
			_, err := typegen.TypeScript(m, typegen.Options{Plugins: []string{id}})
			is.True(errors.Is(err, kernelcontract.NotFound))
		}
	})
	t.Run("a package that is no name", func(t *testing.T) {
		for _, name := range []string{"type", "a b", "_", "x.y"} {
			_, err := typegen.Go(m, typegen.Options{Package: name})
			is.New(t).True(errors.Is(err, kernelcontract.InvalidInput))
		}
	})
}

// Whatever a manifest says, what is written is Go, and formatted.
func FuzzGo(f *testing.F) {
	f.Add("Put it in\n//go:embed x", "name", "it`s \"quoted\" */", "x y")
	f.Add("", "type", "\x1b[2J\u202e", "")
	f.Fuzz(func(t *testing.T, summary, property, description, constant string) {
		text := func(s string) string {
			raw, err := json.Marshal(s)
			if err != nil {
				t.Skip()
			}
			return string(raw)
		}
		input := `{"type":"object","description":` + text(description) + `,"properties":{` + text(property) + `:{"description":` + text(description) + `,"enum":[` + text(constant) + `,"b"]}},"additionalProperties":false}`
		raw := `{"format":1,"serverId":"s","generation":1,"problems":[],"plugins":[{"id":"a","version":"1","summary":"","state":"ready","services":[{"id":"a/b","summary":` + text(summary) + `,"group":[],"aliases":[],"methods":[
		  {"pluginId":"a","service":"b","method":"c","kind":"query","summary":` + text(summary) + `,"description":` + text(description) + `,"input":` + input + `,"output":{"type":"string"},"cli":null,"tool":null,
		   "http":null,"sdk":true,"examples":[],"errors":{},"ambient":{},"destructive":false,"blocking":null,"resumable":false,"target":"server","auth":"operator","local":false,"actors":null}]}]}]}`
		m, err := manifest.Decode([]byte(raw))
		if err != nil {
			return
		}
		source, err := typegen.Go(m, typegen.Options{})
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", source, parser.ParseComments)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		if len(file.Decls) < 5 {
			t.Fatalf("declarations are missing\n%s", source)
		}
		if again, err := format.Source(source); err != nil || !bytes.Equal(again, source) {
			t.Fatalf("it is not formatted: %v", err)
		}
		ts, err := typegen.TypeScript(m, typegen.Options{})
		if err != nil || strings.Count(string(ts), "/*") != strings.Count(string(ts), "*/") && !strings.Contains(summary+description+property+constant, "/*") {
			t.Fatalf("a comment is open: %v\n%s", err, ts)
		}
	})
}
