package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEveryModuleHasAREADME(t *testing.T) {
	dir := root(t)
	for _, m := range append(modules(t, dir), "tools") {
		data, err := os.ReadFile(filepath.Join(dir, m, "README.md"))
		if err != nil {
			t.Errorf("module %s has no README.md", m)
			continue
		}
		if first, _, _ := strings.Cut(string(data), "\n"); !strings.HasPrefix(first, "# ") {
			t.Errorf("%s/README.md begins with %q, not with a heading", m, first)
		}
	}
}

func TestEveryModuleAsksForGo125(t *testing.T) {
	dir := root(t)
	for _, file := range append(modules(t, dir), "tools") {
		data, err := os.ReadFile(filepath.Join(dir, file, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(data), "\n")
		if !slices.Contains(lines, "go 1.25.0") {
			t.Errorf("%s/go.mod has no line `go 1.25.0`: the two newest Go releases are supported", file)
		}
		if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "toolchain ") }) {
			t.Errorf("%s/go.mod asks for a toolchain", file)
		}
	}
}

// TestEveryModuleIsInTheWorkspace finds go.mod files that go.work has forgotten.
func TestEveryModuleIsInTheWorkspace(t *testing.T) {
	dir := root(t)
	used := append(modules(t, dir), "tools") // tools keeps its dependencies out of the workspace
	for _, pattern := range []string{"*/go.mod", "*/*/go.mod"} {
		files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			rel, err := filepath.Rel(dir, filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(used, filepath.ToSlash(rel)) {
				t.Errorf("%s has a go.mod but is not in go.work", rel)
			}
		}
	}
}

// TestReleasePlan runs the release script, which by default only prints what it would tag.
func TestReleasePlan(t *testing.T) {
	t.Parallel()
	dir := root(t)
	cmd := exec.Command("go", "run", "./release", "-root", dir)
	cmd.Dir = filepath.Join(dir, "tools")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(string(out), "\n")
	for _, m := range modules(t, dir) {
		named := slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "tag "+m+"/v") || strings.HasPrefix(line, "keep, already tagged: "+m+"/v")
		})
		if named == (m == "workspace") {
			t.Errorf("module %s is in the plan: %v", m, named)
		}
	}
	if !strings.Contains(string(out), "dry run: nothing was written") {
		t.Errorf("the plan does not say that it is only a plan:\n%s", out)
	}
}
