package timeline_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

// The test binary runs itself again for what needs a process of its own: to be killed, to hit a limit.
const childVariable = "TIMELINE_TEST_CHILD"

var children = map[string]func(dir string) error{"write": writeUntilKilled}

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		run := children[name]
		if run == nil {
			run = limitedChildren[name]
		}
		if err := run(os.Args[1]); err != nil {
			fmt.Println("?", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	is.New(t).NoErr(err)
	cmd := exec.CommandContext(t.Context(), exe, dir)
	cmd.Env = append(os.Environ(), childVariable+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

func openDir(t testing.TB, dir string) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
	is.New(t).NoErr(err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

const crashThreads = 3

// writeUntilKilled writes to several threads and compacts them, and prints each seq as soon as it is flushed.
func writeUntilKilled(dir string) error {
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, dir, sqlitestore.Options{})
	if err != nil {
		return err
	}
	l := timeline.New(s, timeline.Options{})
	var out sync.Mutex
	var wg sync.WaitGroup
	errs := make(chan error, crashThreads)
	for n := range crashThreads {
		wg.Go(func() {
			id := fmt.Sprint("t", n)
			w, err := l.Writer(ctx, id)
			for i := 0; err == nil; i++ {
				item := fmt.Sprint(w.LastSeq(), "i")
				events := []timeline.Event{turn("turn.started", item), started(item, item, "message")}
				for range 20 {
					events = append(events, text(item, item, "x"))
				}
				for _, e := range append(events, completed(item, item, "message", "whole"), turn("turn.completed", item)) {
					err = errors.Join(err, w.Append(ctx, []timeline.Event{e}))
				}
				err = errors.Join(err, w.Flush(ctx))
				if err == nil {
					out.Lock()
					fmt.Println(id, w.LastSeq()) // unbuffered
					out.Unlock()
					err = l.Compact(ctx, id, item)
				}
			}
			errs <- err
		})
	}
	wg.Wait()
	return <-errs
}

// TestFlushedSurvivesKill kills a process in the middle of writing and compacting, several times on the same directory: what
// was flushed is there, without a gap, and the rows are those that the events fold to.
func TestFlushedSurvivesKill(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	flushed := map[string]int64{}
	for round := range 4 {
		cmd := child(t, "write", dir)
		stdout, err := cmd.StdoutPipe()
		is.NoErr(err)
		is.NoErr(cmd.Start())
		lines := bufio.NewScanner(stdout)
		for n := 0; lines.Scan(); n++ {
			var id string
			var seq int64
			if _, err := fmt.Sscan(lines.Text(), &id, &seq); err != nil {
				t.Fatal(lines.Text())
			}
			flushed[id] = seq
			if n == 20+30*round {
				is.NoErr(cmd.Process.Kill()) // what it printed before it died is still read
			}
		}
		is.True(cmd.Wait() != nil) // it was killed
		s := openDir(t, dir)
		l := timeline.New(s, timeline.Options{})
		for id, seq := range flushed {
			last, err := l.LastSeq(t.Context(), id)
			is.NoErr(err)
			is.True(last >= seq)
			events := readThread(t, l, id, 0)
			gapless(t, events, 0, last)
			is.Equal(encoded(t, rowsOf(t, l, id, 500)), encoded(t, foldAll(events)))
		}
		is.NoErr(s.Close())
	}
	is.Equal(len(flushed), crashThreads)
}

// output runs a child and returns what it printed.
func output(t *testing.T, name, dir string) []string {
	t.Helper()
	out, err := child(t, name, dir).Output()
	if err != nil {
		t.Fatalf("child %s: %v\n%s", name, err, out)
	}
	return strings.Split(string(bytes.TrimSpace(out)), "\n")
}
