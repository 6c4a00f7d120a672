package kernelcore

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/pluginsdk"
)

// pluginKV keeps a plugin's values in the bucket of its id.
type pluginKV struct {
	store  store.Store
	bucket string
}

func kvBucket(plugin string) string { return "kv/" + plugin }

// Update implements pluginsdk.KVBackend.
func (kv pluginKV) Update(ctx context.Context, fn func(pluginsdk.KVTx) error) error {
	return kv.store.Update(ctx, func(tx store.Tx) error { return fn(pluginTx{tx, kv.bucket}) })
}

// View implements pluginsdk.KVBackend.
func (kv pluginKV) View(ctx context.Context, fn func(pluginsdk.KVTx) error) error {
	return kv.store.View(ctx, func(tx store.Tx) error { return fn(pluginTx{tx, kv.bucket}) })
}

type pluginTx struct {
	tx     store.Tx
	bucket string
}

func (t pluginTx) Get(key string) (json.RawMessage, error) {
	raw, err := t.tx.Get(t.bucket, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, kernelcontract.NotFound.Errorf("the plugin's store has no key %q", key)
	}
	return raw, err
}

func (t pluginTx) Put(key string, value json.RawMessage) error { return t.tx.Put(t.bucket, key, value) }

func (t pluginTx) Delete(key string) error { return t.tx.Delete(t.bucket, key) }

func (t pluginTx) List(r pluginsdk.Range) iter.Seq2[pluginsdk.Entry, error] {
	return func(yield func(pluginsdk.Entry, error) bool) {
		q := store.Range{Prefix: r.Prefix, After: r.After, To: r.Before, Reverse: r.Reverse, Limit: r.Limit}
		for e, err := range t.tx.Range(t.bucket, q) {
			if !yield(pluginsdk.Entry{Key: e.Key, Value: e.Value}, err) {
				return
			}
		}
	}
}
