package bridge_test

import (
	"context"
	"fmt"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// A plugin hands its program to pluginsdk.Host.ProvideBridge. Functions that run in the server are optional.
func Example() {
	program := bridge.Program{
		Command: []string{"my-bridge", "--quiet"},
		Hooks: bridge.ProviderHooks{
			DeriveProviderOptions: func(_ context.Context, r bridge.OptionsRequest) (protocol.JSONObject, error) {
				return protocol.JSONObject{"sandbox": []byte(`"` + string(r.Permission.Mode) + `"`)}, nil
			},
		},
	}
	options, err := program.Hooks.Derive(context.Background(), bridge.OptionsRequest{
		Operation: string(bridge.Send), Permission: protocol.PermissionPolicy{Mode: protocol.ModeAuto},
	})
	fmt.Println(string(options["sandbox"]), err)
	// Output: "auto" <nil>
}
