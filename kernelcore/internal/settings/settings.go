// Package settings keeps what operators tell plugins: settings by plugin and key, and secrets by name, sealed.
package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bb-kernel/bb/kernelcore/seal"
	"github.com/bb-kernel/bb/kernelcore/store"
)

// Config keeps the settings of plugins.
type Config struct{ Store store.Store }

// ConfigBucket is where a plugin's settings lie.
func ConfigBucket(plugin string) string { return "config/" + plugin }

// Get returns the value that was set, and whether there is one.
func (c Config) Get(ctx context.Context, plugin, key string) (json.RawMessage, bool, error) {
	return get(ctx, c.Store, ConfigBucket(plugin), key)
}

// Set sets a value.
func (c Config) Set(ctx context.Context, plugin, key string, value json.RawMessage) error {
	return c.Store.Update(ctx, func(tx store.Tx) error { return tx.Put(ConfigBucket(plugin), key, value) })
}

// Unset takes a value away; that there is none is no error.
func (c Config) Unset(ctx context.Context, plugin, key string) error {
	return c.Store.Update(ctx, func(tx store.Tx) error { return tx.Delete(ConfigBucket(plugin), key) })
}

// Secrets keeps secrets, sealed under their names.
type Secrets struct {
	Store store.Store
	Box   *seal.Box
}

const secretsBucket = "secrets"

// secret is how one lies in the store.
type secret struct {
	Sealed    []byte    `json:"sealed"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Secret is what is known of a secret without opening it.
type Secret struct {
	Name      string
	UpdatedAt time.Time
}

// Get returns the plain text of a secret, and whether there is one.
func (s Secrets) Get(ctx context.Context, name string) (string, bool, error) {
	raw, ok, err := get(ctx, s.Store, secretsBucket, name)
	if err != nil || !ok {
		return "", false, err
	}
	var rec secret
	if err := json.Unmarshal(raw, &rec); err != nil {
		return "", false, fmt.Errorf("the record of the secret %s is damaged: %w", name, err)
	}
	plain, err := s.Box.Open(name, rec.Sealed)
	if err != nil {
		return "", false, fmt.Errorf("the secret %s cannot be opened: %w", name, err)
	}
	return string(plain), true, nil
}

// Set stores a secret.
func (s Secrets) Set(ctx context.Context, name, value string, now time.Time) error {
	raw, err := json.Marshal(secret{Sealed: s.Box.Seal(name, []byte(value)), UpdatedAt: now})
	if err != nil {
		return err
	}
	return s.Store.Update(ctx, func(tx store.Tx) error { return tx.Put(secretsBucket, name, raw) })
}

// Delete deletes a secret and reports whether there was one.
func (s Secrets) Delete(ctx context.Context, name string) (existed bool, err error) {
	err = s.Store.Update(ctx, func(tx store.Tx) error {
		switch _, err := tx.Get(secretsBucket, name); {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil:
			return err
		}
		existed = true
		return tx.Delete(secretsBucket, name)
	})
	return existed, err
}

// List returns the secrets by name.
func (s Secrets) List(ctx context.Context) ([]Secret, error) {
	list := []Secret{}
	err := s.Store.View(ctx, func(tx store.Tx) error {
		for e, err := range tx.Range(secretsBucket, store.Range{}) {
			if err != nil {
				return err
			}
			var rec secret
			if err := json.Unmarshal(e.Value, &rec); err != nil {
				return fmt.Errorf("the record of the secret %s is damaged: %w", e.Key, err)
			}
			list = append(list, Secret{Name: e.Key, UpdatedAt: rec.UpdatedAt})
		}
		return nil
	})
	return list, err
}

// Unreadable returns what is wrong with each secret that cannot be opened: sealed with a key that is lost, or damaged.
func (s Secrets) Unreadable(ctx context.Context) (problems []error, err error) {
	list, err := s.List(ctx)
	for _, secret := range list {
		if _, _, err := s.Get(ctx, secret.Name); err != nil {
			problems = append(problems, err)
		}
	}
	return problems, err
}

func get(ctx context.Context, s store.Store, bucket, key string) (value []byte, ok bool, err error) {
	err = s.View(ctx, func(tx store.Tx) error {
		v, err := tx.Get(bucket, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		value, ok = v, err == nil
		return err
	})
	return value, ok, err
}
