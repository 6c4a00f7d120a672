package docs_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

var update = flag.Bool("update", false, "write the golden files")

type greetInput struct {
	Name       string `json:"name" description:"Who to greet" minLength:"1"`
	Salutation string `json:"salutation,omitempty" default:"Hello" description:"The word before the name"`
}

type greetOutput struct {
	Message string `json:"message"`
	Count   int    `json:"count"`
}

type countInput struct {
	Name string `json:"name"`
}

func greeter() *kernelcontract.Service {
	return &kernelcontract.Service{
		ID: "hello-slot/greeter", Summary: "Greet by name and count greetings", Group: []string{"hello"},
		Methods: []kernelcontract.Method{
			&kernelcontract.Query[greetInput, greetOutput]{
				Ref: "hello-slot/greeter.greet", Summary: "Greet someone by name",
				CLI: kernelcontract.CLI{Args: []string{"name"}},
				Tool: &kernelcontract.Tool{Presentation: kernelcontract.Presentation{
					Pending: "Greeting", Completed: "Greeted", Icon: "hand", Intent: "generic"}},
				Errors:   map[kernelcontract.Code]kernelcontract.ErrorDef{"muted": {Like: kernelcontract.Forbidden}},
				Examples: []kernelcontract.Example[greetInput]{{Input: greetInput{Name: "bb"}, Note: "prints `Hello, bb!` and the counter"}},
			},
			&kernelcontract.Mutation[countInput, greetOutput]{
				Ref: "hello-slot/greeter.count", Summary: "Count a greeting", CLI: kernelcontract.CLI{Args: []string{"name"}},
			},
			&kernelcontract.Query[countInput, greetOutput]{
				Ref: "hello-slot/greeter.hostGreet", Summary: "Greet from a host", CLI: kernelcontract.CLI{Name: "host-greet", Args: []string{"name"}},
				OnHost: true,
			},
		},
	}
}

type wideInput struct {
	Thread string   `json:"thread" description:"The thread"`
	CWD    string   `json:"cwd,omitempty"`
	Level  string   `json:"level,omitempty" enum:"low,high" default:"low"`
	Tags   []string `json:"tags,omitempty"`
	Note   *string  `json:"note"`
}

type wideOutput struct {
	ID    string                      `json:"id" description:"Names it"`
	At    time.Time                   `json:"at"`
	Long  kernelcontract.Duration     `json:"long"`
	Data  []byte                      `json:"data"`
	Maybe kernelcontract.Null[int]    `json:"maybe"`
	Map   map[string]int              `json:"map"`
	Rows  []greetOutput               `json:"rows"`
	Any   any                         `json:"any"`
	Shape kernelcontract.Union[shape] `json:"shape"`
}

type shape struct {
	Circle *circle `variant:"circle"`
	Square *square `variant:"square"`
}

func (shape) Discriminator() string { return "kind" }

type circle struct {
	Radius float64 `json:"radius"`
}

type square struct {
	Side float64 `json:"side"`
}

type removeInput struct {
	ID string `json:"id"`
}

func wide() *kernelcontract.Service {
	return &kernelcontract.Service{
		ID: "wide/all", Summary: "Everything that a reference can say", Aliases: [][]string{{"everything"}},
		Methods: []kernelcontract.Method{
			&kernelcontract.Query[wideInput, wideOutput]{
				Ref: "wide/all.show", Summary: "Show it", Description: "In *detail*.\n\nAnd more.",
				CLI:     kernelcontract.CLI{Args: []string{"thread"}, Aliases: []string{"sh"}, FlagAlias: &kernelcontract.FlagAlias{Group: []string{"other"}, Name: "list", Flag: "all"}},
				Ambient: map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID, "cwd": kernelcontract.CWD},
				Errors: map[kernelcontract.Code]kernelcontract.ErrorDef{
					"b_busy": {Like: kernelcontract.ServiceUnavailable, Retryable: true, Description: "Come back later."},
					"a_lost": {Like: kernelcontract.NotFound},
				},
				Examples: []kernelcontract.Example[wideInput]{
					{Input: wideInput{Thread: "t"}, CLI: "bb all show t --note x"},
					{Input: wideInput{Thread: "t"}},
				},
				Access: kernelcontract.Access{Auth: kernelcontract.AuthMachine, Local: true, Actors: []kernelcontract.ActorKind{kernelcontract.User, kernelcontract.System}},
				Wait:   90500 * time.Millisecond,
			},
			&kernelcontract.Mutation[removeInput, kernelcontract.None]{
				Ref: "wide/all.remove", Summary: "Remove it", CLI: kernelcontract.CLI{Args: []string{"id"}}, Destructive: true,
			},
			&kernelcontract.Stream[removeInput, greetOutput]{
				Ref: "wide/all.follow", Summary: "Follow it", Hide: kernelcontract.OnCLI, Cursor: func(greetOutput) string { return "1" },
				Examples: []kernelcontract.Example[removeInput]{{Input: removeInput{ID: "a"}, Note: "from the first"}},
			},
			&kernelcontract.Query[removeInput, kernelcontract.Bytes]{
				Ref: "wide/all.file", Summary: "Get the file", Hide: kernelcontract.OnCLI | kernelcontract.OnSDK,
			},
			&kernelcontract.Query[kernelcontract.None, []greetOutput]{
				Ref: "wide/all.list", Summary: "List them", CLI: kernelcontract.CLI{Hidden: true},
			},
		},
	}
}

func reference(t *testing.T, s *kernelcontract.Service) docs.ReferenceDoc {
	t.Helper()
	def, err := s.Def()
	if err != nil {
		t.Fatal(err)
	}
	doc := docs.ReferenceDoc{PluginID: def.PluginID, Generation: 7, Services: []docs.ServiceDoc{{ID: def.ID(), Summary: def.Summary}}}
	for _, d := range def.Methods {
		w, err := word.Of(d, def)
		if err != nil {
			t.Fatal(err)
		}
		m, err := docs.Of(d, w)
		if err != nil {
			t.Fatal(err)
		}
		doc.Services[0].Methods = append(doc.Services[0].Methods, m)
	}
	return doc
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed; if that is right, run with -update. Got:\n%s", path, got)
	}
}

func TestRenderReferenceGolden(t *testing.T) {
	golden(t, "hello-slot.md", docs.RenderReference(reference(t, greeter())))
	golden(t, "wide.md", docs.RenderReference(reference(t, wide())))
}

// The block that was agreed on for hello-slot, line by line and in order.
func TestReferenceHasTheAgreedLinesInOrder(t *testing.T) {
	want := strings.Split("## hello-slot/greeter — Greet by name and count greetings\n"+
		"### bb hello greet  (query, tool: hello_slot_greeter_greet)\n"+
		"Greet someone by name\n"+
		"Answers on every surface: HTTP, SDK, CLI (`bb hello greet <name>`), and the agent tool.\n"+
		"Usage: bb hello greet <name> [--salutation <string>]\n"+
		"Flags: <name>   Who to greet\n"+
		"       --salutation <string>   The word before the name (default: Hello)\n"+
		"HTTP: GET /api/v1/hello-slot/greeter/greet\n"+
		"Output: object\n"+
		"Examples: bb hello greet bb  # prints `Hello, bb!` and the counter", "\n")
	raw, err := os.ReadFile(filepath.Join("testdata", "hello-slot.md"))
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.SplitSeq(string(raw), "\n") {
		if len(want) > 0 && l == want[0] {
			want = want[1:]
		}
	}
	if len(want) > 0 {
		t.Errorf("the golden file lacks, at its place: %q", want[0])
	}
}

func TestReferenceStripsControlSequences(t *testing.T) {
	is := is.New(t)
	doc := docs.ReferenceDoc{Services: []docs.ServiceDoc{{ID: "a/b", Summary: "x\x1b]52;c;ZXZpbA==\x07y"}}}
	is.Equal(docs.RenderReference(doc), "## a/b — xy\n")
}

func TestSkillReferenceGolden(t *testing.T) {
	methods := append(reference(t, wide()).Services[0].Methods, reference(t, greeter()).Services[0].Methods...)
	golden(t, "skill.md", docs.SkillReference(methods, docs.SkillOptions{}))
	golden(t, "skill-tools.md", docs.SkillReference(methods, docs.SkillOptions{
		ActiveTools: []string{"hello_slot_greeter_greet"}, DisabledPlugins: []string{"wide"},
	}))
}

func TestMethodDocJSON(t *testing.T) {
	doc := reference(t, wide())
	t.Run("every member is written", func(t *testing.T) {
		is := is.New(t)
		raw, err := json.Marshal(doc.Services[0].Methods[4])
		is.NoErr(err)
		var members map[string]json.RawMessage
		is.NoErr(json.Unmarshal(raw, &members))
		for _, name := range []string{"pluginId", "service", "method", "kind", "summary", "description", "input", "output", "cli", "tool", "http",
			"sdk", "examples", "errors", "ambient", "destructive", "blocking", "resumable", "target", "auth", "local", "actors"} {
			is.True(members[name] != nil) // present, null or not
			delete(members, name)
		}
		is.Equal(len(members), 0)
	})
	t.Run("null and empty", func(t *testing.T) {
		is := is.New(t)
		raw, err := json.Marshal(doc.Services[0].Methods[2])
		is.NoErr(err)
		var m map[string]any
		is.NoErr(json.Unmarshal(raw, &m))
		for _, name := range []string{"cli", "tool", "blocking", "actors"} {
			is.Equal(m[name], nil)
		}
		is.Equal(m["errors"], map[string]any{})
		is.Equal(m["ambient"], map[string]any{})
		is.True(!strings.Contains(string(raw), `\u003c`))
	})
	t.Run("round trip", func(t *testing.T) {
		is := is.New(t)
		first, err := json.Marshal(doc)
		is.NoErr(err)
		var back docs.ReferenceDoc
		is.NoErr(json.Unmarshal(first, &back))
		second, err := json.Marshal(back)
		is.NoErr(err)
		is.Equal(string(first), string(second))
		is.Equal(docs.RenderReference(back), docs.RenderReference(doc))
	})
}

func TestMethodDocFields(t *testing.T) {
	methods := reference(t, wide()).Services[0].Methods
	show, remove, follow, file := methods[0], methods[1], methods[2], methods[3]
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"ref", show.Ref(), "wide/all.show"},
		{"blocking as declared", *show.Blocking, docs.Blocking{MaxMs: 90500}},
		{"auth", show.Auth, kernelcontract.AuthMachine},
		{"local", show.Local, true},
		{"actors", fmt.Sprint(show.Actors), "[user system]"},
		{"every actor is nil", remove.Actors == nil, true},
		{"auth is filled", remove.Auth, kernelcontract.AuthOperator},
		{"destructive", remove.Destructive, true},
		{"mutations are POST", *remove.HTTP, docs.HTTPDoc{Verb: "POST", Path: "/api/v1/wide/all/remove"}},
		{"streams are GET", *follow.HTTP, docs.HTTPDoc{Verb: "GET", Path: "/api/v1/wide/all/follow"}},
		{"resumable", follow.Resumable, true},
		{"no word", follow.CLI == nil, true},
		{"no sdk", file.SDK, false},
		{"sdk", follow.SDK, true},
		{"target", show.Target, kernelcontract.OnServer},
	} {
		t.Run(tt.name, func(t *testing.T) { is.New(t).Equal(tt.got, tt.want) })
	}
	t.Run("all four actors are null", func(t *testing.T) {
		is := is.New(t)
		s := &kernelcontract.Service{ID: "a/b", Summary: "s", Methods: []kernelcontract.Method{&kernelcontract.Query[kernelcontract.None, kernelcontract.None]{
			Ref: "a/b.c", Summary: "s",
			Access: kernelcontract.Access{Actors: []kernelcontract.ActorKind{kernelcontract.System, kernelcontract.Plugin, kernelcontract.Agent, kernelcontract.User}},
		}}}
		is.True(reference(t, s).Services[0].Methods[0].Actors == nil)
	})
	t.Run("a type without a schema", func(t *testing.T) {
		is := is.New(t)
		s := &kernelcontract.Service{ID: "a/b", Summary: "s", Methods: []kernelcontract.Method{&kernelcontract.Query[kernelcontract.None, chan int]{Ref: "a/b.c", Summary: "s"}}}
		def, err := s.Def()
		is.NoErr(err)
		_, err = docs.Of(def.Methods[0], nil)
		is.True(err != nil)
		is.True(strings.HasPrefix(err.Error(), "a/b.c: output: "))
	})
}

func ExampleRenderReference() {
	s := &kernelcontract.Service{ID: "demo/clock", Summary: "Tell the time", Methods: []kernelcontract.Method{
		&kernelcontract.Query[kernelcontract.None, string]{Ref: "demo/clock.now", Summary: "Say what time it is"},
	}}
	def, err := s.Def()
	if err != nil {
		panic(err)
	}
	w, err := word.Of(def.Methods[0], def)
	if err != nil {
		panic(err)
	}
	doc, err := docs.Of(def.Methods[0], w)
	if err != nil {
		panic(err)
	}
	fmt.Print(docs.RenderReference(docs.ReferenceDoc{PluginID: "demo", Services: []docs.ServiceDoc{
		{ID: def.ID(), Summary: def.Summary, Methods: []docs.MethodDoc{doc}},
	}}))
	// Output:
	// ## demo/clock — Tell the time
	// ### bb clock now  (query)
	// Say what time it is
	// Answers on HTTP, SDK and CLI (`bb clock now`).
	// Usage: bb clock now
	// HTTP: GET /api/v1/demo/clock/now
	// Output: string
}
