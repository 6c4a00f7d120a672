package assembler_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// show writes an event in a line: scope, type, item and parent, and what its payload says.
func show(t testing.TB, e assembler.Event) string {
	t.Helper()
	words := []string{e.Scope.TurnID, string(e.Type)}
	if e.Scope.TurnID == "" {
		words[0] = "-"
	}
	if e.ItemID != "" {
		words = append(words, e.ItemID)
	}
	if e.ParentItemID != "" {
		words = append(words, "in "+e.ParentItemID)
	}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch p := e.Payload.(type) {
	case *assembler.TurnStarted:
		add("%s", p.Origin)
		if p.ClientRequestID != nil {
			add("%s", *p.ClientRequestID)
		}
	case *assembler.InputAccepted:
		add("%s", p.ClientRequestID)
	case *assembler.InputFailed:
		add("%s %q", p.ClientRequestID, p.Message)
	case *assembler.TurnCompleted:
		add("%s", p.Status)
		if p.Error != nil {
			add("%q", p.Error.Message)
		}
		if p.CheckpointID != nil {
			add("at %s", *p.CheckpointID)
		}
		if p.MergedInto != nil {
			add("into %s", *p.MergedInto)
		}
	case *assembler.ItemStarted:
		add("%s", item(t, p.Item.Item))
	case *assembler.ItemText:
		if p.Stream == protocol.Summary {
			add("summary")
		}
		add("%q", p.Text)
	case *assembler.ItemOutput:
		if p.Mode == protocol.Replace {
			add("replace")
		}
		add("%q", p.Text)
	case *assembler.ItemProgress:
		if p.Message != nil {
			add("%q", *p.Message)
		}
		if p.Item != nil {
			add("%s", item(t, p.Item.Item))
		}
		if p.Presentation != nil {
			add("shown %s", p.Presentation.Label)
		}
	case *assembler.ItemCompleted:
		add("%s %s", p.Status, item(t, p.Item.Item))
		if p.Partial {
			add("partial")
		}
	case *assembler.Usage:
		add("%d of %d", p.Last.TotalTokens, p.Total.TotalTokens)
	case *assembler.Unhandled:
		add("%s", p.RawType)
		if p.Rule != nil {
			add("by %s", *p.Rule)
		}
		if p.RawType == "suppressed" {
			add("%s", p.Raw)
		}
	case *assembler.Warning:
		add("%s", *p.Summary)
	case *assembler.Error:
		add("%s", p.Category)
	case *assembler.TurnDiff:
		add("%s", p.Diff)
	case *assembler.ThreadName:
		add("%s", p.Name)
	}
	return strings.Join(words, " ")
}

// item writes a payload: its kind and what it says.
func item(t testing.TB, i protocol.Item) string {
	t.Helper()
	out := func(s *string) string {
		if s == nil {
			return ""
		}
		return fmt.Sprintf(" %q", *s)
	}
	switch i := i.(type) {
	case *protocol.Message:
		return fmt.Sprintf("message %q", i.Text)
	case *protocol.Reasoning:
		return fmt.Sprintf("reasoning %q %q", i.Text, i.Summary)
	case *protocol.Command:
		return i.Command + out(i.Output)
	case *protocol.Tool:
		return i.Tool + out(i.Result)
	case *protocol.Task:
		return i.Label + out(i.Summary)
	}
	return string(i.Kind())
}

// thread is an assembler in a test.
type thread struct {
	t testing.TB
	*assembler.Assembler
	lines []string
}

func newThread(t testing.TB) *thread {
	return &thread{t: t, Assembler: assembler.New(assembler.Options{ThreadID: "th", Entropy: "e"})}
}

func (th *thread) record(events []assembler.Event) {
	th.t.Helper()
	for _, e := range events {
		if e.ThreadID != "th" || !e.At.Equal(at) || e.Type != e.Payload.Type() {
			th.t.Errorf("envelope of %+v", e)
		}
		if _, err := json.Marshal(e); err != nil {
			th.t.Error(err)
		}
		th.lines = append(th.lines, show(th.t, e))
	}
}

// send applies deltas.
func (th *thread) send(ds ...protocol.Delta) {
	th.t.Helper()
	for _, d := range ds {
		th.record(th.Apply(d, at))
	}
}

// expect hands in ids: "T1:c1" a turn with its request, "T1:" a spare one, ":c1" a steering input.
func (th *thread) expect(ids ...string) {
	th.t.Helper()
	for _, id := range ids {
		turn, input, _ := strings.Cut(id, ":")
		var err error
		switch {
		case turn == "":
			err = th.ExpectInput(input)
		case input == "":
			err = th.Spare(turn)
		default:
			err = th.Expect(turn, input)
		}
		if err != nil {
			th.t.Fatal(err)
		}
	}
}

// turn opens the turn T1, whose input is c1, and forgets the events of it.
func (th *thread) turn() {
	th.t.Helper()
	th.expect("T1:c1")
	th.send(accepted("c1"), turnOpen(""))
	th.lines = nil
}

// want compares all events since the last call with lines.
func (th *thread) want(lines ...string) {
	th.t.Helper()
	got, want := strings.Join(th.lines, "\n"), strings.Join(lines, "\n")
	if got != want {
		th.t.Fatalf("got:\n%s\nwant:\n%s", got, want)
	}
	th.lines = nil
}

func (th *thread) wantDropped(n uint64) {
	th.t.Helper()
	if th.Dropped() != n {
		th.t.Fatalf("dropped %d, want %d", th.Dropped(), n)
	}
}

// Short ways to write deltas. The scope is the open turn unless in or onThread changes it.

func key(id string) protocol.ItemKey { return protocol.ItemKey{ProviderItemID: id} }

func child(id, parent string) protocol.ItemKey {
	return protocol.ItemKey{ProviderItemID: id, ParentRef: parent}
}

func shown(label string) protocol.Presentation {
	return protocol.Presentation{Label: label, Icon: "x"}
}

func accepted(input string) protocol.Delta { return &protocol.InputAccepted{ClientRequestID: input} }

func null(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func turnOpen(key string) protocol.Delta { return &protocol.TurnOpen{TurnKey: null(key)} }

func boundary(key string, s protocol.Status) protocol.Delta {
	return &protocol.TurnBoundary{TurnKey: null(key), Status: s}
}

func opens(k protocol.ItemKey, i protocol.Item) protocol.Delta {
	return &protocol.ItemOpen{Key: k, Item: i, Presentation: shown("Doing")}
}

func closes(k protocol.ItemKey, i protocol.Item) protocol.Delta {
	return &protocol.ItemClose{Key: k, Status: protocol.Completed, Item: i, Presentation: shown("Did")}
}

func text(k protocol.ItemKey, s string) protocol.Delta {
	return &protocol.ItemText{Key: k, Stream: protocol.Text, Text: s}
}

func output(k protocol.ItemKey, s string) protocol.Delta {
	return &protocol.ItemOutput{Key: k, Mode: protocol.Append, Text: s}
}

func replaces(k protocol.ItemKey, s string) protocol.Delta {
	return &protocol.ItemOutput{Key: k, Mode: protocol.Replace, Text: s}
}

func progress(k protocol.ItemKey, message string) protocol.Delta {
	return &protocol.ItemProgress{Key: k, Message: &message}
}

func message(s string) protocol.Item { return &protocol.Message{Text: s} }

func command(c string) protocol.Item {
	return &protocol.Command{Command: c, Intent: protocol.IntentTerminal}
}

func tool(name string) protocol.Item {
	return &protocol.Tool{Tool: name, Intent: protocol.IntentGeneric, Arguments: json.RawMessage(`{}`)}
}

func task(label string) protocol.Item {
	return &protocol.Task{Role: protocol.TaskDelegation, Label: label}
}

func warning(summary string) protocol.Delta {
	return &protocol.ProviderWarning{Category: protocol.WarningGeneral, Summary: &summary}
}

func fails(c protocol.ErrorCategory) *protocol.ProviderError {
	return &protocol.ProviderError{Category: c, Message: "no", SettlesTurn: true}
}

func tokens(n int64) protocol.TokenBreakdown { return protocol.TokenBreakdown{TotalTokens: n} }

// in gives a delta the scope of a turn key.
func in(turnKey string, d protocol.Delta) protocol.Delta {
	return scoped(protocol.Scope{Turn: turnKey}, d)
}

// onThread gives a delta the thread's scope.
func onThread(d protocol.Delta) protocol.Delta { return scoped(protocol.Scope{Thread: true}, d) }

func scoped(s protocol.Scope, d protocol.Delta) protocol.Delta {
	switch d := d.(type) {
	case *protocol.ItemOpen:
		d.Scope = s
	case *protocol.ItemText:
		d.Scope = s
	case *protocol.ItemOutput:
		d.Scope = s
	case *protocol.ItemProgress:
		d.Scope = s
	case *protocol.ItemClose:
		d.Scope = s
	case *protocol.ProviderError:
		d.Scope = s
	case *protocol.ProviderWarning:
		d.Scope = s
	case *protocol.ProviderUnhandled:
		d.Scope = s
	}
	return d
}
