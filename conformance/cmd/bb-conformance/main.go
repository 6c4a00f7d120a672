// Command bb-conformance tells whether a provider bridge keeps the bridge protocol, rule by rule, whatever language it is
// written in:
//
//	bb-conformance bridge -- node my-bridge.js
//
// It exits with 0 when no rule failed, 1 when one did, and 2 when it was used wrongly.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interruption kills
	status := program{stdout: os.Stdout, stderr: os.Stderr}.run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}
