package record_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/record"
	"github.com/matryer/is"
)

const role = "RECORD_TEST_AGENT"

// TestMain makes this test binary an agent: it answers each line, and says at the end of its input what it was given in
// its environment.
func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	s := bufio.NewScanner(os.Stdin)
	for s.Scan() {
		fmt.Printf("{\"heard\":%s}\n", s.Text())
	}
	fmt.Print(strings.Join(os.Environ(), " ")) // no line end
}

// talk is a bridge that talks to an agent.
func talk(ctx context.Context, says ...string) (heard []string, err error) {
	a, err := record.Child(ctx, record.ChildOptions{ProviderID: "echo", ThreadID: "t", Process: process.Options{
		Command: []string{os.Args[0]}, Env: []string{role + "=1", record.Variable + "=x", "AGENT_TOKEN=abcdefgh"},
	}})
	if err != nil {
		return nil, err
	}
	defer a.Stdout.Close()
	defer a.Stop(context.Background(), 30*time.Second)
	out := bufio.NewReader(a.Stdout)
	for _, say := range says {
		if _, err := io.WriteString(a.Stdin, say+"\n"); err != nil {
			return heard, err
		}
		line, err := out.ReadString('\n')
		if err != nil {
			return heard, err
		}
		heard = append(heard, strings.TrimSpace(line))
	}
	a.Stdin.Close()
	rest, err := io.ReadAll(out)
	return append(heard, strings.TrimSpace(string(rest))), err
}

func recording(t *testing.T) (*record.Recording, []string) {
	t.Helper()
	is := is.New(t)
	dir := t.TempDir()
	r, err := record.New(record.Options{Dir: dir})
	is.NoErr(err)
	heard, err := talk(record.WithRecorder(context.Background(), r), `{"n":1}`, `{"a": 1, "b": 2}`)
	is.NoErr(err)
	is.NoErr(r.Close())
	got, err := record.Read(dir, "echo", "t")
	is.NoErr(err)
	return got, heard
}

func TestChildRecordsTheLanesOfTheAgent(t *testing.T) {
	is := is.New(t)
	got, heard := recording(t)
	is.Equal(len(got.Entries), 5)
	is.Equal(lines(got.Lane(record.BridgeToProvider)), []string{`{"n":1}`, `{"a": 1, "b": 2}`})
	is.Equal(lines(got.Entries[:2]), []string{`{"n":1}`, `{"heard":{"n":1}}`}) // in the order in which they crossed
	is.True(strings.Contains(heard[2], role))
	is.True(!strings.Contains(heard[2], record.Variable))       // the variable does not reach the agent
	is.True(strings.Contains(heard[2], "AGENT_TOKEN=abcdefgh")) // its secrets do
	is.True(!strings.Contains(got.Entries[4].Line, "abcdefgh")) // and stay out of the recording
	is.True(strings.Contains(got.Entries[4].Line, "[redacted]"))
}

// TestChildTakesConcurrentWrites says its worth under the race detector: a pipe takes writes from anywhere, and recording
// must not change that.
func TestChildTakesConcurrentWrites(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	r, err := record.New(record.Options{Dir: dir})
	is.NoErr(err)
	a, err := record.Child(record.WithRecorder(context.Background(), r), record.ChildOptions{ProviderID: "echo", ThreadID: "t",
		Process: process.Options{Command: []string{os.Args[0]}, Env: []string{role + "=1"}}})
	is.NoErr(err)
	heard := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, a.Stdout)
		heard <- err
	}()
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 100 {
				if _, err := io.WriteString(a.Stdin, `{"n":1}`+"\n"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	is.NoErr(a.Stdin.Close())
	is.NoErr(<-heard)
	a.Stop(context.Background(), 30*time.Second)
	is.NoErr(r.Close())
	got, err := record.Read(dir, "echo", "t")
	is.NoErr(err)
	is.Equal(lines(got.Lane(record.BridgeToProvider)), slices.Repeat([]string{`{"n":1}`}, 400))
}

// TestChildKeepsDeadlines: the pipes of a recorded agent have the deadlines that those of any agent have.
func TestChildKeepsDeadlines(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		is := is.New(t)
		ctx := context.Background()
		if recorded {
			r, err := record.New(record.Options{Dir: t.TempDir()})
			is.NoErr(err)
			defer r.Close()
			ctx = record.WithRecorder(ctx, r)
		}
		a, err := record.Child(ctx, record.ChildOptions{ProviderID: "echo", Process: process.Options{Command: []string{os.Args[0]}, Env: []string{role + "=1"}}})
		is.NoErr(err)
		defer a.Stdout.Close()
		defer a.Stop(context.Background(), 30*time.Second)
		w, ok := a.Stdin.(interface{ SetWriteDeadline(time.Time) error })
		is.True(ok)
		is.NoErr(w.SetWriteDeadline(time.Unix(1, 0)))
		_, err = io.WriteString(a.Stdin, "{}\n")
		is.True(errors.Is(err, os.ErrDeadlineExceeded))
		r, ok := a.Stdout.(interface{ SetReadDeadline(time.Time) error })
		is.True(ok)
		is.NoErr(r.SetReadDeadline(time.Unix(1, 0)))
		_, err = a.Stdout.Read(make([]byte, 1))
		is.True(errors.Is(err, os.ErrDeadlineExceeded))
	}
}

func TestChildWithoutRecorder(t *testing.T) {
	is := is.New(t)
	heard, err := talk(context.Background(), `{}`)
	is.NoErr(err)
	is.Equal(heard[0], `{"heard":{}}`)
	_, err = record.Child(context.Background(), record.ChildOptions{Process: process.Options{Command: []string{"no-such-agent"}}})
	var missing *process.NotFoundError
	is.True(errors.As(err, &missing))
}

func TestPlayback(t *testing.T) {
	got, heard := recording(t)
	for name, test := range map[string]struct {
		says []string
		err  string // "": the replay is as recorded
	}{
		"the same":       {[]string{`{"n":1}`, `{"a": 1, "b": 2}`}, ""},
		"the same JSON":  {[]string{`{ "n" : 1 }`, `{"b":2,"a":1}`}, ""},
		"other JSON":     {[]string{`{"n":2}`}, "where it had written"},
		"another number": {[]string{`{"n":1.0}`}, "where it had written"},
		"less":           {[]string{`{"n":1}`}, "stopped before it wrote"},
		"more":           {[]string{`{"n":1}`, `{"a": 1, "b": 2}`, `{}`}, "more than was recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			p, err := record.NewPlayback(got)
			is.NoErr(err)
			replayed, _ := talk(record.WithPlayback(context.Background(), p), test.says...)
			if test.err == "" {
				is.NoErr(p.Err())
				is.Equal(replayed[:2], heard[:2])
			} else {
				is.True(p.Err() != nil)
				is.True(strings.Contains(p.Err().Error(), test.err))
			}
		})
	}
	is := is.New(t)
	_, err := record.NewPlayback(&record.Recording{})
	is.True(err != nil)
}
