package bridgetest_test

import (
	"fmt"
	"testing"

	"github.com/bb-kernel/bb/conformance/bridgecheck"
	"github.com/bb-kernel/bb/conformance/bridgetest"
)

func ExampleTestBridge() {
	fixture, err := bridgecheck.ParseFixture([]byte(`{
		"plugin": {"id": "mine", "version": "1.0.0"}, "providerIds": ["mine"], "profiles": [{}], "prompts": {},
		"options": {"model": "m", "reasoningLevel": null, "serviceTier": null, "instructions": "", "providerOptions": {},
			"permission": {"mode": "full", "scope": "full", "reviewer": null, "escalation": null}}
	}`))
	test := func(t *testing.T) { // in a test file: func TestMyBridge(t *testing.T)
		bridgetest.TestBridge(t, []string{"./my-bridge"}, fixture)
	}
	fmt.Println(err, test != nil)
	// Output: <nil> true
}
