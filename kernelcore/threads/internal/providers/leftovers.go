package providers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// recordsBucket keeps, by process number, what has to be killed when this program is killed.
const recordsBucket = "bridge-processes"

// process is a process with the time of its start, so that another one with the same number is told apart.
type process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // with the boot that it counts from; "" where the system does not tell
}

// recorded is a bridge's process, the head of its group, with the descendants that left the group.
type recorded struct {
	process
	ProviderID string    `json:"providerId"`
	Strays     []process `json:"strays,omitempty"`
}

// record notes a bridge that has started.
func (p *Pool) record(ctx context.Context, pid int, providerID string) error {
	return p.putRecord(ctx, recorded{process: process{PID: pid, Start: startOf(pid)}, ProviderID: providerID})
}

func (p *Pool) putRecord(ctx context.Context, r recorded) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return p.kernel.Store().Update(ctx, func(tx store.Tx) error {
		return tx.Put(recordsBucket, strconv.Itoa(r.PID), raw)
	})
}

// forgetRecord notes that a bridge has ended, with all of its group.
func (p *Pool) forgetRecord(ctx context.Context, pid int) error {
	return p.kernel.Store().Update(ctx, func(tx store.Tx) error { return tx.Delete(recordsBucket, strconv.Itoa(pid)) })
}

// killLeftovers kills what a former life of the program left running: the groups of its bridges, and what left them.
func (p *Pool) killLeftovers(ctx context.Context) error {
	var left []recorded
	err := p.kernel.Store().View(ctx, func(tx store.Tx) error {
		for e, err := range tx.Range(recordsBucket, store.Range{}) {
			if err != nil {
				return err
			}
			var r recorded
			if err := json.Unmarshal(e.Value, &r); err != nil {
				return fmt.Errorf("the record of process %s is damaged: %w", e.Key, err)
			}
			left = append(left, r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range left {
		if n := killGroup(r.process); n > 0 {
			p.log.Warn("killed what an earlier run left of a bridge", "provider", r.ProviderID, "group", r.PID, "processes", n)
		}
		p.kill(r.ProviderID, r.Strays)
		if err := p.forgetRecord(ctx, r.PID); err != nil {
			return err
		}
	}
	return nil
}

// kill kills processes that left the group of their bridge, each with its own group.
func (p *Pool) kill(providerID string, strays []process) {
	for _, stray := range strays {
		if n := killGroup(stray); n > 0 {
			p.log.Warn("killed what an agent had started outside of its bridge's group", "provider", providerID, "group", stray.PID, "processes", n)
		}
	}
}

// recordDescendants looks for descendants of bridges that have left their groups, such as shells that made a session of
// their own, and notes them: when the bridge ends, or this program does, they would live on.
func (p *Pool) recordDescendants() {
	for _, s := range p.all() {
		b := s.sessions.current()
		if b == nil || b.liveThreads() == 0 {
			continue
		}
		strays := descendants(b.PID())
		b.mu.Lock()
		known := len(b.strays)
		for _, stray := range strays {
			if !slices.Contains(b.strays, stray) {
				b.strays = append(b.strays, stray)
			}
		}
		b.strays = slices.DeleteFunc(b.strays, func(one process) bool { return one.Start == "" || startOf(one.PID) != one.Start && !hasGroup(one) })
		now := slices.Clone(b.strays)
		b.mu.Unlock()
		if len(now) == known && len(strays) == 0 {
			continue
		}
		r := recorded{process: process{PID: b.PID(), Start: startOf(b.PID())}, ProviderID: b.ProviderID, Strays: now}
		if err := p.putRecord(p.ctx, r); err != nil && p.ctx.Err() == nil {
			p.log.Warn("what an agent started outside of its bridge's group is not recorded", "provider", b.ProviderID, "error", err)
		}
	}
}

// killStrays kills what a bridge that has ended left outside of its group, as far as it was seen.
func (p *Pool) killStrays(b *Bridge) {
	b.mu.Lock()
	strays := b.strays
	b.strays = nil
	b.mu.Unlock()
	p.kill(b.ProviderID, strays)
}
