package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// writeChunk is how much is written under one WriteTimeout: what a pipe holds, so that a slow reader of a long line
// counts as one that reads.
const writeChunk = 64 << 10

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// writer writes whole lines, one at a time.
type writer struct {
	w       io.Writer
	tee     func(line []byte)
	timeout time.Duration
	turn    chan struct{} // holds a token while somebody writes; guards rest and broken
	rest    []byte        // what a write that was given up left of its line
	broken  error
	closed  chan struct{}
	late    atomic.Bool // the write timeout has ended the connection
	stalled func()      // ends the connection
}

type writeDeadline interface{ SetWriteDeadline(time.Time) error }

// send writes a line.
func (w *writer) send(ctx context.Context, line []byte) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	defer w.unlock()
	return w.write(ctx, line)
}

func (w *writer) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case w.turn <- struct{}{}:
	default:
		select {
		case w.turn <- struct{}{}:
		case <-w.closed:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-w.closed:
		w.unlock()
		return ErrClosed
	default:
		return nil
	}
}

func (w *writer) unlock() { <-w.turn }

// write is send for who holds the lock. When the context ends in the middle of a line, the rest of it is written before
// the next one, so that the receiver still sees whole lines.
func (w *writer) write(ctx context.Context, line []byte) error {
	if w.broken != nil {
		return w.broken
	}
	if len(w.rest) > 0 {
		n, err := w.push(ctx, w.rest)
		w.rest = w.rest[n:]
		if err != nil {
			return err
		}
	}
	n := 0
	var err error
	if w.tee != nil { // the receiver can do nothing with a line before its end, so the tee is first, and only of what goes out
		text := line[:len(line)-1]
		if n, err = w.push(ctx, text); n > 0 {
			w.tee(text)
		}
	}
	if err == nil {
		var k int
		k, err = w.push(ctx, line[n:])
		n += k
	}
	if err != nil && n > 0 {
		w.rest = line[n:]
	}
	return err
}

// push writes b, and returns how much of it when the context or the connection ended before.
func (w *writer) push(ctx context.Context, b []byte) (int, error) {
	d, _ := w.w.(writeDeadline)
	if d != nil && ctx.Done() != nil {
		interrupted := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			_ = d.SetWriteDeadline(longAgo)
			close(interrupted)
		})
		defer func() {
			if !stop() {
				<-interrupted
				w.rearm(d)
			}
		}()
	}
	for n := 0; n < len(b); {
		chunk := b[n:]
		timed := false
		if d != nil && w.timeout > 0 {
			chunk = chunk[:min(len(chunk), writeChunk)]
			timed = d.SetWriteDeadline(time.Now().Add(w.timeout)) == nil
		}
		if err := w.ended(ctx); err != nil { // after the deadline was set, which may have undone an interruption
			return n, err
		}
		k, err := w.w.Write(chunk)
		n += k
		if err == nil && k < len(chunk) {
			err = io.ErrShortWrite
		}
		if err == nil {
			continue
		}
		if n == len(b) {
			return n, nil
		}
		if ended := w.ended(ctx); ended != nil {
			return n, ended
		}
		w.broken = fmt.Errorf("%w: write: %w", ErrClosed, err)
		if timed && errors.Is(err, os.ErrDeadlineExceeded) {
			w.broken = ErrStalled
			w.late.Store(true)
			w.stalled()
		}
		return n, w.broken
	}
	return len(b), nil
}

func (w *writer) ended(ctx context.Context) error {
	select {
	case <-w.closed:
		return ErrClosed
	default:
	}
	return ctx.Err()
}

// rearm takes back the interruption of a context, but not that of close.
func (w *writer) rearm(d writeDeadline) {
	_ = d.SetWriteDeadline(time.Time{})
	select {
	case <-w.closed:
		_ = d.SetWriteDeadline(longAgo)
	default:
	}
}

// interrupt wakes a blocked write; w.closed is closed by then. A writer without deadlines is closed, unless it is a file:
// files belong to the process.
func (w *writer) interrupt() {
	if d, ok := w.w.(writeDeadline); ok && d.SetWriteDeadline(longAgo) == nil {
		return
	}
	if _, ok := w.w.(*os.File); ok {
		return
	}
	if c, ok := w.w.(io.Closer); ok {
		_ = c.Close()
	}
}
