package plugintest_test

import (
	"fmt"

	"github.com/bb-kernel/bb/conformance/plugincheck"
)

// In a test of a plugin: func TestConformance(t *testing.T) { plugintest.TestPlugin(t, "build/package") }
func Example() {
	fmt.Println(plugincheck.Rules()[0])
	// Output: handshake/initialize
}
