package word_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

type point struct {
	X int `json:"x"`
	Y int `json:"y"`
}

// shapes has one field of every form.
type shapes struct {
	Name     string               `json:"name" description:"Who to greet"`
	Need     string               `json:"need" description:"Must be\ngiven"`
	SomeText string               `json:"someText,omitempty" default:"Hello"`
	When     time.Time            `json:"when,omitzero"`
	Wait     schema.Duration      `json:"wait,omitempty"`
	Data     []byte               `json:"data,omitempty"`
	Level    string               `json:"level,omitempty" enum:"low,high"`
	Count    int                  `json:"count,omitempty" minimum:"1" maximum:"10"`
	Ratio    float64              `json:"ratio,omitempty"`
	Loud     bool                 `json:"loud,omitempty"`
	Polite   *bool                `json:"polite,omitempty" default:"true"`
	Maybe    schema.Null[bool]    `json:"maybe,omitzero"`
	Limit    *int                 `json:"limit,omitempty"`
	Nick     *string              `json:"nick,omitempty"`
	Tags     []string             `json:"tags,omitempty"`
	Levels   []string             `json:"levels,omitempty"`
	IDs      []int                `json:"ids,omitempty"`
	At       *point               `json:"at,omitempty"`
	Points   []point              `json:"points,omitempty"`
	Labels   map[string]string    `json:"labels,omitempty"`
	Numbers  map[string]int       `json:"numbers,omitempty"`
	Any      json.RawMessage      `json:"any,omitempty"`
	Server   string               `json:"server,omitempty"`
	Secret   string               `json:"secret,omitempty"`
	Big      schema.Null[float64] `json:"big,omitzero"`
}

var torture = &kernelcontract.Query[shapes, kernelcontract.None]{
	Ref: "demo/svc.doIt", Summary: "Do it",
	CLI: kernelcontract.CLI{Args: []string{"name"}, Flags: map[string]kernelcontract.Flag{
		"someText": {Short: "s", Aliases: []string{"greeting"}, File: true, Stdin: true},
		"secret":   {Hidden: true, Env: "DEMO_SECRET"},
		"nick":     {Placeholder: "nickname", Description: "Replaced"},
	}},
}

// of derives the word of a single method.
func of(t testing.TB, m kernelcontract.Method) *word.Word {
	t.Helper()
	s := &kernelcontract.Service{ID: "demo/svc", Summary: "Demo", Methods: []kernelcontract.Method{m}}
	def, err := s.Def()
	if err != nil {
		t.Fatal(err)
	}
	w, err := word.Of(def.Methods[0], def)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func rows(w *word.Word) map[string]string {
	out := map[string]string{}
	for _, r := range word.FlagRows(w) {
		out[r.Form] = r.Text
	}
	return out
}

// TestForms proves the table "schema to words" row by row.
func TestForms(t *testing.T) {
	got := rows(of(t, torture))
	for _, c := range []struct{ rule, form, text string }{
		{"positional", "<name>", "Who to greet"},
		{"required flag, one line", "--need <string>", "Must be given (required)"},
		{"string, short, aliases, default, file", "-s, --some-text, --greeting <string>", "(@file and - read it) (default: Hello)"},
		{"date-time", "--when <date-time>", ""},
		{"duration", "--wait <duration>", ""},
		{"bytes", "--data <base64>", ""},
		{"enum", "--level <low|high>", ""},
		{"integer with bounds", "--count <integer>", "(≥ 1, ≤ 10)"},
		{"number", "--ratio <number>", ""},
		{"boolean", "--loud", ""},
		{"boolean that defaults to true", "--[no-]polite", "(default: true)"},
		{"nullable boolean", "--[no-]maybe", ""},
		{"nullable integer", "--limit <integer>", ""},
		{"placeholder and description", "--nick <nickname>", "Replaced"},
		{"array of strings", "--tags <value>", "(repeatable)"},
		{"array of integers", "--ids <value>", "(repeatable)"},
		{"object", "--at <json>", "(@file and - read it)"},
		{"array of objects", "--points <json>", "(@file and - read it)"},
		{"string map", "--labels key=value", "(repeatable)"},
		{"other map", "--numbers <json>", "(@file and - read it)"},
		{"anything", "--any <json>", "(@file and - read it)"},
		{"reserved name", "--field-server <string>", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			text, ok := got[c.form]
			is.True(ok) // the form exists
			is.Equal(text, c.text)
		})
	}
	t.Run("whole input", func(t *testing.T) {
		is := is.New(t)
		options := word.OptionsOf(of(t, torture))
		is.Equal(word.OptionRow(options[len(options)-1]).Form, "--input <json|@file|->")
	})
	t.Run("hidden", func(t *testing.T) {
		for form := range got {
			if strings.Contains(form, "secret") {
				t.Errorf("%s is shown", form)
			}
		}
	})
}

func TestReservedNamesBecomeField(t *testing.T) {
	for _, name := range kernelcontract.ReservedFlags() {
		if got := kernelcontract.FlagName(name, kernelcontract.Flag{}); got != "field-"+name {
			t.Errorf("--%s becomes --%s", name, got)
		}
	}
}

type greetInput struct {
	Name       string `json:"name" description:"Who to greet" minLength:"1"`
	Salutation string `json:"salutation,omitempty" default:"Hello" description:"The word before the name"`
}

var greet = &kernelcontract.Query[greetInput, kernelcontract.None]{
	Ref: "demo/svc.greet", Summary: "Greet", CLI: kernelcontract.CLI{Args: []string{"name"}, Group: []string{"hello"}},
}

func TestUsage(t *testing.T) {
	t.Run("greet", func(t *testing.T) {
		is := is.New(t)
		w := of(t, greet)
		is.Equal(word.UsageLine(w), "bb hello greet <name> [--salutation <string>]")
		is.Equal(strings.Split(word.Help(w), "\n"), []string{
			"Usage: bb hello greet <name> [--salutation <string>]",
			"Flags: <name>   Who to greet",
			"       --salutation <string>   The word before the name (default: Hello)",
			"",
		})
	})
	t.Run("positionals, required flags, optional flags", func(t *testing.T) {
		is := is.New(t)
		u := word.UsageLine(of(t, torture))
		is.True(strings.HasPrefix(u, "bb svc do-it <name> --need <string> [--some-text <string>] [--when <date-time>]"))
		is.True(strings.Contains(u, "[--tags <value>]…"))
		is.True(!strings.Contains(u, "secret"))
		is.True(!strings.Contains(u, "--input"))
	})
	t.Run("help has no blank lines", func(t *testing.T) {
		for _, line := range strings.Split(strings.TrimSuffix(word.Help(of(t, torture)), "\n"), "\n") {
			if strings.TrimSpace(line) == "" {
				t.Error("a blank line")
			}
		}
	})
}

type ambientInput struct {
	Thread string `json:"thread"`
	Host   string `json:"hostId"`
	Dir    string `json:"dir"`
	Text   []any  `json:"text"`
}

var ambient = &kernelcontract.Mutation[ambientInput, kernelcontract.None]{
	Ref: "demo/svc.send", Summary: "Send",
	CLI:     kernelcontract.CLI{Args: []string{"thread", "text..."}},
	Ambient: map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID, "hostId": kernelcontract.HostID, "dir": kernelcontract.CWD},
}

type timeoutInput struct {
	TimeoutMs int `json:"timeoutMs,omitempty"`
}

// TestConditionalFlags proves that a flag exists only when the method can act on it.
func TestConditionalFlags(t *testing.T) {
	item := func(point) string { return "1" }
	for _, c := range []struct {
		name string
		m    kernelcontract.Method
		want string
	}{
		{"query", &kernelcontract.Query[kernelcontract.None, kernelcontract.None]{Ref: "demo/svc.a", Summary: "A"}, ""},
		{"destructive", &kernelcontract.Mutation[kernelcontract.None, kernelcontract.None]{Ref: "demo/svc.a", Summary: "A", Destructive: true}, "yes"},
		{"ambient thread", ambient, "self input"},
		{"stream", &kernelcontract.Stream[kernelcontract.None, point]{Ref: "demo/svc.a", Summary: "A"}, "timeout quiet"},
		{"resumable stream", &kernelcontract.Stream[kernelcontract.None, point]{Ref: "demo/svc.a", Summary: "A", Cursor: item}, "since timeout quiet"},
		{"blocking", &kernelcontract.Query[kernelcontract.None, kernelcontract.None]{Ref: "demo/svc.a", Summary: "A", Wait: time.Hour}, "timeout quiet"},
		{"blocking with timeoutMs", &kernelcontract.Query[timeoutInput, kernelcontract.None]{Ref: "demo/svc.a", Summary: "A", Wait: time.Hour}, "quiet input"},
		{"bytes", &kernelcontract.Query[kernelcontract.None, schema.Bytes]{Ref: "demo/svc.a", Summary: "A"}, "output"},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			w := of(t, c.m)
			is.Equal(strings.Join(w.Options, " "), c.want)
			names := " " + strings.Join(word.FlagNames(w), " ") + " "
			for _, o := range []string{"yes", "self", "since", "timeout", "quiet", "output"} {
				is.Equal(strings.Contains(names, " "+o+" "), w.Has(o))
			}
		})
	}
}

func TestAmbientFieldIsOptional(t *testing.T) {
	is := is.New(t)
	w := of(t, ambient)
	is.Equal(word.UsageLine(w), "bb svc send [thread] <text…> [--host <id|name>] [--dir <string>] [--self]")
	got := rows(w)
	is.Equal(got["[thread]"], "(default: the current thread)")
	is.Equal(got["--host <id|name>"], "(default: the current host)")
	is.Equal(got["--dir <string>"], "(default: the working directory)")
}

type secretInput struct {
	Name  string `json:"name"`
	Value string `json:"value" description:"The value"`
}

var secret = &kernelcontract.Mutation[secretInput, kernelcontract.None]{
	Ref: "demo/svc.keep", Summary: "Keep",
	CLI: kernelcontract.CLI{Args: []string{"name"}, Flags: map[string]kernelcontract.Flag{"value": {Hidden: true, Stdin: true}}},
}

// TestSecretIsNoArgument proves that a hidden text from standard input has no flag and is asked for.
func TestSecretIsNoArgument(t *testing.T) {
	is := is.New(t)
	w := of(t, secret)
	is.Equal(word.UsageLine(w), "bb svc keep <name>")
	is.Equal(rows(w)["standard input"], "The value (asked for on a terminal)")
	is.True(!strings.Contains(strings.Join(word.FlagNames(w), " "), "value"))
	ask := func(f *word.Field) (string, error) { return "@" + f.Name, nil }
	got, err := word.Input(w, word.Values{Words: []string{"a"}, Secret: ask})
	is.NoErr(err)
	is.Equal(string(got), `{"name":"a","value":"@value"}`)
	_, err = word.Input(w, word.Values{Words: []string{"a"}})
	is.True(err != nil)
	_, err = word.Input(w, word.Values{Words: []string{"a", "b"}, Secret: func(*word.Field) (string, error) { t.Error("asked in vain"); return "", nil }})
	is.True(err != nil)
	_, ok := word.Words(w, json.RawMessage(`{"name":"a","value":"b"}`))
	is.True(!ok)
}

func TestWordRidesInJSON(t *testing.T) {
	is := is.New(t)
	for _, m := range []kernelcontract.Method{torture, ambient, greet} {
		w := of(t, m)
		raw, err := json.Marshal(w)
		is.NoErr(err)
		var back word.Word
		is.NoErr(json.Unmarshal(raw, &back))
		again, err := json.Marshal(&back)
		is.NoErr(err)
		is.Equal(string(again), string(raw))
		is.Equal(word.Help(&back), word.Help(w))
	}
}

func TestNoWord(t *testing.T) {
	is := is.New(t)
	is.Equal(of(t, &kernelcontract.Query[kernelcontract.None, kernelcontract.None]{Ref: "demo/svc.a", Summary: "A", Hide: kernelcontract.OnCLI}), nil)
}

func TestVariadicNeedsWords(t *testing.T) {
	is := is.New(t)
	s := &kernelcontract.Service{ID: "demo/svc", Summary: "Demo", Methods: []kernelcontract.Method{
		&kernelcontract.Query[point, kernelcontract.None]{Ref: "demo/svc.a", Summary: "A", CLI: kernelcontract.CLI{Args: []string{"x..."}}},
	}}
	def, err := s.Def()
	is.NoErr(err)
	_, err = word.Of(def.Methods[0], def)
	is.True(err != nil)
	is.True(strings.Contains(err.Error(), "demo/svc.a"))
}

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []string
		want string
	}{
		{"gret", []string{"greet", "count"}, "greet"},
		{"coutn", []string{"greet", "count"}, "count"},
		{"greeting", []string{"greet-all", "x"}, "greet-all"},
		{"zzzz", []string{"greet", "count"}, ""},
		{"abcd", []string{"abxx", "abcx", "abcd", "abce", "abcf", "abcg"}, "abcx abce abcf"},
		{"", []string{"greet"}, ""},
	} {
		if got := strings.Join(word.Nearest(c.name, c.in), " "); got != c.want {
			t.Errorf("%q: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCommandLineLeavesDefaultsOut(t *testing.T) {
	type in struct {
		A     string  `json:"a,omitempty" default:"x"`
		B     string  `json:"b,omitempty"`
		Note  *string `json:"note" default:"null"`
		Count int     `json:"count,omitempty" default:"5"`
		Where string  `json:"where,omitempty" default:"/"`
	}
	w := of(t, &kernelcontract.Query[in, kernelcontract.None]{Ref: "demo/svc.go", Summary: "Go", CLI: kernelcontract.CLI{Args: []string{"a", "b"}},
		Ambient: map[string]kernelcontract.ContextKey{"where": kernelcontract.CWD}})
	for _, c := range []struct{ rule, input, want string }{
		{"a null string too", `{"a":"y","note":null,"count":5}`, "bb svc go y"},
		{"a positional before another is kept", `{"a":"x","b":"z","count":5.0}`, "bb svc go --count=5.0 x z"},
		{"what the context would fill is kept", `{"where":"/"}`, "bb svc go --where=/"},
		{"what words cannot say is whole", `{"a":"x","note":null,"b":"z"}`, `bb svc go --input '{"a":"x","note":null,"b":"z"}'`},
	} {
		t.Run(c.rule, func(t *testing.T) { is.New(t).Equal(word.CommandLine(w, json.RawMessage(c.input)), c.want) })
	}
}

func ExampleUsageLine() {
	service := &kernelcontract.Service{ID: "demo/greeter", Summary: "Greets", Group: []string{"hello"}, Methods: []kernelcontract.Method{
		&kernelcontract.Query[greetInput, kernelcontract.None]{Ref: "demo/greeter.greet", Summary: "Greet", CLI: kernelcontract.CLI{Args: []string{"name"}}},
	}}
	def, err := service.Def()
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := word.Of(def.Methods[0], def)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(word.UsageLine(w))
	fmt.Println(word.CommandLine(w, json.RawMessage(`{"name":"Ada Lovelace","salutation":"Hi"}`)))
	fmt.Println(word.CommandLine(w, json.RawMessage(`{"name":"Ada","salutation":"Hello"}`)))
	// Output:
	// bb hello greet <name> [--salutation <string>]
	// bb hello greet --salutation=Hi 'Ada Lovelace'
	// bb hello greet Ada
}
