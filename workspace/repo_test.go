package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bb-kernel/bb/workspace/internal/golist"
)

// root returns the root of the repository and makes the test's cached result depend on every file in it.
//
// The go command runs a test again when a file it looked at has changed, but only files of the test's own module
// count. So the walk goes through paths that begin with this module's folder: MODULE/../kernelcontract/….
func root(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := look(here + string(filepath.Separator) + ".."); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(here)
}

// look lists dir and what is below it, which tells the go command the names, sizes and times of all files there.
func look(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != ".git" {
			if err := look(dir + string(filepath.Separator) + e.Name()); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return nil
}

// graph lists the packages of the workspace, once for all tests.
var graph = func() func(t *testing.T) *golist.Graph {
	var (
		once sync.Once
		g    *golist.Graph
		err  error
	)
	return func(t *testing.T) *golist.Graph {
		t.Helper()
		dir := root(t)
		once.Do(func() { g, err = golist.Load(context.Background(), dir, false) })
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
}()

// modules lists the folders of the modules in go.work.
func modules(t *testing.T, root string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for line := range strings.Lines(string(data)) {
		if folder, ok := strings.CutPrefix(strings.TrimSpace(line), "./"); ok {
			folders = append(folders, folder)
		}
	}
	if len(folders) == 0 {
		t.Fatal("go.work uses no module")
	}
	return folders
}
