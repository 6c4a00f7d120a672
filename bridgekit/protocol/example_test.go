package protocol_test

import (
	"encoding/json"
	"fmt"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

func Example() {
	line := `{"threadId": "t1", "deltas": [{"kind": "thread.name", "name": "Fix the build"}, {"kind": "turn.diff", "turnKey": null}]}`
	var batch protocol.DeltaBatch
	if err := protocol.ParseDeltaParams([]byte(line), &batch); err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range batch.Deltas {
		if d.Err != nil {
			fmt.Println(d.Err)
			continue
		}
		switch d := d.Delta.(type) {
		case *protocol.ThreadName:
			fmt.Println("the thread is called", d.Name)
		default:
			fmt.Println(d.Kind())
		}
	}
	// Output:
	// the thread is called Fix the build
	// deltas[1]: turn.diff: diff: missing
}

func ExampleDecode() {
	_, err := protocol.Decode[protocol.ThreadStopParams]([]byte(`{"threadId": "t1", "intent": "pause"}`))
	fmt.Println(err)
	identity, _ := protocol.Decode[protocol.SessionIdentity]([]byte(`{"providerThreadId": "s1", "sessionRestorable": true, "later": 1}`))
	wire, _ := json.Marshal(identity)
	fmt.Println(string(wire))
	// Output:
	// INVALID_PARAMS: the value breaks the protocol; intent: must be one of interrupt, release, not "pause"; providerThreadId: missing
	// {"providerThreadId":"s1","sessionRestorable":true,"later":1}
}

func ExampleApproval_Accepts() {
	ask := &protocol.Approval{Subject: &protocol.PlanSubject{Plan: "1. Read"}}
	fmt.Println(ask.Accepts(&protocol.Decision{Kind: protocol.AllowOnce}))
	fmt.Println(ask.Accepts(&protocol.Decision{Kind: protocol.AllowForSession}))
	// Output:
	// <nil>
	// the decision "allow_for_session" was not offered; choose one of [allow_once deny]
}
