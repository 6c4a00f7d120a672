// Package pack makes an archive of a plugin's folder, as a server takes it.
package pack

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// skipped are folders that no plugin needs and that may be large.
func skipped(name string) bool {
	return name == ".git" || name == "node_modules" || name == "__pycache__" || name == ".DS_Store"
}

// Folder writes the folder dir as a .tar.gz. Links and devices are errors that name them, since a server refuses them; version control, installed
// packages and caches are left out. Equal folders give equal bytes.
func Folder(ctx context.Context, w io.Writer, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case name == ".":
			return nil
		case skipped(path.Base(name)) || strings.HasPrefix(path.Base(name), ".#"):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return add(t, root, name, info)
	})
	if err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func add(t *tar.Writer, root *os.Root, name string, info fs.FileInfo) error {
	h := &tar.Header{Name: name, Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	switch mode := info.Mode(); {
	case mode.IsDir():
		h.Name, h.Mode, h.Typeflag = name+"/", 0o755, tar.TypeDir
		return t.WriteHeader(h)
	case !mode.IsRegular():
		return fmt.Errorf("%s is neither a file nor a folder: a plugin holds no links and devices", name)
	case mode&0o111 != 0:
		h.Mode = 0o755
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	h.Size = info.Size()
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	if n, err := io.Copy(t, io.LimitReader(f, h.Size)); err != nil || n != h.Size {
		return fmt.Errorf("%s changed while it was read", name)
	}
	return nil
}
