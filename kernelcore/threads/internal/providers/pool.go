package providers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
)

// Times of the pool.
const (
	// IdleTimeout is how long a process without sessions goes on: long enough that a person who tries things does not wait
	// for starts, short enough that agents which nobody uses leave the memory.
	IdleTimeout = 5 * time.Minute
	// MaintenanceIdle is how long a process for questions goes on after the last answer: a page that shows a provider asks
	// several at once.
	MaintenanceIdle = time.Minute
	// ScanPeriod is how often processes with sessions are searched for descendants that left their group. A shell that
	// lives shorter and is not seen is not recorded.
	ScanPeriod = 2 * time.Second
	// watchPeriod is how often idle processes are looked for.
	watchPeriod = time.Second
)

// Options configures a Pool. Kernel is required; zero durations stand for the constants of the same name.
type Options struct {
	Kernel                                   *kernelcore.Kernel
	Log                                      *slog.Logger // nil: nothing is logged
	Sink                                     Sink
	IdleTimeout, MaintenanceIdle, ScanPeriod time.Duration
	Timeouts                                 host.Timeouts
	RecordDir                                string // see host.Options
}

// Sink takes what the processes for sessions send, by the rules of host.Handler; b tells which process it is. Functions may
// be nil as there.
type Sink struct {
	Deltas    func(b *Bridge, threadID string, ds protocol.Deltas)
	Identity  func(b *Bridge, p protocol.IdentityParams)
	Replaced  func(b *Bridge, p protocol.ReplacedParams)
	Recovery  func(b *Bridge, p protocol.RecoveryParams) // also from the pool: a changed plugin asks for restart-process
	Withdrawn func(b *Bridge, p protocol.WithdrawnParams)
	Raw       func(b *Bridge, p protocol.RawParams)
	Log       func(b *Bridge, p protocol.LogParams)
	ToolCall  func(ctx context.Context, b *Bridge, p protocol.ToolCallParams) (protocol.ToolResult, error)
	Interact  func(ctx context.Context, b *Bridge, p protocol.InteractionParams) (protocol.Resolution, error)
	Lost      func(b *Bridge, threads []string)
	Exit      func(b *Bridge, e *host.ExitError)
}

// Pool runs the bridges of a kernel. Its methods are safe for concurrent use. Close ends it.
type Pool struct {
	o      Options
	kernel *kernelcore.Kernel
	log    *slog.Logger
	serial atomic.Uint64

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	slots  map[string]*slot // by provider
}

// slot is what the pool knows about a provider.
type slot struct {
	id          string
	sessions    *lane
	maintenance *lane
	models      *modelCache
	installed   presence

	mu         sync.Mutex
	problem    string // of a recovery hint: what a person has to do; "" for none
	installing bool
}

// New returns a pool without a process. What a former life of the kernel left running has been killed when it returns; the
// error is that of the store.
func New(o Options) (*Pool, error) {
	fill := func(d *time.Duration, standard time.Duration) {
		if *d <= 0 {
			*d = standard
		}
	}
	fill(&o.IdleTimeout, IdleTimeout)
	fill(&o.MaintenanceIdle, MaintenanceIdle)
	fill(&o.ScanPeriod, ScanPeriod)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pool{o: o, kernel: o.Kernel, log: o.Log, slots: map[string]*slot{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if err := p.killLeftovers(p.ctx); err != nil {
		p.cancel()
		return nil, fmt.Errorf("providers: what a former life left running is not known: %w", err)
	}
	if err := os.RemoveAll(p.scratchRoot()); err != nil {
		p.log.Warn("temporary directories of bridges stay behind", "error", err)
	}
	p.work.Go(p.watch)
	return p, nil
}

// Close ends every process and waits until that is over and the Sink knows, or ctx ends and they are killed.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	slots := make([]*slot, 0, len(p.slots))
	for _, s := range p.slots {
		slots = append(slots, s)
	}
	p.mu.Unlock()
	p.cancel()
	var stops sync.WaitGroup
	for _, s := range slots {
		stops.Go(func() { s.sessions.stop(ctx) })
		stops.Go(func() { s.maintenance.stop(ctx) })
	}
	stops.Wait()
	done := make(chan struct{})
	go func() { // ends with the last of the work, since its context has ended and every process is gone
		p.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New("providers: a function of a plugin ignores its context")
	}
}

// slot returns what is known about a provider.
func (p *Pool) slot(id string) (*slot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, kernelcontract.ServiceUnavailable.Errorf("the server is stopping")
	}
	s := p.slots[id]
	if s == nil {
		s = &slot{id: id, models: newModelCache()}
		s.sessions = newLane(p, s, false)
		s.maintenance = newLane(p, s, true)
		p.slots[id] = s
	}
	return s, nil
}

// goes runs fn as work that Close waits for, unless the pool is closed.
func (p *Pool) goes(fn func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.work.Go(fn)
	return true
}

// all returns every slot.
func (p *Pool) all() []*slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	slots := make([]*slot, 0, len(p.slots))
	for _, s := range p.slots {
		slots = append(slots, s)
	}
	return slots
}

// watch ends processes that nobody uses, follows changes of the composition, and records descendants, until Close.
func (p *Pool) watch() {
	idle := time.NewTicker(max(min(watchPeriod, p.o.IdleTimeout/4, p.o.MaintenanceIdle/4), time.Millisecond))
	defer idle.Stop()
	scan := time.NewTicker(p.o.ScanPeriod)
	defer scan.Stop()
	for {
		changed := p.kernel.Changed()
		p.followComposition()
		for again := true; again; {
			select {
			case <-changed:
				again = false
			case now := <-idle.C:
				for _, s := range p.all() {
					s.sessions.endIdle(now, p.o.IdleTimeout)
					s.maintenance.endIdle(now, p.o.MaintenanceIdle)
				}
			case <-scan.C:
				p.recordDescendants()
			case <-p.ctx.Done():
				return
			}
		}
	}
}

// followComposition ends the processes of providers that are gone, and asks for fresh ones of those that have changed.
func (p *Pool) followComposition() {
	now := map[string]kernelcore.Provider{}
	for _, one := range p.kernel.Providers() {
		now[one.Declaration.ID] = one
	}
	for _, s := range p.all() {
		one, there := now[s.id]
		for _, l := range []*lane{s.sessions, s.maintenance} {
			b := l.current()
			switch {
			case b == nil || there && b.made == fingerprint(one):
			case there && !l.maintenance && b.liveThreads() > 0:
				p.askForRestart(b, "the provider's plugin has changed")
			default:
				p.goes(func() { l.end(p.ctx, b) })
			}
		}
		if !there {
			s.models.clear()
		}
	}
}

// askForRestart makes the engine end a process once its threads have come to rest. Without an engine that does, it ends now.
func (p *Pool) askForRestart(b *Bridge, why string) {
	if b.stale.Swap(true) {
		return
	}
	if p.o.Sink.Recovery == nil {
		p.goes(func() { _ = b.Stop(p.ctx) })
		return
	}
	p.o.Sink.Recovery(b, protocol.RecoveryParams{Hint: protocol.RecoverRestartProcess, Message: why})
}

// scratchRoot is where the temporary directories of bridges are.
func (p *Pool) scratchRoot() string { return filepath.Join(p.kernel.DataDir(), "plugins-temp") }
