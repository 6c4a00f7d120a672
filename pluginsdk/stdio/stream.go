package stdio

import (
	"context"
	"encoding/json"
	"iter"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Event is an item that crosses.
type Event = kernelcontract.Event[json.RawMessage]

// Notifier sends notifications; a wire.Peer does.
type Notifier interface {
	// Notify returns when the notification is sent.
	Notify(ctx context.Context, method string, params any) error
}

// Streams are the open streams of one end of a connection: those that it serves, and those that it has opened. The zero value
// has none. It is safe for concurrent use.
type Streams struct {
	mu     sync.Mutex
	served map[string]*credit
	opened map[string]*Receiver
}

// credit is how many items of a stream may still be sent.
type credit struct {
	mu   sync.Mutex
	n    int
	more chan struct{} // has an element when n has grown
}

func (c *credit) add(n int) {
	c.mu.Lock()
	c.n += n
	c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// take waits for one.
func (c *credit) take(ctx context.Context) error {
	for {
		c.mu.Lock()
		ok := c.n > 0
		if ok {
			c.n--
		}
		c.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-c.more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Begin makes a stream that this end is about to serve known, so that credit that comes early is not lost. It reports whether the id was
// free.
func (s *Streams) Begin(id string, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served == nil {
		s.served = map[string]*credit{}
	}
	if _, there := s.served[id]; there {
		return false
	}
	s.served[id] = &credit{n: max(n, 0), more: make(chan struct{}, 1)}
	return true
}

// Forget ends what Begin began.
func (s *Streams) Forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.served, id)
}

// Serve sends the items of a stream that Begin has made known, as far as there is credit, and then its end. It returns when all is
// sent, or ctx ends: the other side has gone away or has cancelled.
func (s *Streams) Serve(ctx context.Context, to Notifier, id string, items iter.Seq2[Event, error]) error {
	s.mu.Lock()
	c := s.served[id]
	s.mu.Unlock()
	defer s.Forget(id)
	end := EndParams{Stream: id}
	for ev, err := range items {
		if err != nil {
			end.Error = ErrorOf(err)
			break
		}
		if err := c.take(ctx); err != nil {
			return err
		}
		if err := to.Notify(ctx, StreamItem, ItemParams{Stream: id, Cursor: ev.Cursor, Item: ev.Item}); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // nobody waits for the end
	}
	return to.Notify(ctx, StreamEnd, end)
}

// Credited takes a CreditParams.
func (s *Streams) Credited(p CreditParams) {
	s.mu.Lock()
	c := s.served[p.Stream]
	s.mu.Unlock()
	if c != nil && p.N > 0 {
		c.add(min(p.N, Credit))
	}
}

// Receiver is a stream that this end has opened.
type Receiver struct {
	streams *Streams
	id      string
	items   chan Event // room for all that there is credit for
	ended   chan struct{}
	once    sync.Once
	err     error // set before ended is closed
}

// Open makes a stream known that this end is about to open with Credit, so that items that come early are not lost. It
// reports whether the id was free.
func (s *Streams) Open(id string) (*Receiver, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened == nil {
		s.opened = map[string]*Receiver{}
	}
	if _, there := s.opened[id]; there {
		return nil, false
	}
	r := &Receiver{streams: s, id: id, items: make(chan Event, Credit), ended: make(chan struct{})}
	s.opened[id] = r
	return r, true
}

// Received takes an ItemParams. It reports whether the item was within the credit; one of an unknown stream is late and
// dropped.
func (s *Streams) Received(p ItemParams) bool {
	s.mu.Lock()
	r := s.opened[p.Stream]
	s.mu.Unlock()
	if r == nil {
		return true
	}
	select {
	case r.items <- Event{Cursor: p.Cursor, Item: p.Item}:
		return true
	default:
		return false
	}
}

// Ended takes an EndParams.
func (s *Streams) Ended(p EndParams) {
	s.mu.Lock()
	r := s.opened[p.Stream]
	s.mu.Unlock()
	if r != nil {
		r.end(p.Error.Err())
	}
}

// Fail ends all streams that this end has opened: the connection is gone.
func (s *Streams) Fail(err error) {
	s.mu.Lock()
	open := s.opened
	s.opened = nil
	s.mu.Unlock()
	for _, r := range open {
		r.end(err)
	}
}

func (r *Receiver) end(err error) {
	r.once.Do(func() {
		r.err = err
		close(r.ended)
	})
}

// Close forgets the stream; what still comes is dropped.
func (r *Receiver) Close() {
	r.streams.mu.Lock()
	defer r.streams.mu.Unlock()
	if r.streams.opened[r.id] == r {
		delete(r.streams.opened, r.id)
	}
}

// next returns the next item, false at the end, and why it ended early. more gives credit back, some items at a time.
func (r *Receiver) next(ctx context.Context, used *int, more func(n int)) (Event, bool, error) {
	take := func(ev Event) (Event, bool, error) {
		if *used++; *used >= Credit/2 {
			more(*used)
			*used = 0
		}
		return ev, true, nil
	}
	select { // items come before the end
	case ev := <-r.items:
		return take(ev)
	default:
	}
	select {
	case ev := <-r.items:
		return take(ev)
	case <-ctx.Done():
		return Event{}, false, context.Cause(ctx)
	case <-r.ended:
		select {
		case ev := <-r.items:
			return take(ev)
		default:
			return Event{}, false, r.err
		}
	}
}

// All yields the items until the end; an error is the last pair. It gives credit back through to.
func (r *Receiver) All(ctx context.Context, to Notifier) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		used := 0
		more := func(n int) { _ = to.Notify(ctx, StreamCredit, CreditParams{Stream: r.id, N: n}) } // without a connection the stream ends
		for {
			ev, ok, err := r.next(ctx, &used, more)
			switch {
			case err != nil:
				yield(Event{}, err)
				return
			case !ok:
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}
