package kernelcore_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/pluginsdk"
)

// awaitCount waits until n is want: what is retired ends in the background.
func awaitCount(t *testing.T, n *atomic.Int32, want int32) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n.Load() != want {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d, want %d", n.Load(), want)
		}
	}
}

func TestReloadOfAllRenewsWhatItCan(t *testing.T) {
	is := is.New(t)
	a, b, c := newEcho("a"), newEcho("b"), newEcho("c")
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{a.plugin(), b.plugin(), c.plugin()}})
	b.failing.Store(true)
	err := k.Reload(t.Context(), "")
	is.True(errors.Is(err, kernelcontract.Precondition))
	is.True(strings.Contains(err.Error(), "the plugin b keeps running"))
	is.Equal(a.setups.Load(), int32(2))
	is.Equal(c.setups.Load(), int32(2)) // what comes after the failure is renewed too
	awaitCount(t, &a.stops, 1)
	awaitCount(t, &c.stops, 1)
	is.Equal(b.stops.Load(), int32(0))
	for _, e := range []*echo{a, b, c} {
		_, err := e.say.Call(t.Context(), k.As(local), wordIn{"x"})
		is.NoErr(err)
	}
}

// refusing is a store that takes no changes when it is told to.
type refusing struct {
	store.Store
	refuses atomic.Bool
}

func (s *refusing) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.refuses.Load() {
		return errors.New("the disk is full")
	}
	return s.Store.Update(ctx, fn)
}

// counting is a store that counts its transactions.
type counting struct {
	store.Store
	updates atomic.Int32
}

func (s *counting) Update(ctx context.Context, fn func(store.Tx) error) error {
	s.updates.Add(1)
	return s.Store.Update(ctx, fn)
}

func TestDecisionAndGenerationAreOneTransaction(t *testing.T) {
	is := is.New(t)
	s := &counting{Store: store.Memory()}
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{newEcho("echo").plugin()}, Store: s})
	for _, change := range []func(context.Context, string) error{k.Disable, k.Enable} {
		s.updates.Store(0)
		is.NoErr(change(t.Context(), "echo"))
		is.Equal(s.updates.Load(), int32(1))
	}
}

func TestCompositionThatIsNotStoredIsUndone(t *testing.T) {
	t.Run("at a reload", func(t *testing.T) {
		is := is.New(t)
		e, s := newEcho("echo"), &refusing{Store: store.Memory()}
		k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{e.plugin()}, Store: s})
		generation := k.Generation()
		s.refuses.Store(true)
		is.True(k.Reload(t.Context(), "echo") != nil)
		s.refuses.Store(false)
		awaitCount(t, &e.stops, 1) // the new life
		is.Equal(k.Generation(), generation)
		_, err := e.say.Call(t.Context(), k.As(local), wordIn{"x"})
		is.NoErr(err) // the old one goes on
	})
	t.Run("at the start", func(t *testing.T) {
		is := is.New(t)
		e, s := newEcho("echo"), &refusing{Store: store.Memory()}
		p := e.plugin()
		setup := p.Setup
		p.Setup = func(ctx context.Context, h *pluginsdk.Host) error {
			s.refuses.Store(true)
			return setup(ctx, h)
		}
		_, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{p}, Store: s})
		is.True(err != nil)
		is.Equal(e.setups.Load(), int32(1))
		is.Equal(e.stops.Load(), int32(1)) // before New returned
	})
}
