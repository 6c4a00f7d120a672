package process

import "sync"

// tail keeps the last bytes that were written to it.
type tail struct {
	limit int
	mu    sync.Mutex
	ring  []byte
	next  int // where the next byte goes once the ring is full
}

func (t *tail) write(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(b) > t.limit {
		b = b[len(b)-t.limit:]
	}
	if room := t.limit - len(t.ring); room > 0 {
		n := min(room, len(b))
		t.ring = append(t.ring, b[:n]...)
		b = b[n:]
	}
	for len(b) > 0 {
		n := copy(t.ring[t.next:], b)
		t.next = (t.next + n) % t.limit
		b = b[n:]
	}
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(append([]byte(nil), t.ring[t.next:]...), t.ring[:t.next]...)
}
