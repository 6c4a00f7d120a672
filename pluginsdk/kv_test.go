package pluginsdk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/plugintest"
)

// newKV returns the store of a plugin on a fake host.
func newKV(t testing.TB) pluginsdk.KV {
	t.Helper()
	var kv pluginsdk.KV
	plugintest.Load(t, &pluginsdk.Plugin{ID: "p", Setup: func(ctx context.Context, h *pluginsdk.Host) error {
		kv = h.KV()
		return nil
	}}, plugintest.Options{})
	return kv
}

func TestKVKeepsJSONValues(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	kv := newKV(t)
	n := 41
	is.True(errors.Is(kv.Get(ctx, "n", &n), kernelcontract.NotFound))
	is.Equal(n, 41) // left alone
	is.NoErr(kv.Put(ctx, "n", int64(1)<<53+1))
	var big int64
	is.NoErr(kv.Get(ctx, "n", &big))
	is.Equal(big, int64(1)<<53+1)
	is.True(errors.Is(kv.Get(ctx, "n", &[]string{}), kernelcontract.Internal))
	is.NoErr(kv.Delete(ctx, "n"))
	is.NoErr(kv.Delete(ctx, "n"))
	is.True(errors.Is(kv.Get(ctx, "n", &n), kernelcontract.NotFound))
	is.True(errors.Is(kv.Put(ctx, "f", func() {}), kernelcontract.Internal))
}

func TestKVBoundsKeysAndValues(t *testing.T) {
	kv := newKV(t)
	for _, tt := range []struct {
		name, key string
		value     string
		ok        bool
	}{
		{"empty key", "", "", false},
		{"longest key", strings.Repeat("k", pluginsdk.MaxKey), "", true},
		{"key too long", strings.Repeat("k", pluginsdk.MaxKey+1), "", false},
		{"largest value", "v", strings.Repeat("v", pluginsdk.MaxValue-2), true},
		{"value too large", "v", strings.Repeat("v", pluginsdk.MaxValue-1), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			err := kv.Put(t.Context(), tt.key, tt.value)
			is.Equal(err == nil, tt.ok)
			if !tt.ok {
				is.True(errors.Is(err, kernelcontract.InvalidInput))
			}
		})
	}
}

func TestKVListSelectsInOrder(t *testing.T) {
	ctx := t.Context()
	kv := newKV(t)
	for i := range 600 { // more than two pages
		if err := kv.Put(ctx, fmt.Sprintf("n/%03d", i), i); err != nil {
			t.Fatal(err)
		}
	}
	if err := kv.Put(ctx, "other", 0); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name        string
		r           pluginsdk.Range
		n           int
		first, last string
	}{
		{"all", pluginsdk.Range{}, 601, "n/000", "other"},
		{"prefix", pluginsdk.Range{Prefix: "n/"}, 600, "n/000", "n/599"},
		{"reverse", pluginsdk.Range{Prefix: "n/", Reverse: true}, 600, "n/599", "n/000"},
		{"after", pluginsdk.Range{Prefix: "n/", After: "n/009"}, 590, "n/010", "n/599"},
		{"before", pluginsdk.Range{Prefix: "n/", Before: "n/010"}, 10, "n/000", "n/009"},
		{"limit", pluginsdk.Range{Prefix: "n/", Limit: 300}, 300, "n/000", "n/299"},
		{"limit of a page", pluginsdk.Range{Prefix: "n/", Limit: 256}, 256, "n/000", "n/255"},
		{"limit reversed", pluginsdk.Range{Prefix: "n/", Limit: 300, Reverse: true, Before: "n/500"}, 300, "n/499", "n/200"},
		{"none", pluginsdk.Range{Prefix: "x"}, 0, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			var keys []string
			for e, err := range kv.List(ctx, tt.r) {
				is.NoErr(err)
				keys = append(keys, e.Key)
			}
			is.Equal(len(keys), tt.n)
			if tt.n > 0 {
				is.Equal(keys[0], tt.first)
				is.Equal(keys[len(keys)-1], tt.last)
			}
		})
	}
	t.Run("the loop may write", func(t *testing.T) {
		is := is.New(t)
		n := 0
		for e, err := range kv.List(ctx, pluginsdk.Range{Prefix: "n/"}) {
			is.NoErr(err)
			is.NoErr(kv.Delete(ctx, e.Key))
			n++
		}
		is.Equal(n, 600)
	})
	t.Run("the loop may break", func(t *testing.T) {
		for range kv.List(ctx, pluginsdk.Range{}) {
			break
		}
	})
	t.Run("an error is the last pair", func(t *testing.T) {
		is := is.New(t)
		gone, cancel := context.WithCancel(ctx)
		cancel()
		n := 0
		for _, err := range kv.List(gone, pluginsdk.Range{}) {
			is.True(errors.Is(err, context.Canceled))
			n++
		}
		is.Equal(n, 1)
	})
}

func TestUpdateIsOneTransaction(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	kv := newKV(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := pluginsdk.Update(ctx, kv, "n", func(n int) int { return n + 1 }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var n int
	is.NoErr(kv.Get(ctx, "n", &n))
	is.Equal(n, 400)
	got, err := pluginsdk.Update(ctx, kv, "", func(n int) int { return 9 })
	is.True(err != nil)
	is.Equal(got, 0)
}

func TestTransactKeepsAllOrNothing(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	kv := newKV(t)
	failed := errors.New("no")
	is.Equal(kv.Transact(ctx, func(tx pluginsdk.Tx) error {
		is.NoErr(tx.Put("a", 1))
		var a int
		is.NoErr(tx.Get("a", &a)) // its own write
		return failed
	}), failed)
	var v int
	is.True(errors.Is(kv.Get(ctx, "a", &v), kernelcontract.NotFound))
	is.NoErr(kv.Transact(ctx, func(tx pluginsdk.Tx) error {
		is.NoErr(tx.Put("a", 1))
		is.NoErr(tx.Put("b", 2))
		is.NoErr(tx.Delete("a"))
		var keys []string
		for e, err := range tx.List(pluginsdk.Range{}) {
			is.NoErr(err)
			var n int
			is.NoErr(e.Decode(&n))
			keys = append(keys, fmt.Sprint(e.Key, n))
		}
		is.Equal(keys, []string{"b2"})
		return nil
	}))
	is.NoErr(kv.Get(ctx, "b", &v))
	is.Equal(v, 2)
}

func BenchmarkUpdate(b *testing.B) {
	kv := newKV(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pluginsdk.Update(b.Context(), kv, "n", func(n int) int { return n + 1 }); err != nil {
			b.Fatal(err)
		}
	}
}
