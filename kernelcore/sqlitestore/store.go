// Package sqlitestore keeps a store.Store in a data directory, in one SQLite database without cgo.
//
// What an Update acknowledged survives kill -9 and a power cut: the database runs in WAL mode and
// syncs each commit. So that this does not cost a sync for each Update, one goroutine owns the only
// connection that writes and commits in groups: what arrives while a commit runs goes together into
// the next one. Within a group each Update has a savepoint of its own, so that one which fails takes
// nobody along. Views read from connections of their own and wait for nothing.
//
// One process has a data directory open at a time; a second is refused with the name of the first.
// The rules are docs/spec/store.md.
package sqlitestore

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// DatabaseFile is the name of the database in a data directory, beside its -wal and -shm files. Where there is none, the
// directory was never used.
const DatabaseFile = "bb.db"

const (
	// minReaders and maxReaders bound the Views that run at once. More than the machine has cores
	// brings nothing, each costs a page cache, and with one a slow View would stop all the others.
	minReaders = 2
	maxReaders = 4
)

// Options configures a store. The zero value is usable.
type Options struct {
	// Log hears of migrations, of full disks and of what was left undone; nil drops it.
	Log *slog.Logger
	// Holder is what a second process is told about this one, until SetHolder; empty: the name of
	// the executable.
	Holder string
}

// Store is a store.Store in a data directory. It is safe for concurrent use.
type Store struct {
	path    string
	lock    *dirLock
	writer  *writer
	readers chan *reader  // the idle ones
	closing chan struct{} // closed when Close begins
	once    sync.Once     // of Close
	closed  error         // what Close returns
}

var _ store.Store = (*Store)(nil)

// Open opens the store in directory dir. It creates the directory (0700) and the database (0600) if
// need be and brings an older database up to date; ctx bounds that.
//
// It fails with a *store.InUseError when another process has dir open, a *store.UnwritableError when
// dir or the database cannot be written, a *store.NewerError when the database is from a newer version
// (and then has not touched it), a *store.FullError when there is no space, and a *store.DamagedError
// when the file is no database of this program.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, unwritable(dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unwritable(dir, err)
	}
	lock, err := lockDir(ctx, dir, o.Holder, log)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, DatabaseFile)
	c, err := openDatabase(ctx, path, log)
	if err != nil {
		lock.unlock()
		return nil, err
	}
	s := &Store{path: path, lock: lock, closing: make(chan struct{})}
	n := min(max(runtime.GOMAXPROCS(0), minReaders), maxReaders)
	s.readers = make(chan *reader, n)
	for range n {
		s.readers <- &reader{path: path}
	}
	s.writer = startWriter(c, s.closing, log)
	return s, nil
}

// SetHolder changes what a second process is told about this one, for instance to the address that
// it listens on by now.
func (s *Store) SetHolder(name string) { s.lock.setHolder(name) }

// Stats counts what a store has done since it was opened.
type Stats struct {
	Updates uint64 // updates that were acknowledged
	Commits uint64 // commits that this took; with concurrent callers fewer than updates
}

// Stats returns the counts so far.
func (s *Store) Stats() Stats {
	return Stats{Updates: s.writer.updates.Load(), Commits: s.writer.commits.Load()}
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	j := newJob()
	select {
	case s.writer.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return store.ErrClosed
	}
	select {
	case <-j.turn:
	case err := <-j.result: // the transaction could not begin
		return err
	case <-ctx.Done():
		if j.claim() { // before the writer did
			return ctx.Err()
		}
		return s.finish(j, fn)
	case <-s.writer.done:
		if j.claim() { // the writer ended without it
			return store.ErrClosed
		}
		return s.finish(j, fn)
	}
	j.run(fn)
	return <-j.result
}

// finish runs a job that the writer has claimed.
func (s *Store) finish(j *job, fn func(store.Tx) error) error {
	select {
	case <-j.turn:
		j.run(fn)
		return <-j.result
	case err := <-j.result:
		return err
	}
}

// View implements store.Store.
func (s *Store) View(ctx context.Context, fn func(store.Tx) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	var r *reader
	select {
	case r = <-s.readers:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return store.ErrClosed
	}
	defer func() { s.readers <- r }()
	return r.view(fn)
}

// usable returns why a transaction should not even queue, or nil.
func (s *Store) usable(ctx context.Context) error {
	select {
	case <-s.closing:
		return store.ErrClosed
	default:
		return ctx.Err()
	}
}

// Close implements store.Store: it waits for the transactions that run or were queued, moves the
// write-ahead log into the database and lets other processes have the directory.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.closing)
		for range cap(s.readers) {
			(<-s.readers).close()
		}
		<-s.writer.done
		s.closed = s.writer.closed
		s.lock.unlock()
	})
	return s.closed
}
