package echo

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// The words that show items.

func think(t *turn, text string) error {
	key := t.newKey()
	if err := t.begin(key, &protocol.Reasoning{}, "Thinking", "brain"); err != nil {
		return err
	}
	err := t.t.Send(
		&protocol.ItemText{Key: key, Stream: protocol.Summary, Text: "About an echo"},
		&protocol.ItemText{Key: key, Stream: protocol.Text, Text: text})
	if err == nil {
		err = t.end(key, protocol.Completed, &protocol.Reasoning{Text: text, Summary: "About an echo"}, "Thought")
	}
	if err != nil {
		return err
	}
	return t.say(text)
}

func plan(t *turn, text string) error {
	key := t.newKey()
	if err := t.begin(key, &protocol.Plan{}, "Planning", "list"); err != nil {
		return err
	}
	if err := t.t.Send(&protocol.ItemText{Key: key, Stream: protocol.Text, Text: text}); err != nil {
		return err
	}
	return t.end(key, protocol.Completed, &protocol.Plan{Text: text, Path: protocol.Ptr("PLAN.md")}, "Planned")
}

// commandItem is a command with every kind of action. Nothing is run.
func commandItem(t *turn, command string) *protocol.Command {
	return &protocol.Command{
		Command: command, Cwd: &t.params.Cwd, Intent: protocol.IntentTerminal,
		Actions: protocol.CommandActions{
			&protocol.ReadAction{Command: "cat README.md", Name: "README.md", Path: "README.md"},
			&protocol.ListFilesAction{Command: "ls"},
			&protocol.SearchAction{Command: "grep echo .", Query: protocol.Ptr("echo"), Path: protocol.Ptr(".")},
			&protocol.UnknownAction{Command: command},
		},
	}
}

func runCommand(t *turn, command string) error {
	key, item := t.newKey(), commandItem(t, command)
	if err := t.begin(key, item, "Running", "terminal"); err != nil {
		return err
	}
	for _, output := range []string{"first\n", "second\n"} {
		if err := t.t.Send(&protocol.ItemOutput{Key: key, Mode: protocol.Append, Text: output}); err != nil {
			return err
		}
	}
	return t.endCommand(key, item, "first\nsecond\n")
}

func watchCommand(t *turn, command string) error {
	key, item := t.newKey(), commandItem(t, command)
	if err := t.begin(key, item, "Watching", "terminal"); err != nil {
		return err
	}
	err := t.t.Send(
		&protocol.ItemOutput{Key: key, Mode: protocol.Append, Text: "0 %"},
		&protocol.ItemOutput{Key: key, Mode: protocol.Replace, Text: "100 %"},
		&protocol.ItemProgress{Key: key, Message: protocol.Ptr("nearly done"), Item: item,
			Presentation: &protocol.Presentation{Label: "Still watching", Icon: "terminal", Detail: "100 %", Tint: protocol.TintInfo}})
	if err != nil {
		return err
	}
	return t.endCommand(key, item, "100 %")
}

func (t *turn) endCommand(key protocol.ItemKey, item *protocol.Command, output string) error {
	done := *item
	done.Output, done.ExitCode, done.DurationMs = &output, protocol.Ptr[int64](0), protocol.Ptr[int64](12)
	return t.end(key, protocol.Completed, &done, "Ran")
}

func edit(t *turn, path string) error {
	if path == "" {
		path = "echo.txt"
	}
	diff := fmt.Sprintf("--- a/%s\n+++ b/%s\n@@ -1 +1 @@\n-once\n+twice\n", path, path)
	item := &protocol.FileChange{Changes: []protocol.PathChange{
		{Path: path, Change: protocol.ChangeUpdate, Diff: &diff},
		{Path: "new.txt", Change: protocol.ChangeAdd},
		{Path: "old.txt", Change: protocol.ChangeDelete},
	}}
	key := t.newKey()
	if err := t.begin(key, item, "Editing", "pencil"); err != nil {
		return err
	}
	if err := t.end(key, protocol.Completed, item, "Edited"); err != nil {
		return err
	}
	return t.t.Send(&protocol.TurnDiff{TurnKey: &t.key, Diff: diff})
}

func ownTool(t *turn, _ string) error {
	key := t.newKey()
	item := &protocol.Tool{Tool: "mirror", Server: protocol.Ptr("echo"), Arguments: json.RawMessage(`{"face":true}`), Intent: protocol.IntentGeneric}
	if err := t.begin(key, item, "Looking", "mirror"); err != nil {
		return err
	}
	if err := t.t.Send(&protocol.ItemOutput{Key: key, Mode: protocol.Append, Text: "a face"}); err != nil {
		return err
	}
	done := *item
	done.Result, done.DurationMs = protocol.Ptr("a face"), protocol.Ptr[int64](3)
	return t.end(key, protocol.Completed, &done, "Looked")
}

func delegate(t *turn, text string) error {
	key := t.newKey()
	item := &protocol.Task{Role: protocol.TaskDelegation, Label: "Echo it", TaskType: protocol.Ptr("sub-agent"), ChildRef: protocol.Ptr("child-1")}
	if err := t.begin(key, item, "Delegating", "users"); err != nil {
		return err
	}
	if err := t.sayUnder(key.ProviderItemID, text); err != nil {
		return err
	}
	done := *item
	done.Summary, done.Usage = &text, &protocol.TaskUsage{TotalTokens: 7, ToolUses: 0, DurationMs: 5}
	return t.end(key, protocol.Completed, &done, "Delegated")
}

// background opens an item of the thread, which goes on when the turn is over.
func background(t *turn, text string) error {
	scope := protocol.Scope{Thread: true}
	key := t.newKey()
	item := &protocol.Task{Role: protocol.TaskBackground, Label: text, Background: true, OutputFile: protocol.Ptr("echo.log")}
	show := protocol.Presentation{Label: "Working in the background", Icon: "clock"}
	if err := t.t.Send(&protocol.ItemOpen{Scope: scope, Key: key, Item: item, Presentation: show}); err != nil {
		return err
	}
	t.after(func(s *Session) {
		done := *item
		done.Summary = &text
		show.Label = "Worked in the background"
		s.t.Send( // fails when the session is gone, and then nobody waits for it
			&protocol.ItemOutput{Scope: scope, Key: key, Mode: protocol.Append, Text: text},
			&protocol.ItemClose{Scope: scope, Key: key, Status: protocol.Completed, Item: &done, Presentation: show})
	})
	return nil
}

func card(t *turn, title string) error {
	key := t.newKey()
	payload, err := json.Marshal(map[string]string{"title": title})
	if err != nil {
		return err
	}
	item := &protocol.Extension{Name: cardKind, Payload: payload}
	if err := t.begin(key, item, "Drawing", "card"); err != nil {
		return err
	}
	return t.end(key, protocol.Completed, item, "Drew")
}

func mood(t *turn, text string) error {
	payload, err := json.Marshal(map[string]string{"mood": text})
	if err != nil {
		return err
	}
	return t.t.Send(&protocol.ExtensionState{Name: moodKind, Payload: payload})
}

func items(t *turn, _ string) error {
	for _, show := range []func(*turn, string) error{think, plan, runCommand, edit, ownTool, delegate, card, compacted} {
		if err := show(t, "echo"); err != nil {
			return err
		}
	}
	return t.say("That was one of each.")
}

func early(t *turn, _ string) error {
	key, item := t.newKey(), commandItem(t, "early")
	if err := t.t.Send(&protocol.ItemOutput{Key: key, Mode: protocol.Append, Text: "before\n"}); err != nil {
		return err
	}
	if err := t.begin(key, item, "Running", "terminal"); err != nil {
		return err
	}
	if err := t.endCommand(key, item, "before\n"); err != nil {
		return err
	}
	return t.t.Send(&protocol.ItemClose{Key: t.newKey(), Status: protocol.Completed, Item: &protocol.Message{Text: "all at once"},
		Presentation: protocol.Presentation{Label: "Wrote", Icon: "message"}})
}

// compacted shows a compaction.
func compacted(t *turn, _ string) error {
	key := t.newKey()
	item := &protocol.Compaction{Trigger: protocol.CompactManual, PreTokens: protocol.Ptr[int64](1000)}
	if err := t.begin(key, item, "Compacting", "compress"); err != nil {
		return err
	}
	done := *item
	done.PostTokens = protocol.Ptr[int64](100)
	return t.end(key, protocol.Completed, &done, "Compacted")
}

func compact(t *turn, argument string) error {
	t.mu.Lock()
	fresh := len(t.kept.Turns) == 0
	t.mu.Unlock()
	if fresh {
		return t.t.Send(&protocol.ProviderWarning{Category: protocol.WarningCompactionSkipped, Summary: protocol.Ptr("There is nothing to compact yet.")})
	}
	return compacted(t, argument)
}

func todo(t *turn, text string) error {
	states := []protocol.TodoStatus{protocol.TodoCompleted, protocol.TodoActive, protocol.TodoPending, protocol.TodoFailed}
	var steps []protocol.TodoStep
	for i, step := range strings.Split(text, ",") {
		steps = append(steps, protocol.TodoStep{Text: strings.TrimSpace(step), Status: states[i%len(states)]})
	}
	return t.t.Send(&protocol.Todo{TurnKey: &t.key, Steps: steps, Explanation: protocol.Ptr("As asked")})
}
