package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

// Fixed parts of a stream. The opening is one comment and the reader's pause before it reconnects.
var (
	opening   = "retry: " + strconv.Itoa(RetryMillis) + "\n: open\n\n"
	heartbeat = ": heartbeat\n\n"
	ending    = "event: end\ndata: {}\n\n"
)

// stream opens the method and writes its items as server-sent events until either side ends it.
func (x *exchange) stream() {
	x.keepReading()
	s, err := x.h.o.Engine.Open(x.r.Context(), &x.req)
	if err != nil {
		x.fail(err)
		return
	}
	w := &eventWriter{w: x.w, rc: http.NewResponseController(x.w), patience: x.h.o.SlowReader}
	h := x.w.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h.Set("X-Accel-Buffering", "no")
	x.w.WriteHeader(http.StatusOK)
	w.buf = append(w.buf, opening...)
	w.flush()
	s.Close(x.pump(s, w))
	w.flush()
}

// pump writes frames until the stream ends and returns how it ended: nil at its own end.
func (x *exchange) pump(s *engine.Stream, w *eventWriter) *kernelcontract.Error {
	beat := time.NewTicker(x.h.o.Heartbeat)
	defer beat.Stop()
	gone := x.r.Context().Done()
	for w.err == nil {
		f, ok, ready := next(s.Frames)
		if !ready {
			w.flush()
			select {
			case f, ok = <-s.Frames:
			case <-beat.C:
				w.buf = append(w.buf, heartbeat...)
				continue
			case <-s.Ended:
				return w.error(s.EndError())
			case <-x.revoked:
				return w.error(revoked())
			case <-gone:
				return leaving()
			}
		}
		switch {
		case !ok && x.r.Context().Err() != nil:
			return leaving()
		case !ok:
			w.buf = append(w.buf, ending...)
			return nil
		case f.Err != nil:
			return w.error(f.Err)
		}
		w.item(&f, x.render != nil)
		if ready { // a reader that is always behind is looked after too
			select {
			case <-s.Ended:
				return w.error(s.EndError())
			case <-x.revoked:
				return w.error(revoked())
			case <-gone:
				return leaving()
			default:
			}
		}
		if w.due(time.Now()) {
			w.flush()
		}
	}
	return leaving()
}

// next takes a frame that is ready. A producer that is just about to hand one over is given the processor once: one
// flush then carries what it has.
func next(frames <-chan engine.Frame) (f engine.Frame, ok, ready bool) {
	for try := range 2 {
		select {
		case f, ok = <-frames:
			return f, ok, true
		default:
			if try == 0 {
				runtime.Gosched()
			}
		}
	}
	return f, false, false
}

func revoked() *kernelcontract.Error {
	return kernelcontract.Unauthenticated.Errorf("the credential of this stream was revoked or has expired")
}

func leaving() *kernelcontract.Error {
	return kernelcontract.Cancelled.Errorf("the reader of the stream went away or took nothing for too long")
}

// eventWriter collects events and sends them. After a failed write it does nothing.
type eventWriter struct {
	w        http.ResponseWriter
	rc       *http.ResponseController
	patience time.Duration
	buf      []byte
	oldest   time.Time // when the first event in buf came
	seq      int       // number of the next text frame
	err      error
}

// item adds an item. Its data is one line, whoever encoded it.
func (w *eventWriter) item(f *engine.Frame, asText bool) {
	if len(w.buf) == 0 {
		w.oldest = time.Now()
	}
	if f.Cursor != "" {
		w.buf = append(append(append(w.buf, "id: "...), f.Cursor...), '\n')
	}
	w.buf = append(w.buf, "event: item\ndata: "...)
	switch {
	case asText:
		w.buf = append(strconv.AppendInt(append(w.buf, `{"seq":`...), int64(w.seq), 10), `,"text":`...)
		w.seq++
		line, _ := json.Marshal(f.Text) // a string always encodes
		w.buf = append(append(w.buf, line...), '}')
	case bytes.IndexByte(f.JSON, '\n') < 0 && bytes.IndexByte(f.JSON, '\r') < 0:
		w.buf = append(w.buf, f.JSON...)
	default:
		var line bytes.Buffer
		if json.Compact(&line, f.JSON) == nil {
			w.buf = append(w.buf, line.Bytes()...)
		}
	}
	w.buf = append(w.buf, "\n\n"...)
}

// error adds the event that ends the stream with a failure, which it returns.
func (w *eventWriter) error(err *kernelcontract.Error) *kernelcontract.Error {
	w.buf = append(append(append(w.buf, "event: error\ndata: "...), kernelcontract.MarshalFailure(err)...), "\n\n"...)
	return err
}

// due reports whether what is collected must not wait for further items.
func (w *eventWriter) due(now time.Time) bool {
	return len(w.buf) >= FlushBytes || now.Sub(w.oldest) >= FlushDelay
}

// flush sends what is collected, through whatever wraps the writer. Each piece of FlushBytes gets its own patience, which
// replaces the server's write timeout.
func (w *eventWriter) flush() {
	for rest := w.buf; len(rest) > 0 && w.err == nil; {
		piece := rest[:min(len(rest), FlushBytes)]
		rest = rest[len(piece):]
		_ = w.rc.SetWriteDeadline(time.Now().Add(w.patience)) // not every transport has one
		if _, w.err = w.w.Write(piece); w.err == nil {
			w.err = w.rc.Flush()
		}
		if errors.Is(w.err, http.ErrNotSupported) { // the wrapper that hides Flush sends what it has when it likes
			w.err = nil
		}
	}
	w.buf = w.buf[:0]
}
