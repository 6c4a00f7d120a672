package acp_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/record"
	"github.com/bb-kernel/bb/bridgekit/wire"
	acp "github.com/bb-kernel/bb/examples/provider-acp"
	"github.com/matryer/is"
)

func asError(err error, target **protocol.Error) bool { return errors.As(err, target) }

var loads = json.RawMessage(`{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"mcpCapabilities":{"http":true},"promptCapabilities":{"image":true}},"agentInfo":{"name":"fake","version":"7"}}`)

func TestHistoryIsNotReportedAgain(t *testing.T) {
	history := []json.RawMessage{
		json.RawMessage(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"old"}}`),
		json.RawMessage(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"old"}}`),
		json.RawMessage(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"old","status":"in_progress"}`),
		json.RawMessage(`{"sessionUpdate":"plan","entries":[]}`),
	}
	for name, behind := range map[string]bool{"in front of the answer": false, "behind the answer": true} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			o, _ := fake(t, scene{Init: loads, History: history, Behind: behind})
			c := start(t, o, t.TempDir())
			identity, err := c.bridge.ThreadResume(c.ctx, protocol.ResumeParams{SessionParams: c.params("t"), ProviderThreadID: "s1"})
			is.NoErr(err)
			is.Equal(identity, protocol.SessionIdentity{ProviderThreadID: "s1", SessionRestorable: true})
			ref := protocol.ThreadRef{ThreadID: "t", ProviderThreadID: "s1"}
			is.Equal(c.say(ref, script(`UPDATE {"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`, "SAY new",
				`UPDATE {"sessionUpdate":"tool_call","toolCallId":"1","title":"new","status":"completed"}`)), protocol.Completed)
			is.Equal(c.said("t"), "new")
			tools, _ := items[*protocol.Tool](c, "t")
			is.Equal(len(tools), 1)
			is.Equal(len(find[*protocol.Todo](c, "t")), 0)
			c.clean()
		})
	}
}

func TestAgentThatCannotLoadIsNotRestorable(t *testing.T) {
	is := is.New(t)
	o, _ := fake(t, scene{})
	c := start(t, o, t.TempDir())
	identity, err := c.bridge.ThreadStart(c.ctx, c.params("t"))
	is.NoErr(err)
	is.Equal(identity.SessionRestorable, false)
	_, err = c.bridge.ThreadResume(c.ctx, protocol.ResumeParams{SessionParams: c.params("u"), ProviderThreadID: "s1"})
	is.True(errors.Is(err, protocol.SessionNotRestorable))
	c.clean()
}

func TestAgentThatResumesWithoutHistory(t *testing.T) {
	is := is.New(t)
	o, sent := fake(t, scene{Init: json.RawMessage(`{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`)})
	c := start(t, o, t.TempDir())
	identity, err := c.bridge.ThreadResume(c.ctx, protocol.ResumeParams{SessionParams: c.params("t"), ProviderThreadID: "s1"})
	is.NoErr(err)
	is.True(identity.SessionRestorable)
	is.Equal(len(sent("session/resume")), 1)
	is.Equal(c.say(protocol.ThreadRef{ThreadID: "t", ProviderThreadID: "s1"}, "SAY on"), protocol.Completed)
	c.clean()
}

func TestMCPServersReachTheAgent(t *testing.T) {
	is := is.New(t)
	o, sent := fake(t, scene{Init: loads})
	c := start(t, o, t.TempDir(), "BB_SECRET=x", "SERVER_SECRET=y")
	c.env = map[string]string{"BB_MCP_URL": "http://127.0.0.1:1/mcp", "BB_MCP_TOKEN": "token-of-the-session", "BB_THREAD_ID": "t"}
	c.bridgeO = protocol.JSONObject{"mcpServers": json.RawMessage(`[{"type":"stdio","name":"local","command":"serve","args":["x"]},{"type":"sse","name":"far","url":"http://far"}]`)}
	ref := c.open("t")
	is.Equal(string(sent("session/new")[0]["mcpServers"]),
		`[{"args":["x"],"command":"serve","env":[],"name":"local"},{"headers":[{"name":"Authorization","value":"Bearer token-of-the-session"}],"name":"bb","type":"http","url":"http://127.0.0.1:1/mcp"}]`)
	warnings := find[*protocol.ProviderWarning](c, "t")
	is.Equal(len(warnings), 1) // no server over SSE
	is.True(strings.Contains(*warnings[0].Summary, "far"))
	is.Equal(c.say(ref, `CALL terminal/create {"sessionId":"s1","command":"env"}`+"\n"+`CALL terminal/wait_for_exit {"terminalId":"TERMINAL"}`+"\n"+`CALL terminal/output {"terminalId":"TERMINAL"}`), protocol.Completed)
	is.True(strings.Contains(c.said("t"), "BB_THREAD_ID=t"))
	for _, secret := range []string{"token-of-the-session", "BB_SECRET", "SERVER_SECRET"} {
		is.True(!strings.Contains(c.said("t"), secret)) // of the environment
	}
}

func TestModesAndModelsAreChosen(t *testing.T) {
	for name, state := range map[string]string{
		"methods": `,"modes":{"currentModeId":"auto","availableModes":[{"id":"auto","name":"Auto"},{"id":"default","name":"Ask"},{"id":"yolo","name":"Yolo"}]},"models":{"currentModelId":"m1","availableModels":[{"modelId":"m1","name":"One"},{"modelId":"m2","name":"Two"}]}`,
		"options": `,"configOptions":[{"id":"mo","category":"mode","currentValue":"auto","options":[{"value":"auto"},{"value":"default"},{"value":"yolo"}]},{"id":"mm","category":"model","currentValue":"m1","options":[{"group":"g","name":"G","options":[{"value":"m1","name":"One"},{"value":"m2","name":"Two"}]}]}]`,
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			o, sent := fake(t, scene{New: state})
			c := start(t, o, t.TempDir())
			c.bridgeO = protocol.JSONObject{"modes": json.RawMessage(`{"full":"yolo"}`)}
			models, err := c.bridge.ModelList(c.ctx, protocol.ProviderParams{ProviderID: "acp", Cwd: c.cwd})
			is.NoErr(err)
			is.Equal(len(models.Models), 2)
			is.Equal(models.Models[1].Label, "Two")
			is.Equal(models.Models[0].IsDefault, true)
			ref := c.open("t")
			set := func() (values []string) {
				for _, p := range sent("session/set_mode") {
					values = append(values, string(p["modeId"]))
				}
				for _, p := range sent("session/set_model") {
					values = append(values, string(p["modelId"]))
				}
				for _, p := range sent("session/set_config_option") {
					values = append(values, string(p["value"]))
				}
				return values
			}
			is.Equal(set(), []string{`"default"`}) // so that the agent asks
			c.options.Model = "m2"
			is.Equal(c.say(ref, "SAY one"), protocol.Completed)
			is.Equal(set(), []string{`"default"`, `"m2"`})
			c.options.Model = "default"
			c.options.Permission = protocol.PermissionPolicy{Mode: protocol.ModeFull, Scope: protocol.ScopeFull}
			is.Equal(c.say(ref, "SAY two"), protocol.Completed)
			is.Equal(len(set()), 3)
			is.True(strings.Contains(strings.Join(set(), " "), `"yolo"`))
			c.options.Model = "m9"
			is.Equal(c.say(ref, "SAY three"), protocol.Completed)
			is.True(strings.Contains(*find[*protocol.ProviderWarning](c, "t")[0].Summary, `no model "m9"`))
			c.clean()
		})
	}
}

func TestAgentWithoutModelsHasItsOwn(t *testing.T) {
	is := is.New(t)
	o, _ := fake(t, scene{})
	c := start(t, o, t.TempDir())
	models, err := c.bridge.ModelList(c.ctx, protocol.ProviderParams{ProviderID: "acp", Cwd: c.cwd})
	is.NoErr(err)
	is.Equal(models.Models[0].ID, "default")
	c.options.Model = "default"
	is.Equal(c.say(c.open("t"), "SAY fine"), protocol.Completed)
	c.clean()
}

func TestLogin(t *testing.T) {
	is := is.New(t)
	s := scene{NewError: &wire.Error{Code: -32000, Message: "Authentication required"},
		Init: json.RawMessage(`{"protocolVersion":1,"authMethods":[{"id":"key","name":"Key","description":"run fake login"}]}`)}
	o, sent := fake(t, s)
	c := start(t, o, t.TempDir())
	_, err := c.bridge.ThreadStart(c.ctx, c.params("t"))
	var failed *protocol.Error
	is.True(asError(err, &failed))
	is.Equal(failed.Code, protocol.BridgeError)
	is.Equal(failed.Recovery, protocol.RecoverReauthenticate)
	is.Equal(failed.Message, "the agent wants a login. Key: run fake login")
	health, err := c.bridge.Health(c.ctx, protocol.ProviderParams{ProviderID: "acp", Cwd: c.cwd})
	is.NoErr(err)
	is.Equal(health.Health.Status, protocol.HealthUnauthenticated)
	is.Equal(*health.Health.StatusMessage, failed.Message)

	c.bridgeO = protocol.JSONObject{"authMethod": json.RawMessage(`"key"`)}
	c.open("u")
	is.Equal(string(sent("authenticate")[0]["methodId"]), `"key"`)
	c.clean()
}

func TestHealth(t *testing.T) {
	for _, test := range []struct {
		name   string
		scene  scene
		status protocol.HealthStatus
	}{
		{"ready", scene{Init: loads}, protocol.HealthReady},
		{"other version", scene{Init: json.RawMessage(`{"protocolVersion":2}`)}, protocol.HealthUnsupportedVersion},
		{"refuses", scene{NewError: &wire.Error{Code: -32603, Message: "broken"}}, protocol.HealthUnknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			o, _ := fake(t, test.scene)
			c := start(t, o, t.TempDir())
			health, err := c.bridge.Health(c.ctx, protocol.ProviderParams{ProviderID: "acp", Cwd: c.cwd})
			is.NoErr(err)
			is.Equal(health.Health.Status, test.status)
			c.clean()
		})
	}
}

func TestCommandMayBeABridgeOption(t *testing.T) {
	is := is.New(t)
	o, _ := fake(t, scene{})
	command, err := json.Marshal(o.Command)
	is.NoErr(err)
	o.Command = nil
	c := start(t, o, t.TempDir())
	_, err = c.bridge.ThreadStart(c.ctx, c.params("t"))
	is.True(strings.Contains(err.Error(), "no agent to start"))
	c.bridgeO = protocol.JSONObject{"command": command, "env": json.RawMessage(`{"MINE":"1"}`)}
	is.Equal(c.say(c.open("u"), "SAY fine"), protocol.Completed)
	for option, value := range map[string]string{"command": `"x"`, "env": `{"BB_X":"1"}`, "mcpServers": `1`, "modes": `[]`, "authMethod": `{}`} {
		c.bridgeO = protocol.JSONObject{"command": command, option: json.RawMessage(value)}
		_, err = c.bridge.ThreadStart(c.ctx, c.params("v"))
		is.True(strings.Contains(err.Error(), "bridgeOptions."+option))
	}
	c.bridgeO = protocol.JSONObject{"command": json.RawMessage(`["/no/such/agent"]`)}
	_, err = c.bridge.ThreadStart(c.ctx, c.params("w"))
	is.True(errors.Is(err, protocol.MissingExecutable))
	health, err := c.bridge.Health(c.ctx, protocol.ProviderParams{ProviderID: "acp", Cwd: c.cwd, BridgeOptions: c.bridgeO})
	is.NoErr(err)
	is.Equal(health.Health.Status, protocol.HealthNotInstalled)
	c.bridgeO = protocol.JSONObject{"command": json.RawMessage(`["` + filepath.ToSlash(os.Args[0]) + `","-test.run=^$"]`), "env": json.RawMessage(`{"ACP_TEST_AGENT":""}`)}
	_, err = c.bridge.ThreadStart(c.ctx, c.params("x"))
	is.True(strings.Contains(err.Error(), "does not speak the Agent Client Protocol"))
}

func TestInputBecomesBlocks(t *testing.T) {
	is := is.New(t)
	for _, images := range []bool{true, false} {
		s := scene{}
		if images {
			s.Init = loads
		}
		o, sent := fake(t, s)
		c := start(t, o, t.TempDir())
		c.options.Instructions = "Be brief."
		ref := c.open("t")
		picture := filepath.Join(c.cwd, "p.png")
		is.NoErr(os.WriteFile(picture, []byte("\x89PNG"), 0o600))
		input := protocol.Inputs{&protocol.ImageInput{URL: "data:image/png;base64,AAAA", Visibility: protocol.VisibleUser}, &protocol.LocalImageInput{Path: picture, Visibility: protocol.VisibleUser},
			&protocol.ImageInput{URL: "https://example.com/a.png", Visibility: protocol.VisibleUser},
			&protocol.LocalFileInput{Path: filepath.Join(c.cwd, "a b.txt"), MimeType: protocol.Ptr("text/plain"), Visibility: protocol.VisibleUser}, text("SAY done")[0]}
		c.assembler("t").Expect("r", "r")
		is.NoErr(c.bridge.TurnStart(c.ctx, protocol.TurnStartParams{ThreadID: "t", ProviderThreadID: ref.ProviderThreadID, ClientRequestID: "r", Options: c.options, Input: input}))
		is.Equal(c.settled(ref, "r"), protocol.Completed)
		var kinds []string
		var blocks []struct{ Type, URI, Data, MimeType, Text string }
		is.NoErr(json.Unmarshal(sent("session/prompt")[0]["prompt"], &blocks))
		for _, b := range blocks {
			kinds = append(kinds, b.Type)
		}
		is.Equal(blocks[0].Text, "Be brief.")
		if images {
			is.Equal(kinds, []string{"text", "image", "image", "resource_link", "resource_link", "text"})
			is.Equal(blocks[2].MimeType, "image/png")
			is.True(strings.HasSuffix(blocks[4].URI, "/a%20b.txt"))
		} else {
			is.Equal(kinds, []string{"text", "resource_link", "resource_link", "resource_link", "text"}) // a link to what has a place
			is.Equal(len(find[*protocol.ProviderWarning](c, "t")), 1)
		}
		is.Equal(c.say(ref, "SAY again"), protocol.Completed)
		is.NoErr(json.Unmarshal(sent("session/prompt")[1]["prompt"], &blocks))
		is.Equal(len(blocks), 1) // the instructions are known
		c.clean()
	}
}

func TestReleaseEndsTheAgent(t *testing.T) {
	is := is.New(t)
	o, sent := fake(t, scene{Init: loads})
	c := start(t, o, t.TempDir())
	ref := c.open("t")
	is.Equal(c.say(ref, "SAY one"), protocol.Completed)
	c.stop(ref, protocol.Release)
	_, err := c.bridge.ThreadResume(c.ctx, protocol.ResumeParams{SessionParams: c.params("t"), ProviderThreadID: "s1"})
	is.NoErr(err)
	is.Equal(len(sent("initialize")), 2) // another process
	is.NoErr(c.bridge.ThreadDiscard(c.ctx, ref))
	c.clean()
}

func TestOptionsAreChecked(t *testing.T) {
	is := is.New(t)
	_, err := acp.Bridge(acp.Options{Command: []string{""}, Env: map[string]string{"BB_X": "1", "A=B": "2"}})
	for _, part := range []string{"BB_X belongs to core", `"A=B" is no variable`, "the program has no name"} {
		is.True(strings.Contains(err.Error(), part))
	}
}

// TestRecording records the agent's lanes as well.
func TestRecording(t *testing.T) {
	is := is.New(t)
	o, _ := fake(t, scene{})
	dir := t.TempDir()
	c := start(t, o, t.TempDir(), record.Variable+"="+dir)
	is.Equal(c.say(c.open("t"), "SAY for the record"), protocol.Completed)
	is.NoErr(c.bridge.Stop(c.ctx))
	recording, err := record.Read(dir, "acp", "t")
	is.NoErr(err)
	lanes := map[record.Lane]bool{}
	for _, e := range recording.Entries {
		if strings.Contains(e.Line, "for the record") {
			lanes[e.Lane] = true
		}
	}
	is.Equal(len(lanes), 4)
}
