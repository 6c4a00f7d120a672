package acp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
)

const (
	// cancelGrace is how long an agent has to end a turn that was cancelled. Then it is ended itself, within what is left of
	// bridgekit.StopGrace.
	cancelGrace = 6 * time.Second
	// maxItemText is where a message goes on as a new one: an item is sent whole when it closes, and has to fit a line.
	maxItemText = 1 << 20
)

// turn is a turn that is open, or one that begins.
type turn struct {
	s       *Session
	key     string
	ctx     context.Context // of what the turn asks and prepares; ends before the turn does
	cancel  context.CancelCauseFunc
	opened  chan struct{} // closed when the prompt is written, or will not be
	over    chan struct{} // closed when everything is settled
	work    sync.WaitGroup
	started bool // input.accepted and turn.open are sent

	// The rest is under the mutex of the session.
	agent     *agent
	prompting bool // the prompt is written now, or was
	stopping  bool
	spent     *schema.Cost // on the session, as reported in this turn
	text      *openText
	calls     map[string]*call
	order     []*call
	asked     map[wire.ID]context.CancelCauseFunc // permissions that wait
}

// openText is a message or a thought that grows.
type openText struct {
	key       protocol.ItemKey
	kind      string // of the update
	messageID string
	text      strings.Builder
}

// errTakenBack is why a question ends that the agent took back.
var errTakenBack = errors.New("the agent took its question back")

// startTurn runs a turn to its end: the runtime answers core as soon as the agent has the input.
func (s *Session) startTurn(ctx context.Context, p protocol.TurnStartParams) error {
	t := &turn{s: s, opened: make(chan struct{}), over: make(chan struct{}), calls: map[string]*call{}, asked: map[wire.ID]context.CancelCauseFunc{}}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	t.key = s.name("turn")
	s.turn = t
	s.mu.Unlock()
	defer func() {
		t.cancel(context.Canceled)
		t.work.Wait()
		s.mu.Lock()
		s.turn = nil
		s.mu.Unlock()
		close(t.over)
	}()
	a, blocks, err := t.prepare(p)
	if err != nil {
		if t.ctx.Err() != nil {
			return bridgekit.ErrInterrupted
		}
		return err
	}
	s.mu.Lock()
	if t.stopping {
		s.mu.Unlock()
		return bridgekit.ErrInterrupted
	}
	t.agent, t.prompting = a, true
	s.mu.Unlock()
	var sendErr error
	raw, err := a.peer.CallSent(ctx, schema.SessionPrompt, schema.PromptParams{SessionID: s.id, Prompt: blocks}, func() {
		sendErr = s.t.Send(&protocol.InputAccepted{ClientRequestID: p.ClientRequestID}, &protocol.TurnOpen{TurnKey: &t.key})
		t.started = sendErr == nil
		close(t.opened)
	})
	if !t.started {
		select {
		case <-t.opened:
		default:
			close(t.opened)
		}
		return errors.Join(sendErr, a.explain(ctx, err))
	}
	if err != nil {
		err = a.explain(ctx, err)
	}
	if needsLogin(err) {
		err = &loginError{hint: s.p.signInHint(a.about), cause: err}
	}
	t.cancel(context.Canceled) // nobody waits for permissions any longer
	t.work.Wait()
	return t.finish(raw, err)
}

// prepare makes ready what the prompt needs.
func (t *turn) prepare(p protocol.TurnStartParams) (*agent, []schema.Block, error) {
	s := t.s
	a, err := s.alive(t.ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := s.p.authenticated(t.ctx, a, s.config, func() error { return s.choose(t.ctx, p.Options) }); err != nil {
		return nil, nil, err
	}
	blocks, err := s.blocks(p.Input, a.about.AgentCapabilities.PromptCapabilities.Image)
	if err != nil {
		return nil, nil, err
	}
	if text := p.Options.Instructions; text != s.instructions {
		s.instructions = text
		if text != "" { // the protocol has no other place for them
			blocks = append([]schema.Block{{Type: "text", Text: text}}, blocks...)
		}
	}
	return a, blocks, nil
}

// stop cancels the turn and waits until it has settled. An agent that does not end the turn is ended.
func (t *turn) stop(ctx context.Context) {
	s := t.s
	s.mu.Lock()
	t.stopping = true
	prompting, a := t.prompting, t.agent
	terminals := make([]*terminal, 0, len(s.terminals))
	for _, term := range s.terminals {
		terminals = append(terminals, term)
	}
	s.mu.Unlock()
	t.cancel(bridgekit.ErrInterrupted)
	if prompting {
		select {
		case <-t.opened: // the cancellation has to come behind the prompt
			a.peer.Notify(ctx, schema.SessionCancel, map[string]string{"sessionId": s.id}) // fails when the agent is gone
		case <-ctx.Done():
		}
	}
	for _, term := range terminals {
		term.kill()
	}
	patience := time.NewTimer(cancelGrace)
	defer patience.Stop()
	select {
	case <-t.over:
		return
	case <-patience.C:
	case <-ctx.Done():
	}
	if prompting {
		a.breaks("the agent did not end a turn that was cancelled")
	}
	select {
	case <-t.over:
	case <-ctx.Done():
	}
}

// finish settles the turn with what the prompt came to.
func (t *turn) finish(raw json.RawMessage, err error) error {
	s := t.s
	var result schema.PromptResult
	if err == nil {
		if jsonErr := json.Unmarshal(raw, &result); jsonErr != nil {
			err = &deathError{"the agent ended the turn with an answer that makes no sense: " + jsonErr.Error()}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := protocol.Completed
	var failure *protocol.ProviderError
	switch {
	case t.stopping || s.ctx.Err() != nil || result.StopReason == schema.Cancelled:
		status = protocol.Interrupted
	case err != nil:
		failure = failureOf(err)
	default:
		failure = failureOfReason(result.StopReason)
	}
	if failure != nil {
		status = protocol.Failed
	}
	var ds []protocol.Delta
	ds = append(ds, t.closeText()...)
	for _, c := range t.order {
		if !c.closed {
			ds = append(ds, c.settle(t, status)...)
		}
	}
	for id := range t.calls {
		s.usedCalls[id] = max(s.usedCalls[id], t.calls[id].generation)
	}
	ds = append(ds, t.usage(result.Usage)...)
	if failure != nil {
		failure.Scope = protocol.Scope{Turn: t.key}
		failure.SettlesTurn = true
		ds = append(ds, failure)
	} else {
		ds = append(ds, &protocol.TurnBoundary{TurnKey: &t.key, Status: status})
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

// failureOf is the error with which a turn fails when its prompt did.
func failureOf(err error) *protocol.ProviderError {
	f := &protocol.ProviderError{Category: protocol.ErrorUnknown, Message: err.Error()}
	var login *loginError
	var death *deathError
	var answer *wire.Error
	switch {
	case errors.As(err, &login):
		f.Category = protocol.ErrorUnauthorized
	case errors.As(err, &death), errors.Is(err, wire.ErrClosed):
		f.Category = protocol.ErrorStreamDisconnected
	case errors.As(err, &answer):
		f.Message = answerText(answer)
		f.ProviderCode = protocol.Ptr(strconv.Itoa(answer.Code))
		if answer.Code == schema.CodeInternal {
			f.Category = protocol.ErrorInternal
		}
	}
	return f
}

// failureOfReason is the error with which a turn fails for the reason that the agent gave, nil when it completed.
func failureOfReason(reason string) *protocol.ProviderError {
	switch reason {
	case schema.MaxTokens:
		return &protocol.ProviderError{Category: protocol.ErrorMaxOutputTokens, Message: "the model reached the limit of its answer"}
	case schema.MaxTurnRequests:
		return &protocol.ProviderError{Category: protocol.ErrorMaxTurns, Message: "the agent reached the limit of requests in a turn"}
	case schema.Refusal:
		return &protocol.ProviderError{Category: protocol.ErrorPolicy, Message: "the agent refuses to go on"}
	}
	return nil
}

// usage reports what the turn cost. Agents count tokens by turn, and money by session.
func (t *turn) usage(u *schema.Usage) []protocol.Delta {
	var spent *protocol.Cost
	if now, before := t.spent, t.s.spent; now != nil {
		if before != nil && now.Amount > before.Amount && now.Currency != "" {
			spent = &protocol.Cost{Amount: now.Amount - before.Amount, Currency: now.Currency}
		}
		t.s.spent = now
	}
	if u == nil || u.TotalTokens <= 0 {
		return nil
	}
	counts := []*int64{&u.TotalTokens, &u.InputTokens, &u.OutputTokens, &u.ThoughtTokens, &u.CachedReadTokens}
	for _, n := range counts {
		*n = max(0, *n)
	}
	return []protocol.Delta{&protocol.Usage{TurnKey: &t.key, CacheWriteTokens: natural(u.CachedWriteTokens), Cost: spent, Last: protocol.TokenBreakdown{
		TotalTokens: u.TotalTokens, InputTokens: u.InputTokens, CachedInputTokens: u.CachedReadTokens,
		OutputTokens: u.OutputTokens, ReasoningOutputTokens: u.ThoughtTokens}}}
}

// send sends deltas of the turn. A delta that breaks a rule is logged: what the agent says must not end the turn.
func (t *turn) send(ds ...protocol.Delta) {
	if len(ds) == 0 {
		return
	}
	if err := t.s.t.Send(ds...); err != nil && t.s.ctx.Err() == nil {
		t.s.x.Log(protocol.LogWarn, "something that the agent reported is lost: "+err.Error(), nil)
	}
}

// update takes an update of the open turn, with the mutex of the session.
func (t *turn) update(u schema.Update, raw json.RawMessage) {
	switch u.SessionUpdate {
	case schema.UserChunk: // what the user said is known
	case schema.MessageChunk, schema.ThoughtChunk:
		var b schema.Block
		if err := json.Unmarshal(u.Content, &b); err != nil {
			t.unhandled(raw)
			return
		}
		t.say(u.SessionUpdate, u.MessageID, blockText(b))
	case schema.ToolCallNew, schema.ToolCallUpdate:
		c := t.call(u)
		if c == nil {
			return
		}
		if err := c.merge(t, u); err != nil {
			t.unhandled(raw)
		}
		t.send(c.report(t)...)
	case schema.PlanUpdate:
		todo := &protocol.Todo{TurnKey: &t.key, Steps: []protocol.TodoStep{}}
		for _, e := range u.Entries {
			todo.Steps = append(todo.Steps, protocol.TodoStep{Text: e.Content, Status: todoStatus(e.Status)})
		}
		t.send(todo)
	case schema.UsageUpdate:
		if u.Cost != nil {
			t.spent = u.Cost
		}
		t.send(&protocol.ContextWindow{Used: natural(u.Used), Size: natural(u.Size)})
	default:
		t.unhandled(raw)
	}
}

// natural is a number that is not negative; others are unknown.
func natural(n *int64) *int64 {
	if n == nil || *n < 0 {
		return nil
	}
	return n
}

func todoStatus(status string) protocol.TodoStatus {
	switch status {
	case schema.InProgress:
		return protocol.TodoActive
	case schema.Completed:
		return protocol.TodoCompleted
	case schema.Failed:
		return protocol.TodoFailed
	}
	return protocol.TodoPending
}

// unhandled keeps what the bridge does not translate, cut to what a delta may hold.
func (t *turn) unhandled(raw json.RawMessage) {
	var kind struct {
		SessionUpdate string `json:"sessionUpdate"`
	}
	json.Unmarshal(raw, &kind) // "" is as good a name as any
	if len(raw) > protocol.MaxRaw {
		raw, _ = json.Marshal(map[string]string{"beginning": cut(string(raw[:protocol.MaxRaw/4]), protocol.MaxRaw/4)})
	}
	t.send(&protocol.ProviderUnhandled{Scope: protocol.Scope{Turn: t.key}, RawType: cut("session/update "+kind.SessionUpdate, maxDescription), Raw: raw})
}

// say appends to the message or thought that is open, or opens one.
func (t *turn) say(kind, messageID, text string) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if o := t.text; o != nil && (o.kind != kind || o.messageID != messageID || o.text.Len()+len(text) > maxItemText) {
		t.send(t.closeText()...)
	}
	for len(text) > 0 {
		part := text
		if len(part) > protocol.MaxDeltaText {
			part = headBytes(text, protocol.MaxDeltaText)
		}
		text = text[len(part):]
		var ds []protocol.Delta
		if t.text == nil {
			t.text = &openText{key: protocol.ItemKey{ProviderItemID: t.s.name("text")}, kind: kind, messageID: messageID}
			ds = append(ds, &protocol.ItemOpen{Scope: protocol.Scope{Turn: t.key}, Key: t.text.key, Item: t.text.item(""), Presentation: t.text.show(false)})
		}
		t.text.text.WriteString(part)
		t.send(append(ds, &protocol.ItemText{Scope: protocol.Scope{Turn: t.key}, Key: t.text.key, Stream: protocol.Text, Text: part})...)
		if len(text) > 0 {
			t.send(t.closeText()...)
		}
	}
}

// closeText closes the message or thought that is open.
func (t *turn) closeText() []protocol.Delta {
	o := t.text
	if o == nil {
		return nil
	}
	t.text = nil
	return []protocol.Delta{&protocol.ItemClose{Scope: protocol.Scope{Turn: t.key}, Key: o.key, Status: protocol.Completed, Item: o.item(o.text.String()), Presentation: o.show(true)}}
}

func (o *openText) item(text string) protocol.Item {
	if o.kind == schema.ThoughtChunk {
		return &protocol.Reasoning{Text: text}
	}
	return &protocol.Message{Text: text}
}

func (o *openText) show(done bool) protocol.Presentation {
	switch {
	case o.kind == schema.ThoughtChunk && done:
		return protocol.Presentation{Label: "Thought", Icon: "brain"}
	case o.kind == schema.ThoughtChunk:
		return protocol.Presentation{Label: "Thinking", Icon: "brain"}
	case done:
		return protocol.Presentation{Label: "Wrote", Icon: "message"}
	}
	return protocol.Presentation{Label: "Writing", Icon: "message"}
}

// headBytes is the longest beginning of at most limit bytes that ends between characters.
func headBytes(text string, limit int) string {
	for limit > 0 && text[limit]&0xC0 == 0x80 {
		limit--
	}
	return text[:limit]
}

// blockText is a block as text.
func blockText(b schema.Block) string {
	switch b.Type {
	case "text":
		return b.Text
	case "resource_link":
		return b.URI
	case "resource":
		if b.Resource != nil {
			if b.Resource.Text != "" {
				return b.Resource.Text
			}
			return b.Resource.URI
		}
	}
	return "[" + b.Type + " " + b.MimeType + "]"
}
