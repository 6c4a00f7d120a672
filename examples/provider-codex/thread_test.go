package codex_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/matryer/is"
)

func TestCodexModes(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	c.options = protocol.ExecutionOptions{Permission: protocol.PermissionPolicy{Mode: protocol.ModeFull, Scope: protocol.ScopeFull}}
	is.Equal(c.say(ref, "RUN touch ../full && echo done"), protocol.Completed)
	c.options = protocol.ExecutionOptions{Permission: protocol.PermissionPolicy{Mode: protocol.ModeAuto, Scope: protocol.ScopeWorkspace, Reviewer: protocol.ReviewerAutomatic, Escalation: protocol.EscalateAsk}}
	is.Equal(c.say(ref, "EDIT auto.txt hey"), protocol.Completed)
	is.Equal(len(c.questions), 0) // nothing leaves the sandbox
	_, err := os.Stat(filepath.Join(cwd, "auto.txt"))
	is.NoErr(err)
	c.options = ask
	is.Equal(c.say(ref, "RUN touch asked"), protocol.Completed)
	is.Equal(len(c.questions), 1)
	c.clean()
}

func TestCodexCompacts(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	is.Equal(c.say(ref, "SAY something"), protocol.Completed)
	is.Equal(c.act(ref, protocol.ActionCompact, ""), protocol.Completed)
	compactions, _ := items[*protocol.Compaction](c, "t")
	is.Equal(len(compactions), 1)
	is.Equal(c.say(ref, "SAY more"), protocol.Completed)
	c.clean()
}

func TestCodexPlansAndAsks(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, model := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	c.answer = func(q protocol.Interaction) (protocol.Resolution, error) {
		return &protocol.Answers{Answers: map[string]protocol.Answer{"size": {Selected: []string{"Large"}}}}, nil
	}
	is.Equal(c.act(ref, protocol.ActionPlan, "CALL request_user_input "+question), protocol.Completed)
	is.Equal(len(c.questions), 1)
	q := c.questions[0].(*protocol.Questions).Questions[0]
	is.Equal(q.ID, "size")
	is.Equal(q.Prompt, "How large?")
	is.Equal(*q.ShortLabel, "Size")
	is.Equal(q.Options[1].Value, "Large")
	is.True(lastBody(model, "Large"))
	is.Equal(c.say(ref, "SAY over"), protocol.Completed)
	c.clean()
}

func TestCodexCallsToolsOfCore(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, model := realCodex(t, cwd)
	c := start(t, o, cwd)
	c.tools = lookup
	ref := c.open("t")
	is.Equal(c.say(ref, `CALL lookup_word {"word":"plum"}`), protocol.Completed)
	tools, how := items[*protocol.Tool](c, "t")
	is.Equal(how, []protocol.Status{protocol.Completed})
	is.Equal(tools[0].Tool, "lookup.word")
	is.Equal(tools[0].Intent, protocol.IntentSearch)
	is.Equal(string(tools[0].Arguments), `{"word":"plum"}`)
	is.Equal(*tools[0].Result, `lookup.word got {"word":"plum"}`)
	is.True(lastBody(model, "lookup.word got"))
	c.clean()
	is.NoErr(c.bridge.Stop(c.ctx))

	again := start(t, o, cwd) // Codex keeps the tools with the thread
	again.tools = lookup
	_, err := again.bridge.ThreadResume(again.ctx, protocol.ResumeParams{SessionParams: again.params("t"), ProviderThreadID: ref.ProviderThreadID})
	is.NoErr(err)
	is.Equal(again.say(ref, `CALL lookup_word {"word":"pear"}`), protocol.Completed)
	tools, _ = items[*protocol.Tool](again, "t")
	is.Equal(tools[0].Tool, "lookup.word")
	again.clean()
}

// mcp is a server of one tool over HTTP.
type mcp struct {
	mu      sync.Mutex
	refused int
}

func (m *mcp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer mcp-secret-token" {
		m.mu.Lock()
		m.refused++
		m.mu.Unlock()
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "no", http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	json.Unmarshal(body, &call)
	if call.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := "{}"
	switch call.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bb","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"greet","description":"Greets","inputSchema":{"type":"object","properties":{"name":{"type":"string"}}},"annotations":{"readOnlyHint":true}}]}`
	case "tools/call":
		result = `{"content":[{"type":"text","text":"hello from core"}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, result)
}

func TestCodexTakesTheToolsOfCoreOverMCP(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	server := &mcp{}
	endpoint := httptest.NewServer(server)
	defer endpoint.Close()
	c := start(t, o, cwd)
	c.env = map[string]string{"BB_MCP_URL": endpoint.URL + "/mcp", "BB_MCP_TOKEN": "mcp-secret-token"}
	ref := c.open("t")
	is.Equal(c.say(ref, `CALL greet {"name":"x"}`), protocol.Completed)
	tools, _ := items[*protocol.Tool](c, "t")
	is.Equal(len(tools), 1)
	is.Equal(*tools[0].Server, "bb")
	is.Equal(tools[0].Tool, "greet")
	is.Equal(*tools[0].Result, "hello from core")
	is.Equal(server.refused, 0)
	c.clean()
}

func TestCodexAsksForPermissions(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, model := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	const want = `CALL request_permissions {"reason":"to look it up","permissions":{"network":{"enabled":true}}}`
	c.options.Permission = protocol.PermissionPolicy{Mode: protocol.ModeAuto, Scope: protocol.ScopeWorkspace, Reviewer: protocol.ReviewerAutomatic, Escalation: protocol.EscalateAsk}
	is.Equal(c.say(ref, want), protocol.Completed)
	is.Equal(len(c.questions), 1)
	q := c.questions[0].(*protocol.Approval)
	is.True(*q.Subject.(*protocol.PermissionSubject).Permissions.Network.Enabled)
	is.Equal(q.Reason, "to look it up")
	is.True(lastBody(model, `network`))
	c.clean()
}

func TestCodexKeepsThreads(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	is.Equal(c.say(ref, "SAY hello"), protocol.Completed)
	is.NoErr(c.bridge.ThreadNameSet(c.ctx, protocol.ThreadNameParams{ThreadRef: ref, Title: "A name"}))
	c.await("the name", func() bool {
		return slices.ContainsFunc(c.deltas["t"], func(d protocol.Delta) bool { n, ok := d.(*protocol.ThreadName); return ok && n.Name == "A name" })
	})
	is.NoErr(c.bridge.ThreadArchive(c.ctx, ref))
	is.NoErr(c.bridge.ThreadUnarchive(c.ctx, ref))
	is.Equal(c.say(ref, "SAY hello again"), protocol.Completed)
	c.stop(ref, protocol.Release)
	is.NoErr(c.bridge.ThreadArchive(c.ctx, ref)) // also without a session
	is.NoErr(c.bridge.ThreadUnarchive(c.ctx, ref))
	_, err := c.bridge.ThreadResume(c.ctx, protocol.ResumeParams{SessionParams: c.params("t"), ProviderThreadID: ref.ProviderThreadID})
	is.NoErr(err)
	is.NoErr(c.bridge.ThreadDiscard(c.ctx, ref))
	_, err = c.bridge.ThreadResume(c.ctx, protocol.ResumeParams{SessionParams: c.params("t"), ProviderThreadID: ref.ProviderThreadID})
	is.True(errors.Is(err, protocol.SessionNotRestorable)) // it is deleted
	c.clean()
}

func TestCodexPursuesAGoal(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	is.Equal(c.say(ref, "SAY hello"), protocol.Completed)
	c.mu.Lock()
	is.NoErr(c.assembler("t").Spare("turn-of-codex"))
	c.mu.Unlock()
	is.NoErr(c.bridge.ThreadGoalSet(c.ctx, protocol.ThreadGoalParams{ThreadRef: ref, Goal: "SAY that it is done"}))
	c.await("a turn of Codex's own", func() bool {
		return slices.ContainsFunc(c.events["t"], func(e assembler.Event) bool { return e.Scope.TurnID == "turn-of-codex" })
	})
	c.stop(ref, protocol.Interrupt)
	c.settled(ref, "turn-of-codex")
	is.NoErr(c.bridge.ThreadGoalClear(c.ctx, ref))
	is.Equal(c.say(ref, "SAY over"), protocol.Completed)
}

func TestCodexTakesSkillsAndInstructions(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, model := realCodex(t, cwd)
	skill := filepath.Join(t.TempDir(), "plums")
	is.NoErr(os.Mkdir(skill, 0o700))
	is.NoErr(os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: plums\ndescription: How plums are counted\n---\nCount them.\n"), 0o600))
	c := start(t, o, cwd)
	c.options.Instructions = "Speak of pears."
	ref := c.open("t")
	is.NoErr(c.bridge.SkillsConfigure(c.ctx, protocol.SkillsConfigureParams{ThreadID: "t", Roots: []protocol.SkillRoot{{ID: "plums", Path: filepath.Dir(skill), Label: "Plums"}}}))
	is.Equal(c.say(ref, "SAY hello"), protocol.Completed)
	is.True(lastBody(model, "Speak of pears.", "You are a coding agent")) // beside Codex's own
	is.True(lastBody(model, "How plums are counted"))
	c.options.Instructions = "Speak of quinces."
	is.Equal(c.say(ref, "SAY hello"), protocol.Completed)
	is.True(lastBody(model, "Speak of quinces."))

	c.mode = protocol.InstructionsReplace
	c.options.Instructions = "You are a gardener."
	other := c.open("u")
	is.Equal(c.say(other, "SAY hello"), protocol.Completed)
	is.True(lastBody(model, "You are a gardener."))
	is.True(!lastBody(model, "You are a coding agent"))
	c.clean()
}
