package codex_test

import (
	"context"
	"fmt"
	"io"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
	codex "github.com/bb-kernel/bb/examples/provider-codex"
)

// Example runs the bridge inside this program and shakes hands with it, for which Codex is not started.
func Example() {
	bridge, err := codex.Bridge(codex.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	runtime, err := bridgekit.Define(bridge)
	if err != nil {
		fmt.Println(err)
		return
	}
	in, toBridge := io.Pipe()
	fromBridge, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- runtime.Run(context.Background(), in, out) }()
	core := wire.NewPeer(fromBridge, toBridge, wire.Options{})
	go core.Run(context.Background())

	result, err := core.Call(context.Background(), protocol.MethodInitialize, protocol.InitializeParams{
		Protocol: protocol.VersionRange{Min: 3, Max: 3}, Client: protocol.ClientInfo{Name: "bb", Version: "1"},
		Plugin: protocol.PluginInfo{ID: "codex", Version: "1"}, ProviderIDs: []string{"codex"},
	})
	fmt.Println(string(result), err)
	toBridge.Close()
	fmt.Println(<-ended)
	core.Close()
	// Output:
	// {"protocol":3,"capabilities":{"sessionRestore":true,"threadArchive":true,"threadRename":true,"threadGoal":true,"fork":"checkpoint","approvalEnforcedBy":"runtime","steer":"native"}} <nil>
	// <nil>
}
