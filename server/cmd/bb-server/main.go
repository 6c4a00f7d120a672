// Command bb-server runs a kernel as a server, with the example plugins unless told otherwise.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/record"
	hello "github.com/bb-kernel/bb/examples/hello-slot"
	notes "github.com/bb-kernel/bb/examples/notes-fixture"
	echo "github.com/bb-kernel/bb/examples/provider-echo"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/threads"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/server/internal/program"
)

// echoWord makes this program the bridge of the echo provider; the server runs it again with it.
const echoWord = "bridge-echo"

func main() {
	if len(os.Args) == 2 && os.Args[1] == echoWord {
		serveEcho()
	}
	plugins, examples, err := plugins()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bb-server:", err)
		os.Exit(kernelcontract.ExitFailure)
	}
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // lives as long as the process
		<-signals
		cancel()
		<-signals
		fmt.Fprintln(os.Stderr, "bb-server: stopped at once, with calls in flight")
		os.Exit(kernelcontract.ExitInterrupted)
	}()
	os.Exit(program.Main(ctx, os.Args[1:], program.Options{
		Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Plugins: plugins, Examples: examples,
	}))
}

// plugins returns the plugins of the server and, apart from them, the examples.
func plugins() (own, examples []*pluginsdk.Plugin, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	example, err := echo.Plugin(echo.PluginOptions{Command: []string{self, echoWord}})
	if err != nil {
		return nil, nil, err
	}
	own = threads.Plugins(threads.Options{RecordDir: os.Getenv(record.Variable)})
	return own, []*pluginsdk.Plugin{hello.Plugin(), notes.Plugin(), example}, nil
}

// serveEcho is the bridge of the echo provider. It ends the process.
func serveEcho() {
	b, err := echo.Bridge(echo.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(kernelcontract.ExitFailure)
	}
	bridgekit.Main(b)
}
