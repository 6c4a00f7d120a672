// Package services answers the kernel's own services, whose definitions are in kernelapi. They are ordinary ones: the
// kernel puts them first into its composition.
package services

import (
	"context"
	"net/http"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/word"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
	"github.com/bb-kernel/bb/kernelcore/internal/pluginlog"
	"github.com/bb-kernel/bb/kernelcore/internal/settings"
	"github.com/bb-kernel/bb/kernelcore/internal/uploads"
	"github.com/bb-kernel/bb/kernelcore/token"
	"github.com/bb-kernel/bb/pluginsdk"
)

// Kernel is what the services need of the kernel. Every field is required, but Shutdown.
type Kernel struct {
	ServerID string
	Started  time.Time
	Config   settings.Config
	Secrets  settings.Secrets
	Tokens   *token.Tokens
	Hosts    *token.Hosts

	Snapshot func() Snapshot
	Draining func() bool
	Calls    func(n int) []engine.CallRecord

	Enable, Disable, Remove, Reload func(ctx context.Context, id string) error
	// Install installs the plugin in an archive and returns its id.
	Install func(ctx context.Context, archive string) (string, error)
	Uploads *uploads.Uploads
	// Log returns the log of a plugin, Restarts how often its program was started again.
	Log      func(id string) *pluginlog.Log
	Restarts func() map[string]uint64
	// Shutdown asks the program to stop and returns at once; nil: it cannot.
	Shutdown func()
}

// Snapshot is one state of the composition.
type Snapshot struct {
	Generation uint64
	Plugins    []Plugin // in composition order, the kernel first
	Tree       *word.Tree
	Problems   []manifest.Problem
}

// Plugin is a plugin of the composition.
type Plugin struct {
	ID, Version, Summary string
	Source               kernelapi.PluginSource
	State                manifest.State
	Services             []*kernelcontract.ServiceDef // what it offers now
	Declared             []*kernelcontract.Service    // what it offers when it is ready
	Providers            []protocol.ProviderDeclaration
	InteractionKinds     []string
	Requires             []string
	Config               []pluginsdk.ConfigKey
	Guide                []pluginsdk.Chapter
}

// plugin returns a plugin of the snapshot.
func (s *Snapshot) plugin(id string) (*Plugin, error) {
	for i := range s.Plugins {
		if s.Plugins[i].ID == id {
			return &s.Plugins[i], nil
		}
	}
	return nil, kernelcontract.NotFound.Errorf("there is no plugin %q: `bb plugin list` shows them", id)
}

// Source returns the services with their functions.
func Source(k Kernel) (engine.Source, error) {
	src := engine.Source{ID: kernelcontract.KernelID, Handlers: map[string]kernelcontract.Handler{}}
	for _, s := range append(kernelapi.Services(), uploadService) {
		def, err := s.Def()
		if err != nil {
			return engine.Source{}, err
		}
		src.Services = append(src.Services, def)
	}
	a := &answers{Kernel: k, contract: &contract{}}
	for _, h := range []kernelcontract.Handler{
		kernelapi.GetManifest.Handle(a.getManifest),
		kernelapi.GetReference.Handle(a.getReference),
		kernelapi.ListPlugins.Handle(a.listPlugins),
		kernelapi.ShowPlugin.Handle(a.showPlugin),
		kernelapi.InstallPlugin.Handle(a.installPlugin),
		kernelapi.PluginLogs.Handle(a.pluginLogs),
		putUpload.Handle(http.HandlerFunc(a.putUpload)),
		kernelapi.EnablePlugin.Handle(a.enablePlugin),
		kernelapi.DisablePlugin.Handle(a.disablePlugin),
		kernelapi.ReloadPlugins.Handle(a.reloadPlugins),
		kernelapi.RemovePlugin.Handle(a.removePlugin),
		kernelapi.GetConfig.Handle(a.getConfig),
		kernelapi.SetConfig.Handle(a.setConfig),
		kernelapi.UnsetConfig.Handle(a.unsetConfig),
		kernelapi.SetSecret.Handle(a.setSecret),
		kernelapi.ListSecrets.Handle(a.listSecrets),
		kernelapi.DeleteSecret.Handle(a.deleteSecret),
		kernelapi.ListHosts.Handle(a.listHosts),
		kernelapi.EnrollHost.Handle(a.enrollHost),
		kernelapi.RemoveHost.Handle(a.removeHost),
		kernelapi.GetStatus.Handle(a.getStatus),
		kernelapi.ListProblems.Handle(a.listProblems),
		kernelapi.ListCalls.Handle(a.listCalls),
		kernelapi.Shutdown.Handle(a.shutdown),
		kernelapi.CreateToken.Handle(a.createToken),
		kernelapi.ListTokens.Handle(a.listTokens),
		kernelapi.RevokeToken.Handle(a.revokeToken),
		kernelapi.ListChapters.Handle(a.listChapters),
		kernelapi.GetSkill.Handle(a.getSkill),
	} {
		src.Handlers[h.Ref()] = h
	}
	return src, nil
}

// answers holds the functions of the services.
type answers struct {
	Kernel
	contract *contract
}
