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

// stamp names the call and sets the headers of every answer. Their values share one text.
func (x *exchange) stamp(generation uint64, budget time.Duration) {
	var room [26 + len(header.DeadlineLayout) + 20]byte // an id, a time, a number
	b := x.h.o.Engine.AppendCallID(room[:0], x.start)
	id := len(b)
	b = appendDeadline(b, x.start.Add(budget))
	deadline := len(b)
	text := string(strconv.AppendUint(b, generation, 10))
	x.callID = text[:id]
	values := [3]string{text[:id], text[id:deadline], text[deadline:]}
	v := values[:]
	h := x.w.Header()
	h[header.CallID] = v[0:1:1]
	h[header.Deadline] = v[1:2:2]
	h[header.Generation] = v[2:3:3]
	h[header.ServerID] = x.h.serverID
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
}

// appendDeadline is AppendFormat(header.DeadlineLayout) in UTC, without reading the layout for each answer.
func appendDeadline(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b = appendPair(appendPair(b, year/100), year%100)
	b = appendPair(append(b, '-'), int(month))
	b = appendPair(append(b, '-'), day)
	b = appendPair(append(b, 'T'), hour)
	b = appendPair(append(b, ':'), minute)
	b = appendPair(append(b, ':'), second)
	millis := t.Nanosecond() / 1e6
	b = appendPair(append(b, '.', byte('0'+millis/100)), millis%100)
	return append(b, 'Z')
}

// appendPair appends a number below 100 in two digits.
func appendPair(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

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
