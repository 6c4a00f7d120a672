package timeline

import (
	"context"
	"iter"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
)

// Read yields the stored events of a thread behind a cursor, in their order, without a gap, and none twice. A cursor inside
// a run that one event stands for gets that event. Without follow it ends behind the last stored event. With follow it goes
// on until the thread is deleted or the Log closed, and at the latest with the context, whose error it then yields; behind a
// cursor that is beyond the end it waits for what comes after it. It holds no transaction while it yields, and nobody waits
// for it.
func (l *Log) Read(ctx context.Context, threadID string, after int64, follow bool) iter.Seq2[threadapi.Event, error] {
	return func(yield func(threadapi.Event, error) bool) {
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			yield(threadapi.Event{}, ErrClosed)
			return
		}
		f := l.attach(threadID)
		l.mu.Unlock()
		defer l.detach(f)
		r := f.join(max(after, 0))
		defer f.part(r)
		for {
			events, more, changed, err := l.advance(ctx, f, r)
			if err != nil {
				yield(threadapi.Event{}, err)
				return
			}
			for i := range events {
				if !yield(events[i], nil) {
					return
				}
			}
			switch {
			case more:
				continue
			case !follow || changed == nil:
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// advance returns the next events behind a reader and moves it there. more says that there may be others already; else
// changed is closed when there are, and nil when there never will be.
func (l *Log) advance(ctx context.Context, f *feed, r *reader) (events []threadapi.Event, more bool, changed <-chan struct{}, err error) {
	f.gate.RLock()
	defer f.gate.RUnlock()
	events, known, ended, changed := f.next(r)
	if known {
		return events, len(events) > 0, changed, nil
	}
	err = l.store.View(ctx, func(tx store.Tx) (err error) {
		events, _, err = readPage(tx, f.id, r.at) // only this goroutine changes r.at
		return err
	})
	if err != nil {
		return nil, false, nil, err
	}
	if len(events) > 0 {
		f.moved(r, events[len(events)-1].Seq)
		return events, true, changed, nil
	}
	if ended {
		return nil, false, nil, nil
	}
	return nil, false, changed, nil
}
