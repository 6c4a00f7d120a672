package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// Host is the kernel as one plugin sees it. Setup gets it and may keep it. Provide, ProvideBridge, Require and Guard belong
// into Setup; everything else works until the plugin has stopped. All methods are safe for concurrent use.
type Host struct {
	plugin  *Plugin
	backend Backend
	defs    map[*kernelcontract.Service]*kernelcontract.ServiceDef

	mu       sync.Mutex
	phase    phase
	problems problems
	handlers map[string]kernelcontract.Handler
	guards   []Guard
	requires []string
	programs map[string]bridge.Program
	stops    []func(context.Context) error
}

type phase uint8

const (
	settingUp phase = iota
	running
	stopped
)

// Guard may refuse a call before its handler runs: the caller then gets kernelcontract.Vetoed with the error's message as
// the reason and the plugin in Details "by". The input is valid and complete; info and input are not to be changed.
// A guard sees the calls of every service. A plugin's guards run in the order in which they were added.
type Guard func(ctx context.Context, info *kernelcontract.CallInfo, input json.RawMessage) error

// Provide pairs a service of the plugin with the functions that answer its methods. What is missing, extra, repeated,
// nil or of another definition is a load error that names the method.
func (h *Host) Provide(s *kernelcontract.Service, handlers ...kernelcontract.Handler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.inSetup("Provide") {
		return
	}
	def := h.defs[s]
	if def == nil {
		h.problems.add("the service %s was provided and is not in the plugin's Services", serviceName(s))
		return
	}
	for _, handler := range handlers {
		m, err := methodOf(def, handler)
		if err != nil {
			h.problems.add("%w", err)
			continue
		}
		if _, twice := h.handlers[m.Ref()]; twice {
			h.problems.add("%s has two handlers", m.Ref())
			continue
		}
		h.handlers[m.Ref()] = handler
	}
}

// Require injects another plugin's service: calls through the result are made as this plugin and reach that service
// only. That no plugin offers the service is a load error.
func (h *Host) Require(s *kernelcontract.Service) kernelcontract.Caller {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.inSetup("Require") {
		return injected{service: serviceName(s), plugin: h.plugin.ID}
	}
	if s == nil {
		h.problems.add("the required service is nil")
		return injected{service: "nil", plugin: h.plugin.ID}
	}
	if _, err := s.Def(); err != nil {
		h.problems.add("the required service %s: %w", s.ID, err)
	} else if h.backend.Caller == nil || h.backend.HasService == nil || !h.backend.HasService(s.ID) {
		h.problems.add("the required service %s is not there: add the plugin that provides it, and enable it", s.ID)
	}
	h.requires = append(h.requires, s.ID)
	return injected{service: s.ID, plugin: h.plugin.ID, through: h.backend.Caller}
}

// RequireByID is Require for a plugin that learns what it needs while it is set up, such as one whose program says it.
// It returns nil when no plugin offers the service, which is a load error.
func (h *Host) RequireByID(id string) kernelcontract.Caller {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.inSetup("RequireByID") {
		return nil
	}
	h.requires = append(h.requires, id)
	if h.backend.Caller == nil || h.backend.HasService == nil || !h.backend.HasService(id) {
		h.problems.add("the required service %s is not there: add the plugin that provides it, and enable it", id)
		return nil
	}
	return injected{service: id, plugin: h.plugin.ID, through: h.backend.Caller}
}

// Guard adds a function that may refuse calls.
func (h *Host) Guard(g Guard) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.inSetup("Guard"):
	case g == nil:
		h.problems.add("a guard is nil")
	default:
		h.guards = append(h.guards, g)
	}
}

// OnStop adds a function that runs when the plugin stops, also when Setup fails afterwards. The last one added runs
// first. Its context bounds it: the kernel does not wait longer. A function added after the plugin has stopped does not run.
func (h *Host) OnStop(fn func(ctx context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.phase == stopped:
		h.Log().Error("OnStop was called after the plugin had stopped; the function does not run")
	case fn == nil:
		h.problems.add("a function of OnStop is nil")
	default:
		h.stops = append(h.stops, fn)
	}
}

// KV returns the plugin's own store.
func (h *Host) KV() KV { return KV{backend: h.backend.KV} }

// Log returns the logger of the plugin.
func (h *Host) Log() *slog.Logger { return h.backend.Log }

// inSetup reports whether Setup still runs; a later call is the plugin's mistake and goes to its log. h.mu is held.
func (h *Host) inSetup(method string) bool {
	if h.phase != settingUp {
		h.Log().Error(method + " was called after Setup had returned; it has no effect")
	}
	return h.phase == settingUp
}

// stop runs the functions of OnStop, the last one first, each of them whatever the others do.
func (h *Host) stop(ctx context.Context) error {
	h.mu.Lock()
	h.phase = stopped
	stops := h.stops
	h.stops = nil
	h.mu.Unlock()
	var errs []error
	for i := len(stops) - 1; i >= 0; i-- {
		if err := h.contain("a function of OnStop", func() error { return stops[i](ctx) }); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// contain runs fn and returns its panic as an error; the stack goes to the plugin's log.
func (h *Host) contain(what string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			h.Log().Error(what+" panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s panicked: %v", what, p)
		}
	}()
	return fn()
}

// injected is a service of another plugin.
type injected struct {
	service, plugin string
	through         kernelcontract.Caller // nil when the service was not there
}

// Call runs a query or a mutation of the service.
func (c injected) Call(ctx context.Context, ref string, in, out any) error {
	if err := c.check(ref); err != nil {
		return err
	}
	return c.through.Call(ctx, ref, in, out)
}

// Open runs a stream of the service.
func (c injected) Open(ctx context.Context, ref string, in any, since string) iter.Seq2[kernelcontract.Event[json.RawMessage], error] {
	if err := c.check(ref); err != nil {
		return func(yield func(kernelcontract.Event[json.RawMessage], error) bool) {
			yield(kernelcontract.Event[json.RawMessage]{}, err)
		}
	}
	return c.through.Open(ctx, ref, in, since)
}

func (c injected) check(ref string) error {
	if c.through == nil {
		return kernelcontract.ServiceUnavailable.Errorf("the service %s was not there when plugin %s was set up", c.service, c.plugin)
	}
	if pluginID, service, _, ok := kernelcontract.SplitRef(ref); !ok || pluginID+"/"+service != c.service {
		return kernelcontract.Internal.Errorf("plugin %s calls %s through the service %s: Require the service that has the method", c.plugin, ref, c.service)
	}
	return nil
}
