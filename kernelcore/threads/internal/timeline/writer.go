package timeline

import (
	"context"
	"fmt"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline/fold"
)

// Bounds of what waits for a commit while another one runs. Beyond them Append blocks, and with it whoever reads from the
// agent: that is the backpressure. What one Append brings is never torn.
const (
	maxPendingEvents = 4096
	maxPendingBytes  = 1 << 20
)

// MaxPayload bounds the payload of an event: with room for its row it fits into a value of the store. A line of a bridge has
// at most 8 MiB.
const MaxPayload = store.MaxValue * 3 / 4

// Writer appends to one thread. It is safe for concurrent use.
type Writer struct {
	l      *Log
	id     string
	feed   *feed
	failed chan struct{}

	mu       sync.Mutex
	seq      int64 // the last one given
	fold     *fold.Fold
	pending  batch
	since    since
	appended uint64 // how many Appends there were,
	stored   uint64 // and how many of them are stored
	running  bool   // a goroutine commits
	progress chan struct{}
	err      error // why nothing is stored any more
	closed   bool
	released bool
}

// batch is what the next commit stores.
type batch struct {
	events  []threadapi.Event
	records []Record
	bytes   int
}

// since counts what came since the open rows were last stored.
type since struct{ events, bytes int }

// Writer returns the writer of a thread, which goes on behind its last stored event. While the one before is being closed,
// or has failed, it waits; when nobody closes it, the error is ErrInUse.
func (l *Log) Writer(ctx context.Context, threadID string) (*Writer, error) {
	if err := store.CheckBucket(turnsBucket + threadID); err != nil {
		return nil, fmt.Errorf("timeline: %q cannot be the id of a thread: %w", threadID, err)
	}
	for {
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			return nil, ErrClosed
		}
		f := l.attach(threadID)
		if f.writer == nil {
			w := &Writer{l: l, id: threadID, feed: f, progress: make(chan struct{}), failed: make(chan struct{})}
			f.writer, f.free = w, make(chan struct{})
			l.mu.Unlock()
			if err := w.load(ctx); err != nil {
				w.mu.Lock()
				w.closed = true
				w.release()
				w.mu.Unlock()
				return nil, err
			}
			return w, nil
		}
		w, free := f.writer, f.free
		l.mu.Unlock()
		ending := w.ending()
		if ending {
			select {
			case <-free:
			case <-ctx.Done():
			}
		}
		l.detach(f)
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if !ending {
			return nil, ErrInUse
		}
	}
}

// ending reports whether the Writer will be closed, or should be.
func (w *Writer) ending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed || w.err != nil
}

// load reads where the thread stands.
func (w *Writer) load(ctx context.Context) error {
	err := w.l.store.View(ctx, func(tx store.Tx) (err error) {
		if w.seq, err = lastSeq(tx, w.id); err != nil {
			return err
		}
		rows, err := openRows(tx, w.id)
		if err != nil {
			return err
		}
		if w.fold, err = catchUp(tx, w.id, rows); err != nil {
			return err
		}
		return remember(tx, w.id, w.fold)
	})
	if err != nil {
		return err
	}
	w.feed.mu.Lock()
	stale := w.feed.last != w.seq
	w.feed.mu.Unlock()
	if stale {
		w.feed.reset()
	}
	return nil
}

// Append numbers the events in their order, folds them, and has them stored with the records in the next commit; of several
// records for one key the last one counts. It returns before that, and waits only while too much waits already. When it
// returns an error nothing was appended: the context's, that of a payload or record which cannot be stored, ErrClosed, or
// the one for which the Writer failed.
func (w *Writer) Append(ctx context.Context, events []Event, records ...Record) error {
	encoded := make([]threadapi.Event, len(events))
	bytes := 0
	for i, e := range events {
		var err error
		if encoded[i], err = e.encode(w.id, w.l.o.Clock); err != nil {
			return err
		}
		if n := len(encoded[i].Payload); n > MaxPayload {
			return fmt.Errorf("timeline: the payload of an event %s has %d bytes; at most %d are kept", e.Type, n, MaxPayload)
		}
		bytes += len(encoded[i].Payload) + 64
	}
	for _, r := range records {
		if err := store.CheckRecord(r.Bucket, r.Key, r.Value); err != nil {
			return err
		}
		bytes += len(r.Value)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if err := w.refused(); err != nil {
			return err
		}
		p := &w.pending
		if p.bytes == 0 || p.bytes+bytes <= maxPendingBytes && len(p.events)+len(events) <= maxPendingEvents {
			break
		}
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	if len(events) == 0 && len(records) == 0 {
		return nil
	}
	for i := range encoded {
		w.seq++
		encoded[i].Seq = w.seq
		w.fold.Apply(&encoded[i])
	}
	w.pending.events = append(w.pending.events, encoded...)
	w.pending.records = append(w.pending.records, records...)
	w.pending.bytes += bytes
	w.appended++
	if !w.running {
		w.running = true
		w.l.work.Go(w.run)
	}
	return nil
}

// refused says why nothing can be appended. w.mu is held.
func (w *Writer) refused() error {
	if w.err == nil && w.closed {
		return ErrClosed
	}
	return w.err
}

// wait waits for the end of a commit. w.mu is held, and not while it waits.
func (w *Writer) wait(ctx context.Context) error {
	progress := w.progress
	w.mu.Unlock()
	defer w.mu.Lock()
	select {
	case <-progress:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wake tells those that wait. w.mu is held.
func (w *Writer) wake() {
	close(w.progress)
	w.progress = make(chan struct{})
}

// Flush waits until all that was appended before is stored. The error is the one for which the Writer failed, or the
// context's.
func (w *Writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for target := w.appended; w.stored < target; {
		if w.err != nil {
			return w.err
		}
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Failed is closed when the store has failed for RetryFor: what was not stored by then is lost, and the Writer of no more
// use.
func (w *Writer) Failed() <-chan struct{} { return w.failed }

// Err returns the error for which the Writer failed, nil as long as it did not.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// LastSeq returns the seq of the last event that was appended, stored or not.
func (w *Writer) LastSeq() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seq
}

// OpenItems returns the items that have begun and not been completed, children before their parents: in the order in which
// they are best settled.
func (w *Writer) OpenItems() []OpenItem {
	w.mu.Lock()
	defer w.mu.Unlock()
	items := []OpenItem{}
	rows := w.fold.Open()
	for i := len(rows) - 1; i >= 0; i-- {
		r := rows[i]
		if id := r.ItemID(); id != "" {
			item, presentation := r.Base()
			items = append(items, OpenItem{ItemID: id, ParentItemID: r.ParentID, TurnID: r.TurnID, Item: item, Presentation: presentation})
		}
	}
	return items
}

// Close stores what was appended and gives the thread free for another Writer. The error says that something was not
// stored. When the context ends before, the last commit goes on and the thread is free behind it.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	w.wake()
	w.mu.Unlock()
	err := w.idle(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		err = w.err
	}
	if !w.running {
		w.release()
	}
	return err
}

// idle waits until no commit runs.
func (w *Writer) idle(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.running {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// release gives the thread free. w.mu is held.
func (w *Writer) release() {
	if w.released {
		return
	}
	w.released = true
	w.l.mu.Lock()
	w.feed.writer = nil
	close(w.feed.free)
	w.l.mu.Unlock()
	w.l.detach(w.feed)
}

// abandon makes the Writer fail.
func (w *Writer) abandon(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail(err)
}

// fail ends the Writer with what is stored. w.mu is held.
func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
		w.pending = batch{}
		close(w.failed)
	}
	w.wake()
}
