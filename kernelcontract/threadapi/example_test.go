package threadapi_test

import (
	"encoding/json"
	"fmt"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// A Printer turns the events of a thread into text that flows.
func Example() {
	var p threadapi.Printer
	for _, e := range []threadapi.Event{
		{Type: "item.started", ItemID: "1", Payload: json.RawMessage(`{"item":{"kind":"command","command":"go test ./..."}}`)},
		{Type: "item.output", ItemID: "1", Payload: json.RawMessage(`{"mode":"append","text":"ok\n"}`)},
		{Type: "item.completed", ItemID: "1", Payload: json.RawMessage(`{"status":"completed","item":{"kind":"command","command":"go test ./...","output":"ok\n","exitCode":0}}`)},
		{Type: "item.completed", ItemID: "2", Payload: json.RawMessage(`{"status":"completed","item":{"kind":"message","text":"All tests pass."}}`)},
	} {
		fmt.Print(p.Event(e))
	}
	fmt.Print(p.Close())
	// Output:
	// $ go test ./...
	//   ok
	//   exit 0
	// All tests pass.
}
