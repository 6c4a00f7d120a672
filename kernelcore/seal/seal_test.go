package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/seal"
)

func Example() {
	box := seal.Memory() // in a data directory: seal.Open(dir)
	sealed := box.Seal("api-key", []byte("hunter2"))
	plain, err := box.Open("api-key", sealed)
	fmt.Println(string(plain), err)
	_, err = box.Open("other", sealed)
	fmt.Println(errors.Is(err, seal.ErrDamaged))
	// Output:
	// hunter2 <nil>
	// true
}

func TestSealHidesAndOpens(t *testing.T) {
	is := is.New(t)
	box := seal.Memory()
	for _, plain := range [][]byte{nil, {}, []byte("x"), bytes.Repeat([]byte("secret"), 100_000)} {
		a, b := box.Seal("n", plain), box.Seal("n", plain)
		is.True(!bytes.Equal(a, b)) // another nonce each time
		if len(plain) > 5 {
			is.True(!bytes.Contains(a, plain[:6]))
		}
		got, err := box.Open("n", a)
		is.NoErr(err)
		is.True(bytes.Equal(got, plain))
	}
}

func TestOpenTellsWhatIsWrong(t *testing.T) {
	is := is.New(t)
	box := seal.Memory()
	sealed := box.Seal("name", []byte("plain"))
	_, err := box.Open("other", sealed)
	is.True(errors.Is(err, seal.ErrDamaged)) // the name is part of it
	is.True(strings.Contains(err.Error(), `"other"`))
	_, err = seal.Memory().Open("name", sealed)
	is.True(errors.Is(err, seal.ErrKey))
	is.True(strings.Contains(err.Error(), "set the secret again"))
	for i := range sealed { // each byte counts
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		_, err := box.Open("name", bad)
		is.True(errors.Is(err, seal.ErrDamaged) || errors.Is(err, seal.ErrKey))
		_, err = box.Open("name", sealed[:i])
		is.True(errors.Is(err, seal.ErrDamaged) || errors.Is(err, seal.ErrKey))
	}
}

func FuzzOpen(f *testing.F) {
	box := seal.Memory()
	f.Add("name", box.Seal("name", []byte("plain")))
	f.Add("", []byte{})
	f.Add("n", []byte{1, 2, 3, 4, 5, 6})
	f.Fuzz(func(t *testing.T, name string, sealed []byte) {
		if plain, err := box.Open(name, sealed); err == nil && string(plain) != "plain" {
			t.Errorf("%q opened to %q", sealed, plain)
		}
	})
}

func TestKeyFileIsMadeOnce(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	first, err := seal.Open(dir)
	is.NoErr(err)
	second, err := seal.Open(dir)
	is.NoErr(err)
	plain, err := second.Open("n", first.Seal("n", []byte("x")))
	is.NoErr(err)
	is.Equal(string(plain), "x")

	files, err := os.ReadDir(dir)
	is.NoErr(err)
	is.Equal(len(files), 1) // nothing is left over
	info, err := files[0].Info()
	is.NoErr(err)
	is.Equal(info.Name(), seal.KeyFile)
	if runtime.GOOS != "windows" {
		is.Equal(info.Mode().Perm(), os.FileMode(0o600))
	}
}

func TestKeyFileRace(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	boxes := make([]*seal.Box, 16)
	var wg sync.WaitGroup
	for i := range boxes {
		wg.Go(func() {
			var err error
			if boxes[i], err = seal.Open(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, b := range boxes { // all have the same key
		_, err := b.Open("n", boxes[0].Seal("n", nil))
		is.NoErr(err)
	}
}

func TestBadKeyFileIsRefused(t *testing.T) {
	key := strings.Repeat("0f", 32) + "\n"
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		says       string
	}{
		{"good", key, 0o600, ""},
		{"good, read-only", key, 0o400, ""},
		{"readable by the group", key, 0o640, "is open to others (mode 0640): chmod 600"},
		{"readable by all", key, 0o604, "is open to others (mode 0604): chmod 600"},
		{"writable by all", key, 0o602, "is open to others (mode 0602): chmod 600"},
		{"empty", "", 0o600, "holds no key"},
		{"short", key[2:], 0o600, "holds no key"},
		{"long", key + "\n", 0o600, "holds no key"},
		{"no newline", key[:64], 0o600, "holds no key"},
		{"not hexadecimal", "x" + key[1:], 0o600, "holds no key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			if runtime.GOOS == "windows" && c.mode&0o077 != 0 {
				return // modes say nothing there
			}
			dir := t.TempDir()
			path := filepath.Join(dir, seal.KeyFile)
			is.NoErr(os.WriteFile(path, []byte(c.text), 0o600))
			is.NoErr(os.Chmod(path, c.mode))
			_, err := seal.Open(dir)
			if c.says == "" {
				is.NoErr(err)
				return
			}
			var bad *seal.KeyFileError
			is.True(errors.As(err, &bad))
			is.Equal(bad.Path, path)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
			text, err := os.ReadFile(path)
			is.NoErr(err)
			is.Equal(string(text), c.text) // and stays for a person to look at
		})
	}
}

func TestKeyFileThatCannotBe(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "file")
	is.NoErr(os.WriteFile(file, nil, 0o600))
	_, err := seal.Open(file) // a file where the directory should be
	var bad *seal.KeyFileError
	is.True(errors.As(err, &bad))

	dir := t.TempDir()
	is.NoErr(os.Mkdir(filepath.Join(dir, seal.KeyFile), 0o700))
	_, err = seal.Open(dir)
	is.True(errors.As(err, &bad))

	_, err = seal.Open(filepath.Join(t.TempDir(), "none"))
	is.True(errors.As(err, &bad))
	is.True(strings.Contains(err.Error(), "cannot be made"))
}

func BenchmarkSeal(b *testing.B) {
	box := seal.Memory()
	plain := make([]byte, 100)
	sealed := box.Seal("name", plain)
	b.Run("seal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			box.Seal("name", plain)
		}
	})
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := box.Open("name", sealed); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline copy", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bytes.Clone(sealed)
		}
	})
}
