package text_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/text"
)

var plain kernelcontract.Render

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

func lines(s ...string) string { return strings.Join(s, "\n") }

func TestRender(t *testing.T) {
	for _, tt := range []struct{ name, json, want string }{
		{"string as it is", `"hello\nyou"`, "hello\nyou"},
		{"integer exact", `9007199254740993`, "9007199254740993"},
		{"number as written", `1.50`, "1.50"},
		{"boolean", `true`, "true"},
		{"empty string says so", `""`, "(empty)"},
		{"null says so", `null`, "(none)"},
		{"empty array says so", `[]`, "(none)"},
		{"empty object says so", `{}`, "(empty)"},
		{"object", `{"a":1,"b":"x"}`, lines("a: 1", "b: x")},
		{"object keeps the order of its members", `{"b":1,"a":2}`, lines("b: 1", "a: 2")},
		{"nothing beside values", `{"a":null,"b":"","c":[],"d":{}}`, lines("a: -", "b: (empty)", "c: (none)", "d: (empty)")},
		{"nested object", `{"a":{"b":{"c":1}}}`, lines("a:", "  b:", "    c: 1")},
		{"several lines in an object", `{"a":"x\ny","b":1}`, lines("a:", "  x", "  y", "b: 1")},
		{"list in an object", `{"a":["x","y"]}`, "a: x, y"},
		{"list with commas in an object", `{"a":["x, y","z"]}`, lines("a:", "  - x, y", "  - z")},
		{"list", `["x",2,null]`, lines("x", "2", "-")},
		{"table", `[{"id":"1","n":5},{"id":"22","n":10}]`, lines("id   n", "1    5", "22  10")},
		{"table with missing and null cells", `[{"a":"x","b":null},{"b":"y"}]`, lines("a  b", "x  -", "-  y")},
		{"table without a column that is empty everywhere", `[{"a":1,"b":null},{"a":2}]`, lines("a", "1", "2")},
		{"table of empty objects", `[{},{}]`, lines("(empty)", "(empty)")},
		{"table in an object", `{"rows":[{"a":1}],"n":1}`, lines("rows:", "  a", "  1", "n: 1")},
		{"line feeds in a cell", `[{"a":"x\ny"}]`, lines("a", "x y")},
		{"nested cell", `[{"a":{"b":1},"c":["x","y"]}]`, lines("a        c", `{"b":1}  x, y`)},
		{"mixed array", `[1,{"a":2,"b":3},[{"c":4}]]`, lines("- 1", "- a: 2", "  b: 3", "- c", "  4")},
		{"bytes", `{"kind":"bytes","mimeType":"image/png","base64":"aGk="}`, "image/png, 2 bytes"},
		{"bytes in an object", `{"f":{"kind":"bytes","mimeType":"text/plain","base64":"YQ=="}}`, "f: text/plain, 1 byte"},
		{"bytes in a table", `[{"f":{"kind":"bytes","mimeType":"text/plain","base64":"YQ=="}}]`, lines("f", "text/plain, 1 byte")},
		{"deep values as JSON", strings.Repeat(`{"a":`, 10) + `1` + strings.Repeat(`}`, 10),
			lines("a:", "  a:", "    a:", "      a:", "        a:", "          a:", "            a:", "              a:", `                a: {"a":1}`)},
		{"not JSON", "x\x1b[2Jy", "xy"},
		{"bytes after the value", `1 2`, "1 2"},
		{"foreign control sequences", `{"a\u001b[2J":"x\u001b]52;c;AAAA\u0007y"}`, "a: xy"},
	} {
		t.Run(tt.name, func(t *testing.T) { is.New(t).Equal(text.Render(json.RawMessage(tt.json), nil, plain), tt.want) })
	}
}

func TestRenderColor(t *testing.T) {
	r := kernelcontract.Render{Color: true}
	for _, tt := range []struct{ name, json, want string }{
		{"keys are bold", `{"a":1}`, "\x1b[1ma:\x1b[0m 1"},
		{"nothing is dim", `{"a":null}`, "\x1b[1ma:\x1b[0m \x1b[2m-\x1b[0m"},
		{"the head of a table is bold", `[{"a":"x"}]`, "\x1b[1ma\x1b[0m\nx"},
		{"colours of foreign text go", `"\u001b[31mred"`, "red"},
	} {
		t.Run(tt.name, func(t *testing.T) { is.New(t).Equal(text.Render(json.RawMessage(tt.json), nil, r), tt.want) })
	}
}

func TestRenderBySchema(t *testing.T) {
	type inner struct {
		Z int `json:"z"`
		A int `json:"a"`
	}
	type out struct {
		Second string         `json:"second"`
		First  []inner        `json:"first"`
		Map    map[string]any `json:"map"`
	}
	is := is.New(t)
	s, err := schema.Of(typeOf[out]())
	is.NoErr(err)
	got := text.Render(json.RawMessage(`{"extra":1,"map":{"k":1},"first":[{"a":1,"z":2}],"second":"s"}`), s, plain)
	is.Equal(got, lines("second: s", "first:", "  z  a", "  2  1", "map:", "  k: 1", "extra: 1"))

	none, err := schema.Of(typeOf[kernelcontract.None]())
	is.NoErr(err)
	is.Equal(text.Render(json.RawMessage(`{}`), none, plain), "done")
}

func TestTableHasAtMostSixColumns(t *testing.T) {
	is := is.New(t)
	got := text.Render(json.RawMessage(`[{"a":1,"n":{"x":1},"b":2,"c":3,"d":4,"e":5,"f":6,"g":7}]`), nil, plain)
	is.Equal(got, lines("a  b  c  d  e  f", "1  2  3  4  5  6")) // a nested column gives way first, then the last
}

func TestTableIsFittedToTheWidth(t *testing.T) {
	long := strings.Repeat("word ", 40)
	wideChars := strings.Repeat("日", 40)
	var rows []map[string]any
	for i := range 3 {
		rows = append(rows, map[string]any{"a": i, "b": long, "c": wideChars, "d": long, "e": "x"})
	}
	raw, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{20, 25, 40, 79, 80, 200, 1000} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			for l := range strings.SplitSeq(text.Render(raw, nil, kernelcontract.Render{Width: width}), "\n") {
				if text.Width(l) > width {
					t.Errorf("%d columns: %q", text.Width(l), l)
				}
			}
		})
	}
	t.Run("a terminal of unknown width has 80 columns", func(t *testing.T) {
		for l := range strings.SplitSeq(text.Render(raw, nil, kernelcontract.Render{TTY: true}), "\n") {
			if text.Width(l) > 80 {
				t.Errorf("%d columns: %q", text.Width(l), l)
			}
		}
	})
	t.Run("without a width nothing is cut", func(t *testing.T) {
		is := is.New(t)
		got := text.Render(raw, nil, plain)
		is.True(strings.Contains(got, strings.TrimSpace(long)))
		is.True(strings.Contains(got, wideChars))
		is.True(!strings.Contains(got, "…"))
	})
	t.Run("short columns stay whole", func(t *testing.T) {
		is := is.New(t)
		got := text.Render(json.RawMessage(`[{"id":"n-1","text":"`+long+`"}]`), nil, kernelcontract.Render{Width: 20})
		is.Equal(got, lines("id   text", "n-1  word word word…"))
	})
}

func TestError(t *testing.T) {
	is := is.New(t)
	e := kernelcontract.InvalidIssues([]kernelcontract.Issue{
		{Path: []any{"nam"}, Code: schema.IssueUnrecognizedKey, Message: "is not known"},
		{Path: []any{"list", 2, "x"}, Code: schema.IssueInvalidType, Message: "must be a string\x1b[2J"},
		{Code: schema.IssueInvalidJSON, Message: "is not\nJSON"},
	})
	is.Equal(text.Error(e, plain), lines("invalid_input: the input has 3 issues", "  nam: is not known", "  list[2].x: must be a string", "  is not JSON"))
	is.Equal(text.Error(kernelcontract.NotFound.Errorf("no note 7"), plain), "not_found: no note 7")
	is.Equal(text.Error(&kernelcontract.Error{Code: kernelcontract.Timeout}, plain), "timeout")
	is.Equal(text.Error(kernelcontract.NotFound.Errorf("no"), kernelcontract.Render{Color: true}), "\x1b[1;31mnot_found\x1b[0m: no")
}

func TestStrip(t *testing.T) {
	for _, tt := range []struct{ name, in, want, colors string }{
		{"plain text", "hello\tyou\nthere é 日本", "hello\tyou\nthere é 日本", ""},
		{"colour", "a\x1b[1;31mb\x1b[0mc", "abc", "a\x1b[1;31mb\x1b[0mc"},
		{"colour with colons", "a\x1b[38:5:1mb", "ab", "a\x1b[38:5:1mb"},
		{"private parameters are no colour", "a\x1b[?1mb\x1b[>4;2mc", "abc", "abc"},
		{"cursor", "a\x1b[2Jb\x1b[10;10Hc", "abc", ""},
		{"title", "a\x1b]0;evil\x07b", "ab", ""},
		{"title with ST", "a\x1b]0;evil\x1b\\b", "ab", ""},
		{"clipboard", "a\x1b]52;c;ZXZpbA==\x07b", "ab", ""},
		{"hyperlink keeps its text", "a\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\b", "alinkb", ""},
		{"device control string", "a\x1bPq#0\x1b\\b", "ab", ""},
		{"application command", "a\x1b_G\x1b\\b\x1b^x\x1b\\c\x1bXy\x1b\\d", "abcd", ""},
		{"unterminated string loses only its beginning", "a\x1b]0;rest", "a0;rest", ""},
		{"string that another sequence breaks", "a\x1b]0;x\x1b[31my", "ay", "a\x1b[31my"},
		{"unterminated CSI", "a\x1b[12", "a", ""},
		{"CSI broken by a line feed", "a\x1b[12\nb", "a\nb", ""},
		{"single shifts and resets", "a\x1bcb\x1b(0c\x1b#8d\x1b7e", "abcde", ""},
		{"lone ESC", "a\x1b", "a", ""},
		{"two ESC", "a\x1b\x1b[31mb", "ab", "a\x1b[31mb"},
		{"8-bit CSI", "a\u009b31mb", "ab", ""},
		{"8-bit OSC", "a\u009d52;c;AA\u009cb", "ab", ""},
		{"raw C1 byte", "a\x9b31mb", "a\uFFFD31mb", ""},
		{"control characters", "a\x00\x07\x08\x0b\x0c\x0d\x7f\u0085b", "ab", ""},
		{"carriage return", "good\r\nevil\rx", "good\nevilx", ""},
		{"overridden direction", "rm \u202etxt\u202c a", "rm txt a", ""},
		{"every turn of direction", "a\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069b", "ab", ""},
		{"letters from right to left, joiners and marks", "\u05d0\u200f\u0627\u200d\u200e", "\u05d0\u200f\u0627\u200d\u200e", ""},
		{"invalid UTF-8", "a\xffb", "a\uFFFDb", ""},
		{"a real U+FFFD", "a\uFFFDb", "a\uFFFDb", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(text.Strip(tt.in), tt.want)
			if tt.colors == "" {
				tt.colors = tt.want
			}
			is.Equal(text.StripButColors(tt.in), tt.colors)
		})
	}
}

func FuzzStrip(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]52;c;AA\x07", "\x1bP\x1b\\", "\u009b1m\u009c", "\xff\x1b", "\x1b[\x1b[m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := text.Strip(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		for _, r := range got {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q holds a control character", got)
			}
		}
		if again := text.Strip(got); again != got {
			t.Fatalf("%q becomes %q when stripped again", got, again)
		}
		colored := text.StripButColors(s)
		if text.Strip(colored) != got {
			t.Fatalf("%q without its colours is not %q", colored, got)
		}
	})
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{`[{"a":1},{"b":"x"}]`, `{"a":[1,{"b":[]}]}`, `"x"`, `{`, `[[[1]]]`} {
		f.Add([]byte(s), 40)
	}
	f.Fuzz(func(t *testing.T, raw []byte, width int) {
		got := text.Render(raw, nil, kernelcontract.Render{Width: width})
		if text.Strip(got) != got {
			t.Fatalf("%q is not stripped", got)
		}
	})
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "👍": 2, "a\u200bb": 2, "ｱ": 1, "Ａ": 2} {
		t.Run(s, func(t *testing.T) { is.New(t).Equal(text.Width(s), want) })
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int]string{0: "a/b, 0 bytes", 1: "a/b, 1 byte", 999: "a/b, 999 bytes", 1000: "a/b, 1.0 kB", 1_250_000: "a/b, 1.2 MB", 999_999: "a/b, 1.0 MB", 3_000_000_000: "a/b, 3.0 GB"} {
		t.Run(want, func(t *testing.T) { is.New(t).Equal(text.Size("a/b", n), want) })
	}
}

type greeting struct {
	Message string   `json:"message"`
	Names   []string `json:"names"`
}

func method(t *testing.T, render func(greeting, kernelcontract.Render) string) *kernelcontract.MethodDef {
	t.Helper()
	s := &kernelcontract.Service{ID: "a/b", Summary: "s", Methods: []kernelcontract.Method{
		&kernelcontract.Query[kernelcontract.None, greeting]{Ref: "a/b.c", Summary: "s", RenderText: render},
	}}
	def, err := s.Def()
	if err != nil {
		t.Fatal(err)
	}
	return def.Methods[0]
}

func TestResult(t *testing.T) {
	own := func(g greeting, r kernelcontract.Render) string {
		if r.Color {
			return "\x1b[32m" + g.Message + "\x1b[0m\x1b[2J"
		}
		return "<" + g.Message + "\x1b[2J>"
	}
	for _, tt := range []struct {
		name   string
		render func(greeting, kernelcontract.Render) string
		v      any
		r      kernelcontract.Render
		want   string
	}{
		{"generic for a typed value", nil, greeting{Message: "hi"}, plain, "message: hi\nnames: (none)"},
		{"generic for JSON", nil, json.RawMessage(`{"message":"hi","names":["a"]}`), plain, "message: hi\nnames: a"},
		{"the author's for a typed value", own, greeting{Message: "hi"}, plain, "<hi>"},
		{"the author's for JSON", own, json.RawMessage(`{"message":"hi","names":[]}`), plain, "<hi>"},
		{"the author's colours stay", own, greeting{Message: "hi"}, kernelcontract.Render{Color: true}, "\x1b[32mhi\x1b[0m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			got, err := text.Result(method(t, tt.render), tt.v, tt.r)
			is.NoErr(err)
			is.Equal(got, tt.want)
		})
	}
	t.Run("a panic in RenderText is contained", func(t *testing.T) {
		is := is.New(t)
		_, err := text.Result(method(t, func(greeting, kernelcontract.Render) string { panic("boom") }), greeting{}, plain)
		is.Equal(kernelcontract.CodeOf(err), kernelcontract.Internal)
		is.True(!strings.Contains(err.Error(), "boom")) // for the log only
		is.True(strings.Contains(kernelcontract.AsError(err).Unwrap().Error(), "boom"))
	})
	t.Run("a value of another type", func(t *testing.T) {
		is := is.New(t)
		_, err := text.Result(method(t, own), 7, plain)
		is.Equal(kernelcontract.CodeOf(err), kernelcontract.Internal)
	})
	t.Run("JSON of another type", func(t *testing.T) {
		is := is.New(t)
		_, err := text.Result(method(t, own), json.RawMessage(`[]`), plain)
		is.Equal(kernelcontract.CodeOf(err), kernelcontract.Internal)
	})
}

func Example() {
	fmt.Println(text.Render(json.RawMessage(`[{"id":"1","text":"buy milk"},{"id":"2","text":"call"}]`), nil, kernelcontract.Render{Width: 40}))
	fmt.Println(text.Error(kernelcontract.NotFound.Errorf("there is no note 3"), kernelcontract.Render{}))
	// Output:
	// id  text
	// 1   buy milk
	// 2   call
	// not_found: there is no note 3
}

func BenchmarkRenderTable(b *testing.B) {
	var rows []map[string]any
	for i := range 100 {
		rows = append(rows, map[string]any{"id": i, "text": "some words in a cell", "at": "2026-01-02T03:04:05Z"})
	}
	raw, err := json.Marshal(rows)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("render", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			text.Render(raw, nil, kernelcontract.Render{Width: 80})
		}
	})
	b.Run("baseline=json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v []map[string]any
			_ = json.Unmarshal(raw, &v)
		}
	})
}

func BenchmarkStripClean(b *testing.B) {
	s := strings.Repeat("a line of clean text, é\n", 100)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		text.Strip(s)
	}
}
