package sqlitestore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/store"
)

// queue runs an update that ends when n others wait behind it, and returns their errors.
func queue(t *testing.T, s store.Store, n int, fn func(i int, tx store.Tx) error, before func()) []error {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	err := s.Update(t.Context(), func(tx store.Tx) error {
		for i := range n {
			wg.Go(func() {
				errs[i] = s.Update(t.Context(), func(tx store.Tx) error { return fn(i, tx) })
			})
		}
		synctest.Wait() // all of them are queued
		before()
		return tx.Put("b", "first", nil)
	})
	wg.Wait()
	if err != nil {
		t.Error(err)
	}
	return errs
}

func TestQueuedUpdatesShareACommit(t *testing.T) {
	for _, c := range []struct {
		name    string
		queued  int
		size    int
		commits uint64
	}{
		{"none queued", 0, 0, 1},
		{"few", 100, 10, 1},
		{"more than a group", 600, 10, 3},
		{"more bytes than a group", 10, 1 << 20, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				s := open(t, t.TempDir())
				errs := queue(t, s, c.queued, func(i int, tx store.Tx) error {
					return tx.Put("b", fmt.Sprint(i), make([]byte, c.size))
				}, func() {})
				is.NoErr(errors.Join(errs...))
				is.Equal(s.Stats(), sqlitestore.Stats{Updates: uint64(c.queued + 1), Commits: c.commits})
			})
		})
	}
}

func TestSlowFunctionsEndAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := open(t, t.TempDir())
		errs := queue(t, s, 10, func(i int, tx store.Tx) error {
			<-time.After(10 * time.Millisecond)
			return tx.Put("b", fmt.Sprint(i), nil)
		}, func() {})
		is.NoErr(errors.Join(errs...))
		is.Equal(s.Stats().Commits, uint64(5)) // the first and two, then two at a time, then the last two
	})
}

// TestFailingMemberSparesItsGroup has updates fail inside a group that commits.
func TestFailingMemberSparesItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := open(t, t.TempDir())
		mine := errors.New("mine")
		errs := queue(t, s, 30, func(i int, tx store.Tx) error {
			if err := tx.Put("b", fmt.Sprint(i), nil); err != nil {
				return err
			}
			if i%3 == 0 {
				return mine
			}
			return nil
		}, func() {})
		is.Equal(s.Stats(), sqlitestore.Stats{Updates: 21, Commits: 1})
		for i, err := range errs {
			is.Equal(errors.Is(err, mine), i%3 == 0)
			got := s.View(t.Context(), func(tx store.Tx) error { _, err := tx.Get("b", fmt.Sprint(i)); return err })
			is.Equal(errors.Is(got, store.ErrNotFound), i%3 == 0)
		}
	})
}

func TestReadingUpdateNeedsNoCommit(t *testing.T) {
	is := is.New(t)
	s := open(t, t.TempDir())
	is.NoErr(s.Update(t.Context(), func(tx store.Tx) error {
		for _, err := range tx.Range("b", store.Range{}) {
			return err
		}
		return nil
	}))
	is.Equal(s.Stats(), sqlitestore.Stats{Updates: 1})
}

func TestCloseFinishesWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		dir := t.TempDir()
		s := open(t, dir)
		closed := make(chan error, 1)
		errs := queue(t, s, 500, func(i int, tx store.Tx) error { return tx.Put("b", fmt.Sprint(i), nil) }, func() {
			go func() { closed <- s.Close() }()
			synctest.Wait()
			is.True(errors.Is(s.Update(t.Context(), nil), store.ErrClosed)) // no new ones
			is.True(errors.Is(s.View(t.Context(), nil), store.ErrClosed))
		})
		is.NoErr(<-closed)
		s = open(t, dir)
		for i, err := range errs {
			is.NoErr(err)
			_ = get(t, s, fmt.Sprint(i))
		}
	})
}

// TestLogIsCutWithoutWaitingForViews lets time pass: the write-ahead log is cut to nothing, but not
// under a View that reads from it, and then the time after.
func TestLogIsCutWithoutWaitingForViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		dir := t.TempDir()
		s := open(t, dir)
		size := func() int64 {
			synctest.Wait()
			info, err := os.Stat(filepath.Join(dir, "bb.db-wal"))
			is.NoErr(err)
			return info.Size()
		}
		put(t, s, "k", "1")
		is.NoErr(s.View(t.Context(), func(tx store.Tx) error {
			_, err := tx.Get("b", "k")
			is.NoErr(err)
			put(t, s, "k", "2")
			<-time.After(31 * time.Second)
			is.True(size() > 0)
			put(t, s, "k", "3") // nor does the view hold up updates
			v, err := tx.Get("b", "k")
			is.Equal(string(v), "1")
			return err
		}))
		<-time.After(31 * time.Second)
		is.Equal(size(), int64(0))
		is.Equal(get(t, s, "k"), "3")
	})
}
