package engine

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Guard may veto a call: a non-nil error is the reason.
type Guard func(ctx context.Context, call *kernelcontract.CallInfo, input json.RawMessage) error

// Source is a loaded plugin: what its instance serves.
type Source struct {
	ID       string
	Services []*kernelcontract.ServiceDef
	Handlers map[string]kernelcontract.Handler // by ref
	Guards   []Guard
}

// StreamGrace is how long streams of a retired plugin go on: long enough for an item that is under way, short enough
// that a reload is seen at once.
const StreamGrace = 5 * time.Second

// closing is the bit of an instance's counter that says it takes no further call.
const closing = int64(1) << 62

// Instance is one life of a plugin. It counts the calls inside it, so that its end can wait for them.
type Instance struct {
	source Source

	inside  atomic.Int64 // calls inside, plus closing
	empty   chan struct{}
	kicked  chan struct{} // streams must end
	retired sync.Once
	emptied sync.Once
	kick    sync.Once
}

// NewInstance returns an instance that takes calls.
func NewInstance(s Source) *Instance {
	return &Instance{source: s, empty: make(chan struct{}), kicked: make(chan struct{})}
}

// enter counts a call in; false when the instance has been retired.
func (i *Instance) enter() bool {
	if i.inside.Add(1)&closing != 0 {
		i.leave()
		return false
	}
	return true
}

func (i *Instance) leave() {
	if i.inside.Add(-1) == closing {
		i.emptied.Do(func() { close(i.empty) })
	}
}

// Retire stops the instance from taking calls, ends its streams after grace, and waits until nothing is inside or ctx
// ends. It reports whether the instance is empty.
func (i *Instance) Retire(ctx context.Context, grace time.Duration) bool {
	i.retired.Do(func() {
		if i.inside.Add(closing) == closing {
			i.emptied.Do(func() { close(i.empty) })
		}
	})
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-i.empty:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	i.kick.Do(func() { close(i.kicked) })
	select {
	case <-i.empty:
		return true
	case <-ctx.Done():
		return false
	}
}
