package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// Create makes a thread, and sends its first input when there is one.
func (e *Engine) Create(ctx context.Context, in threadapi.CreateInput) (threadapi.Thread, error) {
	by := kernelcontract.CallFrom(ctx).Principal
	d, err := e.pool.Provider(in.ProviderID)
	if err != nil {
		return threadapi.Thread{}, err
	}
	if err := e.admit(by, in.Permission); err != nil {
		return threadapi.Thread{}, err
	}
	if err := allows(d, in.Permission); err != nil {
		return threadapi.Thread{}, err
	}
	if err := directory(in.Cwd); err != nil {
		return threadapi.Thread{}, err
	}
	var first protocol.Inputs
	if len(in.Input) > 0 {
		if first, err = inputs(in.Input); err != nil {
			return threadapi.Thread{}, err
		}
	}
	now := e.now()
	t := &thread{e: e, id: e.ids.next(threadPrefix, now)}
	t.reset()
	t.kept = keptThread{
		Thread: threadapi.Thread{
			ID: t.id, ProviderID: in.ProviderID, Title: in.Title, Status: threadapi.Idle, Cwd: filepath.Clean(in.Cwd), ProjectID: in.ProjectID,
			Permission: in.Permission, Escalation: in.Escalation, Model: in.Model, Reasoning: in.ReasoningLevel, Tier: in.ServiceTier, CreatedAt: now,
		},
		TitleGiven: in.Title != "", Instructions: in.Instructions,
	}
	if t.kept.ProviderOptions, err = e.derive(ctx, "create", &t.kept); err != nil {
		return threadapi.Thread{}, err
	}
	if err := e.begin(ctx, t, timeline.Event{At: now, Type: threadapi.EventThreadCreated, Payload: created{
		ProviderID: in.ProviderID, Cwd: t.kept.Cwd, Title: in.Title, By: by.Actor,
	}}); err != nil {
		return threadapi.Thread{}, err
	}
	if first != nil {
		if _, err := t.send(ctx, sending{input: first, by: by.Actor}); err != nil {
			return threadapi.Thread{}, err
		}
	}
	return t.shown(), nil
}

// created is the payload of thread.created and thread.forked.
type created struct {
	ProviderID   string `json:"providerId"`
	Cwd          string `json:"cwd"`
	Title        string `json:"title"`
	By           string `json:"by"`
	ForkedFrom   string `json:"forkedFrom,omitempty"`
	CheckpointID string `json:"checkpointId,omitempty"`
}

// begin stores a new thread and makes its actor known.
func (e *Engine) begin(ctx context.Context, t *thread, event timeline.Event) error {
	lines, err := e.lines.Writer(ctx, t.id)
	if err != nil {
		return storeError(err)
	}
	t.mu.Lock()
	t.lines = lines
	t.publish()
	t.touch()
	err = t.commit(event)
	t.mu.Unlock()
	if err == nil {
		err = t.lines.Flush(ctx)
	}
	if err != nil {
		_ = lines.Close(ctx)
		return storeError(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return kernelcontract.ServiceUnavailable.Errorf("the server is stopping")
	}
	e.live[t.id] = t
	return nil
}

// admit refuses an agent that would have a thread work with more than it has itself.
func (e *Engine) admit(by kernelcontract.Principal, mode threadapi.Mode) error {
	if by.Kind() != kernelcontract.Agent || mode == "" {
		return nil
	}
	own := threadapi.AcceptEdits
	if t := e.of(by.Name()); t != nil {
		own = t.view.Load().Permission
	}
	if width(mode) > width(own) {
		return kernelcontract.Forbidden.Errorf("an agent with the permission %s cannot have a thread work with %s: ask a person to do it", own, mode)
	}
	return nil
}

// allows refuses a permission that a provider does not have.
func allows(d protocol.ProviderDeclaration, mode threadapi.Mode) error {
	if mode == "" || slices.Contains(d.PermissionModes, protocol.PermissionMode(mode)) {
		return nil
	}
	return kernelcontract.InvalidInput.Errorf("the provider %s has no permission %s, only %v", d.ID, mode, d.PermissionModes)
}

// directory refuses what is no directory of this machine.
func directory(path string) error {
	if !filepath.IsAbs(path) {
		return kernelcontract.InvalidInput.Errorf("cwd: %q is not an absolute path", path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return kernelcontract.InvalidInput.Errorf("cwd: %s cannot be used: %v", path, err)
	case !info.IsDir():
		return kernelcontract.InvalidInput.Errorf("cwd: %s is not a directory", path)
	}
	return nil
}

// derive asks the provider's plugin for the options of what is about to happen.
func (e *Engine) derive(ctx context.Context, operation string, k *keptThread) (protocol.JSONObject, error) {
	return e.pool.DeriveOptions(ctx, bridge.OptionsRequest{
		Operation: operation, ThreadID: k.ID, ProviderID: k.ProviderID, Cwd: k.Cwd, ProjectID: k.ProjectID, Model: k.Model,
		Permission: policy(k.Permission, k.Escalation), Grants: k.Grants,
	})
}

// sending is an input on its way into a thread.
type sending struct {
	input    protocol.Inputs
	request  string // the caller's name of it, "" for none
	by       string
	steers   bool
	actions  []protocol.Action
	settings threadapi.SendInput // what is to change from now on
}

// Send gives a thread an input; with steers it is meant for the open turn.
func (e *Engine) Send(ctx context.Context, in threadapi.SendInput, steers bool) (threadapi.Turn, error) {
	by := kernelcontract.CallFrom(ctx).Principal
	input, err := inputs(in.Input)
	if err == nil && len(input) == 0 && len(in.Actions) == 0 {
		err = kernelcontract.InvalidInput.Errorf("there is no input: say something, or name an action")
	}
	if err != nil {
		return threadapi.Turn{}, err
	}
	t, err := e.thread(ctx, in.Thread)
	if err != nil {
		return threadapi.Turn{}, err
	}
	d, err := e.pool.Provider(t.view.Load().ProviderID)
	if err != nil {
		return threadapi.Turn{}, err
	}
	for _, mode := range []threadapi.Mode{t.view.Load().Permission, in.Permission} {
		if err := e.admit(by, mode); err != nil {
			return threadapi.Turn{}, err
		}
	}
	if err := allows(d, in.Permission); err != nil {
		return threadapi.Turn{}, err
	}
	s := sending{input: input, request: in.ClientRequestID, by: by.Actor, steers: steers, settings: in}
	for _, a := range in.Actions {
		if !slices.Contains(d.Actions, protocol.Action(a)) {
			return threadapi.Turn{}, threadapi.Unsupported.Errorf("the provider %s has no action %s, only %v", d.ID, a, d.Actions)
		}
		s.actions = append(s.actions, protocol.Action(a))
	}
	return t.send(ctx, s)
}

// send stores an input, and lets the driver send it.
func (t *thread) send(ctx context.Context, s sending) (threadapi.Turn, error) {
	t.mu.Lock()
	k := t.kept // a copy for the plugin's hook, which may take a while
	change(&k, s.settings)
	t.mu.Unlock()
	options, err := t.e.derive(ctx, "send", &k)
	if err != nil {
		return threadapi.Turn{}, err
	}
	if s.request != "" {
		if turn, err := t.repeated(ctx, s.request); turn != nil || err != nil {
			return *cmpOr(turn), err
		}
	}
	t.mu.Lock()
	turn, err := t.accept(s, options)
	if err == nil {
		t.kick() // also when the caller does not wait for the rest
	}
	t.mu.Unlock()
	if err != nil {
		return threadapi.Turn{}, err
	}
	return turn, t.flush(ctx)
}

func cmpOr(turn *threadapi.Turn) *threadapi.Turn {
	if turn == nil {
		return &threadapi.Turn{}
	}
	return turn
}

// change applies what an input changes from now on.
func change(k *keptThread, in threadapi.SendInput) {
	set := func(to *string, value string) {
		if value != "" {
			*to = value
		}
	}
	set(&k.Model, in.Model)
	set(&k.Reasoning, in.ReasoningLevel)
	set((*string)(&k.Permission), string(in.Permission))
	set((*string)(&k.Escalation), string(in.Escalation))
}

// accept appends an input. t.mu is held.
func (t *thread) accept(s sending, options protocol.JSONObject) (threadapi.Turn, error) {
	switch {
	case t.gone && t.broken == nil:
		return threadapi.Turn{}, kernelcontract.Conflict.Errorf("thread %s was just let go of: send again", t.id)
	case t.broken != nil:
		return threadapi.Turn{}, storeError(t.broken)
	case t.kept.Archived:
		return threadapi.Turn{}, kernelcontract.Conflict.Errorf("thread %s is archived: take it back with `bb thread unarchive %s`", t.id, t.id)
	case len(t.kept.Queue)+len(t.steers) >= MaxQueued:
		return threadapi.Turn{}, kernelcontract.Conflict.Errorf("%d inputs of thread %s wait already: wait for some, or stop it", MaxQueued, t.id)
	case t.stop != nil:
		return threadapi.Turn{}, kernelcontract.Conflict.Errorf("thread %s is being stopped: send again when it has", t.id)
	}
	now := t.e.now()
	k := &keptTurn{
		Turn:  threadapi.Turn{ID: t.e.ids.next(turnPrefix, now), ThreadID: t.id, ClientRequestID: s.request, Status: threadapi.TurnQueued, SentBy: s.by, CreatedAt: now},
		Input: s.input, Actions: s.actions,
	}
	if k.ClientRequestID == "" {
		k.ClientRequestID = t.e.ids.next(requestPrefix, now)
	}
	open := t.openTurn()
	k.Steers = s.steers && open != ""
	change(&t.kept, s.settings)
	t.kept.ProviderOptions = options
	if t.kept.Title == "" {
		t.kept.Title = titleOf(s.input)
	}
	t.turns[k.ID] = k
	scope := k.ID
	if k.Steers {
		t.steers = append(t.steers, k.ID)
		scope = open
	} else {
		t.kept.Queue = append(t.kept.Queue, k.ID)
	}
	t.keep(k)
	t.records = append(t.records, timeline.Record{Bucket: requestsBucket + t.id, Key: k.ClientRequestID, Value: []byte(k.ID)})
	t.touch()
	err := t.commit(timeline.Event{At: now, Type: threadapi.EventInputSent, TurnID: scope, Payload: threadapi.InputSent{
		ClientRequestID: k.ClientRequestID, Steers: k.Steers, By: s.by, Input: shown(s.input),
	}})
	if err != nil {
		return threadapi.Turn{}, storeError(err)
	}
	return k.Turn, nil
}

// repeated returns the turn of a client request that was accepted before.
func (t *thread) repeated(ctx context.Context, request string) (*threadapi.Turn, error) {
	t.mu.Lock()
	if k := t.byRequest(request); k != nil {
		turn := k.Turn
		t.mu.Unlock()
		return &turn, t.flush(ctx)
	}
	t.mu.Unlock()
	var turn string
	err := t.e.store.View(ctx, func(tx store.Tx) error {
		raw, err := tx.Get(requestsBucket+t.id, request)
		turn = string(raw)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := t.turn(ctx, turn)
	return &found, err
}

// turn returns a turn of the thread.
func (t *thread) turn(ctx context.Context, id string) (threadapi.Turn, error) {
	t.mu.Lock()
	if k := t.turns[id]; k != nil {
		turn := k.Turn
		t.mu.Unlock()
		return turn, nil
	}
	t.mu.Unlock()
	if err := t.flush(ctx); err != nil {
		return threadapi.Turn{}, err
	}
	var k keptTurn
	err := t.e.store.View(ctx, func(tx store.Tx) error { return read(tx, turnsBucket+t.id, id, &k) })
	if errors.Is(err, store.ErrNotFound) {
		return threadapi.Turn{}, kernelcontract.NotFound.Errorf("thread %s has no turn %q", t.id, id)
	}
	return k.Turn, err
}

// Wait waits until a turn has ended, or the thread is idle.
func (e *Engine) Wait(ctx context.Context, in threadapi.WaitInput) (threadapi.WaitOutput, error) {
	for {
		t, err := e.thread(ctx, in.Thread)
		if err != nil {
			return threadapi.WaitOutput{}, err
		}
		t.mu.Lock()
		done := t.status() == threadapi.Idle
		id := t.kept.LastTurn
		if in.Turn != "" {
			id = in.Turn
			done = t.turns[id] == nil
		}
		changed := t.changed
		t.mu.Unlock()
		if done {
			out := threadapi.WaitOutput{Thread: t.shown()}
			if err := t.flush(ctx); err != nil {
				return out, err
			}
			if id != "" {
				turn, err := t.turn(ctx, id)
				if err != nil {
					return out, err
				}
				out.Turn = &turn
			}
			return out, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return threadapi.WaitOutput{}, context.Cause(ctx)
		}
	}
}

// Get returns a thread.
func (e *Engine) Get(ctx context.Context, id string) (threadapi.Thread, error) {
	if t := e.of(id); t != nil {
		return t.shown(), nil
	}
	var k keptThread
	err := e.store.View(ctx, func(tx store.Tx) error { return read(tx, threadsBucket, id, &k) })
	if errors.Is(err, store.ErrNotFound) {
		return threadapi.Thread{}, noThread(id)
	}
	if err != nil {
		return threadapi.Thread{}, err
	}
	if k.LastSeq, err = e.lines.LastSeq(ctx, id); err != nil {
		return threadapi.Thread{}, err
	}
	return e.show(resting(k.Thread)), nil
}

// resting is a thread without an actor: nothing is under way in it, whatever was stored last.
func resting(t threadapi.Thread) threadapi.Thread {
	if t.Status != threadapi.Idle {
		t.Status, t.TurnID, t.Pending = threadapi.Idle, "", 0
		t.Problem = "the store failed while the thread ran; it goes on once there is space"
	}
	return t
}

// List lists threads, the newest first.
func (e *Engine) List(ctx context.Context, in threadapi.ListInput) ([]threadapi.Thread, error) {
	out := []threadapi.Thread{}
	err := e.store.View(ctx, func(tx store.Tx) error {
		for entry, err := range tx.Range(threadsBucket, store.Range{Reverse: true, To: in.Before}) {
			if err != nil {
				return err
			}
			var k keptThread
			if t := e.of(entry.Key); t != nil {
				k.Thread = *t.view.Load()
				k.LastSeq = t.lines.LastSeq()
			} else if err := read(tx, threadsBucket, entry.Key, &k); err != nil {
				return err
			} else {
				k.Thread = resting(k.Thread)
			}
			if k.Archived != in.Archived || in.ProviderID != "" && k.ProviderID != in.ProviderID ||
				in.ProjectID != "" && k.ProjectID != in.ProjectID || in.Status != "" && k.Status != in.Status {
				continue
			}
			if out = append(out, k.Thread); len(out) == in.Limit {
				break
			}
		}
		return nil
	})
	for i := range out {
		out[i] = e.show(out[i])
	}
	return out, err
}

// Events yields the events of a thread behind a cursor.
func (e *Engine) Events(ctx context.Context, in threadapi.EventsInput, since string) (iter.Seq2[threadapi.Event, error], error) {
	if !e.known(in.Thread) {
		return nil, noThread(in.Thread)
	}
	var after int64
	if since != "" {
		n, err := strconv.ParseInt(since, 10, 64)
		if err != nil || n < 0 {
			return nil, kernelcontract.InvalidInput.Errorf("the cursor %q is not one of this stream: it is the seq of an event", since)
		}
		after = n
	}
	if err := e.upToDate(ctx, in.Thread); err != nil {
		return nil, err
	}
	return e.lines.Read(ctx, in.Thread, after, in.Follow), nil
}

// Timeline returns rows of a thread.
func (e *Engine) Timeline(ctx context.Context, in threadapi.TimelineInput) (threadapi.TimelineOutput, error) {
	t, err := e.Get(ctx, in.Thread)
	if err != nil {
		return threadapi.TimelineOutput{}, err
	}
	if err := e.upToDate(ctx, in.Thread); err != nil {
		return threadapi.TimelineOutput{}, err
	}
	out, err := e.lines.Rows(ctx, in)
	out.Thread = t
	return out, err
}

// upToDate waits until what a caller may have seen of a thread is stored, so that events and rows show it. A store that fails
// holds nobody up who reads: what is stored can be read.
func (e *Engine) upToDate(ctx context.Context, id string) error {
	if t := e.of(id); t != nil {
		_ = t.lines.Flush(ctx)
	}
	return context.Cause(ctx)
}

// edit runs fn on a thread's actor, with its mutex held, and stores what it changes.
func (e *Engine) edit(ctx context.Context, id string, fn func(t *thread) ([]timeline.Event, error)) (threadapi.Thread, *thread, error) {
	t, err := e.thread(ctx, id)
	if err != nil {
		return threadapi.Thread{}, nil, err
	}
	t.mu.Lock()
	events, err := fn(t)
	if err == nil {
		t.touch()
		err = t.commit(events...)
	}
	t.mu.Unlock()
	if err != nil {
		return threadapi.Thread{}, nil, err
	}
	if err := t.flush(ctx); err != nil {
		return threadapi.Thread{}, nil, err
	}
	return t.shown(), t, nil
}

// titled is the payload of thread.renamed, thread.goal and, without text, of thread.archived and thread.unarchived.
type titled struct {
	Title string  `json:"title,omitempty"`
	Goal  *string `json:"goal,omitempty"`
	By    string  `json:"by"`
}

func (t *thread) fact(ctx context.Context, kind string, p titled) timeline.Event {
	p.By = kernelcontract.CallFrom(ctx).Principal.Actor
	return timeline.Event{At: t.e.now(), Type: kind, Payload: p}
}

// Rename gives a thread another title, and its agent's session too where it can.
func (e *Engine) Rename(ctx context.Context, in threadapi.RenameInput) (threadapi.Thread, error) {
	out, t, err := e.edit(ctx, in.Thread, func(t *thread) ([]timeline.Event, error) {
		t.kept.Title, t.kept.TitleGiven = in.Title, true
		return []timeline.Event{t.fact(ctx, threadapi.EventThreadRenamed, titled{Title: in.Title})}, nil
	})
	if err != nil {
		return out, err
	}
	t.mu.Lock()
	s := t.session
	t.mu.Unlock()
	if s != nil && s.ready && s.bridge.Capabilities().ThreadRename {
		if err := s.bridge.ThreadNameSet(ctx, protocol.ThreadNameParams{ThreadRef: ref(t.id, s), Title: in.Title}); err != nil {
			e.log.Warn("the agent did not take the new title", "thread", t.id, "error", err)
		}
	}
	return out, nil
}

// SetArchived puts an idle thread away, or takes it back.
func (e *Engine) SetArchived(ctx context.Context, id string, archived bool) (threadapi.Thread, error) {
	kind := threadapi.EventThreadUnarchived
	if archived {
		kind = threadapi.EventThreadArchived
	}
	out, t, err := e.edit(ctx, id, func(t *thread) ([]timeline.Event, error) {
		if archived && t.status() != threadapi.Idle {
			return nil, kernelcontract.Conflict.Errorf("thread %s is %s: stop it before it is archived", id, t.status())
		}
		if t.kept.Archived == archived {
			return nil, nil
		}
		t.kept.Archived = archived
		return []timeline.Event{t.fact(ctx, kind, titled{})}, nil
	})
	if err != nil {
		return out, err
	}
	if err := t.tell(ctx, func(b protocol.Capabilities) bool { return b.ThreadArchive }, func(b caller, ref protocol.ThreadRef) error {
		if archived {
			return b.ThreadArchive(ctx, ref)
		}
		return b.ThreadUnarchive(ctx, ref)
	}); err != nil {
		e.log.Warn("the agent's session was not archived with its thread", "thread", id, "error", err)
	}
	if archived {
		_ = t.drivingFor(ctx, func() error { return t.release(ctx, "archived") })
		return t.shown(), nil
	}
	return out, nil
}

// caller are the calls of a bridge that need no live session.
type caller interface {
	ThreadArchive(ctx context.Context, p protocol.ThreadRef) error
	ThreadUnarchive(ctx context.Context, p protocol.ThreadRef) error
	ThreadDiscard(ctx context.Context, p protocol.ThreadRef) error
}

// tell calls a bridge about the thread's session, live or not, where the provider can do it and there was one.
func (t *thread) tell(ctx context.Context, can func(protocol.Capabilities) bool, call func(b caller, ref protocol.ThreadRef) error) error {
	t.mu.Lock()
	providerThreadID, providerID := t.kept.ProviderThreadID, t.kept.ProviderID
	t.mu.Unlock()
	d, err := t.e.pool.Provider(providerID)
	if providerThreadID == "" || err != nil || !can(d.Capabilities) {
		return err
	}
	b, err := t.e.pool.Bridge(ctx, providerID)
	if err != nil || !can(b.Capabilities()) {
		return err
	}
	return call(b, protocol.ThreadRef{ThreadID: t.id, ProviderThreadID: providerThreadID})
}

// SetGoal gives the agent a goal, or with "" takes it away.
func (e *Engine) SetGoal(ctx context.Context, id, goal string) (threadapi.Thread, error) {
	t, err := e.thread(ctx, id)
	if err != nil {
		return threadapi.Thread{}, err
	}
	if err := e.admit(kernelcontract.CallFrom(ctx).Principal, t.view.Load().Permission); err != nil {
		return threadapi.Thread{}, err
	}
	d, err := e.pool.Provider(t.view.Load().ProviderID)
	if err != nil {
		return threadapi.Thread{}, err
	}
	if !d.Capabilities.ThreadGoal {
		return threadapi.Thread{}, threadapi.Unsupported.Errorf("the provider %s follows no goals", d.ID)
	}
	err = t.drivingFor(ctx, func() error {
		s, err := t.begin(ctx)
		if err != nil {
			return err
		}
		t.mu.Lock()
		before := t.kept.Goal
		t.kept.Goal = goal
		t.spare()
		t.mu.Unlock()
		if goal != "" {
			err = s.bridge.ThreadGoalSet(ctx, protocol.ThreadGoalParams{ThreadRef: ref(t.id, s), Goal: goal})
		} else {
			err = s.bridge.ThreadGoalClear(ctx, ref(t.id, s))
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if err != nil {
			t.kept.Goal = before
			return err
		}
		t.touch()
		return t.commit(t.fact(ctx, threadapi.EventThreadGoal, titled{Goal: &goal}))
	})
	if err != nil {
		return threadapi.Thread{}, bridgeError(err)
	}
	if err := t.flush(ctx); err != nil {
		return threadapi.Thread{}, err
	}
	return t.shown(), nil
}

// Fork makes a thread that begins as a copy of another one's session.
func (e *Engine) Fork(ctx context.Context, in threadapi.ForkInput) (threadapi.Thread, error) {
	source, err := e.thread(ctx, in.Thread)
	if err != nil {
		return threadapi.Thread{}, err
	}
	source.mu.Lock()
	k := source.kept
	source.mu.Unlock()
	if err := e.admit(kernelcontract.CallFrom(ctx).Principal, k.Permission); err != nil {
		return threadapi.Thread{}, err
	}
	d, err := e.pool.Provider(k.ProviderID)
	if err != nil {
		return threadapi.Thread{}, err
	}
	switch {
	case d.Capabilities.Fork == protocol.ForkNone:
		return threadapi.Thread{}, threadapi.Unsupported.Errorf("the provider %s cannot fork", d.ID)
	case in.CheckpointID != "" && d.Capabilities.Fork != protocol.ForkCheckpoint:
		return threadapi.Thread{}, threadapi.Unsupported.Errorf("the provider %s forks at the end only: leave the checkpoint out", d.ID)
	case k.ProviderThreadID == "":
		return threadapi.Thread{}, kernelcontract.Precondition.Errorf("thread %s has not begun: there is nothing to fork", k.ID)
	}
	now := e.now()
	t := &thread{e: e, id: e.ids.next(threadPrefix, now)}
	t.reset()
	t.kept = k
	t.kept.Thread = threadapi.Thread{
		ID: t.id, ProviderID: k.ProviderID, Title: in.Title, Status: threadapi.Idle, Cwd: k.Cwd, ProjectID: k.ProjectID, Permission: k.Permission,
		Escalation: k.Escalation, Model: k.Model, Reasoning: k.Reasoning, Tier: k.Tier, ForkedFrom: k.ID, CreatedAt: now,
	}
	t.kept.TitleGiven = in.Title != ""
	if in.Title == "" {
		t.kept.Title = k.Title
	}
	t.kept.Grants, t.kept.Queue, t.kept.Sent, t.kept.LastTurn = nil, nil, nil, ""
	t.kept.ProviderThreadID, t.kept.Restorable, t.kept.Usage = "", false, protocol.TokenBreakdown{}
	if t.kept.ProviderOptions, err = e.derive(ctx, "fork", &t.kept); err != nil {
		return threadapi.Thread{}, err
	}
	b, err := e.pool.Bridge(ctx, k.ProviderID)
	if err != nil {
		return threadapi.Thread{}, err
	}
	if err := e.begin(ctx, t, timeline.Event{At: now, Type: threadapi.EventThreadForked, Payload: created{
		ProviderID: k.ProviderID, Cwd: k.Cwd, Title: t.kept.Title, By: kernelcontract.CallFrom(ctx).Principal.Actor, ForkedFrom: k.ID, CheckpointID: in.CheckpointID,
	}}); err != nil {
		return threadapi.Thread{}, err
	}
	err = t.drivingFor(ctx, func() error {
		_, err := t.attach(b, "forked", func(p protocol.SessionParams) (protocol.SessionIdentity, error) {
			return b.ThreadFork(ctx, protocol.ForkParams{SessionParams: p, SourceProviderThreadID: k.ProviderThreadID, SourceCheckpointID: in.CheckpointID})
		})
		return err
	})
	if err != nil {
		_ = e.erase(context.WithoutCancel(ctx), t)
		return threadapi.Thread{}, bridgeError(err)
	}
	if err := t.flush(ctx); err != nil {
		return threadapi.Thread{}, err
	}
	return t.shown(), nil
}

// Discard ends a thread and deletes all that is kept of it.
func (e *Engine) Discard(ctx context.Context, id string) error {
	t, err := e.thread(ctx, id)
	if err != nil {
		return err
	}
	if err := t.interrupt(ctx); err != nil {
		return err
	}
	always := func(protocol.Capabilities) bool { return true }
	if err := t.tell(ctx, always, func(b caller, ref protocol.ThreadRef) error { return b.ThreadDiscard(ctx, ref) }); err != nil {
		e.log.Warn("the agent's session was not discarded with its thread", "thread", id, "error", err)
	}
	return e.erase(ctx, t)
}

// erase deletes what is kept of a thread.
func (e *Engine) erase(ctx context.Context, t *thread) error {
	t.mu.Lock()
	if s := t.session; s != nil {
		t.session = nil
		s.end()
	}
	closed := make(chan struct{})
	retired := t.e.retire(t, func() { close(closed) })
	t.publish()
	t.mu.Unlock()
	if !retired {
		return kernelcontract.Conflict.Errorf("thread %s was just let go of: try again", t.id)
	}
	select {
	case <-closed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := e.store.Update(ctx, func(tx store.Tx) error {
		asks, err := keys(tx, threadAsksBucket+t.id)
		if err != nil {
			return err
		}
		for _, id := range asks {
			if err := errors.Join(tx.Delete(asksBucket, id), tx.Delete(pendingBucket, id)); err != nil {
				return err
			}
		}
		for _, bucket := range []string{threadAsksBucket + t.id, turnsBucket + t.id, requestsBucket + t.id} {
			all, err := keys(tx, bucket)
			if err != nil {
				return err
			}
			for _, key := range all {
				if err := tx.Delete(bucket, key); err != nil {
					return err
				}
			}
		}
		return errors.Join(tx.Delete(activeBucket, t.id), tx.Delete(threadsBucket, t.id), tx.Put(discardsBucket, t.id, nil))
	})
	if err != nil {
		return storeError(err)
	}
	return e.eraseRest(ctx, t.id)
}

// eraseRest deletes the events and the directory of a thread that is no more. What is left when it is broken off is deleted
// by the next start.
func (e *Engine) eraseRest(ctx context.Context, id string) error {
	if err := e.lines.Delete(ctx, id); err != nil {
		return storeError(err)
	}
	if err := os.RemoveAll(e.storage(id)); err != nil {
		return fmt.Errorf("the thread is deleted, but not its directory: %w", err)
	}
	err := e.store.Update(ctx, func(tx store.Tx) error { return tx.Delete(discardsBucket, id) })
	if err != nil {
		return storeError(err)
	}
	return nil
}
