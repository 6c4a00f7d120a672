package cli_test

import (
	"context"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/cli"
	"github.com/bb-kernel/bb/kernelcontract"
)

// TestPaths proves which word a command line names.
func TestPaths(t *testing.T) {
	s := newShell(t, serve(t, demo()...).URL)
	for _, c := range []struct{ rule, line, want string }{
		{"group and word", "hello greet bb", "Hello, bb!"},
		{"alias of the word", "hello hail bb", "Hello, bb!"},
		{"alias of the group", "hi greet bb", "Hello, bb!"},
		{"two levels", "settings config get", "deep"},
		{"top level", "notes", "fine"},
		{"group beside a word of its name", "notes follow --limit 1", "note 1"},
		{"hidden word", "hello shout bb --json", "{\n  \"message\": \"LOUD bb\",\n  \"count\": 0\n}"},
		{"hidden word of the top level", "obscure", "seen"},
		{"flag alias", "hello greet bb --loud --json", "{\n  \"message\": \"LOUD bb\",\n  \"count\": 0\n}"},
		{"flag alias before the argument", "hello greet --loud bb --json", "{\n  \"message\": \"LOUD bb\",\n  \"count\": 0\n}"},
		{"global flags first", "--no-color hello --json=false greet bb", "Hello, bb!"},
		{"flags after positionals", "hello greet bb --salutation Hi", "Hi, bb!"},
		{"end of flags", "hello greet -- --loud", "Hello, --loud!"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			r := s.run(c.line)
			is.Equal(r, result{0, c.want + "\n", ""})
		})
	}
}

// TestUsageErrors proves that each misuse exits 2 and says what may have been meant.
func TestUsageErrors(t *testing.T) {
	s := newShell(t, serve(t, demo()...).URL)
	for _, c := range []struct{ rule, line, want string }{
		{"unknown group", "helo greet bb", `there is no word "bb helo"; did you mean "bb hello"?`},
		{"unknown word", "hello gret bb", `there is no word "bb hello gret"; did you mean "bb hello greet"?`},
		{"unknown word of a second level", "settings config set", `did you mean "bb settings config get"?`},
		{"unknown flag", "hello greet bb --salutatoin x", "unknown flag --salutatoin; did you mean --salutation?"},
		{"unknown global flag", "--jsn", "unknown flag --jsn; did you mean --json?"},
		{"missing argument", "hello greet", "<name> is missing"},
		{"extra argument", "hello greet a b", `unexpected word "b"`},
		{"wrong value", "settings apply --big x", `--big: "x" is not an integer`},
		{"wrong choice", "settings apply --level hgh", "did you mean high?"},
		{"repeated flag", "hello greet a --salutation x --salutation y", "--salutation: is given 2 times"},
		{"bad URL", "hello greet bb --server ftp://x", "does not begin with http"},
		{"no thread", "settings apply --self", "there is no current thread"},
		{"unknown word that nothing is near", "hello xyzzy", `there is no word "bb hello xyzzy"; ` + "`bb hello --help` lists the words of the group"},
		{"help that is no switch", "hello count bb --help=me", `--help: "me" is not true or false`},
		{"token", "hello greet bb --token x", "a token never travels on the command line"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			r := s.run(c.line)
			is.Equal(r.code, 2)
			is.Equal(r.out, "")
			if !strings.Contains(r.err, c.want) {
				t.Errorf("got %q, want %q in it", r.err, c.want)
			}
			r = s.run(c.line + " --json")
			is.Equal(r.code, 2)
			if !strings.HasPrefix(c.line, "--jsn") {
				is.True(strings.Contains(r.out, `"code": "invalid_input"`)) // on standard output
			}
		})
	}
}

// TestBare proves that a command line without a word shows help and exits 2.
func TestBare(t *testing.T) {
	s := newShell(t, serve(t, demo()...).URL)
	for line, want := range map[string]string{"": "Usage: bb <group>", "hello": "Usage: bb hello <word>", "settings config": "Usage: bb settings config <word>"} {
		t.Run(line, func(t *testing.T) {
			is := is.New(t)
			r := s.run(line)
			is.Equal(r.code, 2)
			is.True(strings.HasPrefix(r.err, want))
			for _, help := range []string{line + " --help", line + " -h", "help " + line} {
				r = s.run(help)
				is.Equal(r.code, 0)
				is.True(strings.HasPrefix(r.out, want))
			}
		})
	}
}

// TestHelp proves what help shows.
func TestHelp(t *testing.T) {
	s := newShell(t, serve(t, demo()...).URL)
	t.Run("top", func(t *testing.T) {
		is := is.New(t)
		out := s.run("--help").out
		is.True(strings.Contains(out, "hello, hi  Greet by name: greet, count, fail\n"))
		is.True(!strings.Contains(out, "shout")) // hidden
		is.True(!strings.Contains(out, "obscure"))
		is.True(strings.Contains(out, "notes  Show a status (also: remove, file, f")) // the group is folded into the word
		is.Equal(strings.Count(out, "\n  notes"), 1)
	})
	t.Run("group shows hidden words", func(t *testing.T) {
		is := is.New(t)
		out := s.run("hello --help").out
		is.True(strings.Contains(out, "greet, hail  Greet someone by name"))
		is.True(strings.Contains(out, "shout        Shout"))
		is.True(strings.Contains(s.run("settings --help").out, "config get"))
	})
	t.Run("word", func(t *testing.T) {
		is := is.New(t)
		out := s.run("hello greet --help").out
		is.True(strings.HasPrefix(out, "Usage: bb hello greet <name> [--salutation <string>]\nGreet someone by name\n"))
		is.True(strings.Contains(out, "The word before the name (default: Hello)"))
		is.True(strings.Contains(out, "  bb hello greet bb  # greets"))
		is.True(!strings.Contains(out, "\n\n"))
		is.True(strings.Contains(s.run("notes remove --help").out, "needs --yes elsewhere"))
	})
	t.Run("among grouped switches", func(t *testing.T) {
		is := is.New(t)
		r := s.run("settings apply -lh")
		is.Equal(r.code, 2) // -l takes a value
		r = s.run("settings apply -hl=low")
		is.Equal(r.code, 0)
		is.True(strings.HasPrefix(r.out, "Usage: bb settings apply "))
	})
	t.Run("fitted to the width", func(t *testing.T) {
		s.env["COLUMNS"] = "50"
		for line := range strings.SplitSeq(s.run("hello greet --help").out, "\n") {
			if len(line) > 70 {
				t.Errorf("%d columns: %s", len(line), line)
			}
		}
	})
}

// TestValues proves what reaches the server.
func TestValues(t *testing.T) {
	f := serve(t, demo()...)
	s := newShell(t, f.URL)
	if err := os.WriteFile(filepath.Join(s.home, "c.json"), []byte(` {"a": 1} `), 0o600); err != nil {
		t.Fatal(err)
	}
	s.stdin = `{"b": 2}`
	s.env["BB_THREAD_ID"] = "t1"
	for _, c := range []struct{ rule, args, want string }{
		{"nothing is made up", "", `{}`},
		{"schema order", "--big 9007199254740993 -l high", `{"level":"high","big":9007199254740993}`},
		{"repeated and map", "--tags a --tags b --labels k=v=w", `{"tags":["a","b"],"labels":{"k":"v=w"}}`},
		{"file", "--config @c.json", `{"config":{"a":1}}`},
		{"standard input", "--config -", `{"config":{"b":2}}`},
		{"whole input, flags override", `--input {"big":1,"loud":true} --big 2`, `{"big":2,"loud":true}`},
		{"whole input from a file", "--input @c.json", `{"a":1}`},
		{"self", "--self", `{"thread":"t1"}`},
		{"host", "--host laptop", `{"hostId":"laptop"}`},
		{"switch off", "--loud=false", `{"loud":false}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			s.run("settings apply " + c.args)
			is.Equal(f.body, c.want)
		})
	}
	t.Run("context", func(t *testing.T) {
		is := is.New(t)
		s.run("settings apply")
		is.Equal(f.last.Header.Get("x-bb-context"), `{"threadId":"t1","cwd":"`+s.home+`"}`)
		s.run("hello greet bb")
		is.Equal(f.last.Header.Get("x-bb-context"), `{"threadId":"t1"}`) // no field takes the working directory
	})
	t.Run("too large", func(t *testing.T) {
		is := is.New(t)
		s.stdin = `{"a":"` + strings.Repeat("x", cli.MaxInput) + `"}`
		r := s.run("settings apply --config -")
		is.Equal(r.code, 2)
		is.True(strings.Contains(r.err, "more than 1 MiB"))
	})
	t.Run("no such file", func(t *testing.T) {
		is := is.New(t)
		r := s.run("settings apply --config @gone.json")
		is.Equal(r.code, 2)
		is.True(strings.Contains(r.err, "gone.json"))
	})
}

// TestDestructive proves the confirmation.
func TestDestructive(t *testing.T) {
	f := serve(t, demo()...)
	s := newShell(t, f.URL)
	s.run("--help")
	tty := cli.Terminal{Stdin: true, Stderr: true}
	for _, c := range []struct {
		rule        string
		term        cli.Terminal
		stdin, args string
		code        int
		called      int64
	}{
		{"refused without a terminal", cli.Terminal{}, "y\n", "", 2, 0},
		{"yes flag", cli.Terminal{}, "", "--yes", 0, 1},
		{"yes", tty, "y\n", "", 0, 1},
		{"no", tty, "n\n", "", 1, 0},
		{"nothing", tty, "\n", "", 1, 0},
		{"end of input", tty, "", "", 1, 0},
		{"yes flag on a terminal", tty, "", "--yes", 0, 1},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			s.term, s.stdin = c.term, c.stdin
			before := f.requests.Load()
			r := s.run("notes remove n1 " + c.args)
			is.Equal(r.code, c.code)
			is.Equal(f.requests.Load()-before, c.called)
			if c.code == 2 {
				is.True(strings.Contains(r.err, "refusing without --yes"))
			}
			if c.term.Stdin && c.args == "" {
				is.True(strings.HasPrefix(r.err, "bb notes remove n1 is destructive. Do it? [y/N] "))
				is.True(!strings.Contains(r.out, "Do it?"))
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		is := is.New(t)
		s.term = tty
		ctx, cancel := context.WithCancel(context.Background())
		var errs strings.Builder
		o := s.options(io.Discard, writerFunc(func(p []byte) (int, error) {
			if strings.Contains(string(p), "[y/N]") {
				cancel()
			}
			return errs.Write(p)
		}))
		in, _ := io.Pipe() // nobody ever answers
		o.Stdin = in
		defer in.Close()
		is.Equal(cli.Main(ctx, []string{"notes", "remove", "n1"}, o), 130)
	})
}

// TestSecretValue proves that a secret comes from standard input or a prompt and never from an argument.
func TestSecretValue(t *testing.T) {
	f := serve(t, demo()...)
	s := newShell(t, f.URL)
	t.Run("standard input", func(t *testing.T) {
		is := is.New(t)
		s.stdin = "hush\n"
		is.Equal(s.run("settings keep key").code, 0)
		is.Equal(f.body, `{"name":"key","value":"hush"}`)
	})
	t.Run("prompt without echo", func(t *testing.T) {
		is := is.New(t)
		s.term = cli.Terminal{Stdin: true, Stderr: true, ReadSecret: func() (string, error) { return "typed", nil }}
		r := s.run("settings keep key")
		is.Equal(r.code, 0)
		is.Equal(f.body, `{"name":"key","value":"typed"}`)
		is.Equal(r.err, "Value: \n")
	})
	t.Run("no flag", func(t *testing.T) {
		is := is.New(t)
		is.Equal(s.run("settings keep key --value x").code, 2)
	})
	t.Run("not inside --input", func(t *testing.T) {
		is := is.New(t)
		r := s.run(`settings keep --input {"name":"key","value":"x"}`)
		is.Equal(r.code, 2)
		is.True(strings.Contains(r.err, "is a secret"))
		s.term, s.stdin = cli.Terminal{}, `{"name":"key","value":"x"}`
		is.Equal(s.run("settings keep --input -").code, 0)
	})
}

// TestOfflineWords proves that words run without a server.
func TestOfflineWords(t *testing.T) {
	hidden := &kernelcontract.Query[greetInput, greetOutput]{Ref: "local/tool.online", Summary: "Needs a server"}
	local := &kernelcontract.Query[greetInput, greetOutput]{Ref: "local/tool.greet", Summary: "Greet here",
		CLI: kernelcontract.CLI{Args: []string{"name"}, Offline: true}, Errors: map[kernelcontract.Code]kernelcontract.ErrorDef{muted: {Like: kernelcontract.Forbidden}}}
	service := &kernelcontract.Service{ID: "local/tool", Summary: "Local", Methods: []kernelcontract.Method{local, hidden}}
	var seen kernelcontract.Principal
	s := newShell(t, "http://127.0.0.1:1")
	s.o.Offline = []kernelcontract.Implementation{{Service: service, Handlers: []kernelcontract.Handler{
		local.Handle(func(ctx context.Context, in greetInput) (greetOutput, error) {
			seen = kernelcontract.CallFrom(ctx).Principal
			switch in.Name {
			case "panic":
				panic("boom")
			case "muted":
				return greetOutput{}, muted.Errorf("quiet")
			}
			return greetOutput{Message: in.Salutation + ", " + in.Name}, nil
		})}}}
	for _, c := range []struct {
		rule, line string
		code       int
		want       string
	}{
		{"runs with defaults", "tool greet bb", 0, "message: Hello, bb\ncount: 0\n"},
		{"json", "tool greet bb --json", 0, "{\n  \"message\": \"Hello, bb\",\n  \"count\": 0\n}\n"},
		{"declared code", "tool greet muted", 7, ""},
		{"panic", "tool greet panic", 1, ""},
		{"unknown key", `tool greet --input {"name":"a","x":1}`, 2, ""},
		{"a method without Offline is the server's", "tool online", 4, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			r := s.run(c.line)
			is.Equal(r.code, c.code)
			is.Equal(r.out, c.want)
		})
	}
	is := is.New(t)
	is.Equal(seen, kernelcontract.Principal{Actor: "user:local", Via: kernelcontract.ViaOffline})
	is.True(strings.Contains(s.run("--help").out, "tool        Local: greet\n") || strings.Contains(s.run("--help").out, "tool  Local: greet\n"))
}

// panicky is an item whose own code panics.
type panicky struct{}

func (panicky) MarshalJSON() ([]byte, error)     { panic("boom") }
func (*panicky) UnmarshalJSON([]byte) error      { return nil }
func (panicky) JSONSchemaBytes() ([]byte, error) { return []byte(`{"type":"object"}`), nil }

// TestOfflineCodeThatPanics proves that code of the embedder does not take the program along, wherever it panics.
func TestOfflineCodeThatPanics(t *testing.T) {
	one := &kernelcontract.Query[kernelcontract.None, panicky]{Ref: "local/tool.one", Summary: "One", CLI: kernelcontract.CLI{Offline: true}}
	many := &kernelcontract.Stream[kernelcontract.None, panicky]{Ref: "local/tool.many", Summary: "Many", CLI: kernelcontract.CLI{Offline: true}}
	service := &kernelcontract.Service{ID: "local/tool", Summary: "Local", Methods: []kernelcontract.Method{one, many}}
	s := newShell(t, "http://127.0.0.1:1")
	s.o.Offline = []kernelcontract.Implementation{{Service: service, Handlers: []kernelcontract.Handler{
		one.Handle(func(context.Context, kernelcontract.None) (panicky, error) { return panicky{}, nil }),
		many.Handle(func(context.Context, kernelcontract.None) (iter.Seq2[panicky, error], error) {
			return func(yield func(panicky, error) bool) {
				defer panic("again, when nobody listens")
				yield(panicky{}, nil)
			}, nil
		}),
	}}}
	for _, line := range []string{"tool one", "tool one --json", "tool many", "tool many --json"} {
		t.Run(line, func(t *testing.T) {
			is := is.New(t)
			r := s.run(line)
			is.Equal(r.code, 1)
			is.True(strings.Contains(r.out+r.err, "panicked"))
		})
	}
}

// TestOfflineIssuesAreSorted proves that the same mistakes are told in the same order.
func TestOfflineIssuesAreSorted(t *testing.T) {
	is := is.New(t)
	local := &kernelcontract.Query[greetInput, greetOutput]{Ref: "local/tool.greet", Summary: "Greet here", CLI: kernelcontract.CLI{Offline: true}}
	service := &kernelcontract.Service{ID: "local/tool", Summary: "Local", Methods: []kernelcontract.Method{local}}
	s := newShell(t, "http://127.0.0.1:1")
	s.o.Offline = []kernelcontract.Implementation{{Service: service, Handlers: []kernelcontract.Handler{
		local.Handle(func(context.Context, greetInput) (greetOutput, error) { return greetOutput{}, nil })}}}
	r := s.run(`tool greet --input {"f":1,"b":1,"e":1,"a":1,"d":1,"c":1,"name":"x"}`)
	is.Equal(r.code, 2)
	var got string
	for _, line := range strings.Split(r.err, "\n") {
		if key, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && len(key) == 1 {
			got += key
		}
	}
	is.Equal(got, "abcdef")
}
