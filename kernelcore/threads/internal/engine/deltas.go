package engine

import (
	"fmt"
	"time"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/providers"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

// on runs fn on the actor of a thread whose session runs on b, with t.mu held; what comes too late is dropped.
func (e *Engine) on(b *providers.Bridge, threadID string, fn func(t *thread)) {
	t := e.of(threadID)
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session == nil || t.session.bridge != b || t.broken != nil {
		return
	}
	fn(t)
}

// deltas takes what a bridge reports, on the goroutine that reads from it: while the store is behind, it is not read.
func (e *Engine) deltas(b *providers.Bridge, threadID string, ds protocol.Deltas) {
	e.on(b, threadID, func(t *thread) { t.apply(ds...) })
}

// apply turns deltas into events. t.mu is held and there is a session.
func (t *thread) apply(ds ...protocol.Delta) {
	now := t.e.now()
	events := make([]timeline.Event, 0, len(ds))
	for _, d := range ds {
		for _, ev := range t.session.lines.Apply(d, now) {
			events = t.take(events, ev)
		}
		t.spare()
	}
	if t.commit(events...) == nil {
		t.kick()
	}
}

// observe turns events of the assembler into those to store.
func (t *thread) observe(evs []assembler.Event) []timeline.Event {
	var out []timeline.Event
	for _, ev := range evs {
		out = t.take(out, ev)
	}
	return out
}

// take follows an event of the assembler and appends it, with what follows from it, to out.
func (t *thread) take(out []timeline.Event, ev assembler.Event) []timeline.Event {
	turn := ev.Scope.TurnID
	switch p := ev.Payload.(type) {
	case *assembler.ItemText, *assembler.ItemOutput: // nearly all of them
	case *assembler.TurnStarted:
		k := t.turns[turn]
		if k == nil { // the agent began it by itself
			k = &keptTurn{Turn: threadapi.Turn{ID: turn, ThreadID: t.id, CreatedAt: ev.At}}
			t.turns[turn] = k
			t.kept.Sent = append(t.kept.Sent, turn)
		}
		k.Status = threadapi.TurnOpen
		t.keep(k)
		t.touch()
	case *assembler.InputAccepted:
		out = append(out, timeline.FromAssembler(ev))
		if k := t.byRequest(p.ClientRequestID); k != nil && k.Steers && k.ID != turn {
			t.settle(k.ID, threadapi.TurnMerged, "", turn, "")
			into := turn
			out = append(out, timeline.Event{At: ev.At, Type: string(assembler.TypeTurnCompleted), TurnID: k.ID,
				Payload: &assembler.TurnCompleted{Status: assembler.Merged, MergedInto: &into}})
		}
		return out
	case *assembler.InputFailed:
		out = append(out, timeline.FromAssembler(ev))
		if k := t.byRequest(p.ClientRequestID); k != nil {
			out = append(out, t.settled(k.ID, protocol.Failed, p.Message))
			t.settle(k.ID, threadapi.TurnFailed, p.Message, "", "")
		}
		return out
	case *assembler.TurnCompleted:
		text := func(s *string) string {
			if s == nil {
				return ""
			}
			return *s
		}
		message := ""
		if p.Error != nil {
			message = p.Error.Message
		}
		if t.stop != nil && p.Status == protocol.Failed && t.turns[turn] != nil && t.turns[turn].Status != threadapi.TurnOpen {
			// Withdrawn because of the stop.
			p = &assembler.TurnCompleted{Status: protocol.Interrupted, Error: p.Error}
			ev.Payload = p
		}
		t.settle(turn, threadapi.TurnStatus(p.Status), message, text(p.MergedInto), text(p.CheckpointID))
		clear(t.files)
	case *assembler.ItemStarted:
		t.follow(ev.ItemID, p.Item.Item)
	case *assembler.ItemProgress:
		if p.Item != nil {
			t.follow(ev.ItemID, p.Item.Item)
		}
	case *assembler.ItemCompleted:
		delete(t.files, ev.ItemID)
		delete(t.tasks, ev.ItemID)
	case *assembler.Usage:
		t.kept.Usage, t.kept.Tokens = p.Total, p.Total.TotalTokens
		t.touch()
	case *assembler.ThreadName:
		if !t.kept.TitleGiven && p.Name != "" {
			t.kept.Title = p.Name
			t.touch()
		}
	}
	return append(out, timeline.FromAssembler(ev))
}

// follow notes what decisions about an item depend on.
func (t *thread) follow(itemID string, item protocol.Item) {
	switch item := item.(type) {
	case *protocol.FileChange:
		paths := make([]string, 0, len(item.Changes))
		for _, c := range item.Changes {
			paths = append(paths, c.Path)
			if c.MovePath != nil {
				paths = append(paths, *c.MovePath)
			}
		}
		t.files[itemID] = paths
	case *protocol.Task:
		if item.Background {
			t.tasks[itemID] = true
		}
	}
}

// spare keeps an id ready for turns that the agent begins by itself: it follows a goal, or something in the background
// will report.
func (t *thread) spare() {
	if (t.kept.Goal != "" || len(t.tasks) > 0) && !t.session.lines.HasSpare() {
		_ = t.session.lines.Spare(t.e.ids.next(turnPrefix, t.e.now())) // full: then it already has one
	}
}

// byRequest returns the turn of a client request that has not ended. t.mu is held.
func (t *thread) byRequest(id string) *keptTurn {
	for _, k := range t.turns {
		if k.ClientRequestID == id {
			return k
		}
	}
	return nil
}

// identity takes the agent's own name of a session.
func (e *Engine) identity(b *providers.Bridge, p protocol.IdentityParams) {
	e.on(b, p.ThreadID, func(t *thread) {
		t.identified(p.ProviderThreadID, p.SessionRestorable)
		_ = t.commit()
	})
}

// identified notes the session's own id. t.mu is held.
func (t *thread) identified(providerThreadID string, restorable bool) {
	t.session.providerThreadID = providerThreadID
	if t.kept.ProviderThreadID != providerThreadID || t.kept.Restorable != restorable {
		t.kept.ProviderThreadID, t.kept.Restorable = providerThreadID, restorable
		t.touch()
	}
}

// replaced learns that the bridge goes on in another session.
func (e *Engine) replaced(b *providers.Bridge, p protocol.ReplacedParams) {
	e.on(b, p.ThreadID, func(t *thread) {
		t.identified(p.ProviderThreadID, t.kept.Restorable)
		summary := "the agent goes on in a new session: " + p.Reason
		_ = t.commit(
			t.change(threadapi.SessionChange{State: "replaced", ProviderThreadID: p.ProviderThreadID, ContextLost: p.ContextLost, Reason: p.Reason}),
			t.note("", protocol.WarningSessionReplaced, summary, lostText(p.ContextLost)))
	})
}

func lostText(lost bool) string {
	if lost {
		return "It no longer knows what was said before."
	}
	return ""
}

// lost fails the open turns of threads, since a line that was too long may have been theirs.
func (e *Engine) lost(b *providers.Bridge, threads []string) {
	for _, id := range threads {
		e.on(b, id, func(t *thread) {
			scope := protocol.Scope{}
			if _, key, ok := t.session.lines.OpenTurn(); ok {
				scope.Turn = key
			}
			t.apply(&protocol.ProviderError{Scope: scope, Category: protocol.ErrorStreamDisconnected, SettlesTurn: true,
				Message: "the bridge sent a line that was too long to read, so that nobody knows what was in it"})
		})
	}
}

// exited settles what a bridge had open when it ended.
func (e *Engine) exited(b *providers.Bridge, exit *host.ExitError) {
	e.mu.Lock()
	delete(e.stale, b)
	var all []*thread
	for _, t := range e.live {
		all = append(all, t)
	}
	closing := e.closed
	e.mu.Unlock()
	for _, t := range all {
		t.mu.Lock()
		if t.session != nil && t.session.bridge == b {
			reason := "the agent's process has ended"
			if closing {
				reason = "the server was stopped"
			}
			t.ended(reason, exit)
		}
		t.mu.Unlock()
	}
}

// ended settles what is open because the session's process is gone. t.mu is held.
func (t *thread) ended(reason string, exit *host.ExitError) {
	s := t.session
	t.session = nil
	s.end()
	now := t.e.now()
	var events []timeline.Event
	if len(t.kept.Sent) > 0 {
		detail := reason
		if exit != nil && !exit.Stopped {
			detail = fmt.Sprintf("%s: %s", reason, exit.Exit)
		}
		events = append(events, t.trouble(t.openTurn(), protocol.ErrorStreamDisconnected, detail))
	}
	events = append(events, t.observe(s.lines.Settle(now, reason))...)
	events = append(events, t.interruptRest(reason)...)
	clear(t.tasks)
	events = append(events, t.change(threadapi.SessionChange{State: "lost", ProviderThreadID: s.providerThreadID, Reason: reason}))
	t.touch()
	t.idle = time.Now()
	if t.commit(events...) == nil {
		t.kick()
	}
}

// interruptRest settles turns that the agent was asked for and that nothing else has settled. t.mu is held.
func (t *thread) interruptRest(reason string) []timeline.Event {
	var events []timeline.Event
	for len(t.kept.Sent) > 0 {
		id := t.kept.Sent[0]
		events = append(events, t.settled(id, protocol.Interrupted, reason))
		if t.turns[id] == nil { // a damaged record
			t.kept.Sent = t.kept.Sent[1:]
			continue
		}
		t.settle(id, threadapi.TurnInterrupted, reason, "", "")
	}
	return events
}
