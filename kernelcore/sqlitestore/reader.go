package sqlitestore

import "github.com/bb-kernel/bb/kernelcore/store"

// reader runs one View at a time on a connection of its own, which it opens when it is first needed
// and again after it failed.
type reader struct {
	path string
	c    *conn // nil: not open
}

func (r *reader) view(fn func(store.Tx) error) (err error) {
	if r.c == nil {
		if r.c, err = open(r.path, reading); err != nil {
			return err
		}
		if err := r.c.prepare(reading); err != nil {
			r.close()
			return err
		}
	}
	if err := r.c.exec(r.c.begin); err != nil {
		r.close()
		return err
	}
	t := &tx{c: r.c}
	defer func() { // also when fn panics or leaves its goroutine
		t.done = true
		if err := r.c.exec(r.c.commit); err != nil || t.failed != nil {
			r.close() // nothing was written, so nothing is lost
		}
	}()
	return fn(t)
}

// close closes the connection if there is one.
func (r *reader) close() {
	if r.c != nil {
		_ = r.c.close() // it only read
		r.c = nil
	}
}
