package httpapi

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// body reads the input of a mutation within the deadline. It answers a refusal itself; ok is false then. The order is
// size, content type; what the bytes mean is for the validator.
func (x *exchange) body() (ok bool) {
	if x.r.ContentLength > MaxBody {
		x.refuseCall(tooLarge())
		return false
	}
	raw, err := x.readBody()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		x.hangUp()
		x.failCall(kernelcontract.Timeout.Errorf("the body of %s did not arrive within its deadline", x.method.Def.Ref()))
		return false
	case errors.Is(err, errTooLarge) || errors.As(err, new(*http.MaxBytesError)):
		x.unread = true // the rest of it
		x.refuseCall(tooLarge())
		return false
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(net.Error)) || x.r.Context().Err() != nil:
		x.hangUp()
		x.failCall(kernelcontract.Cancelled.Errorf("the body of %s broke off: %w", x.method.Def.Ref(), err))
		return false
	case err != nil:
		x.hangUp()
		x.failCall(kernelcontract.InvalidInput.Errorf("the body cannot be read: %s", err))
		return false
	}
	if !x.mayCarry(len(raw) == 0) {
		err := kernelcontract.InvalidInput.Errorf("the content type must be application/json, or the body empty and X-BB-Client sent")
		err.Refusal = kernelcontract.NotJSON
		x.failCall(err)
		return false
	}
	x.req.Input = raw
	return true
}

func tooLarge() *kernelcontract.Error {
	err := kernelcontract.InvalidInput.Errorf("the body is larger than %d MiB", MaxBody>>20)
	err.Refusal = kernelcontract.TooLarge
	return err
}

var errTooLarge = errors.New("the body is too large")

func (x *exchange) readBody() ([]byte, error) {
	if !x.unread {
		x.keepReading()
		return nil, nil
	}
	x.unread = false
	rc := http.NewResponseController(x.w)
	_ = rc.SetReadDeadline(x.req.Deadline) // not every transport has one; the reader is then held by its own limits
	var raw []byte
	var err error
	if n := x.r.ContentLength; n >= 0 {
		raw = make([]byte, n)
		_, err = io.ReadFull(x.r.Body, raw)
		if err == nil { // the end is read too: the connection is watched from there on
			var end [1]byte
			if _, err = x.r.Body.Read(end[:]); err == io.EOF {
				err = nil
			}
		}
	} else {
		raw, err = io.ReadAll(io.LimitReader(x.r.Body, MaxBody+1))
		if err == nil && len(raw) > MaxBody {
			err = errTooLarge
		}
	}
	if err == nil {
		_ = rc.SetReadDeadline(time.Time{})
	}
	return raw, err
}

// keepReading lifts the server's read timeout, which would be taken for the caller's leaving while the handler works:
// from here on the method's own deadline holds.
func (x *exchange) keepReading() {
	if s, ok := x.r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ReadTimeout > 0 {
		_ = http.NewResponseController(x.w).SetReadDeadline(time.Time{})
	}
}

// mayCarry reports whether a POST is one that a form of a foreign page cannot send.
func (x *exchange) mayCarry(empty bool) bool {
	types := x.r.Header["Content-Type"]
	switch {
	case len(types) == 1 && isJSON(types[0]):
		return true
	case empty && len(types) <= 1:
		return len(x.r.Header[clientKey]) > 0
	}
	return false
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	charset, given := params["charset"]
	return err == nil && media == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
}

// hangUp lets the connection end after the answer, since what the client still sends of the body would be taken for its
// next request. HTTP/2 ends the request alone: there the header would end all others of the connection, and this answer
// with them.
func (x *exchange) hangUp() {
	if x.r.ProtoMajor == 1 {
		x.w.Header().Set("Connection", "close")
	}
}

// discard reads what the client still sends of a body that nobody wants, so that it gets to the answer, and lets the
// connection end after it.
func (x *exchange) discard() {
	if !x.unread {
		return
	}
	x.unread = false
	x.hangUp()
	if strings.EqualFold(x.r.Header.Get("Expect"), "100-continue") {
		return // it waits for the answer and sends nothing
	}
	rc := http.NewResponseController(x.w)
	if rc.SetReadDeadline(time.Now().Add(DiscardTime)) != nil {
		return // nothing bounds the time
	}
	_, _ = io.CopyN(io.Discard, x.r.Body, MaxDiscard)
}
