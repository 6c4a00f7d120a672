package kernelcore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/pluginsdk"
)

// Programs keeps the files of plugins that are installed while the kernel runs. Package kernelcore/procplugin/folder has one; an
// embedder may bring plugins from elsewhere. All methods may be called concurrently.
type Programs interface {
	// Unpack checks the archive in a file, without running anything of it, and puts its content in a place of its own, by
	// whose name it is known from then on. The error says what is wrong with the archive; nothing is left then.
	Unpack(ctx context.Context, archive string) (place string, err error)
	// Open reads the plugin in a place as it is now, without running it. Its Setup runs it.
	Open(place string) (*pluginsdk.Plugin, error)
	// Remove deletes a place. That there is none is no error.
	Remove(place string) error
	// Places lists all places: the kernel removes those at its start that it does not know, which a crash has left.
	Places() ([]string, error)
}

// programsBucket keeps by plugin id which place an installed plugin is in.
const programsBucket = "programs"

// installed is what is kept of an installed plugin.
type installed struct {
	Place string    `json:"place"`
	Order int       `json:"order"` // of the installation: composition order
	Since time.Time `json:"since"` // of this version
}

// installedPrograms returns what is installed, by plugin id.
func (k *Kernel) installedPrograms(ctx context.Context) (map[string]*installed, error) {
	list := map[string]*installed{}
	err := k.store.View(ctx, func(tx store.Tx) error {
		for e, err := range tx.Range(programsBucket, store.Range{}) {
			if err != nil {
				return err
			}
			var p installed
			if err := json.Unmarshal(e.Value, &p); err != nil {
				return fmt.Errorf("the row of the installed plugin %s is damaged: %w", e.Key, err)
			}
			list[e.Key] = &p
		}
		return nil
	})
	return list, err
}

// composePrograms returns the installed plugins in composition order, and removes the places that belong to none.
func (k *Kernel) composePrograms(ctx context.Context, rows map[string]row) ([]*composed, error) {
	if k.o.Programs == nil {
		return nil, nil
	}
	list, err := k.installedPrograms(ctx)
	if err != nil {
		return nil, err
	}
	var plugins []*composed
	known := map[string]bool{}
	for id, p := range list {
		known[p.Place] = true
		c := &composed{program: p, state: manifest.Ready}
		if r, ok := rows[id]; ok {
			c.state = r.State
		}
		k.openProgram(id, c)
		plugins = append(plugins, c)
	}
	slices.SortFunc(plugins, func(a, b *composed) int { return cmp.Compare(a.program.Order, b.program.Order) })
	places, err := k.o.Programs.Places()
	if err != nil {
		k.log.Warn("the places of installed plugins cannot be listed", "error", err)
	}
	for _, place := range places {
		if !known[place] {
			if err := k.o.Programs.Remove(place); err != nil {
				k.log.Warn("what is left of a plugin cannot be removed", "place", place, "error", err)
			}
		}
	}
	return plugins, nil
}

// openProgram reads the plugin in a place into c. One that cannot be read is failed, and keeps its id.
func (k *Kernel) openProgram(id string, c *composed) {
	p, err := k.o.Programs.Open(c.program.Place)
	if err == nil && p.ID != id {
		err = fmt.Errorf("it says that it is the plugin %q", p.ID)
	}
	if err != nil {
		c.plugin, c.err = &pluginsdk.Plugin{ID: id}, fmt.Errorf("the installed plugin cannot be read: %w: install it again", err)
		if c.state == manifest.Ready {
			c.state = manifest.Failed
		}
		return
	}
	c.plugin, c.err = p, nil
}

// Install installs the plugin in an archive, or replaces the one that is installed under its id: the new one is set up first, and
// one swap puts it in the place of the old one, whose calls in flight finish. A plugin that is disabled stays so. It returns the plugin's id.
//
// The error is Precondition when the plugin cannot be set up, with the reason: what was there then runs on; Conflict for an
// id that is compiled in; that of Programs.Unpack; and that of the store.
func (k *Kernel) Install(ctx context.Context, archive string) (id string, err error) {
	if k.o.Programs == nil {
		return "", kernelcontract.Precondition.Errorf("this server takes no plugins: it was started without a place for them")
	}
	place, err := k.o.Programs.Unpack(ctx, archive)
	if err != nil {
		return "", err
	}
	kept := false
	defer func() {
		if !kept {
			err = errors.Join(err, k.o.Programs.Remove(place))
		}
	}()
	p, err := k.o.Programs.Open(place)
	if err != nil {
		return "", kernelcontract.InvalidInput.Errorf("the plugin cannot be installed: %s", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return "", errStopping()
	}
	if k.removing[p.ID] {
		return "", kernelcontract.Conflict.Errorf("the plugin %s is being removed: install it once its calls in flight are done and its data is gone", p.ID)
	}
	old := k.current.Load()
	plugins := cloneRow(old.plugins)
	next := &composed{plugin: p, state: manifest.Ready, program: &installed{Place: place, Since: time.Now().UTC()}}
	i := slices.IndexFunc(plugins, func(c *composed) bool { return c.plugin.ID == p.ID })
	formerPlace, over := "", (<-chan struct{})(nil)
	switch {
	case i >= 0 && plugins[i].program == nil || p.ID == kernelcontract.KernelID:
		return "", kernelcontract.Conflict.Errorf("the plugin %s is a part of the server: give yours another id", p.ID)
	case i >= 0:
		former := plugins[i]
		next.program.Order, next.stopped, formerPlace, over = former.program.Order, former.stopped, former.program.Place, former.stopped
		if former.state == manifest.Disabled {
			next.state = manifest.Disabled
		}
		plugins[i] = next
	default:
		for _, c := range plugins {
			if c.program != nil {
				next.program.Order = max(next.program.Order, c.program.Order+1)
			}
		}
		plugins = append(plugins, next)
	}
	if next.state == manifest.Ready {
		k.load(ctx, next, k.offeredBy(plugins))
	}
	if next.err != nil {
		hint := "nothing was installed"
		if i >= 0 {
			hint = "what was there stays as it was"
		}
		return "", kernelcontract.Precondition.Errorf("the plugin %s cannot be set up, so %s: %s", p.ID, hint, next.err)
	}
	if err := k.install(ctx, plugins, old.listProblems, next); err != nil {
		return "", err
	}
	kept = true
	k.faults.forget(p.ID)
	if formerPlace != "" {
		k.removePlace(formerPlace, over)
	}
	return p.ID, nil
}

// removePlace removes the place of a plugin that has been replaced, once its last life is over.
func (k *Kernel) removePlace(place string, over <-chan struct{}) {
	k.work.Go(func() {
		if over != nil {
			select {
			case <-over:
			case <-k.ctx.Done(): // the next start removes it
				return
			}
		}
		if err := k.o.Programs.Remove(place); err != nil {
			k.log.Warn("the files of a plugin that was replaced cannot be removed", "place", place, "error", err)
		}
	})
}

// saveProgram stores where an installed plugin is, or that it is no more.
func saveProgram(tx store.Tx, c *composed) error {
	switch {
	case c.program == nil:
		return nil
	case c.state == manifest.Removed:
		return errors.Join(tx.Delete(programsBucket, c.plugin.ID), tx.Delete(rowsBucket, c.plugin.ID))
	}
	raw, err := json.Marshal(c.program)
	if err != nil {
		return err
	}
	return tx.Put(programsBucket, c.plugin.ID, raw)
}
