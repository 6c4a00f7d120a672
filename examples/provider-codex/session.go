package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-codex/internal/schema"
)

// maxRequests is how many requests of an app-server are worked on side by side. More wait, and the app-server with them.
const maxRequests = 16

// Session is a thread's conversation with Codex.
type Session struct {
	p      *provider
	t      *bridgekit.Thread
	ctx    context.Context // the session's
	x      *bridgekit.Context
	params protocol.SessionParams
	config config
	tools  toolNames

	slots chan struct{} // requests that are worked on
	work  sync.WaitGroup

	mu       sync.Mutex
	server   *server
	id       string   // Codex's name of the thread
	unloaded bool     // the app-server has put the thread away
	model    string   // that of the thread
	planning bool     // the last turn was for a plan
	roots    []string // staged skills, nil before there are any
	turn     *turn    // the open one, or one that begins
	keys     int      // counts what needs a name in this process
	total    schema.Tokens
	limits   schema.Limits // merged, since updates are sparse
}

func newSession(ctx context.Context, p *provider, t *bridgekit.Thread, params protocol.SessionParams, c config) *Session {
	return &Session{p: p, t: t, ctx: ctx, x: bridgekit.ContextOf(ctx), params: params, config: c, slots: make(chan struct{}, maxRequests)}
}

// connect starts an app-server and has it make, load or copy a thread, as the method says.
func (s *Session) connect(ctx context.Context, method string, which schema.ThreadParams) error {
	a, err := s.p.launch(s.ctx, launch{command: s.config.command, dir: s.params.Cwd, env: s.p.environ(s.config, s.params.Env),
		providerID: s.params.ProviderID, threadID: s.t.ID(), request: s.request, notify: s.notify,
		log: func(text string) { s.x.Log(protocol.LogWarn, text, nil) }})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.server = a
	s.mu.Unlock()
	if err := s.load(ctx, a, method, which); err != nil {
		a.end() // so that nobody takes it for one that has the thread
		return err
	}
	return nil
}

// load has the app-server make, load or copy the thread.
func (s *Session) load(ctx context.Context, a *server, method string, which schema.ThreadParams) error {
	var result schema.ThreadResult
	err := a.call(ctx, method, s.config.thread(which, method, s.params, &s.tools), &result)
	var answer *wire.Error
	switch {
	case err == nil:
	case errors.As(err, &answer) && method == schema.ThreadResume:
		return protocol.SessionNotRestorable.Errorf("Codex does not load the thread %s: %s", which.ThreadID, answer.Message)
	case errors.As(err, &answer):
		return protocol.BridgeError.Errorf("Codex refuses %s: %s", method, answer.Message)
	default:
		return err
	}
	if result.Thread.ID == "" {
		return protocol.BridgeError.Errorf("Codex gave its thread no id")
	}
	s.mu.Lock()
	s.id, s.model, s.unloaded = result.Thread.ID, result.Model, false
	roots := s.roots
	s.mu.Unlock()
	if roots != nil {
		return a.call(ctx, schema.SkillsExtraRoots, map[string]any{"extraRoots": roots}, nil)
	}
	return nil
}

// alive returns an app-server that has the thread, if need be a new one.
func (s *Session) alive(ctx context.Context) (*server, error) {
	s.mu.Lock()
	a, id, unloaded := s.server, s.id, s.unloaded
	s.mu.Unlock()
	var err error
	switch {
	case !a.alive():
		err = s.connect(ctx, schema.ThreadResume, schema.ThreadParams{ThreadID: id})
	case unloaded:
		err = s.load(ctx, a, schema.ThreadResume, schema.ThreadParams{ThreadID: id})
	default:
		return a, nil
	}
	if errors.Is(err, protocol.SessionNotRestorable) {
		return nil, &protocol.Error{Code: protocol.BridgeError, Recovery: protocol.RecoverResumeFresh, Message: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server, nil
}

// skills hands staged skills to Codex.
func (s *Session) skills(ctx context.Context, p protocol.SkillsConfigureParams) error {
	roots := make([]string, 0, len(p.Roots))
	for _, r := range p.Roots {
		roots = append(roots, r.Path)
	}
	s.mu.Lock()
	s.roots = roots
	s.mu.Unlock()
	a, err := s.alive(ctx)
	if err != nil {
		return err
	}
	return a.call(ctx, schema.SkillsExtraRoots, map[string]any{"extraRoots": roots}, nil)
}

// end ends the app-server and everything that it started.
func (s *Session) end() {
	s.mu.Lock()
	a := s.server
	s.mu.Unlock()
	if a != nil {
		a.end()
	}
	s.work.Wait()
}

// stop interrupts the open turn, or lets go of the session.
func (s *Session) stop(ctx context.Context, p protocol.ThreadStopParams) error {
	if p.Intent == protocol.Release {
		s.end()
		return nil
	}
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	if t != nil {
		t.stop(ctx)
	}
	return nil
}

// name makes a name that is new in this process.
func (s *Session) name(kind string) string {
	s.keys++
	return fmt.Sprintf("%s-%d", kind, s.keys)
}

func (s *Session) warn(category protocol.WarningCategory, summary string) {
	s.send(&protocol.ProviderWarning{Scope: protocol.Scope{Thread: true}, Category: category, Summary: &summary})
}

// send sends deltas. One that breaks a rule is logged: what Codex says must not end the turn.
func (s *Session) send(ds ...protocol.Delta) {
	if len(ds) == 0 {
		return
	}
	if err := s.t.Send(ds...); err != nil && s.ctx.Err() == nil && !errors.Is(err, bridgekit.ErrEnded) {
		s.x.Log(protocol.LogWarn, "something that Codex reported is lost: "+err.Error(), nil)
	}
}

// raw hands core what the bridge did not translate.
func (s *Session) raw(coverage protocol.Coverage, n wire.Notification) {
	s.x.Raw(coverage, map[string]any{"method": n.Method, "params": object(n.Params)}) // may be lost
}

// notify takes a notification, in the order of the wire.
func (s *Session) notify(_ context.Context, n wire.Notification) {
	var p schema.Note
	if err := json.Unmarshal(object(n.Params), &p); err != nil {
		s.x.Log(protocol.LogWarn, "Codex sent "+cut(n.Method, maxShown)+", which makes no sense", nil)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.ThreadID != "" && s.id != "" && p.ThreadID != s.id {
		s.raw(protocol.CoverageNoise, n) // of a sub-agent
		return
	}
	switch n.Method {
	case schema.TurnStarted, schema.TurnCompleted:
		var r schema.TurnResult
		if err := json.Unmarshal(n.Params, &r); err != nil || r.Turn.ID == "" {
			s.x.Log(protocol.LogWarn, "Codex sent "+n.Method+", which makes no sense", nil)
			return
		}
		if n.Method == schema.TurnStarted {
			s.begun(r.Turn.ID)
		} else if t := s.turn; t != nil && t.key == r.Turn.ID {
			t.ends(&r.Turn)
		}
	case schema.ThreadName:
		if p.ThreadName != "" {
			s.send(&protocol.ThreadName{Name: cut(p.ThreadName, maxShown)})
		}
	case schema.RateLimits:
		s.quota(p.RateLimits)
	case schema.Warning, schema.GuardianWarning:
		s.warn(protocol.WarningGeneral, cut(p.Message, maxDetail))
	case schema.ConfigWarning, schema.Deprecation:
		category := protocol.WarningConfig
		if n.Method == schema.Deprecation {
			category = protocol.WarningDeprecation
		}
		w := &protocol.ProviderWarning{Scope: protocol.Scope{Thread: true}, Category: category, Summary: protocol.Ptr(cut(p.Summary, maxDetail))}
		if p.Details != nil {
			w.Details = protocol.Ptr(cut(*p.Details, maxDetail))
		}
		s.send(w)
	case schema.MCPStartup:
		var m schema.MCPStartupParams
		if json.Unmarshal(n.Params, &m) == nil && m.Status == schema.Failed {
			text := "the tools of the MCP server " + cut(m.Name, maxShown) + " are not there"
			if m.Error != nil {
				text += ": " + cut(hideKeys(*m.Error), maxDetail)
			}
			s.warn(protocol.WarningGeneral, text)
			return
		}
		s.raw(protocol.CoverageNoise, n)
	case schema.RequestResolved:
		if t := s.turn; t != nil && t.asked[wire.ID(p.RequestID)] != nil {
			t.asked[wire.ID(p.RequestID)](errTakenBack)
		}
	case schema.ModelRerouted:
		s.send(&protocol.ModelFallback{OriginalModel: cut(p.FromModel, maxShown), FallbackModel: cut(p.ToModel, maxShown), Reason: protocol.FallbackRefusal,
			Message: "the model that was asked for does not answer this"})
	default:
		s.ofTurn(n, p)
	}
}

// ofTurn takes a notification that belongs to a turn. It counts only while that turn is open: what comes afterwards is late,
// such as the output of a shell that outlived its turn, and usage that is reported when a thread is loaded.
func (s *Session) ofTurn(n wire.Notification, p schema.Note) {
	t := s.turn
	if t == nil || t.key == "" || p.TurnID != t.key || t.result != nil && !(t.stopping && n.Method == schema.ItemCompleted) {
		coverage := protocol.CoverageNoise
		if p.TurnID == "" && !known(n.Method) {
			coverage = protocol.CoverageUnknown
		}
		s.raw(coverage, n)
		return
	}
	switch n.Method {
	case schema.ItemStarted:
		t.item(p.Item, false)
	case schema.ItemCompleted:
		t.item(p.Item, true)
	case schema.MessageDelta, schema.PlanDelta, schema.ReasoningText:
		t.text(p.ItemID, protocol.Text, p.Delta, p.ContentIndex)
	case schema.ReasoningSummary:
		t.text(p.ItemID, protocol.Summary, p.Delta, p.SummaryIndex)
	case schema.CommandOutput:
		t.output(p.ItemID, p.Delta)
	case schema.PatchUpdated:
		t.patch(p.ItemID, p.Changes)
	case schema.MCPProgress:
		if i := t.items[p.ItemID]; i != nil {
			s.send(&protocol.ItemProgress{Scope: t.scope(), Key: i.key, Message: protocol.Ptr(cut(p.Message, maxDetail))})
		}
	case schema.TurnPlan:
		t.todo(p)
	case schema.TurnDiff:
		if len(p.Diff) <= protocol.MaxDiff {
			s.send(&protocol.TurnDiff{TurnKey: &t.key, Diff: valid(p.Diff)})
		}
	case schema.TokenUsage:
		t.usage(p.TokenUsage)
	case schema.ErrorNote:
		var e schema.ErrorParams
		if json.Unmarshal(n.Params, &e) == nil {
			t.trouble(&e.Error, p.WillRetry)
		}
	default:
		s.raw(protocol.CoverageUnknown, n)
	}
}

// known tells whether a notification says nothing about a thread that core would show.
func known(method string) bool {
	switch method {
	case "thread/started", "thread/status/changed", "thread/archived", "thread/unarchived", "thread/closed", "thread/deleted",
		"thread/settings/updated", "thread/readState/changed", "thread/goal/updated", "thread/goal/cleared", "thread/compacted", "thread/environment/connected",
		"remoteControl/status/changed", "skills/changed", "account/updated", "app/list/updated", "item/reasoning/summaryPartAdded":
		return true
	}
	return false
}

// quota reports how much of the account's quota is used.
func (s *Session) quota(l *schema.Limits) {
	if l == nil {
		return
	}
	if l.Primary != nil {
		s.limits.Primary = l.Primary
	}
	if l.Secondary != nil {
		s.limits.Secondary = l.Secondary
	}
	s.limits.Reached = l.Reached
	if s.limits.Primary == nil && s.limits.Secondary == nil && s.limits.Reached == nil {
		return // a key without a quota
	}
	s.send(&protocol.RateLimits{RateLimits: limitState(s.limits)})
}

// request answers a request of the app-server.
func (s *Session) request(ctx context.Context, r *wire.Request) {
	switch r.Method {
	case schema.ApproveCommand, schema.ApproveFileChange, schema.ApprovePermission, schema.AskUser, schema.Elicit, schema.CallTool:
		s.ask(ctx, r)
	default:
		s.answer(r, nil, &wire.Error{Code: schema.CodeMethodNotFound, Message: "this client has no method " + r.Method})
	}
}

// answer answers off the goroutine that reads, since an app-server may not read while it writes.
func (s *Session) answer(r *wire.Request, result any, err error) {
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		reply(r, result, err)
	}()
}

// reply answers a request. It fails when the app-server is gone, and then nobody waits.
func reply(r *wire.Request, result any, err error) {
	if err == nil {
		err = r.Reply(result)
	}
	if err != nil {
		r.Fail(err)
	}
}
