package engine

import (
	"context"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// callContext is the context of a query or a mutation: that of its caller, with a deadline and what is known of the call,
// in one piece of memory. Whoever waits for the handler ends it, so that it needs neither a timer nor a place among the
// caller's children of its own.
type callContext struct {
	context.Context // of the caller, with info: it has the values
	deadline        time.Time
	info            kernelcontract.CallInfo

	mu     sync.Mutex
	done   chan struct{} // nil until somebody asks for it
	err    error         // why it ended; nil before
	afters map[*func()]struct{}
}

// Deadline implements context.Context: the call's own, or the caller's when that is earlier.
func (c *callContext) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// end ends the context; what ended it first counts.
func (c *callContext) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	afters := c.afters
	c.afters = nil
	c.mu.Unlock()
	for f := range afters {
		go (*f)() // as context.AfterFunc: package context hands over functions that only end derived contexts
	}
}

// AfterFunc runs f on a goroutine of its own once the context has ended, until stop is called; stop reports whether it was
// in time. Package context looks for this method when it derives a context: it would keep a goroutine waiting otherwise.
func (c *callContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.afters == nil {
		c.afters = map[*func()]struct{}{}
	}
	c.afters[&f] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.afters[&f]
		delete(c.afters, &f)
		return waiting
	}
}
