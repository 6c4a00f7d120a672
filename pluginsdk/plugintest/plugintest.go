// Package plugintest tests a plugin without a kernel: a fake host that loads the plugin value and answers calls as a
// kernel does, with the same checks of inputs and results.
//
//	host := plugintest.Load(t, hello.Plugin(), plugintest.Options{})
//	out, err := contracts.Greet.Call(t.Context(), host, contracts.GreetInput{Name: "bb"})
//
// The rules are stated in docs/spec/plugins.md.
package plugintest

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
)

// Options says what the fake host has; the zero value is an empty one.
type Options struct {
	// Config are settings of the plugin, encoded to JSON.
	Config map[string]any
	// Secrets are the secrets of the installation.
	Secrets map[string]string
	// Services stand in for services of other plugins, which Host.Require finds. Methods without a handler answer
	// ServiceUnavailable.
	Services []kernelcontract.Implementation
	// Principal makes the calls; zero: user:local, in process.
	Principal kernelcontract.Principal
	// Context is where the calls are made from. It fills ambient fields.
	Context kernelcontract.Context
	// RunsHost makes the fake host a machine that runs methods with OnHost; otherwise they answer ServiceUnavailable,
	// as a server without one does.
	RunsHost bool
}

// Host is a fake host with one plugin. It is a kernelcontract.Caller whose calls are made by Options.Principal, and is
// safe for concurrent use.
type Host struct {
	o      Options
	plugin *pluginsdk.Plugin
	fakes  map[string]*method
	config map[string]json.RawMessage
	kv     store
	log    *slog.Logger
	calls  atomic.Int64

	mu      sync.Mutex
	loaded  *pluginsdk.Loaded // nil: stopped
	methods map[string]*method
}

var _ kernelcontract.Caller = (*Host)(nil)

// Load sets the plugin up and stops it when the test ends. Problems of the plugin fail the test at once; TryLoad
// returns them instead.
func Load(t testing.TB, p *pluginsdk.Plugin, o Options) *Host {
	t.Helper()
	h, err := TryLoad(t, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TryLoad is Load for tests of what does not load: a plugin's problems are returned, as a *pluginsdk.LoadError.
// Mistakes in o fail the test.
func TryLoad(t testing.TB, p *pluginsdk.Plugin, o Options) (*Host, error) {
	t.Helper()
	if o.Principal == (kernelcontract.Principal{}) {
		o.Principal = kernelcontract.Principal{Actor: "user:local", Via: kernelcontract.ViaProcess}
	}
	h := &Host{o: o, plugin: p, fakes: map[string]*method{}, config: map[string]json.RawMessage{}, log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for key, v := range o.Config {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("plugintest: Options.Config %q: %v", key, err)
		}
		h.config[key] = raw
	}
	for _, fake := range o.Services {
		if err := h.fake(fake); err != nil {
			t.Fatalf("plugintest: Options.Services: %v", err)
		}
	}
	if err := h.load(context.Background()); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := h.Stop(context.Background()); err != nil {
			t.Errorf("plugintest: stopping plugin %s: %v", p.ID, err)
		}
	})
	return h, nil
}

// Restart stops the plugin and sets it up again on the same store, as a kernel does at a reload or after a crash.
func (h *Host) Restart(ctx context.Context) error {
	if err := h.Stop(ctx); err != nil {
		return err
	}
	return h.load(ctx)
}

// Stop runs what the plugin registered with Host.OnStop. Later calls answer ServiceUnavailable.
func (h *Host) Stop(ctx context.Context) error {
	h.mu.Lock()
	loaded := h.loaded
	h.loaded, h.methods = nil, nil
	h.mu.Unlock()
	if loaded == nil {
		return nil
	}
	return loaded.Stop(ctx)
}

// Loaded returns what a kernel gets from the plugin: handlers, guards, guide. It is nil when the plugin is stopped.
func (h *Host) Loaded() *pluginsdk.Loaded {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.loaded
}

func (h *Host) load(ctx context.Context) error {
	loaded, err := pluginsdk.Load(ctx, h.plugin, pluginsdk.Backend{
		KV:         &h.kv,
		Config:     h.setting,
		Secret:     h.secret,
		Caller:     &caller{host: h, relay: true},
		HasService: h.hasService,
		Log:        h.log,
	})
	if err != nil {
		return err
	}
	methods := map[string]*method{}
	for _, s := range loaded.Services {
		for _, d := range s.Methods {
			methods[d.Ref()] = &method{def: d, handler: loaded.Handlers[d.Ref()]}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loaded, h.methods = loaded, methods
	return nil
}

func (h *Host) fake(impl kernelcontract.Implementation) error {
	def, err := impl.Service.Def()
	if err != nil {
		return err
	}
	for _, d := range def.Methods {
		h.fakes[d.Ref()] = &method{def: d}
	}
	for _, handler := range impl.Handlers {
		m := h.fakes[handler.Ref()]
		if m == nil || m.def.ServiceID() != def.ID() {
			return kernelcontract.NotFound.Errorf("%s is not a method of %s", handler.Ref(), def.ID())
		}
		m.handler = handler
	}
	return nil
}

func (h *Host) setting(_ context.Context, key string) (json.RawMessage, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	raw, ok := h.config[key]
	return raw, ok, nil
}

func (h *Host) secret(_ context.Context, name string) (string, bool, error) {
	value, ok := h.o.Secrets[name]
	return value, ok, nil
}

func (h *Host) hasService(id string) bool {
	for _, m := range h.fakes {
		if m.def.ServiceID() == id {
			return true
		}
	}
	return false
}

// SetConfig changes a setting while the plugin runs; a nil value unsets it.
func (h *Host) SetConfig(key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if value == nil {
		delete(h.config, key)
		return nil
	}
	h.config[key] = raw
	return nil
}
