package timeline

import (
	"sync"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// Bounds of the last events of a thread that its followers get without a look into the store. The ring may be half as
// long again before it is cut, so that it is not moved for each event.
const (
	ringEvents = 1024
	ringBytes  = 1 << 20
)

// feed is a thread that is written or read: what its Writer and its readers share.
type feed struct {
	id     string
	writer *Writer       // guarded by Log.mu
	free   chan struct{} // closed when the writer is gone; guarded by Log.mu
	users  int           // guarded by Log.mu

	// gate is held for reading while a reader moves on, and for writing while events are compacted: a run is never
	// compacted across a place where a reader stands, who would get its first part twice.
	gate sync.RWMutex

	mu      sync.Mutex
	ring    []threadapi.Event // the last stored events, without a gap
	bytes   int
	last    int64 // seq of the last event that was published, 0 before the first
	changed chan struct{}
	ended   bool
	readers map[*reader]bool
}

// reader is where a Read stands.
type reader struct{ at int64 } // guarded by feed.mu

// attach returns the feed of a thread, for one more user. l.mu is held.
func (l *Log) attach(id string) *feed {
	f := l.threads[id]
	if f == nil {
		f = &feed{id: id, changed: make(chan struct{}), readers: map[*reader]bool{}}
		l.threads[id] = f
	}
	f.users++
	return f
}

// detach ends one use of a feed.
func (l *Log) detach(f *feed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.users--
	if f.users == 0 {
		delete(l.threads, f.id)
	}
}

// publish hands on events that are stored.
func (f *feed) publish(events []threadapi.Event) {
	if len(events) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = events[len(events)-1].Seq
	f.ring = append(f.ring, events...)
	for i := range events {
		f.bytes += len(events[i].Payload)
	}
	if len(f.ring) > ringEvents*3/2 || f.bytes > ringBytes*3/2 {
		drop := 0
		for drop < len(f.ring) && (len(f.ring)-drop > ringEvents || f.bytes > ringBytes) {
			f.bytes -= len(f.ring[drop].Payload)
			drop++
		}
		f.ring = append(make([]threadapi.Event, 0, len(f.ring)), f.ring[drop:]...) // readers have parts of the old one
	}
	f.wake()
}

// reset forgets the ring: the next Writer goes on behind what is stored.
func (f *feed) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ring, f.bytes, f.last = nil, 0, 0
}

// wake tells the followers. f.mu is held.
func (f *feed) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// end ends the followers once they have what is stored.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.ring, f.bytes, f.last = nil, 0, 0
	f.wake()
}

// next returns the events behind a reader as far as the ring has them and moves it behind them. known is false when only
// the store can say what there is; changed is closed when there is more than now.
func (f *feed) next(r *reader) (events []threadapi.Event, known, ended bool, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.last > 0 && r.at >= f.last:
		known = true
	case len(f.ring) > 0 && r.at+1 >= f.ring[0].Seq:
		known = true
		events = f.ring[r.at+1-f.ring[0].Seq:]
		r.at = f.last
	}
	return events, known, f.ended, f.changed
}

// moved notes that a reader got what the store has up to seq.
func (f *feed) moved(r *reader, seq int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.at = max(r.at, seq)
}

// join adds a reader behind a cursor.
func (f *feed) join(after int64) *reader {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &reader{at: after}
	f.readers[r] = true
	return r
}

func (f *feed) part(r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.readers, r)
}

// places returns where readers stand. f.gate is held, so that none moves.
func (f *feed) places() map[int64]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := make(map[int64]bool, len(f.readers))
	for r := range f.readers {
		at[r.at] = true
	}
	return at
}
