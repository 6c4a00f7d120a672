package kernelcore

import (
	"context"
	"maps"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcore/internal/pluginlog"
	"github.com/bb-kernel/bb/pluginsdk"
)

// Degrade says what keeps a plugin from working as it should, for as long as that holds; err nil says that it is over. name tells the problems
// of one plugin apart. It is for what runs plugins, such as package procplugin.
func (k *Kernel) Degrade(pluginID, name string, err error) { k.faults.set(pluginID, name, err) }

// Fail takes a plugin out of the catalog that cannot go on, and lists it as failed with the cause; Reload brings it back. It
// does nothing when p is not what is composed under its id. It is for what runs plugins; their Setup must not call it.
func (k *Kernel) Fail(p *pluginsdk.Plugin, cause error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	old := k.current.Load()
	plugins := cloneRow(old.plugins)
	for i, c := range plugins {
		if c.plugin != p || c.state != manifest.Ready {
			continue
		}
		plugins[i] = &composed{plugin: p, program: c.program, state: manifest.Failed, err: cause, stopped: c.stopped}
		k.log.Error("plugin failed", "plugin", p.ID, "error", cause)
		k.faults.forget(p.ID)
		if err := k.install(context.WithoutCancel(k.ctx), plugins, old.listProblems, nil); err != nil {
			k.faults.add(p.ID, cause) // the store refuses: the plugin stays in the catalog and answers that it is not available
		}
		return
	}
}

// Program is a kind of program that a kernel looks after.
type Program string

// The kinds of programs.
const (
	PluginProgram Program = "plugin" // by the plugin's id
	BridgeProgram Program = "bridge" // by the provider's id
)

// restarts counts by program.
type restarts struct {
	mu     sync.Mutex
	counts map[Program]map[string]uint64
}

// Restarted counts that a program was started again after it had ended by itself.
func (k *Kernel) Restarted(kind Program, id string) {
	k.restarts.mu.Lock()
	defer k.restarts.mu.Unlock()
	if k.restarts.counts == nil {
		k.restarts.counts = map[Program]map[string]uint64{PluginProgram: {}, BridgeProgram: {}}
	}
	k.restarts.counts[kind][id]++
}

// Restarts returns how often programs of a kind were started again, by id, since the kernel began.
func (k *Kernel) Restarts(kind Program) map[string]uint64 {
	k.restarts.mu.Lock()
	defer k.restarts.mu.Unlock()
	return maps.Clone(k.restarts.counts[kind])
}

// UploadsWaiting returns how many files were sent and are not used yet.
func (k *Kernel) UploadsWaiting() int { return k.uploads.Waiting() }

// pluginLog returns the last records of a plugin's log.
func (k *Kernel) pluginLog(id string) *pluginlog.Log {
	k.logsMu.Lock()
	defer k.logsMu.Unlock()
	l := k.logs[id]
	if l == nil {
		l = pluginlog.New()
		k.logs[id] = l
	}
	return l
}
