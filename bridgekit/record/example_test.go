package record_test

import (
	"fmt"
	"os"

	"github.com/bb-kernel/bb/bridgekit/record"
)

// A bridge in Go records by itself when BB_BRIDGE_RECORD_DIR is set; this is what happens underneath.
func Example() {
	dir, err := os.MkdirTemp("", "recording")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	r, err := record.New(record.Options{Dir: dir, Env: []string{"ECHO_API_KEY=not-for-your-eyes"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := r.Connect(record.BridgeToCore, record.CoreToBridge, "echo")
	c.Tee(false, []byte(`{"jsonrpc":"2.0","id":"1","method":"thread/start","params":{"threadId":"t1","providerId":"echo"}}`))
	c.Tee(true, []byte(`{"jsonrpc":"2.0","id":"1","error":{"code":-32000,"message":"not-for-your-eyes is refused"}}`))
	if err := r.Close(); err != nil {
		fmt.Println(err)
	}

	recording, err := record.Read(dir, "echo", "t1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range recording.Entries {
		fmt.Println(e.Seq, e.Lane, e.Line)
	}
	// Output:
	// 1 core-to-bridge {"jsonrpc":"2.0","id":"1","method":"thread/start","params":{"threadId":"t1","providerId":"echo"}}
	// 2 bridge-to-core {"jsonrpc":"2.0","id":"1","error":{"code":-32000,"message":"[redacted] is refused"}}
}
