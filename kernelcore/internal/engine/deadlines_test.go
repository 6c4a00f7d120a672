package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

func TestEachCallHasItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		f := newFixture()
		f.onQuery = func(ctx context.Context, in input) (output, error) {
			if in.Name == "quick" {
				return output{}, nil
			}
			<-ctx.Done()
			return output{}, ctx.Err()
		}
		e := f.engine(t, engine.Options{})
		defer e.Stop()
		for round := range 3 { // the later ones after a pause without any call
			var calls sync.WaitGroup
			for i, seconds := range []time.Duration{5, 1, 3, 1, 10, 2, 7, 4} {
				wait := seconds * time.Second
				for _, name := range []string{"quick", "slow", "quick"} {
					r := request(e, "query", fmt.Sprintf(`{"name":%q}`, name))
					start := time.Now()
					r.Deadline = start.Add(wait)
					calls.Go(func() {
						_, err := e.Call(t.Context(), r)
						if name == "quick" && (err != nil || time.Since(start) != 0) {
							t.Errorf("round %d, call %d: %v after %v", round, i, err, time.Since(start))
						}
						if name == "slow" && (err == nil || err.Code != kernelcontract.Timeout || time.Since(start) != wait) {
							t.Errorf("round %d, call %d of %v: %v after %v", round, i, wait, err, time.Since(start))
						}
					})
				}
			}
			calls.Wait()
			time.Sleep(time.Minute)
		}
		is.True(retire(t, f.instance, time.Second))
	})
}

// A handler that ignores its context may outlive the engine; its caller does not wait for it.
func TestStopLeavesTheDeadlineOfACallInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		f := newFixture()
		release := make(chan struct{})
		f.onQuery = func(context.Context, input) (output, error) {
			<-release
			return output{}, nil
		}
		e := f.engine(t, engine.Options{})
		r := request(e, "query", `{"name":"bb"}`)
		r.Deadline = time.Now().Add(time.Minute)
		answered := make(chan *kernelcontract.Error, 1)
		go func() {
			_, err := e.Call(t.Context(), r)
			answered <- err
		}()
		synctest.Wait()
		e.Stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		select {
		case err := <-answered:
			is.True(err != nil)
			is.Equal(err.Code, kernelcontract.Timeout)
		default:
			t.Error("the call was not answered at its deadline")
		}
		close(release)
		is.True(retire(t, f.instance, time.Second))
	})
}
