// Command bb-server runs a kernel as a server, with the example plugins unless told otherwise.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/bb-kernel/bb/bridgekit/record"
	hello "github.com/bb-kernel/bb/examples/hello-slot"
	notes "github.com/bb-kernel/bb/examples/notes-fixture"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/threads"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/server/internal/program"
)

func main() {
	if len(os.Args) > 1 {
		serveBridge(os.Args[1], os.Args[2:])
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bb-server: its own program is not found, which it runs again for bridges:", err)
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
		Plugins:  append(threads.Plugins(threads.Options{RecordDir: os.Getenv(record.Variable)}), codexPlugin(self)),
		Examples: []*pluginsdk.Plugin{hello.Plugin(), notes.Plugin(), echoPlugin(self)},
		Agent:    func(a program.Agent) *pluginsdk.Plugin { return agentPlugin(self, a) },
	}))
}
