package timeline

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline/record"
)

// The buckets of a thread: its id stands behind each. Keys are seqs as eight bytes, the highest first.
const (
	eventsBucket = "events/"    // last seq of a record → its events, see package record
	rowsBucket   = "rows/"      // seq of the event that began a row → the row, see package fold
	openBucket   = "rows-open/" // the same seqs, of rows that are open → nothing
	turnsBucket  = "rows-turn/" // turn id, a zero byte, the same seqs → the id of the row's item, or nothing

	// foldedBucket has, for a thread's id, the seq up to which the stored rows that are open show all events.
	foldedBucket = "rows-folded"
)

// RetryFor is how long a store that fails is tried again before what was not stored is given up: a full disk is often
// noticed and mended within seconds, and while it lasts the agent stands still.
const RetryFor = 5 * time.Second

// Errors of a Writer and a Log.
var (
	// ErrClosed says that the Writer or the Log was closed.
	ErrClosed = errors.New("timeline: closed; open it again to go on")
	// ErrInUse says that the thread has a Writer that nobody closed.
	ErrInUse = errors.New("timeline: the thread has a writer already: close it first")
	// ErrDeleted says that the thread was deleted while it had a Writer.
	ErrDeleted = errors.New("timeline: the thread was deleted")
)

// Options configures a Log. The zero value is usable.
type Options struct {
	Clock    func() time.Time // the time of events that have none; nil: time.Now
	Log      *slog.Logger     // hears of a store that fails; nil: nobody does
	RetryFor time.Duration    // 0: the constant of that name
}

// Log keeps the events and rows of all threads in a store. It is safe for concurrent use.
type Log struct {
	o     Options
	store store.Store

	mu      sync.Mutex
	closed  bool
	threads map[string]*feed // with a Writer or a reader
	work    sync.WaitGroup   // the goroutines that commit
}

// New returns a Log on a store, which stays the caller's.
func New(s store.Store, o Options) *Log {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.RetryFor <= 0 {
		o.RetryFor = RetryFor
	}
	return &Log{o: o, store: s, threads: map[string]*feed{}}
}

// Close stores what every Writer has and ends them and all followers. The error says what was not stored.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	var writers []*Writer
	for _, f := range l.threads {
		if f.writer != nil {
			writers = append(writers, f.writer)
		}
	}
	l.mu.Unlock()
	var errs []error
	for _, w := range writers {
		errs = append(errs, w.Close(ctx))
	}
	l.mu.Lock()
	for _, f := range l.threads {
		f.end()
	}
	l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return errors.Join(append(errs, fmt.Errorf("timeline: a commit may still run: %w", err))...)
	}
	l.work.Wait() // idle: each Writer waited for its own
	return errors.Join(errs...)
}

// LastSeq returns the seq of a thread's last stored event, 0 for none.
func (l *Log) LastSeq(ctx context.Context, threadID string) (last int64, err error) {
	err = l.store.View(ctx, func(tx store.Tx) (err error) {
		last, err = lastSeq(tx, threadID)
		return err
	})
	return last, err
}

func lastSeq(tx store.Tx, threadID string) (int64, error) {
	for e, err := range tx.Range(eventsBucket+threadID, store.Range{Reverse: true, Limit: 1}) {
		if err != nil {
			return 0, err
		}
		return seqOf(e.Key)
	}
	return 0, nil
}

// deletePage is how many records one transaction of Delete removes: commits of other threads wait no longer than for one
// another.
const deletePage = 1000

// Delete removes all that is kept of a thread and ends its followers. A Writer that is still open fails. When it is broken
// off, doing it again removes the rest.
func (l *Log) Delete(ctx context.Context, threadID string) error {
	l.mu.Lock()
	f := l.attach(threadID)
	w := f.writer
	l.mu.Unlock()
	defer l.detach(f)
	if w != nil {
		w.abandon(ErrDeleted)
		if err := w.idle(ctx); err != nil {
			return err
		}
	}
	f.gate.Lock() // no compaction runs
	defer f.gate.Unlock()
	for _, bucket := range []string{openBucket, turnsBucket, rowsBucket, eventsBucket} {
		for more := true; more; {
			err := l.store.Update(ctx, func(tx store.Tx) (err error) {
				more, err = deleteSome(tx, bucket+threadID)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	err := l.store.Update(ctx, func(tx store.Tx) error { return tx.Delete(foldedBucket, threadID) })
	if err == nil {
		f.end()
	}
	return err
}

func deleteSome(tx store.Tx, bucket string) (more bool, err error) {
	n := 0
	for e, err := range tx.Range(bucket, store.Range{Limit: deletePage}) {
		if err == nil {
			err = tx.Delete(bucket, e.Key)
		}
		if err != nil {
			return false, err
		}
		n++
	}
	return n == deletePage, nil
}

// page is what one transaction reads of the events.
const (
	pageRecords = 256
	pageBytes   = 256 << 10
)

// readPage returns the first events behind a cursor, and whether there may be more behind them.
func readPage(tx store.Tx, threadID string, after int64) (events []threadapi.Event, more bool, err error) {
	size, n := 0, 0
	for e, err := range tx.Range(eventsBucket+threadID, store.Range{After: keyOf(after), Limit: pageRecords}) {
		if err != nil {
			return nil, false, err
		}
		if events, err = record.Decode(events, threadID, e.Value); err != nil {
			return nil, false, damaged(threadID, err)
		}
		n++
		if size += len(e.Value); size >= pageBytes {
			break
		}
	}
	for len(events) > 0 && events[0].Seq <= after {
		events = events[1:]
	}
	return events, n == pageRecords || size >= pageBytes, nil
}

func damaged(threadID string, err error) error {
	return fmt.Errorf("timeline: thread %s cannot be read; restore a copy of the data directory, or discard the thread: %w", threadID, err)
}

func keyOf(seq int64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(seq))
	return string(b[:])
}

func seqOf(key string) (int64, error) {
	if len(key) != 8 {
		return 0, fmt.Errorf("timeline: a key has %d bytes where a seq has 8", len(key))
	}
	return int64(binary.BigEndian.Uint64([]byte(key))), nil
}
