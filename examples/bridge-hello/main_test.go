package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/matryer/is"
)

// asBridge makes this test binary the bridge.
const asBridge = "BRIDGE_HELLO_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asBridge) != "" {
		main()
	}
	os.Exit(m.Run())
}

var options = protocol.ExecutionOptions{Permission: protocol.PermissionPolicy{Mode: protocol.ModeFull, Scope: protocol.ScopeFull}}

// run starts the bridge, gives it one turn, and returns what it sent until the turn ended. Ask answers its question.
func run(t *testing.T, prompt string, ask func(ctx context.Context, b *host.Bridge) (protocol.Resolution, error)) protocol.Deltas {
	t.Helper()
	is := is.New(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	deltas := make(chan protocol.Delta, 100)
	started := make(chan *host.Bridge, 1)
	b, err := host.Start(ctx, host.Options{
		Command: []string{os.Args[0]}, Env: []string{asBridge + "=1"}, Plugin: protocol.PluginInfo{ID: "hello", Version: "1"},
		Declarations: []protocol.ProviderDeclaration{declaration},
		Handler: host.Handler{
			Deltas: func(_ string, ds protocol.Deltas) {
				for _, d := range ds {
					deltas <- d
				}
			},
			Interact: func(ctx context.Context, p protocol.InteractionParams) (protocol.Resolution, error) {
				return ask(ctx, <-started)
			},
			Log: func(p protocol.LogParams) { t.Errorf("the log says: %s %s", p.Message, p.Data) },
		},
	})
	is.NoErr(err)
	started <- b
	defer func() {
		is.NoErr(b.Stop(ctx))
		is.Equal(b.Exit().Exit.Code, 0)
	}()
	id, err := b.ThreadStart(ctx, protocol.SessionParams{ThreadID: "t", ProviderID: "hello", Cwd: "/", Workspace: protocol.Workspace{Root: "/"},
		Options: options, InstructionMode: protocol.InstructionsAppend})
	is.NoErr(err)
	is.Equal(id.ProviderThreadID, "hello-t")
	is.NoErr(b.TurnStart(ctx, protocol.TurnStartParams{ThreadID: "t", ProviderThreadID: "hello-t", ClientRequestID: "r", Options: options,
		Input: protocol.Inputs{&protocol.TextInput{Text: prompt, Visibility: protocol.VisibleUser}}}))
	var all protocol.Deltas
	for {
		select {
		case d := <-deltas:
			all = append(all, d)
			if _, ok := d.(*protocol.TurnBoundary); ok {
				return all
			}
		case <-ctx.Done():
			t.Fatal("the turn did not end")
		}
	}
}

// outcome is how the turn ended and what the agent said.
func outcome(ds protocol.Deltas) (status protocol.Status, said string) {
	for _, d := range ds {
		switch d := d.(type) {
		case *protocol.ItemClose:
			said = d.Item.(*protocol.Message).Text
		case *protocol.TurnBoundary:
			status = d.Status
		}
	}
	return status, said
}

func decide(k protocol.DecisionKind) func(context.Context, *host.Bridge) (protocol.Resolution, error) {
	return func(context.Context, *host.Bridge) (protocol.Resolution, error) {
		return &protocol.Decision{Kind: k}, nil
	}
}

func TestTurns(t *testing.T) {
	for name, test := range map[string]struct {
		prompt string
		ask    func(context.Context, *host.Bridge) (protocol.Resolution, error)
		status protocol.Status
		said   string
	}{
		"anything": {"hello", nil, protocol.Completed, "hello"},
		"allowed":  {"RUN ls", decide(protocol.AllowOnce), protocol.Completed, "RUN ls"},
		"denied":   {"RUN ls", decide(protocol.Deny), protocol.Completed, "not allowed"},
		"stopped while it asks": {"RUN ls", func(ctx context.Context, b *host.Bridge) (protocol.Resolution, error) {
			go b.ThreadStop(context.Background(), protocol.ThreadStopParams{Intent: protocol.Interrupt,
				ThreadRef: protocol.ThreadRef{ThreadID: "t", ProviderThreadID: "hello-t"}})
			<-ctx.Done()
			return nil, ctx.Err()
		}, protocol.Interrupted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			status, said := outcome(run(t, test.prompt, test.ask))
			is.Equal(status, test.status)
			is.Equal(said, test.said)
		})
	}
}

// TestStopAsTheTurnOpens stops turns at the moment in which core learns of them, when turn may not have returned.
func TestStopAsTheTurnOpens(t *testing.T) {
	is := is.New(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	opened, settled := make(chan struct{}, 1), make(chan protocol.Status, 1)
	b, err := host.Start(ctx, host.Options{
		Command: []string{os.Args[0]}, Env: []string{asBridge + "=1"}, Plugin: protocol.PluginInfo{ID: "hello", Version: "1"},
		Declarations: []protocol.ProviderDeclaration{declaration},
		Handler: host.Handler{
			Deltas: func(_ string, ds protocol.Deltas) {
				for _, d := range ds {
					switch d := d.(type) {
					case *protocol.TurnOpen:
						opened <- struct{}{}
					case *protocol.TurnBoundary:
						settled <- d.Status
					}
				}
			},
			Interact: func(ctx context.Context, _ protocol.InteractionParams) (protocol.Resolution, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
			Log: func(p protocol.LogParams) { t.Errorf("the log says: %s %s", p.Message, p.Data) }, // as when the runtime has to settle
		},
	})
	is.NoErr(err)
	defer func() { is.NoErr(b.Stop(ctx)) }()
	ref := protocol.ThreadRef{ThreadID: "t", ProviderThreadID: "hello-t"}
	_, err = b.ThreadStart(ctx, protocol.SessionParams{ThreadID: "t", ProviderID: "hello", Cwd: "/", Options: options, InstructionMode: protocol.InstructionsAppend})
	is.NoErr(err)
	for range 100 {
		started := make(chan error, 1)
		go func() {
			started <- b.TurnStart(ctx, protocol.TurnStartParams{ThreadID: "t", ProviderThreadID: "hello-t", ClientRequestID: "r", Options: options,
				Input: protocol.Inputs{&protocol.TextInput{Text: "RUN ls", Visibility: protocol.VisibleUser}}})
		}()
		<-opened
		is.NoErr(b.ThreadStop(ctx, protocol.ThreadStopParams{ThreadRef: ref, Intent: protocol.Interrupt}))
		is.Equal(<-settled, protocol.Interrupted)
		is.NoErr(<-started)
	}
}

func TestItStaysSmall(t *testing.T) {
	is := is.New(t)
	source, err := os.ReadFile("main.go")
	is.NoErr(err)
	is.True(strings.Count(string(source), "\n") < 80)
}
