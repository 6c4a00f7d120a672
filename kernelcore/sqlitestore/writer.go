package sqlitestore

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// Limits of a group of updates that share a commit.
const (
	// maxQueue is how many updates wait before callers of Update wait for a place in the queue.
	maxQueue = 1024
	// maxGroup is how many updates share a commit. From about a hundred on, the sync is no longer
	// what an update costs.
	maxGroup = 256
	// maxGroupBytes ends a group that has written so much, so that it fits into the page cache and
	// the write-ahead log stays small.
	maxGroupBytes = 4 << 20
	// maxGroupTime ends a group whose functions take long, so that the first does not wait for all.
	maxGroupTime = 20 * time.Millisecond

	// checkpointEvery is how often the write-ahead log is moved into the database and cut to nothing;
	// SQLite itself moves it every 1,000 pages, but never cuts it.
	checkpointEvery = 30 * time.Second
)

// job is an Update on its way through the writer.
//
// Its function runs on the goroutine of the caller, so that a panic and runtime.Goexit stay there;
// the writer waits meanwhile. What is not a channel is written by one side before the other is told.
type job struct {
	claimed atomic.Bool
	turn    chan struct{} // the writer: run your function now
	ended   chan struct{} // closed by the caller: it has run, see ok, err and tx
	result  chan error    // the writer: this is what became of it
	tx      tx
	ok      bool  // the function returned nil
	err     error // the function's error
}

func newJob() *job {
	return &job{turn: make(chan struct{}, 1), ended: make(chan struct{}), result: make(chan error, 1)}
}

// claim decides who has the job: the writer, which will answer it, or the caller, who withdraws it.
func (j *job) claim() bool { return j.claimed.CompareAndSwap(false, true) }

// run runs the function of a job whose turn it is.
func (j *job) run(fn func(store.Tx) error) {
	defer func() { // also when fn panics or leaves its goroutine
		j.tx.done = true
		close(j.ended)
	}()
	j.err = fn(&j.tx)
	j.ok = j.err == nil
}

// writer owns the only connection that writes. Its goroutine ends after the store is closing and the
// queue is empty.
type writer struct {
	path    string
	log     *slog.Logger
	jobs    chan *job
	closing <-chan struct{} // closed by the store
	done    chan struct{}   // closed when the goroutine has ended
	closed  error           // set before done: how closing the database went

	c     *conn // nil after a failure: to be opened again
	dirty bool  // committed since the last full checkpoint
	full  bool  // the last commit failed for lack of space; logged once
	group []*job

	updates, commits atomic.Uint64
}

// startWriter starts the goroutine of a writer on connection c.
func startWriter(c *conn, closing <-chan struct{}, log *slog.Logger) *writer {
	w := &writer{path: c.path, log: log, jobs: make(chan *job, maxQueue), closing: closing, done: make(chan struct{}), c: c, dirty: true}
	go w.loop()
	return w
}

func (w *writer) loop() {
	defer close(w.done)
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	for {
		select {
		case j := <-w.jobs:
			w.commit(j)
		case <-tick.C:
			w.checkpoint()
		case <-w.closing:
			for j := w.next(); j != nil; j = w.next() {
				w.run(j)
			}
			w.checkpoint()
			if w.c != nil {
				w.closed = w.c.close()
			}
			return
		}
	}
}

// next claims a queued job, or returns nil when there is none.
func (w *writer) next() *job {
	for {
		select {
		case j := <-w.jobs:
			if j.claim() {
				return j
			}
		default:
			return nil
		}
	}
}

// commit runs a group that begins with j, unless j was withdrawn.
func (w *writer) commit(j *job) {
	if j.claim() {
		w.run(j)
	}
}

// run runs job first and what is queued behind it in one transaction, then answers all of them.
func (w *writer) run(first *job) {
	w.group = w.group[:0]
	if err := w.begin(); err != nil {
		w.failed(err)
		for j := first; j != nil; j = w.next() { // what is queued would find the same
			w.group = append(w.group, j)
			if len(w.group) == maxGroup {
				break
			}
		}
		w.answer(err)
		return
	}
	err := w.collect(first)
	if err == nil {
		err = w.end()
	}
	if err != nil {
		_ = w.c.close() // what SQLite has rolled back by itself is not worth finding out: start afresh
		w.c = nil
		w.failed(err)
	}
	w.answer(err)
}

// answer answers the jobs of the group: err if there is one, else what their functions returned.
// Those get err too who failed by themselves: what they had seen is not what is stored.
func (w *writer) answer(err error) {
	for _, j := range w.group {
		if err != nil {
			j.result <- err
		} else {
			j.result <- j.err
		}
	}
	clear(w.group)
}

// begin begins a transaction, on a new connection if the last one failed.
func (w *writer) begin() (err error) {
	if w.c == nil {
		c, err := open(w.path, writing)
		if err != nil {
			return err
		}
		if err := c.prepare(writing); err != nil {
			_ = c.close()
			return err
		}
		w.c = c
	}
	return w.c.exec(w.c.begin)
}

// collect runs first and the jobs queued behind it, as long as the limits allow. An error is one of
// the database and ends the group.
func (w *writer) collect(first *job) error {
	started, bytes := time.Now(), 0
	for j := first; j != nil; j = w.next() {
		w.group = append(w.group, j)
		j.tx = tx{c: w.c, writable: true}
		j.turn <- struct{}{}
		<-j.ended
		if err := w.settle(j); err != nil {
			return err
		}
		bytes += j.tx.bytes
		if len(w.group) == maxGroup || bytes >= maxGroupBytes || time.Since(started) >= maxGroupTime {
			return nil
		}
	}
	return nil
}

// settle keeps what j wrote, or takes it back when its function did not succeed.
func (w *writer) settle(j *job) error {
	switch {
	case j.tx.failed != nil:
		return j.tx.failed
	case !j.tx.wrote:
		return nil
	case !j.ok:
		if err := w.c.exec(w.c.undo); err != nil {
			return err
		}
	}
	return w.c.exec(w.c.release)
}

// end commits the transaction.
func (w *writer) end() error {
	kept, updates := false, uint64(0)
	for _, j := range w.group {
		if j.ok {
			updates++
			kept = kept || j.tx.wrote
		}
	}
	if !kept {
		w.updates.Add(updates)
		return w.c.exec(w.c.rollback)
	}
	if err := w.c.exec(w.c.commit); err != nil {
		return err
	}
	w.updates.Add(updates)
	w.commits.Add(1)
	w.dirty = true
	if w.full {
		w.full = false
		w.log.Info("store: there is space again", "path", w.path)
	}
	return nil
}

// failed logs a failure; a full disk once until it is over.
func (w *writer) failed(err error) {
	var full *store.FullError
	if errors.As(err, &full) {
		if w.full {
			return
		}
		w.full = true
	}
	w.log.Error("store: a write failed", "path", w.path, "err", err)
}

// checkpoint moves the write-ahead log into the database and cuts it to nothing. While a View needs
// the log it does not wait: the next time will do.
func (w *writer) checkpoint() {
	if !w.dirty || w.c == nil {
		return
	}
	err := w.c.script("PRAGMA busy_timeout = 0")
	busy := int64(0)
	if err == nil {
		busy, err = w.c.number("PRAGMA wal_checkpoint(TRUNCATE)")
	}
	err = errors.Join(err, w.c.script("PRAGMA busy_timeout = "+lockWait))
	if err != nil {
		w.log.Warn("store: the write-ahead log could not be moved into the database; it stays valid", "path", w.path, "err", err)
	}
	w.dirty = err != nil || busy != 0
}
