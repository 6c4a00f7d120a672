package parse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/cli/internal/parse"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

type input struct {
	Text   string            `json:"text,omitempty"`
	Count  int               `json:"count,omitempty"`
	Loud   bool              `json:"loud,omitempty"`
	Quick  bool              `json:"quick,omitempty"`
	Polite *bool             `json:"polite,omitempty" default:"true"`
	Tags   []string          `json:"tags,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Words  []string          `json:"words,omitempty"`
	Thread string            `json:"thread,omitempty"`
}

type item struct{}

func demo(t testing.TB) *word.Word {
	t.Helper()
	s := &kernelcontract.Service{ID: "demo/svc", Summary: "Demo", Methods: []kernelcontract.Method{
		&kernelcontract.Stream[input, item]{Ref: "demo/svc.go", Summary: "Go", Cursor: func(item) string { return "1" },
			Ambient: map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID},
			CLI: kernelcontract.CLI{Args: []string{"words..."}, Flags: map[string]kernelcontract.Flag{
				"text": {Short: "t", Aliases: []string{"message"}}, "loud": {Short: "l"}, "quick": {Short: "q"}, "count": {Short: "n"},
			}}},
	}}
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

// TestParse proves how arguments become words and flags.
func TestParse(t *testing.T) {
	w := demo(t)
	for _, c := range []struct{ rule, args, want string }{
		{"equals sign", "--text=a=b", "text:a=b"},
		{"next word", "--text a b", "text:a words:b"},
		{"empty value", "--text=", "text:"},
		{"short with a space", "-t a", "text:a"},
		{"short joined", "-ta", "text:a"},
		{"short with an equals sign", "-t=a", "text:a"},
		{"alias", "--message a", "text:a"},
		{"switch", "--loud x", "loud:true words:x"},
		{"switch with a value", "--loud=false", "loud:false"},
		{"negation", "--no-polite", "polite:false"},
		{"grouped switches", "-lq x", "loud:true quick:true words:x"},
		{"grouped with a value", "-lt a", "loud:true text:a"},
		{"end of flags", "--loud -- --text -x", "loud:true words:--text,-x"},
		{"second end of flags is a word", "-- a -- b", "words:a,--,b"},
		{"lone dash", "- --text -", "text:- words:-"},
		{"negative number after a flag", "--count -5", "count:-5"},
		{"negative number after a short flag", "-n -5", "count:-5"},
		{"negative number joined", "--count=-5", "count:-5"},
		{"negative number as a word", "-5 -0.5", "words:-5,-0.5"},
		{"flags between words", "a --text x b --loud c", "loud:true text:x words:a,b,c"},
		{"repeated", "--tags a --tags b,c", "tags:a|b,c"},
		{"map", "--labels a=b --labels=c=d", "labels:a=b|c=d"},
		{"dash in a value", "--text=--loud", "text:--loud"},
		{"dollar sign", "--text=${HOME} $x", "text:${HOME} words:$x"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			l, err := parse.Parse(w, strings.Fields(c.args))
			is.True(err == nil)
			var got []string
			for _, f := range []string{"count", "labels", "loud", "polite", "quick", "tags", "text"} {
				if v, ok := l.Flags[f]; ok {
					got = append(got, f+":"+strings.Join(v, "|"))
				}
			}
			if len(l.Words) > 0 {
				got = append(got, "words:"+strings.Join(l.Words, ","))
			}
			is.Equal(strings.Join(got, " "), c.want)
		})
	}
	t.Run("options", func(t *testing.T) {
		is := is.New(t)
		l, err := parse.Parse(w, strings.Fields("--json --server http://x --insecure --no-color --since 7 --timeout 1.5 --quiet --self --input {}"))
		is.True(err == nil)
		is.True(l.JSON && l.Insecure && l.NoColor && l.Quiet && l.Self && !l.Yes)
		is.Equal(l.Server, "http://x")
		is.Equal(l.Since, "7")
		is.Equal(l.Timeout, 1500*time.Millisecond)
		is.Equal(*l.Input, "{}")
	})
	t.Run("help among grouped switches", func(t *testing.T) {
		is := is.New(t)
		l, err := parse.Parse(w, []string{"-lh"})
		is.True(err == nil)
		is.True(l.Help)
	})
	t.Run("thousands of words", func(t *testing.T) {
		is := is.New(t)
		l, err := parse.Parse(w, append(strings.Fields(strings.Repeat("x ", 3000)), "--loud", "y"))
		is.True(err == nil)
		is.Equal(len(l.Words), 3001)
	})
}

// TestParseErrors proves that each misuse is named with what may have been meant.
func TestParseErrors(t *testing.T) {
	w := demo(t)
	for _, c := range []struct{ rule, args, want string }{
		{"unknown flag", "--txt a", "unknown flag --txt; did you mean --text?"},
		{"prefix of a flag", "--mess a", "unknown flag --mess; did you mean --message?"},
		{"unknown short flag", "-z", "-z"},
		{"conditional flag of another word", "--yes", "unknown flag --yes"},
		{"token", "--token x", "a token never travels on the command line"},
		{"missing value", "--text", "--text"},
		{"flag for a value", "--text --loud", "--text"},
		{"negation with a value", "--no-polite=false", "--no-polite: takes no value"},
		{"negation with true", "--no-polite=true", "--no-polite: takes no value"},
		{"help that is no switch", "--help=hello", `--help: "hello" is not true or false`},
		{"version that is no switch", "--version=2", `--version: "2" is not true or false`},
		{"single option repeated", "--since 1 --since 2", "--since is given 2 times"},
		{"switch repeated", "--json --json", "--json is given 2 times"},
		{"bad timeout", "--timeout soon", `--timeout: "soon" is not a number of seconds above 0`},
		{"no timeout", "--timeout 0", `above 0`},
		{"endless timeout", "--timeout 1e300", `above 0`},
		{"empty option", "--since=", "--since needs a value"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			_, err := parse.Parse(w, strings.Fields(c.args))
			is.True(err != nil)
			is.True(errors.Is(err, kernelcontract.InvalidInput))
			is.Equal(err.Row().Exit, 2)
			if !strings.Contains(err.Message, c.want) {
				t.Errorf("got %q, want %q in it", err.Message, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("--text a -lq -- b")
	f.Add("-5 --count=-5 -t=")
	f.Add("--no-polite=false \x00-x -\xff --\xc3")
	w := demo(f)
	f.Fuzz(func(t *testing.T, args string) {
		l, err := parse.Parse(w, strings.Split(args, " "))
		if err == nil && l == nil {
			t.Error("neither a line nor a failure")
		}
	})
}

func BenchmarkParse(b *testing.B) {
	w := demo(b)
	args := strings.Fields("--text a --count 5 b c -lq")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parse.Parse(w, args); err != nil {
			b.Fatal(err)
		}
	}
}

func Example() {
	w := &word.Word{Name: "greet", Groups: [][]string{{"hello"}}, Fields: []word.Field{
		{Name: "name", Form: word.Text, Position: new(int), Placeholder: "<name>"},
		{Name: "salutation", Form: word.Text, Flag: "salutation"},
	}}
	line, failure := parse.Parse(w, []string{"Ada", "--salutation=Hi"})
	if failure != nil {
		fmt.Println(failure)
		return
	}
	input, _ := word.Input(w, word.Values{Words: line.Words, Flags: line.Flags})
	fmt.Println(string(json.RawMessage(input)))
	// Output: {"name":"Ada","salutation":"Hi"}
}
