package doctest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/workspace/internal/doctest"
)

func TestParse(t *testing.T) {
	text := "Text\n```go file=~/p/a.go\npackage a\n```\n\n1. item\n\n   ````console\n   $ echo hi\n   ```\n     hi\n   ````\n\n``inline```\n```\nplain\n```\n"
	blocks, err := doctest.Parse("a.md", text)
	if err != nil {
		t.Fatal(err)
	}
	want := []doctest.Block{
		{File: "a.md", Line: 2, Lang: "go", Save: "~/p/a.go", Text: "package a\n"},
		{File: "a.md", Line: 8, Lang: "console", Text: "$ echo hi\n```\n  hi\n"},
		{File: "a.md", Line: 15, Text: "plain\n"},
	}
	if !slices.Equal(blocks, want) {
		t.Errorf("got\n%+v\nwant\n%+v", blocks, want)
	}
	if _, err := doctest.Parse("a.md", "```go\n"); err == nil {
		t.Error("a block that is never closed is no error")
	}
}

func TestCheckRefusesHiddenCommands(t *testing.T) {
	for _, tt := range []struct {
		block doctest.Block
		ok    bool
	}{
		{doctest.Block{Lang: "sh", Text: "ls\n"}, false},
		{doctest.Block{Lang: "", Text: "$ ls\n"}, false},
		{doctest.Block{Lang: "text", Text: "x\n$ ls\n"}, false},
		{doctest.Block{Lang: "console", Text: "$ ls\n"}, true},
		{doctest.Block{Lang: "json", Text: "{}\n"}, true},
	} {
		if err := tt.block.Check(); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt.block, err)
		}
	}
}

func TestCorpus(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(file, []byte("package a\n\nfunc A() {\n\tb()\n\tc()\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var c doctest.Corpus
	if err := c.Add(file); err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		"func A() {\n    b()\n":           true,
		"package a\n// …\n\tc()\n}\n":     true,
		"func A() {\n\t// …\n}\n":         true,
		"func A() {\n\tc()\n":             false,
		"c()\n// …\nb()\n":                false,
		"func A() { b(); }\n":             false,
		"unc A() {\n":                     false,
		"\n":                              false,
		"package a\nfunc A() {\n\tb()\n}": false,
	} {
		if err := c.Check(doctest.Block{Text: text}); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCommands(t *testing.T) {
	b := doctest.Block{File: "a.md", Line: 3, Text: "$ cat <<'E' >x\n> a\n>\n> E\n$ echo one \\\n  two\none two\n\n$ serve &\nready\n"}
	got, err := b.Commands()
	if err != nil {
		t.Fatal(err)
	}
	want := []doctest.Command{
		{Place: "a.md:4", Text: "cat <<'E' >x\na\n\nE"},
		{Place: "a.md:8", Text: "echo one \\\n  two", Want: []string{"one two"}},
		{Place: "a.md:12", Text: "serve", Background: true, Want: []string{"ready"}},
	}
	if !slices.EqualFunc(got, want, func(a, b doctest.Command) bool {
		return a.Place == b.Place && a.Text == b.Text && a.Background == b.Background && slices.Equal(a.Want, b.Want)
	}) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if _, err := (doctest.Block{Text: "one\n$ echo one\n"}).Commands(); err == nil {
		t.Error("output before any command is no error")
	}
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		want, output string
		ok           bool
	}{
		{"one\ntwo", "one\ntwo\n", true},
		{"one", "one  ", true},
		{"one", "one\ntwo\n", false},
		{"one\n…", "one\n", true},
		{"one\n…", "one\ntwo\nthree\n", true},
		{"…\nlast", "one\ntwo\nlast\n", true},
		{"…\nlast", "one\nlast\nmore\n", false},
		{"id: … (ok)", "id: 42 (ok)\n", true},
		{"id: …", "id: 42\nmore\n", false},
		{"a.c", "abc\n", false},
	} {
		if got := doctest.Matches(strings.Split(tt.want, "\n"), tt.output); got != tt.ok {
			t.Errorf("%q shown, %q printed: %v", tt.want, tt.output, got)
		}
	}
}
