package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-codex/internal/schema"
)

// question is a request of the app-server that core has to answer: ask answers it, and refused is the answer when nobody
// does.
type question struct {
	item    string // the item that waits for it, "" for none
	ask     func(context.Context) (any, error)
	refused any
}

// ask passes a request on to core. It is called on the goroutine that reads, so that the item is there before the question.
func (s *Session) ask(_ context.Context, r *wire.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn
	var note schema.Note
	if err := json.Unmarshal(object(r.Params), &note); err != nil {
		s.answer(r, nil, &wire.Error{Code: schema.CodeInvalidParams, Message: err.Error()})
		return
	}
	if t == nil || t.key == "" || note.ThreadID != s.id && note.ThreadID != "" {
		s.answer(r, nil, &wire.Error{Code: schema.CodeFailed, Message: "no turn is open that could be asked about this"})
		return
	}
	q, err := t.question(r)
	if err != nil {
		s.answer(r, nil, &wire.Error{Code: schema.CodeInvalidParams, Message: err.Error()})
		return
	}
	if t.stopping {
		s.answer(r, q.refused, nil)
		return
	}
	waiting := t.items[q.item]
	if waiting != nil {
		waiting.approval = protocol.ApprovalWaiting
		t.progress(waiting)
	}
	ctx, cancel := context.WithCancelCause(t.ctx)
	t.asked[r.ID] = cancel
	t.work.Add(1)
	go func() {
		defer t.work.Done()
		defer cancel(nil)
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
		}
		result, err := q.ask(ctx)
		s.mu.Lock()
		delete(t.asked, r.ID)
		if waiting != nil && t.items[q.item] == waiting && !t.stopping {
			waiting.approval = ""
			t.progress(waiting)
		}
		s.mu.Unlock()
		switch {
		case err == nil:
		case errors.Is(err, errTakenBack):
			result = q.refused
		default:
			if !errors.Is(err, bridgekit.ErrInterrupted) && ctx.Err() == nil {
				s.x.Log(protocol.LogWarn, "a question of Codex could not be asked and is answered with no: "+err.Error(), nil)
			}
			result = q.refused
		}
		reply(r, result, nil)
	}()
}

// question makes the question of a request, with the mutex.
func (t *turn) question(r *wire.Request) (question, error) {
	switch r.Method {
	case schema.ApproveCommand, schema.ApproveFileChange, schema.ApprovePermission:
		var p schema.ApprovalParams
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return question{}, err
		}
		if r.Method == schema.ApprovePermission {
			return t.permission(p), nil
		}
		return t.approval(r.Method, p), nil
	case schema.AskUser:
		var p schema.QuestionParams
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return question{}, err
		}
		return t.questions(p), nil
	case schema.Elicit:
		var p schema.ElicitParams
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return question{}, err
		}
		return t.elicitation(p), nil
	}
	var p schema.CallParams
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return question{}, err
	}
	return t.toolCall(p), nil
}

// approval is a command or a change of files that waits for permission. To cancel is thread/stop, so that here it is
// declined.
func (t *turn) approval(method string, p schema.ApprovalParams) question {
	key := protocol.ItemKey{ProviderItemID: part(p.ItemID)}
	q := &protocol.Approval{RequestKey: t.s.name("approval"), Scope: t.scope(), Decisions: []protocol.DecisionKind{protocol.AllowOnce}}
	if p.Reason != nil {
		q.Reason = cut(*p.Reason, maxDetail)
	}
	session := method == schema.ApproveFileChange // it has no list: Codex takes every decision
	for _, d := range p.Decisions {
		session = session || string(d) == `"`+schema.AcceptForSession+`"`
	}
	if session {
		q.Decisions = append(q.Decisions, protocol.AllowForSession)
	}
	q.Decisions = append(q.Decisions, protocol.Deny)
	switch {
	case method == schema.ApproveFileChange:
		q.Subject = &protocol.FileChangeSubject{ItemKey: key, WriteScope: p.GrantRoot}
	case p.Network != nil && p.Command == nil:
		q.Subject = &protocol.PermissionSubject{ItemKey: key, ToolName: protocol.Ptr("network"), Permissions: protocol.GrantProfile{Network: &protocol.NetworkGrant{Enabled: protocol.Ptr(true)}}}
		if q.Reason == "" {
			q.Reason = cut(fmt.Sprintf("to reach %s over %s", p.Network.Host, p.Network.Protocol), maxDetail)
		}
	default:
		subject := &protocol.CommandSubject{ItemKey: key, Cwd: p.Cwd, Actions: actions(p.Actions)}
		if i := t.items[p.ItemID]; i != nil {
			subject.Command = i.last.Command
			if p.Cwd == nil {
				subject.Cwd = optional(i.last.Cwd)
			}
			if p.Actions == nil {
				subject.Actions = actions(i.last.Actions)
			}
		}
		if p.Command != nil {
			subject.Command = *p.Command
		}
		subject.Command = shown(subject.Command)
		q.Subject = subject
	}
	return question{item: p.ItemID, refused: schema.Decision{Decision: schema.Cancel}, ask: func(ctx context.Context) (any, error) {
		d, err := t.s.t.Approve(ctx, q)
		if err != nil {
			return nil, err
		}
		decision := schema.Decision{Decision: schema.Decline}
		switch d.Kind {
		case protocol.AllowOnce:
			decision.Decision = schema.Accept
		case protocol.AllowForSession:
			decision.Decision = schema.AcceptForSession
		}
		return decision, nil
	}}
}

// permission is a wider permission, for the turn or for the session. What core grants may be less than what was asked for.
func (t *turn) permission(p schema.ApprovalParams) question {
	none := schema.PermissionAnswer{Scope: "turn"}
	q := &protocol.Approval{RequestKey: t.s.name("permission"), Scope: t.scope(),
		Subject:   &protocol.PermissionSubject{ItemKey: protocol.ItemKey{ProviderItemID: part(p.ItemID)}, Permissions: grant(p.Permissions)},
		Decisions: []protocol.DecisionKind{protocol.AllowOnce, protocol.AllowForSession, protocol.Deny}}
	if p.Reason != nil {
		q.Reason = cut(*p.Reason, maxDetail)
	}
	return question{item: p.ItemID, refused: none, ask: func(ctx context.Context) (any, error) {
		d, err := t.s.t.Approve(ctx, q)
		if err != nil || !d.Allowed() {
			return none, err
		}
		answer := schema.PermissionAnswer{Permissions: p.Permissions, Scope: "turn"}
		if d.Granted != nil {
			answer.Permissions = granted(*d.Granted)
		}
		if d.Kind == protocol.AllowForSession {
			answer.Scope = "session"
		}
		return answer, nil
	}}
}

func grant(p schema.Permissions) (g protocol.GrantProfile) {
	if p.Network != nil {
		g.Network = &protocol.NetworkGrant{Enabled: p.Network.Enabled}
	}
	if p.FileSystem != nil {
		g.FileSystem = &protocol.FileSystemGrant{Read: valids(p.FileSystem.Read), Write: valids(p.FileSystem.Write)}
	}
	return g
}

func granted(g protocol.GrantProfile) (p schema.Permissions) {
	if g.Network != nil {
		p.Network = &schema.Network{Enabled: g.Network.Enabled}
	}
	if g.FileSystem != nil {
		p.FileSystem = &schema.FileSystem{Read: g.FileSystem.Read, Write: g.FileSystem.Write}
	}
	return p
}

func valids(all []string) []string {
	list := make([]string, 0, len(all))
	for _, text := range all {
		list = append(list, valid(text))
	}
	return list
}

// questions are what Codex wants to know of the user, asked so many at a time as core takes. An option beyond what core shows
// can be written.
func (t *turn) questions(p schema.QuestionParams) question {
	var batches []*protocol.Questions
	for chunk := range slices.Chunk(p.Questions, protocol.MaxQuestions) {
		q := &protocol.Questions{RequestKey: t.s.name("question"), Scope: t.scope()}
		for _, one := range chunk {
			out := protocol.Question{ID: valid(one.ID), Prompt: cut(one.Question, maxDetail), ShortLabel: optional(cut(one.Header, maxShown)), Options: []protocol.QuestionOption{},
				AllowFreeText: one.IsOther || len(one.Options) == 0 || len(one.Options) > protocol.MaxOptions}
			for _, o := range one.Options[:min(len(one.Options), protocol.MaxOptions)] {
				out.Options = append(out.Options, protocol.QuestionOption{Value: valid(o.Label), Label: valid(o.Label), Description: optional(cut(o.Description, maxDetail))})
			}
			q.Questions = append(q.Questions, out)
		}
		batches = append(batches, q)
	}
	none := schema.QuestionAnswers{Answers: map[string]schema.QuestionAnswer{}}
	return question{item: p.ItemID, refused: none, ask: func(ctx context.Context) (any, error) {
		result := schema.QuestionAnswers{Answers: map[string]schema.QuestionAnswer{}}
		for _, q := range batches {
			answers, err := t.s.t.Ask(ctx, q)
			if err != nil {
				return nil, err
			}
			for id, a := range answers.Answers {
				all := append([]string{}, a.Selected...)
				if a.FreeText != nil {
					all = append(all, *a.FreeText)
				}
				result.Answers[id] = schema.QuestionAnswer{Answers: all}
			}
		}
		return result, nil
	}}
}

// elicitation is a question of a server of tools. Core is asked those that are a yes or a no, such as whether a tool may be
// called; forms and web pages are declined.
func (t *turn) elicitation(p schema.ElicitParams) question {
	no := schema.ElicitAnswer{Action: "decline"}
	if p.Mode != "form" || len(p.Schema.Properties) > 0 {
		t.s.warn(protocol.WarningGeneral, "the MCP server "+cut(p.ServerName, maxShown)+" asks for more than yes or no, which is declined: "+cut(p.Message, maxDetail))
		return question{refused: no, ask: func(context.Context) (any, error) { return no, nil }}
	}
	name := t.s.name("elicitation")
	q := &protocol.Approval{RequestKey: name, Scope: t.scope(), Reason: cut(p.Message, maxDetail), Decisions: []protocol.DecisionKind{protocol.AllowOnce, protocol.Deny},
		Subject: &protocol.PermissionSubject{ItemKey: protocol.ItemKey{ProviderItemID: name}, ToolName: optional(cut(p.ServerName, maxShown))}}
	return question{refused: schema.ElicitAnswer{Action: "cancel"}, ask: func(ctx context.Context) (any, error) {
		d, err := t.s.t.Approve(ctx, q)
		if err != nil || !d.Allowed() {
			return no, err
		}
		return schema.ElicitAnswer{Action: "accept", Content: map[string]any{}}, nil
	}}
}

// toolCall runs a tool of core.
func (t *turn) toolCall(p schema.CallParams) question {
	key := protocol.ItemKey{ProviderItemID: part(p.CallID)}
	call := protocol.ToolCall{RequestKey: t.s.name("tool"), TurnKey: &t.key, Tool: t.s.tools.original(p.Tool), Arguments: object(p.Arguments)}
	if key.ProviderItemID != "" {
		call.ItemKey = &key
	}
	refused := schema.CallResult{ContentItems: []schema.ToolContent{{Type: "inputText", Text: "the tool was not called"}}}
	return question{refused: refused, ask: func(ctx context.Context) (any, error) {
		result, err := t.s.t.CallTool(ctx, call)
		if err != nil {
			return nil, err
		}
		out := schema.CallResult{Success: result.Success, ContentItems: []schema.ToolContent{}}
		for _, c := range result.Content {
			if c.Type == protocol.ContentImage {
				out.ContentItems = append(out.ContentItems, schema.ToolContent{Type: "inputImage", ImageURL: "data:" + c.MimeType + ";base64," + c.Base64})
			} else {
				out.ContentItems = append(out.ContentItems, schema.ToolContent{Type: "inputText", Text: c.Text})
			}
		}
		return out, nil
	}}
}
