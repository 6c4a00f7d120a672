package providers

import "time"

// The delays between starts of a bridge that keeps failing.
const (
	// BackoffFirst comes after the first failure; each further one doubles it.
	BackoffFirst = 500 * time.Millisecond
	// BackoffMost bounds the delay: who waits for a provider that works again does not wait longer.
	BackoffMost = 30 * time.Second
	// BackoffForget is how long a bridge runs until its earlier failures count no more.
	BackoffForget = time.Minute
)

// backoff counts failures of a bridge in a row.
type backoff struct {
	failures int
	until    time.Time // no start before
}

// failed counts a failure at now of a bridge that ran for so long; 0 when it did not start.
func (b *backoff) failed(now time.Time, ran time.Duration) {
	if ran >= BackoffForget {
		b.failures = 0
	}
	delay := BackoffFirst
	for range b.failures {
		delay = min(2*delay, BackoffMost)
	}
	b.failures++
	b.until = now.Add(delay)
}

// wait returns how long to wait at now before a start.
func (b *backoff) wait(now time.Time) time.Duration { return max(b.until.Sub(now), 0) }

// reset forgets the failures.
func (b *backoff) reset() { *b = backoff{} }
