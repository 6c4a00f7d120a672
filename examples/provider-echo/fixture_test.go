package echo_test

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	echo "github.com/bb-kernel/bb/examples/provider-echo"
	"github.com/matryer/is"
)

var update = flag.Bool("update", false, "write fixture.json")

func text(s string) protocol.Inputs {
	return protocol.Inputs{&protocol.TextInput{Text: s, Mentions: []protocol.PromptMention{}, Visibility: protocol.VisibleUser}}
}

var options = protocol.ExecutionOptions{Model: "echo-small",
	Permission: protocol.PermissionPolicy{Mode: protocol.ModeAcceptEdits, Scope: protocol.ScopeWorkspace, Reviewer: protocol.ReviewerUser, Escalation: protocol.EscalateAsk}}

var tools = []protocol.DynamicTool{{Name: "lookup", Description: "Looks something up",
	InputSchema:  protocol.JSONObject{"type": json.RawMessage(`"object"`)},
	Presentation: protocol.ToolPresentation{Label: protocol.ToolLabel{Pending: "Looking up", Completed: "Looked up"}, Icon: "book", Intent: protocol.IntentSearch}}}

// TestFixtureFitsTheProfiles compares fixture.json with what the profiles declare.
func TestFixtureFitsTheProfiles(t *testing.T) {
	is := is.New(t)
	type profile struct {
		Args         []string                       `json:"args"`
		Declarations []protocol.ProviderDeclaration `json:"declarations"`
	}
	type prompt struct {
		Input protocol.Inputs `json:"input"`
	}
	var profiles []profile
	for _, p := range echo.Profiles() {
		d, err := echo.Declaration(p)
		is.NoErr(err)
		profiles = append(profiles, profile{[]string{"--profile", string(p)}, []protocol.ProviderDeclaration{d}})
	}
	want, err := json.MarshalIndent(struct {
		Plugin      protocol.PluginInfo       `json:"plugin"`
		ProviderIDs []string                  `json:"providerIds"`
		Profiles    []profile                 `json:"profiles"`
		Options     protocol.ExecutionOptions `json:"options"`
		Tools       []protocol.DynamicTool    `json:"tools"`
		Resume      string                    `json:"resume"`
		Prompts     map[string]prompt         `json:"prompts"`
	}{
		protocol.PluginInfo{ID: "echo", Version: "0.1.0"}, []string{"echo"}, profiles, options, tools, "new",
		map[string]prompt{
			"plain": {text("hello")}, "items": {text("items")}, "dynamicTool": {text(`tool {"word":"echo"}`)},
			"question": {text("ask one")}, "approval": {text("approve command")}, "slow": {text("slow")},
			"zeroWork": {text("nothing")}, "steer": {text("louder")},
		},
	}, "", "  ")
	is.NoErr(err)
	want = append(want, '\n')
	if *update {
		is.NoErr(os.WriteFile("fixture.json", want, 0o644))
		return
	}
	is.Equal(string(echo.Fixture()), string(want)) // go test . -update writes it
}
