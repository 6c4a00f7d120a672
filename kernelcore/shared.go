package kernelcore

import (
	"context"
	"fmt"
	"sync"
)

// kernelKey is the context key of the kernel that sets a plugin up.
type kernelKey struct{}

// Of returns the kernel whose plugin ctx sets up: ctx is the context of its Setup, or one made from it. It is nil
// elsewhere, as in tests of plugins without a kernel. It is for plugins that are a part of the kernel; others have all that
// they need in their Host.
func Of(ctx context.Context) *Kernel {
	k, _ := ctx.Value(kernelKey{}).(*Kernel)
	return k
}

// shared is a value that plugins of a kernel share, or one that is being opened or closed.
type shared struct {
	busy  chan struct{} // closed when opening or closing is over; nil while it is open
	value any
	close func(context.Context) error
	users int
}

// Share returns the value of a key of the kernel that ctx belongs to (see Of). The first who asks makes it with open; the
// others get the same: plugins that share it, and the lives of one plugin, whose new Setup runs before the old life has
// stopped. open gets ctx, so the value must not live by it, and returns what closes the value.
//
// Everyone releases what they got, in Host.OnStop. The last release closes the value and returns the error of that; who
// asks meanwhile waits, and makes a new one. Releasing again does nothing. The error is that of open or of ctx, or says
// that ctx belongs to no kernel or that the key stands for another type.
func Share[T any](ctx context.Context, key string, open func(context.Context) (T, func(context.Context) error, error)) (T, func(context.Context) error, error) {
	var none T
	k := Of(ctx)
	if k == nil {
		return none, nil, fmt.Errorf("kernelcore: %s is shared in the Setup of plugins that a kernel loads, and nowhere else", key)
	}
	s, err := k.take(ctx, key, func() (any, func(context.Context) error, error) { return open(ctx) })
	if err != nil {
		return none, nil, err
	}
	var once sync.Once
	release := func(ctx context.Context) (err error) {
		once.Do(func() { err = k.release(ctx, key, s) })
		return err
	}
	value, ok := s.value.(T)
	if !ok {
		_ = release(ctx) // others use it: nothing is closed
		return none, nil, fmt.Errorf("kernelcore: %s is shared as a %T, not as a %T", key, s.value, none)
	}
	return value, release, nil
}

// take returns the open value of a key for one more user.
func (k *Kernel) take(ctx context.Context, key string, open func() (any, func(context.Context) error, error)) (*shared, error) {
	for {
		k.sharedMu.Lock()
		s := k.shared[key]
		switch {
		case s == nil:
			s = &shared{busy: make(chan struct{})}
			k.shared[key] = s
			k.sharedMu.Unlock()
			return k.openShared(key, s, open)
		case s.busy == nil:
			s.users++
			k.sharedMu.Unlock()
			return s, nil
		}
		busy := s.busy
		k.sharedMu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// openShared makes the value of s. When that fails the key is free again.
func (k *Kernel) openShared(key string, s *shared, open func() (any, func(context.Context) error, error)) (_ *shared, err error) {
	opened := false
	defer func() { // also when open panics
		k.sharedMu.Lock()
		defer k.sharedMu.Unlock()
		if !opened {
			delete(k.shared, key)
		}
		close(s.busy)
		s.busy = nil
	}()
	if s.value, s.close, err = open(); err != nil {
		return nil, err
	}
	opened, s.users = true, 1
	return s, nil
}

// release ends one use of s, and closes it with the last.
func (k *Kernel) release(ctx context.Context, key string, s *shared) error {
	k.sharedMu.Lock()
	s.users--
	if s.users > 0 {
		k.sharedMu.Unlock()
		return nil
	}
	s.busy = make(chan struct{})
	k.sharedMu.Unlock()
	defer func() {
		k.sharedMu.Lock()
		defer k.sharedMu.Unlock()
		delete(k.shared, key)
		close(s.busy)
	}()
	if s.close == nil {
		return nil
	}
	return s.close(ctx)
}
