package folder

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Limits of an archive.
const (
	MaxFiles    = 10_000    // files and folders
	MaxUnpacked = 256 << 20 // bytes of all files: a program with its data
	MaxDepth    = 32        // folders within folders
	maxName     = 255       // bytes of a name, which file systems allow
)

func system() string { return runtime.GOOS }

// unpack writes the content of an archive into the empty folder dir. Nothing of it can be outside.
func unpack(ctx context.Context, archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("the archive: %w", err)
	}
	defer f.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	u := &unpacker{ctx: ctx, root: root, seen: map[string]string{}}
	var head [4]byte
	n, err := io.ReadFull(f, head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the archive: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("the archive: %w", err)
	}
	switch {
	case n >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		return u.tarGz(f)
	case n == 4 && (bytes.Equal(head[:], []byte("PK\x03\x04")) || bytes.Equal(head[:], []byte("PK\x05\x06"))):
		return u.zip(f)
	}
	return kernelcontract.InvalidInput.Errorf("the archive is neither a .tar.gz nor a .zip")
}

// unpacker writes entries below a root.
type unpacker struct {
	ctx   context.Context
	root  *os.Root
	seen  map[string]string // paths by their folded form
	files int
	size  int64
}

func (u *unpacker) tarGz(r io.Reader) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return damaged(err)
	}
	defer z.Close()
	// What is unpacked is counted, names and padding too, so that an archive of nothing but headers ends as well.
	t := tar.NewReader(io.LimitReader(z, 2*MaxUnpacked+MaxFiles*4096))
	for {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return damaged(err)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = u.add(h.Name, true, 0, 0, nil)
		case tar.TypeReg:
			err = u.add(h.Name, false, h.FileInfo().Mode(), h.Size, t)
		case tar.TypeXGlobalHeader:
		default:
			err = refused(h.Name, "is neither a file nor a folder: links and devices are not allowed")
		}
		if err != nil {
			return err
		}
	}
}

func (u *unpacker) zip(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("the archive: %w", err)
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return damaged(err)
	}
	for _, e := range z.File {
		mode := e.Mode()
		switch {
		case mode.IsDir() || strings.HasSuffix(e.Name, "/"):
			err = u.add(e.Name, true, 0, 0, nil)
		case mode.IsRegular():
			var r io.ReadCloser
			if r, err = e.Open(); err != nil {
				return damaged(err)
			}
			err = errors.Join(u.add(e.Name, false, mode, int64(min(e.UncompressedSize64, MaxUnpacked+1)), r), r.Close())
		default:
			err = refused(e.Name, "is neither a file nor a folder: links and devices are not allowed")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func damaged(err error) error {
	return kernelcontract.InvalidInput.Errorf("the archive is damaged: %s", err)
}

func refused(name, why string) error {
	return kernelcontract.InvalidInput.Errorf("the archive is refused: %.200q %s", name, why)
}

// add writes one entry. size is what the archive says; what comes is counted.
func (u *unpacker) add(name string, dir bool, mode fs.FileMode, size int64, content io.Reader) error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	clean, err := checkName(name)
	if err != nil {
		return err
	}
	if clean == "." {
		return nil
	}
	if u.files++; u.files > MaxFiles {
		return kernelcontract.InvalidInput.Errorf("the archive is refused: it has more than %d files and folders", MaxFiles)
	}
	if err := u.place(clean, dir); err != nil {
		return err
	}
	if dir {
		return u.root.MkdirAll(clean, 0o755)
	}
	if u.size+size > MaxUnpacked {
		return tooMuch()
	}
	if parent := path.Dir(clean); parent != "." {
		if err := u.root.MkdirAll(parent, 0o755); err != nil {
			return refused(name, "is below something that is no folder")
		}
	}
	perm := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		perm = 0o755
	}
	f, err := u.root.OpenFile(clean, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return fmt.Errorf("the archive's %.200q: %w", name, err)
	}
	n, err := io.Copy(f, io.LimitReader(content, MaxUnpacked-u.size+1))
	u.size += n
	var sync error
	if err == nil {
		sync = f.Sync() // a kernel may be killed right after it has said that the plugin is installed
	}
	switch cerr := f.Close(); {
	case err != nil:
		return damaged(err)
	case errors.Join(sync, cerr) != nil:
		return fmt.Errorf("the archive's %.200q: %w", name, errors.Join(sync, cerr))
	case u.size > MaxUnpacked:
		return tooMuch()
	}
	return nil
}

func tooMuch() error {
	return kernelcontract.InvalidInput.Errorf("the archive is refused: its files have more than %d MiB", MaxUnpacked>>20)
}

// place notes a path, and refuses one that is there already, in this or in other letters, and one that goes through a
// file.
func (u *unpacker) place(clean string, dir bool) error {
	for p := clean; p != "."; p = path.Dir(p) {
		folded := strings.ToLower(p)
		other, there := u.seen[folded]
		switch {
		case there && strings.TrimSuffix(other, "/") != p:
			return refused(clean, "differs from "+strings.TrimSuffix(other, "/")+" only in case, which some systems do not tell apart")
		case there && p == clean && !(dir && strings.HasSuffix(other, "/")):
			return refused(clean, "is there twice")
		case there && p != clean && !strings.HasSuffix(other, "/"):
			return refused(clean, "is below the file "+other)
		}
		if p == clean && !dir {
			u.seen[folded] = p
		} else {
			u.seen[folded] = p + "/"
		}
	}
	return nil
}

// checkName returns the cleaned path of an entry, "." for the root itself.
func checkName(name string) (string, error) {
	switch {
	case !utf8.ValidString(name):
		return "", refused(name, "is not UTF-8")
	case strings.HasPrefix(name, "/"):
		return "", refused(name, "is an absolute path")
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	if name == "" || name == "." {
		return ".", nil
	}
	parts := strings.Split(name, "/")
	if len(parts) > MaxDepth {
		return "", refused(name, fmt.Sprintf("is more than %d folders deep", MaxDepth))
	}
	for _, p := range parts {
		switch {
		case p == ".." || p == "." || p == "":
			return "", refused(name, "leads out of its folder or through an empty name")
		case len(p) > maxName:
			return "", refused(name, fmt.Sprintf("has a name of more than %d bytes", maxName))
		case strings.ContainsAny(p, `\:*?"<>|`) || strings.ContainsFunc(p, unicode.IsControl):
			return "", refused(name, `has a character in it that not every system allows: one of \ : * ? " < > | or a control character`)
		case strings.HasSuffix(p, ".") || strings.HasSuffix(p, " ") || reservedName(p):
			return "", refused(name, "has a name that Windows keeps for itself")
		}
	}
	return name, nil
}

// reservedName reports whether Windows takes a name for a device.
func reservedName(p string) bool {
	base, _, _ := strings.Cut(strings.ToUpper(p), ".")
	switch base {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(base) == 4 && (strings.HasPrefix(base, "COM") || strings.HasPrefix(base, "LPT")) && base[3] >= '0' && base[3] <= '9'
}
