package acp_test

import (
	"fmt"

	acp "github.com/bb-kernel/bb/examples/provider-acp"
)

func Example() {
	options := acp.Options{
		ProviderID: "opencode", DisplayName: "OpenCode",
		Command:     []string{"opencode", "acp"},
		Passthrough: []string{"OPENAI_API_KEY"},
	}
	declaration := acp.Declaration(options)
	bridge, err := acp.Bridge(options)
	fmt.Println(declaration.DisplayName, declaration.Capabilities.SessionRestore, bridge.ThreadResume != nil, err)
	// Output: OpenCode true true <nil>
}
