package kernelcore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
	"github.com/bb-kernel/bb/kernelcore/internal/httpapi"
	"github.com/bb-kernel/bb/kernelcore/internal/pluginlog"
	"github.com/bb-kernel/bb/kernelcore/internal/uploads"
	"github.com/bb-kernel/bb/kernelcore/seal"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/token"
	"github.com/bb-kernel/bb/pluginsdk"
)

// Bounds of the kernel's own waits.
const (
	// SetupTimeout bounds a plugin's Setup: a kernel must come up even when one plugin hangs.
	SetupTimeout = 30 * time.Second
	// StopTimeout bounds how long a retired plugin is waited for beyond the grace of its streams: the longest budget of
	// a call that a definition gets by default.
	StopTimeout = kernelcontract.MutationWait
	// CloseTimeout bounds Close: calls in flight get their chance, a handler that ignores its context none.
	CloseTimeout = 10 * time.Second
)

// Store keeps what has to outlast a call. Package store describes it, package sqlitestore is one in a data directory.
type Store = store.Store

// CallRecord is one finished call, without its input and result.
type CallRecord = engine.CallRecord

// Options configures a kernel; the zero value is an empty one in memory.
type Options struct {
	// Plugins in composition order: of two that claim the same name the earlier wins.
	Plugins []*pluginsdk.Plugin
	// Store keeps all state; nil: in memory. Close closes it.
	Store Store
	// Box seals the secrets in the store; nil: with a key that lives as long as the kernel, which suits a store in memory.
	Box *seal.Box
	// DataDir is the directory of what has to be in files, such as those of threads; "": a temporary one.
	DataDir string
	// URL is where clients reach Handler, such as http://127.0.0.1:38886, without a slash at its end: agents are told. "":
	// nobody knows.
	URL string
	// HTTP says whom Handler trusts.
	HTTP HTTPOptions
	// Log gets what operators should see; nil: nothing is logged. Inputs, results and secrets are never logged.
	Log *slog.Logger
	// Programs keeps plugins that are installed while the kernel runs; nil: none are. They come behind Plugins.
	Programs Programs
	// SkillsDir is where bb/SKILL.md is kept, the text for agents about the catalog as it is; "": nowhere.
	SkillsDir string
	// Development validates every output and answers a violation as an error. Set it in tests.
	Development bool
	// OnShutdown is told when an operator stops the program through kernel/runtime.shutdown: it should Drain and Close, and
	// return at once. nil: the method says that the program cannot be stopped by a call.
	OnShutdown func()
	// OnCall observes every finished call; it must be fast and safe for concurrent use. nil: none.
	OnCall func(CallRecord)
}

// Kernel is a running kernel. All methods are safe for concurrent use.
type Kernel struct {
	o        Options
	log      *slog.Logger
	store    store.Store
	box      *seal.Box
	engine   *engine.Engine
	serverID string
	started  time.Time
	faults   faults
	restarts restarts
	uploads  *uploads.Uploads

	skillMu sync.Mutex // serializes the writing of the skill file

	logsMu   sync.Mutex
	logs     map[string]*pluginlog.Log // by plugin id
	current  atomic.Pointer[composition]
	tokens   *token.Tokens
	hosts    *token.Hosts
	sessions token.Sessions
	handler  *httpapi.Handler

	own         []*kernelcontract.ServiceDef // the kernel's own services
	ownInstance *engine.Instance

	dataDir   func() string // makes it
	temporary atomic.Pointer[string]

	sharedMu sync.Mutex
	shared   map[string]*shared // by key

	changedMu sync.Mutex
	changed   chan struct{} // see Changed

	threadsMu sync.RWMutex
	threads   map[*knownThreads]bool // see KnowThreads

	stopping chan struct{} // see Stopping
	stopOnce sync.Once

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // background work: retirement of plugins, checks

	mu       sync.Mutex // serializes changes of the composition
	closed   bool
	removing map[string]bool // plugins whose data is about to be deleted
}

// New composes the plugins and returns the running kernel. A plugin that cannot be loaded is in Problems, not an error. The
// error is that of the store, which stays open then, or lists what is wrong with the options.
func New(o Options) (*Kernel, error) {
	k := &Kernel{o: o, log: o.Log, store: o.Store, box: o.Box, started: time.Now(), removing: map[string]bool{},
		shared: map[string]*shared{}, changed: make(chan struct{}), threads: map[*knownThreads]bool{}, stopping: make(chan struct{}), logs: map[string]*pluginlog.Log{}}
	k.uploads = uploads.New(func() string { return filepath.Join(k.DataDir(), "uploads") }, time.Now)
	k.dataDir = sync.OnceValue(k.makeDataDir)
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	if k.store == nil {
		k.store = store.Memory()
	}
	if k.box == nil {
		k.box = seal.Memory()
	}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.engine = engine.New(engine.Options{
		Log: k.log, Development: o.Development, OnCall: o.OnCall, OnProblem: k.faults.add, ResolveHost: k.resolveHost,
	})
	if err := k.open(); err != nil {
		k.cancel()
		ctx, cancel := context.WithTimeout(context.Background(), CloseTimeout)
		defer cancel()
		err = errors.Join(err, k.awaitWork(ctx))
		k.engine.Stop()
		return nil, fmt.Errorf("kernelcore: %w", errors.Join(err, k.closeBooks(ctx), k.removeTemporary()))
	}
	return k, nil
}

// open reads what the store knows, then composes the plugins.
func (k *Kernel) open() (err error) {
	if k.serverID, err = loadServerID(k.ctx, k.store); err != nil {
		return fmt.Errorf("the store does not answer: %w", err)
	}
	if k.tokens, err = token.OpenTokens(k.ctx, k.store, k.log); err != nil {
		return err
	}
	if k.hosts, err = token.OpenHosts(k.ctx, k.store, k.log); err != nil {
		return err
	}
	if k.handler, err = k.newHandler(); err != nil {
		return err
	}
	if k.ownInstance, k.own, err = k.kernelInstance(); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.compose(k.ctx)
}

// resolveHost returns the id of an enrolled host by its id or name.
func (k *Kernel) resolveHost(idOrName string) string {
	if h, err := k.hosts.Resolve(idOrName); err == nil {
		return h.ID
	}
	return idOrName
}

// closeBooks writes what the credentials remember and stops them.
func (k *Kernel) closeBooks(ctx context.Context) error {
	var errs []error
	if k.tokens != nil {
		errs = append(errs, k.tokens.Close(ctx))
	}
	if k.hosts != nil {
		errs = append(errs, k.hosts.Close(ctx))
	}
	return errors.Join(errs...)
}

// ServerID returns the id of the kernel's store, which stays the same across restarts.
func (k *Kernel) ServerID() string { return k.serverID }

// Generation returns the number of the current catalog. It grows with each change of the composition, across restarts.
func (k *Kernel) Generation() uint64 { return k.engine.Catalog().Generation }

// Problems returns what degrades the kernel: plugins that could not be loaded, names that collide, and faults of plugins
// while they ran. Each is a *ProblemError.
func (k *Kernel) Problems() []error {
	return append(append([]error{}, k.current.Load().problems...), k.faults.all()...)
}

// PluginStates returns how many plugins are in each state; the kernel itself is a ready one. It is no call: nothing is
// recorded of it.
func (k *Kernel) PluginStates() map[manifest.State]int {
	n := map[manifest.State]int{manifest.Ready: 1, manifest.Disabled: 0, manifest.Failed: 0, manifest.Removed: 0}
	for _, p := range k.current.Load().plugins {
		n[p.state]++
	}
	return n
}

// Calls returns up to n of the last calls, the newest first; at most engine.CallLogSize are kept.
func (k *Kernel) Calls(n int) []CallRecord { return k.engine.Log.Last(n) }

// OpenStreams returns how many streams are open now.
func (k *Kernel) OpenStreams() int { return k.engine.OpenStreams() }

// Drain refuses further calls with ServiceUnavailable and waits until those in flight are done or ctx ends; streams end
// after their grace. Close afterwards.
func (k *Kernel) Drain(ctx context.Context) error {
	k.refuseCalls()
	var wait sync.WaitGroup
	for _, p := range k.current.Load().plugins {
		if p.instance != nil {
			wait.Go(func() { p.instance.Retire(ctx, engine.StreamGrace) })
		}
	}
	wait.Wait()
	return ctx.Err()
}

// refuseCalls makes the engine refuse further calls.
func (k *Kernel) refuseCalls() {
	k.engine.Drain()
	k.stopOnce.Do(func() { close(k.stopping) })
}

// Stopping returns a channel that is closed when Drain or Close begins: what endpoints beside the methods keep open ends
// then.
func (k *Kernel) Stopping() <-chan struct{} { return k.stopping }

// Close stops the plugins, then the store. Calls in flight are given CloseTimeout; Drain first to give them longer.
func (k *Kernel) Close() error {
	k.cancel() // also ends the Setup of a change that is under way and holds k.mu
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return nil
	}
	k.closed = true
	k.mu.Unlock()
	k.refuseCalls()
	ctx, cancel := context.WithTimeout(context.Background(), CloseTimeout)
	defer cancel()
	var wait sync.WaitGroup
	errs := make([]error, len(k.current.Load().plugins))
	for i, p := range k.current.Load().plugins {
		wait.Go(func() { errs[i] = p.stop(ctx, 0) })
	}
	wait.Go(func() { k.ownInstance.Retire(ctx, 0) })
	wait.Wait()
	k.engine.Stop()
	if err := k.awaitWork(ctx); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, k.closeBooks(ctx), k.store.Close(), k.removeTemporary())...)
}

// awaitWork waits for the background work, or for ctx: a plugin's Setup or stop function that ignores its context must not
// keep the program alive.
func (k *Kernel) awaitWork(ctx context.Context) error {
	done := make(chan struct{})
	go func() { // ends with the last of the work
		k.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New("a plugin's Setup or stop function ignores its context")
	}
}
