package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-codex/internal/schema"
)

const (
	// stopPatience is how long Codex has to end a turn that was interrupted, with everything that runs in it. Then the
	// app-server is ended, within what is left of bridgekit.StopGrace.
	stopPatience = 5 * time.Second
	// itemPatience is how long the items of such a turn have to close behind its end: Codex ends the turn first and its
	// shells afterwards.
	itemPatience = time.Second
	// cleanEvery is how often Codex is asked to end shells until they have ended.
	cleanEvery = 200 * time.Millisecond
)

// turn is a turn that is open, or one that begins.
type turn struct {
	s      *Session
	ctx    context.Context // of what the turn asks; ends before the turn does
	cancel context.CancelCauseFunc
	known  chan struct{} // closed when Codex has named the turn
	ended  chan struct{} // closed when Codex has ended the turn, and its items when it was interrupted
	over   chan struct{} // closed when everything is settled
	work   sync.WaitGroup

	// The rest is under the mutex of the session.
	key      string // Codex's id of the turn
	request  string // core's id of the input; "" when Codex began the turn
	server   *server
	stopping bool
	result   *schema.Turn
	failure  *schema.TurnError // the last one that Codex does not get over by itself
	items    map[string]*item  // the open ones
	closed   map[string]bool
	asked    map[wire.ID]context.CancelCauseFunc // questions that wait
}

// errTakenBack is why a question ends that Codex took back.
var errTakenBack = errors.New("the question was taken back")

func (s *Session) newTurn(ctx context.Context, request string) *turn {
	t := &turn{s: s, request: request, known: make(chan struct{}), ended: make(chan struct{}), over: make(chan struct{}),
		items: map[string]*item{}, closed: map[string]bool{}, asked: map[wire.ID]context.CancelCauseFunc{}}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	return t
}

func (t *turn) scope() protocol.Scope { return protocol.Scope{Turn: t.key} }

// startTurn runs a turn to its end: the runtime answers core as soon as Codex has the input.
func (s *Session) startTurn(ctx context.Context, p protocol.TurnStartParams) error {
	compact := slices.Contains(p.Actions, protocol.ActionCompact)
	if compact && len(p.Input) > 0 {
		return protocol.BridgeError.Errorf("the action compact takes no input: send it by itself")
	}
	t := s.newTurn(ctx, p.ClientRequestID)
	s.mu.Lock()
	if s.turn != nil {
		s.mu.Unlock()
		t.cancel(nil)
		return protocol.BridgeError.Errorf("Codex is at work on a turn of its own: send the input with turn/steer, or when the turn is over")
	}
	s.turn = t
	s.mu.Unlock()
	defer t.leave()
	a, err := s.alive(t.ctx)
	if err != nil {
		return t.interrupted(err)
	}
	input, err := s.input(p.Input)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if t.stopping {
		s.mu.Unlock()
		return bridgekit.ErrInterrupted
	}
	t.server = a
	s.mu.Unlock()
	if compact {
		err = a.call(ctx, schema.ThreadCompact, threadRef(s.id), nil)
	} else {
		var result schema.TurnResult
		if err = a.call(ctx, schema.TurnStart, s.turnParams(p, input), &result); err == nil {
			s.mu.Lock()
			s.begun(result.Turn.ID)
			s.mu.Unlock()
		}
	}
	if err != nil {
		s.mu.Lock()
		opened := t.key != ""
		s.mu.Unlock()
		if !opened {
			return t.interrupted(refusal(err))
		}
	}
	return t.run()
}

// refusal is the error of an input that Codex did not take.
func refusal(err error) error {
	var answer *wire.Error
	if errors.As(err, &answer) {
		return protocol.BridgeError.Errorf("Codex does not take the input: %s", answer.Message)
	}
	return err
}

// interrupted is the error, or that of an interruption when there was one.
func (t *turn) interrupted(err error) error {
	if t.ctx.Err() != nil {
		return bridgekit.ErrInterrupted
	}
	return err
}

// leave ends everything that waits for the turn.
func (t *turn) leave() {
	t.cancel(context.Canceled)
	t.work.Wait()
	t.s.mu.Lock()
	if t.s.turn == t {
		t.s.turn = nil
	}
	t.s.mu.Unlock()
	close(t.over)
}

// turnParams are the params of a turn. Codex stays in the mode for plans until it is told otherwise.
func (s *Session) turnParams(p protocol.TurnStartParams, input []schema.Input) schema.TurnParams {
	o := p.Options
	params := schema.TurnParams{ThreadID: s.id, Input: input, Model: o.Model, ServiceTier: o.ServiceTier, Effort: o.ReasoningLevel,
		SandboxPolicy: sandboxPolicy(o.Permission, s.params.Workspace)}
	params.ApprovalPolicy, _ = permission(o.Permission)
	json.Unmarshal(object(o.ProviderOptions["reasoningSummary"]), &params.Summary) // what is no text is none
	if o.Instructions != s.params.Options.Instructions && o.Instructions != "" {
		params.AdditionalContext = map[string]schema.Context{"instructions": {Value: o.Instructions, Kind: "application"}}
	}
	if plan := slices.Contains(p.Actions, protocol.ActionPlan); plan || s.planning {
		s.planning = plan
		params.Mode = &schema.Mode{Mode: "default"}
		if plan {
			params.Mode.Mode = "plan"
		}
		params.Mode.Settings.Model = cmp.Or(o.Model, s.model)
		params.Mode.Settings.Effort = optional(o.ReasoningLevel)
	}
	return params
}

// begun takes the id of a turn, from Codex's answer or from its notification, whichever comes first: the one that is waited
// for, or one that Codex begins by itself, for a goal. It is called with the mutex.
func (s *Session) begun(id string) {
	t := s.turn
	if t == nil {
		t = s.newTurn(s.ctx, "")
		t.server = s.server
		s.turn = t
		defer s.t.Go(func(ctx context.Context) error {
			defer t.leave()
			return t.run()
		})
	}
	if t.key != "" || t.server == nil {
		return
	}
	t.key = part(id)
	var ds []protocol.Delta
	if t.request != "" {
		ds = append(ds, &protocol.InputAccepted{ClientRequestID: t.request})
	}
	s.send(append(ds, &protocol.TurnOpen{TurnKey: &t.key})...)
	close(t.known)
}

// ends takes the end of the turn from Codex, with the mutex.
func (t *turn) ends(result *schema.Turn) {
	if t.result != nil {
		return
	}
	t.result = result
	t.settleIfDone()
}

// settleIfDone lets the turn settle when nothing is to come any longer. The end of an interrupted one is held until its
// items are closed, since their shells run on behind it.
func (t *turn) settleIfDone() {
	if t.result == nil || t.stopping && t.running() {
		return
	}
	select {
	case <-t.ended:
	default:
		close(t.ended)
	}
}

// running tells whether a command has not ended.
func (t *turn) running() bool {
	for _, i := range t.items {
		if i.last.Type == schema.CommandItem {
			return true
		}
	}
	return false
}

// run waits for the end of the turn and settles it.
func (t *turn) run() error {
	var err error
	select {
	case <-t.ended:
	case <-t.server.gone:
		err = t.server.death()
	case <-t.s.ctx.Done():
	}
	t.cancel(context.Canceled) // nobody waits for answers any longer
	t.work.Wait()
	return t.finish(err)
}

// stop interrupts the turn and waits until it has settled. An app-server that does not end it is ended.
func (t *turn) stop(ctx context.Context) {
	s := t.s
	s.mu.Lock()
	t.stopping = true
	a := t.server
	s.mu.Unlock()
	t.cancel(bridgekit.ErrInterrupted)
	if a == nil { // it has not reached Codex, and will not
		select {
		case <-t.over:
		case <-ctx.Done():
		}
		return
	}
	patient, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	if t.interrupt(patient, a) {
		t.await(patient)
	}
	select {
	case <-t.over:
		return
	default:
	}
	a.breaks("Codex did not end a turn that was interrupted")
	t.await(ctx)
}

func (t *turn) await(ctx context.Context) {
	select {
	case <-t.over:
	case <-ctx.Done():
	}
}

// interrupt has Codex end the turn and the shells in it. False means that it will not.
func (t *turn) interrupt(ctx context.Context, a *server) bool {
	select {
	case <-t.known:
	case <-t.over:
		return true
	case <-ctx.Done():
		return false
	}
	err := a.call(ctx, schema.TurnInterrupt, map[string]string{"threadId": t.s.id, "turnId": t.key}, nil)
	var answer *wire.Error
	if err != nil && !errors.As(err, &answer) { // an answer says that the turn has just ended
		return false
	}
	end := time.NewTimer(itemPatience)
	defer end.Stop()
	for {
		// A shell that has just been started is not among the terminals yet: Codex is asked until its item has closed.
		if err := a.call(ctx, schema.CleanTerminals, threadRef(t.s.id), nil); err != nil {
			return false
		}
		select {
		case <-t.over:
			return true
		case <-time.After(cleanEvery):
			continue
		case <-end.C:
		case <-ctx.Done():
		}
		break
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return !t.running() // a shell that does not end ends with the app-server
}

// steer adds input to the open turn.
func (s *Session) steer(ctx context.Context, p protocol.TurnSteerParams) error {
	s.mu.Lock()
	t := s.turn
	if t == nil || t.key != p.TurnID || t.stopping || t.result != nil {
		s.mu.Unlock()
		return protocol.NoActiveTurn.Errorf("the turn is over")
	}
	a := t.server
	s.mu.Unlock()
	input, err := s.input(p.Input)
	if err != nil {
		return err
	}
	err = a.call(ctx, schema.TurnSteer, schema.SteerParams{ThreadID: s.id, Input: input, ExpectedTurnID: t.key}, nil)
	var answer *wire.Error
	if errors.As(err, &answer) {
		return protocol.NoActiveTurn.Errorf("Codex does not take the input: %s", answer.Message)
	}
	if err != nil {
		return err
	}
	return s.t.Send(&protocol.InputAccepted{ClientRequestID: p.ClientRequestID})
}

// finish settles the turn.
func (t *turn) finish(err error) error {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	status := protocol.Completed
	var failure *protocol.ProviderError
	switch {
	case t.stopping || s.ctx.Err() != nil:
		status = protocol.Interrupted
	case err != nil:
		failure = &protocol.ProviderError{Category: protocol.ErrorStreamDisconnected, Message: err.Error()}
	case t.result.Status == schema.Failed:
		why := t.result.Error
		if why == nil {
			why = t.failure
		}
		if why == nil {
			why = &schema.TurnError{Message: "the turn failed, and Codex does not say why"}
		}
		failure = failureOf(why)
	case t.result.Status == schema.Interrupted:
		status = protocol.Interrupted
	}
	if failure != nil {
		status = protocol.Failed
	}
	ds := t.closeAll(status)
	if failure != nil {
		failure.Scope, failure.SettlesTurn = t.scope(), true
		ds = append(ds, failure)
	} else {
		boundary := &protocol.TurnBoundary{TurnKey: &t.key, Status: status}
		if status == protocol.Completed {
			boundary.CheckpointID = &t.key
		}
		ds = append(ds, boundary)
	}
	s.turn = nil // what comes now is late
	if sendErr := s.t.Send(ds...); sendErr != nil {
		return sendErr
	}
	if failure != nil && failure.Category == protocol.ErrorUnauthorized {
		return s.t.Recover(protocol.RecoverReauthenticate, failure.Message)
	}
	return nil
}

// trouble takes an error. Codex tries again by itself, or ends the turn with it.
func (t *turn) trouble(e *schema.TurnError, willRetry bool) {
	if !willRetry {
		t.failure = e
		return
	}
	f := failureOf(e)
	f.Scope, f.WillRetry = t.scope(), true
	t.s.send(f)
}

// todo reports the plan of the turn.
func (t *turn) todo(p schema.Note) {
	todo := &protocol.Todo{TurnKey: &t.key, Steps: []protocol.TodoStep{}}
	for _, step := range p.Plan {
		status := protocol.TodoPending
		switch step.Status {
		case schema.InProgress:
			status = protocol.TodoActive
		case schema.Completed:
			status = protocol.TodoCompleted
		}
		todo.Steps = append(todo.Steps, protocol.TodoStep{Text: cut(step.Step, maxDetail), Status: status})
	}
	if p.Explanation != nil && *p.Explanation != "" {
		todo.Explanation = protocol.Ptr(cut(*p.Explanation, maxDetail))
	}
	t.s.send(todo)
}

// usage reports what the thread cost so far. After an interruption Codex repeats the last count.
func (t *turn) usage(u *schema.Usage) {
	if u == nil || u.Total == t.s.total {
		return
	}
	t.s.total = u.Total
	d := &protocol.Usage{TurnKey: &t.key, Last: breakdown(u.Last), Total: protocol.Ptr(breakdown(u.Total)), ModelContextWindow: u.Window}
	if u.Last.CacheWrite > 0 {
		d.CacheWriteTokens = &u.Last.CacheWrite
	}
	t.s.send(d, &protocol.ContextWindow{Used: protocol.Ptr(max(0, u.Last.Total)), Size: u.Window})
}

func breakdown(n schema.Tokens) protocol.TokenBreakdown {
	return protocol.TokenBreakdown{TotalTokens: max(0, n.Total), InputTokens: max(0, n.Input), CachedInputTokens: max(0, n.Cached),
		OutputTokens: max(0, n.Output), ReasoningOutputTokens: max(0, n.Reasoning)}
}
