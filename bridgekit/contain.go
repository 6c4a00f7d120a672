package bridgekit

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// outcome is what a function of the author returned.
type outcome struct {
	out any
	err error
}

// errUnfinished is the outcome of a function that ended its goroutine.
var errUnfinished = errors.New("it ended its goroutine instead of returning")

// contain runs a function of the author on a goroutine of its own, which the end of the connection waits for. A panic is
// logged with its stack and becomes the outcome's error. While the connection ends nothing is started, and the outcome is
// an interruption, once core has been told of the end: the answer to shutdown comes before those that it interrupts.
func (c *conn) contain(name, threadID string, fn func() (any, error)) <-chan outcome {
	done := make(chan outcome, 1)
	if !c.spawn(func() { c.contained(done, name, threadID, fn) }) {
		context.AfterFunc(c.ctx, func() { done <- outcome{err: ErrInterrupted} })
	}
	return done
}

// contained runs fn and puts its outcome into done, whatever fn does.
func (c *conn) contained(done chan<- outcome, name, threadID string, fn func() (any, error)) {
	o := outcome{err: protocol.BridgeError.Errorf("%s failed: %w", name, errUnfinished)}
	defer func() {
		if p := recover(); p != nil {
			message := clip(fmt.Sprintf("%s panicked: %v", name, p))
			c.log(threadID, protocol.LogError, message, map[string]string{"stack": clip(string(debug.Stack()))})
			o = outcome{err: protocol.BridgeError.Errorf("%s", message)}
		}
		done <- o
	}()
	o.out, o.err = fn()
}
