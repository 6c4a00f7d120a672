package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/providers"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

// Bounds of the engine.
const (
	// MaxQueued is how many inputs of a thread wait for their turn: more than a person sends, and as many as an
	// assembler takes.
	MaxQueued = 64
	// WatchdogWarn and WatchdogFail bound how long an agent that took an input may leave its turn unopened.
	WatchdogWarn = 60 * time.Second
	WatchdogFail = 10 * time.Minute
	// IdleRelease is how long a session that can be restored stays without a turn: long enough for a person to read and
	// answer, short enough that a day's threads do not all keep their agents in memory.
	IdleRelease = 15 * time.Minute
	// tick is how often watchdogs and idle sessions are looked at, at most.
	tick = time.Second
)

// Options configures an Engine. Kernel is required; the zero durations stand for the constants of the same name.
type Options struct {
	Kernel                                  *kernelcore.Kernel
	Log                                     *slog.Logger
	WatchdogWarn, WatchdogFail, IdleRelease time.Duration
	Timeouts                                host.Timeouts
	RecordDir                               string           // see host.Options
	Now                                     func() time.Time // nil: time.Now
}

// Engine runs the threads of a kernel. Its methods are safe for concurrent use.
type Engine struct {
	o      Options
	log    *slog.Logger
	kernel *kernelcore.Kernel
	store  store.Store
	lines  *timeline.Log
	pool   *providers.Pool
	ids    idGenerator

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup
	forget func()

	opened atomic.Bool // what a former life left open has been settled

	mu      sync.Mutex
	closed  bool
	live    map[string]*thread           // threads with an actor
	loading map[string]chan struct{}     // closed when the actor is there, or could not be made
	asked   map[string]*thread           // by interaction that waits
	stale   map[*providers.Bridge]string // bridges that are to be restarted once their threads are idle, with the reason

	toCompact  [][2]string // thread and turn
	compacting bool

	staging   sync.Mutex
	staged    []protocol.SkillRoot // what was staged last, for the generation stagedFor
	stagedFor uint64
}

// Open starts the engine: what a former life left open is settled before it returns.
func Open(ctx context.Context, o Options) (*Engine, error) {
	fill := func(d *time.Duration, standard time.Duration) {
		if *d <= 0 {
			*d = standard
		}
	}
	fill(&o.WatchdogWarn, WatchdogWarn)
	fill(&o.WatchdogFail, WatchdogFail)
	fill(&o.IdleRelease, IdleRelease)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &Engine{
		o: o, log: o.Log, kernel: o.Kernel, store: o.Kernel.Store(),
		live: map[string]*thread{}, loading: map[string]chan struct{}{}, asked: map[string]*thread{}, stale: map[*providers.Bridge]string{},
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.lines = timeline.New(e.store, timeline.Options{Log: o.Log})
	pool, err := providers.New(providers.Options{
		Kernel: o.Kernel, Log: o.Log, Timeouts: o.Timeouts, RecordDir: o.RecordDir,
		Sink: providers.Sink{
			Deltas: e.deltas, Identity: e.identity, Replaced: e.replaced, Recovery: e.recovery,
			ToolCall: e.toolCall, Interact: e.interact, Lost: e.lost, Exit: e.exited,
		},
	})
	if err != nil {
		e.cancel()
		return nil, err
	}
	e.pool = pool
	e.forget = e.kernel.KnowThreads(e.known)
	if err := e.restore(ctx); err != nil {
		return nil, errors.Join(err, e.Close(context.WithoutCancel(ctx)))
	}
	e.opened.Store(true)
	e.work.Go(e.watch)
	return e, nil
}

// Pool returns the providers.
func (e *Engine) Pool() *providers.Pool { return e.pool }

// Close ends every agent, settles what was open as interrupted, and waits until all of it is stored.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	if e.forget != nil {
		e.forget()
	}
	errs := []error{e.pool.Close(ctx)} // settles through exited
	e.cancel()
	done := make(chan struct{})
	go func() { // ends with the last of the work, which the end of e.ctx and of the bridges brings about
		e.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("threads: work was still going on: %w", ctx.Err()))
	}
	return errors.Join(append(errs, e.lines.Close(ctx))...)
}

// goes runs fn as work that Close waits for, unless the engine is closed.
func (e *Engine) goes(fn func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.work.Go(fn)
	return true
}

func (e *Engine) now() time.Time { return e.o.Now() }

// known reports whether a thread exists: a caller may name it as its context.
func (e *Engine) known(id string) bool {
	e.mu.Lock()
	_, live := e.live[id]
	e.mu.Unlock()
	if live {
		return true
	}
	err := e.store.View(e.ctx, func(tx store.Tx) error {
		_, err := tx.Get(threadsBucket, id)
		return err
	})
	return err == nil
}

// of returns the actor of a thread if it has one.
func (e *Engine) of(id string) *thread {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live[id]
}

// thread returns the actor of a thread, and makes it from the store when there is none.
func (e *Engine) thread(ctx context.Context, id string) (*thread, error) {
	for {
		e.mu.Lock()
		if e.closed {
			e.mu.Unlock()
			return nil, kernelcontract.ServiceUnavailable.Errorf("the server is stopping")
		}
		if t := e.live[id]; t != nil {
			e.mu.Unlock()
			return t, nil
		}
		if wait := e.loading[id]; wait != nil {
			e.mu.Unlock()
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		done := make(chan struct{})
		e.loading[id] = done
		e.mu.Unlock()

		t, err := e.load(ctx, id)
		e.mu.Lock()
		delete(e.loading, id)
		if err == nil {
			e.live[id] = t
		}
		e.mu.Unlock()
		close(done)
		return t, err
	}
}

// load makes the actor of a thread from the store. What is open in it is settled: no session outlives its actor.
func (e *Engine) load(ctx context.Context, id string) (*thread, error) {
	t := &thread{e: e, id: id}
	t.reset()
	err := e.store.View(ctx, func(tx store.Tx) error {
		if err := read(tx, threadsBucket, id, &t.kept); err != nil {
			return err
		}
		for _, turn := range append(append([]string{}, t.kept.Sent...), t.kept.Queue...) {
			k := &keptTurn{}
			if err := read(tx, turnsBucket+id, turn, k); err != nil {
				return err
			}
			t.turns[turn] = k
		}
		return nil
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, noThread(id)
	case err != nil:
		return nil, err
	}
	if t.lines, err = e.lines.Writer(ctx, id); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.settleLeftovers(ctx); err != nil {
		_ = t.lines.Close(ctx)
		return nil, err
	}
	t.publish()
	return t, nil
}

func noThread(id string) error {
	return kernelcontract.NotFound.Errorf("there is no thread %q: `bb thread list` shows them", id)
}

// watch looks after what takes too long and what nobody uses, and follows the composition, until Close.
func (e *Engine) watch() {
	period := min(tick, e.o.WatchdogWarn/4, e.o.WatchdogFail/4, e.o.IdleRelease/4)
	ticker := time.NewTicker(max(period, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-e.ctx.Done():
			return
		}
		e.mu.Lock()
		all := make([]*thread, 0, len(e.live))
		for _, t := range e.live {
			all = append(all, t)
		}
		e.mu.Unlock()
		for _, t := range all {
			t.check(time.Now())
		}
	}
}

// retire forgets an actor that has nothing to do, or whose store failed, and closes its writer; then runs behind that. Until
// then nobody makes another actor of the thread. It reports whether it does all that: not when the engine is closed, or the
// thread was retired before. t.mu is held.
func (e *Engine) retire(t *thread, then func()) bool {
	t.gone = true
	done := make(chan struct{})
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.live[t.id] != t {
		return false
	}
	delete(e.live, t.id)
	if e.closed {
		return false // the end of the log closes the writer
	}
	e.loading[t.id] = done
	e.work.Go(func() {
		_ = t.lines.Close(e.ctx) // what it says was said before
		e.mu.Lock()
		delete(e.loading, t.id)
		e.mu.Unlock()
		close(done)
		if then != nil {
			then()
		}
	})
	return true
}

// problem says why a provider cannot be used, "" when it can.
func (e *Engine) problem(providerID string) string {
	if _, err := e.pool.Provider(providerID); err != nil {
		return kernelcontract.AsError(err).Message
	}
	return ""
}

// show completes a thread for a caller.
func (e *Engine) show(t threadapi.Thread) threadapi.Thread {
	if t.Problem == "" {
		t.Problem = e.problem(t.ProviderID)
	}
	return t
}
