package acp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	acp "github.com/bb-kernel/bb/examples/provider-acp"
	"github.com/bb-kernel/bb/pluginsdk/plugintest/agents"
	"github.com/bb-kernel/bb/pluginsdk/plugintest/fakemodel"
	"github.com/matryer/is"
)

// openCode is opencode with a home of its own and a model that costs nothing.
func openCode(t *testing.T) (acp.Options, *fakemodel.Server) {
	return openCodeWith(t, fakemodel.Options{})
}

func openCodeWith(t *testing.T, o fakemodel.Options) (acp.Options, *fakemodel.Server) {
	command := append(agents.OpenCode(t), "acp")
	model := fakemodel.New(o)
	home := t.TempDir()
	config := filepath.Join(home, "opencode.json")
	raw, err := json.Marshal(map[string]any{
		"model": "fake/fake", "small_model": "fake/fake", "enabled_providers": []string{"fake"}, "autoupdate": false, "share": "disabled",
		"permission": map[string]string{"bash": "ask", "edit": "ask"},
		"provider": map[string]any{"fake": map[string]any{"npm": "@ai-sdk/openai-compatible", "name": "Fake",
			"options": map[string]string{"baseURL": model.Start(t) + "/v1", "apiKey": "none"},
			"models":  map[string]any{"fake": map[string]any{"name": "Fake", "limit": map[string]int{"context": 100000, "output": 8000}}}}},
	})
	if err == nil {
		err = os.WriteFile(config, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "OPENCODE_CONFIG": config, "npm_config_offline": "true"}
	for _, name := range []string{"CONFIG", "DATA", "CACHE", "STATE"} {
		env["XDG_"+name+"_HOME"] = filepath.Join(home, name)
	}
	for _, name := range []string{"AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"} {
		env["OPENCODE_DISABLE_"+name] = "1"
	}
	return acp.Options{Command: command, Env: env}, model
}

func TestOpenCode(t *testing.T) {
	is := is.New(t)
	o, _ := openCode(t)
	cwd := t.TempDir()
	c := start(t, o, cwd)
	ref := c.open("t")
	is.Equal(c.say(ref, "SAY hello there"), protocol.Completed)
	is.Equal(c.said("t"), "hello there")

	is.Equal(c.say(ref, "THINK so it is\nSAY well"), protocol.Completed)
	thoughts, _ := items[*protocol.Reasoning](c, "t")
	is.Equal(len(thoughts), 1)
	is.Equal(thoughts[0].Text, "so it is")

	is.Equal(c.say(ref, "RUN echo one; sleep 1; echo two; exit 3"), protocol.Completed) // allowed
	commands, how := items[*protocol.Command](c, "t")
	is.Equal(len(commands), 1)
	is.Equal(how[0], protocol.Completed)
	is.Equal(commands[0].Command, "echo one; sleep 1; echo two; exit 3")
	is.Equal(*commands[0].ExitCode, int64(3))
	is.Equal(*commands[0].Output, "one\ntwo\n")
	var streamed string
	for _, d := range find[*protocol.ItemOutput](c, "t") {
		is.Equal(d.Mode, protocol.Append) // it resends everything, and only what is new goes on
		streamed += d.Text
	}
	is.Equal(streamed, "one\ntwo\n")
	is.Equal(len(c.questions), 1)
	q := c.questions[0].(*protocol.Approval)
	is.Equal(q.Subject.(*protocol.CommandSubject).Command, commands[0].Command)
	is.Equal(q.Decisions, []protocol.DecisionKind{protocol.AllowOnce, protocol.AllowForSession, protocol.Deny})

	is.Equal(c.say(ref, "EDIT b.txt hey"), protocol.Completed)
	is.Equal(len(c.questions), 2)
	subject := c.questions[1].(*protocol.Approval).Subject.(*protocol.FileChangeSubject)
	opened := find[*protocol.ItemOpen](c, "t")
	is.Equal(subject.ItemKey, opened[len(opened)-2].Key) // in front of the last message
	changes, how := items[*protocol.FileChange](c, "t")
	is.Equal(how, []protocol.Status{protocol.Completed})
	is.Equal(changes[0].Changes[0].Path, filepath.Join(cwd, "b.txt"))
	is.Equal(changes[0].Changes[0].Change, protocol.ChangeAdd)
	is.True(strings.HasSuffix(*changes[0].Changes[0].Diff, "@@ -0,0 +1,1 @@\n+hey\n"))
	written, err := os.ReadFile(filepath.Join(cwd, "b.txt"))
	is.NoErr(err)
	is.Equal(string(written), "hey\n")

	c.answer = decide(protocol.Deny)
	is.Equal(c.say(ref, "RUN touch denied"), protocol.Completed)
	commands, how = items[*protocol.Command](c, "t")
	is.Equal(how[1], protocol.Failed)
	is.Equal(commands[1].Approval, protocol.ApprovalDenied)
	_, err = os.Stat(filepath.Join(cwd, "denied"))
	is.True(os.IsNotExist(err))

	usage := find[*protocol.Usage](c, "t")
	is.True(len(usage) >= 4 && usage[0].Last.TotalTokens > 0)
	windows := find[*protocol.ContextWindow](c, "t")
	is.Equal(*windows[len(windows)-1].Size, int64(100000))
	states := find[*protocol.ExtensionState](c, "t")
	is.Equal(states[0].Name, "acp/commands")
	c.clean()
}

func TestOpenCodeIsInterrupted(t *testing.T) {
	is := is.New(t)
	o, model := openCode(t)
	cwd := t.TempDir()
	c := start(t, o, cwd)
	ref := c.open("t")
	turn, err := c.send(ref, "HANG hold on")
	is.NoErr(err)
	c.await("the text", func() bool { return slices.ContainsFunc(c.deltas["t"], isText) })
	is.NoErr(model.WaitHanging(c.ctx, 1))
	c.stop(ref, protocol.Interrupt)
	is.Equal(c.settled(ref, turn), protocol.Interrupted) // it settled before the result of the stop

	turn, err = c.send(ref, "RUN echo started; sleep 20; echo finished")
	is.NoErr(err)
	c.await("the start of the shell", func() bool {
		return slices.ContainsFunc(c.deltas["t"], func(d protocol.Delta) bool { _, ok := d.(*protocol.ItemOutput); return ok })
	})
	c.stop(ref, protocol.Interrupt)
	is.Equal(c.settled(ref, turn), protocol.Interrupted)
	_, how := items[*protocol.Command](c, "t")
	is.Equal(how, []protocol.Status{protocol.Interrupted}) // whatever the agent says of it

	c.answer = nil
	turn, err = c.send(ref, "RUN touch asked")
	is.NoErr(err)
	c.await("the question", func() bool { return len(c.questions) == 2 })
	c.stop(ref, protocol.Interrupt)
	is.Equal(c.settled(ref, turn), protocol.Interrupted)

	is.Equal(c.say(ref, "SAY still here"), protocol.Completed)
	is.True(strings.HasSuffix(c.said("t"), "still here"))
	c.clean()
}

func isText(d protocol.Delta) bool { _, ok := d.(*protocol.ItemText); return ok }

func TestOpenCodeResumesWithoutItsHistory(t *testing.T) {
	is := is.New(t)
	o, model := openCode(t)
	cwd := t.TempDir()
	first := start(t, o, cwd)
	ref := first.open("t")
	is.Equal(first.say(ref, "SAY the word is plum"), protocol.Completed)
	is.Equal(first.say(ref, "RUN echo hi"), protocol.Completed)
	is.NoErr(first.bridge.Stop(first.ctx))

	second := start(t, o, cwd)
	identity, err := second.bridge.ThreadResume(second.ctx, protocol.ResumeParams{SessionParams: second.params("t"), ProviderThreadID: ref.ProviderThreadID})
	is.NoErr(err)
	is.Equal(identity, protocol.SessionIdentity{ProviderThreadID: ref.ProviderThreadID, SessionRestorable: true})
	is.Equal(second.say(ref, "SAY again"), protocol.Completed)
	is.Equal(second.said("t"), "again")
	opened := find[*protocol.ItemOpen](second, "t")
	is.Equal(len(opened), 1) // nothing of the history
	is.Equal(second.say(ref, "RUN echo new"), protocol.Completed)
	commands, _ := items[*protocol.Command](second, "t")
	is.Equal(len(commands), 1)
	requests := model.Requests()
	is.True(strings.Contains(string(requests[len(requests)-1].Body), "the word is plum")) // it remembers

	_, err = second.bridge.ThreadResume(second.ctx, protocol.ResumeParams{SessionParams: second.params("u"), ProviderThreadID: "ses_unknown"})
	is.True(errors.Is(err, protocol.SessionNotRestorable))
	second.clean()
}

func TestOpenCodeListsItsModels(t *testing.T) {
	is := is.New(t)
	o, _ := openCode(t)
	cwd := t.TempDir()
	c := start(t, o, cwd)
	p := protocol.ProviderParams{ProviderID: "acp", Cwd: cwd}
	models, err := c.bridge.ModelList(c.ctx, p)
	is.NoErr(err)
	is.Equal(len(models.Models), 1)
	is.Equal(models.Models[0].ID, "fake/fake")
	is.True(models.Models[0].IsDefault)
	health, err := c.bridge.Health(c.ctx, p)
	is.NoErr(err)
	is.Equal(health.Health.Status, protocol.HealthReady)
	is.True(*health.Health.InstalledVersion != "")
	c.clean()
}

// TestOpenCodeTakesToolsOfCore gives opencode the MCP server that core offers, and calls a tool of it.
func TestOpenCodeTakesToolsOfCore(t *testing.T) {
	is := is.New(t)
	var mu sync.Mutex
	var called []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if r.Header.Get("Authorization") != "Bearer only-for-this-session" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&call) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		mu.Lock()
		called = append(called, call.Method+" "+string(call.Params))
		mu.Unlock()
		result := "{}"
		switch call.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bb","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"lookup","description":"Looks a word up","inputSchema":{"type":"object","properties":{"word":{"type":"string"}}}}]}`
		case "tools/call":
			result = `{"content":[{"type":"text","text":"a fruit"}]}`
		}
		if call.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, result)
	}))
	defer server.Close()
	o, _ := openCodeWith(t, fakemodel.Options{Choose: func(_ fakemodel.Role, word string, tools []fakemodel.Tool) (fakemodel.Call, bool) {
		for _, tool := range tools {
			if strings.Contains(tool.Name, "lookup") {
				return fakemodel.Call{Tool: tool, Arguments: `{"word":"` + word + `"}`}, true
			}
		}
		return fakemodel.Call{}, false
	}})
	c := start(t, o, t.TempDir())
	c.env = map[string]string{"BB_MCP_URL": server.URL + "/mcp", "BB_MCP_TOKEN": "only-for-this-session"}
	is.Equal(c.say(c.open("t"), "RUN plum"), protocol.Completed)
	tools, how := items[*protocol.Tool](c, "t")
	is.Equal(how, []protocol.Status{protocol.Completed})
	is.Equal(*tools[0].Result, "a fruit")
	mu.Lock()
	defer mu.Unlock()
	is.True(slices.ContainsFunc(called, func(call string) bool {
		return strings.HasPrefix(call, "tools/call") && strings.Contains(call, `"word":"plum"`)
	}))
	c.clean()
}
