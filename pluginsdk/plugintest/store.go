package plugintest

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
)

// store is a pluginsdk.KVBackend in memory. Every transaction has a snapshot; a failing Update leaves no trace.
type store struct {
	writing sync.Mutex // held by an Update
	mu      sync.Mutex // guards values
	values  map[string]json.RawMessage
}

var _ pluginsdk.KVBackend = (*store)(nil)

// Update runs fn once; its writes count when it returns nil.
func (s *store) Update(ctx context.Context, fn func(pluginsdk.KVTx) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	tx := transaction(maps.Clone(s.snapshot()))
	if tx == nil {
		tx = transaction{}
	}
	if err := fn(tx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = tx
	return nil
}

// View runs fn once on the present state, which nothing changes meanwhile.
func (s *store) View(ctx context.Context, fn func(pluginsdk.KVTx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return fn(transaction(s.snapshot()))
}

// snapshot returns the values; a map is never changed once it is there.
func (s *store) snapshot() map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values
}

type transaction map[string]json.RawMessage

// Get returns a value.
func (tx transaction) Get(key string) (json.RawMessage, error) {
	v, ok := tx[key]
	if !ok {
		return nil, kernelcontract.NotFound.Errorf("the store has no key %q", key)
	}
	return v, nil
}

// Put sets a value.
func (tx transaction) Put(key string, value json.RawMessage) error {
	tx[key] = slices.Clone(value)
	return nil
}

// Delete removes a value.
func (tx transaction) Delete(key string) error {
	delete(tx, key)
	return nil
}

// List yields the entries that r selects, as they are when the loop begins.
func (tx transaction) List(r pluginsdk.Range) iter.Seq2[pluginsdk.Entry, error] {
	return func(yield func(pluginsdk.Entry, error) bool) {
		var keys []string
		for k := range tx {
			if strings.HasPrefix(k, r.Prefix) && k > r.After && (r.Before == "" || k < r.Before) {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		if r.Reverse {
			slices.Reverse(keys)
		}
		if r.Limit > 0 && len(keys) > r.Limit {
			keys = keys[:r.Limit]
		}
		for _, k := range keys {
			if !yield(pluginsdk.Entry{Key: k, Value: slices.Clone(tx[k])}, nil) {
				return
			}
		}
	}
}
