package kernelcore

import (
	"errors"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
	"github.com/bb-kernel/bb/kernelcore/internal/services"
	"github.com/bb-kernel/bb/kernelcore/internal/settings"
)

// kernelInstance makes the kernel's own services, which come first in every composition and are never retired.
func (k *Kernel) kernelInstance() (*engine.Instance, []*kernelcontract.ServiceDef, error) {
	source, err := services.Source(services.Kernel{
		ServerID: k.serverID, Started: k.started,
		Config: k.config(), Secrets: k.secrets(), Tokens: k.tokens, Hosts: k.hosts,
		Snapshot: k.snapshot, Draining: k.engine.Draining, Calls: k.Calls,
		Enable: k.Enable, Disable: k.Disable, Remove: k.Remove, Reload: k.Reload, Install: k.Install, Shutdown: k.o.OnShutdown,
		Uploads: k.uploads, Log: k.pluginLog, Restarts: func() map[string]uint64 { return k.Restarts(PluginProgram) },
	})
	if err != nil {
		return nil, nil, err
	}
	return engine.NewInstance(source), source.Services, nil
}

func (k *Kernel) config() settings.Config { return settings.Config{Store: k.store} }

func (k *Kernel) secrets() settings.Secrets { return settings.Secrets{Store: k.store, Box: k.box} }

// snapshot describes the current composition to the kernel's services.
func (k *Kernel) snapshot() services.Snapshot {
	c := k.current.Load()
	s := services.Snapshot{Generation: c.catalog.Generation, Tree: c.tree, Problems: []manifest.Problem{}}
	s.Plugins = append(s.Plugins, services.Plugin{
		ID: kernelcontract.KernelID, Summary: "The kernel itself", Source: kernelapi.BuiltIn, State: manifest.Ready, Services: k.own,
	})
	for _, p := range c.plugins {
		out := services.Plugin{ID: p.plugin.ID, Version: p.plugin.Version, Summary: p.plugin.Summary, State: p.state, Config: p.plugin.Config, Declared: p.plugin.Services, Source: kernelapi.BuiltIn}
		if p.program != nil {
			out.Source = kernelapi.Installed
		}
		if p.loaded != nil {
			out.Services, out.Requires, out.Guide = p.loaded.Services, p.loaded.Requires, p.loaded.Guide
			out.InteractionKinds = p.loaded.InteractionKinds
			for _, one := range p.loaded.Providers {
				out.Providers = append(out.Providers, one.Declaration)
			}
		}
		s.Plugins = append(s.Plugins, out)
	}
	for _, err := range k.Problems() {
		problem := manifest.Problem{Message: err.Error()}
		var p *ProblemError
		if errors.As(err, &p) {
			problem = manifest.Problem{PluginID: p.Plugin, Message: p.Err.Error()}
		}
		s.Problems = append(s.Problems, problem)
	}
	return s
}
