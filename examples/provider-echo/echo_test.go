package echo_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	echo "github.com/bb-kernel/bb/examples/provider-echo"
	"github.com/matryer/is"
)

// prompts is everything that the agent understands, with how the turn ends and what the last message then says.
func prompts() []struct {
	prompt string
	status protocol.Status
	said   string
} {
	type row = struct {
		prompt string
		status protocol.Status
		said   string
	}
	const done, failed = protocol.Completed, protocol.Failed
	rows := []row{
		{"compact", done, ""}, // nothing to compact yet
		{"anything else", done, "anything else"},
		{"say it", done, "it"},
		{"think hard", done, "hard"},
		{"plan it", done, "hard"},
		{"run ls", done, "hard"},
		{"watch ls", done, "hard"},
		{"edit a.txt", done, "hard"},
		{"call", done, "hard"},
		{`tool {"a":1}`, done, `found {"a":1}`},
		{"tool no JSON", failed, `found {"a":1}`},
		{"delegate this", done, "this"},
		{"card Title", done, "this"},
		{"mood good", done, "this"},
		{"items", done, "That was one of each."},
		{"early", done, "all at once"},
		{"compact", done, "all at once"},
		{"todo one, two, three, four", done, "all at once"},
		{"usage", done, ""}, {"usage total", done, ""}, {"context", done, ""}, {"clear", done, ""}, {"name It", done, ""},
		{"limits", done, ""}, {"fallback", done, ""}, {"fallback refusal", done, ""},
		{"unhandled", done, ""}, {"recover", done, ""}, {"raw", done, ""}, {"log warn careful", done, ""},
		{"approve", done, "allow_once"}, {"approve command", done, "allow_once"}, {"approve file", done, "allow_once"},
		{"approve permission", done, "allow_once"}, {"approve plan", done, "allow_once"}, {"approve nothing", failed, ""},
		{"ask", done, "one: a"}, {"ask one", done, "one: a"}, {"ask many", done, "many: a"}, {"ask text", done, "text: my words"},
		{"ask both", done, "both: a"}, {"ask all", done, "one: a, many: a, text: my words, both: a"}, {"ask nothing", failed, ""},
		{"form", done, `{"name":"bb"}`}, {"withdraw", done, "Never mind."},
		{"nothing", done, "Never mind."}, {"goal it", done, "There is no goal. it"}, {"flood 100", done, "flooded"}, {"flood x", failed, "flooded"},
		{"fail badly", failed, ""}, {"panic now", failed, ""}, {"reset", done, ""}, {"help", done, ""},
	}
	for _, category := range errorCategories {
		rows = append(rows, row{"error " + string(category), failed, ""}, row{"error " + string(category) + " retry", done, ""}, row{"error " + string(category) + " thread", done, ""})
	}
	for _, category := range warningCategories {
		rows = append(rows, row{"warn " + string(category), done, ""}, row{"warn " + string(category) + " thread", done, ""})
	}
	for _, hint := range []protocol.RecoveryHint{protocol.RecoverRestartProcess, protocol.RecoverResumeFresh, protocol.RecoverReauthenticate, protocol.RecoverReinstall} {
		rows = append(rows, row{"recover " + string(hint), done, ""})
	}
	return append(rows, row{"background later", done, ""}, row{"replace", done, ""}, row{"end", protocol.Interrupted, ""})
}

var errorCategories = []protocol.ErrorCategory{protocol.ErrorContextWindowExceeded, protocol.ErrorBilling, protocol.ErrorBudgetExceeded, protocol.ErrorInternal,
	protocol.ErrorMaxOutputTokens, protocol.ErrorMaxTurns, protocol.ErrorOverloaded, protocol.ErrorPolicy, protocol.ErrorRateLimit, protocol.ErrorSandbox,
	protocol.ErrorStreamDisconnected, protocol.ErrorStructuredOutputRetries, protocol.ErrorThreadRollbackFailed, protocol.ErrorTooManyFailedAttempts,
	protocol.ErrorUnauthorized, protocol.ErrorUnknown}

var warningCategories = []protocol.WarningCategory{protocol.WarningDeprecation, protocol.WarningConfig, protocol.WarningGeneral,
	protocol.WarningCompactionSkipped, protocol.WarningTurnWatchdog, protocol.WarningSessionReplaced, protocol.WarningRecovery}

// TestEveryPrompt runs every prompt in one session, through the grammar and the assembler, and checks that all of the
// protocol was in it.
func TestEveryPrompt(t *testing.T) {
	is := is.New(t)
	c := start(t, echo.Full, t.TempDir())
	ref := c.open("t")
	words := map[string]bool{}
	for _, row := range prompts() {
		words[strings.Fields(row.prompt)[0]] = true
		c.mu.Lock()
		if c.answer = allow; row.prompt == "withdraw" {
			c.answer = nil // nobody answers
		}
		c.mu.Unlock()
		if got := c.say(ref, row.prompt); got != row.status {
			t.Errorf("%q: the turn is %s, not %s: %s", row.prompt, got, row.status, c.complaints())
		}
		if got := c.said("t"); row.said != "" && got != row.said {
			t.Errorf("%q: the agent said %q, not %q", row.prompt, got, row.said)
		}
	}
	for _, w := range echo.Words() {
		if !words[w.Name] && !slices.Contains([]string{"slow", "refuse", "exit"}, w.Name) {
			t.Errorf("no prompt tries %s", w.Name) // the three have tests of their own
		}
	}
	for _, what := range strings.Split(c.complaints(), "\n") {
		if what != "" && !strings.Contains(what, "careful") && !strings.Contains(what, "panic") && !strings.Contains(what, "failed") {
			t.Error("the host complains:", what)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()

	deltas, items := map[protocol.DeltaKind]int{}, map[protocol.ItemKind]int{}
	failures, warnings := map[protocol.ErrorCategory]int{}, map[protocol.WarningCategory]int{}
	count := func(i protocol.Item) {
		if i != nil {
			items[i.Kind()]++
		}
	}
	for _, d := range c.deltas["t"] {
		deltas[d.Kind()]++
		switch d := d.(type) {
		case *protocol.ItemOpen:
			count(d.Item)
		case *protocol.ItemClose:
			count(d.Item)
		case *protocol.ProviderError:
			failures[d.Category]++
		case *protocol.ProviderWarning:
			warnings[d.Category]++
		}
	}
	for _, kind := range protocol.DeltaKinds() {
		if deltas[kind] == 0 {
			t.Error("no prompt brings the delta", kind)
		}
	}
	for _, kind := range append(protocol.ItemKinds(), "echo/card") {
		if items[kind] == 0 {
			t.Error("no prompt brings the item", kind)
		}
	}
	for _, category := range errorCategories {
		if failures[category] < 3 {
			t.Errorf("errors of category %s: %d of 3", category, failures[category]) // it settles, is tried again, is the thread's
		}
	}
	for _, category := range warningCategories {
		if warnings[category] < 2 {
			t.Errorf("warnings of category %s: %d of 2", category, warnings[category]) // of the turn, of the thread
		}
	}
	unhandled := 0
	for _, e := range c.events["t"] {
		if e.Type == assembler.TypeProviderUnhandled {
			unhandled++
		}
	}
	is.Equal(unhandled, 1) // the one that was asked for
	for _, note := range []string{protocol.MethodThreadIdentity, protocol.MethodSessionReplaced, protocol.MethodInteractionWithdrawn,
		protocol.MethodProviderRaw + " noise", protocol.MethodProviderRaw + " unknown", protocol.MethodProviderRecovery + " restart-process"} {
		is.True(slices.Contains(c.notes, note))
	}
}

func TestDecisions(t *testing.T) {
	for decision, want := range map[protocol.DecisionKind]protocol.Status{
		protocol.AllowOnce: protocol.Completed, protocol.AllowForSession: protocol.Completed, protocol.Deny: protocol.Failed,
	} {
		t.Run(string(decision), func(t *testing.T) {
			is := is.New(t)
			c := start(t, echo.Full, t.TempDir())
			c.answer = func(protocol.Interaction) (protocol.Resolution, error) {
				return &protocol.Decision{Kind: decision}, nil
			}
			ref := c.open("t")
			for _, subject := range []string{"command", "file", "permission", "plan"} {
				is.Equal(c.say(ref, "approve "+subject), protocol.Completed)
				is.Equal(c.said("t"), string(decision))
				c.mu.Lock()
				for _, d := range slices.Backward(c.deltas["t"]) {
					if d, ok := d.(*protocol.ItemClose); ok && d.Item.Kind() != protocol.KindMessage {
						is.Equal(d.Status, want)
						break
					}
				}
				c.mu.Unlock()
			}
		})
	}
}

func TestPolicyDeniesUnderQueue(t *testing.T) {
	is := is.New(t)
	c := start(t, echo.Queue, t.TempDir())
	p := params("t")
	p.Options.Permission.Escalation = protocol.EscalateDeny
	identity, err := c.bridge.ThreadStart(c.ctx, p)
	is.NoErr(err)
	is.Equal(c.say(protocol.ThreadRef{ThreadID: "t", ProviderThreadID: identity.ProviderThreadID}, "approve command"), protocol.Completed)
	is.Equal(c.said("t"), "deny")
	is.Equal(c.requests, 0) // nobody was asked
}

func TestInterrupt(t *testing.T) {
	for _, prompt := range []string{"slow", "approve command", "ask all", "form", "flood 10000000"} {
		t.Run(prompt, func(t *testing.T) {
			is := is.New(t)
			c := start(t, echo.Full, t.TempDir())
			c.answer = nil // nobody answers
			ref := c.open("t")
			turnID, err := c.send(ref, prompt)
			is.NoErr(err)
			c.await("work", func() bool { return c.requests > 0 || len(c.deltas["t"]) > 4 })
			is.NoErr(c.bridge.ThreadStop(c.ctx, protocol.ThreadStopParams{ThreadRef: ref, Intent: protocol.Interrupt}))
			c.mu.Lock()
			done := c.completed("t", turnID)
			c.mu.Unlock()
			is.True(done != nil) // settled before the result
			is.Equal(done.Status, protocol.Interrupted)
			is.Equal(c.complaints(), "")
			c.answer = allow
			is.Equal(c.say(ref, "hello"), protocol.Completed) // the session goes on
		})
	}
}

func TestSteer(t *testing.T) {
	t.Run("native", func(t *testing.T) {
		is := is.New(t)
		c := start(t, echo.Full, t.TempDir())
		ref := c.open("t")
		turnID, err := c.send(ref, "slow")
		is.NoErr(err)
		steer := func(input string) error {
			c.mu.Lock()
			c.assembler("t").ExpectInput(input)
			c.mu.Unlock()
			return c.bridge.TurnSteer(c.ctx, protocol.TurnSteerParams{TurnID: "turn-1", TurnStartParams: protocol.TurnStartParams{
				ThreadID: "t", ProviderThreadID: ref.ProviderThreadID, ClientRequestID: input, Input: text(input), Options: options}})
		}
		is.NoErr(steer("louder"))
		is.NoErr(steer("done"))
		is.Equal(c.settled(ref, turnID), protocol.Completed)
		is.Equal(c.said("t"), "Working. louder")
		is.True(errors.Is(steer("late"), protocol.NoActiveTurn))
	})
	t.Run("queue", func(t *testing.T) {
		is := is.New(t)
		c := start(t, echo.Queue, t.TempDir())
		c.answer = nil
		ref := c.open("t")
		turnID, err := c.send(ref, "ask one")
		is.NoErr(err)
		c.await("the question", func() bool { return c.requests > 0 })
		c.mu.Lock()
		c.assembler("t").Expect("queued", "queued")
		c.mu.Unlock()
		is.NoErr(c.bridge.TurnSteer(c.ctx, protocol.TurnSteerParams{TurnID: "turn-1", TurnStartParams: protocol.TurnStartParams{
			ThreadID: "t", ProviderThreadID: ref.ProviderThreadID, ClientRequestID: "queued", Input: text("later"), Options: options}}))
		is.NoErr(c.bridge.ThreadStop(c.ctx, protocol.ThreadStopParams{ThreadRef: ref, Intent: protocol.Interrupt}))
		is.Equal(c.settled(ref, turnID), protocol.Interrupted)
		is.Equal(c.settled(ref, "queued"), protocol.Interrupted) // stopped with it, and not lost
	})
}

func TestResumeAndForkInAnotherProcess(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	c := start(t, echo.Full, dir)
	ref := c.open("t")
	is.Equal(c.say(ref, "first"), protocol.Completed)
	is.Equal(c.say(ref, "second"), protocol.Completed)
	c.mu.Lock()
	var checkpoints []string
	for _, e := range c.events["t"] {
		if done, ok := e.Payload.(*assembler.TurnCompleted); ok {
			checkpoints = append(checkpoints, *done.CheckpointID)
		}
	}
	c.mu.Unlock()
	is.NoErr(c.bridge.Stop(c.ctx))

	c = start(t, echo.Full, dir)
	identity, err := c.bridge.ThreadResume(c.ctx, protocol.ResumeParams{SessionParams: params("t"), ProviderThreadID: ref.ProviderThreadID})
	is.NoErr(err)
	is.Equal(identity, protocol.SessionIdentity{ProviderThreadID: ref.ProviderThreadID, SessionRestorable: true})
	is.Equal(c.say(ref, "third"), protocol.Completed)

	for i, checkpoint := range append(checkpoints, "") {
		thread := "fork" + checkpoint
		forked, err := c.bridge.ThreadFork(c.ctx, protocol.ForkParams{SessionParams: params(thread), SourceProviderThreadID: ref.ProviderThreadID, SourceCheckpointID: checkpoint})
		is.NoErr(err)
		is.True(forked.ProviderThreadID != ref.ProviderThreadID)
		kept, err := os.ReadFile(dir + "/" + forked.ProviderThreadID + ".json")
		is.NoErr(err)
		is.Equal(strings.Count(string(kept), "checkpoint"), i+1) // the turns up to there
	}
	_, err = c.bridge.ThreadFork(c.ctx, protocol.ForkParams{SessionParams: params("no"), SourceProviderThreadID: ref.ProviderThreadID, SourceCheckpointID: "unknown"})
	is.True(errors.Is(err, protocol.BridgeError))

	is.NoErr(c.bridge.ThreadDiscard(c.ctx, ref))
	for _, id := range []string{ref.ProviderThreadID, "echo-0000000000000000", "../../etc/passwd"} {
		_, err = c.bridge.ThreadResume(c.ctx, protocol.ResumeParams{SessionParams: params("gone"), ProviderThreadID: id})
		is.True(errors.Is(err, protocol.SessionNotRestorable))
	}
}

func TestGoalBeginsATurnOfTheAgent(t *testing.T) {
	is := is.New(t)
	c := start(t, echo.Full, t.TempDir())
	ref := c.open("t")
	is.NoErr(c.bridge.ThreadGoalSet(c.ctx, protocol.ThreadGoalParams{ThreadRef: ref, Goal: "Be heard"}))
	c.mu.Lock()
	c.assembler("t").Spare("own")
	c.mu.Unlock()
	is.Equal(c.say(ref, "goal loudly"), protocol.Completed)
	is.Equal(c.settled(ref, "own"), protocol.Completed)
	is.Equal(c.said("t"), "Be heard: loudly")
	is.NoErr(c.bridge.ThreadGoalClear(c.ctx, ref))
	is.Equal(c.say(ref, "goal again"), protocol.Completed)
	is.Equal(c.said("t"), "There is no goal. again")
}

func TestBackgroundTaskEndsAfterItsTurn(t *testing.T) {
	is := is.New(t)
	c := start(t, echo.Full, t.TempDir())
	ref := c.open("t")
	is.Equal(c.say(ref, "background work"), protocol.Completed)
	c.await("the end of the task", func() bool {
		last := c.deltas["t"][len(c.deltas["t"])-1]
		closed, ok := last.(*protocol.ItemClose)
		return ok && closed.Scope.Thread
	})
	is.Equal(c.complaints(), "")
}

func TestSessionMethods(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	c := start(t, echo.Full, dir)
	ref := c.open("t")
	is.NoErr(c.bridge.ThreadNameSet(c.ctx, protocol.ThreadNameParams{ThreadRef: ref, Title: "A name"}))
	is.NoErr(c.bridge.ThreadArchive(c.ctx, ref))
	is.NoErr(c.bridge.SkillsConfigure(c.ctx, protocol.SkillsConfigureParams{ThreadID: "t", Roots: []protocol.SkillRoot{{ID: "s", Path: "/s", Label: "S"}}}))
	is.NoErr(c.bridge.ThreadStop(c.ctx, protocol.ThreadStopParams{ThreadRef: ref, Intent: protocol.Release}))
	kept, err := os.ReadFile(dir + "/" + ref.ProviderThreadID + ".json")
	is.NoErr(err)
	is.True(strings.Contains(string(kept), `"name":"A name","archived":true`))
	is.NoErr(c.bridge.ThreadUnarchive(c.ctx, ref)) // without a session
	kept, err = os.ReadFile(dir + "/" + ref.ProviderThreadID + ".json")
	is.NoErr(err)
	is.True(!strings.Contains(string(kept), "archived"))
}

func TestMaintenance(t *testing.T) {
	is := is.New(t)
	c := start(t, echo.Full, t.TempDir())
	p := protocol.ProviderParams{ProviderID: "echo", Cwd: "/"}
	models, err := c.bridge.ModelList(c.ctx, p)
	is.NoErr(err)
	is.Equal(len(models.Models), 2)
	health, err := c.bridge.Health(c.ctx, p)
	is.NoErr(err)
	is.Equal(health.Health.Status, protocol.HealthReady)
	usage, err := c.bridge.Usage(c.ctx, p)
	is.NoErr(err)
	is.Equal(usage.Usage.Status, protocol.UsageOK)
	status, err := c.bridge.InstallationStatus(c.ctx, protocol.InstallationStatusParams{ProviderParams: p, CheckUpdates: true})
	is.NoErr(err)
	is.True(status.Status.LatestVersion != nil)
	install, err := c.bridge.InstallationRun(c.ctx, protocol.InstallationRunParams{ProviderParams: p, Action: protocol.ActionInstall})
	is.NoErr(err)
	is.True(!install.Available)
	update, err := c.bridge.InstallationRun(c.ctx, protocol.InstallationRunParams{ProviderParams: p, Action: protocol.ActionUpdate})
	is.NoErr(err)
	is.Equal(update.Command.Command, "echo")
	skills, err := c.bridge.SkillsDiscover(c.ctx, p)
	is.NoErr(err)
	is.Equal(len(skills.Skills), 1)
}

func TestActions(t *testing.T) {
	is := is.New(t)
	c := start(t, echo.Full, t.TempDir())
	ref := c.open("t")
	is.Equal(c.say(ref, "", protocol.ActionCompact), protocol.Completed)
	is.Equal(c.say(ref, "hello"), protocol.Completed)
	is.Equal(c.say(ref, "", protocol.ActionCompact), protocol.Completed)
	is.Equal(c.say(ref, "it", protocol.ActionPlan), protocol.Completed)
	c.mu.Lock()
	defer c.mu.Unlock()
	var seen []string
	for _, d := range c.deltas["t"] {
		switch d := d.(type) {
		case *protocol.ProviderWarning:
			seen = append(seen, string(d.Category))
		case *protocol.ItemClose:
			seen = append(seen, string(d.Item.Kind()))
		}
	}
	is.Equal(seen, []string{"compaction-skipped", "message", "compaction", "plan"})
}

func TestRefusedTurn(t *testing.T) {
	is := is.New(t)
	c := start(t, echo.Full, t.TempDir())
	ref := c.open("t")
	_, err := c.send(ref, "refuse politely")
	var refused *protocol.Error
	is.True(errors.As(err, &refused))
	is.Equal(refused.Code, protocol.BridgeError)
	is.Equal(refused.Recovery, protocol.RecoverNone)
	is.True(strings.Contains(refused.Message, "politely"))
}

func TestExitInTheMiddle(t *testing.T) {
	is := is.New(t)
	c := start(t, echo.Full, t.TempDir())
	ref := c.open("t")
	c.send(ref, "exit")
	<-c.bridge.Done()
	is.Equal(c.bridge.Exit().Exit.Code, 1)
}

func TestProfiles(t *testing.T) {
	is := is.New(t)
	seen := map[string]bool{}
	for _, p := range echo.Profiles() {
		d, err := echo.Declaration(p)
		is.NoErr(err)
		_, err = bridgekit.DefineProviderDeclaration(d)
		is.NoErr(err)
		seen[string(d.Capabilities.Fork)], seen[string(d.Capabilities.Steer)] = true, true
		seen[string(d.Capabilities.ApprovalEnforcedBy)] = true
	}
	for _, value := range []string{"none", "tip", "checkpoint", "queue", "native", "runtime", "provider"} {
		is.True(seen[value]) // every value of every capability
	}
	_, err := echo.Bridge(echo.Options{Profile: "wide"})
	is.True(err != nil && strings.Contains(err.Error(), "full queue bare"))
	file := t.TempDir() + "/file"
	is.NoErr(os.WriteFile(file, nil, 0o600))
	_, err = echo.Bridge(echo.Options{StateDir: file})
	is.True(err != nil)
}
