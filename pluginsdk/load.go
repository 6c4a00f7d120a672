package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// Backend is what a kernel gives to a plugin. Plugins do not use it: they see a Host. Fields that are nil stand for a
// kernel without that part: an empty configuration, no secrets, no other services, a log that goes nowhere.
type Backend struct {
	// KV keeps the plugin's store.
	KV KVBackend
	// Config returns the value that was set for a key, and whether there is one.
	Config func(ctx context.Context, key string) (json.RawMessage, bool, error)
	// Secret returns a secret, and whether there is one.
	Secret func(ctx context.Context, name string) (string, bool, error)
	// Caller carries the plugin's calls to other plugins, as the caller of the call that ctx belongs to.
	Caller kernelcontract.Caller
	// HasService reports whether an enabled plugin offers a service.
	HasService func(id string) bool
	// Log is the plugin's logger.
	Log *slog.Logger
}

// Loaded is a plugin that a kernel has set up.
type Loaded struct {
	Services []*kernelcontract.ServiceDef      // in the plugin's order
	Handlers map[string]kernelcontract.Handler // by ref, one for each method of Services
	Guards   []Guard                           // in the order in which they were added
	Requires []string                          // ids of the services that Setup required
	Guide    []Chapter

	Providers        []Provider // in the plugin's order
	InteractionKinds []string
	Skills           []Skill // in the order of their names

	stop func(ctx context.Context) error
}

// Stop ends the plugin's context and runs its OnStop functions, the last one first; their errors and panics are joined.
// It runs them once, however often it is called, and every call waits for that.
func (l *Loaded) Stop(ctx context.Context) error { return l.stop(ctx) }

// Load sets a plugin up for a kernel. ctx bounds Setup and lends its values to the plugin; the plugin's own context
// ends with Stop. The error is a *LoadError with every problem of the value, of Setup and of what it provided; what
// Setup had begun has been stopped by then. Load never panics.
func Load(ctx context.Context, p *Plugin, b Backend) (*Loaded, error) {
	if p == nil {
		return nil, &LoadError{PluginID: "?", Problems: []error{errors.New("the plugin is nil")}}
	}
	if b.Log == nil {
		b.Log = slog.New(slog.DiscardHandler)
	}
	h := &Host{plugin: p, backend: b, handlers: map[string]kernelcontract.Handler{}, programs: map[string]bridge.Program{}}
	defs := h.checkValue()
	guide, err := readGuide(p.Guide)
	if err != nil {
		h.problems = append(h.problems, err)
	}
	skills, err := readSkills(p.Skills)
	if err != nil {
		h.problems = append(h.problems, err)
	}
	if len(h.problems) > 0 {
		return nil, &LoadError{PluginID: p.ID, Problems: h.problems}
	}

	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, cancel)
	stop := stopOnce(h, cancel)
	problems := h.setUp(own, defs)
	if !release() {
		problems.add("Setup did not finish in time: %w", context.Cause(ctx))
	}
	if len(problems) > 0 {
		if err := stop(context.WithoutCancel(ctx)); err != nil {
			problems = append(problems, err)
		}
		return nil, &LoadError{PluginID: p.ID, Problems: problems}
	}
	return &Loaded{
		Services: defs, Handlers: h.handlers, Guards: h.guards, Requires: h.requires, Guide: guide,
		Providers: h.provided(), InteractionKinds: slices.Clone(p.InteractionKinds), Skills: skills, stop: stop,
	}, nil
}

func stopOnce(h *Host, cancel context.CancelFunc) func(context.Context) error {
	var once sync.Once
	var err error
	return func(ctx context.Context) error {
		once.Do(func() {
			cancel()
			err = h.stop(ctx)
		})
		return err
	}
}

// checkValue checks the plugin as a value and returns its services.
func (h *Host) checkValue() []*kernelcontract.ServiceDef {
	var defs []*kernelcontract.ServiceDef
	err := h.contain("a definition", func() error {
		h.defs, defs = h.plugin.check(&h.problems)
		return nil
	})
	if err != nil {
		h.problems = append(h.problems, err)
	}
	return defs
}

// setUp runs the plugin's Setup, ends the phase in which it may provide, and returns what went wrong.
func (h *Host) setUp(ctx context.Context, defs []*kernelcontract.ServiceDef) problems {
	var err error
	if h.plugin.Setup != nil {
		err = h.contain("Setup", func() error { return h.plugin.Setup(ctx, h) })
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.phase = running
	if err != nil { // what is not provided then follows from it
		return append(problems{err}, h.problems...)
	}
	for _, def := range defs {
		for _, m := range def.Methods {
			if _, ok := h.handlers[m.Ref()]; !ok {
				h.problems.add("%s has no handler: pass one to Provide", m.Ref())
			}
		}
	}
	h.checkPrograms()
	return h.problems
}
