package kernelcontract_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	kc "github.com/bb-kernel/bb/kernelcontract"
)

type noteInput struct {
	ID    string   `json:"id"`
	Text  string   `json:"text,omitempty"`
	Loud  bool     `json:"loud,omitempty"`
	Quiet *bool    `json:"quiet,omitempty"`
	On    *bool    `json:"on,omitempty" default:"true"`
	Tags  []string `json:"tags,omitempty"`
}

type noteOutput struct {
	ID string `json:"id"`
}

var presentation = kc.Presentation{Pending: "Noting", Completed: "Noted", Icon: "pen", Intent: "generic"}

// note is a query that is right; tests break one thing each.
func note(change func(*kc.Query[noteInput, noteOutput])) *kc.Query[noteInput, noteOutput] {
	m := &kc.Query[noteInput, noteOutput]{Ref: "demo/notes.get", Summary: "Get a note"}
	if change != nil {
		change(m)
	}
	return m
}

func notes(methods ...kc.Method) *kc.Service {
	return &kc.Service{ID: "demo/notes", Summary: "Keep notes", Methods: methods}
}

// problemsOf returns the lines of a service's problems.
func problemsOf(t *testing.T, s *kc.Service) []string {
	t.Helper()
	def, err := s.Def()
	if err == nil {
		return nil
	}
	if def != nil {
		t.Error("a broken service has a ServiceDef")
	}
	var de *kc.DefinitionError
	if !errors.As(err, &de) {
		t.Fatalf("%T is not a *DefinitionError", err)
	}
	if de.Error() != err.Error() || len(de.Problems) == 0 {
		t.Errorf("problems are missing in %q", err)
	}
	return strings.Split(err.Error(), "\n")
}

func TestDefinitionRules(t *testing.T) {
	type q = kc.Query[noteInput, noteOutput]
	one := func(change func(*q)) *kc.Service { return notes(note(change)) }
	other := func(ref string) *kc.Query[noteInput, noteOutput] { return note(func(m *q) { m.Ref = ref }) }
	type badJSON struct {
		NoTag int
		Bad   int `json:"Bad_Name"`
	}
	type clash struct {
		UserID string `json:"userID"`
		UserId string `json:"userId"` //nolint:revive // two names with one flag
	}
	type noClash struct {
		X   *bool  `json:"x,omitempty" default:"true"`
		NoX string `json:"noX,omitempty"`
	}
	var unset *q
	for _, tt := range []struct {
		name    string
		service *kc.Service
		want    []string // beginnings of the lines; none: it is right
	}{
		{"right", one(nil), nil},
		{"service id", &kc.Service{ID: "Demo/notes", Summary: "s", Methods: []kc.Method{other("demo/notes.get")}},
			[]string{`Demo/notes ID: "Demo/notes" is not plugin/service`, `Demo/notes.get Ref: "demo/notes.get" belongs to another service`}},
		{"service summary", &kc.Service{ID: "demo/notes", Methods: []kc.Method{note(nil)}}, []string{"demo/notes Summary: is required"}},
		{"service without methods", notes(), []string{"demo/notes Methods: lists no method"}},
		{"service group levels", &kc.Service{ID: "demo/notes", Summary: "s", Group: []string{"a", "b", "c"}, Methods: []kc.Method{note(nil)}}, []string{"demo/notes Group: has 3 levels, at most 2"}},
		{"service group word", &kc.Service{ID: "demo/notes", Summary: "s", Group: []string{"Not A Word"}, Methods: []kc.Method{note(nil)}}, []string{"demo/notes Group: "}},
		{"service alias", &kc.Service{ID: "demo/notes", Summary: "s", Aliases: [][]string{{}, {"-x"}}, Methods: []kc.Method{note(nil)}},
			[]string{"demo/notes Aliases[0]: names no group", "demo/notes Aliases[1]: "}},
		{"nil method", notes(nil, note(nil)), []string{"demo/notes Methods[0]: is nil"}},
		{"unset method variable", notes(unset), []string{"demo/notes Methods[0]: is nil"}},
		{"ref that is none", notes(other("demo-notes-get")), []string{`demo/notes Methods[0].Ref: "demo-notes-get" is not plugin/service.method`}},
		{"method with a capital", notes(other("demo/notes.Get")), []string{`demo/notes Methods[0].Ref: `}},
		{"problems beside a ref that is none", notes(note(func(m *q) { m.Ref, m.Summary = "x", "" })), []string{"demo/notes Methods[0].Ref: ", "demo/notes Methods[0].Summary: is required"}},
		{"two refs that are none", notes(other("x"), other("y")), []string{"demo/notes Methods[0].Ref: ", "demo/notes Methods[1].Ref: "}},
		{"ref of another service", notes(other("demo/other.get")), []string{`demo/notes.get Ref: "demo/other.get" belongs to another service than demo/notes`}},
		{"method twice", notes(other("demo/notes.get"), other("demo/notes.get")), []string{"demo/notes.get Ref: names a method that the service has already"}},
		{"summary", one(func(m *q) { m.Summary = " " }), []string{"demo/notes.get Summary: is required"}},
		{"summary of two lines", one(func(m *q) { m.Summary = "a\nb" }), []string{"demo/notes.get Summary: must be one line"}},
		{"input that is no struct", notes(&kc.Query[string, noteOutput]{Ref: "demo/notes.get", Summary: "s"}), []string{"demo/notes.get input: "}},
		{"input fields", notes(&kc.Query[badJSON, noteOutput]{Ref: "demo/notes.get", Summary: "s"}),
			[]string{"demo/notes.get input.NoTag: ", "demo/notes.get input.Bad_Name: "}},
		{"unknown auth", one(func(m *q) { m.Access.Auth = "root" }), []string{`demo/notes.get Access.Auth: "root" is not`}},
		{"unknown actor", one(func(m *q) { m.Access.Actors = []kc.ActorKind{"robot"} }), []string{`demo/notes.get Access.Actors: "robot" is not`}},
		{"negative wait", one(func(m *q) { m.Wait = -time.Second }), []string{"demo/notes.get Wait: must not be negative"}},
		{"raw endpoint of a plugin", notes(&kc.Custom[int]{Ref: "demo/notes.raw", Summary: "s", Path: "/internal/x"}), []string{"demo/notes.raw Path: only the kernel's services"}},
		{"raw endpoint elsewhere", &kc.Service{ID: "kernel/x", Summary: "s", Methods: []kc.Method{&kc.Custom[int]{Ref: "kernel/x.raw", Summary: "s", Path: "/api/x"}}},
			[]string{`kernel/x.raw Path: "/api/x" must begin with /internal/ or /local/`}},
		{"raw endpoint of the kernel", &kc.Service{ID: "kernel/x", Summary: "s", Methods: []kc.Method{&kc.Custom[int]{Ref: "kernel/x.raw", Summary: "s", Path: "/local/x"}}}, nil},

		{"word", one(func(m *q) { m.CLI.Name = "Get It" }), []string{"demo/notes.get CLI.Name: "}},
		{"alias that is no word", one(func(m *q) { m.CLI.Aliases = []string{"--g"} }), []string{"demo/notes.get CLI.Aliases: "}},
		{"alias twice", one(func(m *q) { m.CLI.Aliases = []string{"g", "g"} }), []string{`demo/notes.get CLI.Aliases: "g" is named twice`}},
		{"alias like its own word", one(func(m *q) { m.CLI.Aliases = []string{"get"} }), []string{`demo/notes.get CLI.Aliases: "get" is named twice`}},
		{"word of another method", notes(note(nil), note(func(m *q) { m.Ref, m.CLI.Name = "demo/notes.show", "get" })), []string{`demo/notes.show CLI: the word "notes get" is taken by the method get`}},
		{"alias of another method", notes(note(func(m *q) { m.CLI.Aliases = []string{"show"} }), other("demo/notes.show")), []string{`demo/notes.show CLI: the word "notes show" is taken by the method get`}},
		{"word in a group of its own", notes(note(nil), note(func(m *q) { m.Ref, m.CLI = "demo/notes.show", kc.CLI{Name: "get", Group: []string{"else"}} })), nil},
		{"word in the service's group by its own", notes(note(nil), note(func(m *q) { m.Ref, m.CLI = "demo/notes.show", kc.CLI{Name: "get", Group: []string{"notes"}} })),
			[]string{`demo/notes.show CLI: the word "notes get" is taken by the method get`}},
		{"word of a method without one", notes(note(nil), note(func(m *q) { m.Ref, m.CLI.Name, m.Hide = "demo/notes.show", "get", kc.OnCLI })), nil},
		{"group of a method", one(func(m *q) { m.CLI.Group = []string{"a", "b", "c"} }), []string{"demo/notes.get CLI.Group: has 3 levels"}},
		{"top level", one(func(m *q) { m.CLI.Group = []string{} }), nil},
		{"unknown positional", one(func(m *q) { m.CLI.Args = []string{"nope"} }), []string{`demo/notes.get CLI.Args: the input has no field "nope"`}},
		{"positional twice", one(func(m *q) { m.CLI.Args = []string{"id", "id"} }), []string{`demo/notes.get CLI.Args: "id" is named twice`}},
		{"variadic not last", one(func(m *q) { m.CLI.Args = []string{"tags...", "id"} }), []string{`demo/notes.get CLI.Args: "tags..." is variadic and not last`}},
		{"variadic last", one(func(m *q) { m.CLI.Args = []string{"id", "tags..."} }), nil},
		{"flag of an unknown field", one(func(m *q) { m.CLI.Flags = map[string]kc.Flag{"nope": {}} }), []string{"demo/notes.get CLI.Flags.nope: the input has no such field"}},
		{"flag name", one(func(m *q) { m.CLI.Flags = map[string]kc.Flag{"id": {Name: "I D"}} }), []string{"demo/notes.get CLI.Flags.id: "}},
		{"two fields with one flag", notes(&kc.Query[clash, noteOutput]{Ref: "demo/notes.get", Summary: "s"}), []string{`demo/notes.get CLI.Flags.userId: the flag --user-id is that of the field "userID" too`}},
		{"declared flag of another field", one(func(m *q) { m.CLI.Flags = map[string]kc.Flag{"text": {Name: "id"}} }), []string{`demo/notes.get CLI.Flags.text: the flag --id is that of the field "id" too`}},
		{"flag of a positional is free", one(func(m *q) {
			m.CLI = kc.CLI{Args: []string{"id"}, Flags: map[string]kc.Flag{"text": {Name: "id"}}}
		}), nil},
		{"alias of another field's flag", one(func(m *q) { m.CLI.Flags = map[string]kc.Flag{"text": {Aliases: []string{"id"}}} }), []string{`demo/notes.get CLI.Flags.text: the flag --id is that of the field "id" too`}},
		{"reserved alias", one(func(m *q) { m.CLI.Flags = map[string]kc.Flag{"text": {Aliases: []string{"json"}}} }), []string{"demo/notes.get CLI.Flags.text: the alias --json is reserved"}},
		{"negation of another field's flag", notes(&kc.Query[noClash, noteOutput]{Ref: "demo/notes.get", Summary: "s"}), []string{`demo/notes.get CLI.Flags.noX: the flag --no-x is that of the field "x" too`}},
		{"short flag of two letters", one(func(m *q) { m.CLI.Flags = map[string]kc.Flag{"text": {Short: "te"}} }), []string{`demo/notes.get CLI.Flags.text: the short flag "te" must be one letter`}},
		{"short flag h", one(func(m *q) { m.CLI.Flags = map[string]kc.Flag{"text": {Short: "h"}} }), []string{`demo/notes.get CLI.Flags.text: the short flag "h"`}},
		{"short flag twice", one(func(m *q) { m.CLI.Flags = map[string]kc.Flag{"text": {Short: "t"}, "tags": {Short: "t"}} }), []string{`demo/notes.get CLI.Flags.text: the flag -t is that of the field "tags" too`}},
		{"short flag of a positional", one(func(m *q) { m.CLI = kc.CLI{Args: []string{"id"}, Flags: map[string]kc.Flag{"id": {Short: "i"}}} }), []string{"demo/notes.get CLI.Flags.id: a positional has no flag"}},
		{"flag alias", one(func(m *q) { m.CLI.FlagAlias = &kc.FlagAlias{Group: []string{"A"}, Name: "B", Flag: "--c"} }),
			[]string{"demo/notes.get CLI.FlagAlias.Group: ", "demo/notes.get CLI.FlagAlias.Name: ", "demo/notes.get CLI.FlagAlias.Flag: "}},

		{"tool name", one(func(m *q) { m.Tool = &kc.Tool{Name: "no spaces", Presentation: presentation} }), []string{"demo/notes.get Tool.Name: "}},
		{"tool name of 65 characters is none of its business", one(func(m *q) { m.Tool = &kc.Tool{Name: strings.Repeat("a", 65), Presentation: presentation} }), nil},
		{"instructions of 4096 bytes", one(func(m *q) { m.Tool = &kc.Tool{Instructions: strings.Repeat("a", 4096), Presentation: presentation} }), nil},
		{"instructions of 4097 bytes", one(func(m *q) { m.Tool = &kc.Tool{Instructions: strings.Repeat("a", 4097), Presentation: presentation} }), []string{"demo/notes.get Tool.Instructions: has 4097 bytes, at most 4096"}},
		{"presentation", one(func(m *q) { m.Tool = &kc.Tool{} }), []string{"demo/notes.get Tool.Presentation.Pending: is required", "demo/notes.get Tool.Presentation.Completed: is required",
			"demo/notes.get Tool.Presentation.Icon: is required", "demo/notes.get Tool.Presentation.Intent: is required"}},

		{"ambient field", one(func(m *q) { m.Ambient = map[string]kc.ContextKey{"nope": kc.ThreadID} }), []string{"demo/notes.get Ambient.nope: the input has no such field"}},
		{"ambient key", one(func(m *q) { m.Ambient = map[string]kc.ContextKey{"id": "weather"} }), []string{`demo/notes.get Ambient.id: "weather" is not a value of the context`}},
		{"ambient and destructive", notes(&kc.Mutation[noteInput, noteOutput]{Ref: "demo/notes.remove", Summary: "s", Destructive: true, Ambient: map[string]kc.ContextKey{"id": kc.ThreadID}}),
			[]string{"demo/notes.remove Ambient: a destructive method must be told"}},

		{"error code", one(func(m *q) { m.Errors = map[kc.Code]kc.ErrorDef{"No-Good": {Like: kc.Conflict}} }), []string{"demo/notes.get Errors.No-Good: the code must match"}},
		{"error code of the kernel", one(func(m *q) { m.Errors = map[kc.Code]kc.ErrorDef{kc.NotFound: {Like: kc.NotFound}} }), []string{"demo/notes.get Errors.not_found: is a code of the kernel"}},
		{"error like nothing", one(func(m *q) { m.Errors = map[kc.Code]kc.ErrorDef{"muted": {}} }), []string{`demo/notes.get Errors.muted: Like is ""`}},
		{"error like a plugin's", one(func(m *q) { m.Errors = map[kc.Code]kc.ErrorDef{"muted": {Like: "deaf"}} }), []string{`demo/notes.get Errors.muted: Like is "deaf"`}},

		{"every problem at once", notes(note(func(m *q) { m.Summary, m.CLI.Args = "", []string{"a", "b"} }), note(func(m *q) { m.Ref, m.Wait = "demo/notes.show", -1 })), []string{
			"demo/notes.get Summary: ", `demo/notes.get CLI.Args: the input has no field "a"`, `demo/notes.get CLI.Args: the input has no field "b"`, "demo/notes.show Wait: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := problemsOf(t, tt.service)
			if len(got) != len(tt.want) {
				t.Fatalf("got %d problems:\n%s", len(got), strings.Join(got, "\n"))
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tt.want[i]) {
					t.Errorf("problem %d is %q, want %q…", i, got[i], tt.want[i])
				}
			}
		})
	}
}

func TestDefNormalizes(t *testing.T) {
	is := is.New(t)
	follow := &kc.Stream[noteInput, noteOutput]{Ref: "demo/my-notes.followAll", Summary: "s", Cursor: func(o noteOutput) string { return o.ID }}
	remove := &kc.Mutation[noteInput, kc.None]{Ref: "demo/my-notes.remove", Summary: "Remove", Description: "For good.", Destructive: true, OnHost: true,
		Tool: &kc.Tool{Presentation: presentation}}
	get := &kc.Query[noteInput, noteOutput]{Ref: "demo/my-notes.get", Summary: "s", Wait: 2 * time.Minute, Hide: kc.OnHTTP | kc.OnSDK,
		Examples:   []kc.Example[noteInput]{{Input: noteInput{ID: "1"}, Note: "n", CLI: "bb x"}},
		RenderText: func(o noteOutput, r kc.Render) string { return o.ID }}
	s := &kc.Service{ID: "demo/my-notes", Summary: "Keep notes", Methods: []kc.Method{follow, remove, get}}
	def, err := s.Def()
	is.NoErr(err)
	again, err := s.Def()
	is.NoErr(err)
	is.True(def == again) // once

	is.Equal(def.ID(), "demo/my-notes")
	is.Equal(def.Group, []string{"my-notes"})
	is.Equal(def.Method("remove"), def.Methods[1])
	is.Equal(def.Method("nope"), nil)
	is.True(def.Defines(0, follow))
	is.True(!def.Defines(0, &kc.Stream[noteInput, noteOutput]{Ref: "demo/my-notes.followAll", Summary: "s"})) // a look-alike

	f, r, g := def.Methods[0], def.Methods[1], def.Methods[2]
	is.Equal(f.Ref(), "demo/my-notes.followAll")
	is.Equal(f.ServiceID(), "demo/my-notes")
	is.Equal([]string{f.PluginID, f.Service, f.Method}, []string{"demo", "my-notes", "followAll"})
	is.Equal(f.Kind, kc.KindStream)
	is.True(f.Resumable)
	is.Equal(f.CLI.Name, "follow-all")
	is.Equal(f.Access.Auth, kc.AuthOperator)
	is.Equal(f.Target, kc.OnServer)
	is.Equal(f.Expose, kc.Exposure{HTTP: true, SDK: true, CLI: true})
	is.Equal(f.Budget(), kc.QueryWait)
	is.True(!f.RendersText())

	is.Equal(r.Kind, kc.KindMutation)
	is.Equal(r.Target, kc.OnHost)
	is.True(r.Destructive)
	is.Equal(r.Budget(), kc.MutationWait)
	is.Equal(r.Tool.Name, "demo_my_notes_remove")
	is.Equal(r.Tool.Description, "Remove\n\nFor good.\n\nDestructive: confirm with the user first.")
	is.Equal(remove.Tool.Name, "") // the author's value is as it was
	is.Equal(r.Expose.Tool, true)

	is.Equal(g.Budget(), 2*time.Minute)
	is.Equal(g.Expose, kc.Exposure{CLI: true})
	is.Equal(len(g.Examples), 1)
	is.Equal(string(g.Examples[0].Input), `{"id":"1"}`)
	is.Equal(g.Examples[0].CLI, "bb x")
	text, err := g.RenderText(noteOutput{ID: "7"}, kc.Render{})
	is.NoErr(err)
	is.Equal(text, "7")

	in, err := g.Input()
	is.NoErr(err)
	names := []string{}
	for _, p := range in.Properties {
		names = append(names, p.Name)
	}
	is.Equal(names, []string{"id", "text", "loud", "quiet", "on", "tags"}) // Go order
	is.True(in.Strict)
	same, err := g.Input()
	is.NoErr(err)
	is.True(in == same)
	out, err := g.Output()
	is.NoErr(err)
	is.Equal(len(out.Properties), 1)
	is.Equal(g.InputType().Name(), "noteInput")
	is.Equal(g.OutputType().Name(), "noteOutput")
	is.True(kc.Exposure{Tool: true}.Any())
	is.True(!kc.Exposure{}.Any())
}

// explosive is an input whose own code panics.
type explosive struct {
	Text fuse `json:"text"`
}

type fuse string

func (fuse) MarshalText() ([]byte, error) { panic("no text") }
func (*fuse) UnmarshalText([]byte) error  { return nil }

func TestDefSurvivesAnExampleThatPanics(t *testing.T) {
	is := is.New(t)
	s := notes(&kc.Query[explosive, string]{Ref: "demo/notes.light", Summary: "s", Examples: []kc.Example[explosive]{{Note: "n"}}})
	for range 2 { // not only the first time
		def, err := s.Def()
		is.NoErr(err)
		is.Equal(def.Methods[0].Examples[0].Input, nil)
		is.Equal(def.Methods[0].Examples[0].Note, "n")
	}
}

func TestDefIsSafeForConcurrentUse(t *testing.T) {
	s := notes(note(nil))
	defs := make(chan *kc.ServiceDef)
	for range 8 {
		go func() {
			def, _ := s.Def()
			_, _ = def.Methods[0].Input()
			defs <- def
		}()
	}
	first := <-defs
	for range 7 {
		if d := <-defs; d != first {
			t.Error("two definitions of one service")
		}
	}
}

func TestKebab(t *testing.T) {
	for in, want := range map[string]string{
		"hostGreet": "host-greet", "getURLv2": "get-urlv2", "parseHTTPRequest": "parse-http-request",
		"greet": "greet", "a": "a", "": "", "getURL": "get-url", "getIDs": "get-ids", "v2Beta": "v2beta", "aB": "a-b",
		"xYZabc": "x-y-zabc", "threadId": "thread-id", "sha256Sum": "sha256sum", "my-notes": "my-notes",
	} {
		t.Run(in, func(t *testing.T) { is.New(t).Equal(kc.Kebab(in), want) })
	}
}

func TestToolName(t *testing.T) {
	for _, tt := range [][4]string{
		{"hello-slot", "greeter", "greet", "hello_slot_greeter_greet"},
		{"a", "b-c", "hostGreet", "a_b_c_host_greet"},
		{"a", "b", "parseHTTPRequest", "a_b_parse_http_request"},
		{"a", "b", "getURLv2", "a_b_get_urlv2"},
	} {
		t.Run(tt[3], func(t *testing.T) { is.New(t).Equal(kc.ToolName(tt[0], tt[1], tt[2]), tt[3]) })
	}
}

func TestSplitRef(t *testing.T) {
	is := is.New(t)
	p, s, m, ok := kc.SplitRef("hello-slot/greeter.hostGreet2")
	is.True(ok)
	is.Equal([]string{p, s, m}, []string{"hello-slot", "greeter", "hostGreet2"})
	for _, bad := range []string{"", "a", "a/b", "a.b", "a/b.", "/b.c", "a/.c", "A/b.c", "a/B.c", "a/b.C", "a/b.c.d", "a/b/c.d", "1a/b.c", "a/b.c-d", "a/b.c ", "a_b/c.d", "ä/b.c"} {
		if _, _, _, ok := kc.SplitRef(bad); ok {
			t.Errorf("%q is taken for a ref", bad)
		}
	}
}

func TestFlagName(t *testing.T) {
	for _, tt := range []struct {
		field string
		flag  kc.Flag
		want  string
	}{
		{"someName", kc.Flag{}, "some-name"},
		{"someName", kc.Flag{Name: "other"}, "other"},
		{"json", kc.Flag{}, "field-json"},
		{"noColor", kc.Flag{}, "field-no-color"},
		{"text", kc.Flag{Name: "help"}, "field-help"},
	} {
		t.Run(tt.want, func(t *testing.T) { is.New(t).Equal(kc.FlagName(tt.field, tt.flag), tt.want) })
	}
	for _, name := range []string{"input", "json", "server", "help", "version", "no-color", "yes", "host", "self", "since", "timeout", "quiet", "token", "insecure", "output"} {
		t.Run("reserved "+name, func(t *testing.T) {
			is.New(t).True(slices.Contains(kc.ReservedFlags(), name))
			is.New(t).Equal(kc.FlagName("x", kc.Flag{Name: name}), "field-"+name)
		})
	}
	is.New(t).Equal(len(kc.ReservedFlags()), 15)
}

func TestColumns(t *testing.T) {
	for width, want := range map[int]int{0: 80, 1: 20, 20: 20, 81: 81, 1000: 1000, 5000: 1000, -3: 20} {
		is.New(t).Equal(kc.Render{Width: width}.Columns(), want)
	}
}
