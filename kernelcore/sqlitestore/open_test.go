package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/store"
)

// openOnly opens the store, as a second server would.
func openOnly(dir string) error {
	s, err := sqlitestore.Open(context.Background(), dir, sqlitestore.Options{Holder: "the second"})
	if err != nil {
		return err
	}
	fmt.Println("opened")
	return s.Close()
}

func put(t testing.TB, s store.Store, key, value string) {
	t.Helper()
	if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Put("b", key, []byte(value)) }); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, s store.Store, key string) string {
	t.Helper()
	var v []byte
	if err := s.View(t.Context(), func(tx store.Tx) (err error) { v, err = tx.Get("b", key); return err }); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

func TestOpenAgainFindsEverything(t *testing.T) {
	is := is.New(t)
	dir := filepath.Join(t.TempDir(), "deep", "a b?c%20#d'é") // created, and no character means anything
	s := open(t, dir)
	put(t, s, "k", "v")
	is.NoErr(s.Close())
	s = open(t, dir)
	is.Equal(get(t, s, "k"), "v")
}

func TestFilesAreTheUsersOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // access there is by lists, which a directory hands down
	}
	is := is.New(t)
	dir := filepath.Join(t.TempDir(), "data")
	s := open(t, dir)
	put(t, s, "k", "v")
	seen := 0
	is.NoErr(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		is.NoErr(err)
		info, err := d.Info()
		is.NoErr(err)
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: %o, want %o", path, info.Mode().Perm(), want)
		}
		seen++
		return nil
	}))
	is.Equal(seen, 5) // the directory, bb.db, its -wal and -shm, lock

	// One that was laid open by hand is closed again.
	is.NoErr(s.Close())
	is.NoErr(os.Chmod(filepath.Join(dir, "bb.db"), 0o644))
	open(t, dir)
	info, err := os.Stat(filepath.Join(dir, "bb.db"))
	is.NoErr(err)
	is.Equal(info.Mode().Perm(), fs.FileMode(0o600))
}

func TestCloseLeavesOnlyTheDatabase(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "k", "v")
	_ = get(t, s, "k")
	is.NoErr(s.Close())
	files, err := filepath.Glob(filepath.Join(dir, "bb.db*"))
	is.NoErr(err)
	is.Equal(files, []string{filepath.Join(dir, "bb.db")}) // the write-ahead log is in it
}

// TestSecondOpenerNamesTheFirst opens one directory twice, from this process and from another.
func TestSecondOpenerNamesTheFirst(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	first, err := sqlitestore.Open(t.Context(), dir, sqlitestore.Options{Holder: "bb-server, starting"})
	is.NoErr(err)
	defer first.Close()
	put(t, first, "k", "v")

	says := func(text string) {
		t.Helper()
		for _, want := range []string{dir, "process " + strconv.Itoa(os.Getpid()), "since 2", "stop it first", text} {
			out := output(t, "open", dir)
			if !strings.Contains(out, want) {
				t.Errorf("%q does not say %q", out, want)
			}
		}
	}
	says("(bb-server, starting)")
	first.SetHolder("http://127.0.0.1:38886")
	says("(http://127.0.0.1:38886)")
	first.SetHolder("x")
	says("(x)")

	_, err = sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
	var inUse *store.InUseError
	is.True(errors.As(err, &inUse))
	is.Equal(inUse.Dir, dir)
	is.Equal(inUse.Holder.PID, os.Getpid())
	is.Equal(inUse.Holder.Name, "x")
	is.Equal(get(t, first, "k"), "v") // the refused one did no harm

	is.NoErr(first.Close())
	first.SetHolder("too late") // and does nothing
	is.Equal(output(t, "open", dir), "opened")
}

// TestHolderIsReadFromAnything puts what a crash could leave into the lock file.
func TestHolderIsReadFromAnything(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	first := open(t, dir)
	for _, text := range []string{"", "{", `{"pid":"x"}`, strings.Repeat("x", 1<<20)} {
		is.NoErr(os.WriteFile(filepath.Join(dir, "lock"), []byte(text), 0o600))
		_, err := sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
		var inUse *store.InUseError
		is.True(errors.As(err, &inUse))
		is.Equal(inUse.Holder.Name, "")
	}
	is.NoErr(first.Close())
	is.NoErr(os.WriteFile(filepath.Join(dir, "lock"), []byte(`{"pid":1,"name":"long gone"}`), 0o600))
	open(t, dir) // what is written there locks nothing
}

// raw opens the database of a closed store behind its back.
func raw(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "bb.db"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func TestNewerDatabaseIsRefusedUntouched(t *testing.T) {
	for _, c := range []struct {
		name   string
		change string
		wal    bool // the newer version was killed: its format stands in the write-ahead log only
	}{
		{"in the database", "PRAGMA user_version = 99", false},
		{"in the write-ahead log", "PRAGMA user_version = 99", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			dir := t.TempDir()
			s := open(t, dir)
			put(t, s, "k", "v")
			is.NoErr(s.Close())
			db := raw(t, dir)
			_, err := db.Exec("PRAGMA journal_mode = WAL")
			is.NoErr(err)
			_, err = db.Exec(c.change)
			is.NoErr(err)
			if c.wal { // as a crash leaves it: copied while it is open
				other := t.TempDir()
				for _, name := range []string{"bb.db", "bb.db-wal"} {
					text, err := os.ReadFile(filepath.Join(dir, name))
					is.NoErr(err)
					is.NoErr(os.WriteFile(filepath.Join(other, name), text, 0o600))
				}
				dir = other
			} else {
				is.NoErr(db.Close())
			}
			before := contents(t, dir)

			_, err = sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
			var newer *store.NewerError
			is.True(errors.As(err, &newer))
			is.Equal(newer.Have, 99)
			is.Equal(newer.Know, 1)
			is.Equal(newer.Path, filepath.Join(dir, "bb.db"))
			is.Equal(contents(t, dir), before)                                                        // not a byte
			is.True(strings.HasPrefix(output(t, "open", dir), "store: "+newer.Path+" has format 99")) // nor is it locked now
		})
	}
}

// contents returns the database and its log.
func contents(t *testing.T, dir string) (all string) {
	t.Helper()
	for _, name := range []string{"bb.db", "bb.db-wal"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		all += string(text) + "|"
	}
	return all
}

func TestForeignFileIsRefusedUntouched(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string) error
	}{
		{"no database", func(t *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "bb.db"), []byte(strings.Repeat("text ", 1000)), 0o600)
		}},
		{"cut short", func(t *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "bb.db"), []byte("SQLite format 3\x00"+strings.Repeat("\xff", 200)), 0o600)
		}},
		{"the database of another program", func(t *testing.T, dir string) error {
			db := raw(t, dir)
			_, err := db.Exec("CREATE TABLE theirs (x)")
			return errors.Join(err, db.Close())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			dir := t.TempDir()
			is.NoErr(c.make(t, dir))
			before := contents(t, dir)
			_, err := sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
			var damaged *store.DamagedError
			if !errors.As(err, &damaged) {
				t.Fatalf("got %v", err)
			}
			is.Equal(damaged.Path, filepath.Join(dir, "bb.db"))
			is.Equal(contents(t, dir), before)
		})
	}
}

func TestPathThroughAFileIsUnwritable(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "file")
	is.NoErr(os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(file, "data")} {
		_, err := sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
		var unwritable *store.UnwritableError
		is.True(errors.As(err, &unwritable))
		is.True(strings.HasPrefix(unwritable.Path, file))
	}
}

func TestCancelledOpenLeavesNothingLocked(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sqlitestore.Open(ctx, dir, sqlitestore.Options{})
	is.True(errors.Is(err, context.Canceled))
	open(t, dir)
}
