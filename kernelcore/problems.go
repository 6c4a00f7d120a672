package kernelcore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// MaxProblems bounds the faults of plugins that are kept beside those of the composition: a plugin that fails at every
// call must not fill the memory. The oldest go first.
const MaxProblems = 200

// ProblemError is something that degrades a plugin and not the kernel.
type ProblemError struct {
	Plugin string // its id
	Err    error
}

// Error returns "plugin: problem".
func (e *ProblemError) Error() string { return fmt.Sprintf("%s: %v", e.Plugin, e.Err) }

// Unwrap returns what is wrong.
func (e *ProblemError) Unwrap() error { return e.Err }

// faults keeps what plugins did wrong while they ran, without repeats.
type faults struct {
	mu   sync.Mutex
	list []error
	seen map[string]bool
	// states are problems that may end, by plugin and a name that the plugin's runner chose.
	states map[stateKey]error
}

type stateKey struct{ plugin, name string }

// set says that a problem holds, nil that it holds no more.
func (f *faults) set(plugin, name string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := stateKey{plugin, name}
	if err == nil {
		delete(f.states, key)
		return
	}
	if f.states == nil {
		f.states = map[stateKey]error{}
	}
	f.states[key] = &ProblemError{Plugin: plugin, Err: err}
}

func (f *faults) add(plugin string, err error) {
	p := &ProblemError{Plugin: plugin, Err: err}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[p.Error()] {
		return
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	if len(f.list) == MaxProblems {
		delete(f.seen, f.list[0].Error())
		f.list = slices.Delete(f.list, 0, 1)
	}
	f.seen[p.Error()] = true
	f.list = append(f.list, p)
}

// forget drops the faults of a plugin: it gets a new life.
func (f *faults) forget(plugin string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = slices.DeleteFunc(f.list, func(err error) bool {
		var p *ProblemError
		gone := errors.As(err, &p) && p.Plugin == plugin
		if gone {
			delete(f.seen, err.Error())
		}
		return gone
	})
	maps.DeleteFunc(f.states, func(key stateKey, _ error) bool { return key.plugin == plugin })
}

func (f *faults) all() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	states := slices.SortedFunc(maps.Keys(f.states), func(a, b stateKey) int {
		return cmp.Or(strings.Compare(a.plugin, b.plugin), strings.Compare(a.name, b.name))
	})
	all := slices.Clone(f.list)
	for _, key := range states {
		all = append(all, f.states[key])
	}
	return all
}
