package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/header"
	"github.com/bb-kernel/bb/sdk/sse"
)

// Bounds of a stream (docs/spec/sdk.md).
const (
	// MaxFrame bounds one item, in bytes: a stream is for many small ones.
	MaxFrame = 16 << 20
	// Silence is how long a stream may send nothing, not even a comment, before it counts as broken: three heartbeats of
	// a kernel. A dead connection tells nothing by itself.
	Silence = 45 * time.Second
)

// Frame is one item of a stream, as Follow yields it.
type Frame struct {
	// Cursor is the item's resume point, "" when there is none.
	Cursor string
	// Item is the item, nil when text was asked for.
	Item json.RawMessage
	// Text is the rendered item when text was asked for.
	Text string
}

// Follow runs a stream, once each time the sequence is ranged over, and yields its items until the server ends it. A
// failure, a *kernelcontract.Error, is the last pair. Leaving the loop closes the request.
//
// A resumable stream that breaks, or that the server ends because it stops or reloads, is opened again after the last
// item, without gap or repeat, with growing pauses from MinPause to MaxPause or as the server asks within those. It fails
// with ServiceUnavailable when that has not succeeded for GiveUp. Every other stream that breaks fails so at once, and so
// does one that cannot be opened in the first place.
func (c *Client) Follow(ctx context.Context, req Request) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		if req.Signature.Kind != kernelcontract.KindStream {
			yield(Frame{}, kernelcontract.InvalidInput.Errorf("%s is a %s: only a stream is followed", req.Signature.Ref, req.Signature.Kind))
			return
		}
		f := &follower{c: c, req: req, yield: yield, resumable: req.Signature.Resumable}
		if err := f.run(ctx); err != nil {
			yield(Frame{}, err)
		}
	}
}

// follower is one run of a stream over as many connections as it takes.
type follower struct {
	c     *Client
	req   Request // Since is the cursor of the last item
	yield func(Frame, error) bool
	pause pause
	// resumable says that the stream can go on from req.Since. An item without a cursor of its own takes it away: going
	// on would repeat that item.
	resumable bool
	delivered bool // an item, on this connection
	resumed   bool // this connection is not the first
}

// errLeft says that the consumer left the loop.
var errLeft = errors.New("left")

// errStalled is the cause of a cancelled connection on which nothing came for too long.
var errStalled = errors.New("the connection stalled")

// run returns nil when the stream ended, or when the consumer left.
func (f *follower) run(ctx context.Context) error {
	for {
		err := f.connect(ctx)
		switch {
		case err == nil || err == errLeft:
			return nil
		case ctx.Err() != nil, !temporary(err), !f.resumable, f.pause.first():
			return err
		}
		f.resumed = true
		if !f.pause.wait(ctx) {
			if ctx.Err() != nil {
				return f.c.broken(ctx, f.req, true, ctx.Err())
			}
			e := kernelcontract.ServiceUnavailable.Errorf("%s could not be resumed for %s: %s", f.req.Signature.Ref, GiveUp, kernelcontract.AsError(err).Message)
			return e.WithCause(err)
		}
	}
}

// temporary reports whether opening the stream again can help.
func temporary(err error) bool {
	e := kernelcontract.AsError(err)
	return e.Code == kernelcontract.ServiceUnavailable || e.Retryable
}

// connect opens the stream and reads it. It returns nil after the end event.
func (f *follower) connect(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	watch := newWatch(func() { cancel(errStalled) })
	defer watch.stop()
	if f.resumed {
		watch.start(f.pause.left()) // a first opening takes as long as the server's deadline
	}
	resp, err := f.c.send(ctx, f.req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		_, err := f.c.readFailure(ctx, f.req, resp)
		f.pause.ask(retryAfter(resp.Header))
		return err
	}
	if media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || media != "text/event-stream" {
		return f.c.foreign(f.req, resp)
	}
	f.pause.opened()
	if f.req.OnOpen != nil {
		f.req.OnOpen(answerOf(resp))
	}
	f.delivered = false
	r := sse.NewReader(&watchedBody{resp.Body, watch}, sse.Options{MaxEvent: MaxFrame})
	err = f.read(ctx, r)
	if d, ok := r.Retry(); ok {
		f.pause.ask(d)
	}
	// A blank line after an id alone moves the cursor as well.
	if id := r.LastEventID(); id != "" && id != f.req.Since && header.ValidCursor(id) {
		f.req.Since, f.resumable = id, f.req.Signature.Resumable
	}
	f.pause.broke(f.delivered)
	if e, ok := err.(*kernelcontract.Error); ok && e.CallID == "" {
		e.CallID = answerOf(resp).CallID
	}
	return err
}

// read yields items until the stream ends or breaks.
func (f *follower) read(ctx context.Context, r *sse.Reader) error {
	for {
		ev, err := r.Next()
		if err != nil {
			return f.readError(ctx, err)
		}
		switch ev.Name {
		case "item":
			if err := f.item(ev); err != nil {
				return err
			}
		case "end":
			return nil
		case "error":
			e := parseFailure(ev.Data)
			if e == nil {
				e = kernelcontract.Internal.Errorf("an error frame of %s holds no failure", f.req.Signature.Ref)
			}
			return e
		}
	}
}

// item yields one item.
func (f *follower) item(ev sse.Event) error {
	frame := Frame{Cursor: ev.ID}
	if f.req.Render != nil {
		var text struct {
			Text *string `json:"text"`
		}
		if json.Unmarshal(ev.Data, &text) != nil || text.Text == nil {
			return f.badItem(ev)
		}
		frame.Text = *text.Text
	} else {
		if !json.Valid(ev.Data) {
			return f.badItem(ev)
		}
		frame.Item = append(json.RawMessage(nil), ev.Data...)
	}
	first := !f.delivered
	f.delivered = true
	switch {
	case !header.ValidCursor(ev.ID):
		f.resumable = false
	case ev.ID != f.req.Since:
		f.req.Since, f.resumable = ev.ID, f.req.Signature.Resumable
	case first && f.resumed:
		return nil // the server took the cursor as inclusive: this item was yielded before the break
	default:
		f.resumable = false
	}
	if !f.yield(frame, nil) {
		return errLeft
	}
	return nil
}

func (f *follower) badItem(ev sse.Event) error {
	return kernelcontract.Internal.Errorf("an item of %s is not what was asked for: %d bytes that are not its JSON", f.req.Signature.Ref, len(ev.Data))
}

// readError is the error of a stream that broke.
func (f *follower) readError(ctx context.Context, err error) error {
	if errors.Is(err, sse.ErrTooLong) {
		return kernelcontract.Internal.Errorf("an item of %s is larger than the %d MiB that a client takes", f.req.Signature.Ref, MaxFrame>>20).WithCause(err)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return f.c.broken(ctx, f.req, true, err)
}

// maxRetryAfter bounds what is read of Retry-After, in seconds: MaxPause bounds what is done.
const maxRetryAfter = 1 << 20

// retryAfter reads Retry-After in seconds, 0 for none.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n < 0 || n > maxRetryAfter {
		return 0
	}
	return time.Duration(n) * time.Second
}

// watch cancels a connection on which nothing happens.
type watch struct{ timer *time.Timer }

func newWatch(stalled func()) *watch {
	w := &watch{timer: time.AfterFunc(time.Hour, stalled)}
	w.timer.Stop()
	return w
}

func (w *watch) start(d time.Duration) { w.timer.Reset(d) }
func (w *watch) stop()                 { w.timer.Stop() }

// watchedBody watches each Read, and not the time between them, which is the consumer's.
type watchedBody struct {
	body  io.Reader
	watch *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.start(Silence)
	defer b.watch.stop()
	return b.body.Read(p)
}
