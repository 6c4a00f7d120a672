package timeline

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// The buckets of a thread; its id stands behind each.
const (
	eventsBucket = "events/"    // last seq of a batch → its events, one JSON object a line
	rowsBucket   = "rows/"      // seq of the event that began a row → the row
	openBucket   = "rows-open/" // seqs of the rows that are open
	turnsBucket  = "turn-seqs/" // turn id → seq of its turn.started
)

// RetryFor is how long a store that fails is tried again before what was not stored is given up: a full disk is often
// noticed and mended within seconds, and while it lasts the agent stands still.
const RetryFor = 5 * time.Second

// Options configures a Log. The zero value is for use.
type Options struct {
	Log      *slog.Logger  // nil: nothing is logged
	RetryFor time.Duration // 0: the constant of the same name
}

// Log keeps the events and rows of all threads in a store. It is safe for concurrent use.
type Log struct {
	o     Options
	store store.Store

	mu      sync.Mutex
	closed  bool
	threads map[string]*feed // with a Writer or a follower
	writers sync.WaitGroup
}

// New returns a Log on a store, which stays the caller's.
func New(s store.Store, o Options) *Log {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.RetryFor <= 0 {
		o.RetryFor = RetryFor
	}
	return &Log{o: o, store: s, threads: map[string]*feed{}}
}

// Close stores what every Writer has, and ends all of them and every follower.
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
	done := make(chan struct{})
	go func() { // ends with the last commit
		l.writers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("timeline: a commit was still running: %w", ctx.Err()))
	}
	return errors.Join(errs...)
}

// LastSeq returns the number of a thread's last stored event, 0 for none.
func (l *Log) LastSeq(ctx context.Context, threadID string) (int64, error) {
	l.mu.Lock()
	if f := l.threads[threadID]; f != nil && f.writer != nil {
		defer l.mu.Unlock()
		return f.last(), nil
	}
	l.mu.Unlock()
	return l.storedSeq(ctx, threadID)
}

func (l *Log) storedSeq(ctx context.Context, threadID string) (last int64, err error) {
	err = l.store.View(ctx, func(tx store.Tx) error {
		for e, err := range tx.Range(eventsBucket+threadID, store.Range{Reverse: true, Limit: 1}) {
			if err != nil {
				return err
			}
			last = seqOf(e.Key)
		}
		return nil
	})
	return last, err
}

// deletePage is how many records one transaction of Delete removes: others wait no longer than for a commit of events.
const deletePage = 1000

// Delete removes all that is kept of a thread, and ends its followers. Its Writer is closed before.
func (l *Log) Delete(ctx context.Context, threadID string) error {
	for _, bucket := range []string{openBucket, turnsBucket, rowsBucket, eventsBucket} {
		for more := true; more; {
			more = false
			err := l.store.Update(ctx, func(tx store.Tx) error {
				n := 0
				for e, err := range tx.Range(bucket+threadID, store.Range{Limit: deletePage}) {
					if err == nil {
						err = tx.Delete(bucket+threadID, e.Key)
					}
					if err != nil {
						return err
					}
					n++
				}
				more = n == deletePage
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.threads[threadID]; f != nil {
		f.end()
	}
	return nil
}

// keyOf is the key of a seq: keys are in the order of the numbers.
func keyOf(seq int64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(seq))
	return string(b[:])
}

func seqOf(key string) int64 {
	if len(key) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64([]byte(key)))
}
