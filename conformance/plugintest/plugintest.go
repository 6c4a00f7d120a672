// Package plugintest holds a plugin that is a program of its own to the rules of its protocol as part of a Go test: each rule is a
// subtest. The plugin may be written in any language. Package plugincheck does the same for programs, and says what is graded.
package plugintest

import (
	"testing"

	"github.com/bb-kernel/bb/conformance/plugincheck"
)

// TestPlugin grades the plugin in a folder, which has its contract.json and its program. A rule that the contract has nothing
// to try with, such as an example of a stream, is skipped with the reason.
func TestPlugin(t *testing.T, dir string) {
	t.Helper()
	results, err := plugincheck.Run(t.Context(), plugincheck.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		t.Run(r.Rule, func(t *testing.T) {
			switch r.Status {
			case plugincheck.Fail:
				t.Error(r.Detail)
			case plugincheck.Skip:
				t.Skip(r.Detail)
			}
		})
	}
}
