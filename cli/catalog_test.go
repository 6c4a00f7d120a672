package cli_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/cli"
	"github.com/bb-kernel/bb/kernelcontract"
)

// TestCatalogCache proves when the server is asked for its words.
func TestCatalogCache(t *testing.T) {
	f := serve(t, demo()...)
	s := newShell(t, f.URL)
	t.Run("once", func(t *testing.T) {
		is := is.New(t)
		s.run("hello greet a")
		s.run("hello greet b")
		s.run("notes list")
		is.Equal(f.fetches.Load(), int64(1))
	})
	t.Run("help asks nobody", func(t *testing.T) {
		is := is.New(t)
		before := f.requests.Load()
		for _, line := range []string{"--help", "hello --help", "hello greet --help", "completion bash", "__complete -- hello g", "guide", "guide reference demo", "version"} {
			is.Equal(s.run(line).code, 0)
		}
		is.Equal(f.requests.Load(), before)
	})
	t.Run("an answer of another generation renews it", func(t *testing.T) {
		is := is.New(t)
		f.generation = 2
		before := f.fetches.Load()
		s.run("hello greet a")
		is.Equal(f.fetches.Load(), before+1)
		s.run("hello greet a")
		is.Equal(f.fetches.Load(), before+1)
	})
	t.Run("an unknown word asks once", func(t *testing.T) {
		is := is.New(t)
		before := f.fetches.Load()
		is.Equal(s.run("fresh word").code, 2)
		is.Equal(f.fetches.Load(), before+1)
	})
	t.Run("an unknown word that is new runs", func(t *testing.T) {
		is := is.New(t)
		m := &kernelcontract.Query[kernelcontract.None, string]{Ref: "new/fresh.word", Summary: "New"}
		f.set(append(demo(), kernelcontract.Implementation{
			Service:  &kernelcontract.Service{ID: "new/fresh", Summary: "New", Methods: []kernelcontract.Method{m}},
			Handlers: nil,
		})...)
		f.generation = 3
		is.Equal(s.run("fresh word --help").code, 0)
	})
	t.Run("an unknown flag asks once, and runs when it is new", func(t *testing.T) {
		is := is.New(t)
		before := f.fetches.Load()
		is.Equal(s.run("hello greet bb --nope").code, 2)
		is.Equal(f.fetches.Load(), before+1)
	})
	t.Run("another server has another cache", func(t *testing.T) {
		is := is.New(t)
		other := serve(t)
		r := s.run("hello greet bb --server " + other.URL)
		is.Equal(r.code, 2)
		is.Equal(s.run("hello greet bb").code, 0)
		is.Equal(s.run("hello greet bb --server "+strings.ToUpper(f.URL[:4])+f.URL[4:]+"/").code, 0) // the same URL
	})
	t.Run("a damaged cache counts as none", func(t *testing.T) {
		is := is.New(t)
		files, err := filepath.Glob(filepath.Join(s.home, "cache/catalogs/*/*/words-*.json"))
		is.NoErr(err)
		is.True(len(files) > 0)
		for _, file := range files {
			is.NoErr(os.WriteFile(file, []byte("{"), 0o600))
		}
		f.generation = 4
		is.Equal(s.run("hello greet bb").code, 0)
	})
	t.Run("an old catalog is removed", func(t *testing.T) {
		is := is.New(t)
		for g := uint64(10); g < 15; g++ {
			f.generation = g
			s.run("hello greet a")
		}
		dirs, err := filepath.Glob(filepath.Join(s.home, "cache/catalogs/*/c-*"))
		is.NoErr(err)
		is.True(len(dirs) <= 4) // the newest and the one before it, for two servers
	})
	t.Run("a cache that cannot be written is done without", func(t *testing.T) {
		is := is.New(t)
		blocked := newShell(t, f.URL)
		is.NoErr(os.WriteFile(filepath.Join(blocked.home, "cache"), nil, 0o600))
		is.Equal(blocked.run("hello greet bb").code, 0)
		is.Equal(blocked.run("helo").code, 2)
	})
}

// TestNoServer proves what is left without one.
func TestNoServer(t *testing.T) {
	s := newShell(t, "http://127.0.0.1:1")
	for _, line := range []string{"--help", "version", "completion bash", "completion --help", "--version", "__complete -- "} {
		t.Run("cold "+line, func(t *testing.T) {
			is := is.New(t)
			r := s.run(line)
			is.Equal(r.code, 0)
			if line == "--help" {
				is.True(strings.Contains(r.out, "The server's words are missing: no server can be reached at http://127.0.0.1:1"))
				is.True(strings.Contains(r.out, "completion"))
			}
		})
	}
	for _, line := range []string{"hello greet bb", "hello --help", "guide"} {
		t.Run("cold "+line, func(t *testing.T) {
			is := is.New(t)
			r := s.run(line)
			is.Equal(r.code, 4)
			is.True(strings.Contains(r.err, "http://127.0.0.1:1"))
			is.True(strings.Contains(r.err, "start one"))
		})
	}
	t.Run("warm", func(t *testing.T) {
		is := is.New(t)
		f := serve(t, demo()...)
		s := newShell(t, f.URL)
		f.chapters = json.RawMessage(`[{"pluginId":"demo","name":"intro","title":"Intro","text":"# Hi \u001b[31mred"}]`)
		s.run("hello greet bb")
		f.Close()
		is.Equal(s.run("hello greet --help").code, 0)
		is.Equal(s.run("guide intro").out, "# Hi red\n")
		is.True(strings.Contains(s.run("guide reference demo").out, "### bb hello greet"))
		is.Equal(s.run("hello greet bb").code, 4)
		is.Equal(s.run("helo").code, 2)
	})
	t.Run("not a kernel", func(t *testing.T) {
		is := is.New(t)
		web := httptest.NewServer(http.NotFoundHandler())
		defer web.Close()
		r := newShell(t, web.URL).run("hello greet bb")
		is.Equal(r.code, 4)
		is.True(strings.Contains(r.err, "not a kernel"))
	})
	t.Run("a manifest of another format", func(t *testing.T) {
		is := is.New(t)
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Bb-Call-Id", "1")
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"ok":true,"result":{"format":2}}`))
		}))
		defer web.Close()
		r := newShell(t, web.URL).run("hello greet bb")
		is.Equal(r.code, 1)
		is.True(strings.Contains(r.err, "format 2"))
	})
}

// TestHostileManifest proves that a word no definition could have is left out and breaks nothing.
func TestHostileManifest(t *testing.T) {
	for _, c := range []struct{ rule, word string }{
		{"flag with quotes", `{"ref":"a/b.c","kind":"query","groups":[["g"]],"name":"c","fields":[{"name":"x","form":"string","flag":"x\" short:\"h"}]}`},
		{"reserved flag", `{"ref":"a/b.c","kind":"query","groups":[["g"]],"name":"c","fields":[{"name":"x","form":"string","flag":"json"}]}`},
		{"two fields with one flag", `{"ref":"a/b.c","kind":"query","groups":[["g"]],"name":"c","fields":[{"name":"x","form":"string","flag":"x"},{"name":"y","form":"string","flag":"x"}]}`},
		{"short flag of two letters", `{"ref":"a/b.c","kind":"query","groups":[["g"]],"name":"c","fields":[{"name":"x","form":"string","flag":"x","short":"xy"}]}`},
		{"no group", `{"ref":"a/b.c","kind":"query","groups":[],"name":"c","fields":[]}`},
		{"deep group", `{"ref":"a/b.c","kind":"query","groups":[["a","b","c"]],"name":"c","fields":[]}`},
		{"name with a space", `{"ref":"a/b.c","kind":"query","groups":[["g"]],"name":"c d","fields":[]}`},
		{"not a ref", `{"ref":"../x","kind":"query","groups":[["g"]],"name":"c","fields":[]}`},
		{"empty choice", `{"ref":"a/b.c","kind":"query","groups":[["g"]],"name":"c","fields":[{"name":"x","form":"enum","flag":"x","choices":[]},{"name":"y","form":"enum","flag":"y","choices":[""]}]}`},
		{"nameless secret", `{"ref":"a/b.c","kind":"query","groups":[["g"]],"name":"c","fields":[{"name":"","form":"string","flag":"x","secret":true,"required":true}]}`},
		{"not a word", `"x"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Bb-Call-Id", "1")
				w.Header().Set("Content-Type", "application/json")
				w.Write([]byte(`{"ok":true,"result":{"format":1,"plugins":[{"id":"a","services":[{"id":"a/b","group":["g"],"methods":[{"cli":` + c.word + `}]}]}]}}`))
			}))
			defer web.Close()
			s := newShell(t, web.URL)
			r := s.run("--help")
			is.Equal(r.code, 0)
			s.run("g c")
			s.run("g c --x=1 --y=2")
			s.run("__complete -- g c --y ")
			s.run("g c --help")
		})
	}
}

// TestGuide proves the guide.
func TestGuide(t *testing.T) {
	f := serve(t, demo()...)
	f.chapters = json.RawMessage(`[{"pluginId":"demo","name":"intro","title":"Introduction","text":"# Hi"},{"pluginId":"other","name":"more","title":"More","text":"more"}]`)
	s := newShell(t, f.URL)
	t.Run("contents", func(t *testing.T) {
		is := is.New(t)
		out := s.run("guide").out
		is.True(strings.Contains(out, "intro  Introduction (demo)"))
		is.True(strings.Contains(s.run("guide --json").out, `"name": "intro"`))
	})
	t.Run("chapter", func(t *testing.T) {
		is := is.New(t)
		is.Equal(s.run("guide intro").out, "# Hi\n")
		is.Equal(s.run("guide other/more").out, "more\n")
		r := s.run("guide intr")
		is.Equal(r.code, 3)
		is.True(strings.Contains(r.err, "did you mean intro?"))
	})
	t.Run("reference", func(t *testing.T) {
		is := is.New(t)
		out := s.run("guide reference demo").out
		is.True(strings.HasPrefix(out, "## demo/greeter — Greet by name\n### bb hello greet  (query)\n"))
		is.True(strings.Contains(s.run("guide reference demo --json").out, `"pluginId": "demo"`))
		r := s.run("guide reference dem")
		is.Equal(r.code, 3)
		is.True(strings.Contains(r.err, "did you mean demo?"))
		is.Equal(s.run("guide reference").code, 2)
	})
	t.Run("no chapters", func(t *testing.T) {
		is := is.New(t)
		is.True(strings.Contains(newShell(t, serve(t).URL).run("guide").out, "no chapters"))
	})
}

func TestVersion(t *testing.T) {
	is := is.New(t)
	f := serve(t, demo()...)
	s := newShell(t, f.URL)
	is.Equal(s.run("--version").out, "bb v0.0.0-test\n")
	is.Equal(s.run("hello greet bb --version").out, "bb v0.0.0-test\n")
	is.Equal(s.run("version").out, "bb v0.0.0-test\nserver "+f.URL+": id server-1, generation 1\n")
	is.True(strings.Contains(s.run("version --json").out, `"serverId": "server-1"`))
	cold := newShell(t, "http://127.0.0.1:1")
	is.True(strings.Contains(cold.run("version --json").out, `"server": null`))
}

// TestLogin proves where tokens come from and go.
func TestLogin(t *testing.T) {
	f := serve(t, demo()...)
	f.token = "bbt_good"
	s := newShell(t, f.URL)
	stored := func() []string {
		files, _ := filepath.Glob(filepath.Join(s.home, "config/tokens/*"))
		return files
	}
	t.Run("without a token", func(t *testing.T) {
		is := is.New(t)
		r := s.run("hello greet bb")
		is.Equal(r.code, 4)
		is.True(strings.Contains(r.err, "bb login"))
	})
	t.Run("a bad token is not stored", func(t *testing.T) {
		is := is.New(t)
		s.stdin = "bbt_bad\n"
		is.Equal(s.run("login").code, 4)
		is.Equal(len(stored()), 0)
		s.stdin = "\n"
		is.Equal(s.run("login").code, 2)
	})
	t.Run("standard input", func(t *testing.T) {
		is := is.New(t)
		s.stdin = "bbt_good\n"
		r := s.run("login " + f.URL)
		is.Equal(r.code, 0)
		is.Equal(len(stored()), 1)
		info, err := os.Stat(stored()[0])
		is.NoErr(err)
		if runtime.GOOS != "windows" {
			is.Equal(info.Mode().Perm(), os.FileMode(0o600))
		}
		is.True(!strings.Contains(r.out+r.err, "bbt_good"))
		is.Equal(s.run("hello greet bb").code, 0)
	})
	t.Run("only to its origin", func(t *testing.T) {
		is := is.New(t)
		other := serve(t, demo()...)
		is.Equal(s.run("hello greet bb --server "+other.URL).code, 0)
		is.Equal(other.last.Header.Get("Authorization"), "")
	})
	t.Run("the environment wins", func(t *testing.T) {
		is := is.New(t)
		s.env["BB_TOKEN"] = "bbt_other"
		is.Equal(s.run("hello greet bb").code, 4)
		delete(s.env, "BB_TOKEN")
	})
	t.Run("a file that others can read is refused", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			return // modes say nothing there
		}
		is := is.New(t)
		is.NoErr(os.Chmod(stored()[0], 0o644))
		r := s.run("hello greet bb")
		is.Equal(r.code, 4)
		is.True(strings.Contains(r.err, "chmod 600"))
		is.NoErr(os.Chmod(stored()[0], 0o600))
	})
	t.Run("a damaged file is refused", func(t *testing.T) {
		is := is.New(t)
		good, err := os.ReadFile(stored()[0])
		is.NoErr(err)
		for _, bad := range []string{"{", `{"origin":"http://elsewhere","token":"bbt_good"}`} {
			is.NoErr(os.WriteFile(stored()[0], []byte(bad), 0o600))
			r := s.run("hello greet bb")
			is.Equal(r.code, 4)
			is.True(strings.Contains(r.err, "damaged"))
		}
		is.NoErr(os.WriteFile(stored()[0], good, 0o600))
	})
	t.Run("forget", func(t *testing.T) {
		is := is.New(t)
		is.Equal(s.run("login --forget").code, 0)
		is.Equal(len(stored()), 0)
		is.Equal(s.run("hello greet bb").code, 4)
	})
	t.Run("prompt without echo", func(t *testing.T) {
		is := is.New(t)
		s.term = cli.Terminal{Stdin: true, Stderr: true, ReadSecret: func() (string, error) { return "bbt_good", nil }}
		r := s.run("login")
		is.Equal(r.code, 0)
		is.Equal(r.err, "Token for "+f.URL+": \n")
	})
	t.Run("plain HTTP to another machine", func(t *testing.T) {
		is := is.New(t)
		s.env["BB_TOKEN"] = "bbt_x"
		s.o.HTTP = &http.Client{Transport: nobody{}}
		r := s.run("hello greet bb --server http://192.0.2.1:1")
		is.Equal(r.code, 4) // the token of another origin does not go there; nobody answers
		s.env["BB_SERVER_URL"] = "http://192.0.2.1:1"
		r = s.run("hello greet bb")
		is.Equal(r.code, 2)
		is.True(strings.Contains(r.err, "--insecure"))
	})
}

// nobody is a network without servers.
type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// TestComplete proves what completion offers.
func TestComplete(t *testing.T) {
	f := serve(t, demo()...)
	f.chapters = json.RawMessage(`[{"pluginId":"demo","name":"intro","title":"Introduction","text":"# Hi"}]`)
	s := newShell(t, f.URL)
	s.run("hello greet bb")
	for _, c := range []struct{ rule, args, want string }{
		{"groups and words", "__complete||--||", "hello hi settings notes completion guide login mcp version"},
		{"prefix", "__complete||--||he", "hello"},
		{"words of a group", "__complete||--||hello||", "greet hail count fail"},
		{"words of a second level", "__complete||--||settings||con", "config"},
		{"below it", "__complete||--||settings||config||", "get"},
		{"flags", "__complete||--||hello||greet||--s", "--salutation --server"},
		{"a used flag is gone", "__complete||--||hello||greet||--salutation=x||--sa", ""},
		{"a repeated flag stays", "__complete||--||settings||apply||--tags||x||--ta", "--tags"},
		{"choices of a flag", "__complete||--||settings||apply||--level||", "low high"},
		{"choices of a short flag", "__complete||--||settings||apply||-l||h", "high"},
		{"choices after an equals sign", "__complete||--||settings||apply||--level=", "--level=low --level=high"},
		{"choices of a positional", "__complete||--||completion||", "bash zsh fish powershell"},
		{"global flags first", "__complete||--||--json||hello||gr", "greet"},
		{"global flags", "__complete||--||--ins", "--insecure"},
		{"chapters", "__complete||--||guide||", "reference intro"},
		{"plugins", "__complete||--||guide||reference||", "demo"},
		{"conditional flags", "__complete||--||notes||remove||x||--y", "--yes"},
		{"after the end of flags", "__complete||--||hello||greet||--||-", ""},
		{"nothing to say", "__complete||--||hello||greet||", ""},
		{"unknown group", "__complete||--||nope||", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			r := s.exec(strings.Split(c.args, "||")...)
			is.Equal(r.code, 0)
			is.Equal(r.err, "")
			var got []string
			for line := range strings.Lines(r.out) {
				name, _, _ := strings.Cut(line, "\t")
				got = append(got, name)
			}
			is.Equal(strings.Join(got, " "), c.want)
		})
	}
	t.Run("scripts call the hidden word", func(t *testing.T) {
		is := is.New(t)
		for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
			r := s.run("completion " + shell)
			is.Equal(r.code, 0)
			is.True(strings.Contains(r.out, "__complete --"))
		}
		r := s.run("completion tcsh")
		is.Equal(r.code, 2)
	})
}

// TestBashCompletes runs the bash script where there is a bash.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		return
	}
	is := is.New(t)
	s := newShell(t, serve(t, demo()...).URL)
	script := s.run("completion bash").out
	program := script + `
bb() { printf '%s\t\n' "--level=high"; }
COMP_WORDS=(bb settings apply --level = h)
COMP_CWORD=5
_bb_complete
echo "${COMPREPLY[@]}"
`
	out, err := exec.Command(bash, "-c", program).CombinedOutput()
	is.NoErr(err)
	is.Equal(string(out), "high\n")
}
