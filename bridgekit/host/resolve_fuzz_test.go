//go:build !windows

package host

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzResolve compares resolve with the standard library on paths that exist.
func FuzzResolve(f *testing.F) {
	dir, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o700); err != nil {
		f.Fatal(err)
	}
	for name, target := range map[string]string{"a/up": "..", "a/b/abs": filepath.Join(dir, "a"), "l": "a/b", "a/b/c/l": "../../../l/c", "x": "x"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			f.Fatal(err)
		}
	}
	for _, seed := range []string{"a", "l/c/l/..", "a/up/l/./c", "a/b/abs/b//c/l", "x", "a/none/../b", "../..", "/", "l/../up/a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, err := resolve(dir, path)
		if err == nil && (!filepath.IsAbs(got) || filepath.Clean(got) != got) {
			t.Fatalf("%q became %q", path, got)
		}
		full := path
		if !filepath.IsAbs(path) {
			full = dir + "/" + path
		}
		want, existing := filepath.EvalSymlinks(full)
		if existing == nil && path != "" && (err != nil || got != want) {
			t.Fatalf("%q: %q, %v, want %q", path, got, err, want)
		}
	})
}
