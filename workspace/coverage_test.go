package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bb-kernel/bb/workspace/internal/coverage"
)

// TestCoverageList checks that docs/coverage.tsv is well formed and sorted, names no rule twice and no test that does
// not exist. That the tests ran, .ci/run checks against the outcome of its own run.
func TestCoverageList(t *testing.T) {
	dir := root(t)
	const name = "docs/coverage.tsv"
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := coverage.Parse(name, string(data))
	if err != nil {
		t.Error(err)
	}
	if coverage.Format(rules) != string(data) {
		t.Errorf("%s is not sorted by id, without comments: run scripts/coverage merge", name)
	}
	if err := coverage.CheckSources(dir, rules); err != nil {
		t.Error(err)
	}
}
