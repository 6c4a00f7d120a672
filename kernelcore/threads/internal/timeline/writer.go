package timeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
)

// Bounds of what waits for a commit. Beyond them Append blocks, and with it the reader of the agent: that is the
// backpressure.
const (
	maxPendingEvents = 4096
	maxPendingBytes  = 1 << 20
	// maxRecord is the size of a batch in the store from which on another record is begun: a reader in the middle of one
	// decodes the whole.
	maxRecord = 64 << 10
)

// Errors of a Writer.
var (
	// ErrClosed says that the Writer, or the Log, was closed.
	ErrClosed = errors.New("timeline: closed")
	// ErrInUse says that the thread has a Writer already.
	ErrInUse = errors.New("timeline: the thread has a writer already")
)

// Writer appends to one thread. It is safe for concurrent use.
type Writer struct {
	l    *Log
	id   string
	feed *feed

	mu       sync.Mutex
	seq      int64 // the last number given
	fold     *fold
	next     *batch
	begun    int64 // how many batches were begun,
	stored   int64 // and how many of them are stored
	flushing bool
	progress chan struct{} // closed and replaced when a commit ends
	err      error
	failed   chan struct{}
}

// batch is what one commit stores.
type batch struct {
	last    int64 // seq of its last event, or of the one before when it has none
	events  []threadapi.Event
	bytes   int
	rows    map[int64]*threadapi.Row
	records []Record
}

// OpenItem is an item that has begun and not ended.
type OpenItem struct {
	ItemID, ParentItemID, TurnID string
	Item                         json.RawMessage // its last payload, without what was folded into it since
	Presentation                 json.RawMessage
}

// Writer returns the writer of a thread, which has at most one at a time. It goes on behind the last stored event.
func (l *Log) Writer(ctx context.Context, threadID string) (*Writer, error) {
	l.mu.Lock()
	f := l.feed(threadID)
	if l.closed || f.writer != nil {
		err := ErrInUse
		if l.closed {
			err = ErrClosed
		}
		l.mu.Unlock()
		l.leave(f)
		return nil, err
	}
	w := &Writer{l: l, id: threadID, feed: f, fold: newFold(), progress: make(chan struct{}), failed: make(chan struct{})}
	f.writer = w
	l.mu.Unlock()
	if err := w.load(ctx); err != nil {
		l.mu.Lock()
		f.writer = nil
		l.mu.Unlock()
		l.leave(f)
		return nil, err
	}
	f.reached(w.seq)
	return w, nil
}

// load reads where the thread stands: its last number, and what is open, by folding anew from the first open row on.
func (w *Writer) load(ctx context.Context) error {
	var err error
	if w.seq, err = w.l.storedSeq(ctx, w.id); err != nil {
		return err
	}
	open := int64(0)
	err = w.l.store.View(ctx, func(tx store.Tx) error {
		for e, err := range tx.Range(openBucket+w.id, store.Range{Limit: 1}) {
			if err != nil {
				return err
			}
			open = seqOf(e.Key)
		}
		return nil
	})
	if err != nil || open == 0 {
		return err
	}
	for e, err := range w.l.pages(ctx, w.id, open-1, w.seq) {
		if err != nil {
			return err
		}
		w.fold.apply(&e)
	}
	return nil
}

// Append numbers the events in their order and stores them, with the records, in the next commit; of several records for
// one key the last one counts. It returns before that, and waits only while too much waits already. The error is that of
// a Writer that has failed or was closed, of the context, or of a payload that does not encode; nothing is appended then.
func (w *Writer) Append(ctx context.Context, events []Event, records ...Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && w.next != nil && (len(w.next.events) >= maxPendingEvents || w.next.bytes >= maxPendingBytes) {
		progress := w.progress
		w.mu.Unlock()
		var err error
		select {
		case <-progress:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		w.mu.Lock()
		if err != nil {
			return err
		}
	}
	if w.err != nil {
		return w.err
	}
	numbered := make([]threadapi.Event, len(events))
	for i, e := range events {
		var err error
		if numbered[i], err = e.numbered(w.id, w.seq+1+int64(i)); err != nil {
			return err
		}
	}
	if w.next == nil {
		w.next = &batch{last: w.seq, rows: map[int64]*threadapi.Row{}}
		w.begun++
	}
	b := w.next
	for i := range numbered {
		e := &numbered[i]
		for _, row := range w.fold.apply(e) {
			b.rows[row.Seq] = row
		}
		b.bytes += len(e.Payload) + 256
		if e.Type == "turn.started" {
			b.records = append(b.records, Record{Bucket: turnsBucket + w.id, Key: e.Scope.TurnID, Value: []byte(keyOf(e.Seq))})
		}
	}
	w.seq += int64(len(numbered))
	b.last = w.seq
	b.events = append(b.events, numbered...)
	b.records = append(b.records, records...)
	if !w.flushing {
		w.flushing = true
		w.l.writers.Go(w.flush)
	}
	return nil
}

// flush commits what waits until nothing does.
func (w *Writer) flush() {
	for {
		w.mu.Lock()
		b := w.next
		if b == nil || w.err != nil && !errors.Is(w.err, ErrClosed) {
			w.flushing = false
			w.wake()
			w.mu.Unlock()
			return
		}
		w.next = nil
		w.mu.Unlock()
		err := w.commit(b)
		if err == nil {
			w.feed.publish(b.events, b.last)
		}
		w.mu.Lock()
		if err != nil {
			w.err = err
			close(w.failed)
		} else {
			w.stored++
		}
		w.wake()
		w.mu.Unlock()
	}
}

// wake tells those that wait for a commit. w.mu is held.
func (w *Writer) wake() {
	close(w.progress)
	w.progress = make(chan struct{})
}

// The pauses between two tries of a store that fails.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// commit stores a batch, and tries again while the store fails, for RetryFor.
func (w *Writer) commit(b *batch) error {
	write, err := b.encode(w.id)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(w.l.o.RetryFor)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err = w.l.store.Update(context.Background(), write)
		var invalid *store.InvalidError
		if err == nil || errors.Is(err, store.ErrClosed) || errors.As(err, &invalid) || time.Now().Add(pause).After(deadline) {
			return err
		}
		w.l.o.Log.Warn("a thread's events could not be stored; trying again", "thread", w.id, "error", err)
		time.Sleep(pause)
	}
}

// encode returns the function that stores a batch.
func (b *batch) encode(id string) (func(store.Tx) error, error) {
	type put struct {
		bucket, key string
		value       []byte
	}
	var puts []put
	var line []byte
	for i := range b.events {
		e := &b.events[i]
		line = appendLine(line, e)
		if len(line) >= maxRecord || i == len(b.events)-1 {
			puts = append(puts, put{eventsBucket + id, keyOf(e.Seq), line})
			line = nil
		}
	}
	for seq, row := range b.rows {
		raw, err := encode(row)
		if err != nil {
			return nil, fmt.Errorf("timeline: the row of event %d: %w", seq, err)
		}
		puts = append(puts, put{rowsBucket + id, keyOf(seq), raw})
		open := put{bucket: openBucket + id, key: keyOf(seq)}
		if row.Status == statusOpen {
			open.value = []byte{}
		}
		puts = append(puts, open)
	}
	for _, r := range b.records {
		puts = append(puts, put{r.Bucket, r.Key, r.Value})
	}
	return func(tx store.Tx) error {
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
	}, nil
}

// Flush waits until all that was appended before is stored. The error is the store's, or the context's.
func (w *Writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for target := w.begun; w.stored < target; {
		if w.err != nil && !errors.Is(w.err, ErrClosed) {
			return w.err
		}
		progress := w.progress
		w.mu.Unlock()
		var err error
		select {
		case <-progress:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		w.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// Failed is closed when the store has failed for RetryFor: what was not stored is lost, and the Writer of no more use.
func (w *Writer) Failed() <-chan struct{} { return w.failed }

// LastSeq returns the number of the last event that was appended.
func (w *Writer) LastSeq() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seq
}

// OpenItems returns the items that have begun and not ended, in the order in which they began.
func (w *Writer) OpenItems() []OpenItem {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fold.openItems()
}

// Close stores what was appended and gives the thread free for another Writer.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	closed := errors.Is(w.err, ErrClosed)
	if w.err == nil {
		w.err = ErrClosed
	}
	w.mu.Unlock()
	err := w.Flush(ctx)
	if closed {
		return err
	}
	w.l.mu.Lock()
	w.feed.writer = nil
	w.l.mu.Unlock()
	w.l.leave(w.feed)
	return err
}
