//go:build unix

package workspace_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/bb-kernel/bb/workspace/internal/doctest"
)

// TestDocsCommands runs every command of the documentation, each page in a session of its own.
func TestDocsCommands(t *testing.T) {
	dir := root(t)
	pages := documents(t, dir)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		blocks := pages[name]
		if !slices.ContainsFunc(blocks, func(b doctest.Block) bool { return b.Lang == "console" }) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := doctest.Session{Root: dir, Bin: builtPrograms(t), Elsewhere: provedElsewhere}
			if err := s.Run(t.Context(), t.TempDir(), blocks); err != nil {
				t.Error(err)
			}
		})
	}
}
