package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/sourcegraph/jsonrpc2"
)

// stream is the Peer as the JSON-RPC library sees it: its stream of objects, its handler and its log. The library keeps
// the table of open calls and dispatches requests; notifications are handled in front of it. It is shown placeholders
// with the ids of this side only, since it would round and rewrite what the other side sent.
type stream Peer

// aRequest stands for the request in Peer.current.
var aRequest = []byte(`{"id":"-","method":"-"}`)

// ReadObject reads up to the next request or response.
func (s *stream) ReadObject(v any) (err error) {
	p := (*Peer)(s)
	goesOn := false
	defer func() {
		if !goesOn {
			p.end(err)
		}
	}()
	object, ok := v.(json.Unmarshaler)
	if !ok {
		return errors.New("wire: the JSON-RPC library reads into something unknown")
	}
	text, err := p.next()
	if err == nil {
		err = object.UnmarshalJSON(text)
	}
	goesOn = err == nil
	return err
}

// Handle passes a request on, on the goroutine of ReadObject.
func (s *stream) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {
	p := (*Peer)(s)
	r := p.current
	p.current = nil
	returned := false
	defer func() {
		if !returned {
			p.end(nil)
		}
	}()
	p.request(r)
	returned = true
}

// WriteObject writes the line of the call that dispatch prepared.
func (s *stream) WriteObject(any) error {
	return s.out.write(s.sendingCtx, s.sending)
}

// Close has nothing to do: the streams are the caller's.
func (s *stream) Close() error { return nil }

// Printf is the library's log: it has nothing to say that Run does not return.
func (s *stream) Printf(string, ...any) {}

// end says that nothing is read any more.
func (p *Peer) end(err error) {
	if !errors.Is(err, io.EOF) {
		p.outcome = err
	}
	close(p.read)
}

// errStopped says that reading ended because the context did, or by Close.
var errStopped = errors.New("wire: stopped")

// next reads until there is something for the library, and returns what it is shown.
func (p *Peer) next() ([]byte, error) {
	for {
		if p.ctx.Err() != nil {
			return nil, errStopped
		}
		if id, ok := p.anExpired(); ok {
			return placeholder(id), nil
		}
		line, err := p.lines.Next()
		var long *LongLineError
		if errors.As(err, &long) {
			p.drop(&DroppedError{Reason: OverLong, Detail: "it is over the limit", Start: long.Start, Length: long.Length})
			continue
		}
		if err != nil {
			return nil, err
		}
		if text := p.take(line); text != nil {
			return text, nil
		}
	}
}

// take handles a line, and returns what the library is shown of it, or nil for nothing.
func (p *Peer) take(line []byte) []byte {
	if p.o.Tee != nil {
		_ = p.guard(func() { p.o.Tee(false, line) })
	}
	m, err := Parse(line)
	if err != nil {
		var dropped *DroppedError
		if errors.As(err, &dropped) {
			p.drop(dropped)
		}
		return nil
	}
	switch m.Kind {
	case NotificationKind:
		if p.o.Notify == nil {
			return nil
		}
		n := Notification{Method: m.Method, Params: bytes.Clone(m.Params)}
		if err := p.guard(func() { p.o.Notify(p.ctx, n) }); err != nil {
			d := drop(line, HandlerPanicked, "%v", err)
			d.Method = m.Method
			p.drop(d)
		}
	case RequestKind:
		id := m.ID.canonical()
		p.mu.Lock()
		repeated := p.pending[id]
		p.pending[id] = true
		p.mu.Unlock()
		if repeated {
			d := drop(line, RepeatedID, "the request %s under this id is not answered yet", excerpt([]byte(m.ID)))
			d.Method, d.ID = m.Method, m.ID
			p.drop(d)
			return nil
		}
		p.current = &Request{ID: m.ID, Method: m.Method, Params: bytes.Clone(m.Params), peer: p}
		return aRequest
	case ResponseKind:
		return p.response(m, line)
	}
	return nil
}

// request passes a request on.
func (p *Peer) request(r *Request) {
	if p.o.Request == nil {
		p.answer(r, &Error{Code: CodeNoMethod, Message: "no method " + strconv.Quote(r.Method) + ": this side takes no requests"})
		return
	}
	err := p.guard(func() { p.o.Request(p.ctx, r) })
	if err == nil {
		return
	}
	p.drop(&DroppedError{Reason: HandlerPanicked, Detail: err.Error(), Method: r.Method, ID: r.ID})
	p.answer(r, &Error{Code: CodeFailed, Message: "the handler of " + strconv.Quote(r.Method) + " panicked"})
}

// answer fails a request for which nobody else answers.
func (p *Peer) answer(r *Request, e *Error) {
	if err := r.Fail(e); err != nil && !errors.Is(err, ErrAnswered) {
		p.drop(&DroppedError{Reason: HandlerPanicked, Detail: "not answered: " + err.Error(), Method: r.Method, ID: r.ID})
	}
}

// response completes the call that m answers.
func (p *Peer) response(m Message, line []byte) []byte {
	id := callID(m.ID)
	p.mu.Lock()
	c := p.calls[id]
	delete(p.calls, id)
	late := p.late[id]
	delete(p.late, id)
	p.mu.Unlock()
	if c == nil {
		d := drop(line, UnknownID, "no request under the id %s waits for a response", excerpt([]byte(m.ID)))
		if late {
			d = drop(line, LateResponse, "the request %s was given up", m.ID)
		}
		d.ID = m.ID
		p.drop(d)
		return nil
	}
	c.result, c.err = bytes.Clone(m.Result), m.Error
	if c.err != nil {
		c.err.Data = bytes.Clone(c.err.Data)
	}
	return placeholder(id)
}

// callID is the key in calls of a response's id. Ids of this side are decimal numbers as strings.
func callID(id ID) string {
	digits, ok := strings.CutPrefix(id.canonical(), `"`)
	if !ok {
		return ""
	}
	return digits
}

// placeholder is what the library is shown of the response to a call of this side.
func placeholder(id string) []byte {
	return append(append([]byte(`{"id":"`), id...), `","result":null}`...)
}

// anExpired returns a call that was given up, for the library to forget.
func (p *Peer) anExpired() (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.expired) - 1
	if last < 0 {
		return "", false
	}
	id := p.expired[last]
	p.expired = p.expired[:last]
	return id, true
}
