package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/tools/internal/stage"
)

// repository makes a repository with two sets: the module low, and the module high that requires it.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, map[string]string{
		"LICENSE": "terms\n",
		"go.work": "go 1.25.0\n\nuse (\n\t./high\n\t./low\n)\n",
		"versions.yaml": `module-sets:
  base:
    version: v0.1.0
    modules:
      - github.com/bb-kernel/bb/low
  rest:
    version: v0.1.0
    modules:
      - github.com/bb-kernel/bb/high
`,
		"low/go.mod":   "module github.com/bb-kernel/bb/low\n\ngo 1.25.0\n",
		"low/low.go":   "// Package low is low.\npackage low\n\n// Name names it.\nconst Name = \"low\"\n",
		"high/go.mod":  "module github.com/bb-kernel/bb/high\n\ngo 1.25.0\n\nrequire github.com/bb-kernel/bb/low v0.0.0\n\nreplace github.com/bb-kernel/bb/low => ../low\n",
		"high/high.go": "// Package high is high.\npackage high\n\nimport \"github.com/bb-kernel/bb/low\"\n\n// Name names it.\nconst Name = \"high over \" + low.Name\n",
	})
	git(t, root, "init", "-q", "-b", "main")
	commit(t, root)
	return root
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func git(t *testing.T, root string, args ...string) string {
	t.Helper()
	out, err := stage.Run(t.Context(), root, nil, "git", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func commit(t *testing.T, root string) {
	t.Helper()
	git(t, root, "add", "-A")
	git(t, root, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", "Change")
}

func TestDryRunWritesNothing(t *testing.T) {
	root := repository(t)
	before := git(t, root, "rev-parse", "HEAD")
	if err := run(context.Background(), root, true); err != nil {
		t.Fatal(err)
	}
	if tags := git(t, root, "tag"); tags != "" || git(t, root, "rev-parse", "HEAD") != before || git(t, root, "status", "--porcelain") != "" {
		t.Fatalf("the repository changed; tags: %q", tags)
	}
}

func TestTagDropsReplacesOnACloneAndTagsEveryModule(t *testing.T) {
	root := repository(t)
	before := git(t, root, "rev-parse", "HEAD")
	if err := run(context.Background(), root, false); err != nil {
		t.Fatal(err)
	}
	if got := git(t, root, "tag"); got != "high/v0.1.0\nlow/v0.1.0\n" {
		t.Fatalf("tags: %q", got)
	}
	gomod := git(t, root, "show", "high/v0.1.0:high/go.mod")
	if strings.Contains(gomod, "replace") || !strings.Contains(gomod, "github.com/bb-kernel/bb/low v0.1.0") {
		t.Errorf("released go.mod:\n%s", gomod)
	}
	if sum := git(t, root, "show", "high/v0.1.0:high/go.sum"); !strings.Contains(sum, "github.com/bb-kernel/bb/low v0.1.0 h1:") {
		t.Errorf("released go.sum:\n%s", sum)
	}
	if git(t, root, "rev-parse", "HEAD") != before || git(t, root, "status", "--porcelain") != "" {
		t.Error("the branch or the work tree changed")
	}
	if git(t, root, "rev-parse", "high/v0.1.0~1") != before {
		t.Error("the release is not one commit on top of HEAD")
	}
	if err := run(context.Background(), root, false); err == nil || !strings.Contains(err.Error(), "raise one first") {
		t.Errorf("a second release of the same versions: %v", err)
	}
}

func TestLaterReleaseBuildsOnTheTaggedSibling(t *testing.T) {
	root := repository(t)
	if err := run(context.Background(), root, false); err != nil {
		t.Fatal(err)
	}
	versions, err := os.ReadFile(filepath.Join(root, "versions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	base, rest, _ := strings.Cut(string(versions), "  rest:")
	write(t, root, map[string]string{
		"versions.yaml": base + "  rest:" + strings.Replace(rest, "v0.1.0", "v0.2.0", 1),
		"low/low.go":    "// Package low is low.\npackage low\n", // no Name: high builds only with the tagged one
	})
	commit(t, root)
	if err := run(context.Background(), root, false); err != nil {
		t.Fatal(err)
	}
	if got := git(t, root, "tag"); got != "high/v0.1.0\nhigh/v0.2.0\nlow/v0.1.0\n" {
		t.Fatalf("tags: %q", got)
	}
}

func TestTagRefusesAChangedWorkTree(t *testing.T) {
	root := repository(t)
	write(t, root, map[string]string{"low/new.go": "package low\n"})
	if err := run(context.Background(), root, false); err == nil || !strings.Contains(err.Error(), "commit or remove") {
		t.Fatalf("got %v", err)
	}
}

func TestPlanRefusesAHalfTaggedSet(t *testing.T) {
	root := repository(t)
	write(t, root, map[string]string{"versions.yaml": `module-sets:
  all:
    version: v0.1.0
    modules:
      - github.com/bb-kernel/bb/low
      - github.com/bb-kernel/bb/high
`})
	git(t, root, "tag", "low/v0.1.0")
	if err := run(context.Background(), root, true); err == nil || !strings.Contains(err.Error(), "half tagged") {
		t.Fatalf("got %v", err)
	}
}
