package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Limits of a plugin's store. They fit what every kernel's store takes, with room for the plugin's id.
const (
	MaxKey   = 512     // bytes of a key; the least is 1
	MaxValue = 8 << 20 // bytes of a value as JSON: larger things are files
)

// listPage is how many entries List reads at a time, so that a long list holds no transaction open.
const listPage = 256

// KV is a plugin's own store of JSON values, which outlast the process. It is ordered by the bytes of its keys and safe
// for concurrent use. What Put, Delete, Update and Transact acknowledge survives a crash.
//
// A key that is empty or longer than MaxKey is kernelcontract.InvalidInput, since keys mostly come from an input.
type KV struct{ backend KVBackend }

// Entry is a key with its value.
type Entry struct {
	Key   string
	Value json.RawMessage
}

// Decode decodes the value into v, a pointer.
func (e Entry) Decode(v any) error { return decode(e.Key, e.Value, v) }

// Range selects entries; each condition that is set narrows it, the zero Range selects all.
type Range struct {
	Prefix  string // keys that begin with it
	After   string // keys after it
	Before  string // keys before it
	Reverse bool   // from the last key to the first
	Limit   int    // at most so many; zero or less: all
}

// KVBackend is what keeps a plugin's store: a kernel has one, plugintest another. Transactions are serializable and do
// not nest.
type KVBackend interface {
	// Update runs fn in a transaction that writes. It may run fn again after undoing what it wrote, and drops its writes
	// when it fails or panics.
	Update(ctx context.Context, fn func(KVTx) error) error
	// View runs fn in a transaction that only reads.
	View(ctx context.Context, fn func(KVTx) error) error
}

// KVTx is a transaction of a KVBackend. Keys and values have been checked.
type KVTx interface {
	// Get returns the value of a key, or kernelcontract.NotFound when there is none.
	Get(key string) (json.RawMessage, error)
	// Put sets the value of a key.
	Put(key string, value json.RawMessage) error
	// Delete removes a key. That there is none is no error.
	Delete(key string) error
	// List yields the entries of the range in its order, and ends after an error.
	List(r Range) iter.Seq2[Entry, error]
}

// Get decodes the value of a key into v, a pointer. Without one it returns kernelcontract.NotFound and leaves v alone.
func (kv KV) Get(ctx context.Context, key string, v any) error {
	return kv.view(ctx, func(tx Tx) error { return tx.Get(key, v) })
}

// Put stores v, encoded to JSON, as the value of a key.
func (kv KV) Put(ctx context.Context, key string, v any) error {
	return kv.Transact(ctx, func(tx Tx) error { return tx.Put(key, v) })
}

// Delete removes a key. That there is none is no error.
func (kv KV) Delete(ctx context.Context, key string) error {
	return kv.Transact(ctx, func(tx Tx) error { return tx.Delete(key) })
}

// List yields the entries that r selects in the order of their keys. An error is the last pair. The loop may use the
// store: entries are read in pages, each of them from one state of the store, and no key is yielded twice.
func (kv KV) List(ctx context.Context, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for left := r.Limit; ; {
			page := r
			page.Limit = listPage
			if r.Limit > 0 {
				page.Limit = min(listPage, left)
			}
			var entries []Entry
			err := kv.view(ctx, func(tx Tx) error {
				entries = entries[:0]
				for e, err := range tx.List(page) {
					if err != nil {
						return err
					}
					entries = append(entries, e)
				}
				return nil
			})
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			left -= len(entries)
			if len(entries) < page.Limit || r.Limit > 0 && left <= 0 {
				return
			}
			last := entries[len(entries)-1].Key
			if r.Reverse {
				r.Before = last
			} else {
				r.After = last
			}
		}
	}
}

// Transact runs fn in one transaction: all that it writes is stored, or nothing when it returns an error, which comes
// back as it is. fn may run more than once, so it should only read, compute and write; it must use tx, not kv.
func (kv KV) Transact(ctx context.Context, fn func(tx Tx) error) error {
	if kv.backend == nil {
		return errNoStore
	}
	return kv.backend.Update(ctx, func(tx KVTx) error { return fn(Tx{tx}) })
}

func (kv KV) view(ctx context.Context, fn func(tx Tx) error) error {
	if kv.backend == nil {
		return errNoStore
	}
	return kv.backend.View(ctx, func(tx KVTx) error { return fn(Tx{tx}) })
}

var errNoStore = errors.New("this KV is the zero value: take one from Host.KV")

// Update replaces the value of a key by fn of it, in one transaction, and returns the new value. fn gets the zero T when
// there is none, and may run more than once.
func Update[T any](ctx context.Context, kv KV, key string, fn func(T) T) (T, error) {
	var out T
	err := kv.Transact(ctx, func(tx Tx) error {
		var old T
		if err := tx.Get(key, &old); err != nil && !errors.Is(err, kernelcontract.NotFound) {
			return err
		}
		out = fn(old)
		return tx.Put(key, out)
	})
	if err != nil {
		var zero T
		return zero, err
	}
	return out, nil
}

// Tx is a transaction of a KV. It belongs to the function that Transact runs and ends with it.
type Tx struct{ tx KVTx }

// Get decodes the value of a key into v, a pointer. Without one it returns kernelcontract.NotFound and leaves v alone.
func (tx Tx) Get(key string, v any) error {
	if err := checkKey(key); err != nil {
		return err
	}
	raw, err := tx.tx.Get(key)
	if err != nil {
		return err
	}
	return decode(key, raw, v)
}

// Put stores v, encoded to JSON, as the value of a key.
func (tx Tx) Put(key string, v any) error {
	if err := checkKey(key); err != nil {
		return err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return kernelcontract.Internal.Errorf("the value of key %q does not encode to JSON: %w", key, err)
	}
	if len(raw) > MaxValue {
		return kernelcontract.InvalidInput.Errorf("the value of key %q has %d bytes, at most %d are stored", key, len(raw), MaxValue)
	}
	return tx.tx.Put(key, raw)
}

// Delete removes a key. That there is none is no error.
func (tx Tx) Delete(key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return tx.tx.Delete(key)
}

// List yields the entries that r selects in the order of their keys. An error is the last pair.
func (tx Tx) List(r Range) iter.Seq2[Entry, error] { return tx.tx.List(r) }

func checkKey(key string) error {
	if key == "" || len(key) > MaxKey {
		return kernelcontract.InvalidInput.Errorf("a key of the store has %d bytes: 1 to %d are allowed", len(key), MaxKey)
	}
	return nil
}

func decode(key string, raw json.RawMessage, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return kernelcontract.Internal.Errorf("the stored value of key %q does not fit %T: %w", key, v, err)
	}
	return nil
}
