package bridgekit

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/record"
)

// Main serves a bridge on standard input and output and ends the process: with 0 after a shutdown or the end of the
// input, with 1 when the definition has problems or the connection breaks, which standard error says. SIGTERM and an
// interrupt from the keyboard are taken as the end of the input.
//
// While it runs, standard output belongs to the protocol: what the program writes there by itself, with fmt.Println for
// one, goes to standard error. With BB_BRIDGE_RECORD_DIR set every line is recorded, see package record. Who starts the
// program in a terminal is told what it is.
func Main[S any](b Bridge[S]) {
	r, err := Define(b)
	if err == nil {
		err = serve(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs r on standard input and output.
func serve(r *Runtime) (err error) {
	stdout, err := process.TakeStdout()
	if err != nil {
		return fmt.Errorf("bridgekit: standard output cannot be kept for the protocol: %w", err)
	}
	recorder, err := record.FromEnv()
	if err != nil {
		return err
	}
	var tee func(bool, []byte)
	if recorder != nil {
		tee = recorder.Connect(record.BridgeToCore, record.CoreToBridge, r.declarations[0].ID).Tee
	}
	if terminal(os.Stdin) {
		fmt.Fprintf(os.Stderr, "This is the bridge of %s: a program that a kernel starts and talks to in lines of JSON. To see whether it keeps the protocol:\n\tbb-conformance bridge -- %s\n", r.declarations[0].DisplayName, strings.Join(os.Args, " "))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = r.run(record.WithRecorder(ctx, recorder), os.Stdin, stdout, tee)
	if closing := recorder.Close(); err == nil {
		err = closing
	}
	return err
}

// terminal tells whether somebody may sit at f.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
