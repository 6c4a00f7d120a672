package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
)

// keepLate is how many given-up calls are remembered, to tell a late answer from one to no request.
const keepLate = 1024

// Peer is one end of a connection. All methods are safe for concurrent use.
//
// What one goroutine sends arrives in that order, requests, notifications and answers alike, each as one whole line.
// When Call returns an answer, Notify and Request have returned for everything that stood before the answer.
type Peer struct {
	o     Options
	max   int
	in    *gate
	lines *LineReader
	out   *writer

	begun   sync.Once
	started chan struct{} // conn and ctx are set
	conn    *jsonrpc2.Conn
	ctx     context.Context // of the callbacks
	ending  sync.Once
	closed  chan struct{}
	read    chan struct{} // nothing is read any more
	outcome error         // why reading ended; set before read is closed
	current *Request      // what ReadObject hands to Handle, both on the reader's goroutine

	// What WriteObject writes, instead of what the library would. Both are guarded by the write lock.
	sending    []byte
	sendingCtx context.Context

	mu      sync.Mutex
	seq     uint64
	calls   map[string]*call
	late    map[string]bool // given up, not answered yet
	expired []string        // given up, and still in the library's table
	pending map[string]bool // requests of the other side that are not answered
}

// call is a request of this side that waits for its answer.
type call struct {
	line   []byte
	result json.RawMessage
	err    *Error
}

// NewPeer makes the end of a connection that reads r and writes w. It starts nothing: Run reads. The streams stay the
// caller's. To interrupt what is blocked on them, Close uses the deadlines of streams that have them, such as the pipes
// and connections of the standard library, and closes others when they can be closed and are not files.
func NewPeer(r io.Reader, w io.Writer, o Options) *Peer {
	p := &Peer{
		o: o, max: o.MaxLine, in: &gate{r: r},
		started: make(chan struct{}), closed: make(chan struct{}), read: make(chan struct{}),
		calls: map[string]*call{}, late: map[string]bool{}, pending: map[string]bool{},
	}
	if p.max <= 0 {
		p.max = MaxLine
	}
	p.lines = NewLineReader(p.in, p.max)
	p.out = &writer{w: w, timeout: o.WriteTimeout, turn: make(chan struct{}, 1), closed: p.closed, stalled: p.Close}
	if o.Tee != nil {
		p.out.tee = func(line []byte) { _ = p.guard(func() { o.Tee(true, line) }) }
	}
	return p
}

// Run reads until the input ends, the context ends or Close, and then waits for the goroutine that read. At the end of
// the input and after Close it returns nil, otherwise what ended it. Calls that are open then fail with ErrClosed.
// Notifications and answers can be sent until Close: the other side may still listen. A read that cannot
// be interrupted, such as that of a terminal or of an inherited pipe, is left alone: its goroutine ends with it, and what
// it brings is discarded. Run may be called once.
func (p *Peer) Run(ctx context.Context) error {
	first := false
	p.begun.Do(func() { first = true })
	if !first {
		return errors.New("wire: Run was called twice; a Peer serves one connection")
	}
	callbacks, cancel := context.WithCancel(ctx)
	defer cancel()
	p.ctx = callbacks
	p.conn = jsonrpc2.NewConn(context.WithoutCancel(ctx), (*stream)(p), (*stream)(p), jsonrpc2.SetLogger((*stream)(p)))
	close(p.started)

	select {
	case <-p.read:
		if !errors.Is(p.outcome, errStopped) {
			_ = p.conn.Close()
			return p.outcome
		}
	case <-p.closed:
	case <-ctx.Done():
	}
	cancel()
	_ = p.conn.Close() // ends the open calls
	if p.in.close() {
		<-p.read
	}
	if p.out.late.Load() {
		return ErrStalled
	}
	return ctx.Err()
}

// Close ends the connection: open and later calls fail with ErrClosed, nothing can be sent, and Run returns. It does not
// wait for Run, may be called from anywhere and more than once.
func (p *Peer) Close() {
	p.ending.Do(func() {
		close(p.closed)
		p.out.interrupt()
	})
}

// Call sends a request and waits for its answer; params are encoded as an object, nil as an empty one. A failure that
// the other side reports is an *Error. When the context ends first its error is returned, and the answer is dropped
// should it still come; the request may then have been sent or not. When the connection has ended the error is
// ErrClosed. Call waits for Run to begin.
func (p *Peer) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return p.CallSent(ctx, method, params, nil)
}

// CallSent is Call that also calls onSent when the request is written: what is sent from then on comes behind it.
func (p *Peer) CallSent(ctx context.Context, method string, params any, onSent func()) (json.RawMessage, error) {
	p.mu.Lock()
	p.seq++
	id := strconv.FormatUint(p.seq, 10)
	p.mu.Unlock()
	line, err := callLine(id, method, params, p.max)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.started:
	case <-p.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c := &call{line: line}
	waiter, err := p.dispatch(ctx, id, c)
	sent := err == nil
	if sent {
		if onSent != nil {
			onSent()
		}
		err = waiter.Wait(ctx, nil)
	}
	switch {
	case err == nil && c.err != nil:
		return nil, c.err
	case err == nil:
		return c.result, nil
	}
	p.giveUp(id, sent)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, jsonrpc2.ErrClosed):
		return nil, ErrClosed
	}
	return nil, err
}

// dispatch hands a call to the library, which writes it through WriteObject while the write lock is held here: that
// lock is given up when the context ends, the library's own is not.
func (p *Peer) dispatch(ctx context.Context, id string, c *call) (jsonrpc2.Waiter, error) {
	if err := p.out.lock(ctx); err != nil {
		return jsonrpc2.Waiter{}, err
	}
	defer p.out.unlock()
	p.mu.Lock()
	p.calls[id] = c
	p.mu.Unlock()
	p.sending, p.sendingCtx = c.line, ctx
	defer func() { p.sending, p.sendingCtx = nil, nil }()
	return p.conn.DispatchCall(ctx, "", nil, jsonrpc2.PickID(jsonrpc2.ID{Str: id, IsString: true}))
}

// giveUp forgets a call whose answer nobody waits for. The library forgets those that could not be sent by itself.
func (p *Peer) giveUp(id string, sent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls[id] == nil {
		return
	}
	delete(p.calls, id)
	if sent {
		p.expired = append(p.expired, id)
	}
	if len(p.late) >= keepLate {
		for old := range p.late { // any of them: an answer that did not come for a thousand calls hardly ever comes
			delete(p.late, old)
			break
		}
	}
	p.late[id] = true
}

// Notify sends a notification; params are encoded as an object, nil as an empty one. When it returns nil the line is
// written. It waits while the other side does not read, until the context ends: the line may then still be written,
// whole. It works before Run and after the end of the input, until Close.
func (p *Peer) Notify(ctx context.Context, method string, params any) error {
	line, err := callLine("", method, params, p.max)
	if err != nil {
		return err
	}
	return p.out.send(ctx, line)
}

// settle forgets a request of the other side, which may use its id again as soon as it has the answer.
func (p *Peer) settle(id ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pending, id.canonical())
}

// drop reports a dropped line.
func (p *Peer) drop(err *DroppedError) {
	if p.o.Dropped != nil {
		_ = p.guard(func() { p.o.Dropped(err) })
	}
}

// guard runs foreign code and returns its panic as an error. Code that ends its goroutine ends the connection, since it
// may take the reader with it.
func (p *Peer) guard(f func()) (err error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		} else if !returned {
			p.Close()
		}
	}()
	f()
	returned = true
	return nil
}
