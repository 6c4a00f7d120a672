package threads_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/threads"
)

func TestTurn(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	r.is.Equal(th.Status, threadapi.Idle)
	turn := r.send(th.ID, "say hello")
	r.is.Equal(turn.ThreadID, th.ID)
	done := r.wait(th.ID, turn.ID)
	r.is.Equal(done.Status, threadapi.TurnCompleted)
	r.is.Equal(done.CheckpointID, "checkpoint-turn-1")
	r.is.Equal(r.said(th.ID), []string{"hello"})
	r.is.Equal(r.get(th.ID).Title, "say hello")
	r.sound(th.ID)
	r.is.Equal(r.types(th.ID)[:4], []string{"thread.created", "input.sent", "thread.session", "turn.started"})
}

func TestCreate(t *testing.T) {
	r := start(t, setup{})
	create := func(change func(*threadapi.CreateInput)) error {
		in := threadapi.CreateInput{ProviderID: "puppet", Cwd: r.cwd}
		change(&in)
		_, err := threadapi.Create.Call(t.Context(), r.caller, in)
		return err
	}
	for _, tc := range []struct {
		name   string
		change func(*threadapi.CreateInput)
		code   kernelcontract.Code
		text   string
	}{
		{"unknown provider", func(in *threadapi.CreateInput) { in.ProviderID = "nobody" }, kernelcontract.NotFound, "nobody"},
		{"relative directory", func(in *threadapi.CreateInput) { in.Cwd = "here" }, kernelcontract.InvalidInput, "absolute"},
		{"no directory", func(in *threadapi.CreateInput) { in.Cwd = r.cwd + "/none" }, kernelcontract.InvalidInput, "none"},
		{"blank input", func(in *threadapi.CreateInput) { in.Input = []threadapi.Part{threadapi.Text(" ")} }, kernelcontract.InvalidInput, "blank"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			is := is.New(t)
			err := create(tc.change)
			is.Equal(kernelcontract.CodeOf(err), tc.code)
			is.True(strings.Contains(err.Error(), tc.text))
		})
	}
	t.Run("with an input", func(t *testing.T) {
		r := r.sub(t)
		th := r.create(func(in *threadapi.CreateInput) {
			in.Input = []threadapi.Part{threadapi.Text("say"), threadapi.Text("two"), threadapi.Text("words")}
		})
		r.wait(th.ID, "")
		r.is.Equal(r.said(th.ID), []string{"two words"})
	})
	t.Run("listed, the newest first", func(t *testing.T) {
		r := r.sub(t)
		last := r.create(func(in *threadapi.CreateInput) { in.Title = "last" })
		all, err := threadapi.List.Call(t.Context(), r.caller, threadapi.ListInput{Limit: 50})
		r.is.NoErr(err)
		r.is.Equal(all[0].ID, last.ID)
		r.is.Equal(len(all), 2)
		older, err := threadapi.List.Call(t.Context(), r.caller, threadapi.ListInput{Limit: 50, Before: last.ID})
		r.is.NoErr(err)
		r.is.Equal(len(older), 1)
	})
}

func TestQueue(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	first := r.send(th.ID, "slow")
	r.status(th.ID, threadapi.Running)
	second := r.send(th.ID, "say second")
	third := r.send(th.ID, "say third")
	r.is.Equal(second.Status, threadapi.TurnQueued)
	r.is.Equal(r.get(th.ID).Queued, 2)
	t.Run("a stop ends what is queued too", func(t *testing.T) {
		r := r.sub(t)
		r.is.Equal(r.stop(th.ID).Status, threadapi.Idle)
		for _, turn := range []threadapi.Turn{first, second, third} {
			r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnInterrupted)
		}
		r.sound(th.ID)
	})
	t.Run("in order", func(t *testing.T) {
		r := r.sub(t)
		ask := r.send(th.ID, "ask ls")
		i := r.pending(th.ID)
		r.send(th.ID, "say fourth")
		last := r.send(th.ID, "say fifth")
		_, err := r.resolve(i.ID, threadapi.AllowOnce)
		r.is.NoErr(err)
		r.wait(th.ID, last.ID)
		r.is.Equal(r.wait(th.ID, ask.ID).Status, threadapi.TurnCompleted)
		r.is.Equal(r.said(th.ID)[1:], []string{"decision: allow_once", "fourth", "fifth"})
		r.sound(th.ID)
	})
	t.Run("bounded", func(t *testing.T) {
		r := r.sub(t)
		r.send(th.ID, "slow")
		r.status(th.ID, threadapi.Running)
		for range 64 {
			r.send(th.ID, "say more")
		}
		_, err := threadapi.Send.Call(t.Context(), r.caller, threadapi.SendInput{Thread: th.ID, Input: []threadapi.Part{threadapi.Text("say too much")}})
		r.is.True(codeIs(err, kernelcontract.Conflict))
		r.stop(th.ID)
		r.sound(th.ID)
	})
}

func TestSendAgain(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	in := threadapi.SendInput{Thread: th.ID, Input: []threadapi.Part{threadapi.Text("say once")}, ClientRequestID: "mine"}
	first, err := threadapi.Send.Call(t.Context(), r.caller, in)
	r.is.NoErr(err)
	r.wait(th.ID, first.ID)
	again, err := threadapi.Send.Call(t.Context(), r.caller, in)
	r.is.NoErr(err)
	r.is.Equal(again.ID, first.ID)
	r.is.Equal(again.Status, threadapi.TurnCompleted)
	r.is.Equal(r.said(th.ID), []string{"once"})
}

func TestSteer(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	t.Run("joins the open turn", func(t *testing.T) {
		r := r.sub(t)
		open := r.send(th.ID, "steerable")
		r.status(th.ID, threadapi.Running)
		steer := r.steer(th.ID, "left")
		r.is.Equal(r.wait(th.ID, open.ID).Status, threadapi.TurnCompleted)
		merged := r.wait(th.ID, steer.ID)
		r.is.Equal(merged.Status, threadapi.TurnMerged)
		r.is.Equal(merged.MergedInto, open.ID)
		r.is.Equal(r.said(th.ID), []string{"heard: left"})
		r.sound(th.ID)
	})
	t.Run("without an open turn it is a send", func(t *testing.T) {
		r := r.sub(t)
		turn := r.steer(th.ID, "say alone")
		r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnCompleted)
	})
}

func TestFailures(t *testing.T) {
	r := start(t, setup{})
	for _, tc := range []struct {
		text string
		want threadapi.TurnStatus
		says string
	}{
		{"refuse", threadapi.TurnFailed, "I would rather not"},
		{"die", threadapi.TurnInterrupted, "ended"},
		{"twice", threadapi.TurnCompleted, ""},
		{"long", threadapi.TurnFailed, ""},
	} {
		t.Run(tc.text, func(t *testing.T) {
			r := r.sub(t)
			th := r.create()
			turn := r.wait(th.ID, r.send(th.ID, tc.text).ID)
			r.is.Equal(turn.Status, tc.want)
			r.is.True(strings.Contains(turn.Error, tc.says))
			r.sound(th.ID)
			next := r.wait(th.ID, r.send(th.ID, "say on it goes").ID)
			r.is.Equal(next.Status, threadapi.TurnCompleted)
			said := r.said(th.ID)
			r.is.Equal(said[len(said)-1], "on it goes")
			r.sound(th.ID)
		})
	}
}

func TestApproval(t *testing.T) {
	r := start(t, setup{})
	for _, tc := range []struct {
		name       string
		mode       threadapi.Mode
		escalation threadapi.Escalation
		text       string
		answer     threadapi.Decision // "" when a rule decides
		want       string
		by         string
	}{
		{"allowed", threadapi.AcceptEdits, threadapi.Ask, "ask ls", threadapi.AllowOnce, "decision: allow_once", "user:local"},
		{"denied", threadapi.AcceptEdits, threadapi.Ask, "ask ls", threadapi.DenyIt, "decision: deny", "user:local"},
		{"full allows", threadapi.Full, threadapi.Ask, "ask ls", "", "decision: allow_once", "system:auto-allow"},
		{"escalation denies", threadapi.AcceptEdits, threadapi.Deny, "ask ls", "", "decision: deny", "system:auto-deny"},
		{"edits inside", threadapi.AcceptEdits, threadapi.Ask, "edit a.txt", "", "decision: allow_once", "system:auto-allow"},
		{"edits outside", threadapi.AcceptEdits, threadapi.Ask, "edit /etc/passwd", threadapi.DenyIt, "decision: deny", "user:local"},
		{"auto looks", threadapi.Auto, threadapi.Ask, "read cat x", "", "decision: allow_once", "system:auto-allow"},
		{"accept-edits does not look", threadapi.AcceptEdits, threadapi.Ask, "read cat x", threadapi.AllowOnce, "decision: allow_once", "user:local"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := r.sub(t)
			th := r.create(func(in *threadapi.CreateInput) { in.Permission, in.Escalation = tc.mode, tc.escalation })
			turn := r.send(th.ID, tc.text)
			if tc.answer != "" {
				i := r.pending(th.ID)
				r.is.Equal(r.get(th.ID).Status, threadapi.Waiting)
				r.is.Equal(i.TurnID, turn.ID)
				got, err := r.resolve(i.ID, tc.answer)
				r.is.NoErr(err)
				r.is.Equal(got.Status, threadapi.Resolved)
			}
			r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnCompleted)
			r.is.Equal(r.said(th.ID), []string{tc.want})
			all, err := threadapi.ListInteractions.Call(t.Context(), r.caller, threadapi.ListInteractionsInput{Thread: th.ID, Status: threadapi.Resolved, Limit: 50})
			r.is.NoErr(err)
			r.is.Equal(len(all), 1)
			r.is.Equal(all[0].ResolvedBy, tc.by)
			r.sound(th.ID)
		})
	}
}

func TestQuestion(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	turn := r.send(th.ID, "question which?")
	i := r.pending(th.ID)
	r.is.Equal(i.Kind, "question")
	for name, in := range map[string]threadapi.ResolveInput{
		"a decision":       {ID: i.ID, Decision: threadapi.AllowOnce},
		"nothing":          {ID: i.ID},
		"another question": {ID: i.ID, Answers: map[string]threadapi.Answer{"z": {Selected: []string{"a"}}}},
		"another option":   {ID: i.ID, Answers: map[string]threadapi.Answer{"q": {Selected: []string{"b"}}}},
	} {
		_, err := threadapi.Resolve.Call(t.Context(), r.caller, in)
		if !codeIs(err, kernelcontract.InvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := threadapi.Resolve.Call(t.Context(), r.caller, threadapi.ResolveInput{ID: i.ID, Answers: map[string]threadapi.Answer{"q": {Selected: []string{"a"}}}})
	r.is.NoErr(err)
	r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnCompleted)
	r.is.True(strings.Contains(r.said(th.ID)[0], `"selected":["a"]`))
	r.sound(th.ID)
}

func TestAgentsMayNotEscalate(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	agent := r.kernel.As(kernelcontract.Principal{Actor: "agent:" + th.ID})
	_, err := threadapi.Create.Call(t.Context(), agent, threadapi.CreateInput{ProviderID: "puppet", Cwd: r.cwd, Permission: threadapi.Full})
	r.is.True(codeIs(err, kernelcontract.Forbidden))
	_, err = threadapi.Send.Call(t.Context(), agent, threadapi.SendInput{Thread: th.ID, Input: []threadapi.Part{threadapi.Text("say x")}, Permission: threadapi.Auto})
	r.is.True(codeIs(err, kernelcontract.Forbidden))
	turn := r.send(th.ID, "ask ls")
	_, err = threadapi.Resolve.Call(t.Context(), agent, threadapi.ResolveInput{ID: r.pending(th.ID).ID, Decision: threadapi.AllowOnce})
	r.is.True(codeIs(err, kernelcontract.Forbidden))
	r.stop(th.ID)
	r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnInterrupted)
}

func TestWatchdog(t *testing.T) {
	r := start(t, setup{threads: threads.Options{WatchdogWarn: 20e6, WatchdogFail: 200e6}})
	th := r.create()
	turn := r.wait(th.ID, r.send(th.ID, "noopen").ID)
	r.is.Equal(turn.Status, threadapi.TurnFailed)
	r.is.True(strings.Contains(turn.Error, "did not begin"))
	warnings := 0
	for _, e := range r.events(th.ID) {
		if e.Type == "provider.warning" && strings.Contains(string(e.Payload), "turn-watchdog") {
			warnings++
		}
	}
	r.is.Equal(warnings, 1)
	r.sound(th.ID)
}

func TestIdleSessionsAreReleasedAndResumed(t *testing.T) {
	r := start(t, setup{threads: threads.Options{IdleRelease: 40e6}})
	th := r.create()
	r.wait(th.ID, r.send(th.ID, "say one").ID)
	released := func() bool {
		return slices.ContainsFunc(r.events(th.ID), func(e threadapi.Event) bool {
			return e.Type == "thread.session" && strings.Contains(string(e.Payload), `"released"`)
		})
	}
	r.until("the release", released)
	r.wait(th.ID, r.send(th.ID, "say two").ID)
	states := []string{}
	for _, e := range r.events(th.ID) {
		if e.Type == threadapi.EventThreadSession {
			var c threadapi.SessionChange
			r.is.NoErr(json.Unmarshal(e.Payload, &c))
			states = append(states, c.State)
		}
	}
	r.is.Equal(states[:3], []string{"started", "released", "resumed"})
	r.is.Equal(r.said(th.ID), []string{"one", "two"})
}

func TestFork(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	_, err := threadapi.Fork.Call(t.Context(), r.caller, threadapi.ForkInput{Thread: th.ID})
	r.is.True(codeIs(err, kernelcontract.Precondition))
	turn := r.wait(th.ID, r.send(th.ID, "say root").ID)
	for _, checkpoint := range []string{"", turn.CheckpointID} {
		fork, err := threadapi.Fork.Call(t.Context(), r.caller, threadapi.ForkInput{Thread: th.ID, CheckpointID: checkpoint})
		r.is.NoErr(err)
		r.is.Equal(fork.ForkedFrom, th.ID)
		r.wait(fork.ID, r.send(fork.ID, "say branch").ID)
		r.is.Equal(r.said(fork.ID), []string{"branch"})
		r.sound(fork.ID)
	}
}

func TestGoal(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	_, err := threadapi.GoalSet.Call(t.Context(), r.caller, threadapi.GoalInput{Thread: th.ID, Goal: "work"})
	r.is.NoErr(err)
	r.until("a turn of the agent's own", func() bool { return slices.Equal(r.said(th.ID), []string{"on my own"}) })
	out, err := threadapi.GoalClear.Call(t.Context(), r.caller, threadapi.ThreadInput{Thread: th.ID})
	r.is.NoErr(err)
	r.is.Equal(out.Goal, "")
	r.sound(th.ID)
}

func TestRenameArchiveDiscard(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	r.wait(th.ID, r.send(th.ID, "say x").ID)
	out, err := threadapi.Rename.Call(t.Context(), r.caller, threadapi.RenameInput{Thread: th.ID, Title: "mine"})
	r.is.NoErr(err)
	r.is.Equal(out.Title, "mine")
	out, err = threadapi.Archive.Call(t.Context(), r.caller, threadapi.ThreadInput{Thread: th.ID})
	r.is.NoErr(err)
	r.is.True(out.Archived)
	_, err = threadapi.Send.Call(t.Context(), r.caller, threadapi.SendInput{Thread: th.ID, Input: []threadapi.Part{threadapi.Text("say y")}})
	r.is.True(codeIs(err, kernelcontract.Conflict))
	_, err = threadapi.Unarchive.Call(t.Context(), r.caller, threadapi.ThreadInput{Thread: th.ID})
	r.is.NoErr(err)
	r.wait(th.ID, r.send(th.ID, "say y").ID)
	_, err = threadapi.Discard.Call(t.Context(), r.caller, threadapi.ThreadInput{Thread: th.ID})
	r.is.NoErr(err)
	_, err = threadapi.Get.Call(t.Context(), r.caller, threadapi.ThreadInput{Thread: th.ID})
	r.is.True(codeIs(err, kernelcontract.NotFound))
}

func TestRecovery(t *testing.T) {
	r := start(t, setup{})
	for _, tc := range []struct{ text, want string }{
		{"hint restart-process", "hinted"},
		{"hint resume-fresh", ""},
		{"hint reauthenticate", "hinted"},
		{"hint none", "hinted"},
		{"replace", "replaced"},
	} {
		t.Run(tc.text, func(t *testing.T) {
			r := r.sub(t)
			th := r.create()
			r.wait(th.ID, r.send(th.ID, tc.text).ID)
			r.sound(th.ID)
			r.wait(th.ID, r.send(th.ID, "say after").ID)
			said := r.said(th.ID)
			r.is.Equal(said[len(said)-1], "after")
			r.sound(th.ID)
		})
	}
	t.Run("a rejected input is sent again once", func(t *testing.T) {
		r := r.sub(t)
		th := r.create()
		r.is.Equal(r.wait(th.ID, r.send(th.ID, "recover restart-process").ID).Status, threadapi.TurnFailed)
		r.is.Equal(r.wait(th.ID, r.send(th.ID, "recover resume-fresh").ID).Status, threadapi.TurnFailed)
		r.sound(th.ID)
	})
	t.Run("a session that is forgotten begins afresh", func(t *testing.T) {
		r := r.sub(t)
		th := r.create()
		r.wait(th.ID, r.send(th.ID, "say x").ID)
		r.wait(th.ID, r.send(th.ID, "die").ID)
		defer r.file("forgotten")()
		r.wait(th.ID, r.send(th.ID, "say y").ID)
		r.is.True(slices.ContainsFunc(r.events(th.ID), func(e threadapi.Event) bool {
			return e.Type == "thread.session" && strings.Contains(string(e.Payload), `"contextLost":true`)
		}))
		r.sound(th.ID)
	})
}
