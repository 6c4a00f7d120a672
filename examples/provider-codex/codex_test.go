package codex_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

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
	home := t.TempDir()
	config := fmt.Sprintf(`model = "fake"
model_provider = "fake"
check_for_update_on_startup = false
model_context_window = 100000
[features]
plugins = false
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
`, model.Start(t)+"/v1", cwd)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return codex.Options{Command: command, Home: home, Env: map[string]string{"HOME": home, "FAKE_KEY": "secret"}}, model
}

func TestCodex(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	c := start(t, o, cwd)
	ref := c.open("t")
	is.Equal(c.say(ref, "SAY hello there"), protocol.Completed)
	is.Equal(c.said("t"), "hello there")
	c.say(ref, "THINK so it is\nSAY well")
	c.say(ref, "RUN echo one; sleep 1; echo two; exit 3")
	c.say(ref, "EDIT b.txt hey")
	c.say(ref, "PLAN a; b")
	c.say(ref, "FAIL 429")
	c.say(ref, "FAIL 401")
	c.say(ref, "SAY x")
}
