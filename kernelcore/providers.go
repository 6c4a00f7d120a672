package kernelcore

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// Provider is a provider of agents in the current composition.
type Provider struct {
	PluginID, PluginVersion string
	Declaration             protocol.ProviderDeclaration
	Program                 bridge.Program // with its Options filled
	InteractionKinds        []string       // of the plugin, as <plugin id>/<kind>
}

// Skill is a skill that a plugin of the current composition brings for agents.
type Skill struct {
	PluginID, Name string
	FS             fs.FS // the skill's folder, with a SKILL.md
}

// Providers returns the providers of the plugins that are ready, in composition order. Of two with one id the earlier one
// wins, and the other one is a problem.
func (k *Kernel) Providers() []Provider {
	list, _ := providersOf(k.plugins())
	return list
}

// plugins returns those of the current composition; none before there is one, as a Setup may see.
func (k *Kernel) plugins() []*composed {
	c := k.current.Load()
	if c == nil {
		return nil
	}
	return c.plugins
}

// providersOf returns the providers of plugins, and a problem for each that an earlier one hides.
func providersOf(plugins []*composed) (list []Provider, problems []error) {
	owner := map[string]string{}
	for _, p := range plugins {
		if p.loaded == nil || p.instance == nil {
			continue
		}
		for _, one := range p.loaded.Providers {
			id := one.Declaration.ID
			if first, taken := owner[id]; taken {
				problems = append(problems, &ProblemError{Plugin: p.plugin.ID,
					Err: fmt.Errorf("the provider %s is left out: plugin %s comes earlier and has it too; disable one of the plugins", id, first)})
				continue
			}
			owner[id] = p.plugin.ID
			list = append(list, Provider{
				PluginID: p.plugin.ID, PluginVersion: p.plugin.Version, Declaration: one.Declaration, Program: one.Program,
				InteractionKinds: p.loaded.InteractionKinds,
			})
		}
	}
	return list, problems
}

// Skills returns the skills of the plugins that are ready, in composition order.
func (k *Kernel) Skills() []Skill {
	var list []Skill
	for _, p := range k.plugins() {
		if p.loaded == nil || p.instance == nil {
			continue
		}
		for _, s := range p.loaded.Skills {
			list = append(list, Skill{PluginID: p.plugin.ID, Name: s.Name, FS: s.FS})
		}
	}
	return list
}

// Changed returns a channel that is closed at the next change of the composition.
func (k *Kernel) Changed() <-chan struct{} {
	k.changedMu.Lock()
	defer k.changedMu.Unlock()
	return k.changed
}

// announce tells those who wait for a change.
func (k *Kernel) announce() {
	k.changedMu.Lock()
	defer k.changedMu.Unlock()
	close(k.changed)
	k.changed = make(chan struct{})
}

// Store returns where the kernel keeps its state. It is for plugins that are a part of the kernel; the kernel's own buckets
// are not to be written.
func (k *Kernel) Store() Store { return k.store }

// URL returns where clients reach Handler, as Options.URL gave it; "" when nobody said.
func (k *Kernel) URL() string { return k.o.URL }

// DataDir returns the directory for what has to be in files: the absolute path of Options.DataDir, or a temporary directory,
// which is made when it is first asked for and removed by Close.
func (k *Kernel) DataDir() string { return k.dataDir() }

// PluginDir returns the directory of a plugin's programs, such as its bridges. It need not exist. Remove deletes it.
func (k *Kernel) PluginDir(pluginID string) string {
	return filepath.Join(k.DataDir(), "plugins-data", pluginID)
}

// removePluginDir deletes what the programs of a plugin have kept.
func (k *Kernel) removePluginDir(pluginID string) error {
	if k.o.DataDir == "" && k.temporary.Load() == nil {
		return nil // nobody has kept anything
	}
	return os.RemoveAll(k.PluginDir(pluginID))
}

// makeDataDir makes the directory of a kernel that was given none. It is called once.
func (k *Kernel) makeDataDir() string {
	if k.o.DataDir != "" {
		if dir, err := filepath.Abs(k.o.DataDir); err == nil { // programs in other directories get to know it
			return dir
		}
		return k.o.DataDir
	}
	dir, err := os.MkdirTemp("", "bb-kernel-")
	if err != nil { // whoever uses the directory learns of it
		k.log.Error("there is no directory for files; set Options.DataDir", "error", err)
		return filepath.Join(os.TempDir(), "bb-kernel-"+k.serverID)
	}
	k.temporary.Store(&dir)
	return dir
}

// removeTemporary removes the directory that makeDataDir made.
func (k *Kernel) removeTemporary() error {
	if dir := k.temporary.Load(); dir != nil {
		return os.RemoveAll(*dir)
	}
	return nil
}
