package wire

import (
	"context"
	"encoding/json"
	"sync"
)

// Request is a request of the other side, to be answered exactly once with Reply or Fail, from any goroutine.
type Request struct {
	ID     ID // as the other side wrote it; the answer carries the same bytes
	Method string
	Params json.RawMessage // JSON of any type, to be refused when it is no object; nil when there are none

	peer     *Peer
	mu       sync.Mutex
	answered bool
}

// Reply answers with result, which may be anything that encoding/json can encode or a json.RawMessage; nil is null. When
// it returns nil the answer is written, behind everything that was sent before. A result that cannot be encoded, or is
// over the line limit, is an error and leaves the request open, so that Fail can answer it. The second answer is
// ErrAnswered. It waits while the other side does not read, at most until Close; it works after the end of the input.
func (r *Request) Reply(result any) error {
	line, err := resultLine(r.ID, result, r.peer.max)
	if err != nil {
		return err
	}
	return r.answer(line)
}

// Fail answers with err: an *Error in its chain travels as it is, any other error as CodeFailed with its text. It waits
// and fails like Reply.
func (r *Request) Fail(err error) error {
	line, encoding := errorLine(r.ID, errorOf(err), r.peer.max)
	if encoding != nil {
		return encoding
	}
	return r.answer(line)
}

func (r *Request) answer(line []byte) error {
	r.mu.Lock()
	answered := r.answered
	r.answered = true
	r.mu.Unlock()
	if answered {
		return ErrAnswered
	}
	r.peer.settle(r.ID)
	return r.peer.out.send(context.Background(), line)
}
