package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Test(t, func(*testing.T) store.Store { return store.Memory() })
}

func TestMemoryStoresAreApart(t *testing.T) {
	is := is.New(t)
	a, b := store.Memory(), store.Memory()
	is.NoErr(a.Update(t.Context(), func(tx store.Tx) error { return tx.Put("b", "k", nil) }))
	err := b.View(t.Context(), func(tx store.Tx) error { _, err := tx.Get("b", "k"); return err })
	is.True(errors.Is(err, store.ErrNotFound))
}

func Example() {
	s := store.Memory()
	defer s.Close()
	ctx := context.Background()

	err := s.Update(ctx, func(tx store.Tx) error {
		return errors.Join(
			tx.Put("greetings", "ann", []byte("2")),
			tx.Put("greetings", "bob", []byte("1")))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = s.View(ctx, func(tx store.Tx) error {
		for e, err := range tx.Range("greetings", store.Range{}) {
			if err != nil {
				return err
			}
			fmt.Printf("%s %s\n", e.Key, e.Value)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// ann 2
	// bob 1
	// <nil>
}

// BenchmarkMemory stands beside a map with a mutex, which has neither order, rollback nor snapshots.
func BenchmarkMemory(b *testing.B) {
	const keys = 10_000
	key := make([]string, keys)
	for i := range key {
		key[i] = fmt.Sprintf("key-%08d", i)
	}
	value := make([]byte, 100)

	b.Run("put", func(b *testing.B) {
		s := store.Memory()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := s.Update(b.Context(), func(tx store.Tx) error { return tx.Put("b", key[i%keys], value) }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("get", func(b *testing.B) {
		s := store.Memory()
		if err := s.Update(b.Context(), func(tx store.Tx) error {
			for _, k := range key {
				if err := tx.Put("b", k, value); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := s.View(b.Context(), func(tx store.Tx) error { _, err := tx.Get("b", key[i%keys]); return err }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline map put", func(b *testing.B) {
		var mu sync.RWMutex
		m := map[string][]byte{}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			mu.Lock()
			m["b"+key[i%keys]] = append([]byte(nil), value...)
			mu.Unlock()
		}
	})
	b.Run("baseline map get", func(b *testing.B) {
		var mu sync.RWMutex
		m := map[string][]byte{}
		for _, k := range key {
			m["b"+k] = value
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			mu.RLock()
			v := m["b"+key[i%keys]]
			mu.RUnlock()
			_ = append([]byte(nil), v...)
		}
	})
}
