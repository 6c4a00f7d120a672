package acp_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	acp "github.com/bb-kernel/bb/examples/provider-acp"
	"github.com/bb-kernel/bb/pluginsdk/plugintest/agents"
	"github.com/matryer/is"
)

var updateFixtures = flag.Bool("update", false, "write the fixtures")

// The fixtures of this folder: what to say to which agent. What belongs to a machine, such as where the agent is, is
// the command line's business.
const (
	openCodeFixture = "opencode.fixture.json"
	exampleFixture  = "example-agent.fixture.json"
)

type fixturePrompt struct {
	Input protocol.Inputs `json:"input"`
}

func say(s string) fixturePrompt { return fixturePrompt{text(s)} }

// fixture is a fixture file, with one profile that says which flags the declaration is for.
func fixture(t *testing.T, o acp.Options, args []string, prompts map[string]fixturePrompt) []byte {
	raw, err := json.MarshalIndent(struct {
		Plugin      protocol.PluginInfo       `json:"plugin"`
		ProviderIDs []string                  `json:"providerIds"`
		Profiles    []map[string]any          `json:"profiles"`
		Options     protocol.ExecutionOptions `json:"options"`
		TimeoutMs   int                       `json:"timeoutMs"`
		Resume      string                    `json:"resume"`
		Prompts     map[string]fixturePrompt  `json:"prompts"`
	}{protocol.PluginInfo{ID: "acp", Version: "0.1.0"}, []string{"acp"},
		[]map[string]any{{"args": args, "declarations": []protocol.ProviderDeclaration{acp.Declaration(o)}}}, ask, 60000, "new", prompts}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(raw, '\n')
}

// TestFixtures compares the fixtures with what the provider declares.
func TestFixtures(t *testing.T) {
	is := is.New(t)
	for file, want := range map[string][]byte{
		openCodeFixture: fixture(t, acp.Options{}, []string{}, map[string]fixturePrompt{"plain": say("SAY hello"), "items": say("RUN echo hello"),
			"approval": say("RUN touch approved"), "slow": say("HANG hold on")}),
		exampleFixture: fixture(t, acp.Options{NoResume: true}, []string{}, map[string]fixturePrompt{"plain": say("hello"), "items": say("hello"),
			"approval": say("hello")}), // its scene ends by itself
	} {
		if *updateFixtures {
			is.NoErr(os.WriteFile(file, want, 0o644))
		}
		got, err := os.ReadFile(file)
		is.NoErr(err)
		is.Equal(string(got), string(want)) // go test . -update writes it
	}
}

// kit builds bb-conformance in a directory: from the repository when this module lies in it, else the published one.
func kit(t *testing.T, dir string) string {
	t.Helper()
	out := filepath.Join(dir, "bb-conformance")
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	cmd := exec.Command("go", "install", "github.com/bb-kernel/bb/conformance/cmd/bb-conformance@latest")
	cmd.Env = append(os.Environ(), "GOBIN="+dir)
	if source := filepath.Join("..", "..", "conformance"); exists(filepath.Join(source, "go.mod")) {
		cmd = exec.Command("go", "build", "-o", out, "./cmd/bb-conformance")
		cmd.Dir, cmd.Env = source, append(os.Environ(), "GOWORK=off")
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// conforms grades the bridge over a real agent with the kit for bridges, as a black box.
func conforms(t *testing.T, file string, o acp.Options) {
	t.Helper()
	dir := t.TempDir()
	build := func(name, from, pkg string) string {
		out := filepath.Join(dir, name)
		if runtime.GOOS == "windows" {
			out += ".exe"
		}
		cmd := exec.Command("go", "build", "-o", out, pkg)
		cmd.Dir, cmd.Env = from, append(os.Environ(), "GOWORK=off")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		return out
	}
	args := []string{"bridge", "--fixture", file, "--timeout", "3m", "--", build("acp-bridge", ".", "./cmd/acp-bridge")}
	for name, value := range o.Env {
		args = append(args, "--set", name+"="+value)
	}
	if o.NoResume {
		args = append(args, "--no-resume")
	}
	args = append(append(args, "--"), o.Command...)
	said, err := exec.Command(kit(t, dir), args...).CombinedOutput()
	t.Logf("%s", said)
	if err != nil || !strings.Contains(string(said), " 0 fail") {
		t.Fatal(err)
	}
}

func TestOpenCodeConforms(t *testing.T) {
	o, _ := openCode(t)
	conforms(t, openCodeFixture, o)
}

func TestExampleAgentConforms(t *testing.T) {
	conforms(t, exampleFixture, acp.Options{Command: agents.ACPExample(t), NoResume: true})
}
