package host_test

import (
	"context"
	"fmt"
	"os"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// The example starts the test binary as a bridge, which sends two deltas for the turn that it is given.
func Example() {
	ctx := context.Background()
	b, err := host.Start(ctx, host.Options{
		Command:      []string{os.Args[0]},
		Env:          []string{role + "=puppet"},
		Plugin:       protocol.PluginInfo{ID: "demo", Version: "1"},
		Declarations: []protocol.ProviderDeclaration{declaration("puppet")},
		Handler: host.Handler{
			Deltas: func(threadID string, ds protocol.Deltas) {
				for _, d := range ds {
					fmt.Println(threadID, d.Kind())
				}
			},
			Exit: func(e *host.ExitError) { fmt.Println(e.Exit) },
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Stop(ctx)

	id, err := b.ThreadStart(ctx, session("t1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("session", id.ProviderThreadID)
	if err := b.TurnStart(ctx, turn("t1", deltas(turnOpen, boundary))); err != nil {
		fmt.Println(err)
	}
	// Output:
	// session p-t1
	// t1 turn.open
	// t1 turn.boundary
	// exited with status 0
}
