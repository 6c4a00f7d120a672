package pack_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/cli/internal/pack"
)

func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"contract.json": 0o600, "demo": 0o700, "data/a.txt": 0o644, ".git/config": 0o644, "node_modules/x/y": 0o644} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("content of "+name), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFolder(t *testing.T) {
	t.Run("holds the files", func(t *testing.T) {
		is := is.New(t)
		var b bytes.Buffer
		is.NoErr(pack.Folder(t.Context(), &b, folder(t)))
		z, err := gzip.NewReader(&b)
		is.NoErr(err)
		var got []string
		for r := tar.NewReader(z); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			is.NoErr(err)
			raw, err := io.ReadAll(r)
			is.NoErr(err)
			got = append(got, fmt.Sprintf("%s %o %d", h.Name, h.Mode, len(raw)))
		}
		is.Equal(got, []string{"contract.json 644 24", "data/ 755 0", "data/a.txt 644 21", "demo 755 15"})
	})
	t.Run("equal folders give equal bytes", func(t *testing.T) {
		is := is.New(t)
		one, two := folder(t), folder(t)
		is.NoErr(os.Chtimes(filepath.Join(two, "demo"), time.Now(), time.Now().Add(-time.Hour)))
		var a, b bytes.Buffer
		is.NoErr(pack.Folder(t.Context(), &a, one))
		is.NoErr(pack.Folder(t.Context(), &b, two))
		is.True(bytes.Equal(a.Bytes(), b.Bytes()))
	})
	t.Run("links are named", func(t *testing.T) {
		is := is.New(t)
		dir := folder(t)
		is.NoErr(os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
		err := pack.Folder(t.Context(), io.Discard, dir)
		is.True(strings.Contains(err.Error(), "link is neither a file nor a folder"))
	})
	t.Run("ends when nobody waits", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		is.New(t).True(errors.Is(pack.Folder(ctx, io.Discard, folder(t)), context.Canceled))
	})
}
