package store

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"sync/atomic"

	"github.com/tidwall/btree"
)

// Memory returns an empty store that keeps everything in memory and forgets it with the process.
//
// It is one copy-on-write tree: an Update works on a copy and publishes it when it succeeds, so
// rolling back is dropping the copy, and a View never waits.
func Memory() Store {
	m := &memory{writing: make(chan struct{}, 1)}
	m.tree.Store(btree.NewBTreeGOptions(recordLess, btree.Options{NoLocks: true}))
	return m
}

var _ Store = (*memory)(nil)

type memory struct {
	tree    atomic.Pointer[btree.BTreeG[record]] // published trees are never changed
	writing chan struct{}                        // holds a value while an Update runs
	closed  atomic.Bool
}

type record struct {
	bucket, key string
	value       []byte
}

func recordLess(a, b record) bool {
	if c := cmp.Compare(a.bucket, b.bucket); c != 0 {
		return c < 0
	}
	return a.key < b.key
}

func (m *memory) Update(ctx context.Context, fn func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case m.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-m.writing }()
	if m.closed.Load() {
		return ErrClosed
	}
	tx := &memoryTx{tree: m.tree.Load().Copy(), writable: true}
	defer tx.end()
	if err := fn(tx); err != nil {
		return err
	}
	m.tree.Store(tx.tree)
	return nil
}

func (m *memory) View(ctx context.Context, fn func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.closed.Load() {
		return ErrClosed
	}
	tx := &memoryTx{tree: m.tree.Load()}
	defer tx.end()
	return fn(tx)
}

func (m *memory) Close() error {
	m.writing <- struct{}{} // after the running Update; a running View has its own tree
	m.closed.Store(true)
	<-m.writing
	return nil
}

// memoryTx is a transaction on a tree that nobody else changes.
type memoryTx struct {
	tree     *btree.BTreeG[record]
	writable bool
	done     bool
}

func (tx *memoryTx) end() { tx.done = true }

// write returns why tx cannot write, or nil.
func (tx *memoryTx) write() error {
	switch {
	case tx.done:
		return ErrDone
	case !tx.writable:
		return ErrReadOnly
	}
	return nil
}

func (tx *memoryTx) Get(bucket, key string) ([]byte, error) {
	if tx.done {
		return nil, ErrDone
	}
	if err := CheckKey(bucket, key); err != nil {
		return nil, err
	}
	r, ok := tx.tree.Get(record{bucket: bucket, key: key})
	if !ok {
		return nil, ErrNotFound
	}
	return clone(r.value), nil
}

func (tx *memoryTx) Put(bucket, key string, value []byte) error {
	if err := tx.write(); err != nil {
		return err
	}
	if err := CheckRecord(bucket, key, value); err != nil {
		return err
	}
	tx.tree.Set(record{bucket: bucket, key: key, value: clone(value)})
	return nil
}

func (tx *memoryTx) Delete(bucket, key string) error {
	if err := tx.write(); err != nil {
		return err
	}
	if err := CheckKey(bucket, key); err != nil {
		return err
	}
	tx.tree.Delete(record{bucket: bucket, key: key})
	return nil
}

func (tx *memoryTx) Range(bucket string, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if tx.done {
			yield(Entry{}, ErrDone)
			return
		}
		if err := CheckBucket(bucket); err != nil {
			yield(Entry{}, err)
			return
		}
		tree := tx.tree
		if tx.writable {
			tree = tree.Copy() // the loop may write
		}
		low, high := r.Bounds()
		left := r.Limit
		inside := func(rec record) bool {
			if rec.bucket != bucket || rec.key < low || high != "" && rec.key >= high {
				return false
			}
			left--
			return yield(Entry{Key: rec.key, Value: clone(rec.value)}, nil) && left != 0
		}
		switch {
		case !r.Reverse:
			tree.Ascend(record{bucket: bucket, key: low}, inside)
		case high == "":
			tree.Descend(record{bucket: bucket + "\x00"}, inside) // no bucket has such a name
		default:
			last := record{bucket: bucket, key: high}
			tree.Descend(last, func(rec record) bool {
				return rec.bucket == bucket && rec.key == high || inside(rec)
			})
		}
	}
}

// clone copies a value; unlike bytes.Clone it never returns nil.
func clone(value []byte) []byte {
	if len(value) == 0 {
		return []byte{}
	}
	return bytes.Clone(value)
}
