package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

// restore settles what a former life of the program left open. The inputs that it had not sent go on once the kernel's
// plugins, and with them the providers, are there.
func (e *Engine) restore(ctx context.Context) error {
	var active, discarded []string
	var held []*thread
	composed := e.kernel.Changed()
	err := e.store.View(ctx, func(tx store.Tx) (err error) {
		for _, bucket := range []string{threadsBucket, asksBucket} {
			for entry, err := range tx.Range(bucket, store.Range{Reverse: true, Limit: 1}) {
				if err != nil {
					return err
				}
				e.ids.after(map[string]string{threadsBucket: threadPrefix, asksBucket: interactionPrefix}[bucket], entry.Key)
			}
		}
		if active, err = keys(tx, activeBucket); err != nil {
			return err
		}
		discarded, err = keys(tx, discardsBucket)
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range discarded {
		if err := e.eraseRest(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range active {
		t, err := e.thread(ctx, id)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			e.log.Error("a thread cannot be restored", "thread", id, "error", err)
			continue
		}
		t.mu.Lock()
		t.held = true
		t.mu.Unlock()
		held = append(held, t)
	}
	e.work.Go(func() {
		select {
		case <-composed:
		case <-e.ctx.Done():
			return
		}
		for _, t := range held {
			t.mu.Lock()
			t.held = false
			t.kick()
			t.mu.Unlock()
		}
	})
	return nil
}

// interruptedItem is the payload of item.completed for an item that its agent never closed.
type interruptedItem struct {
	Status       protocol.Status `json:"status"`
	Item         json.RawMessage `json:"item"`
	Presentation json.RawMessage `json:"presentation"`
	Partial      bool            `json:"partial"`
}

// settleLeftovers ends what is open in the store: no session outlives its actor. Inputs that were not sent stay. What is
// settled is stored when it returns. t.mu is held.
func (t *thread) settleLeftovers(ctx context.Context) error {
	reason := "the program stopped while the agent worked"
	if t.e.opened.Load() { // it went on: only the store can have failed
		reason = "what the agent did could not be stored any more"
	}
	var events []timeline.Event
	now := t.e.now()
	if len(t.kept.Sent) > 0 {
		events = append(events, t.trouble(t.openTurn(), protocol.ErrorStreamDisconnected, reason))
	}
	for _, item := range t.lines.OpenItems() {
		events = append(events, timeline.Event{At: now, Type: string(assembler.TypeItemCompleted), TurnID: item.TurnID, ItemID: item.ItemID, ParentItemID: item.ParentItemID,
			Payload: interruptedItem{Status: protocol.Interrupted, Item: item.Item, Presentation: item.Presentation, Partial: true}})
	}
	asks, err := t.pendingAsks(ctx)
	if err != nil {
		return err
	}
	for _, k := range asks {
		event, err := t.resolved(&ask{kept: k}, &protocol.InterruptedResolution{}, "")
		if err != nil {
			return err
		}
		events = append(events, event)
	}
	events = append(events, t.interruptRest(reason)...)
	if len(events) > 0 {
		events = append(events, t.change(threadapi.SessionChange{State: "lost", ProviderThreadID: t.kept.ProviderThreadID, Reason: reason}))
	}
	for _, id := range t.kept.Queue { // what cannot be read is not sent
		if t.turns[id] == nil {
			return errors.New("a queued turn is missing: " + id)
		}
	}
	if t.kept.Status != t.status() {
		t.touch()
	}
	if err := t.commit(events...); err != nil {
		return err
	}
	return t.lines.Flush(ctx)
}

// pendingAsks returns the thread's interactions that wait, as the store has them.
func (t *thread) pendingAsks(ctx context.Context) ([]keptInteraction, error) {
	var asks []keptInteraction
	err := t.e.store.View(ctx, func(tx store.Tx) error {
		pending, err := keys(tx, pendingBucket)
		if err != nil {
			return err
		}
		for _, id := range pending {
			var k keptInteraction
			if err := read(tx, asksBucket, id, &k); err != nil {
				return err
			}
			if k.ThreadID == t.id {
				asks = append(asks, k)
			}
		}
		return nil
	})
	return asks, err
}
