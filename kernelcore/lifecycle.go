package kernelcore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcore/internal/settings"
	"github.com/bb-kernel/bb/kernelcore/store"
)

// Enable brings a disabled or removed plugin back. The error is NotFound for an unknown id, and says why when the plugin
// cannot be loaded; it is then listed as failed.
func (k *Kernel) Enable(ctx context.Context, id string) error {
	return k.change(ctx, id, func(p *composed, offered map[string]bool) error {
		switch {
		case p.state == manifest.Ready:
			return nil
		case k.removing[id]:
			return kernelcontract.Conflict.Errorf("the plugin %s is being removed: enable it once its calls in flight are done and its data is gone", id)
		}
		for _, s := range p.plugin.Services {
			if s != nil {
				offered[s.ID] = true
			}
		}
		if p.program != nil && p.err != nil {
			p.state = manifest.Ready
			if k.openProgram(id, p); p.err != nil {
				return nil
			}
		}
		k.load(ctx, p, offered)
		return nil
	})
}

// Disable takes a plugin out of the catalog, also across restarts, and keeps its data. Calls in flight finish.
func (k *Kernel) Disable(ctx context.Context, id string) error {
	return k.change(ctx, id, func(p *composed, _ map[string]bool) error {
		*p = composed{plugin: p.plugin, program: p.program, state: manifest.Disabled, stopped: p.stopped}
		return nil
	})
}

// Remove takes a plugin out of the catalog and deletes its data, settings and files. An installed plugin is
// gone then. A plugin that is compiled into the program stays listed as removed; Enable brings it back, empty. Until its calls in flight are done it cannot be enabled.
func (k *Kernel) Remove(ctx context.Context, id string) error {
	var stopped <-chan struct{}
	marked, place := false, ""
	defer func() {
		if marked {
			k.mu.Lock()
			delete(k.removing, id)
			k.mu.Unlock()
		}
	}()
	err := k.change(ctx, id, func(p *composed, _ map[string]bool) error {
		if k.removing[id] {
			return kernelcontract.Conflict.Errorf("the plugin %s is being removed already", id)
		}
		stopped = p.stopped
		*p = composed{plugin: p.plugin, program: p.program, state: manifest.Removed, stopped: p.stopped}
		if p.program != nil {
			place = p.program.Place
		}
		k.removing[id], marked = true, true
		return nil
	})
	if err != nil {
		return err
	}
	if stopped != nil { // what calls in flight still write goes too
		select {
		case <-stopped:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err = k.store.Update(ctx, func(tx store.Tx) error {
		for _, bucket := range []string{kvBucket(id), settings.ConfigBucket(id)} {
			for e, err := range tx.Range(bucket, store.Range{}) {
				if err != nil {
					return err
				}
				if err := tx.Delete(bucket, e.Key); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if place != "" {
		if err := k.o.Programs.Remove(place); err != nil {
			return fmt.Errorf("the plugin's files: %w", err)
		}
	}
	return k.removePluginDir(id)
}

// Reload gives plugins a new life: their Setup runs again and one swap puts them into the catalog. id "" means every
// enabled plugin. One that cannot be loaded keeps its old life, and the error says why; the others are renewed. One that
// had failed before stays listed as failed.
func (k *Kernel) Reload(ctx context.Context, id string) error {
	if id != "" {
		return k.change(ctx, id, func(p *composed, offered map[string]bool) error {
			if err := k.renew(ctx, p, offered); err != nil {
				return err
			}
			return nil
		})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return errStopping()
	}
	old := k.current.Load()
	plugins := cloneRow(old.plugins)
	offered := k.offeredBy(plugins)
	var failures []string
	for _, p := range plugins {
		if p.state != manifest.Ready && p.state != manifest.Failed {
			continue
		}
		if err := k.renew(ctx, p, offered); err != nil {
			failures = append(failures, err.Message)
			continue
		}
		k.faults.forget(p.plugin.ID)
	}
	if err := k.install(ctx, plugins, old.listProblems, nil); err != nil {
		return err
	}
	if len(failures) > 0 {
		return kernelcontract.Precondition.Errorf("%s", strings.Join(failures, "; "))
	}
	return nil
}

// renew loads p again. When that fails and p was ready, p stays as it was.
func (k *Kernel) renew(ctx context.Context, p *composed, offered map[string]bool) *kernelcontract.Error {
	if p.state == manifest.Disabled || p.state == manifest.Removed {
		return kernelcontract.Conflict.Errorf("the plugin %s is %s: enable it with `bb plugin enable %s`", p.plugin.ID, p.state, p.plugin.ID)
	}
	next := &composed{plugin: p.plugin, program: p.program, stopped: p.stopped, state: manifest.Ready}
	if p.program != nil { // its contract may have changed
		k.openProgram(p.plugin.ID, next)
	}
	if next.err == nil {
		k.load(ctx, next, offered)
	}
	if next.state == manifest.Failed && p.state == manifest.Ready {
		return kernelcontract.Precondition.Errorf("the plugin %s keeps running as it was, because its new life failed: %s", p.plugin.ID, next.err)
	}
	*p = *next
	return nil
}

// change runs fn on a copy of a plugin's place in the composition and installs the result.
func (k *Kernel) change(ctx context.Context, id string, fn func(p *composed, offered map[string]bool) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return errStopping()
	}
	old := k.current.Load()
	plugins := cloneRow(old.plugins)
	i := slices.IndexFunc(plugins, func(p *composed) bool { return p.plugin.ID == id })
	switch {
	case id == kernelcontract.KernelID:
		return kernelcontract.Conflict.Errorf("the kernel itself cannot be changed, only plugins can")
	case i < 0:
		return kernelcontract.NotFound.Errorf("there is no plugin %q: `bb plugin list` shows them", id)
	}
	if err := fn(plugins[i], k.offeredBy(plugins)); err != nil {
		return err
	}
	k.faults.forget(id)
	changed := plugins[i]
	if changed.program != nil && changed.state == manifest.Removed {
		plugins = slices.Delete(plugins, i, i+1)
	}
	if err := k.install(ctx, plugins, old.listProblems, changed); err != nil {
		return err
	}
	if err := changed.err; err != nil {
		return kernelcontract.Precondition.Errorf("the plugin %s is enabled and does not load: %s", id, err)
	}
	return nil
}

func cloneRow(plugins []*composed) []*composed {
	row := make([]*composed, len(plugins))
	for i, p := range plugins {
		c := *p
		row[i] = &c
	}
	return row
}

func errStopping() error {
	return fmt.Errorf("the kernel is closed: %w", kernelcontract.ServiceUnavailable)
}
