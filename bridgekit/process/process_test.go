package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/matryer/is"
)

var background = context.Background()

// start starts one of the programs of TestMain, and sees to it that it ends with the test.
func start(t *testing.T, program string, more ...string) *process.Process {
	t.Helper()
	p, err := process.Start(background, process.Options{Command: []string{os.Args[0]}, Env: append([]string{role + "=" + program}, more...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		wait(t, p)
		p.Stdout.Close()
	})
	return p
}

func wait(t *testing.T, p *process.Process) process.Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(background, 30*time.Second)
	defer cancel()
	exit, err := p.Wait(ctx)
	if err != nil {
		t.Fatalf("process %d did not end: %v", p.PID(), err)
	}
	return exit
}

func line(t *testing.T, r io.Reader) string {
	t.Helper()
	s, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(s)
}

func TestExit(t *testing.T) {
	for program, want := range map[string]string{
		"exit3":   "exited with status 3",
		"echo":    "exited with status 0",
		"suicide": "ended by signal: killed",
	} {
		t.Run(program, func(t *testing.T) {
			is := is.New(t)
			p := start(t, program)
			is.NoErr(p.Stdin.Close())
			is.NoErr(p.Stdin.Close()) // again
			is.Equal(wait(t, p).String(), want)
			<-p.Done()
		})
	}
}

func TestStreams(t *testing.T) {
	is := is.New(t)
	p := start(t, "echo")
	const sent = "a line\nand the rest"
	_, err := io.WriteString(p.Stdin, sent)
	is.NoErr(err)
	is.NoErr(p.Stdin.Close())
	got, err := io.ReadAll(p.Stdout)
	is.NoErr(err)
	is.Equal(string(got), sent)

	p = start(t, "exit3")
	wait(t, p)
	is.Equal(string(p.Stderr()), "last words") // whole once the process has ended
}

func TestEnvironmentIsExactlyWhatIsGiven(t *testing.T) {
	is := is.New(t)
	t.Setenv("PROCESS_TEST_SECRET", "x")
	p := start(t, "env", "ONE=1")
	out, err := io.ReadAll(p.Stdout)
	is.NoErr(err)
	is.True(strings.Contains(string(out), "ONE=1"))
	is.True(!strings.Contains(string(out), "PROCESS_TEST_SECRET"))
}

func TestWorkingDirectory(t *testing.T) {
	is := is.New(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	is.NoErr(err)
	p, err := process.Start(background, process.Options{Command: []string{os.Args[0]}, Dir: dir, Env: []string{role + "=env"}})
	is.NoErr(err)
	out, err := io.ReadAll(p.Stdout)
	is.NoErr(err)
	is.True(strings.Contains(string(out), "dir "+dir))
	wait(t, p)

	_, err = process.Start(background, process.Options{Command: []string{os.Args[0]}, Dir: filepath.Join(dir, "none")})
	is.True(errors.Is(err, os.ErrNotExist))
	var missing *process.NotFoundError
	is.True(!errors.As(err, &missing)) // it is not the program that is missing
	is.True(strings.Contains(err.Error(), "working directory"))
}

func TestMissingProgram(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ command, fix string }{
		"not on the path": {"no-such-program-anywhere", "install it"},
		"no such file":    {filepath.Join(dir, "none"), "install it"},
		"not executable":  {plain, "make the file executable"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			_, err := process.Start(background, process.Options{Command: []string{test.command}})
			var missing *process.NotFoundError
			is.True(errors.As(err, &missing))
			is.Equal(missing.Name, test.command)
			is.True(strings.Contains(err.Error(), test.fix))
		})
	}
	is := is.New(t)
	_, err := process.Start(background, process.Options{})
	is.True(err != nil)
	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err = process.Start(ctx, process.Options{Command: []string{os.Args[0]}})
	is.True(errors.Is(err, context.Canceled))
}

func TestStopClosesInputFirst(t *testing.T) {
	is := is.New(t)
	p := start(t, "echo")
	is.Equal(p.Stop(background, 30*time.Second).String(), "exited with status 0")
	is.Equal(p.Stop(background, 30*time.Second).String(), "exited with status 0") // again
	p.Kill()                                                                      // nothing is left to kill
}

func TestStopFromManySides(t *testing.T) {
	is := is.New(t)
	p := start(t, "echo")
	var all sync.WaitGroup
	exits := make([]process.Exit, 8)
	for n := range exits {
		all.Add(1)
		go func() {
			defer all.Done()
			exits[n] = p.Stop(background, 30*time.Second)
		}()
	}
	all.Wait()
	for _, exit := range exits {
		is.Equal(exit.String(), "exited with status 0")
	}
}

func TestStopKillsWhenItsContextEnds(t *testing.T) {
	is := is.New(t)
	p := start(t, "stubborn")
	is.Equal(line(t, p.Stdout), "ready")
	ctx, cancel := context.WithCancel(background)
	cancel()
	p.Stop(ctx, time.Hour) // returns at once
	wait(t, p)
}

func TestWaitGivesUpWithItsContext(t *testing.T) {
	is := is.New(t)
	p := start(t, "stubborn")
	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err := p.Wait(ctx)
	is.True(errors.Is(err, context.Canceled))
}

func TestStandardErrorIsReadAndItsEndKept(t *testing.T) {
	is := is.New(t)
	var seen int
	p, err := process.Start(background, process.Options{
		Command: []string{os.Args[0]}, Env: []string{role + "=noisy"},
		OnStderr: func(chunk []byte) { seen += len(chunk) },
	})
	is.NoErr(err)
	is.Equal(wait(t, p).String(), "exited with status 0") // 10 MiB did not block it
	kept := p.Stderr()
	is.Equal(len(kept), process.StderrLimit)
	is.True(strings.HasSuffix(string(kept), "n\nthe end"))
	is.Equal(seen, 10<<20+len("the end"))
	p.Stdout.Close()
}

func TestAPanicOfOnStderrIsContained(t *testing.T) {
	is := is.New(t)
	calls := 0
	p, err := process.Start(background, process.Options{
		Command: []string{os.Args[0]}, Env: []string{role + "=noisy"},
		OnStderr: func([]byte) { calls++; panic("no") },
	})
	is.NoErr(err)
	is.Equal(wait(t, p).String(), "exited with status 0") // standard error is read all the same
	is.Equal(calls, 1)
	is.True(strings.HasSuffix(string(p.Stderr()), "the end"))
	p.Stdout.Close()
}

func TestStandardErrorLimit(t *testing.T) {
	is := is.New(t)
	p, err := process.Start(background, process.Options{Command: []string{os.Args[0]}, Env: []string{role + "=noisy"}, StderrLimit: 10})
	is.NoErr(err)
	wait(t, p)
	is.Equal(string(p.Stderr()), "nn\nthe end")
	p.Stdout.Close()
}

func TestOutputIsNotLostToASlowReader(t *testing.T) {
	is := is.New(t)
	p := start(t, "blob")
	half := make([]byte, 1<<20-100)
	_, err := io.ReadFull(p.Stdout, half)
	is.NoErr(err)
	is.Equal(wait(t, p).String(), "exited with status 0") // the last hundred bytes are still in the pipe
	rest, err := io.ReadAll(p.Stdout)
	is.NoErr(err)
	is.Equal(len(rest), 100)
}

func TestClosedOutputIsTheEndOfItWhileTheChildLives(t *testing.T) {
	is := is.New(t)
	p := start(t, "closer")
	out, err := io.ReadAll(p.Stdout)
	is.NoErr(err)
	is.Equal(string(out), "bye\n")
	select {
	case <-p.Done():
		t.Fatal("the child is gone")
	default:
	}
	is.Equal(p.Stop(background, 30*time.Second).String(), "exited with status 0")
}

func TestReadDeadline(t *testing.T) {
	is := is.New(t)
	p := start(t, "echo")
	is.NoErr(p.Stdout.SetReadDeadline(time.Unix(1, 0)))
	_, err := p.Stdout.Read(make([]byte, 1))
	is.True(errors.Is(err, os.ErrDeadlineExceeded))
	is.NoErr(p.Stdin.SetWriteDeadline(time.Unix(1, 0)))
	_, err = p.Stdin.Write(make([]byte, 1))
	is.True(errors.Is(err, os.ErrDeadlineExceeded))
}

// Example runs a program that prints what it reads.
func Example() {
	p, err := process.Start(context.Background(), process.Options{
		Command: []string{os.Args[0]}, // this test binary, in the role of the program
		Env:     []string{role + "=echo"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Stdout.Close()
	fmt.Fprintln(p.Stdin, "hello")
	reply, _ := bufio.NewReader(p.Stdout).ReadString('\n')
	fmt.Print(reply)
	fmt.Println(p.Stop(context.Background(), 5*time.Second))
	// Output:
	// hello
	// exited with status 0
}

func TestNothingIsLeft(t *testing.T) {
	is := is.New(t)
	before := runtime.NumGoroutine()
	for n := range 5 {
		p, err := process.Start(background, process.Options{Command: []string{os.Args[0]}, Env: []string{role + "=echo", "N=" + strconv.Itoa(n)}})
		is.NoErr(err)
		p.Stop(background, 30*time.Second)
		p.Stdout.Close()
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	is.True(runtime.NumGoroutine() <= before)
}
