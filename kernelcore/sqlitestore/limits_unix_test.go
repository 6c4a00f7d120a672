//go:build unix

package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/store"
)

var limitedChildren = map[string]func(dir string) error{
	"full":         fillUp,
	"full-at-open": func(dir string) error { return errors.Join(limitFiles(0), openOnly(dir)) },
	"nobody":       func(dir string) error { return errors.Join(becomeNobody(), openOnly(dir)) },
}

// limitFiles lets no file of this process grow beyond n bytes, which is what a full disk looks like.
func limitFiles(n uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		return err
	}
	l.Cur = min(n, l.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
}

const fullWriters = 8

// fillUp writes until there is no more space, then makes some and goes on, several times, and prints
// each key that was acknowledged.
func fillUp(dir string) error {
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, dir, sqlitestore.Options{})
	if err != nil {
		return err
	}
	var out sync.Mutex
	value := []byte(strings.Repeat("v", 2000))
	for round := range 3 {
		info, err := os.Stat(filepath.Join(dir, "bb.db-wal"))
		if err != nil {
			return err
		}
		if err := limitFiles(uint64(info.Size()) + 200_000); err != nil {
			return err
		}
		var refused atomic.Int64
		var wg sync.WaitGroup
		for w := range fullWriters {
			wg.Go(func() {
				for n := 0; refused.Load() < 20; n++ {
					key := fmt.Sprintf("%d-%d-%06d", round, w, n)
					err := s.Update(ctx, func(tx store.Tx) error {
						return errors.Join(tx.Put("left", key, value), tx.Put("right", key, value))
					})
					var full *store.FullError
					switch {
					case err == nil:
						out.Lock()
						fmt.Println("+" + key)
						out.Unlock()
					case errors.As(err, &full):
						refused.Add(1)
						out.Lock()
						fmt.Println("-" + key)
						out.Unlock()
					default:
						fmt.Printf("? %v\n", err)
						return
					}
				}
			})
		}
		wg.Wait()

		// One that does not even fit into memory fails where it writes, and hides it in vain.
		err = s.Update(ctx, func(tx store.Tx) error {
			for n := range 20 {
				_ = tx.Put("left", fmt.Sprintf("big-%d", n), make([]byte, 1<<20))
			}
			return nil
		})
		var full *store.FullError
		if !errors.As(err, &full) {
			fmt.Printf("? big: %v\n", err)
		}

		// Reading goes on without space.
		err = s.View(ctx, func(tx store.Tx) error {
			for _, err := range tx.Range("left", store.Range{}) {
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			fmt.Printf("? view: %v\n", err)
		}

		if err := limitFiles(1 << 40); err != nil { // there is space again
			return err
		}
		key := fmt.Sprintf("%d-after", round)
		if err := s.Update(ctx, func(tx store.Tx) error {
			return errors.Join(tx.Put("left", key, value), tx.Put("right", key, value))
		}); err != nil {
			return err
		}
		fmt.Println("+" + key)
	}
	return s.Close()
}

// TestFullDisk fills the disk under a store: each update is told, nothing acknowledged is lost, nothing
// refused is there, and the store goes on by itself.
func TestFullDisk(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	acknowledged, refused := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(output(t, "full", dir)) {
		line = strings.TrimSpace(line)
		switch line[0] {
		case '+':
			acknowledged[line[1:]] = true
		case '-':
			refused[line[1:]] = true
		default:
			t.Error(line)
		}
	}
	is.True(len(refused) >= 60)
	is.True(acknowledged["0-after"] && acknowledged["1-after"] && acknowledged["2-after"])

	s := open(t, dir)
	is.NoErr(s.View(t.Context(), func(tx store.Tx) error {
		for _, bucket := range []string{"left", "right"} {
			n := 0
			for e, err := range tx.Range(bucket, store.Range{}) {
				is.NoErr(err)
				n++
				if !acknowledged[e.Key] {
					t.Errorf("%s %s is there (refused: %v)", bucket, e.Key, refused[e.Key])
				}
			}
			is.Equal(n, len(acknowledged))
		}
		return nil
	}))
}

func TestFullDiskAtOpen(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	out := output(t, "full-at-open", dir)
	is.True(strings.HasPrefix(out, "store: no space to write "+dir)) // a FullError
	open(t, dir)                                                     // and with space it is as if nothing had been
}

// becomeNobody gives up the privileges that make a read-only directory writable.
func becomeNobody() error {
	const nobody = 65534
	if os.Getuid() != 0 {
		return nil // has none
	}
	return errors.Join(syscall.Setgid(nobody), syscall.Setuid(nobody))
}

func TestReadOnlyDirectory(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(dir string) error
		path string // of the error, in dir
	}{
		{"nothing there yet", func(dir string) error { return os.Chmod(dir, 0o555) }, "lock"},
		{"directory to be made", func(dir string) error { return os.Chmod(dir, 0o555) }, "data"},
		{"database of someone else", func(dir string) error {
			return errors.Join(os.Chmod(dir, 0o777),
				os.WriteFile(filepath.Join(dir, "bb.db"), nil, 0o444))
		}, "bb.db"},
		{"lock of someone else", func(dir string) error {
			return errors.Join(os.Chmod(dir, 0o777),
				os.WriteFile(filepath.Join(dir, "lock"), nil, 0o444))
		}, "lock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			dir, err := os.MkdirTemp("", "sqlitestore") // nobody cannot enter t.TempDir
			is.NoErr(err)
			defer os.RemoveAll(dir)
			is.NoErr(c.make(dir))
			open := dir
			if c.path == "data" {
				open = filepath.Join(dir, "data")
			}
			out := output(t, "nobody", open)
			want := "store: cannot write " + filepath.Join(dir, c.path) + ": "
			if !strings.HasPrefix(out, want) || !strings.Contains(out, "make it writable") {
				t.Errorf("got %q, want %q", out, want)
			}
		})
	}
}
