package kernelcore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/word"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/pluginsdk"
)

// composed is a plugin in a composition.
type composed struct {
	plugin   *pluginsdk.Plugin
	state    manifest.State
	err      error // why it failed
	loaded   *pluginsdk.Loaded
	instance *engine.Instance // nil unless ready
	program  *installed       // nil: compiled in
	// stopped is closed once the instance and those of all earlier lives have been retired; previous is that of the life
	// before.
	stopped, previous chan struct{}
}

// stop retires the plugin and runs its stop functions. Streams get grace.
func (p *composed) stop(ctx context.Context, grace time.Duration) error {
	if p.instance == nil {
		return nil
	}
	var errs []error
	if !p.instance.Retire(ctx, grace) {
		errs = append(errs, fmt.Errorf("plugin %s still has a call that ignores its context", p.plugin.ID))
	}
	if err := p.loaded.Stop(ctx); err != nil {
		errs = append(errs, fmt.Errorf("plugin %s: %w", p.plugin.ID, err))
	}
	return errors.Join(errs...)
}

// composition is an immutable row of plugins with the catalog made of them.
type composition struct {
	plugins  []*composed // in composition order
	catalog  *engine.Catalog
	tree     *word.Tree
	problems []error // all of them, those of the list first
	// listProblems are those that no change of a plugin mends.
	listProblems []error
}

// rowsBucket keeps by plugin id what operators decided about it; a plugin without a row is enabled.
const rowsBucket = "plugins"

type row struct {
	State manifest.State `json:"state"`
}

func (k *Kernel) rows(ctx context.Context) (map[string]row, error) {
	rows := map[string]row{}
	err := k.store.View(ctx, func(tx store.Tx) error {
		for e, err := range tx.Range(rowsBucket, store.Range{}) {
			if err != nil {
				return err
			}
			var r row
			if err := json.Unmarshal(e.Value, &r); err != nil {
				return fmt.Errorf("the row of plugin %s is damaged: %w", e.Key, err)
			}
			rows[e.Key] = r
		}
		return nil
	})
	return rows, err
}

// saveRow stores what was decided about a plugin. One that should run and fails has no row either.
func saveRow(tx store.Tx, id string, state manifest.State) error {
	if state != manifest.Disabled && state != manifest.Removed {
		return tx.Delete(rowsBucket, id)
	}
	raw, err := json.Marshal(row{State: state})
	if err != nil {
		return err
	}
	return tx.Put(rowsBucket, id, raw)
}

// compose loads every plugin for the first time. k.mu is held.
func (k *Kernel) compose(ctx context.Context) error {
	rows, err := k.rows(ctx)
	if err != nil {
		return err
	}
	var problems []error
	var plugins []*composed
	seen := map[string]bool{}
	for i, p := range k.o.Plugins {
		switch {
		case p == nil:
			problems = append(problems, &ProblemError{Plugin: "?", Err: fmt.Errorf("Options.Plugins[%d] is nil", i)})
			continue
		case seen[p.ID]:
			problems = append(problems, &ProblemError{Plugin: p.ID, Err: errors.New("a plugin with this id comes earlier and wins: give one of them another id")})
			continue
		}
		seen[p.ID] = true
		state := manifest.Ready
		if r, ok := rows[p.ID]; ok {
			state = r.State
		}
		plugins = append(plugins, &composed{plugin: p, state: state})
	}
	programs, err := k.composePrograms(ctx, rows)
	if err != nil {
		return err
	}
	for _, p := range programs {
		if seen[p.plugin.ID] {
			problems = append(problems, &ProblemError{Plugin: p.plugin.ID, Err: errors.New("a plugin with this id is a part of the server and wins over the installed one")})
			continue
		}
		plugins = append(plugins, p)
	}
	offered := k.offeredBy(plugins)
	for _, p := range plugins {
		if p.state == manifest.Ready {
			k.load(ctx, p, offered)
		}
	}
	return k.install(ctx, plugins, problems, nil)
}

// offeredBy returns the ids of the services that the kernel and enabled plugins offer.
func (k *Kernel) offeredBy(plugins []*composed) map[string]bool {
	offered := map[string]bool{}
	for _, def := range k.own {
		offered[def.ID()] = true
	}
	for _, p := range plugins {
		if p.state != manifest.Ready {
			continue
		}
		for _, s := range p.plugin.Services {
			if s != nil {
				offered[s.ID] = true
			}
		}
	}
	return offered
}

// load sets a plugin up, and marks it failed when that does not work.
func (k *Kernel) load(ctx context.Context, p *composed, offered map[string]bool) {
	type outcome struct {
		loaded *pluginsdk.Loaded
		err    error
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, kernelKey{}, k), SetupTimeout)
	defer cancel()
	defer context.AfterFunc(k.ctx, cancel)()
	done := make(chan outcome, 1)
	k.work.Go(func() {
		loaded, err := pluginsdk.Load(ctx, p.plugin, pluginsdk.Backend{
			KV: pluginKV{k.store, kvBucket(p.plugin.ID)},
			Config: func(ctx context.Context, key string) (json.RawMessage, bool, error) {
				return k.config().Get(ctx, p.plugin.ID, key)
			},
			Secret:     k.secrets().Get,
			Caller:     k.relay(p.plugin.ID),
			HasService: func(id string) bool { return offered[id] },
			Log:        slog.New(k.pluginLog(p.plugin.ID).Handler(k.log.Handler())).With("plugin", p.plugin.ID),
		})
		done <- outcome{loaded, err}
	})
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		select {
		case o = <-done:
		default:
			o.err = fmt.Errorf("plugin %s: Setup ignores the end of its context (%w), which comes after %s at the latest", p.plugin.ID, ctx.Err(), SetupTimeout)
			k.work.Go(func() { // a Setup that returns after all is undone
				if late := <-done; late.loaded != nil {
					_ = late.loaded.Stop(context.Background())
				}
			})
		}
	}
	if o.err != nil {
		p.state, p.err = manifest.Failed, o.err
		k.log.Error("plugin not loaded", "plugin", p.plugin.ID, "error", o.err)
		return
	}
	guards := make([]engine.Guard, len(o.loaded.Guards))
	for i, g := range o.loaded.Guards {
		guards[i] = engine.Guard(g)
	}
	p.state, p.loaded = manifest.Ready, o.loaded
	p.stopped, p.previous = make(chan struct{}), p.stopped
	p.instance = engine.NewInstance(engine.Source{
		ID: p.plugin.ID, Services: o.loaded.Services, Handlers: o.loaded.Handlers, Guards: guards,
	})
}

// install makes plugins the current composition: one pointer is swapped, then the instances that are gone are retired
// in the background. When the store refuses, the new ones are. What was decided about changed, a plugin or nil, is stored
// in the transaction of the generation, so that the two never disagree. k.mu is held.
func (k *Kernel) install(ctx context.Context, plugins []*composed, problems []error, changed *composed) error {
	var running []*composed
	var carry *engine.Catalog
	if old := k.current.Load(); old != nil {
		running, carry = old.plugins, old.catalog
	}
	generation, err := nextGeneration(ctx, k.store, func(tx store.Tx) error {
		if changed == nil {
			return nil
		}
		return errors.Join(saveRow(tx, changed.plugin.ID, changed.state), saveProgram(tx, changed))
	})
	if err != nil {
		for _, p := range plugins {
			p.previous = nil // it goes on, so its end is not waited for
		}
		k.retire(plugins, running)
		return fmt.Errorf("the catalog's generation cannot be stored: %w", err)
	}
	next := &composition{plugins: plugins, listProblems: problems, problems: slices.Clone(problems)}
	instances := []*engine.Instance{k.ownInstance}
	services := slices.Clone(k.own)
	for _, p := range plugins {
		if p.err != nil {
			next.problems = append(next.problems, &ProblemError{Plugin: p.plugin.ID, Err: p.err})
		}
		if p.instance != nil {
			instances = append(instances, p.instance)
			services = append(services, p.loaded.Services...)
		}
	}
	_, hidden := providersOf(plugins)
	next.problems = append(next.problems, hidden...)
	next.problems = append(next.problems, k.lostSecrets(ctx)...)
	tree, conflicts := word.BuildTree(services)
	next.tree = tree
	for _, c := range conflicts {
		plugin, _, _ := strings.Cut(c.Claimant, "/")
		next.problems = append(next.problems, &ProblemError{Plugin: plugin, Err: errors.New(c.String())})
	}
	next.catalog = engine.NewCatalog(generation, instances, carry)
	k.current.Store(next)
	k.engine.Swap(next.catalog)
	k.announce()
	k.retire(running, plugins)
	k.checkInBackground(next.catalog)
	k.writeSkill()
	return nil
}

// lostSecrets returns a problem for each secret that plugins would ask for in vain.
func (k *Kernel) lostSecrets(ctx context.Context) []error {
	problems, err := k.secrets().Unreadable(ctx)
	if err != nil {
		problems = append(problems, err)
	}
	for i, err := range problems {
		problems[i] = &ProblemError{Plugin: kernelcontract.KernelID, Err: fmt.Errorf("%w: restore the key that sealed it, or set it again and reload", err)}
	}
	return problems
}

// retire stops in the background what from has and to has not.
func (k *Kernel) retire(from, to []*composed) {
	kept := map[*engine.Instance]bool{}
	for _, p := range to {
		kept[p.instance] = true
	}
	for _, p := range from {
		if p.instance == nil || kept[p.instance] {
			continue
		}
		k.work.Go(func() {
			defer func() {
				if p.previous != nil {
					<-p.previous // ends: that retirement is bounded too
				}
				close(p.stopped)
			}()
			ctx, cancel := context.WithTimeout(context.Background(), engine.StreamGrace+StopTimeout)
			defer cancel()
			release := context.AfterFunc(k.ctx, cancel)
			defer release()
			if err := p.stop(ctx, engine.StreamGrace); err != nil {
				k.faults.add(p.plugin.ID, err)
				k.log.Error("plugin did not stop cleanly", "plugin", p.plugin.ID, "error", err)
			}
		})
	}
}
