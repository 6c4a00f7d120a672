package scaffold_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/cli/internal/scaffold"
)

func TestWriteRefuses(t *testing.T) {
	for name, p := range map[string]scaffold.Plugin{
		"capitals": {Name: "Demo"}, "a path": {Name: "../demo"}, "nothing": {}, "the kernel": {Name: "kernel"}, "a long name": {Name: strings.Repeat("x", 65)},
		"a module with spaces": {Name: "demo", Module: "a b"}, "no checkout": {Name: "demo", Source: "/nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			dir := filepath.Join(t.TempDir(), "new")
			_, err := scaffold.Write(dir, p)
			is.True(err != nil)
			_, err = os.Stat(dir)
			is.True(os.IsNotExist(err)) // nothing is left
		})
	}
	t.Run("a folder that is there", func(t *testing.T) {
		is := is.New(t)
		dir := t.TempDir()
		is.NoErr(os.WriteFile(filepath.Join(dir, "mine"), []byte("x"), 0o600))
		_, err := scaffold.Write(dir, scaffold.Plugin{Name: "demo"})
		is.True(strings.Contains(err.Error(), "is there already"))
		_, err = os.Stat(filepath.Join(dir, "mine"))
		is.NoErr(err)
	})
}

// Without a checkout the module asks for the released modules.
func TestReleasedModules(t *testing.T) {
	is := is.New(t)
	dir := filepath.Join(t.TempDir(), "demo")
	_, err := scaffold.Write(dir, scaffold.Plugin{Name: "demo", Module: "example.org/me/demo"})
	is.NoErr(err)
	raw, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	is.NoErr(err)
	is.True(strings.HasPrefix(string(raw), "module example.org/me/demo\n"))
	is.True(strings.Contains(string(raw), "github.com/bb-kernel/bb/pluginsdk "+scaffold.Version))
	_, err = os.Stat(filepath.Join(dir, "go.work"))
	is.True(os.IsNotExist(err))
}
