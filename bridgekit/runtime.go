package bridgekit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// Runtime is a bridge that can be run. It holds no state of a connection: every Run is a connection of its own.
type Runtime struct {
	declarations []*protocol.ProviderDeclaration
	kinds        map[string]*extension.Kinds // of each declaration, by its id
	initialize   func(context.Context, protocol.InitializeParams) (protocol.Capabilities, error)
	shutdown     func(context.Context, protocol.ShutdownParams) error
	handlers     map[string]handler
}

// Run serves one connection: core writes to stdin and reads from stdout. It returns when core has asked for shutdown,
// when stdin ends or when ctx does; the last two run Shutdown with GraceMs 0. Functions of the bridge are awaited within
// the grace and left alone after it. Nothing but protocol lines may be written to stdout by others. When shutdown comes
// before the end of stdin, a read of stdin may still be under way when Run returns.
//
// The error is nil unless reading or writing failed.
func (r *Runtime) Run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	return r.run(ctx, stdin, stdout, nil)
}

// run is Run, with a function that sees every line.
func (r *Runtime) run(ctx context.Context, stdin io.Reader, stdout io.Writer, tee func(sent bool, line []byte)) error {
	c := &conn{
		runtime:  r,
		lanes:    map[string]*lane{},
		pending:  map[*job]struct{}{},
		shutdown: make(chan *job, 1),
		lost:     make(chan error, 1),
	}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	defer c.cancel(nil)
	c.peer = wire.NewPeer(stdin, stdout, wire.Options{Request: c.request, Notify: c.notification, Dropped: c.dropped, Tee: tee})
	var err error
	read := make(chan struct{})
	go func() {
		err = c.peer.Run(context.WithoutCancel(ctx))
		close(read)
	}()
	var asked *job // the shutdown request
	var broken error
	select {
	case asked = <-c.shutdown:
	case <-read: // the end of the input, or a failure
		broken = err
	case broken = <-c.lost: // core reads no more
	case <-ctx.Done():
	}
	c.end(asked)
	c.peer.Close()
	awaitClosed(read, readMargin)
	c.removeTempDir()
	if broken != nil {
		return fmt.Errorf("bridgekit: the connection to core broke: %w", broken)
	}
	return nil
}

// conn is one connection to core.
type conn struct {
	runtime  *Runtime
	peer     *wire.Peer
	ctx      context.Context // ends with the connection; its cause is ErrInterrupted
	cancel   context.CancelCauseFunc
	shutdown chan *job
	lost     chan error     // why nothing can be written any more
	running  sync.WaitGroup // functions of the author, and what waits for them

	mu      sync.Mutex
	state   state
	greeted bool // the handshake has succeeded
	caps    protocol.Capabilities
	plugin  protocol.PluginInfo
	lanes   map[string]*lane  // by thread
	pending map[*job]struct{} // requests without an answer
	told    bool              // shutdown is answered, and what was outstanding is being interrupted
	temp    string            // the directory for temporary files, once it is made
}

// state is where a connection is in its life.
type state int

const (
	fresh state = iota // no initialize has succeeded
	ready
	ending // nothing new starts
)

// wrote passes on the error of a notification or an answer. When core takes nothing any more the bridge ends, as at the end
// of its input. Calls are not asked: they end with the input, too.
func (c *conn) wrote(err error) error {
	if errors.Is(err, wire.ErrClosed) {
		select {
		case c.lost <- err:
		default: // it is known, or the connection is being ended
		}
	}
	return err
}

// spawn runs fn on a goroutine that the end of the connection waits for. It tells whether it does.
func (c *conn) spawn(fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == ending {
		return false
	}
	c.running.Go(fn)
	return true
}

// awaitClosed waits for a channel, but not longer than it may take.
func awaitClosed(done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// end answers the request that asked for it, if one did, and then all others, runs the shutdown function and waits for
// everything else, within the grace.
func (c *conn) end(asked *job) {
	c.mu.Lock()
	greeted := c.greeted
	c.state = ending
	if asked == nil && len(c.shutdown) > 0 {
		asked = <-c.shutdown // it came together with what ended the connection
	}
	c.mu.Unlock()
	var p protocol.ShutdownParams
	if asked != nil {
		p = *asked.params.(*protocol.ShutdownParams)
	}
	grace := max(time.Duration(min(p.GraceMs, maxGraceMs))*time.Millisecond-answerMargin, endGrace)

	base := context.WithoutCancel(c.contextFor(c.runtime.declarations[0], ""))
	ctx, cancel := context.WithTimeout(base, grace)
	defer cancel()
	answered := make(chan struct{})
	c.running.Go(func() { // waits while core does not read
		if asked != nil {
			asked.answer(protocol.Empty{}, nil)
		}
		close(answered)
	})
	awaitClosed(answered, answerFirst)
	c.running.Go(func() {
		c.cancel(ErrInterrupted)
		c.interruptPending()
	})
	if greeted {
		ended := make(chan outcome, 1)
		go c.contained(ended, "Shutdown", "", func() (any, error) { return nil, c.runtime.shutdown(ctx, p) })
		select {
		case o := <-ended:
			if o.err != nil {
				c.log("", protocol.LogError, "Shutdown failed: "+o.err.Error(), nil)
			}
		case <-ctx.Done():
		}
	}
	quiet := make(chan struct{})
	go func() { // outlives Run only when a function ignores its context
		c.running.Wait()
		close(quiet)
	}()
	select {
	case <-quiet:
	case <-ctx.Done():
	}
}

// interruptPending answers everything that has no answer. What comes from here on is refused at once.
func (c *conn) interruptPending() {
	c.mu.Lock()
	c.told = true
	jobs := make([]*job, 0, len(c.pending))
	for j := range c.pending {
		jobs = append(jobs, j)
	}
	for _, l := range c.lanes {
		l.queue = nil
	}
	c.mu.Unlock()
	for _, j := range jobs {
		err := errShuttingDown()
		if !j.late {
			err = protocol.InteractionInterrupted.Errorf("the bridge is shutting down")
		}
		j.answer(nil, err)
	}
}

// notification drops what core does not send in this version.
func (c *conn) notification(_ context.Context, n wire.Notification) {
	c.log("", protocol.LogWarn, fmt.Sprintf("dropped the notification %q: core sends none", clip(n.Method)), nil)
}

// dropped reports a line that was dropped.
func (c *conn) dropped(d *wire.DroppedError) {
	if d.Reason == wire.LateResponse {
		return // an answer to what was given up
	}
	c.log("", protocol.LogWarn, d.Error(), nil)
}

// report writes a line to standard error, the log of a bridge that cannot be reached otherwise.
func report(message string) { fmt.Fprintln(os.Stderr, "bridgekit: "+message) }
