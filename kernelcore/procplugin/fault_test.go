package procplugin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/procplugin"
	"github.com/bb-kernel/bb/pluginsdk"
)

// small is what the misbehaving programs say that they are.
var (
	ask   = &kernelcontract.Query[textInput, textOutput]{Ref: "small/small.ask", Summary: "Answer", CLI: words("text"), Wait: 3 * time.Second}
	pour  = &kernelcontract.Stream[followInput, textOutput]{Ref: "small/small.pour", Summary: "Pour"}
	small = &kernelcontract.Service{ID: "small/small", Summary: "Be small", Methods: []kernelcontract.Method{ask, pour}}
)

func smallPlugin() *pluginsdk.Plugin {
	return &pluginsdk.Plugin{ID: "small", Version: "1", Services: []*kernelcontract.Service{small}}
}

// misbehave is what this test program does when it is run as a program that is no good plugin. It speaks the protocol by hand.
func misbehave(how string) {
	in := bufio.NewReader(os.Stdin)
	answer := func(id json.RawMessage, result string) {
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	}
	switch how {
	case "kernel":
		serveKernel()
	case "exits":
		os.Exit(0)
	case "silent":
		select {}
	case "stderr":
		go func() {
			for {
				fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 20_000))
			}
		}()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	}
	for n := 0; ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if how == "stubborn" {
				select {}
			}
			os.Exit(0)
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Call struct{ ID string } }
		}
		if json.Unmarshal(line, &m) != nil {
			os.Exit(9)
		}
		switch m.Method {
		case "initialize":
			switch how {
			case "garbage":
				fmt.Print("hello\n{}\n[1]\n\x00\xff\n" + strings.Repeat("x", 100_000) + "\n{\"jsonrpc\":\"2.0\",\"id\":\"none\",\"result\":1}\n")
			case "long":
				fmt.Println(strings.Repeat("x", 17<<20))
			case "version":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32016,"message":"I speak 7","data":{"code":"precondition","message":"I speak 7","details":{"supported":[7]}}}}`+"\n", m.ID)
				continue
			case "newer":
				answer(m.ID, `{"protocol":2,"pluginId":"small","version":"1"}`)
				continue
			case "stranger":
				answer(m.ID, `{"protocol":1,"pluginId":"big","version":"1"}`)
				continue
			}
			answer(m.ID, `{"protocol":1,"pluginId":"small","version":"1","more":true}`)
		case "setup":
			switch how {
			case "setup-fails":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"the disk is on fire"}}`+"\n", m.ID)
			case "setup-crashes":
				fmt.Fprintln(os.Stderr, "no such file: config.yaml")
				os.Exit(4)
			case "differs":
				answer(m.ID, `{"methods":["small/small.ask","small/small.more"]}`)
			default:
				answer(m.ID, `{"methods":["small/small.ask","small/small.pour"]}`)
			}
		case "ping":
			if how != "hangs" {
				answer(m.ID, "{}")
			}
		case "call":
			switch how {
			case "deaf":
				select {}
			case "empty":
				answer(m.ID, "{}")
			case "wrong":
				answer(m.ID, `{"result":{"text":7}}`)
			default:
				answer(m.ID, `{"result":{"text":"fine","n":1}}`)
			}
		case "stream/open":
			answer(m.ID, "{}")
			for range 1000 { // whatever the credit
				fmt.Printf(`{"jsonrpc":"2.0","method":"stream/item","params":{"stream":%q,"item":{"text":"x","n":1}}}`+"\n", m.Params.Call.ID)
			}
		case "shutdown":
			if how != "stubborn" {
				answer(m.ID, "{}")
			}
		}
	}
}

// opening opens the folder of a program that misbehaves.
func opening(t testing.TB, how string) *pluginsdk.Plugin {
	t.Helper()
	p, err := procplugin.OpenImpatient(installed(t, smallPlugin(), how))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// problemOf returns what is wrong with a plugin.
func problemOf(k *kernelcore.Kernel, id string) string {
	var text []string
	for _, err := range k.Problems() {
		var p *kernelcore.ProblemError
		if errors.As(err, &p) && p.Plugin == id {
			text = append(text, p.Err.Error())
		}
	}
	return strings.Join(text, "\n")
}

func stateOf(t testing.TB, k *kernelcore.Kernel, id string) manifest.State {
	t.Helper()
	d, err := kernelapi.ShowPlugin.Call(t.Context(), k.As(kernelcontract.Principal{Actor: "user:a"}), kernelapi.PluginInput{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return d.State
}

// A program that cannot be set up is a failed plugin with a problem that says what to do; the others answer.
func TestProgramThatIsNotSetUp(t *testing.T) {
	for how, want := range map[string]string{
		"exits":         "its program exited with status 0",
		"silent":        "did not answer within 3s: it must read requests from standard input",
		"version":       "refuses the connection: precondition: I speak 7: install a build for version 1 of the protocol",
		"newer":         "speaks version 2 of the protocol and this kernel 1: install a build for it",
		"stranger":      `says that it is the plugin "big"`,
		"setup-fails":   "the disk is on fire",
		"setup-crashes": "its program exited with status 4; it last said:\nno such file: config.yaml",
		"differs":       "small/small.pour is in the contract and not in the program, small/small.more is in the program and not in the contract: write the contract anew with --package",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			k := kernel(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{otherPlugin(), opening(t, how)}})
			if got := problemOf(k, "small"); !strings.Contains(got, want) {
				t.Errorf("%q does not say %q", got, want)
			}
			is.Equal(stateOf(t, k, "small"), manifest.Failed)
			_, err := relay.Call(t.Context(), k.As(kernelcontract.Principal{Actor: "user:a"}), textInput{Text: "x"})
			is.NoErr(err)
		})
	}
	t.Run("its program is missing", func(t *testing.T) {
		is := is.New(t)
		dir := installed(t, smallPlugin(), "fine")
		is.NoErr(os.Remove(filepath.Join(dir, "small")))
		p, err := procplugin.Open(dir, procplugin.Options{})
		is.NoErr(err)
		k := kernel(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{p}})
		is.True(strings.Contains(problemOf(k, "small"), `cannot be run: build it, or name another one in the contract's "run"`))
	})
	t.Run("its program may not be run", func(t *testing.T) {
		is := is.New(t)
		dir := installed(t, smallPlugin(), "fine")
		is.NoErr(os.Remove(filepath.Join(dir, "small")))
		is.NoErr(os.WriteFile(filepath.Join(dir, "small"), []byte("#!/bin/sh\n"), 0o600))
		p, err := procplugin.Open(dir, procplugin.Options{})
		is.NoErr(err)
		k := kernel(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{p}})
		is.True(strings.Contains(problemOf(k, "small"), "cannot be run"))
	})
	t.Run("what it requires is missing", func(t *testing.T) {
		is := is.New(t)
		k := kernel(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{opened(t, "demo")}})
		is.True(strings.Contains(problemOf(k, "demo"), "the required service other/other is not there"))
		is.Equal(stateOf(t, k, "demo"), manifest.Failed)
	})
}

// A program that does odd things is dealt with, and goes on where it can.
func TestProgramThatMisbehaves(t *testing.T) {
	run := func(t *testing.T, how string) (*kernelcore.Kernel, kernelcontract.Caller, *logs) {
		t.Helper()
		out := &logs{}
		k := kernel(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{otherPlugin(), opening(t, how)}, Log: slog.New(slog.NewTextHandler(out, nil))})
		return k, k.As(kernelcontract.Principal{Actor: "user:a"}), out
	}
	for _, how := range []string{"garbage", "long", "stderr"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			k, caller, out := run(t, how)
			for range 20 {
				got, err := ask.Call(t.Context(), caller, textInput{Text: "x"})
				is.NoErr(err)
				is.Equal(got.Text, "fine")
			}
			is.Equal(problemOf(k, "small"), "")
			if how != "stderr" {
				is.Equal(strings.Count(out.String(), "wrote something to standard output that is no message"), 1)
				return
			}
			eventually(t, "lines are left out", func() bool { return strings.Contains(out.String(), "lines of standard error were left out") })
			is.True(len(out.String()) < 50<<20)
		})
	}
	t.Run("hangs", func(t *testing.T) {
		t.Parallel()
		k, _, _ := run(t, "hangs")
		eventually(t, "it is found out", func() bool {
			return strings.Contains(problemOf(k, "small"), "it did not answer a ping within 1.5s")
		})
		eventually(t, "it is given up", func() bool { return stateOf(t, k, "small") == manifest.Failed })
		is.New(t).True(strings.Contains(problemOf(k, "small"), "`bb plugin reload small` starts it again"))
	})
	t.Run("deaf", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		k, caller, _ := run(t, "deaf")
		_, err := ask.Call(t.Context(), caller, textInput{Text: "x"})
		is.True(errors.Is(err, kernelcontract.ServiceUnavailable)) // it is ended before the deadline
		is.True(kernelcontract.AsError(err).Retryable)
		eventually(t, "it is started again", func() bool { return k.Restarts(kernelcore.PluginProgram)["small"] > 0 })
	})
	t.Run("too many items", func(t *testing.T) {
		t.Parallel()
		k, caller, _ := run(t, "credit")
		for range pour.Stream(t.Context(), caller, followInput{}) {
			// The stream stays open, and nobody reads on: what comes after its end would be nobody's.
			eventually(t, "it is ended", func() bool {
				return strings.Contains(problemOf(k, "small"), "it sent more items of a stream than it had credit for")
			})
			break
		}
	})
	t.Run("an answer without a result", func(t *testing.T) {
		t.Parallel()
		_, caller, _ := run(t, "empty")
		_, err := ask.Call(t.Context(), caller, textInput{Text: "x"})
		is.New(t).True(errors.Is(err, kernelcontract.Internal))
	})
	t.Run("an answer that does not fit", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		k, caller, _ := run(t, "wrong")
		_ = caller.Call(t.Context(), "small/small.ask", textInput{Text: "x"}, nil)
		is.True(strings.Contains(problemOf(k, "small"), "returned what its schema refuses"))
	})
	t.Run("ignores the request to stop", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		p := opening(t, "stubborn")
		k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{p}})
		is.NoErr(err)
		begin := time.Now()
		is.NoErr(k.Close())
		is.True(time.Since(begin) < kernelcore.CloseTimeout+5*time.Second)
	})
}

// Calls in flight when the program crashes fail, and it is started again. Three crashes are too many.
func TestCrash(t *testing.T) {
	is := is.New(t)
	k := kernel(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{otherPlugin(), opened(t, "demo")}})
	caller := k.As(kernelcontract.Principal{Actor: "user:a"})
	pid := func() int64 {
		var n int64
		eventually(t, "it answers", func() bool {
			got, err := do.Call(t.Context(), caller, textInput{Text: "pid"})
			if err != nil && (!errors.Is(err, kernelcontract.ServiceUnavailable) || !kernelcontract.AsError(err).Retryable) {
				t.Fatalf("%v", err) // nothing else
			}
			n = got.N
			return err == nil
		})
		return n
	}
	first := pid()
	var wait sync.WaitGroup
	for range 5 {
		wait.Go(func() {
			_, err := do.Call(t.Context(), caller, textInput{Text: "wait"})
			is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
		})
	}
	wait.Go(func() {
		for _, err := range follow.Stream(t.Context(), caller, followInput{}) {
			if err != nil {
				is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
				return
			}
		}
	})
	eventually(t, "all are under way", func() bool { return k.OpenStreams() == 1 })
	crash := func() {
		_, err := do.Call(t.Context(), caller, textInput{Text: "crash"})
		is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
	}
	crash()
	wait.Wait()
	second := pid()
	is.True(first != second)
	is.Equal(k.Restarts(kernelcore.PluginProgram)["demo"], uint64(1))
	eventually(t, "the problem is over", func() bool { return problemOf(k, "demo") == "" })
	// What was asked for when it was set up holds for the new program.
	got, err := who.Call(t.Context(), caller, textInput{Text: "x"})
	is.NoErr(err)
	is.Equal(got.Text, "user:a plugin:demo")
	crash()
	pid()
	crash()
	eventually(t, "it is given up", func() bool { return stateOf(t, k, "demo") == manifest.Failed })
	is.True(strings.Contains(problemOf(k, "demo"), "its program has ended 3 times within 1m0s: `bb plugin logs demo` shows what it said, `bb plugin reload demo` starts it again"))
	is.True(strings.Contains(problemOf(k, "demo"), "last words"))
	_, err = echo.Call(t.Context(), caller, textInput{Text: "x"})
	is.True(errors.Is(err, kernelcontract.NotFound))
	is.NoErr(k.Reload(t.Context(), "demo"))
	pid()
	is.Equal(problemOf(k, "demo"), "")
}

// A program acts for the callers that it answers and for nobody else.
func TestProgramCannotPose(t *testing.T) {
	is := is.New(t)
	k := kernel(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{otherPlugin(), opened(t, "demo")}})
	_, err := do.Call(t.Context(), k.As(kernelcontract.Principal{Actor: "user:a"}), textInput{Text: "pose"})
	is.True(errors.Is(err, kernelcontract.Precondition))
	is.True(strings.Contains(err.Error(), "is not under way"))
}

// What a program prints belongs to its log, and its environment has none of the kernel's secrets.
func TestProgramsSurroundings(t *testing.T) {
	is := is.New(t)
	t.Setenv("SECRET_TOKEN", "hush")
	out := &logs{}
	k := kernel(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{otherPlugin(), opened(t, "demo")}, Log: slog.New(slog.NewTextHandler(out, nil))})
	caller := k.As(kernelcontract.Principal{Actor: "user:a"})
	say := func(text string) string {
		got, err := do.Call(t.Context(), caller, textInput{Text: text})
		is.NoErr(err)
		return got.Text
	}
	say("print to standard output")
	say("stderr to standard error")
	eventually(t, "both are in the log", func() bool {
		return strings.Contains(out.String(), `msg="to standard output"`) && strings.Contains(out.String(), `msg="to standard error"`)
	})
	environ := say("environ")
	is.True(!strings.Contains(environ, "SECRET_TOKEN"))
	is.True(strings.Contains(environ, "PATH="))
	is.True(strings.Contains(environ, "BB_PLUGIN_ID=demo"))
	is.True(strings.Contains(environ, "BB_PLUGIN_DATA_DIR="+k.PluginDir("demo")))
}

// serveKernel runs a kernel with the demo plugin, whose folder is the environment's, and prints the number of its process.
func serveKernel() {
	p, err := procplugin.Open(os.Getenv("BB_TEST_FOLDER"), procplugin.Options{})
	if err != nil {
		panic(err)
	}
	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{otherPlugin(), p}})
	if err != nil {
		panic(err)
	}
	got, err := do.Call(context.Background(), k.As(kernelcontract.Principal{Actor: "user:a"}), textInput{Text: "pid"})
	if err != nil {
		panic(err)
	}
	fmt.Println(got.N)
	select {}
}

// No program outlives a kernel that is killed.
func TestNoOrphan(t *testing.T) {
	is := is.New(t)
	self, err := os.Executable()
	is.NoErr(err)
	cmd := exec.Command(self, "plugin", "kernel")
	cmd.Env = append(os.Environ(), "BB_TEST_FOLDER="+installed(t, demoPlugin(), "demo"))
	stdout, err := cmd.StdoutPipe()
	is.NoErr(err)
	cmd.Stderr = os.Stderr
	is.NoErr(cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	is.NoErr(err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	is.NoErr(err)
	child, err := os.FindProcess(pid)
	is.NoErr(err)
	is.NoErr(child.Signal(syscall.Signal(0))) // it runs
	is.NoErr(cmd.Process.Kill())
	_, _ = io.Copy(io.Discard, stdout)
	_ = cmd.Wait()
	eventually(t, "the plugin is gone", func() bool { return child.Signal(syscall.Signal(0)) != nil })
}
