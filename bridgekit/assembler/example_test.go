package assembler_test

import (
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// Core reads the params of thread/delta, drops what breaks the grammar, and stores the events.
func Example() {
	params := []byte(`{"threadId":"thr_1","deltas":[
		{"kind":"input.accepted","clientRequestId":"req_1"},
		{"kind":"turn.open","turnKey":null,"parentRef":null},
		{"kind":"item.open","scope":"turn","turnKey":null,"key":{"providerItemId":"m1","channel":null,"parentRef":null},
		 "item":{"kind":"message","text":""},"presentation":{"label":"Writing","icon":"message"}},
		{"kind":"item.text","scope":"turn","turnKey":null,"key":{"providerItemId":"m1","channel":null,"parentRef":null},
		 "stream":"text","text":"Hello"},
		{"kind":"item.text","scope":"turn","turnKey":null,"key":{"providerItemId":"m2","channel":null,"parentRef":null},
		 "stream":"text","text":"lost"},
		{"kind":"turn.boundary","turnKey":null,"status":"completed","error":null,"checkpointId":null}]}`)

	check := grammar.New(nil)
	asm := assembler.New(assembler.Options{ThreadID: "thr_1", Entropy: "x7"})
	if err := asm.Expect("turn_1", "req_1"); err != nil { // core sent turn/start
		log.Fatal(err)
	}
	var batch protocol.DeltaBatch
	if err := protocol.ParseDeltaParams(params, &batch); err != nil {
		log.Fatal(err)
	}
	for i, d := range batch.Deltas {
		if v := check.Check(d); v != nil {
			fmt.Printf("dropped deltas[%d]: %s\n", i, v.Rule)
			continue
		}
		for _, e := range asm.Apply(d.Delta, time.Unix(0, 0)) {
			payload, err := json.Marshal(e.Payload)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(e.Type, e.ItemID, string(payload))
		}
	}
	// Output:
	// turn.started  {"origin":"client","clientRequestId":"req_1"}
	// turn.input_accepted  {"clientRequestId":"req_1"}
	// item.started x7-1 {"item":{"kind":"message","text":"","providerItemId":"m1"},"presentation":{"label":"Writing","icon":"message"}}
	// item.text x7-1 {"stream":"text","text":"Hello"}
	// dropped deltas[4]: item/opens-before-delta
	// item.completed x7-1 {"status":"interrupted","item":{"kind":"message","text":"","providerItemId":"m1"},"presentation":{"label":"Writing","icon":"message"},"partial":true}
	// turn.completed  {"status":"completed","error":null,"checkpointId":null,"mergedInto":null}
}
