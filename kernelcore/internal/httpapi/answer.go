package httpapi

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/header"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

// Values of headers that never change; a header map only reads them.
var (
	noStore   = []string{"no-store"}
	noSniff   = []string{"nosniff"}
	jsonType  = []string{"application/json"}
	plainType = []string{"text/plain; charset=utf-8"}
)

// stamp sets the headers of every answer.
func (x *exchange) stamp(generation uint64, budget time.Duration) {
	h := x.w.Header()
	values := [3]string{
		x.callID,
		strconv.FormatUint(generation, 10),
		formatDeadline(x.start.Add(budget)),
	}
	v := values[:]
	h[header.CallID] = v[0:1:1]
	h[header.Generation] = v[1:2:2]
	h[header.Deadline] = v[2:3:3]
	h[header.ServerID] = x.h.serverID
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
}

// formatDeadline is Format(header.DeadlineLayout) in UTC, without reading the layout for each answer.
func formatDeadline(t time.Time) string {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b := [len(header.DeadlineLayout)]byte([]byte(header.DeadlineLayout))
	for _, part := range [...]struct{ at, digits, value int }{
		{0, 4, year}, {5, 2, int(month)}, {8, 2, day}, {11, 2, hour}, {14, 2, minute}, {17, 2, second}, {20, 3, t.Nanosecond() / 1e6},
	} {
		for i := part.at + part.digits - 1; i >= part.at; i-- {
			b[i] = byte('0' + part.value%10)
			part.value /= 10
		}
	}
	return string(b[:])
}

// refuseCall is refuse for a method and a caller that are known: the call is recorded.
func (x *exchange) refuseCall(err *kernelcontract.Error) {
	x.h.o.Engine.Record(&x.req, x.start, err)
	x.refuse(err)
}

// failCall is fail for a call that did not get to the engine, which records the others.
func (x *exchange) failCall(err *kernelcontract.Error) {
	x.h.o.Engine.Record(&x.req, x.start, err)
	x.fail(err)
}

// refuse answers a failure before the body was read.
func (x *exchange) refuse(err *kernelcontract.Error) {
	x.discard()
	x.fail(err)
}

// fail answers a failure: the failure object, or text when text is wanted.
func (x *exchange) fail(err *kernelcontract.Error) {
	h := x.w.Header()
	switch like := err.Row(); {
	case err.Code == kernelcontract.ServiceUnavailable || err.Like == kernelcontract.ServiceUnavailable:
		h.Set("Retry-After", strconv.Itoa(int(RetryAfter/time.Second)))
	case like.HTTPStatus == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="bb"`)
	}
	status := err.Row().HTTPStatus
	if x.render != nil {
		x.write(status, plainType, []byte(text.Error(err, *x.render)))
		return
	}
	x.write(status, jsonType, kernelcontract.MarshalFailure(err))
}

// buffers keeps the buffers of answers. One that a large answer grew is left to the collector.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxKeptBuffer = 64 << 10

// result answers a value: raw when it is bytes and wanted so, else as text or JSON.
func (x *exchange) result(res *engine.Result, raw bool) {
	if x.bytes(res, raw) {
		return
	}
	if x.render != nil {
		x.write(http.StatusOK, plainType, []byte(res.Text))
		return
	}
	buf := buffers.Get().(*[]byte)
	b := append((*buf)[:0], `{"ok":true,"result":`...)
	b = append(append(b, res.JSON...), '}')
	x.write(http.StatusOK, jsonType, b)
	if cap(b) <= maxKeptBuffer {
		*buf = b
		buffers.Put(buf)
	}
}

// autoLength is up to which size net/http counts a body by itself.
const autoLength = 2 << 10

// write answers a body as a whole; the answer to HEAD has none.
func (x *exchange) write(status int, contentType []string, body []byte) {
	h := x.w.Header()
	h["Content-Type"] = contentType
	if len(body) > autoLength || x.r.Method == http.MethodHead {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		_, _ = x.w.Write(body) // a client that left needs no answer
	}
}
