package providers

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// recordsBucket keeps by process number which bridges run, so that the next life of the program finds what a kill of this
// one left behind.
const recordsBucket = "bridge-processes"

// process is a process of this machine. A number is given anew to others; with its start it is the same process.
type process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // when it began, as the system tells, other than of every other process of that number
	// of the moment
	parent, group int
}

// record is what is kept of a bridge.
type record struct {
	process
	ProviderID string    `json:"providerId"`
	Strays     []process `json:"strays,omitempty"` // descendants outside of its group
}

// record keeps that a bridge runs, where the system tells which processes there are.
func (p *Pool) record(ctx context.Context, b *Bridge) error {
	var ok bool
	if b.self, ok = processOf(b.PID()); !ok {
		return nil
	}
	return p.keepRecord(ctx, record{process: b.self, ProviderID: b.ProviderID})
}

func (p *Pool) keepRecord(ctx context.Context, r record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return p.kernel.Store().Update(ctx, func(tx store.Tx) error { return tx.Put(recordsBucket, strconv.Itoa(r.PID), raw) })
}

func (p *Pool) forgetRecord(ctx context.Context, pid int) error {
	return p.kernel.Store().Update(ctx, func(tx store.Tx) error { return tx.Delete(recordsBucket, strconv.Itoa(pid)) })
}

// killLeftovers kills what bridges of a former life of the program left running: their groups, and the descendants outside
// of them that were seen, with what those have started.
func (p *Pool) killLeftovers(ctx context.Context) error {
	var left []record
	err := p.kernel.Store().Update(ctx, func(tx store.Tx) error {
		for e, err := range tx.Range(recordsBucket, store.Range{}) {
			if err != nil {
				return err
			}
			var r record
			if err := json.Unmarshal(e.Value, &r); err != nil {
				p.log.Warn("the record of a bridge is damaged", "process", e.Key, "error", err)
			} else {
				left = append(left, r)
			}
			if err := tx.Delete(recordsBucket, e.Key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(left) == 0 {
		return err
	}
	now := processes()
	for _, r := range left {
		if n := kill(victims(now, r)); n > 0 {
			p.log.Warn("killed what a bridge of a former life had left running", "provider", r.ProviderID, "processes", n)
		}
	}
	return nil
}

// victims returns the processes of now that belong to a recorded bridge: its group, its strays, and all that descends from
// those. A group whose number belongs to another process by now is somebody else's.
func victims(now []process, r record) []process {
	at := make(map[int]process, len(now))
	for _, one := range now {
		at[one.PID] = one
	}
	same := func(one process) bool { return at[one.PID].Start == one.Start && one.Start != "" }
	leader, there := at[r.PID]
	ours := !there || leader.Start == r.Start // a number is not given to a new process while a group has it
	doomed := map[int]bool{}
	for _, one := range now {
		if ours && one.group == r.PID && !olderThan(one, r.process) {
			doomed[one.PID] = true
		}
	}
	for _, one := range r.Strays {
		if same(one) {
			doomed[one.PID] = true
		}
	}
	return withDescendants(now, doomed)
}

// withDescendants returns the doomed of now and all that descends from them.
func withDescendants(now []process, doomed map[int]bool) []process {
	for grown := true; grown; {
		grown = false
		for _, one := range now {
			if !doomed[one.PID] && doomed[one.parent] {
				doomed[one.PID], grown = true, true
			}
		}
	}
	var list []process
	for _, one := range now {
		if doomed[one.PID] {
			list = append(list, one)
		}
	}
	return list
}

// recordDescendants looks for descendants of bridges with sessions that have left their group, and keeps them.
func (p *Pool) recordDescendants() {
	var now []process
	for _, s := range p.all() {
		b := s.sessions.current()
		if b == nil || b.liveThreads() == 0 {
			continue
		}
		if now == nil {
			now = processes()
		}
		if b.notice(now) {
			p.keepStrays(b)
		}
	}
}

func (p *Pool) keepStrays(b *Bridge) {
	b.mu.Lock()
	r := record{process: b.self, ProviderID: b.ProviderID, Strays: slices.Clone(b.strays)}
	b.mu.Unlock()
	if err := p.keepRecord(p.ctx, r); err != nil && p.ctx.Err() == nil {
		p.log.Warn("processes that an agent started are not recorded", "provider", b.ProviderID, "error", err)
	}
}

// maxStrays bounds the descendants that are kept for a bridge: the oldest go first.
const maxStrays = 1024

// notice takes note of the bridge's strays among the processes of now, and tells whether they have changed.
func (b *Bridge) notice(now []process) bool {
	at := make(map[int]process, len(now))
	for _, one := range now {
		at[one.PID] = one
	}
	same := func(one process) bool { return one.Start != "" && at[one.PID].Start == one.Start }
	if !same(b.self) { // it has ended, and its number may be another's
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	doomed := map[int]bool{}
	for _, one := range now {
		if one.group == b.self.PID {
			doomed[one.PID] = true
		}
	}
	for _, one := range b.strays { // those that have lost their parents are still the agent's
		if same(one) {
			doomed[one.PID] = true
		}
	}
	var strays []process
	for _, one := range withDescendants(now, doomed) {
		if one.group != b.self.PID {
			strays = append(strays, one)
		}
	}
	if len(strays) > maxStrays {
		strays = strays[len(strays)-maxStrays:]
	}
	changed := !slices.EqualFunc(strays, b.strays, func(x, y process) bool { return x.PID == y.PID && x.Start == y.Start })
	b.strays = strays
	return changed
}

// killStrays kills, when a bridge has ended, what had left its group, as far as it was seen.
func (p *Pool) killStrays(b *Bridge) {
	b.mu.Lock()
	strays := slices.Clone(b.strays)
	b.mu.Unlock()
	if len(strays) == 0 {
		return
	}
	now := processes()
	if n := kill(victims(now, record{process: process{PID: -1}, Strays: strays})); n > 0 {
		p.log.Info("killed processes that an agent had left behind", "provider", b.ProviderID, "processes", n)
	}
}
