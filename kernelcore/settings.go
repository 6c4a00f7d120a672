package kernelcore

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/store"
)

// secretsBucket keeps secrets by name, sealed.
const secretsBucket = "secrets"

func configBucket(plugin string) string { return "config/" + plugin }

// configOf returns the lookup of a plugin's settings.
func (k *Kernel) configOf(plugin string) func(context.Context, string) (json.RawMessage, bool, error) {
	return func(ctx context.Context, key string) (json.RawMessage, bool, error) {
		return k.get(ctx, configBucket(plugin), key)
	}
}

// secret returns the plain text of a secret and whether there is one.
func (k *Kernel) secret(ctx context.Context, name string) (string, bool, error) {
	sealed, ok, err := k.get(ctx, secretsBucket, name)
	if err != nil || !ok {
		return "", false, err
	}
	plain, err := k.box.Open(name, sealed)
	if err != nil {
		return "", false, kernelcontract.Internal.Errorf("the secret %s cannot be opened: %w", name, err)
	}
	return string(plain), true, nil
}

func (k *Kernel) get(ctx context.Context, bucket, key string) (value []byte, ok bool, err error) {
	err = k.store.View(ctx, func(tx store.Tx) error {
		value, err = tx.Get(bucket, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		ok = err == nil
		return err
	})
	return value, ok, err
}
