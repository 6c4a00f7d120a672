package host

import (
	"context"
	"sync"
	"time"
)

// heldStep is the least time after which a deadline that was moved is looked at again.
const heldStep = 10 * time.Millisecond

// holdClock counts how long the reader was held back by functions of Handler.
type holdClock struct {
	mu    sync.Mutex
	total time.Duration
	depth int
	since time.Time // the reader is held back since, when depth is not 0
}

// hold begins a time that does not count.
func (c *holdClock) hold() {
	c.mu.Lock()
	if c.depth++; c.depth == 1 {
		c.since = time.Now()
	}
	c.mu.Unlock()
}

// release ends it.
func (c *holdClock) release() {
	c.mu.Lock()
	if c.depth--; c.depth == 0 {
		c.total += time.Since(c.since)
	}
	c.mu.Unlock()
}

// held returns how long the reader has been held back so far, and whether it is now.
func (c *holdClock) held() (total time.Duration, now bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.depth == 0 {
		return c.total, false
	}
	return c.total + time.Since(c.since), true
}

// withDeadline returns a context that ends with cause after d, not counting the time in which the reader is held back.
// The caller calls stop, which waits for nothing.
func (c *holdClock) withDeadline(ctx context.Context, d time.Duration, cause error) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	begin := time.Now()
	before, _ := c.held()
	var mu sync.Mutex // the timer is set before it is read
	var timer *time.Timer
	mu.Lock()
	timer = time.AfterFunc(d, func() {
		held, now := c.held()
		left := d - (time.Since(begin) - (held - before))
		if left <= 0 && !now {
			cancel(cause)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			timer.Reset(max(left, heldStep))
		}
	})
	mu.Unlock()
	return ctx, func() {
		cancel(nil)
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
	}
}
