package acp

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
)

// The ambient variables with which core offers its tools to agents that take MCP servers.
const (
	mcpURL   = "BB_MCP_URL"
	mcpToken = "BB_MCP_TOKEN"
)

// config is what the options of the bridge say, those of the provider included.
type config struct {
	command    []string
	env        map[string]string
	mcpServers []schema.MCPServer
	modes      map[protocol.PermissionMode]string // the agent's modes for permission modes
	authMethod string
}

// configure reads the bridge options of a request.
func (p *provider) configure(options protocol.JSONObject) (config, error) {
	c := config{command: p.o.Command, env: maps.Clone(p.o.Env)}
	if c.env == nil {
		c.env = map[string]string{}
	}
	var env map[string]string
	for _, option := range []struct {
		name string
		into any
		form string
	}{
		{"command", &c.command, `a list of words, such as ["opencode", "acp"]`},
		{"env", &env, "an object of texts"},
		{"mcpServers", &c.mcpServers, "a list of servers as in session/new of the Agent Client Protocol"},
		{"modes", &c.modes, `an object from permission modes to modes of the agent, such as {"full": "yolo"}`},
		{"authMethod", &c.authMethod, "the id of one of the agent's ways to log in"},
	} {
		if raw, ok := options[option.name]; ok {
			if err := json.Unmarshal(raw, option.into); err != nil {
				return config{}, protocol.BridgeError.Errorf("bridgeOptions.%s: %v: it is %s", option.name, err, option.form)
			}
		}
	}
	if err := checkEnv("bridgeOptions.env", env); err != nil {
		return config{}, err
	}
	if err := checkCommand("bridgeOptions.command", c.command); err != nil {
		return config{}, err
	}
	if len(c.command) == 0 {
		return config{}, protocol.BridgeError.Errorf(`there is no agent to start: name its command line behind acp-bridge -- or in the bridge option command, such as ["opencode", "acp"]`)
	}
	maps.Copy(c.env, env)
	return c, nil
}

// environ returns the environment of the agent. The credential for core's tools is not part of it: it reaches the agent
// as a server of tools.
func (p *provider) environ(c config, ambient map[string]string) []string {
	ambient = maps.Clone(ambient)
	delete(ambient, mcpURL)
	delete(ambient, mcpToken)
	return withEnv(bridgekit.ChildEnv(os.Environ(), p.o.Passthrough, ambient), c.env)
}

// withEnv adds variables to an environment, in whose place they stand.
func withEnv(environ []string, env map[string]string) []string {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		environ = append(environ, name+"="+env[name]) // of two, the last one counts
	}
	return environ
}

// servers returns the MCP servers that the agent takes, and why it does not take the others.
func (c config) servers(ambient map[string]string, agent schema.InitializeResult) (taken []schema.MCPServer, refused []string) {
	all := slices.Clone(c.mcpServers)
	if url, token := ambient[mcpURL], ambient[mcpToken]; url != "" && token != "" {
		all = append(all, schema.MCPServer{Type: "http", Name: "bb", URL: url, Headers: []schema.Variable{{Name: "Authorization", Value: "Bearer " + token}}})
	}
	can := agent.AgentCapabilities.MCPCapabilities
	taken = []schema.MCPServer{}
	for _, s := range all {
		if s.Type == "http" && !can.HTTP || s.Type == "sse" && !can.SSE {
			refused = append(refused, fmt.Sprintf("the agent takes no MCP servers over %s, so it does not get %s", s.Type, s.Name))
			continue
		}
		if s.Type == "stdio" {
			s.Type = ""
		}
		taken = append(taken, s)
	}
	return taken, refused
}
