package extension_test

import (
	"encoding/json"
	"fmt"

	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

func Example() {
	kinds, err := extension.New(protocol.ProviderDeclaration{ID: "demo", ExtensionKinds: map[string]protocol.ExtensionKind{
		"demo/chart": {Item: json.RawMessage(`{"type": "object", "required": ["points"]}`)},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(kinds.CheckItem("demo/chart", json.RawMessage(`{"points": [1, 2, 3]}`)))
	fmt.Println(kinds.CheckItem("demo/chart", json.RawMessage(`{}`)))
	// Output:
	// <nil>
	// item of kind demo/chart: payload: missing property 'points'
}
