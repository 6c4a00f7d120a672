package bridgekit_test

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// parrot is the session of a bridge that repeats what it hears.
type parrot struct{ thread *bridgekit.Thread }

func startParrot(_ context.Context, t *bridgekit.Thread, _ protocol.SessionParams) (*parrot, protocol.SessionIdentity, error) {
	return &parrot{t}, protocol.SessionIdentity{ProviderThreadID: "parrot-" + t.ID()}, nil
}

func (p *parrot) turn(_ context.Context, in protocol.TurnStartParams) error {
	key := protocol.ItemKey{ProviderItemID: "m-" + in.ClientRequestID}
	return p.thread.Send(
		&protocol.InputAccepted{ClientRequestID: in.ClientRequestID},
		&protocol.TurnOpen{TurnKey: protocol.Ptr("turn-" + in.ClientRequestID)},
		&protocol.ItemClose{Key: key, Status: protocol.Completed, Item: &protocol.Message{Text: in.Text()},
			Presentation: protocol.Presentation{Label: "Said", Icon: "message"}},
		&protocol.TurnBoundary{Status: protocol.Completed})
}

// A bridge is functions over a session type. A program calls bridgekit.Main with it; here it runs over pipes in memory,
// and the example plays core's part.
func Example() {
	runtime, err := bridgekit.Define(bridgekit.Bridge[*parrot]{
		Declarations:  []protocol.ProviderDeclaration{declaration()},
		ThreadStart:   startParrot,
		TurnStart:     (*parrot).turn,
		ThreadStop:    func(*parrot, context.Context, protocol.ThreadStopParams) error { return nil },
		ThreadDiscard: func(*parrot, context.Context, protocol.ThreadRef) error { return nil },
		Shutdown:      func(context.Context, protocol.ShutdownParams) error { return nil },
	})
	if err != nil {
		fmt.Println(err) // every problem of the definition
		return
	}
	stdin, toBridge := io.Pipe()
	fromBridge, stdout := io.Pipe()
	go func() {
		runtime.Run(context.Background(), stdin, stdout)
		stdout.Close()
	}()

	lines := bufio.NewScanner(fromBridge)
	say := func(method string, params any, answers int) {
		raw, _ := protocol.Marshal(params)
		fmt.Fprintf(toBridge, `{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`+"\n", method, method, raw)
		for range answers {
			lines.Scan()
			fmt.Println(lines.Text())
		}
	}
	say("initialize", hello(), 1)
	say("thread/start", sessionParams("t1"), 2)
	say("turn/start", turnParams("t1", "r1"), 2)
	say("shutdown", protocol.ShutdownParams{GraceMs: 1000}, 1)
	// Output:
	// {"jsonrpc":"2.0","id":"initialize","result":{"protocol":3,"capabilities":{"sessionRestore":true,"threadArchive":true,"threadRename":true,"threadGoal":true,"fork":"checkpoint","approvalEnforcedBy":"runtime","steer":"native"}}}
	// {"jsonrpc":"2.0","method":"thread/identity","params":{"threadId":"t1","providerThreadId":"parrot-t1","sessionRestorable":false}}
	// {"jsonrpc":"2.0","id":"thread/start","result":{"providerThreadId":"parrot-t1","sessionRestorable":false}}
	// {"jsonrpc":"2.0","method":"thread/delta","params":{"threadId":"t1","deltas":[{"kind":"input.accepted","clientRequestId":"r1"},{"kind":"turn.open","turnKey":"turn-r1","parentRef":null},{"kind":"item.close","scope":"turn","turnKey":null,"key":{"providerItemId":"m-r1","channel":null,"parentRef":null},"status":"completed","item":{"kind":"message","text":"hi"},"presentation":{"label":"Said","icon":"message"}},{"kind":"turn.boundary","turnKey":null,"status":"completed","error":null,"checkpointId":null}]}}
	// {"jsonrpc":"2.0","id":"turn/start","result":{}}
	// {"jsonrpc":"2.0","id":"shutdown","result":{}}
}
