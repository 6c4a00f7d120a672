package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/bb-kernel/bb/kernelcore/bundles/internal/screen"
	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

// Limits of an Engine.
const (
	GuestPages = screen.MaxMemoryPages // pages of 64 KiB that a guest may have
	pageSize   = 64 << 10
	// MaxMemory bounds the memory of all guests: running ones count with all that they may have, idle ones with what they have.
	MaxMemory = 512 << 20
	// CompileTimeout bounds a compilation; a Go program takes 4 s on a slow machine.
	CompileTimeout = 60 * time.Second
	// compileWorkers is how many goroutines compile one module: with one of them the compiler does not look at its deadline.
	compileWorkers = 2
	// MaxCompiled is how many compiled modules are kept beside those that have instances.
	MaxCompiled = 32
)

// Engine runs modules. All methods are safe for concurrent use.
type Engine struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache
	guests  *guests
	log     func(version string, level uint32, text string)

	mu       sync.Mutex
	closed   bool
	compiled map[string]*module // by version
	clock    uint64             // grows with each use, for the oldest to go
}

// Options configures an Engine.
type Options struct {
	// CacheDir keeps compiled code across restarts; only this user may read it. "": no cache.
	CacheDir string
	// MaxRunning is how many guests run at once; 0: two for each processor.
	MaxRunning int
	// Log gets what guests write, by version; nil: nobody.
	Log func(version string, level uint32, text string)
}

// New makes an engine. The error is that of the cache's directory.
func New(o Options) (*Engine, error) {
	e := &Engine{compiled: map[string]*module{}, log: o.Log}
	if e.log == nil {
		e.log = func(string, uint32, string) {}
	}
	if o.MaxRunning <= 0 {
		o.MaxRunning = 2 * runtime.GOMAXPROCS(0)
	}
	e.guests = newGuests(o.MaxRunning, MaxMemory)
	config := wazero.NewRuntimeConfigCompiler().
		WithCoreFeatures(api.CoreFeaturesV1 | api.CoreFeatureBulkMemoryOperations | api.CoreFeatureMultiValue |
			api.CoreFeatureNonTrappingFloatToIntConversion | api.CoreFeatureSignExtensionOps).
		WithCloseOnContextDone(true).
		WithMemoryLimitPages(GuestPages).
		WithDebugInfoEnabled(false)
	if o.CacheDir != "" {
		if err := os.MkdirAll(o.CacheDir, 0o700); err != nil {
			return nil, fmt.Errorf("the cache of compiled bundles: %w", err)
		}
		cache, err := wazero.NewCompilationCacheWithDir(o.CacheDir)
		if err != nil {
			return nil, fmt.Errorf("the cache of compiled bundles: %w", err)
		}
		e.cache = cache
		config = config.WithCompilationCache(cache)
	}
	ctx := context.Background()
	e.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := e.host(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// host makes the modules that guests import.
func (e *Engine) host(ctx context.Context) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, e.runtime); err != nil {
		return fmt.Errorf("the modules that bundles import: %w", err)
	}
	_, err := e.runtime.NewHostModuleBuilder(abi.ImportModule).
		NewFunctionBuilder().WithFunc(readRequest).Export("read_request").
		NewFunctionBuilder().WithFunc(writeResponse).Export("write_response").
		NewFunctionBuilder().WithFunc(hostCall).Export("call").
		NewFunctionBuilder().WithFunc(take).Export("take").
		NewFunctionBuilder().WithFunc(logLine).Export("log").
		Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("the modules that bundles import: %w", err)
	}
	return nil
}

// Close ends all instances; calls that are under way fail.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.guests.close()
	ctx := context.Background()
	err := e.runtime.Close(ctx)
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(ctx))
	}
	return err
}

// module is a compiled module, or one that is being compiled.
type module struct {
	ready    chan struct{} // closed when code or err is set
	code     wazero.CompiledModule
	err      error
	users    int // instances and those that are about to make one
	lastUsed uint64
}

// Compile compiles the code of a version, which Screen has made, unless it is compiled. Several who ask at once wait for
// one compilation. Release ends the use.
func (e *Engine) compile(ctx context.Context, version string, code func() ([]byte, error)) (*module, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, ErrClosed
	}
	e.clock++
	m, ok := e.compiled[version]
	if !ok {
		m = &module{ready: make(chan struct{})}
		e.compiled[version] = m
	}
	m.users++
	m.lastUsed = e.clock
	e.mu.Unlock()
	if !ok {
		go func() { // ends with CompileTimeout; whoever asked may leave
			defer close(m.ready)
			m.code, m.err = e.compileNow(code)
		}()
	}
	select {
	case <-m.ready:
	case <-ctx.Done():
		e.release(version, m)
		return nil, context.Cause(ctx)
	}
	if m.err != nil {
		e.release(version, m)
		return nil, m.err
	}
	return m, nil
}

func (e *Engine) compileNow(code func() ([]byte, error)) (wazero.CompiledModule, error) {
	raw, err := code()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), CompileTimeout)
	defer cancel()
	m, err := e.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, compileWorkers), raw)
	if err != nil {
		return nil, &LoadError{Reason: "it does not compile: " + err.Error()}
	}
	return m, nil
}

// release ends a use of a module; those that failed and the oldest that nobody uses go.
func (e *Engine) release(version string, m *module) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m.users--
	select {
	case <-m.ready:
		if m.err != nil && e.compiled[version] == m {
			delete(e.compiled, version)
		}
	default:
	}
	idle := 0
	var oldest *module
	var oldestVersion string
	for v, other := range e.compiled {
		if other.users == 0 && other.code != nil {
			idle++
			if oldest == nil || other.lastUsed < oldest.lastUsed {
				oldest, oldestVersion = other, v
			}
		}
	}
	if idle > MaxCompiled {
		delete(e.compiled, oldestVersion)
		_ = oldest.code.Close(context.Background())
	}
}

// Load compiles a version, so that the first call does not wait for it. code returns what Screen has made; it is called when
// the version is not compiled yet.
func (e *Engine) Load(ctx context.Context, version string, code func() ([]byte, error)) error {
	m, err := e.compile(ctx, version, code)
	if err != nil {
		return err
	}
	e.release(version, m)
	return nil
}
