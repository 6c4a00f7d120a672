// Fake-model serves a fake model on a free loopback port, for scripts that drive real coding agents: see package fakemodel.
// It prints its URL and serves until its standard input ends, or a signal comes.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/bb-kernel/bb/pluginsdk/plugintest/fakemodel"
)

// headerTimeout bounds how long a client may take for the headers of a request.
const headerTimeout = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "fake-model:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("fake-model", flag.ContinueOnError)
	requests := flags.String("requests", "", "append the body of each request to this `file`, one a line")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), "fake-model serves a fake model for tests of coding agents, prints its URL, and ends with its standard input.\n"+
			"OpenAI clients want the URL with /v1 as their base, Anthropic clients the URL itself.\n\nFlags:\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	model := fakemodel.New(fakemodel.Options{})
	defer model.Close()
	var handler http.Handler = model
	if *requests != "" {
		f, err := os.OpenFile(*requests, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		handler = recorded(model, f)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }() // ends with Close below
	fmt.Fprintf(stdout, "http://%s\n", listener.Addr())
	ended := make(chan struct{})
	go func() { // ends with the standard input, or with the process
		_, _ = io.Copy(io.Discard, stdin)
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	case err := <-served:
		return err
	}
	model.Close()
	if err := server.Close(); err != nil {
		return err
	}
	<-served
	return nil
}

// recorded writes down what is asked of the model.
func recorded(next *fakemodel.Server, to io.Writer) http.Handler {
	var mu sync.Mutex
	seen := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		mu.Lock()
		defer mu.Unlock()
		for all := next.Requests(); seen < len(all); seen++ {
			var line bytes.Buffer
			if json.Compact(&line, all[seen].Body) == nil {
				line.WriteByte('\n')
				_, _ = to.Write(line.Bytes())
			}
		}
	})
}
