package sqlitestore

import (
	"errors"
	"iter"
	"strings"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// tx is a transaction as its function sees it.
type tx struct {
	c        *conn
	writable bool
	done     bool  // the function has returned
	wrote    bool  // its savepoint is set
	bytes    int   // written so far
	failed   error // the database failed: nothing of the transaction may be stored, whatever fn says
}

// fail remembers a failure of the database.
func (t *tx) fail(err error) error {
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.failed = err
	}
	return err
}

// readable returns why t cannot read, or nil.
func (t *tx) readable() error {
	if t.done {
		return store.ErrDone
	}
	return t.failed
}

// write makes t ready for a write.
func (t *tx) write() error {
	if t.wrote {
		return nil
	}
	if err := t.c.exec(t.c.savepoint); err != nil {
		return t.fail(err)
	}
	t.wrote = true
	return nil
}

// writeable returns why t cannot write, or nil.
func (t *tx) writeable() error {
	if err := t.readable(); err != nil {
		return err
	}
	if !t.writable {
		return store.ErrReadOnly
	}
	return nil
}

func (t *tx) Get(bucket, key string) ([]byte, error) {
	if err := t.readable(); err != nil {
		return nil, err
	}
	if err := store.CheckKey(bucket, key); err != nil {
		return nil, err
	}
	v, err := t.c.read(bucket, key)
	return v, t.fail(err)
}

func (t *tx) Put(bucket, key string, value []byte) error {
	if err := t.writeable(); err != nil {
		return err
	}
	if err := store.CheckRecord(bucket, key, value); err != nil {
		return err
	}
	if err := t.write(); err != nil {
		return err
	}
	if value == nil {
		value = []byte{}
	}
	t.bytes += len(key) + len(value)
	return t.fail(t.c.exec(t.c.put, arg(1, bucket), arg(2, []byte(key)), arg(3, value)))
}

func (t *tx) Delete(bucket, key string) error {
	if err := t.writeable(); err != nil {
		return err
	}
	if err := store.CheckKey(bucket, key); err != nil {
		return err
	}
	if err := t.write(); err != nil {
		return err
	}
	return t.fail(t.c.exec(t.c.del, arg(1, bucket), arg(2, []byte(key))))
}

// afterAll sorts after every key.
var afterAll = strings.Repeat("\xff", store.MaxKey+1)

func (t *tx) Range(bucket string, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := store.CheckBucket(bucket); err != nil {
			yield(store.Entry{}, err)
			return
		}
		low, high := r.Bounds()
		if high == "" {
			high = afterAll
		}
		var entries []store.Entry
		for left, more := r.Limit, true; more; {
			if err := t.readable(); err != nil {
				yield(store.Entry{}, err)
				return
			}
			limit := pageEntries
			if r.Limit > 0 {
				limit = min(limit, left)
			}
			var err error
			entries, more, err = t.c.page(entries[:0], r.Reverse, bucket, low, high, limit)
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(store.Entry{}, t.fail(err))
				return
			}
			if left -= len(entries); r.Limit > 0 && left <= 0 || len(entries) == 0 {
				return
			}
			if last := entries[len(entries)-1].Key; r.Reverse {
				high = last
			} else {
				low = last + "\x00"
			}
		}
	}
}
