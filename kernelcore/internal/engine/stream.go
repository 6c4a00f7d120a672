package engine

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/header"
)

// streamBuffer is how many frames a producer may be ahead of its consumer: enough that one flush carries many small
// frames, small enough that a slow reader holds the producer back soon.
const streamBuffer = 64

// Frame is an item of an open stream, or the failure that ends it.
type Frame struct {
	Cursor string
	JSON   []byte
	Text   string // when the request asked for it
	Err    *kernelcontract.Error
}

// Stream is an open stream. Close it.
type Stream struct {
	// Frames yields the items; a frame with Err is the last. It is closed when the handler's sequence ends.
	Frames <-chan Frame
	// Ended is closed when the stream must end because its plugin is retired; EndError says so to the reader.
	Ended <-chan struct{}

	cancel context.CancelFunc
	close  sync.Once
	finish func(*kernelcontract.Error)
}

// EndError is the failure that a reader gets when Ended is closed: a resumable stream goes on from its cursor elsewhere.
func (s *Stream) EndError() *kernelcontract.Error {
	return unavailable("the plugin was reloaded, disabled or stopped: open the stream again from the last cursor")
}

// Close ends the stream and records the call: err is how it ended, nil for its end or the reader's.
func (s *Stream) Close(err *kernelcontract.Error) {
	s.close.Do(func() {
		s.cancel()
		s.finish(err)
	})
}

// Open runs a stream up to its first frame, within the deadline; the error is that of the handler before the stream
// opened. The producer is owned by the plugin's instance, whose end waits for it.
func (e *Engine) Open(ctx context.Context, r *Request) (*Stream, *kernelcontract.Error) {
	start := time.Now()
	s, err := e.open(ctx, r, start)
	if err != nil {
		e.record(r, start, err)
	}
	return s, err
}

func (e *Engine) open(ctx context.Context, r *Request, start time.Time) (*Stream, *kernelcontract.Error) {
	d := r.Method.Def
	if d.Kind != kernelcontract.KindStream {
		return nil, kernelcontract.InvalidInput.Errorf("%s is a %s: it cannot be opened, only called", d.Ref(), d.Kind)
	}
	if err := e.Admit(r); err != nil {
		return nil, err
	}
	if r.Since != "" && !d.Resumable {
		return nil, kernelcontract.InvalidInput.Errorf("%s cannot be resumed: open it without a cursor", d.Ref())
	}
	info := &kernelcontract.CallInfo{}
	if err := e.begin(ctx, r, info); err != nil {
		return nil, err
	}
	input, kerr := e.input(r)
	if kerr != nil {
		return nil, kerr
	}
	m, kerr := e.enter(r.Method)
	if kerr != nil {
		return nil, kerr
	}
	ctx, cancel := context.WithCancel(kernelcontract.WithCall(ctx, info))
	frames := make(chan Frame, streamBuffer)
	opened := make(chan *kernelcontract.Error, 1)
	go func() { // owned by the instance, whose end waits for leave
		defer m.instance.leave()
		defer close(frames)
		e.produce(ctx, r, m, info, input, opened, frames)
	}()
	timer := time.NewTimer(time.Until(r.Deadline))
	defer timer.Stop()
	select {
	case err := <-opened:
		if err != nil {
			cancel()
			return nil, err
		}
	case <-timer.C:
		cancel()
		err := kernelcontract.Timeout.Errorf("%s did not open within its deadline", d.Ref())
		err.Retryable = true
		return nil, err
	case <-ctx.Done():
		cancel()
		return nil, contextError(ctx, d)
	}
	e.streams.Add(1)
	return &Stream{
		Frames: frames, Ended: m.instance.kicked, cancel: cancel,
		finish: func(err *kernelcontract.Error) {
			e.streams.Add(-1)
			e.record(r, start, err)
		},
	}, nil
}

// produce runs the handler's sequence into frames. It first says on opened whether there is one.
func (e *Engine) produce(ctx context.Context, r *Request, m *Method, info *kernelcontract.CallInfo, input []byte, opened chan<- *kernelcontract.Error, frames chan<- Frame) {
	answered, returned := false, false
	send := func(f Frame) bool {
		select {
		case frames <- f:
			return true
		case <-ctx.Done():
			return false
		}
	}
	defer func() {
		switch p := recover(); {
		case p != nil:
			send(Frame{Err: e.panicked(m, info.ID, p)})
		case !answered:
			opened <- e.pluginFault(m, info.ID, errGoexit)
		case !returned:
			send(Frame{Err: e.pluginFault(m, info.ID, errGoexit)})
		}
	}()
	items, err := e.sequence(ctx, m, info, input)
	answered = true
	opened <- err
	if err != nil {
		returned = true
		return
	}
	for ev, err := range items {
		f := e.frame(ctx, r, m, info, ev, err)
		if !send(f) || f.Err != nil {
			break
		}
	}
	returned = true
}

// sequence calls the guards and the handler.
func (e *Engine) sequence(ctx context.Context, m *Method, info *kernelcontract.CallInfo, input []byte) (items iter.Seq2[kernelcontract.Event[any], error], err *kernelcontract.Error) {
	defer func() {
		if p := recover(); p != nil {
			err = e.panicked(m, info.ID, p)
		}
	}()
	if err := e.guard(ctx, m, info, input); err != nil {
		return nil, err
	}
	items, herr := m.handler.Open(ctx, input)
	if herr != nil {
		return nil, e.handlerError(ctx, m, info.ID, herr)
	}
	return items, nil
}

// frame encodes an item, or the error that ends the sequence. It contains the panics of their own methods, so that nothing
// panics through the plugin's sequence, where a recover could swallow it.
func (e *Engine) frame(ctx context.Context, r *Request, m *Method, info *kernelcontract.CallInfo, ev kernelcontract.Event[any], failure error) (f Frame) {
	defer func() {
		if p := recover(); p != nil {
			f = Frame{Err: e.panicked(m, info.ID, p)}
		}
	}()
	if failure != nil {
		return Frame{Err: e.handlerError(ctx, m, info.ID, failure)}
	}
	raw, err := m.encodeOutput(ev.Item)
	if err != nil {
		return Frame{Err: e.pluginFault(m, info.ID, fmt.Errorf("an item does not encode: %w", err))}
	}
	if err := checkCursor(ev.Cursor, m.Def.Resumable); err != nil {
		return Frame{Err: e.pluginFault(m, info.ID, err)}
	}
	if err := e.checkOutput(m, info.ID, raw); err != nil {
		return Frame{Err: err}
	}
	f = Frame{Cursor: ev.Cursor, JSON: raw}
	if r.Text != nil {
		var kerr *kernelcontract.Error
		if f.Text, kerr = e.render(m, info.ID, ev.Item, raw, *r.Text); kerr != nil {
			return Frame{Err: kerr}
		}
	}
	return f
}

func checkCursor(cursor string, resumable bool) error {
	if resumable && !header.ValidCursor(cursor) {
		return fmt.Errorf("the cursor %.300q is not 1 to %d bytes of printable ASCII without a space at its ends", cursor, kernelcontract.MaxCursor)
	}
	return nil
}
