package echo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// The words that ask.

// requestKey names a request of the turn.
func (t *turn) requestKey() string { return fmt.Sprintf("request-%d", t.number(&t.items)) }

func approve(t *turn, what string) error {
	key := t.newKey()
	q := &protocol.Approval{RequestKey: t.requestKey(), Scope: protocol.Scope{Turn: t.key}, Reason: "An echo asks for it",
		Decisions: []protocol.DecisionKind{protocol.AllowOnce, protocol.AllowForSession, protocol.Deny}}
	grant := protocol.GrantProfile{Network: &protocol.NetworkGrant{Enabled: protocol.Ptr(true)},
		FileSystem: &protocol.FileSystemGrant{Read: []string{t.params.Cwd}, Write: []string{}}}
	var item protocol.Item
	switch what {
	case "", "command":
		command := commandItem(t, "echo hello")
		command.Approval = protocol.ApprovalWaiting
		item = command
		q.Subject = &protocol.CommandSubject{ItemKey: key, Command: command.Command, Cwd: command.Cwd, Actions: command.Actions, SessionGrant: &grant}
	case "file":
		item = &protocol.FileChange{Changes: []protocol.PathChange{{Path: "echo.txt", Change: protocol.ChangeAdd}}, Approval: protocol.ApprovalWaiting}
		q.Subject = &protocol.FileChangeSubject{ItemKey: key, WriteScope: &t.params.Cwd}
	case "permission":
		item = &protocol.Tool{Tool: "fetch", Arguments: json.RawMessage(`{}`), Intent: protocol.IntentWeb, Approval: protocol.ApprovalWaiting}
		q.Subject = &protocol.PermissionSubject{ItemKey: key, ToolName: protocol.Ptr("fetch"), Permissions: grant}
	case "plan":
		item = &protocol.Plan{Text: "Echo it"}
		q.Subject = &protocol.PlanSubject{ItemKey: key, Plan: "Echo it", PlanFilePath: protocol.Ptr("PLAN.md")}
	default:
		return fmt.Errorf("there is nothing to approve that is called %q: say command, file, permission or plan", what)
	}
	if err := t.begin(key, item, "Waiting", "lock"); err != nil {
		return err
	}
	d, err := t.decide(q)
	if err != nil {
		return err
	}
	settle(item, d.Allowed())
	status, label := protocol.Completed, "Allowed"
	if !d.Allowed() {
		status, label = protocol.Failed, "Denied"
	}
	if err := t.end(key, status, item, label); err != nil {
		return err
	}
	return t.say(string(d.Kind))
}

// decide asks, unless the policy has decided and this bridge is the one to hold to it.
func (t *turn) decide(q *protocol.Approval) (*protocol.Decision, error) {
	if t.p.profile == Queue {
		if d := bridgekit.AutoDeny(t.params.Options.Permission, q); d != nil {
			return d, nil
		}
	}
	return t.t.Approve(t.ctx, q)
}

// settle says in an item that its approval is over.
func settle(item protocol.Item, allowed bool) {
	state := protocol.ApprovalDenied
	if allowed {
		state = ""
	}
	switch i := item.(type) {
	case *protocol.Command:
		i.Approval = state
	case *protocol.FileChange:
		i.Approval = state
	case *protocol.Tool:
		i.Approval = state
	}
}

// questions are one of each form.
func questions() map[string]protocol.Question {
	options := []protocol.QuestionOption{{Value: "a", Label: "A", Description: protocol.Ptr("The first")}, {Value: "b", Label: "B"}}
	return map[string]protocol.Question{
		"one":  {ID: "one", Prompt: "Which one?", ShortLabel: protocol.Ptr("One"), Options: options},
		"many": {ID: "many", Prompt: "Which ones?", MultiSelect: true, Options: options},
		"text": {ID: "text", Prompt: "What do you think?", AllowFreeText: true},
		"both": {ID: "both", Prompt: "Which one, or what else?", Options: options, AllowFreeText: true},
	}
}

func ask(t *turn, form string) error {
	q := &protocol.Questions{RequestKey: t.requestKey(), Scope: protocol.Scope{Turn: t.key}}
	switch known, ok := questions()[form]; {
	case ok:
		q.Questions = []protocol.Question{known}
	case form == "all":
		for _, name := range []string{"one", "many", "text", "both"} {
			q.Questions = append(q.Questions, questions()[name])
		}
	case form == "":
		q.Questions = []protocol.Question{questions()["one"]}
	default:
		return fmt.Errorf("there is no form of question that is called %q: say one, many, text, both or all", form)
	}
	answers, err := t.t.Ask(t.ctx, q)
	if err != nil {
		return err
	}
	var said []string
	for _, question := range q.Questions {
		a := answers.Answers[question.ID]
		text := strings.Join(a.Selected, " and ")
		if a.FreeText != nil {
			text = strings.TrimSpace(text + " " + *a.FreeText)
		}
		said = append(said, question.ID+": "+text)
	}
	return t.say(strings.Join(said, ", "))
}

func form(t *turn, title string) error {
	if title == "" {
		title = "A form"
	}
	s, err := t.t.Interact(t.ctx, &protocol.OpenInteraction{RequestKey: t.requestKey(), Scope: protocol.Scope{Turn: t.key},
		Name: formKind, Title: title, Data: json.RawMessage(`{"fields":["name"]}`)})
	if err != nil {
		return err
	}
	return t.say(string(s.Data))
}

// patience is how long withdraw waits for an answer: long enough for the question to be shown.
const patience = 100 * time.Millisecond

// withdraw asks and soon loses patience.
func withdraw(t *turn, _ string) error {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	_, err := t.t.Ask(ctx, &protocol.Questions{RequestKey: t.requestKey(), Scope: protocol.Scope{Turn: t.key},
		Questions: []protocol.Question{questions()["one"]}})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return t.say("Never mind.")
	case err != nil:
		return err
	}
	return t.say("That was quick.")
}

func callTool(t *turn, arguments string) error {
	if len(t.params.Tools) == 0 {
		return t.say("I have no tools.")
	}
	tool := t.params.Tools[0]
	if arguments == "" {
		arguments = "{}"
	}
	if !json.Valid([]byte(arguments)) {
		return fmt.Errorf("the arguments are not JSON: %s", arguments)
	}
	key := t.newKey()
	item := &protocol.Tool{Tool: tool.Name, Arguments: json.RawMessage(arguments), Intent: tool.Presentation.Intent}
	if err := t.begin(key, item, tool.Presentation.Label.Pending, tool.Presentation.Icon); err != nil {
		return err
	}
	result, err := t.t.CallTool(t.ctx, protocol.ToolCall{RequestKey: t.requestKey(), TurnKey: &t.key, ItemKey: &key,
		Tool: tool.Name, Arguments: item.Arguments})
	if err != nil {
		return err
	}
	var text []string
	for _, c := range result.Content {
		if c.Type == protocol.ContentText {
			text = append(text, c.Text)
		} else {
			text = append(text, "an image, "+c.MimeType)
		}
	}
	done, said, status := *item, strings.Join(text, "\n"), protocol.Completed
	if result.Success {
		done.Result = &said
	} else {
		done.Error, status = &said, protocol.Failed
	}
	if err := t.end(key, status, &done, tool.Presentation.Label.Completed); err != nil {
		return err
	}
	return t.say(said)
}

// slow works until it is stopped.
func slow(t *turn, _ string) error {
	key := t.newKey()
	if err := t.begin(key, &protocol.Message{}, "Writing", "message"); err != nil {
		return err
	}
	text := "Working."
	if err := t.t.Send(&protocol.ItemText{Key: key, Stream: protocol.Text, Text: text}); err != nil {
		return err
	}
	for {
		select {
		case <-t.ctx.Done():
			t.open[len(t.open)-1].item = &protocol.Message{Text: text}
			return context.Cause(t.ctx)
		case more := <-t.steers:
			if more == "done" {
				return t.end(key, protocol.Completed, &protocol.Message{Text: text}, "Wrote")
			}
			if err := t.t.Send(&protocol.ItemText{Key: key, Stream: protocol.Text, Text: " " + more}); err != nil {
				return err
			}
			text += " " + more
		}
	}
}
