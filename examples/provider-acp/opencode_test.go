package acp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	acp "github.com/bb-kernel/bb/examples/provider-acp"
	"github.com/bb-kernel/bb/pluginsdk/plugintest/agents"
	"github.com/bb-kernel/bb/pluginsdk/plugintest/fakemodel"
	"github.com/matryer/is"
)

// openCode is opencode with a home of its own and a model that costs nothing.
func openCode(t *testing.T) (acp.Options, *fakemodel.Server) {
	command := append(agents.OpenCode(t), "acp")
	model := fakemodel.New(fakemodel.Options{})
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
	c := start(t, o, t.TempDir())
	ref := c.open("t")
	is.Equal(c.say(ref, "SAY hello there"), protocol.Completed)
	is.Equal(c.said("t"), "hello there")
	c.clean()
}
