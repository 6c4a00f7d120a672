// Package agents finds the real coding agents that tests drive, which scripts/agents installs outside the repository. Each
// function returns the command line of one of them and skips the test, saying how to install it, when it is not there.
//
// Drive them against package fakemodel, with a home and a configuration of the test's own: nothing of the user's is then
// read, and nothing leaves the machine.
package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Codex returns the command line of the Codex program, without a sub-command.
func Codex(t testing.TB) []string {
	t.Helper()
	return []string{find(t, "codex", "codex/node_modules/@openai/codex-*/vendor/*/bin/codex*")}
}

// OpenCode returns the command line of the opencode program, without a sub-command.
func OpenCode(t testing.TB) []string {
	t.Helper()
	// The build for processors without AVX2 runs everywhere.
	return []string{find(t, "opencode", "opencode/node_modules/opencode-*-baseline/bin/opencode*", "opencode/node_modules/opencode-*/bin/opencode*")}
}

// ACPExample returns the command line of the example agent of the Agent Client Protocol's TypeScript library. It needs
// no model: every turn plays the same scene with one request for permission.
func ACPExample(t testing.TB) []string {
	t.Helper()
	script := find(t, "acp-example", "acp-example/node_modules/@agentclientprotocol/sdk/dist/examples/agent.js")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("the ACP example agent needs node on the PATH")
	}
	return []string{node, script}
}

// Dir returns where scripts/agents installs: $BB_AGENTS_DIR, or bb-agents in the user's cache directory.
func Dir() string {
	if dir := os.Getenv("BB_AGENTS_DIR"); dir != "" {
		return dir
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "bb-agents"
	}
	return filepath.Join(cache, "bb-agents")
}

// find returns the first file that one of the patterns below Dir matches.
func find(t testing.TB, name string, patterns ...string) string {
	t.Helper()
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(Dir(), filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			return found[0]
		}
	}
	t.Skipf("the agent %s is not installed in %s: run scripts/agents", name, Dir())
	return ""
}
