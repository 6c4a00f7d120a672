package folder_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/procplugin"
	"github.com/bb-kernel/bb/kernelcore/procplugin/folder"
)

const contract = `{"format": 1, "id": "demo", "version": "1", "services": []}`

// entry is one of an archive.
type entry struct {
	name, content string
	mode          fs.FileMode
	kind          byte // of tar; 0: a file
	size          int64
}

func tarGz(t testing.TB, entries ...entry) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: int64(e.mode.Perm()), Size: int64(len(e.content)), Linkname: "/etc/passwd"}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag != tar.TypeReg {
			h.Size = 0
		} else {
			h.Linkname = ""
		}
		if e.size > 0 {
			h.Size = e.size
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if e.size > 0 {
			chunk := make([]byte, 1<<20)
			for left := e.size; left > 0; left -= int64(len(chunk)) {
				if _, err := w.Write(chunk[:min(left, int64(len(chunk)))]); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		if _, err := w.Write([]byte(e.content)); err != nil && h.Typeflag == tar.TypeReg {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return file(t, b.Bytes())
}

func zipped(t testing.TB, entries ...entry) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(e.content)); err != nil && !strings.HasSuffix(e.name, "/") {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file(t, b.Bytes())
}

func file(t testing.TB, raw []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func opened(t testing.TB) (*folder.Folder, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plugins")
	f, err := folder.Open(dir, procplugin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f, dir
}

// left lists what is below a folder.
func left(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, name); rel != "." {
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var whole = []entry{{name: "contract.json", content: contract, mode: 0o600}, {name: "demo", content: "#!/bin/sh\n", mode: 0o700}, {name: "data/a.txt", content: "a", mode: 0o666}}

func TestUnpack(t *testing.T) {
	below := make([]entry, len(whole))
	for i, e := range whole {
		e.name = "demo-1.0/" + e.name
		below[i] = e
	}
	for name, archive := range map[string]func(t *testing.T) string{
		"tar.gz":           func(t *testing.T) string { return tarGz(t, whole...) },
		"zip":              func(t *testing.T) string { return zipped(t, whole...) },
		"below one folder": func(t *testing.T) string { return tarGz(t, below...) },
		"below one folder in zip": func(t *testing.T) string {
			return zipped(t, append([]entry{{name: "demo-1.0/", mode: fs.ModeDir | 0o755}}, below...)...)
		},
		"with folders and ./": func(t *testing.T) string {
			return tarGz(t, append([]entry{{name: "./", kind: tar.TypeDir}, {name: "./data/", kind: tar.TypeDir}}, entry{name: "./contract.json", content: contract}, whole[1], whole[2])...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f, dir := opened(t)
			place, err := f.Unpack(t.Context(), archive(t))
			is.NoErr(err)
			is.Equal(place, "demo/1")
			is.Equal(left(t, dir), []string{"demo", "demo/1", "demo/1/contract.json", "demo/1/data", "demo/1/data/a.txt", "demo/1/demo"})
			for name, mode := range map[string]fs.FileMode{"contract.json": 0o644, "demo": 0o755, "data/a.txt": 0o644} {
				info, err := os.Stat(filepath.Join(dir, "demo", "1", name))
				is.NoErr(err)
				is.Equal(info.Mode().Perm(), mode)
			}
			p, err := f.Open(place)
			is.NoErr(err)
			is.Equal(p.ID, "demo")
		})
	}
	t.Run("versions stand beside one another", func(t *testing.T) {
		is := is.New(t)
		f, dir := opened(t)
		for n := 1; n <= 3; n++ {
			place, err := f.Unpack(t.Context(), tarGz(t, whole...))
			is.NoErr(err)
			is.Equal(place, fmt.Sprintf("demo/%d", n))
		}
		is.NoErr(f.Remove("demo/2"))
		is.NoErr(f.Remove("demo/2")) // that there is none is no error
		places, err := f.Places()
		is.NoErr(err)
		is.Equal(places, []string{"demo/1", "demo/3"})
		is.NoErr(f.Remove("demo/1"))
		is.NoErr(f.Remove("demo/3"))
		is.Equal(len(left(t, dir)), 0)
	})
	t.Run("what a crash leaves is removed", func(t *testing.T) {
		is := is.New(t)
		f, dir := opened(t)
		_, err := f.Unpack(t.Context(), tarGz(t, whole...))
		is.NoErr(err)
		is.NoErr(os.MkdirAll(filepath.Join(dir, ".unpacking-1", "x"), 0o700))
		places, err := f.Places()
		is.NoErr(err)
		is.Equal(places, []string{"demo/1"})
		_, err = os.Stat(filepath.Join(dir, ".unpacking-1"))
		is.True(errors.Is(err, fs.ErrNotExist))
	})
	t.Run("without a folder there are no places", func(t *testing.T) {
		f, _ := opened(t)
		places, err := f.Places()
		is.New(t).NoErr(err)
		is.New(t).Equal(len(places), 0)
	})
	t.Run("places are nothing else", func(t *testing.T) {
		is := is.New(t)
		f, _ := opened(t)
		for _, place := range []string{"", "demo", "../x/1", "demo/..", "demo/1/x", "/demo/1", "demo/+1", `a\b/1`, "demo/-1"} {
			_, err := f.Open(place)
			is.True(err != nil)
			is.True(f.Remove(place) != nil)
		}
	})
}

func TestUnpackRefuses(t *testing.T) {
	many := []entry{whole[0], whole[1]}
	for i := range folder.MaxFiles {
		many = append(many, entry{name: fmt.Sprintf("f%d", i)})
	}
	with := func(e ...entry) func(t *testing.T) string {
		return func(t *testing.T) string { return tarGz(t, append([]entry{whole[0], whole[1]}, e...)...) }
	}
	inZip := func(e ...entry) func(t *testing.T) string {
		return func(t *testing.T) string { return zipped(t, append([]entry{whole[0], whole[1]}, e...)...) }
	}
	for name, c := range map[string]struct {
		archive func(t *testing.T) string
		want    string
	}{
		"text":                        {func(t *testing.T) string { return file(t, []byte("hello")) }, "neither a .tar.gz nor a .zip"},
		"nothing":                     {func(t *testing.T) string { return file(t, nil) }, "neither a .tar.gz nor a .zip"},
		"a broken gzip":               {func(t *testing.T) string { return file(t, []byte{0x1f, 0x8b, 1, 2, 3}) }, "is damaged"},
		"a broken zip":                {func(t *testing.T) string { return file(t, []byte("PK\x03\x04 and more")) }, "is damaged"},
		"a tar that is cut off":       {func(t *testing.T) string { raw, _ := os.ReadFile(tarGz(t, whole...)); return file(t, raw[:len(raw)/2]) }, "is damaged"},
		"no contract":                 {func(t *testing.T) string { return tarGz(t, whole[1]) }, "no contract.json at its root"},
		"a contract that is wrong":    {func(t *testing.T) string { return tarGz(t, entry{name: "contract.json", content: "{}"}) }, "has format 0"},
		"no program":                  {func(t *testing.T) string { return tarGz(t, whole[0]) }, `has no program "demo"`},
		"a path that leads out":       {with(entry{name: "../x"}), "leads out of its folder"},
		"a path that leads out later": {with(entry{name: "a/../../x"}), "leads out of its folder"},
		"an absolute path":            {with(entry{name: "/etc/x"}), "is an absolute path"},
		"a path that leads out, zip":  {inZip(entry{name: "../x"}), "leads out of its folder"},
		"an absolute path, zip":       {inZip(entry{name: "/etc/x"}), "is an absolute path"},
		"backslashes":                 {inZip(entry{name: `..\x`}), "not every system allows"},
		"a drive":                     {with(entry{name: "C:x"}), "not every system allows"},
		"control characters":          {with(entry{name: "a\x1bb"}), "not every system allows"},
		"a symbolic link":             {with(entry{name: "x", kind: tar.TypeSymlink}), "links and devices are not allowed"},
		"a hard link":                 {with(entry{name: "x", kind: tar.TypeLink}), "links and devices are not allowed"},
		"a device":                    {with(entry{name: "x", kind: tar.TypeChar}), "links and devices are not allowed"},
		"a pipe":                      {with(entry{name: "x", kind: tar.TypeFifo}), "links and devices are not allowed"},
		"a symbolic link, zip":        {inZip(entry{name: "x", content: "/etc/passwd", mode: fs.ModeSymlink | 0o777}), "links and devices are not allowed"},
		"a file twice":                {with(entry{name: "x"}, entry{name: "x"}), "is there twice"},
		"a file and a folder":         {with(entry{name: "x"}, entry{name: "x", kind: tar.TypeDir}), "is there twice"},
		"a file below a file":         {with(entry{name: "x"}, entry{name: "x/y"}), "is below the file x"},
		"names that differ in case":   {with(entry{name: "x"}, entry{name: "X"}), "only in case"},
		"folders that differ in case": {with(entry{name: "x/a"}, entry{name: "X/b"}), "only in case"},
		"a name that Windows keeps":   {with(entry{name: "aux.txt"}), "Windows keeps"},
		"a name that ends in a dot":   {with(entry{name: "a."}), "Windows keeps"},
		"a long name":                 {with(entry{name: strings.Repeat("x", 256)}), "more than 255 bytes"},
		"deep folders":                {with(entry{name: strings.Repeat("d/", folder.MaxDepth) + "x"}), "more than 32 folders deep"},
		"not UTF-8":                   {inZip(entry{name: "a\xff"}), "is not UTF-8"},
		"many files":                  {func(t *testing.T) string { return tarGz(t, many...) }, "more than 10000 files"},
		"much content":                {with(entry{name: "x", size: folder.MaxUnpacked + 1}), "more than 256 MiB"},
		"much content in parts":       {with(entry{name: "x", size: folder.MaxUnpacked / 2}, entry{name: "y", size: folder.MaxUnpacked/2 + 1}), "more than 256 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f, dir := opened(t)
			_, err := f.Unpack(t.Context(), c.archive(t))
			is.True(errors.Is(err, kernelcontract.InvalidInput))
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not say %q", err, c.want)
			}
			is.Equal(left(t, dir), nil) // nothing is left
			entries, err := os.ReadDir(filepath.Dir(dir))
			is.NoErr(err)
			is.Equal(len(entries), 1) // and nothing is beside it
		})
	}
	t.Run("a caller who leaves", func(t *testing.T) {
		is := is.New(t)
		f, dir := opened(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := f.Unpack(ctx, tarGz(t, whole...))
		is.True(errors.Is(err, context.Canceled))
		is.Equal(left(t, dir), nil)
	})
}

// Whatever an archive says, nothing is outside of the folder.
func FuzzUnpack(f *testing.F) {
	for _, seed := range []string{tarGz(f, whole...), zipped(f, whole...), tarGz(f, entry{name: "../x"}), zipped(f, entry{name: "a/../b"})} {
		raw, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, dir := opened(t)
		place, err := p.Unpack(t.Context(), file(t, raw))
		entries, rerr := os.ReadDir(filepath.Dir(dir))
		if rerr != nil || len(entries) != 1 {
			t.Fatalf("there is something beside the folder: %v %v", entries, rerr)
		}
		if err != nil && len(left(t, dir)) > 0 {
			t.Fatalf("%v left %v", err, left(t, dir))
		}
		if err == nil {
			if _, err := p.Open(place); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func Example() {
	dir, err := os.MkdirTemp("", "plugins")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	programs, err := folder.Open(dir, procplugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	places, err := programs.Places()
	fmt.Println(len(places), err)
	// Output: 0 <nil>
}
