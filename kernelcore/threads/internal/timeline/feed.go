package timeline

import (
	"context"
	"iter"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
)

// Bounds of the last events that followers get without a look into the store.
const (
	ringEvents = 1024
	ringBytes  = 1 << 20
)

// feed is a thread as its followers see it.
type feed struct {
	id     string
	writer *Writer // guarded by Log.mu
	users  int     // guarded by Log.mu

	mu      sync.Mutex
	stored  int64             // the last stored event
	ring    []threadapi.Event // the last of them, without a gap
	bytes   int
	changed chan struct{} // closed and replaced when stored grows or the feed ends
	ended   bool
}

// feed returns the feed of a thread, for one more user. l.mu is held.
func (l *Log) feed(id string) *feed {
	f := l.threads[id]
	if f == nil {
		f = &feed{id: id, changed: make(chan struct{})}
		l.threads[id] = f
	}
	f.users++
	return f
}

// leave ends one use of a feed.
func (l *Log) leave(f *feed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.users--; f.users == 0 {
		delete(l.threads, f.id)
	}
}

func (f *feed) last() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stored
}

// reached notes what is stored already.
func (f *feed) reached(seq int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if seq > f.stored {
		f.stored, f.ring, f.bytes = seq, nil, 0
		f.wake()
	}
}

// publish hands on events that were stored.
func (f *feed) publish(events []threadapi.Event, last int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last <= f.stored {
		return
	}
	f.stored = last
	f.ring = append(f.ring, events...)
	for i := range events {
		f.bytes += len(events[i].Payload)
	}
	drop := max(0, len(f.ring)-ringEvents)
	for i := 0; i < len(f.ring) && (i < drop || f.bytes > ringBytes); i++ {
		f.bytes -= len(f.ring[i].Payload)
		drop = i + 1
	}
	if drop > 0 {
		f.ring = append([]threadapi.Event(nil), f.ring[drop:]...)
	}
	f.wake()
}

// wake tells the followers. f.mu is held.
func (f *feed) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// end lets the followers end.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.ended = true
		f.wake()
	}
}

// after returns the events behind a cursor as far as the ring has them, what is stored, and the channel that closes when
// there is more. ok is false when the ring does not reach back that far.
func (f *feed) after(cursor int64) (events []threadapi.Event, stored int64, changed <-chan struct{}, ended, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cursor < f.stored {
		if len(f.ring) > 0 && f.ring[0].Seq <= cursor+1 {
			at := int(cursor + 1 - f.ring[0].Seq)
			return f.ring[at:], f.stored, f.changed, f.ended, true
		}
		return nil, f.stored, f.changed, f.ended, false
	}
	return nil, f.stored, f.changed, f.ended, true
}

// Read yields the stored events of a thread behind a cursor, in order, without a gap, and none twice; a cursor inside the
// run that one event stands for yields that event. Without follow it ends with what is stored when it begins; with follow
// it goes on until the context ends, which is no error, or the thread is deleted. A cursor beyond the end waits.
func (l *Log) Read(ctx context.Context, threadID string, after int64, follow bool) iter.Seq2[threadapi.Event, error] {
	return func(yield func(threadapi.Event, error) bool) {
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			yield(threadapi.Event{}, ErrClosed)
			return
		}
		f := l.feed(threadID)
		hasWriter := f.writer != nil
		l.mu.Unlock()
		defer l.leave(f)
		if !hasWriter {
			stored, err := l.storedSeq(ctx, threadID)
			if err != nil {
				yield(threadapi.Event{}, err)
				return
			}
			f.reached(stored)
		}
		target := f.last()
		for {
			events, stored, changed, ended, ok := f.after(after)
			if !ok {
				for e, err := range l.pages(ctx, threadID, after, stored) {
					if err != nil {
						yield(threadapi.Event{}, err)
						return
					}
					if !yield(e, nil) {
						return
					}
					after = e.Seq
				}
				if after < stored { // deleted meanwhile
					return
				}
				continue
			}
			for i := range events {
				if !yield(events[i], nil) {
					return
				}
				after = events[i].Seq
			}
			switch {
			case len(events) > 0:
				continue
			case ended, !follow && after >= target, !follow && target == 0:
				return
			case !follow:
				return // a cursor beyond the end
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// pageRecords is how many records are read in one transaction: a reader then holds no transaction open while it yields.
const pageRecords = 64

// pages yields the stored events behind a cursor, up to the one with the number last.
func (l *Log) pages(ctx context.Context, threadID string, after, last int64) iter.Seq2[threadapi.Event, error] {
	return func(yield func(threadapi.Event, error) bool) {
		for after < last {
			var entries []store.Entry
			err := l.store.View(ctx, func(tx store.Tx) error {
				size := 0
				for e, err := range tx.Range(eventsBucket+threadID, store.Range{After: keyOf(after), Limit: pageRecords}) {
					if err != nil {
						return err
					}
					entries = append(entries, e)
					if size += len(e.Value); size >= ringBytes {
						return nil
					}
				}
				return nil
			})
			if err != nil {
				yield(threadapi.Event{}, err)
				return
			}
			if len(entries) == 0 {
				return
			}
			for _, entry := range entries {
				events, err := decodeLines(entry.Value)
				if err != nil {
					yield(threadapi.Event{}, err)
					return
				}
				for _, e := range events {
					if e.Seq <= after {
						continue
					}
					if e.Seq > last {
						return
					}
					if !yield(e, nil) {
						return
					}
					after = e.Seq
				}
			}
		}
	}
}
