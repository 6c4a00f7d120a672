package contracttest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/contracttest"
)

// recorder is a testing.TB that keeps what is reported.
type recorder struct {
	testing.TB
	reports []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.reports = append(r.reports, fmt.Sprint(args...)) }

type greetInput struct {
	Name       string `json:"name" description:"Who to greet" minLength:"1"`
	Salutation string `json:"salutation,omitempty" default:"Hello"`
}

type greetOutput struct {
	Message string `json:"message"`
	Count   int    `json:"count"`
}

var presentation = kernelcontract.Presentation{Pending: "Greeting", Completed: "Greeted", Icon: "hand", Intent: "generic"}

func greet() *kernelcontract.Query[greetInput, greetOutput] {
	return &kernelcontract.Query[greetInput, greetOutput]{
		Ref: "hello-slot/greeter.greet", Summary: "Greet someone by name",
		CLI:        kernelcontract.CLI{Args: []string{"name"}},
		Tool:       &kernelcontract.Tool{Presentation: presentation},
		Examples:   []kernelcontract.Example[greetInput]{{Input: greetInput{Name: "bb"}}},
		RenderText: func(o greetOutput, _ kernelcontract.Render) string { return o.Message },
	}
}

func service(methods ...kernelcontract.Method) *kernelcontract.Service {
	return &kernelcontract.Service{ID: "hello-slot/greeter", Summary: "Greet", Group: []string{"hello"}, Methods: methods}
}

var samples = contracttest.Samples{"greet": greetOutput{Message: "Hello, bb!", Count: 1}}

func TestAWholeServicePasses(t *testing.T) {
	is := is.New(t)
	r := &recorder{}
	contracttest.ExpectDerivedSurfaces(r, service(greet()), samples)
	is.Equal(len(r.reports), 0)
}

// Every shape that an input can have travels through words, query strings and Go types.
func TestEveryShapePasses(t *testing.T) {
	type inner struct {
		A int     `json:"a"`
		B *string `json:"b,omitempty"`
	}
	type tree struct {
		Label string `json:"label"`
		Kids  []tree `json:"kids"`
	}
	type wide struct {
		Text   string                        `json:"text"`
		Choice string                        `json:"choice,omitempty" enum:"a,b" default:"a"`
		I      int                           `json:"i"`
		I8     int8                          `json:"i8"`
		U64    uint64                        `json:"u64"`
		F      float64                       `json:"f"`
		B      bool                          `json:"b"`
		On     *bool                         `json:"on,omitempty" default:"true"`
		P      *int                          `json:"p"`
		N      kernelcontract.Null[string]   `json:"n"`
		At     time.Time                     `json:"at"`
		Long   kernelcontract.Duration       `json:"long"`
		Data   []byte                        `json:"data"`
		List   []string                      `json:"list"`
		Nums   []int                         `json:"nums,omitempty"`
		Map    map[string]string             `json:"map"`
		Counts map[string]int                `json:"counts,omitempty"`
		Inner  inner                         `json:"inner"`
		Inners []inner                       `json:"inners,omitempty"`
		Tree   tree                          `json:"tree"`
		Any    any                           `json:"any"`
		Raw    json.RawMessage               `json:"raw,omitempty"`
		Shape  *kernelcontract.Union[shapes] `json:"shape"`
	}
	is := is.New(t)
	r := &recorder{}
	contracttest.ExpectDerivedSurfaces(r, service(
		&kernelcontract.Query[wide, wide]{Ref: "hello-slot/greeter.read", Summary: "Read"},
		&kernelcontract.Mutation[wide, wide]{Ref: "hello-slot/greeter.apply", Summary: "Apply"},
		&kernelcontract.Stream[wide, wide]{Ref: "hello-slot/greeter.follow", Summary: "Follow", Cursor: func(wide) string { return "1" }},
		&kernelcontract.Query[kernelcontract.None, kernelcontract.Bytes]{Ref: "hello-slot/greeter.file", Summary: "File"},
	), nil)
	is.Equal(strings.Join(r.reports, "\n"), "")
}

type shapes struct {
	Circle *circle `variant:"circle"`
	Square *square `variant:"square"`
}

func (shapes) Discriminator() string { return "kind" }

type circle struct {
	Radius float64 `json:"radius"`
}

type square struct {
	Side int `json:"side"`
}

// lossy drops what it is given.
type lossy struct{ n int }

func (l lossy) MarshalJSON() ([]byte, error)    { return []byte("1"), nil }
func (l *lossy) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &l.n) }
func (lossy) JSONSchemaBytes() ([]byte, error)  { return []byte(`{"type":"integer","minimum":5}`), nil }

// deaf does not read what its schema accepts.
type deaf struct{}

func (deaf) MarshalJSON() ([]byte, error)     { return []byte(`"a"`), nil }
func (*deaf) UnmarshalJSON([]byte) error      { return fmt.Errorf("no") }
func (deaf) JSONSchemaBytes() ([]byte, error) { return []byte(`{"type":"string"}`), nil }

// restless writes something else each time.
type restless struct{ n int }

func (r restless) MarshalJSON() ([]byte, error)    { return json.Marshal(r.n + 1) }
func (r *restless) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &r.n) }
func (restless) JSONSchemaBytes() ([]byte, error)  { return []byte(`{"type":"integer"}`), nil }

func TestProblems(t *testing.T) {
	type chanIn struct {
		C chan int `json:"c"`
	}
	type intIn struct {
		N int `json:"n"`
	}
	type lossyIn struct {
		L lossy `json:"l"`
	}
	type deafIn struct {
		D deaf `json:"d"`
	}
	type restlessIn struct {
		R restless `json:"r"`
	}
	none := func(ref string) *kernelcontract.Query[kernelcontract.None, string] {
		return &kernelcontract.Query[kernelcontract.None, string]{Ref: ref, Summary: "s"}
	}
	long := none("hello-slot/greeter.aVeryLongMethodNameThatMakesTheNameOfItsToolTooLongForModels")
	long.Tool = &kernelcontract.Tool{Presentation: presentation}
	hidden := none("hello-slot/greeter.hidden")
	hidden.Hide = kernelcontract.OnHTTP | kernelcontract.OnSDK | kernelcontract.OnCLI
	tool1, tool2 := none("hello-slot/greeter.one"), none("hello-slot/greeter.two")
	tool1.Tool = &kernelcontract.Tool{Name: "same", Presentation: presentation}
	tool2.Tool = &kernelcontract.Tool{Name: "same", Presentation: presentation}
	alias1, alias2 := none("hello-slot/greeter.one"), none("hello-slot/greeter.two")
	alias1.CLI.FlagAlias = &kernelcontract.FlagAlias{Group: []string{"x"}, Name: "y", Flag: "z"}
	alias2.CLI.FlagAlias = alias1.CLI.FlagAlias
	panics := greet()
	panics.RenderText = func(greetOutput, kernelcontract.Render) string { panic("boom") }
	example := greet()
	example.Examples = []kernelcontract.Example[greetInput]{{Input: greetInput{}}}

	for _, tt := range []struct {
		name    string
		service *kernelcontract.Service
		samples contracttest.Samples
		want    []string // beginnings of the lines
	}{
		{"definition", service(none("hello-slot/greeter.Bad"), none("other/greeter.x")), nil, []string{
			`hello-slot/greeter definition: Methods[0].Ref "hello-slot/greeter.Bad" is not plugin/service.method`,
			`hello-slot/greeter.x definition: Ref "other/greeter.x" belongs to another service`}},
		{"input without a schema", service(&kernelcontract.Query[chanIn, string]{Ref: "hello-slot/greeter.c", Summary: "s"}), nil,
			[]string{"hello-slot/greeter.c schema: input: c: "}},
		{"output without a schema", service(&kernelcontract.Query[intIn, func()]{Ref: "hello-slot/greeter.c", Summary: "s"}), nil,
			[]string{"hello-slot/greeter.c schema: output: "}},
		{"example that does not fit", service(example), samples, []string{"hello-slot/greeter.greet schema: Examples[0]: name: "}},
		{"ambient field that is no string", service(&kernelcontract.Query[intIn, string]{Ref: "hello-slot/greeter.c", Summary: "s",
			Ambient: map[string]kernelcontract.ContextKey{"n": kernelcontract.ThreadID}}), nil,
			[]string{"hello-slot/greeter.c schema: Ambient.n: the context gives a string"}},
		{"RenderText without a sample", service(greet()), nil, []string{"hello-slot/greeter.greet text: it has a RenderText and needs a sample"}},
		{"sample of another type", service(greet()), contracttest.Samples{"greet": 7}, []string{"hello-slot/greeter.greet schema: the sample is a int, not a contracttest_test.greetOutput"}},
		{"sample of no method", service(greet()), contracttest.Samples{"greet": greetOutput{}, "grete": 1}, []string{"hello-slot/greeter.grete text: there is a sample and no such method"}},
		{"RenderText that panics", service(panics), samples, []string{"hello-slot/greeter.greet text: for {Width:0 Color:false TTY:false}: the text form of hello-slot/greeter.greet failed: panic: boom"}},
		{"tool name over 64 characters", service(long), nil, []string{"hello-slot/greeter.aVeryLongMethodNameThatMakesTheNameOfItsToolTooLongForModels tool: the name "}},
		{"two tools with one name", service(tool1, tool2), nil, []string{`hello-slot/greeter.two tool: tool "same" belongs to hello-slot/greeter.one`}},
		{"two flag aliases", service(alias1, alias2), nil, []string{`hello-slot/greeter.two cli: flag "x y --z" belongs to hello-slot/greeter.one`}},
		{"on no surface", service(hidden), nil, []string{"hello-slot/greeter.hidden definition: it is on no surface"}},
		{"Go type that writes what its schema refuses", service(&kernelcontract.Mutation[lossyIn, string]{Ref: "hello-slot/greeter.c", Summary: "s"}), nil,
			[]string{`hello-slot/greeter.c sdk: input: the Go type turns {"l":9007199254740993} into {"l":1}, which does not fit its schema: `}},
		{"Go type that does not read what its schema accepts", service(&kernelcontract.Mutation[deafIn, string]{Ref: "hello-slot/greeter.c", Summary: "s"}), nil,
			[]string{`hello-slot/greeter.c sdk: input: {"d":"say \"hi\", é"} fits the schema and does not decode: no`}},
		{"Go type that changes", service(&kernelcontract.Mutation[restlessIn, string]{Ref: "hello-slot/greeter.c", Summary: "s"}), nil,
			[]string{`hello-slot/greeter.c sdk: input: `}},
		{"every problem at once", service(long, panics, tool1, tool2), samples, []string{
			`hello-slot/greeter.two tool: tool "same" belongs to hello-slot/greeter.one`,
			"hello-slot/greeter.aVery", "hello-slot/greeter.greet text: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			r := &recorder{}
			contracttest.ExpectDerivedSurfaces(r, tt.service, tt.samples)
			is.Equal(len(r.reports), 1) // fails once
			lines := strings.Split(r.reports[0], "\n")[1:]
			if len(lines) != len(tt.want) {
				t.Fatalf("got %d lines:\n%s", len(lines), strings.Join(lines, "\n"))
			}
			for i := range lines {
				if !strings.HasPrefix(lines[i], tt.want[i]) {
					t.Errorf("line %d is %q, want %q…", i, lines[i], tt.want[i])
				}
			}
		})
	}
}

func Example() {
	broken := &kernelcontract.Service{ID: "demo/clock", Summary: "Tell the time", Methods: []kernelcontract.Method{
		&kernelcontract.Query[kernelcontract.None, string]{
			Ref: "demo/clock.now", Summary: "Say what time it is",
			RenderText: func(s string, _ kernelcontract.Render) string { return "It is " + s },
		},
	}}
	for _, p := range contracttest.Check(broken, nil) {
		fmt.Println(p)
	}
	// Output: demo/clock.now text: it has a RenderText and needs a sample
}
