package bridgetest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bb-kernel/bb/conformance/bridgecheck"
	"github.com/bb-kernel/bb/conformance/bridgetest"
)

// TestPythonBridge holds a bridge to the rules that was written from docs/bridges.md, with nothing of ours in it. It
// passes all of them, none is skipped.
func TestPythonBridge(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 to run the bridge with; .ci/run installs one, and allows no skip")
	}
	dir := filepath.Join("..", "testdata", "python-bridge")
	data, err := os.ReadFile(filepath.Join(dir, "fixture.json"))
	if err != nil {
		t.Fatal(err)
	}
	fixture, err := bridgecheck.ParseFixture(data)
	if err != nil {
		t.Fatal(err)
	}
	bridge, err := filepath.Abs(filepath.Join(dir, "bridge.py"))
	if err != nil {
		t.Fatal(err)
	}
	bridgetest.TestBridge(t, []string{python, bridge, "--state", t.TempDir()}, fixture)
}
