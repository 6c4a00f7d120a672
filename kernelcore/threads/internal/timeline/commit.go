package timeline

import (
	"context"
	"errors"
	"time"

	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline/fold"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline/record"
)

const (
	// maxRecord is the size from which on another record is begun: a reader that begins inside a record decodes all of it.
	maxRecord = 64 << 10

	// Open rows are stored when they begin. What changes in them later is in the events, from which whoever opens the thread
	// folds it again; so that this takes milliseconds, the rows are stored anew after storeRowsEvents, unless they are so
	// large that it would cost more than the events do; and after maxCatchUp in any case.
	storeRowsEvents = 1024
	maxCatchUp      = 8192
)

// The pauses between two tries of a store that fails.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// put is a record to write; a nil value deletes.
type put struct {
	bucket, key string
	value       []byte
}

// run commits what waits until nothing does.
func (w *Writer) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && (w.pending.bytes > 0 || len(w.pending.records) > 0) {
		b, upTo := w.pending, w.appended
		w.pending = batch{}
		rows, all := w.rows(&b)
		encoded := w.puts(&b, rows, all, w.seq)
		w.mu.Unlock()
		err := w.commit(encoded)
		w.mu.Lock()
		if err != nil {
			w.fail(err)
			break
		}
		if w.err == nil {
			w.feed.publish(b.events)
		}
		w.stored = upTo
		w.wake()
	}
	w.running = false
	w.wake()
	if w.closed {
		w.release()
	}
}

// rows returns the rows that are stored with a batch; all says that no open row is stale then. w.mu is held.
func (w *Writer) rows(b *batch) (rows []*fold.Row, all bool) {
	w.since.events += len(b.events)
	w.since.bytes += b.bytes
	rows = w.fold.TakeDue()
	if w.since.events < storeRowsEvents || w.since.events < maxCatchUp && w.since.bytes < w.fold.ChangedSize()/2 {
		return rows, false
	}
	w.since = since{}
	return append(rows, w.fold.TakeChanged()...), true
}

// puts encodes a batch. w.mu is held, so that the rows are as the batch leaves them.
func (w *Writer) puts(b *batch, rows []*fold.Row, all bool, seq int64) []put {
	var puts []put
	var raw []byte
	for i := range b.events {
		raw = record.Append(raw, b.events[i])
		if len(raw) >= maxRecord || i == len(b.events)-1 {
			puts = append(puts, put{eventsBucket + w.id, keyOf(b.events[i].Seq), raw})
			raw = nil
		}
	}
	for _, r := range rows {
		key := keyOf(r.Seq)
		puts = append(puts, put{rowsBucket + w.id, key, r.Encode()})
		open := put{bucket: openBucket + w.id, key: key}
		if r.IsOpen() {
			open.value = []byte{}
		}
		puts = append(puts, open, put{turnsBucket + w.id, turnKey(r.TurnID, r.Seq), []byte(r.ItemID())})
	}
	if all {
		puts = append(puts, put{foldedBucket, w.id, []byte(keyOf(seq))})
	}
	place := map[[2]string]int{}
	for _, r := range b.records {
		p := put{r.Bucket, r.Key, r.Value}
		at, again := place[[2]string{r.Bucket, r.Key}]
		if again {
			puts[at] = p
			continue
		}
		place[[2]string{r.Bucket, r.Key}] = len(puts)
		puts = append(puts, p)
	}
	return puts
}

// commit stores a batch, and tries again while the store fails, for RetryFor.
func (w *Writer) commit(puts []put) error {
	ctx, cancel := context.WithTimeout(context.Background(), w.l.o.RetryFor) // no caller's: what was appended is stored
	defer cancel()
	var failure error
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := w.l.store.Update(ctx, func(tx store.Tx) error { return write(tx, puts) })
		if err == nil {
			return nil
		}
		if failure == nil {
			w.l.o.Log.Warn("a thread's events cannot be stored; trying again", "thread", w.id, "for", w.l.o.RetryFor, "error", err)
		}
		if failure == nil || ctx.Err() == nil { // the store's own error says more than that time is up
			failure = err
		}
		var invalid *store.InvalidError
		if errors.Is(err, store.ErrClosed) || errors.As(err, &invalid) || w.abandoned() {
			return failure
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return failure
		}
	}
}

func (w *Writer) abandoned() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil
}

func write(tx store.Tx, puts []put) error {
	for _, p := range puts {
		var err error
		if p.value == nil {
			err = tx.Delete(p.bucket, p.key)
		} else {
			err = tx.Put(p.bucket, p.key, p.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func turnKey(turnID string, seq int64) string { return turnID + "\x00" + keyOf(seq) }
