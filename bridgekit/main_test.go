package bridgekit_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/record"
)

// asProgram makes the test binary a bridge.
const asProgram = "BRIDGEKIT_TEST_AS_PROGRAM"

var earlyStdout = os.Stdout // as a logger keeps it that was made before Main

func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "":
		os.Exit(m.Run())
	case "noisy":
		fmt.Println("a banner") // before Main: core drops it
		bridgekit.Main(bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = func(a *agent, _ context.Context, p protocol.TurnStartParams) error {
				fmt.Println("stray words")
				fmt.Fprintln(earlyStdout, "early words")
				cmd := exec.Command("sh", "-c", "echo child words")
				cmd.Stdout = os.Stdout
				cmd.Run()
				return nil
			}
		}))
	case "stubborn":
		bridgekit.Main(bridge(func(b *bridgekit.Bridge[*agent]) {
			b.Shutdown = func(context.Context, protocol.ShutdownParams) error { select {} }
		}))
	case "broken":
		bridgekit.Main(bridgekit.Bridge[*agent]{})
	case "owner": // of an agent, which is this program again
		bridgekit.Main(bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = func(_ *agent, ctx context.Context, p protocol.TurnStartParams) error {
				a, err := record.Child(ctx, record.ChildOptions{ProviderID: "test", ThreadID: p.ThreadID,
					Process: process.Options{Command: []string{os.Args[0]}, Env: append(os.Environ(), asProgram+"=cat")}})
				if err != nil {
					return err
				}
				defer a.Stop(context.Background(), time.Second)
				fmt.Fprintln(a.Stdin, "to the agent")
				_, err = bufio.NewReader(a.Stdout).ReadString('\n')
				return err
			}
		}))
	case "cat":
		io.Copy(os.Stdout, os.Stdin)
		os.Exit(0)
	}
}

// child is a bridge in a process of its own.
func child(t *testing.T, kind string, env ...string) (*core, *exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), asProgram+"="+kind), env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read, in := io.Pipe()
	c := &core{t: t, in: in, readEnd: make(chan struct{}), banner: kind == "noisy"}
	c.begun()
	go func() { io.Copy(stdin, read); stdin.Close() }()
	go c.read(stdout)
	t.Cleanup(func() { in.Close(); cmd.Process.Kill() })
	return c, cmd, &stderr
}

// TestTerminal proves who is told what the program is.
func TestTerminal(t *testing.T) {
	is := is.New(t)
	for name, want := range map[string]bool{os.DevNull: false, os.Args[0]: false, "/dev/ptmx": true} {
		f, err := os.Open(name)
		if err != nil && want {
			continue // this system has no such terminal
		}
		is.NoErr(err)
		is.Equal(bridgekit.Terminal(f), want)
		f.Close()
	}
}

// TestMainProgram proves Main, in processes of their own.
func TestMainProgram(t *testing.T) {
	t.Run("stray-output", func(t *testing.T) {
		is := is.New(t)
		c, cmd, stderr := child(t, "noisy")
		c.begin("t1")
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		c.must(protocol.MethodShutdown, protocol.ShutdownParams{GraceMs: 2000})
		<-c.readEnd
		is.NoErr(cmd.Wait())
		for _, words := range []string{"stray words", "early words", "child words"} {
			is.True(strings.Contains(stderr.String(), words))
		}
		is.Equal(len(c.lines()), 5) // identity and four answers
	})
	t.Run("end-of-input", func(t *testing.T) {
		is := is.New(t)
		c, cmd, _ := child(t, "stubborn")
		c.initialize()
		begin := time.Now()
		c.in.Close()
		<-c.readEnd
		is.NoErr(cmd.Wait()) // Shutdown never returns
		is.True(time.Since(begin) < bridgekit.ShutdownGrace)
	})
	t.Run("broken-definition", func(t *testing.T) {
		is := is.New(t)
		_, cmd, stderr := child(t, "broken")
		is.Equal(cmd.Wait().(*exec.ExitError).ExitCode(), 1)
		is.True(strings.Contains(stderr.String(), "TurnStart is nil"))
	})
	t.Run("closed-output", func(t *testing.T) {
		is := is.New(t)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asProgram+"=stubborn")
		in, err := cmd.StdinPipe()
		is.NoErr(err)
		out, err := cmd.StdoutPipe()
		is.NoErr(err)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		is.NoErr(cmd.Start())
		out.Close() // core reads no more, and keeps the input open
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"nope"}`+"\n")
		is.NoErr(err)
		is.Equal(cmd.Wait().(*exec.ExitError).ExitCode(), 1)
		is.True(strings.Contains(stderr.String(), "the connection to core broke"))
	})
	t.Run("record", func(t *testing.T) {
		is := is.New(t)
		dir := t.TempDir()
		c, cmd, _ := child(t, "stubborn", record.Variable+"="+dir)
		c.begin("t1")
		c.in.Close()
		<-c.readEnd
		is.NoErr(cmd.Wait())
		raw, err := os.ReadFile(filepath.Join(dir, "test", "t1", "bridge-to-core.ndjson"))
		is.NoErr(err)
		var first record.Entry
		is.NoErr(json.Unmarshal(bytes.SplitN(raw, []byte("\n"), 2)[0], &first))
		is.True(strings.Contains(first.Line, "thread/identity"))
	})
	t.Run("record-the-agent", func(t *testing.T) {
		is := is.New(t)
		dir := t.TempDir()
		c, cmd, _ := child(t, "owner", record.Variable+"="+dir)
		c.begin("t1")
		c.must(protocol.MethodTurnStart, turnParams("t1", "a"))
		c.in.Close()
		<-c.readEnd
		is.NoErr(cmd.Wait())
		r, err := record.Read(dir, "test", "t1")
		is.NoErr(err)
		agent := r.Lane(record.BridgeToProvider, record.ProviderToBridge)
		is.Equal(len(agent), 2)
		is.Equal(agent[0].Line, "to the agent")
		is.Equal(agent[1].Line, "to the agent")
	})
}
