package codex_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	codex "github.com/bb-kernel/bb/examples/provider-codex"
	"github.com/matryer/is"
)

var lookup = []protocol.DynamicTool{{Name: "lookup.word", Description: "Looks a word up",
	InputSchema:  protocol.JSONObject{"type": json.RawMessage(`"object"`), "properties": json.RawMessage(`{"word":{"type":"string"}}`)},
	Presentation: protocol.ToolPresentation{Label: protocol.ToolLabel{Pending: "Looking up", Completed: "Looked up"}, Icon: "book", Intent: protocol.IntentSearch}}}

const question = `{"questions":[{"id":"size","header":"Size","question":"How large?","options":[{"label":"Small (Recommended)","description":"fits"},{"label":"Large","description":"does not"}]}]}`

// kit builds bb-conformance in a directory: from the repository when this module lies in it, else the published one.
func kit(t *testing.T, dir string) string {
	t.Helper()
	out := filepath.Join(dir, "bb-conformance")
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	cmd := exec.Command("go", "install", "github.com/bb-kernel/bb/conformance/cmd/bb-conformance@latest")
	cmd.Env = append(os.Environ(), "GOBIN="+dir)
	source := filepath.Join("..", "..", "conformance")
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err == nil {
		cmd = exec.Command("go", "build", "-o", out, "./cmd/bb-conformance")
		cmd.Dir, cmd.Env = source, append(os.Environ(), "GOWORK=off")
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return out
}

// TestCodexConforms grades the bridge over the real Codex with the kit for bridges, as a black box.
func TestCodexConforms(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	tool := kit(t, t.TempDir())
	options, err := json.Marshal(o)
	is.NoErr(err)
	type prompt struct {
		Input protocol.Inputs `json:"input"`
	}
	fixture, err := json.Marshal(map[string]any{
		"plugin": protocol.PluginInfo{ID: "codex", Version: "0.1.0"}, "providerIds": []string{"codex"}, "cwd": cwd, "timeoutMs": 30000, "resume": "new",
		"profiles": []map[string]any{{"args": []string{}, "env": map[string]string{bridgeVariable: string(options)}, "declarations": []protocol.ProviderDeclaration{codex.Declaration(o)}}},
		"options":  ask, "tools": lookup,
		"prompts": map[string]prompt{
			"plain": {text("SAY hello")}, "items": {text("RUN echo hello")}, "dynamicTool": {text(`CALL lookup_word {"word":"echo"}`)},
			"question": {text("CALL request_user_input " + question)}, "approval": {text("RUN touch approved")}, "slow": {text("HANG hold on")},
			"zeroWork": {text("NOTHING")}, "steer": {text("SAY more")},
		},
	})
	is.NoErr(err)
	file := filepath.Join(t.TempDir(), "fixture.json")
	is.NoErr(os.WriteFile(file, fixture, 0o600))
	out, err := exec.Command(tool, "bridge", "--fixture", file, "--", os.Args[0]).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "skip ") && !strings.Contains(line, "rpc/capability-unadvertised") {
			t.Log(strings.TrimSpace(line))
		}
	}
	is.True(strings.Contains(string(out), " 0 fail"))
}
