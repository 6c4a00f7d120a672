package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
)

const (
	// replayQuiet is how long a resumed agent that replayed nothing has to be quiet: some replay the history behind the
	// answer, and nothing marks its end.
	replayQuiet = 250 * time.Millisecond
	// maxReplay bounds that wait, within the time that core gives a session to come up.
	maxReplay = 5 * time.Second
	// maxRequests is how many requests of an agent are worked on side by side. More wait, and the agent with them.
	maxRequests = 16
	// maxCommands and maxDescription keep the list of an agent's commands below the size of a state.
	maxCommands    = 100
	maxDescription = 400
)

// Session is a thread's conversation with its agent.
type Session struct {
	p      *provider
	t      *bridgekit.Thread
	ctx    context.Context // the session's
	x      *bridgekit.Context
	params protocol.SessionParams
	config config
	files  workspace

	slots chan struct{} // requests that are worked on
	work  sync.WaitGroup

	mu           sync.Mutex
	agent        *agent
	id           string // the agent's name of the session
	choices      choices
	permission   protocol.PermissionMode // whose mode of the agent is set
	instructions string                  // those that the agent has been given
	turn         *turn                   // the open one, or one that begins
	updates      uint64                  // counts what the agent reported
	heard        chan struct{}           // holds a token after each update
	terminals    map[string]*terminal
	ended        bool           // no terminal may begin
	keys         int            // counts what needs a name in this process
	usedCalls    map[string]int // tool calls of earlier turns and of the history, by id
	spent        *schema.Cost   // on the session as last reported; nil when the agent had one before this process
}

func newSession(ctx context.Context, p *provider, t *bridgekit.Thread, params protocol.SessionParams, c config) *Session {
	return &Session{p: p, t: t, ctx: ctx, x: bridgekit.ContextOf(ctx), params: params, config: c, files: newWorkspace(params),
		slots: make(chan struct{}, maxRequests), heard: make(chan struct{}, 1), terminals: map[string]*terminal{}, usedCalls: map[string]int{}}
}

// connect starts an agent and makes a session, or loads the one that id names.
func (s *Session) connect(ctx context.Context, id string) error {
	a, err := s.p.launch(ctx, s.ctx, launch{command: s.config.command, dir: s.params.Cwd, env: s.p.environ(s.config, s.params.Env),
		providerID: s.params.ProviderID, threadID: s.t.ID(), request: s.request, notify: s.notify,
		log: func(text string) {
			s.x.Log(protocol.LogWarn, "the agent wrote a line that is no message", map[string]string{"line": text})
		}})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.agent, s.id = a, id
	s.mu.Unlock()
	servers, refused := s.config.servers(s.params.Env, a.about)
	params := schema.SessionParams{SessionID: id, Cwd: s.params.Cwd, MCPServers: servers}
	method := schema.SessionNew
	if id != "" {
		switch can := a.about.AgentCapabilities; {
		case can.LoadSession:
			method = schema.SessionLoad
		case schema.Has(can.SessionCapabilities.Resume):
			method = schema.SessionResume
		default:
			return protocol.SessionNotRestorable.Errorf("the agent cannot load sessions")
		}
	}
	var result schema.SessionResult
	err = s.p.authenticated(ctx, a, s.config, func() error { return a.call(ctx, method, params, &result) })
	var answer *wire.Error
	switch {
	case err == nil:
	case id != "" && errors.As(err, &answer):
		return protocol.SessionNotRestorable.Errorf("the agent does not load session %s: %s", id, answerText(answer))
	default:
		return err
	}
	if id == "" {
		if result.SessionID == "" {
			return protocol.BridgeError.Errorf("the agent gave its session no id")
		}
		id = result.SessionID
	} else if method == schema.SessionLoad {
		s.awaitReplay(ctx)
	}
	s.mu.Lock()
	s.id, s.permission = id, ""
	s.choices = choicesOf(result)
	if s.spent = nil; method == schema.SessionNew {
		s.spent = &schema.Cost{}
	}
	s.mu.Unlock()
	for _, reason := range refused {
		s.warn(protocol.WarningConfig, reason)
	}
	return s.choose(ctx, s.params.Options)
}

// awaitReplay waits for the history of an agent that replays it behind its answer.
func (s *Session) awaitReplay(ctx context.Context) {
	s.mu.Lock()
	before := s.updates
	s.mu.Unlock()
	if before > 0 {
		return // it came in front of the answer, where it belongs
	}
	end := time.After(maxReplay)
	for {
		select {
		case <-s.heard:
		case <-time.After(replayQuiet):
			return
		case <-end:
			return
		case <-ctx.Done():
			return
		}
	}
}

// restorable tells whether the agent can load the session again.
func (s *Session) restorable() bool {
	can := s.agent.about.AgentCapabilities
	return !s.p.o.NoResume && (can.LoadSession || schema.Has(can.SessionCapabilities.Resume))
}

// end ends the agent and everything that was started for it.
func (s *Session) end() {
	s.mu.Lock()
	a, terminals := s.agent, s.terminals
	s.terminals, s.ended = map[string]*terminal{}, true
	s.mu.Unlock()
	for _, t := range terminals {
		t.kill()
	}
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

// alive returns an agent that has the session, if need be a new one.
func (s *Session) alive(ctx context.Context) (*agent, error) {
	if s.agent.alive() {
		return s.agent, nil
	}
	if !s.restorable() {
		return nil, &protocol.Error{Code: protocol.BridgeError, Recovery: protocol.RecoverResumeFresh,
			Message: "the agent has ended, and it cannot load its sessions: a new one has to be started"}
	}
	old, id := s.agent, s.id
	if err := s.connect(ctx, id); err != nil {
		s.mu.Lock()
		failed := s.agent
		s.agent, s.id = old, id
		s.mu.Unlock()
		if failed != old {
			failed.end()
		}
		if errors.Is(err, protocol.SessionNotRestorable) {
			return nil, &protocol.Error{Code: protocol.BridgeError, Recovery: protocol.RecoverResumeFresh, Message: err.Error()}
		}
		return nil, err
	}
	return s.agent, nil
}

// name makes a name that is new in this process.
func (s *Session) name(kind string) string {
	s.keys++
	return fmt.Sprintf("%s-%d", kind, s.keys)
}

func (s *Session) warn(category protocol.WarningCategory, summary string) {
	s.t.Send(&protocol.ProviderWarning{Scope: protocol.Scope{Thread: true}, Category: category, Summary: &summary}) // fails when the session is over
}

// notify takes a notification of the agent, in the order of the wire.
func (s *Session) notify(_ context.Context, n wire.Notification) {
	switch n.Method {
	case schema.SessionUpdate:
		var p schema.UpdateParams
		if err := json.Unmarshal(n.Params, &p); err != nil {
			s.x.Log(protocol.LogWarn, "the agent sent an update that makes no sense: "+err.Error(), nil)
			return
		}
		s.update(p)
	case schema.CancelRequest:
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(n.Params, &p) != nil {
			return
		}
		s.mu.Lock()
		if t := s.turn; t != nil && t.asked[wire.ID(p.RequestID)] != nil {
			t.asked[wire.ID(p.RequestID)](errTakenBack)
		}
		s.mu.Unlock()
	default:
		s.raw(protocol.CoverageUnknown, n.Method, n.Params)
	}
}

// raw hands core what the bridge did not translate.
func (s *Session) raw(coverage protocol.Coverage, method string, params json.RawMessage) {
	s.x.Raw(coverage, map[string]any{"method": method, "params": params}) // may be lost
}

// update takes what happened in the session. Of a turn it counts only while one is open: what comes before is history that
// the agent replays, and what comes after is late.
func (s *Session) update(p schema.UpdateParams) {
	var u schema.Update
	err := json.Unmarshal(p.Update, &u)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates++
	select {
	case s.heard <- struct{}{}:
	default:
	}
	if s.id != "" && p.SessionID != s.id {
		s.raw(protocol.CoverageNoise, schema.SessionUpdate, p.Update) // of another session of the agent
		return
	}
	switch u.SessionUpdate {
	case schema.CommandsUpdate:
		s.commands(u.AvailableCommands)
		return
	case schema.ModeUpdate:
		s.choices.mode.current = u.CurrentModeID
		s.state("mode", map[string]string{"id": u.CurrentModeID})
		return
	case schema.OptionsUpdate:
		s.choices.take(u.ConfigOptions)
		return
	case schema.InfoUpdate:
		if u.Title != nil && *u.Title != "" {
			s.t.Send(&protocol.ThreadName{Name: cut(*u.Title, maxShown)}) // fails when the session is over
		}
		return
	}
	t := s.openTurn()
	if t == nil || t.stopping {
		if u.Cost != nil { // of the history, or of a turn that is over
			s.spent = u.Cost
		}
		if u.ToolCallID != "" {
			s.usedCalls[u.ToolCallID] = max(1, s.usedCalls[u.ToolCallID])
		}
		return
	}
	if err != nil {
		t.unhandled(p.Update)
		return
	}
	t.update(u, p.Update)
}

// openTurn waits until a turn whose prompt is under way is open, and returns it; nil when there is none. It is called with
// the mutex, and lets go of it while it waits.
func (s *Session) openTurn() *turn {
	t := s.turn
	if t == nil || !t.prompting {
		return nil
	}
	s.mu.Unlock()
	<-t.opened
	s.mu.Lock()
	if s.turn != t {
		return nil
	}
	return t
}

// commands reports what the user may begin a prompt with.
func (s *Session) commands(all []schema.Command) {
	list := []map[string]string{}
	for _, c := range all[:min(len(all), maxCommands)] {
		list = append(list, map[string]string{"name": cut(c.Name, maxDescription), "description": cut(c.Description, maxDescription)})
	}
	s.state("commands", map[string]any{"commands": list})
}

func (s *Session) state(name string, payload any) {
	raw, err := json.Marshal(payload)
	if err == nil {
		err = s.t.Send(&protocol.ExtensionState{Name: s.p.o.PluginID + "/" + name, Payload: raw})
	}
	if err != nil && s.ctx.Err() == nil {
		s.x.Log(protocol.LogWarn, "state "+name+" is not reported: "+err.Error(), nil)
	}
}

// cut shortens a text to a number of bytes, between characters.
func cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	const ellipsis = "…"
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// request takes a request of the agent. Permissions begin in the order of the wire, behind what the agent reported before;
// everything is answered off the goroutine that reads.
func (s *Session) request(ctx context.Context, r *wire.Request) {
	switch r.Method {
	case schema.RequestPermission:
		s.askPermission(r)
	case schema.ReadTextFile:
		serve(ctx, s, r, s.readFile)
	case schema.WriteTextFile:
		serve(ctx, s, r, s.writeFile)
	case schema.TerminalCreate:
		serve(ctx, s, r, s.createTerminal)
	case schema.TerminalOutput:
		serve(ctx, s, r, s.terminalOutput)
	case schema.TerminalRelease:
		serve(ctx, s, r, s.releaseTerminal)
	case schema.TerminalKill:
		serve(ctx, s, r, s.killTerminal)
	case schema.TerminalWait:
		s.waitTerminal(ctx, r)
	default:
		s.answer(r, nil, &wire.Error{Code: schema.CodeMethodNotFound, Message: "this client has no method " + r.Method})
		return
	}
}

// serve answers a request with what handle says, on a goroutine.
func serve[P any](ctx context.Context, s *Session, r *wire.Request, handle func(P) (any, error)) {
	var params P
	if err := json.Unmarshal(r.Params, &params); err != nil {
		s.answer(r, nil, &wire.Error{Code: schema.CodeInvalidParams, Message: err.Error()})
		return
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		defer func() { <-s.slots }()
		result, err := handle(params)
		s.reply(r, result, err)
	}()
}

// answer answers off the goroutine that reads, since an agent may not read while it writes.
func (s *Session) answer(r *wire.Request, result any, err error) {
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		s.reply(r, result, err)
	}()
}

// reply answers a request. It fails when the agent is gone, and then nobody waits.
func (s *Session) reply(r *wire.Request, result any, err error) {
	if err == nil {
		err = r.Reply(result)
	}
	if err != nil {
		r.Fail(err)
	}
}

// answerText is what an agent's error says; some put the reason into its data.
func answerText(e *wire.Error) string {
	text := e.Message
	var data struct {
		Details string `json:"details"`
		Message string `json:"message"`
	}
	if json.Unmarshal(e.Data, &data) == nil {
		for _, more := range slices.Compact([]string{data.Details, data.Message}) {
			if more != "" && !strings.Contains(text, more) {
				text += ": " + more
			}
		}
	}
	return cut(text, maxLastWords)
}
