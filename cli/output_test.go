package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/cli"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
)

// TestExitStatus proves the status of each code of the table, for people and under --json.
func TestExitStatus(t *testing.T) {
	s := newShell(t, serve(t, demo()...).URL)
	for _, row := range kernelcontract.Table() {
		t.Run(string(row.Code), func(t *testing.T) {
			is := is.New(t)
			r := s.run("hello fail " + string(row.Code))
			is.Equal(r.code, row.Exit)
			is.Equal(r.out, "")
			is.True(strings.HasPrefix(r.err, string(row.Code)+": because of"))
			r = s.run("hello fail --json " + string(row.Code))
			is.Equal(r.code, row.Exit)
			is.Equal(r.err, "")
			var f struct {
				OK    *bool
				Error struct{ Code kernelcontract.Code }
			}
			is.NoErr(json.Unmarshal([]byte(r.out), &f))
			is.Equal(*f.OK, false)
			is.Equal(f.Error.Code, row.Code)
		})
	}
	t.Run("declared code", func(t *testing.T) {
		is := is.New(t)
		is.Equal(s.run("hello fail muted").code, 7) // like forbidden
	})
	t.Run("success", func(t *testing.T) { is.New(t).Equal(s.run("hello greet bb").code, 0) })
}

// TestOutput proves what goes where.
func TestOutput(t *testing.T) {
	f := serve(t, demo()...)
	s := newShell(t, f.URL)
	t.Run("text", func(t *testing.T) {
		is := is.New(t)
		is.Equal(s.run("hello greet bb"), result{0, "Hello, bb!\n", ""})
	})
	t.Run("json is the bare result, pretty, integers exact", func(t *testing.T) {
		is := is.New(t)
		is.Equal(s.run("hello greet bb --json").out, "{\n  \"message\": \"Hello, bb!\",\n  \"count\": 9007199254740993\n}\n")
	})
	t.Run("stream as text", func(t *testing.T) {
		is := is.New(t)
		is.Equal(s.run("notes follow --limit 2"), result{0, "note 1\nnote 2\n", ""})
	})
	t.Run("stream as one line an item", func(t *testing.T) {
		is := is.New(t)
		is.Equal(s.run("notes follow --limit 2 --json").out, "{\"id\":\"1\",\"text\":\"t\"}\n{\"id\":\"2\",\"text\":\"t\"}\n")
	})
	t.Run("failure of a stream is one line", func(t *testing.T) {
		is := is.New(t)
		r := s.run("notes once --limit=-1 --json")
		is.Equal(r.code, 3)
		is.Equal(strings.Count(r.out, "\n"), 1)
		is.True(strings.HasPrefix(r.out, `{"ok":false,"error":{"code":"not_found"`))
	})
	t.Run("empty results say so", func(t *testing.T) {
		is := is.New(t)
		is.True(strings.TrimSpace(s.run("notes list").out) != "")
		is.Equal(s.run("notes list --json").out, "[]\n")
	})
	t.Run("what the server is told", func(t *testing.T) {
		is := is.New(t)
		s.run("hello greet bb")
		is.Equal(f.last.Header.Get("X-BB-Client"), "cli/pipe")
		is.Equal(f.last.Header.Get("Bb-Render"), "text; width=1000; color=0; tty=0") // nothing is cut for a pipe
		s.env["COLUMNS"] = "60"
		s.run("hello greet bb")
		is.Equal(f.last.Header.Get("Bb-Render"), "text; width=60; color=0; tty=0")
		delete(s.env, "COLUMNS")
		s.run("hello greet bb --json")
		is.Equal(f.last.Header.Get("Bb-Render"), "")
	})
}

// TestColour proves that colour is for terminals that want it.
func TestColour(t *testing.T) {
	f := serve(t, demo()...)
	for _, c := range []struct {
		rule string
		tty  bool
		env  string
		args string
		want string
	}{
		{"terminal", true, "", "", "text; width=90; color=1; tty=1"},
		{"pipe", false, "", "", "text; width=1000; color=0; tty=0"},
		{"NO_COLOR", true, "NO_COLOR", "", "text; width=90; color=0; tty=1"},
		{"flag", true, "", "--no-color", "text; width=90; color=0; tty=1"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			s := newShell(t, f.URL)
			s.term = cli.Terminal{Stdout: c.tty, Width: 90}
			s.env[c.env] = "1"
			s.run("hello greet bb " + c.args)
			is.Equal(f.last.Header.Get("Bb-Render"), c.want)
		})
	}
}

// TestForeignControlSequences proves that the terminal obeys nobody but the renderer's colours.
func TestForeignControlSequences(t *testing.T) {
	s := newShell(t, serve(t, demo()...).URL)
	t.Run("pipe", func(t *testing.T) {
		is := is.New(t)
		is.Equal(s.run("notes foreign").out, "red text\n")
	})
	t.Run("terminal keeps colours", func(t *testing.T) {
		is := is.New(t)
		s.term = cli.Terminal{Stdout: true}
		is.Equal(s.run("notes foreign").out, "\x1b[31mred\x1b[0m text\n")
		is.Equal(s.run("notes foreign --no-color").out, "red text\n")
	})
	t.Run("json escapes", func(t *testing.T) {
		is := is.New(t)
		is.Equal(s.run("notes foreign --json").out, `"raw:\u009b31m"`+"\n")
	})
	t.Run("words of a manifest", func(t *testing.T) {
		is := is.New(t)
		impls := demo()
		impls[0].Service.Summary = "Greet \x1b]52;c;eA==\x07 all"
		r := newShell(t, serve(t, impls...).URL).run("--help")
		is.True(strings.Contains(r.out, "Greet all"))
		is.True(!strings.Contains(r.out, "\x1b"))
	})
}

// TestBytes proves where a file goes.
func TestBytes(t *testing.T) {
	f := serve(t, demo()...)
	s := newShell(t, f.URL)
	want := "\x89P\x00\xff"
	t.Run("raw to a pipe", func(t *testing.T) {
		is := is.New(t)
		is.Equal(s.run("notes file"), result{0, want, ""})
		is.Equal(f.last.URL.RawQuery, "$raw=1")
	})
	t.Run("to a file", func(t *testing.T) {
		is := is.New(t)
		r := s.run("notes file --output x.png")
		is.Equal(r.code, 0)
		is.Equal(r.out, "")
		content, err := os.ReadFile(filepath.Join(s.home, "x.png"))
		is.NoErr(err)
		is.Equal(string(content), want)
		is.Equal(s.run("notes file --output no/such/dir").code, 1)
	})
	t.Run("through no link of others, leaving nothing beside it", func(t *testing.T) {
		is := is.New(t)
		dir := filepath.Join(s.home, "shared")
		is.NoErr(os.Mkdir(dir, 0o700))
		victim := filepath.Join(s.home, "victim")
		is.NoErr(os.WriteFile(victim, []byte("mine"), 0o600))
		is.NoErr(os.Symlink(victim, filepath.Join(dir, "x.png.bb-part")))
		is.Equal(s.run("notes file --output shared/x.png").code, 0)
		content, err := os.ReadFile(victim)
		is.NoErr(err)
		is.Equal(string(content), "mine")
		entries, err := os.ReadDir(dir)
		is.NoErr(err)
		is.Equal(len(entries), 2) // the file and the link
	})
	t.Run("as JSON", func(t *testing.T) {
		is := is.New(t)
		is.True(strings.Contains(s.run("notes file --json").out, `"mimeType": "image/png"`))
	})
	t.Run("refused on a terminal, before the call", func(t *testing.T) {
		is := is.New(t)
		s.term.Stdout = true
		defer func() { s.term.Stdout = false }()
		before := f.requests.Load()
		r := s.run("notes file")
		is.Equal(r.code, 2)
		is.True(strings.Contains(r.err, "--output"))
		is.Equal(f.requests.Load(), before)
		is.Equal(s.run("notes file --output x.png").code, 0)
		is.Equal(s.run("notes file --json").code, 0)
	})
}

// closedPipe fails like a pipe that nobody reads after n writes.
type closedPipe struct {
	n   int
	got bytes.Buffer
}

func (c *closedPipe) Write(p []byte) (int, error) {
	if c.n == 0 {
		return 0, io.ErrClosedPipe
	}
	c.n--
	return c.got.Write(p)
}

func TestClosedPipeEndsQuietly(t *testing.T) {
	is := is.New(t)
	s := newShell(t, serve(t, demo()...).URL)
	out, errs := &closedPipe{n: 1}, &bytes.Buffer{}
	// The stream has no end: only the closed pipe can end it.
	code := cli.Main(context.Background(), []string{"notes", "follow", "--limit", "1000000"}, s.options(out, errs))
	is.Equal(code, 0)
	is.Equal(errs.String(), "")
	is.Equal(out.got.String(), "note 1\n")
}

// TestReaderThatLeavesEndsAnIdleStream proves that `bb … | head` ends although the stream has nothing more to say.
func TestReaderThatLeavesEndsAnIdleStream(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // pipes cannot be watched there: the next item finds out
	}
	is := is.New(t)
	s := newShell(t, serve(t, demo()...).URL)
	reader, out, err := os.Pipe()
	is.NoErr(err)
	defer out.Close()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- cli.Main(context.Background(), []string{"notes", "follow"}, s.options(out, &errs))
	}()
	_, err = io.ReadFull(reader, make([]byte, len("note 1\n"))) // all that there is
	is.NoErr(err)
	is.NoErr(reader.Close())
	is.Equal(<-code, 0)
	is.True(!strings.Contains(errs.String(), "goes on from here"))
}

// TestHintOfTheCursor proves that a stream which broke off says how to go on, and one that never began does not.
func TestHintOfTheCursor(t *testing.T) {
	is := is.New(t)
	s := newShell(t, serve(t, demo()...).URL)
	is.True(strings.Contains(s.run("notes follow --timeout 0.2").err, "--since=1 goes on from here"))
	r := s.run("notes follow --limit -1 --since 5") // refused
	is.Equal(r.code, 2)
	is.True(!strings.Contains(r.err, "goes on from here"))
}

func TestOutputAndJSONExcludeEachOther(t *testing.T) {
	is := is.New(t)
	s := newShell(t, serve(t, demo()...).URL)
	r := s.run("notes file --json --output f")
	is.Equal(r.code, 2)
	is.True(strings.Contains(r.out, "give one of them"))
	_, err := os.Stat(filepath.Join(s.home, "f"))
	is.True(os.IsNotExist(err))
}

func TestFullDiskIsAFailure(t *testing.T) {
	is := is.New(t)
	s := newShell(t, serve(t, demo()...).URL)
	var errs bytes.Buffer
	code := cli.Main(context.Background(), []string{"hello", "greet", "bb"}, s.options(writerFunc(func([]byte) (int, error) { return 0, io.ErrShortWrite }), &errs))
	is.Equal(code, 1)
	is.True(strings.Contains(errs.String(), "cannot be written"))
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// TestStreamsReconnect proves that only resumable streams go on after a break.
func TestStreamsReconnect(t *testing.T) {
	s := newShell(t, serve(t, demo()...).URL)
	t.Run("resumable, no gap and no repeat", func(t *testing.T) {
		is := is.New(t)
		r := s.run("notes follow --limit 5")
		is.Equal(r.code, 0)
		is.Equal(r.out, "note 1\nnote 2\nnote 3\nnote 4\nnote 5\n")
		is.Equal(r.err, "bb: connected again\n")
	})
	t.Run("other streams end", func(t *testing.T) {
		is := is.New(t)
		r := s.run("notes once --limit 2")
		is.Equal(r.code, 4)
		is.True(strings.Contains(r.err, "service_unavailable"))
	})
	t.Run("since", func(t *testing.T) {
		is := is.New(t)
		is.Equal(s.run("notes follow --limit 3 --since 2").out, "note 3\n")
		is.Equal(s.run("notes once --since 2").code, 2) // not resumable: no such flag
	})
	t.Run("quiet", func(t *testing.T) {
		is := is.New(t)
		r := newShell(t, serve(t, demo()...).URL).run("notes follow --limit 5 --quiet")
		is.Equal(r.err, "")
	})
}

func TestTimeoutIsTheClientsOwn(t *testing.T) {
	s := newShell(t, serve(t, demo()...).URL)
	for _, line := range []string{"settings wait --timeout 0.05", "notes follow --timeout 0.05"} {
		t.Run(line, func(t *testing.T) {
			is := is.New(t)
			r := s.run(line)
			is.Equal(r.code, 5)
			is.True(strings.Contains(r.err, "timeout"))
		})
	}
}

// TestInterrupt proves that an interruption closes the request and exits 130.
func TestInterrupt(t *testing.T) {
	for _, line := range []string{"settings wait", "notes follow --quiet"} {
		t.Run(line, func(t *testing.T) {
			is := is.New(t)
			f := serve(t, demo()...)
			s := newShell(t, f.URL)
			s.run("--help") // the catalog is cached
			ctx, cancel := context.WithCancel(context.Background())
			arrived, left := make(chan struct{}), make(chan struct{})
			s.o.HTTP = &http.Client{Transport: watchTransport{arrived, left}}
			go func() {
				<-arrived
				cancel()
			}()
			r := s.execContext(ctx, strings.Fields(line)...)
			is.Equal(r.code, 130)
			is.Equal(r.err, "")
			<-left // the request's context ended: the connection is closed
		})
	}
}

// watchTransport tells when a request goes out and when its context ends.
type watchTransport struct{ arrived, left chan struct{} }

func (w watchTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	context.AfterFunc(r.Context(), func() { close(w.left) })
	close(w.arrived)
	return http.DefaultTransport.RoundTrip(r)
}

// TestWarnings proves that dropped words are told on standard error and fail nothing.
func TestWarnings(t *testing.T) {
	is := is.New(t)
	f := serve(t, demo()...)
	f.problems = []manifest.Problem{
		{PluginID: "late", Message: `late/s.x: word "hello greet" belongs to demo/greeter.greet; the later claim is dropped`},
		{PluginID: "late", Message: "something else is wrong"},
	}
	s := newShell(t, f.URL)
	for _, line := range []string{"hello greet bb", "hello greet bb --json", "--help"} {
		r := s.run(line)
		is.Equal(r.code, 0)
		is.Equal(r.err, "warning: late/s.x: word \"hello greet\" belongs to demo/greeter.greet; the later claim is dropped\n")
	}
}

func TestCollisionsInTheManifestAreWarned(t *testing.T) {
	is := is.New(t)
	impls := demo()
	other := &kernelcontract.Query[kernelcontract.None, string]{Ref: "late/s.greet", Summary: "Greet too", CLI: kernelcontract.CLI{Group: []string{"hello"}}}
	impls = append(impls, kernelcontract.Implementation{Service: &kernelcontract.Service{ID: "late/s", Summary: "Late", Methods: []kernelcontract.Method{other}}})
	r := newShell(t, serve(t, impls...).URL).run("hello greet bb")
	is.Equal(r.code, 0)
	is.Equal(r.out, "Hello, bb!\n")
	is.True(strings.HasPrefix(r.err, "warning: late/s.greet: word \"hello greet\""))
}
