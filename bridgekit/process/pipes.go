package process

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// pipes are the standard streams of a child, each with its two ends.
type pipes struct {
	in, childIn   *os.File
	out, childOut *os.File
	err, childErr *os.File
}

func (p *pipes) open() (err error) {
	if p.childIn, p.in, err = os.Pipe(); err == nil {
		if p.out, p.childOut, err = os.Pipe(); err == nil {
			p.err, p.childErr, err = os.Pipe()
		}
	}
	if err != nil {
		p.closeChild()
		p.closeParent()
	}
	return err
}

func (p *pipes) closeChild() {
	p.childIn.Close()
	p.childOut.Close()
	p.childErr.Close()
}

func (p *pipes) closeParent() {
	p.in.Close()
	p.out.Close()
	p.err.Close()
}

// Writer is the writing end of a child's standard input.
type Writer struct{ f *os.File }

// Write writes to the child; it blocks while the child does not read, until the deadline.
func (w *Writer) Write(b []byte) (int, error) { return w.f.Write(b) }

// SetWriteDeadline bounds writes, those in progress included.
func (w *Writer) SetWriteDeadline(t time.Time) error { return w.f.SetWriteDeadline(t) }

// Close tells the child that there is no more. Closing twice is fine.
func (w *Writer) Close() error {
	if err := w.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Reader is the reading end of one of a child's streams.
type Reader struct {
	f    *os.File
	gone atomic.Bool // the group has ended: what is in the pipe is all there is
}

// Read reads what the child wrote. After the child's exit a pipe that brings nothing for a moment has ended, whoever
// holds it.
func (r *Reader) Read(b []byte) (int, error) {
	for {
		gone := r.gone.Load()
		if gone {
			r.f.SetReadDeadline(time.Now().Add(drainGrace))
		}
		n, err := r.f.Read(b)
		switch {
		case n > 0 || err == nil:
			return n, nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, err
		case gone:
			return 0, io.EOF
		case !r.gone.Load():
			return 0, err // a deadline that the caller set
		}
	}
}

// SetReadDeadline bounds reads, those in progress included. It does nothing after the child's exit, when reads are
// bounded anyway.
func (r *Reader) SetReadDeadline(t time.Time) error {
	if r.gone.Load() {
		return nil
	}
	return r.f.SetReadDeadline(t)
}

// Close gives up the rest. Closing twice is fine.
func (r *Reader) Close() error {
	if err := r.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// exited wakes a read in progress and bounds those to come.
func (r *Reader) exited() {
	r.gone.Store(true)
	r.f.SetReadDeadline(time.Now().Add(drainGrace))
}
