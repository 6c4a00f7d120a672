// Command bb calls the methods of a server from the command line. `bb --help` lists them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/bb-kernel/bb/cli"
)

func main() { os.Exit(run()) }

func run() int {
	// A closed pipe is an error of the write, which ends the program quietly, and not a signal that kills it.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interruption kills
	return cli.Main(ctx, os.Args[1:], cli.Options{})
}
