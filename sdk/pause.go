package sdk

import (
	"context"
	"math/rand/v2"
	"time"
)

// How a broken stream is resumed (docs/spec/sdk.md).
const (
	// MinPause is the shortest pause before a stream is opened again: a restarting server is not flooded.
	MinPause = 200 * time.Millisecond
	// MaxPause is the longest one: people wait for it.
	MaxPause = 5 * time.Second
	// GiveUp is how long a stream is tried again without success.
	GiveUp = 60 * time.Second
)

// jitter is the part of a pause by which it is lengthened at most, at random: many clients of one restarted server come
// back one after the other.
const jitter = 0.25

// pause paces the attempts of one stream. An attempt succeeds when it yields an item or stays open for MaxPause: one
// that is cut at once does not count, else a broken proxy would keep its clients busy for ever.
type pause struct {
	asked   time.Duration // what the server asked for last
	next    time.Duration // the pause after the next failure, zero after a success
	failing time.Time     // since when, zero before the first failure and after a success
	since   time.Time     // when the connection opened, zero before the first
}

// first reports whether the stream was never open.
func (p *pause) first() bool { return p.since.IsZero() }

// ask notes what the server asked for; zero asks for nothing.
func (p *pause) ask(d time.Duration) {
	if d > 0 {
		p.asked = d
	}
}

func (p *pause) opened() { p.since = time.Now() }

// broke notes how a connection went.
func (p *pause) broke(delivered bool) {
	if delivered || time.Since(p.since) >= MaxPause {
		p.next, p.failing = 0, time.Time{}
	}
}

// left returns how long there is to succeed.
func (p *pause) left() time.Duration {
	if p.failing.IsZero() {
		return GiveUp
	}
	return GiveUp - time.Since(p.failing)
}

// wait waits before the next attempt; false means that it is no use to try again.
func (p *pause) wait(ctx context.Context) bool {
	if p.failing.IsZero() {
		p.failing = time.Now()
	}
	d := min(max(p.next, p.asked, MinPause), MaxPause)
	p.next = 2 * d
	d = min(d+time.Duration(rand.Float64()*jitter*float64(d)), MaxPause)
	if d >= p.left() {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
