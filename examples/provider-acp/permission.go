package acp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
)

// askPermission passes a request for permission on to core. It is called on the goroutine that reads, so that the item is
// there before the question.
func (s *Session) askPermission(r *wire.Request) {
	var p schema.PermissionParams
	var u schema.Update
	if err := errors.Join(json.Unmarshal(r.Params, &p), json.Unmarshal(p.ToolCall, &u)); err != nil {
		s.answer(r, nil, &wire.Error{Code: schema.CodeInvalidParams, Message: err.Error()})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.openTurn()
	if t == nil || t.stopping {
		s.answer(r, schema.PermissionResult{}, nil)
		return
	}
	u.SessionUpdate = "" // neither new nor an update: some agents report a call first here, under an id of an earlier turn
	u.Status = ""        // it has not begun
	c := t.call(u)
	if c == nil { // the call of that id is over: this is the next one
		u.SessionUpdate = schema.ToolCallNew
		c = t.call(u)
	}
	if err := c.merge(t, u); err != nil {
		t.unhandled(p.ToolCall)
	}
	c.waiting = true
	t.send(c.report(t)...)
	ctx, cancel := context.WithCancelCause(t.ctx)
	t.asked[r.ID] = cancel
	key := s.name("permission")
	ask := t.question(key, c, p)
	t.work.Add(1)
	go func() {
		defer t.work.Done()
		option, err := ask(ctx)
		cancel(nil)
		s.mu.Lock()
		delete(t.asked, r.ID)
		c.waiting = false
		if !c.closed && !t.stopping {
			if err == nil {
				c.denied = !allows(option)
			}
			t.send(c.report(t)...)
		}
		s.mu.Unlock()
		switch {
		case errors.Is(err, errTakenBack):
			s.reply(r, nil, &wire.Error{Code: schema.CodeCancelled, Message: "cancelled as asked"})
			return
		case err != nil && !errors.Is(err, bridgekit.ErrInterrupted) && ctx.Err() == nil:
			s.x.Log(protocol.LogWarn, "a permission could not be asked for and is not given: "+err.Error(), nil)
		}
		s.reply(r, schema.PermissionResult{OptionID: option.OptionID}, nil)
	}()
}

func allows(o schema.PermissionOption) bool {
	return o.Kind == schema.AllowOnce || o.Kind == schema.AllowAlways
}

// question makes the question, and what asks it: an approval, or when the options are more than an approval can tell apart
// an interaction of the plugin's own.
func (t *turn) question(key string, c *call, p schema.PermissionParams) func(context.Context) (schema.PermissionOption, error) {
	byKind := map[string]schema.PermissionOption{}
	plain := true
	for _, o := range p.Options {
		_, again := byKind[o.Kind]
		known := o.Kind == schema.AllowOnce || o.Kind == schema.AllowAlways || o.Kind == schema.RejectOnce || o.Kind == schema.RejectAlways
		plain = plain && !again && known
		byKind[o.Kind] = o
	}
	if !plain {
		return t.openQuestion(key, c, p)
	}
	q := &protocol.Approval{RequestKey: key, Scope: protocol.Scope{Turn: t.key}, Subject: c.subject(t)}
	options := map[protocol.DecisionKind]schema.PermissionOption{}
	offer := func(d protocol.DecisionKind, kinds ...string) {
		for _, kind := range kinds {
			if o, ok := byKind[kind]; ok {
				q.Decisions, options[d] = append(q.Decisions, d), o
				return
			}
		}
	}
	offer(protocol.AllowOnce, schema.AllowOnce)
	offer(protocol.AllowForSession, schema.AllowAlways)
	offer(protocol.Deny, schema.RejectOnce, schema.RejectAlways)
	if _, ok := options[protocol.Deny]; !ok { // it can always be cancelled
		q.Decisions = append(q.Decisions, protocol.Deny)
	}
	return func(ctx context.Context) (schema.PermissionOption, error) {
		d, err := t.s.t.Approve(ctx, q)
		if err != nil {
			return schema.PermissionOption{}, err
		}
		return options[d.Kind], nil
	}
}

// openQuestion asks with the options as they are.
func (t *turn) openQuestion(key string, c *call, p schema.PermissionParams) func(context.Context) (schema.PermissionOption, error) {
	call := any(p.ToolCall)
	if len(p.ToolCall) > protocol.MaxInteraction/2 {
		call = map[string]string{"toolCallId": cut(c.key.ProviderItemID, maxShown), "title": cut(c.title, maxShown), "kind": c.kind}
	}
	data, err := json.Marshal(map[string]any{"toolCall": call, "options": p.Options})
	title := "Permission: " + c.title
	if runes := []rune(title); len(runes) > protocol.MaxTitle {
		title = string(runes[:protocol.MaxTitle-1]) + "…"
	}
	q := &protocol.OpenInteraction{RequestKey: key, Scope: protocol.Scope{Turn: t.key}, Name: InteractionKind(t.s.p.o), Title: title, Data: data}
	return func(ctx context.Context) (schema.PermissionOption, error) {
		if err != nil {
			return schema.PermissionOption{}, err
		}
		answer, err := t.s.t.Interact(ctx, q)
		if err != nil {
			return schema.PermissionOption{}, err
		}
		var chosen schema.PermissionOption
		if err := json.Unmarshal(answer.Data, &chosen); err != nil {
			return schema.PermissionOption{}, err
		}
		for _, o := range p.Options {
			if o.OptionID == chosen.OptionID {
				return o, nil
			}
		}
		return schema.PermissionOption{}, errors.New("the answer names none of the options: it is {\"optionId\": …}")
	}
}

// subject is what the permission is about.
func (c *call) subject(t *turn) protocol.Subject {
	switch item := c.item(t, false).(type) {
	case *protocol.Command:
		return &protocol.CommandSubject{ItemKey: c.key, Command: item.Command, Cwd: item.Cwd, Actions: item.Actions}
	case *protocol.FileChange:
		return &protocol.FileChangeSubject{ItemKey: c.key}
	}
	if plan := c.inputText("plan"); c.kind == "switch_mode" && plan != "" {
		return &protocol.PlanSubject{ItemKey: c.key, Plan: plan}
	}
	name := c.title
	if name == "" {
		name = c.name
	}
	return &protocol.PermissionSubject{ItemKey: c.key, ToolName: protocol.Ptr(cut(name, maxShown))}
}
