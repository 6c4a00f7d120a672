package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

// within runs fn as the handler of a call of ctx.
func within(t *testing.T, ctx context.Context, fn func(ctx context.Context)) *kernelcontract.Error {
	t.Helper()
	f := newFixture()
	f.onQuery = func(ctx context.Context, _ input) (output, error) { fn(ctx); return output{Text: "done"}, ctx.Err() }
	e := f.engine(t, engine.Options{})
	defer e.Stop() // inside the bubble of a test that has one
	_, err := e.Call(ctx, request(e, "query", `{"name":"bb"}`))
	return err
}

func TestHandlersContextIsOneOfItsCaller(t *testing.T) {
	is := is.New(t)
	type key struct{}
	var kept context.Context
	err := within(t, context.WithValue(t.Context(), key{}, "v"), func(ctx context.Context) {
		kept = ctx
		is.Equal(ctx.Value(key{}), "v")
		is.Equal(kernelcontract.CallFrom(ctx).Ref, "demo/main.query")
		is.Equal(kernelcontract.CallFrom(ctx).Depth, 1)
		is.NoErr(ctx.Err())
		is.NoErr(context.Cause(ctx))
		select {
		case <-ctx.Done():
			t.Error("the context of a running handler has ended")
		default:
		}
	})
	is.True(err == nil)
	<-kept.Done() // was asked for while the handler ran
	is.Equal(kept.Err(), context.Canceled)
	is.Equal(context.Cause(kept), context.Canceled)
}

func TestHandlersContextEndsUnasked(t *testing.T) {
	is := is.New(t)
	var kept context.Context
	is.True(within(t, t.Context(), func(ctx context.Context) { kept = ctx }) == nil)
	<-kept.Done() // is asked for only now
	is.Equal(kept.Err(), context.Canceled)
	child, cancel := context.WithCancel(kept)
	defer cancel()
	<-child.Done()
	late := make(chan struct{})
	stop := kept.(interface{ AfterFunc(func()) func() bool }).AfterFunc(func() { close(late) })
	<-late
	is.True(!stop())
}

func TestHandlersDeadlineIsTheEarlierOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		start := time.Now()
		deadline := func(ctx context.Context) (d time.Duration) {
			is.True(within(t, ctx, func(ctx context.Context) {
				at, ok := ctx.Deadline()
				is.True(ok)
				d = at.Sub(start)
			}) == nil)
			return d
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		later, cancelLater := context.WithTimeout(t.Context(), time.Hour)
		defer cancelLater()
		is.Equal(deadline(t.Context()), kernelcontract.QueryWait)
		is.Equal(deadline(soon), time.Second)
		is.Equal(deadline(later), kernelcontract.QueryWait)
	})
}

func TestContextsOfHandlersEndWithTheCall(t *testing.T) {
	for _, c := range []struct {
		name  string
		leave bool // the caller leaves
		stay  bool // the handler ignores the end
		code  kernelcontract.Code
		want  error
	}{
		{name: "answer", want: context.Canceled},
		{name: "deadline", stay: true, code: kernelcontract.Timeout, want: context.DeadlineExceeded},
		{name: "caller leaves", leave: true, stay: true, code: kernelcontract.Cancelled, want: context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				var child, stopped context.Context
				ran := false
				release := make(chan struct{})
				defer close(release)
				err := within(t, ctx, func(ctx context.Context) {
					var cancel context.CancelFunc
					child, cancel = context.WithTimeout(ctx, time.Hour)
					t.Cleanup(cancel)
					stopped, cancel = context.WithCancel(ctx)
					cancel() // ended by itself: it is no longer waited for
					context.AfterFunc(ctx, func() { ran = true })
					is.True(context.AfterFunc(ctx, func() { t.Error("a stopped function ran") })())
					if c.leave {
						leave()
					}
					if c.stay {
						<-release
					}
				})
				if c.code == "" {
					is.True(err == nil)
				} else {
					is.True(errors.Is(err, c.code))
				}
				synctest.Wait()
				is.Equal(child.Err(), c.want)
				is.Equal(stopped.Err(), context.Canceled)
				is.True(ran)
			})
		})
	}
}

func TestCallOfAnEndedContextIsNotAnswered(t *testing.T) {
	is := is.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := within(t, ctx, func(ctx context.Context) {
		if ctx.Err() != context.Canceled {
			t.Error("the handler does not see the end")
		}
	})
	is.True(errors.Is(err, kernelcontract.Cancelled))
	past, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	err = within(t, past, func(context.Context) {})
	is.True(errors.Is(err, kernelcontract.Timeout))
}
