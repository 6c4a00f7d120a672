package wire

import (
	"io"
	"os"
	"sync"
	"time"
)

// gate stands before a reader and can be shut: then no read begins, and one that is under way brings nothing.
type gate struct {
	r io.Reader

	mu      sync.Mutex
	shut    bool
	reading bool
}

func (g *gate) Read(b []byte) (int, error) {
	if !g.enter() {
		return 0, errStopped
	}
	n, err := g.r.Read(b)
	if !g.leave() {
		return 0, errStopped
	}
	return n, err
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reading = !g.shut
	return g.reading
}

func (g *gate) leave() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reading = false
	return !g.shut
}

// close shuts the gate, wakes a read that is under way, and reports whether nothing is read any more or will be soon.
func (g *gate) close() bool {
	g.mu.Lock()
	g.shut = true
	reading := g.reading
	g.mu.Unlock()
	return interrupt(g.r) || !reading
}

// interrupt wakes a blocked read and reports whether it will return. A reader without deadlines is closed, unless it is a
// file: files belong to the process.
func interrupt(r io.Reader) bool {
	if d, ok := r.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(longAgo) == nil {
		return true
	}
	if _, ok := r.(*os.File); ok {
		return false
	}
	c, ok := r.(io.Closer)
	return ok && c.Close() == nil
}
