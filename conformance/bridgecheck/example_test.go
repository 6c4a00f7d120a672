package bridgecheck_test

import (
	"context"
	"fmt"

	"github.com/bb-kernel/bb/conformance/bridgecheck"
)

func ExampleRun() {
	fixture, err := bridgecheck.ParseFixture([]byte(`{
		"plugin": {"id": "mine", "version": "1.0.0"},
		"providerIds": ["mine"],
		"profiles": [{"args": ["--profile", "full"]}],
		"options": {"model": "m", "reasoningLevel": null, "serviceTier": null, "instructions": "", "providerOptions": {},
			"permission": {"mode": "full", "scope": "full", "reviewer": null, "escalation": null}},
		"prompts": {"plain": {"input": [{"type": "text", "text": "hello", "mentions": [], "visibility": "user"}]}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := bridgecheck.Run(context.Background(), []string{"my-bridge-is-not-there"}, fixture, bridgecheck.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		if r.Status == bridgecheck.Fail {
			fmt.Println(r.Status, r.Rule)
		}
	}
	// Output: fail handshake/initialize
}

func ExampleRules() {
	for _, r := range bridgecheck.Rules()[:2] {
		fmt.Printf("%s: %s; wants %s\n", r.ID, r.Stimulus, r.Evidence)
	}
	// Output:
	// rpc/unknown-method: requests for a method that does not exist, under ids of every form; wants error -32601 under the very same id
	// rpc/invalid-params: requests that miss one required field each, gated methods included; wants error -32602 with issues in its data
}
