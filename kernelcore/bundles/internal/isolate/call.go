package isolate

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

// Bounds of what crosses in one dispatch.
const (
	maxResponse = abi.MaxHeader + abi.MaxResponseBody + 4
	maxCall     = abi.MaxHeader + abi.MaxValue + 4
	// MaxCalls is how many calls of the host a dispatch may make in all; each service has a smaller budget of its own. A guest
	// that only calls would otherwise never be out of one.
	MaxCalls = 1000
)

// Host answers the frame of an abi.Call with that of an abi.Result. An error ends the guest.
type Host func(ctx context.Context, frame []byte) ([]byte, error)

// call is one dispatch. Its guest runs on one goroutine, so that nothing here is locked.
type call struct {
	request  []byte
	host     Host
	response []byte // nil: none yet
	answer   []byte // of the last call of the host; nil: none is waiting
	answered bool
	calls    int
	logged   int
	log      func(level uint32, text string)
}

type callKey struct{}

// violation is what a host function panics with: wazero makes it the error of the guest's call.
type violation struct{ reason string }

func (v *violation) Error() string { return v.reason }

func violate(format string, args ...any) { panic(&violation{fmt.Sprintf(format, args...)}) }

// current returns the dispatch that a host function is called in; there is none while the module is initialized.
func current(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	if c == nil {
		violate("the host was called outside a dispatch")
	}
	return c
}

// at returns a part of the guest's memory, valid until the guest goes on.
func at(m api.Module, ptr, n uint32) []byte {
	raw, ok := m.Memory().Read(ptr, n)
	if !ok {
		violate("%d bytes at %d are not in the memory", n, ptr)
	}
	return raw
}

// readRequest copies the request to the guest, which knows its length.
func readRequest(ctx context.Context, m api.Module, ptr, n uint32) {
	c := current(ctx)
	if int(n) != len(c.request) {
		violate("read_request for %d bytes, the request has %d", n, len(c.request))
	}
	copy(at(m, ptr, n), c.request)
}

// writeResponse takes the response; there is one.
func writeResponse(ctx context.Context, m api.Module, ptr, n uint32) {
	c := current(ctx)
	switch {
	case c.response != nil:
		violate("the response was written twice")
	case n > maxResponse:
		violate("a response of %d bytes is over %d", n, maxResponse)
	}
	c.response = append(make([]byte, 0, n), at(m, ptr, n)...)
}

// hostCall answers a call and returns the length of the answer, which take fetches.
func hostCall(ctx context.Context, m api.Module, ptr, n uint32) uint32 {
	c := current(ctx)
	c.calls++
	switch {
	case c.answered:
		violate("the host was called before the last answer was taken")
	case n > maxCall:
		violate("a call of %d bytes is over %d", n, maxCall)
	case c.calls > MaxCalls:
		violate("the host was called more than %d times", MaxCalls)
	}
	answer, err := c.host(ctx, append(make([]byte, 0, n), at(m, ptr, n)...))
	if err != nil {
		violate("the host does not answer: %v", err)
	}
	c.answer, c.answered = answer, true
	return uint32(len(answer))
}

// take copies the answer of the last call to the guest.
func take(ctx context.Context, m api.Module, ptr, n uint32) {
	c := current(ctx)
	if !c.answered || int(n) != len(c.answer) {
		violate("take for %d bytes without an answer of that length", n)
	}
	copy(at(m, ptr, n), c.answer)
	c.answer, c.answered = nil, false
}

// logLine takes a line for the log; what is over the bound of a dispatch is dropped.
func logLine(ctx context.Context, m api.Module, level, ptr, n uint32) {
	c := current(ctx)
	room := uint32(abi.MaxLog - c.logged)
	text := at(m, ptr, n)
	if n > room {
		text = text[:room]
	}
	if len(text) > 0 {
		c.logged += len(text)
		c.log(level, string(text))
	}
}

// output is a guest's standard output or error: it counts as log.
type output struct{ i *instance }

// Write takes everything and keeps what there is room for.
func (o output) Write(p []byte) (int, error) {
	if c := o.i.call; c != nil {
		text := p[:min(len(p), abi.MaxLog-c.logged)]
		if len(text) > 0 {
			c.logged += len(text)
			c.log(0, string(text))
		}
	}
	return len(p), nil
}
