package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/wire"
)

// Two ends of a connection: one asks, the other notifies and then answers.
func Example() {
	fromA, toB := io.Pipe()
	fromB, toA := io.Pipe()
	asks := wire.NewPeer(fromB, toB, wire.Options{
		Notify: func(_ context.Context, n wire.Notification) { fmt.Println(n.Method, string(n.Params)) },
	})
	answers := wire.NewPeer(fromA, toA, wire.Options{
		Request: func(ctx context.Context, r *wire.Request) {
			if err := r.Reply(map[string]string{"echo": r.Method}); err != nil {
				fmt.Println(err)
			}
		},
	})
	ctx := context.Background()
	done := make(chan error, 2)
	go func() { done <- asks.Run(ctx) }()
	go func() { done <- answers.Run(ctx) }()

	if err := answers.Notify(ctx, "hello", json.RawMessage(`{"to": "you"}`)); err != nil {
		fmt.Println(err)
	}
	result, err := asks.Call(ctx, "ping", nil)
	fmt.Println(string(result), err)

	asks.Close()
	answers.Close()
	fmt.Println(<-done, <-done)
	// Output:
	// hello {"to": "you"}
	// {"echo":"ping"} <nil>
	// <nil> <nil>
}

// Lines that are no messages are dropped with a reason.
func ExampleParse() {
	lines := wire.NewLineReader(strings.NewReader("Welcome!\n{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"ping\"}\n"), wire.MaxLine)
	for {
		line, err := lines.Next()
		if err != nil {
			break
		}
		m, err := wire.Parse(line)
		fmt.Println(m.ID, m.Method, err)
	}
	// Output:
	//   wire: dropped a line (invalid-json): it is not JSON; only messages belong here, logs belong to standard error; it starts with "Welcome!"
	// -1 ping <nil>
}
