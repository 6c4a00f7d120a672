package codex_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	codex "github.com/bb-kernel/bb/examples/provider-codex"
	"github.com/bb-kernel/bb/pluginsdk/plugintest/agents"
	"github.com/bb-kernel/bb/pluginsdk/plugintest/fakemodel"
	"github.com/matryer/is"
)

// realCodex is Codex with a home of its own and a model that costs nothing, which trusts cwd.
func realCodex(t *testing.T, cwd string) (codex.Options, *fakemodel.Server) {
	command := agents.Codex(t)
	model := fakemodel.New(fakemodel.Options{APIKey: "secret"})
	quiet := httptest.NewServer(quietly(model)) // the model is a handler, and ends with it
	t.Cleanup(func() { model.Close(); quiet.Close() })
	home := t.TempDir()
	config := fmt.Sprintf(`model = "fake"
model_provider = "fake"
check_for_update_on_startup = false
model_context_window = 100000
[features]
plugins = false
request_permissions_tool = true
default_mode_request_user_input = true
[tools.update_plan]
enabled = true
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
[analytics]
enabled = false
[model_providers.fake]
name = "Fake"
base_url = %q
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects.%q]
trust_level = "trusted"
`, quiet.URL+"/v1", cwd)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return codex.Options{Command: command, Home: home, Env: map[string]string{"HOME": home, "FAKE_KEY": "secret"}}, model
}

// quietly answers NOTHING with nothing.
func quietly(model http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var request struct {
			Input []struct {
				Content json.RawMessage `json:"content"`
			} `json:"input"`
		}
		if json.Unmarshal(body, &request) == nil && len(request.Input) > 0 && strings.Contains(string(request.Input[len(request.Input)-1].Content), `"NOTHING"`) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `event: response.created`+"\n"+`data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_nothing","output":[]}}`+"\n\n")
			fmt.Fprint(w, `event: response.completed`+"\n"+`data: {"type":"response.completed","sequence_number":1,"response":{"id":"resp_nothing","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":0,"total_tokens":1}}}`+"\n\n")
			return
		}
		model.ServeHTTP(w, r)
	})
}

func TestCodexSaysAndThinks(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	is.Equal(c.say(ref, "SAY hello there"), protocol.Completed)
	is.Equal(c.said("t"), "hello there")
	is.Equal(c.say(ref, "THINK so it is\nSAY well"), protocol.Completed)
	thoughts, _ := items[*protocol.Reasoning](c, "t")
	is.Equal(len(thoughts), 1)
	is.Equal(thoughts[0].Summary, "so it is")

	usage := find[*protocol.Usage](c, "t")
	is.Equal(len(usage), 2)
	is.True(usage[0].Last.TotalTokens > 0)
	is.Equal(usage[1].Total.TotalTokens, usage[0].Last.TotalTokens+usage[1].Last.TotalTokens) // exact totals
	windows := find[*protocol.ContextWindow](c, "t")
	is.Equal(*windows[1].Used, usage[1].Last.TotalTokens)
	boundaries := find[*protocol.TurnBoundary](c, "t")
	is.Equal(*boundaries[0].CheckpointID, *boundaries[0].TurnKey)

	is.Equal(c.say(ref, "PLAN one; two"), protocol.Completed)
	todos := find[*protocol.Todo](c, "t")
	is.Equal(todos[0].Steps, []protocol.TodoStep{{Text: "one", Status: protocol.TodoActive}, {Text: "two", Status: protocol.TodoPending}})
	c.clean()
}

func TestCodexAsksForCommands(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	is.Equal(c.say(ref, "RUN echo one; sleep 1; echo two; exit 3"), protocol.Completed) // allowed
	commands, how := items[*protocol.Command](c, "t")
	is.Equal(how, []protocol.Status{protocol.Failed})
	is.Equal(commands[0].Command, "echo one; sleep 1; echo two; exit 3")
	is.Equal(*commands[0].ExitCode, int64(3))
	is.Equal(*commands[0].Output, "one\ntwo\n") // also what was in no delta
	is.True(strings.Contains(c.streamed("t"), "two\n"))
	is.Equal(len(c.questions), 1)
	q := c.questions[0].(*protocol.Approval)
	subject := q.Subject.(*protocol.CommandSubject)
	is.Equal(subject.Command, commands[0].Command)
	is.Equal(*subject.Cwd, cwd)
	is.Equal(subject.ItemKey, find[*protocol.ItemClose](c, "t")[0].Key)
	is.Equal(q.Decisions, []protocol.DecisionKind{protocol.AllowOnce, protocol.Deny}) // Codex does not offer the session

	c.answer = decide(protocol.Deny)
	is.Equal(c.say(ref, "RUN touch denied"), protocol.Completed) // the turn goes on
	commands, how = items[*protocol.Command](c, "t")
	is.Equal(how[1], protocol.Failed)
	is.Equal(commands[1].Approval, protocol.ApprovalDenied)
	_, err := os.Stat(filepath.Join(cwd, "denied"))
	is.True(os.IsNotExist(err))
	c.clean()
}

func TestCodexAsksForPatches(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	is.Equal(c.say(ref, "EDIT b.txt hey"), protocol.Completed)
	changes, how := items[*protocol.FileChange](c, "t")
	is.Equal(how, []protocol.Status{protocol.Completed})
	path := filepath.Join(cwd, "b.txt")
	is.Equal(changes[0].Changes[0].Path, path)
	is.Equal(changes[0].Changes[0].Change, protocol.ChangeAdd)
	is.Equal(*changes[0].Changes[0].Diff, "--- /dev/null\n+++ "+path+"\n@@ -0,0 +1,1 @@\n+hey\n")
	written, err := os.ReadFile(path)
	is.NoErr(err)
	is.Equal(string(written), "hey\n")
	q := c.questions[0].(*protocol.Approval)
	is.Equal(q.Subject.(*protocol.FileChangeSubject).ItemKey, find[*protocol.ItemClose](c, "t")[0].Key)
	diffs := find[*protocol.TurnDiff](c, "t")
	is.True(len(diffs) > 0)
	is.True(strings.Contains(diffs[0].Diff, "+hey"))

	c.answer = decide(protocol.Deny)
	is.Equal(c.say(ref, "EDIT c.txt ho"), protocol.Completed)
	changes, how = items[*protocol.FileChange](c, "t")
	is.Equal(how[1], protocol.Failed)
	is.Equal(changes[1].Approval, protocol.ApprovalDenied)
	_, err = os.Stat(filepath.Join(cwd, "c.txt"))
	is.True(os.IsNotExist(err))
	c.clean()
}

func TestCodexIsInterruptedWithItsShells(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, model := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	interrupt := func(command string, running func(nap string) bool) {
		nap := fmt.Sprintf("600.%09d", time.Now().Nanosecond()) // no other process sleeps as long
		turn, err := c.send(ref, "RUN "+command+"sleep "+nap+"; echo finished")
		is.NoErr(err)
		c.eventually("the shell", func() bool { return running(nap) })
		c.stop(ref, protocol.Interrupt)
		is.Equal(c.settled(ref, turn), protocol.Interrupted) // before the result of the stop
		c.eventually("the end of the shell", func() bool { return !sleeping(t, nap) })
	}
	interrupt("", func(nap string) bool { return sleeping(t, nap) }) // as soon as it runs
	interrupt("echo one; sleep 0.5; echo two; ", func(nap string) bool { return strings.Contains(c.streamed("t"), "two") && sleeping(t, nap) })
	_, how := items[*protocol.Command](c, "t")
	is.Equal(how, []protocol.Status{protocol.Interrupted, protocol.Interrupted})
	before := len(c.deltas["t"])

	turn, err := c.send(ref, "HANG hold on")
	is.NoErr(err)
	c.await("the text", func() bool { return slices.ContainsFunc(c.deltas["t"], isText) })
	is.NoErr(model.WaitHanging(c.ctx, 1))
	c.stop(ref, protocol.Interrupt)
	is.Equal(c.settled(ref, turn), protocol.Interrupted)
	for _, d := range c.deltas["t"][before:] {
		_, late := d.(*protocol.ItemOutput)
		is.True(!late)
	}

	c.answer = nil
	turn, err = c.send(ref, "RUN touch asked")
	is.NoErr(err)
	c.await("the question", func() bool { return len(c.questions) == 3 })
	c.stop(ref, protocol.Interrupt)
	is.Equal(c.settled(ref, turn), protocol.Interrupted)
	_, err = os.Stat(filepath.Join(cwd, "asked"))
	is.True(os.IsNotExist(err))

	is.Equal(c.say(ref, "SAY still here"), protocol.Completed)
	is.True(strings.HasSuffix(c.said("t"), "still here"))
	c.clean()
}

// sleeping tells whether a process sleeps for so long.
func sleeping(t *testing.T, nap string) bool {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		out, err := exec.Command("ps", "-axo", "args").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(out), "sleep "+nap+"\n")
	}
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && string(line) == "sleep\x00"+nap+"\x00" {
			return true
		}
	}
	return false
}

func isText(d protocol.Delta) bool { _, ok := d.(*protocol.ItemText); return ok }

func TestCodexResumesAndForks(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, model := realCodex(t, cwd)
	first := start(t, o, cwd)
	ref := first.open("t")
	is.Equal(first.say(ref, "SAY the word is plum"), protocol.Completed)
	is.Equal(first.say(ref, "SAY the colour is teal"), protocol.Completed)
	boundaries := find[*protocol.TurnBoundary](first, "t")
	total := *find[*protocol.Usage](first, "t")[1].Total
	is.NoErr(first.bridge.Stop(first.ctx))

	second := start(t, o, cwd)
	identity, err := second.bridge.ThreadResume(second.ctx, protocol.ResumeParams{SessionParams: second.params("t"), ProviderThreadID: ref.ProviderThreadID})
	is.NoErr(err)
	is.Equal(identity, protocol.SessionIdentity{ProviderThreadID: ref.ProviderThreadID, SessionRestorable: true})
	is.Equal(len(find[*protocol.Usage](second, "t")), 0) // nothing before a turn
	is.Equal(second.say(ref, "SAY again"), protocol.Completed)
	is.Equal(second.said("t"), "again") // nothing of the history
	is.True(lastBody(model, "the word is plum", "the colour is teal"))
	is.True(find[*protocol.Usage](second, "t")[0].Total.TotalTokens > total.TotalTokens)

	fork := func(thread, checkpoint string) protocol.ThreadRef {
		identity, err := second.bridge.ThreadFork(second.ctx, protocol.ForkParams{SessionParams: second.params(thread), SourceProviderThreadID: ref.ProviderThreadID, SourceCheckpointID: checkpoint})
		is.NoErr(err)
		is.True(identity.ProviderThreadID != ref.ProviderThreadID)
		return protocol.ThreadRef{ThreadID: thread, ProviderThreadID: identity.ProviderThreadID}
	}
	tip := fork("tip", "")
	is.Equal(second.say(tip, "SAY at the tip"), protocol.Completed)
	is.True(lastBody(model, "the word is plum", "the colour is teal", "again"))
	early := fork("early", *boundaries[0].CheckpointID)
	is.Equal(second.say(early, "SAY at the first turn"), protocol.Completed)
	is.True(lastBody(model, "the word is plum"))
	is.True(!lastBody(model, "the colour is teal"))

	_, err = second.bridge.ThreadResume(second.ctx, protocol.ResumeParams{SessionParams: second.params("u"), ProviderThreadID: "01a2302d-5ed2-7d13-8a15-b54f29a83c9f"})
	is.True(errors.Is(err, protocol.SessionNotRestorable))
	second.clean()
}

// lastBody tells whether the last request that the model got holds all texts.
func lastBody(model *fakemodel.Server, texts ...string) bool {
	requests := model.Requests()
	body := string(requests[len(requests)-1].Body)
	return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(body, text) })
}

func TestCodexIsSteered(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, model := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	turn, err := c.send(ref, "RUN while test ! -e go; do sleep 0.1; done")
	is.NoErr(err)
	c.await("the command", func() bool {
		return slices.ContainsFunc(c.deltas["t"], func(d protocol.Delta) bool { _, ok := d.(*protocol.ItemOpen); return ok })
	})
	key := *find[*protocol.TurnOpen](c, "t")[0].TurnKey
	is.NoErr(c.threads["t"].ExpectInput("steer-1"))
	steer := protocol.TurnSteerParams{TurnID: key, TurnStartParams: protocol.TurnStartParams{ThreadID: "t", ProviderThreadID: ref.ProviderThreadID, ClientRequestID: "steer-1", Options: c.options, Input: text("SAY steered")}}
	is.NoErr(c.bridge.TurnSteer(c.ctx, steer))
	is.NoErr(os.WriteFile(filepath.Join(cwd, "go"), nil, 0o600))
	is.Equal(c.settled(ref, turn), protocol.Completed)
	is.True(lastBody(model, "SAY steered"))
	is.True(strings.HasSuffix(c.said("t"), "steered"))
	is.Equal(len(find[*protocol.TurnOpen](c, "t")), 1)
	is.True(errors.Is(c.bridge.TurnSteer(c.ctx, steer), protocol.NoActiveTurn))
	c.clean()
}

func TestCodexFails(t *testing.T) {
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	for n, test := range []struct {
		prompt   string
		category protocol.ErrorCategory
		status   int64
	}{
		{"FAIL 429", protocol.ErrorRateLimit, 429},
		{"FAIL 401", protocol.ErrorUnauthorized, 401},
	} {
		is := is.New(t)
		is.Equal(c.say(ref, test.prompt), protocol.Failed)
		e := find[*protocol.ProviderError](c, "t")[n]
		is.Equal(e.Category, test.category)
		is.Equal(*e.HTTPStatus, test.status)
		is.True(e.SettlesTurn)
	}
	is := is.New(t)
	c.await("the hint", func() bool { return slices.Contains(c.notes, "provider/recovery reauthenticate") })
	is.Equal(c.say(ref, "SAY better"), protocol.Completed)
}

// TestCodexDoesNotOutliveItsBridge holds that nothing is left when the bridge is killed, which then can do nothing about it.
func TestCodexDoesNotOutliveItsBridge(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	nap := fmt.Sprintf("600.%09d", time.Now().Nanosecond())
	_, err := c.send(ref, "RUN sleep "+nap)
	is.NoErr(err)
	c.eventually("the shell", func() bool { return sleeping(t, nap) })
	c.bridge.Kill()
	<-c.bridge.Done()
	c.eventually("the end of the shell", func() bool { return !sleeping(t, nap) })
}
