package engine

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/providers"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

// The actors of decisions that no person makes.
const (
	autoDeny  = host.AutoDenyActor
	autoAllow = "system:auto-allow"
)

// ask is an interaction that waits for an answer.
type ask struct {
	kept    keptInteraction
	request protocol.Interaction
	answer  chan protocol.Resolution // of one
	cancel  context.CancelCauseFunc
}

// interact answers what a bridge asks, on a goroutine of its own: by the permission of the thread, or as a person does.
func (e *Engine) interact(ctx context.Context, b *providers.Bridge, p protocol.InteractionParams) (protocol.Resolution, error) {
	t := e.of(p.ThreadID)
	if t == nil {
		return nil, host.ErrInterrupted
	}
	raw, err := json.Marshal(p.Request)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	if t.session == nil || t.session.bridge != b || t.broken != nil || ctx.Err() != nil || t.stop != nil {
		t.mu.Unlock()
		return nil, host.ErrInterrupted
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &ask{request: p.Request, answer: make(chan protocol.Resolution, 1), cancel: cancel}
	a.kept.Interaction = threadapi.Interaction{
		ID: e.ids.next(interactionPrefix, e.now()), ThreadID: t.id, Kind: kindOf(p.Request), Status: threadapi.Pending,
		Request: raw, CreatedAt: e.now(),
	}
	if turn, ok := t.session.lines.TurnID(p.Scope); ok {
		a.kept.TurnID = turn
	}
	var paths []string
	approval, _ := p.Request.(*protocol.Approval)
	if approval != nil {
		if item, ok := t.session.lines.ItemID(p.Scope, keyOf(approval.Subject)); ok {
			a.kept.ItemID = item
			paths = t.files[item]
		}
	}
	events := []timeline.Event{{At: e.now(), Type: threadapi.EventInteractionOpened, TurnID: a.kept.TurnID, ItemID: a.kept.ItemID,
		Payload: threadapi.InteractionOpened{InteractionID: a.kept.ID, Request: raw}}}
	if approval != nil {
		d := host.Decide(host.Situation{
			Policy: policy(t.kept.Permission, t.kept.Escalation), Capabilities: b.Capabilities(),
			WriteRoots: []string{t.kept.Cwd}, Cwd: t.kept.Cwd, Paths: paths,
		}, approval)
		if d != nil {
			by := autoAllow
			if !d.Allowed() {
				by = autoDeny
			}
			event, err := t.resolved(a, d, by)
			if err == nil {
				err = t.commit(append(events, event)...)
			}
			t.mu.Unlock()
			return d, err
		}
	}
	t.asks[a.kept.ID] = a
	e.mu.Lock()
	e.asked[a.kept.ID] = t // before anybody can see it
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		delete(e.asked, a.kept.ID)
		e.mu.Unlock()
	}()
	t.records = append(t.records, record(asksBucket, a.kept.ID, a.kept), mark(pendingBucket, a.kept.ID), mark(threadAsksBucket+t.id, a.kept.ID))
	t.touch()
	err = t.commit(events...)
	t.mu.Unlock()
	if err != nil {
		return nil, host.ErrInterrupted
	}

	select {
	case r := <-a.answer:
		return r, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case r := <-a.answer: // it came at the same moment, and is stored
		return r, nil
	default:
	}
	if t.asks[a.kept.ID] == a {
		delete(t.asks, a.kept.ID)
		if event, err := t.resolved(a, &protocol.InterruptedResolution{}, ""); err == nil {
			_ = t.commit(event)
		}
	}
	return nil, host.ErrInterrupted
}

// kindOf is the kind of an interaction.
func kindOf(request protocol.Interaction) string {
	switch r := request.(type) {
	case *protocol.Approval:
		return "approval"
	case *protocol.Questions:
		return "question"
	case *protocol.OpenInteraction:
		return r.Name
	}
	return "unknown"
}

// keyOf is the key of the item that an approval is about.
func keyOf(subject protocol.Subject) protocol.ItemKey {
	switch s := subject.(type) {
	case *protocol.CommandSubject:
		return s.ItemKey
	case *protocol.FileChangeSubject:
		return s.ItemKey
	case *protocol.PermissionSubject:
		return s.ItemKey
	case *protocol.PlanSubject:
		return s.ItemKey
	}
	return protocol.ItemKey{}
}

// resolved ends an interaction and returns the event of it. t.mu is held.
func (t *thread) resolved(a *ask, r protocol.Resolution, by string) (timeline.Event, error) {
	raw, err := protocol.Marshal(r)
	if err != nil {
		return timeline.Event{}, err
	}
	now := t.e.now()
	k := &a.kept
	k.Status, k.Resolution, k.ResolvedBy, k.ResolvedAt = threadapi.Resolved, raw, by, &now
	if _, interrupted := r.(*protocol.InterruptedResolution); interrupted {
		k.Status = threadapi.Interrupted
	}
	if d, ok := r.(*protocol.Decision); ok && d.Kind == protocol.AllowForSession {
		if grant := granted(a.request, d); grant != nil {
			t.kept.Grants = withGrant(t.kept.Grants, *grant)
		}
	}
	t.records = append(t.records, record(asksBucket, k.ID, k), unmark(pendingBucket, k.ID), mark(threadAsksBucket+t.id, k.ID))
	t.touch()
	return timeline.Event{At: now, Type: threadapi.EventInteractionResolved, TurnID: k.TurnID, ItemID: k.ItemID,
		Payload: threadapi.InteractionResolved{InteractionID: k.ID, Resolution: raw, By: by}}, nil
}

// maxGrants bounds what a thread remembers of what was allowed for the session; the oldest goes first.
const maxGrants = 256

// withGrant adds a grant, once.
func withGrant(grants []protocol.GrantProfile, grant protocol.GrantProfile) []protocol.GrantProfile {
	for _, g := range grants {
		if reflect.DeepEqual(g, grant) {
			return grants
		}
	}
	grants = append(slices.Clone(grants), grant)
	return grants[max(0, len(grants)-maxGrants):]
}

// granted is what a decision for the session allows: what it says, or what was asked for.
func granted(request protocol.Interaction, d *protocol.Decision) *protocol.GrantProfile {
	if d.Granted != nil {
		return d.Granted
	}
	approval, _ := request.(*protocol.Approval)
	if approval == nil {
		return nil
	}
	switch s := approval.Subject.(type) {
	case *protocol.CommandSubject:
		return s.SessionGrant
	case *protocol.FileChangeSubject:
		return s.SessionGrant
	case *protocol.PermissionSubject:
		return &s.Permissions
	}
	return nil
}

// resolution is an answer in the protocol's form.
func resolution(kind string, in threadapi.ResolveInput) (protocol.Resolution, error) {
	var w map[string]any
	given := []string{}
	if in.Decision != "" {
		given = append(given, "decision")
	}
	if in.Answers != nil {
		given = append(given, "answers")
	}
	if in.Data != nil {
		given = append(given, "data")
	}
	want := map[string]string{"approval": "decision", "question": "answers"}[kind]
	if want == "" {
		want = "data"
	}
	if len(given) != 1 || given[0] != want {
		return nil, kernelcontract.InvalidInput.Errorf("an interaction of the kind %s is answered with %s alone; given: %s", kind, want, strings.Join(append(given, "nothing else"), ", "))
	}
	switch want {
	case "decision":
		w = map[string]any{"kind": "approval", "decision": in.Decision, "granted": in.Granted}
		if len(in.Granted) == 0 {
			w["granted"] = nil
		}
	case "answers":
		answers := map[string]any{}
		for id, a := range in.Answers {
			selected := a.Selected
			if selected == nil {
				selected = []string{}
			}
			answers[id] = map[string]any{"selected": selected, "freeText": a.FreeText}
		}
		w = map[string]any{"kind": "answer", "answers": answers}
	default:
		w = map[string]any{"kind": "submitted", "data": in.Data}
	}
	raw, err := json.Marshal(w)
	if err != nil {
		return nil, kernelcontract.InvalidInput.Errorf("the answer: %w", err)
	}
	r, wrong := protocol.ParseResolution(raw)
	if wrong != nil {
		return nil, kernelcontract.InvalidInput.Errorf("the answer does not fit: %s", wrong.Error())
	}
	return r, nil
}

// Resolve answers an interaction. The first answer counts; it is stored before the agent gets it.
func (e *Engine) Resolve(ctx context.Context, in threadapi.ResolveInput, by string) (threadapi.Interaction, error) {
	e.mu.Lock()
	t := e.asked[in.ID]
	e.mu.Unlock()
	if t == nil {
		return e.late(ctx, in.ID)
	}
	t.mu.Lock()
	a := t.asks[in.ID]
	if a == nil { // somebody's answer is being stored
		t.mu.Unlock()
		if err := t.flush(ctx); err != nil {
			return threadapi.Interaction{}, err
		}
		return e.late(ctx, in.ID)
	}
	r, err := resolution(a.kept.Kind, in)
	if err == nil {
		if err = a.request.Accepts(r); err != nil {
			err = kernelcontract.InvalidInput.Errorf("the answer does not fit the request: %s", messageOf(err))
		}
	}
	if err != nil {
		t.mu.Unlock()
		return threadapi.Interaction{}, err
	}
	before, grants := a.kept, slices.Clone(t.kept.Grants)
	delete(t.asks, in.ID)
	event, err := t.resolved(a, r, by)
	if err == nil {
		err = t.commit(event)
	}
	if err != nil {
		a.kept, t.kept.Grants = before, grants
		t.mu.Unlock()
		return threadapi.Interaction{}, storeError(err)
	}
	out := a.kept.Interaction
	t.mu.Unlock()
	if err := t.flush(e.ctx); err != nil { // whether or not the caller is still there
		return threadapi.Interaction{}, err
	}
	a.answer <- r
	return out, nil
}

// late says why an interaction cannot be answered.
func (e *Engine) late(ctx context.Context, id string) (threadapi.Interaction, error) {
	i, err := e.Interaction(ctx, id)
	if err != nil {
		return threadapi.Interaction{}, err
	}
	return threadapi.Interaction{}, alreadyResolved(i)
}

func alreadyResolved(i threadapi.Interaction) error {
	text := "interaction %s was answered already"
	if i.Status == threadapi.Interrupted {
		text = "the agent no longer waits for an answer to interaction %s"
	}
	err := threadapi.AlreadyResolved.Errorf(text, i.ID)
	err.Details = map[string]any{"status": string(i.Status), "resolvedBy": i.ResolvedBy}
	return err
}

// Interaction returns an interaction.
func (e *Engine) Interaction(ctx context.Context, id string) (threadapi.Interaction, error) {
	var k keptInteraction
	err := e.store.View(ctx, func(tx store.Tx) error { return read(tx, asksBucket, id, &k) })
	if errors.Is(err, store.ErrNotFound) {
		e.mu.Lock()
		t := e.asked[id]
		e.mu.Unlock()
		if t != nil { // about to be stored
			if err := t.flush(ctx); err == nil {
				return e.Interaction(ctx, id)
			}
		}
		return threadapi.Interaction{}, kernelcontract.NotFound.Errorf("there is no interaction %q: `bb interaction list` shows those that wait", id)
	}
	return k.Interaction, err
}

// Interactions lists interactions, the newest first.
func (e *Engine) Interactions(ctx context.Context, in threadapi.ListInteractionsInput) ([]threadapi.Interaction, error) {
	out := []threadapi.Interaction{}
	bucket := asksBucket
	switch {
	case in.Thread != "":
		if !e.known(in.Thread) {
			return nil, noThread(in.Thread)
		}
		bucket = threadAsksBucket + in.Thread
	case in.Status == threadapi.Pending:
		bucket = pendingBucket
	}
	err := e.store.View(ctx, func(tx store.Tx) error {
		for entry, err := range tx.Range(bucket, store.Range{Reverse: true}) {
			if err != nil {
				return err
			}
			var k keptInteraction
			if err := read(tx, asksBucket, entry.Key, &k); err != nil {
				return err
			}
			if in.Status != "" && k.Status != in.Status {
				continue
			}
			if out = append(out, k.Interaction); len(out) == in.Limit {
				return nil
			}
		}
		return nil
	})
	return out, err
}
