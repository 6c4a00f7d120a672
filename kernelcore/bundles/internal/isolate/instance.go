package isolate

import (
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

// Limits of a warm instance.
const (
	MaxUses     = 200             // calls of an instance: what leaks in it has an end
	MaxIdle     = 5 * time.Minute // without a call
	MaxIdleSize = 16 << 20        // bytes of memory that an idle instance may keep
)

// instance is a module with its memory. It answers one call at a time.
type instance struct {
	engine  *Engine
	version string
	module  *module
	mod     api.Module
	uses    int
	size    uint64 // bytes of memory after the last call
	timer   *time.Timer

	// ctx and call are those of the dispatch that is under way; only its goroutine uses them.
	ctx  context.Context
	call *call

	place *list.Element // among the idle ones; guests.mu guards it
}

// instantiate makes an instance of a compiled module, whose use passes to it.
func (e *Engine) instantiate(ctx context.Context, version string, m *module) (*instance, error) {
	i := &instance{engine: e, version: version, module: m, ctx: ctx}
	config := wazero.NewModuleConfig().
		WithName("").
		WithStartFunctions("_initialize").
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(i.sleep).
		WithOsyield(func() {}).
		WithRandSource(rand.Reader).
		WithStdout(output{i}).
		WithStderr(output{i})
	mod, err := e.runtime.InstantiateModule(ctx, m.code, config)
	if err != nil {
		e.release(version, m)
		return nil, i.startError(ctx, err)
	}
	i.mod = mod
	got, err := mod.ExportedFunction(abi.ExportVersion).Call(ctx)
	if err == nil && (len(got) != 1 || int32(got[0]) != abi.Version) {
		err = fmt.Errorf("it speaks version %d of the interface, this host %d", int32(got[0]), abi.Version)
	}
	if err != nil {
		err = i.startError(ctx, err)
		i.end()
		return nil, err
	}
	return i, nil
}

// startError says why an instance did not come up: its time was over, or it is not usable.
func (i *instance) startError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &LoadError{Reason: "it does not start: " + reason(err)}
}

// sleep waits as the guest asks, but not longer than its call lasts.
func (i *instance) sleep(ns int64) {
	if ns <= 0 {
		return
	}
	t := time.NewTimer(time.Duration(ns))
	defer t.Stop()
	select {
	case <-t.C:
	case <-i.ctx.Done():
	}
}

// dispatch runs one call. After an error the instance is not usable.
func (i *instance) dispatch(ctx context.Context, c *call) ([]byte, error) {
	c.log = func(level uint32, text string) { i.engine.log(i.version, level, text) }
	ctx = context.WithValue(ctx, callKey{}, c)
	i.ctx, i.call = ctx, c
	defer func() { i.call = nil }()
	i.uses++
	got, err := i.mod.ExportedFunction(abi.ExportDispatch).Call(ctx, uint64(len(c.request)))
	i.size = uint64(i.mod.Memory().Size())
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &TrapError{Reason: reason(err)}
	case len(got) != 1 || int32(got[0]) != 0:
		return nil, &TrapError{Reason: fmt.Sprintf("it answered the dispatch with %d and not 0", int32(got[0]))}
	case c.response == nil:
		return nil, &TrapError{Reason: "it wrote no response"}
	}
	return c.response, nil
}

// reusable reports whether an instance that has answered may answer again.
func (i *instance) reusable() bool { return i.uses < MaxUses && i.size <= MaxIdleSize }

// end frees the instance.
func (i *instance) end() {
	if i.timer != nil {
		i.timer.Stop()
	}
	_ = i.mod.Close(context.Background())
	i.mod, i.ctx = nil, nil // who still knows the instance does not keep its memory
	i.engine.release(i.version, i.module)
}

// reason returns why a guest ended, without the stack of its functions.
func reason(err error) string {
	var v *violation
	var exit *sys.ExitError
	switch {
	case errors.As(err, &v):
		return v.reason
	case errors.As(err, &exit):
		return fmt.Sprintf("it exited with code %d", exit.ExitCode())
	}
	text := err.Error()
	for n, r := range text {
		if r == '\n' {
			return text[:n]
		}
	}
	return text
}
