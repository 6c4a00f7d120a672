package workspace_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/workspace/internal/golist"
	"github.com/bb-kernel/bb/workspace/internal/source"
)

// TestStyle holds every package to the house rules that a program can check; CONTRIBUTING.md lists them.
func TestStyle(t *testing.T) {
	g, err := golist.Load(t.Context(), root(t), true)
	if err != nil {
		t.Fatal(err)
	}
	packages, err := source.Load(g)
	if err != nil {
		t.Fatal(err)
	}
	mayShow := func(path string) bool {
		p := g.Packages[path]
		return p != nil && p.Standard || strings.HasPrefix(path, golist.Prefix) || path == "github.com/matryer/is"
	}
	for _, rule := range []struct {
		name  string
		check func(p *source.Package) []string
	}{
		{"every package has a package comment", func(p *source.Package) []string {
			if len(p.Files) == 0 || p.HasComment() {
				return nil
			}
			return []string{p.ImportPath + " has none"}
		}},
		{"every exported identifier has a doc comment", func(p *source.Package) []string {
			if p.Name == "main" {
				return nil
			}
			return p.Undocumented()
		}},
		{"every public package has a runnable example", func(p *source.Package) []string {
			if !p.Public() || len(p.Files) == 0 || p.Folder() == "workspace" || p.HasExample() {
				return nil
			}
			return []string{p.ImportPath + " has no Example function with an Output comment"}
		}},
		{"the exported API shows no third-party type", func(p *source.Package) []string {
			if !p.Public() {
				return nil
			}
			return p.Foreign(mayShow)
		}},
		{"no init functions", (*source.Package).Inits},
		{"no package state", func(p *source.Package) []string {
			if !p.Public() && slices.Contains(p.Imports, "testing") { // helpers of tests may keep what they built
				return nil
			}
			return p.State()
		}},
	} {
		t.Run(rule.name, func(t *testing.T) {
			for _, p := range packages {
				for _, problem := range rule.check(p) {
					t.Error(problem)
				}
			}
		})
	}
}
