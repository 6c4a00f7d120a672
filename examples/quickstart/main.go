// Command quickstart is a tour: it starts a kernel on a free port with a temporary data directory, calls hello-slot on
// every surface for real, lets an agent without a model take a turn, and prints one line for each with what came back.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/cli"
	hello "github.com/bb-kernel/bb/examples/hello-slot"
	"github.com/bb-kernel/bb/examples/hello-slot/contracts"
	echo "github.com/bb-kernel/bb/examples/provider-echo"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/seal"
	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/threads"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/sdk"
)

// tourTime bounds the whole tour.
const tourTime = time.Minute

// bridgeWord makes the program its own agent's bridge, so that there is nothing to install.
const bridgeWord = "bridge-echo"

func main() {
	if len(os.Args) == 2 && os.Args[1] == bridgeWord {
		serveBridge()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctx, cancel := context.WithTimeout(ctx, tourTime)
	err := tour(ctx, os.Stdout)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// serveBridge serves the bridge of the echo provider, and ends the process.
func serveBridge() {
	b, err := echo.Bridge(echo.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
	bridgekit.Main(b)
}

// tour starts a kernel, walks through its surfaces, and stops it.
func tour(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "bb-quickstart-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plugins, err := composition()
	if err != nil {
		return err
	}
	k, err := newKernel(ctx, dir, plugins)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: k.Handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	defer func() {
		err = errors.Join(err, srv.Close())
		<-served
	}()
	t := &guide{ctx: ctx, kernel: k, url: "http://" + ln.Addr().String(), dir: dir}
	for _, step := range []struct {
		name string
		run  func() (string, error)
	}{{"http", t.http}, {"sdk", t.sdk}, {"cli", t.cli}, {"tool", t.tool}, {"docs", t.docs}, {"thread", t.thread}} {
		line, err := step.run()
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", step.name, strings.ReplaceAll(strings.TrimSpace(line), "\n", " | ")); err != nil {
			return err
		}
	}
	return nil
}

// composition is hello-slot, the threads of the kernel, and the echo provider to run them with.
func composition() ([]*pluginsdk.Plugin, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	agent, err := echo.Plugin(echo.PluginOptions{Command: []string{self, bridgeWord}})
	return append(threads.Plugins(threads.Options{}), hello.Plugin(), agent), err
}

// newKernel composes plugins on a database in dir, as a server does.
func newKernel(ctx context.Context, dir string, plugins []*pluginsdk.Plugin) (*kernelcore.Kernel, error) {
	store, err := sqlitestore.Open(ctx, dir, sqlitestore.Options{})
	if err != nil {
		return nil, err
	}
	box, err := seal.Open(dir)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	k, err := kernelcore.New(kernelcore.Options{Plugins: plugins, Store: store, Box: box, DataDir: dir})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return k, nil
}

// guide knows the running kernel.
type guide struct {
	ctx    context.Context
	kernel *kernelcore.Kernel
	url    string
	dir    string
}

// noEnv is an environment without BB_* variables: the tour talks to its own server only.
func noEnv(string) string { return "" }

// http asks as a browser or curl does.
func (g *guide) http() (string, error) {
	const route = "/api/v1/hello-slot/greeter/greet?name=bb"
	req, err := http.NewRequestWithContext(g.ctx, http.MethodGet, g.url+route, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", route, res.Status, body)
	}
	return fmt.Sprintf("GET %s → %s %s", route, res.Status, body), err
}

// sdk calls typed: a mutation, then a query that sees it.
func (g *guide) sdk() (string, error) {
	client, err := sdk.Connect(sdk.Options{URL: g.url, Env: noEnv})
	if err != nil {
		return "", err
	}
	if _, err := contracts.Count.Call(g.ctx, client, contracts.CountInput{Name: "bb"}); err != nil {
		return "", err
	}
	out, err := contracts.Greet.Call(g.ctx, client, contracts.GreetInput{Name: "bb"})
	return fmt.Sprintf("contracts.Count.Call, contracts.Greet.Call → %+v", out), err
}

// cli runs the bb command line.
func (g *guide) cli() (string, error) {
	args := []string{"hello", "greet", "bb", "--salutation", "Welcome"}
	text, err := g.bb(args...)
	return "bb " + strings.Join(args, " ") + " → " + text, err
}

func (g *guide) bb(args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	code := cli.Main(g.ctx, append([]string{"--server", g.url}, args...), cli.Options{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		CacheDir: filepath.Join(g.dir, "cache"), ConfigDir: filepath.Join(g.dir, "config"), Env: noEnv,
	})
	if code != kernelcontract.ExitOK {
		return "", fmt.Errorf("bb %s: exit %d: %s%s", strings.Join(args, " "), code, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// tool runs the agent tool, as an agent of a thread.
func (g *guide) tool() (string, error) {
	const name = "hello_slot_greeter_greet"
	result := g.kernel.RunTool(g.ctx, "quickstart", kernelcontract.Context{}, name, json.RawMessage(`{"name":"bb"}`))
	answer, err := json.Marshal(result)
	if err == nil && !result.Success {
		err = fmt.Errorf("%s", answer)
	}
	return name + ` {"name":"bb"} → ` + string(answer), err
}

// docs asks for the reference of hello-slot and shows what it says of greet.
func (g *guide) docs() (string, error) {
	client, err := sdk.Connect(sdk.Options{URL: g.url, Env: noEnv})
	if err != nil {
		return "", err
	}
	reference, err := kernelapi.GetReference.Call(g.ctx, client, kernelapi.ReferenceInput{PluginID: "hello-slot"})
	if err != nil {
		return "", err
	}
	text := docs.RenderReference(reference)
	for line := range strings.Lines(text) {
		if usage, ok := strings.CutPrefix(line, "Usage: "); ok {
			return fmt.Sprintf("reference of %s, %d lines → %s", reference.PluginID, strings.Count(text, "\n"), usage), nil
		}
	}
	return "", errors.New("the reference has no usage line")
}

// thread lets an agent take a turn, and reads in its timeline what it said.
func (g *guide) thread() (string, error) {
	client, err := sdk.Connect(sdk.Options{URL: g.url, Env: noEnv})
	if err != nil {
		return "", err
	}
	thread, err := threadapi.Create.Call(g.ctx, client, threadapi.CreateInput{ProviderID: "echo", Cwd: g.dir})
	if err != nil {
		return "", err
	}
	words := []threadapi.Part{threadapi.Text("say Hello from an agent!")}
	turn, err := threadapi.Send.Call(g.ctx, client, threadapi.SendInput{Thread: thread.ID, Input: words})
	if err != nil {
		return "", err
	}
	done, err := threadapi.Wait.Call(g.ctx, client, threadapi.WaitInput{Thread: thread.ID, Turn: turn.ID})
	if err != nil {
		return "", err
	}
	timeline, err := threadapi.Timeline.Call(g.ctx, client, threadapi.TimelineInput{Thread: thread.ID})
	if err != nil {
		return "", err
	}
	for _, row := range timeline.Rows {
		if row.Kind != threadapi.RowMessage {
			continue
		}
		var message struct {
			Text string `json:"text"`
		}
		err := json.Unmarshal(row.Data, &message)
		return fmt.Sprintf("echo, threadapi.Send.Call → %s, %q", done.Turn.Status, message.Text), err
	}
	return "", fmt.Errorf("the turn is %s, and the timeline has no message", done.Turn.Status)
}
