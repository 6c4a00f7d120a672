package codex

import (
	"encoding/json"
	"maps"
	"os"
	"slices"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/examples/provider-codex/internal/schema"
)

// The ambient variables with which core offers its tools to agents that take MCP servers.
const (
	mcpURL   = "BB_MCP_URL"
	mcpToken = "BB_MCP_TOKEN"
)

// config is what the options of the bridge say, those of the provider included.
type config struct {
	command []string
	env     map[string]string
	codex   map[string]any // overrides of Codex's configuration, by dotted name
}

// configure reads the bridge options of a request.
func (p *provider) configure(options protocol.JSONObject) (config, error) {
	c := config{command: p.o.Command, env: maps.Clone(p.o.Env)}
	if c.env == nil {
		c.env = map[string]string{}
	}
	var env map[string]string
	home := p.o.Home
	for _, option := range []struct {
		name string
		into any
		form string
	}{
		{"command", &c.command, `a list of words, such as ["/opt/codex/bin/codex"]`},
		{"codexHome", &home, "the path of a directory"},
		{"env", &env, "an object of texts"},
		{"config", &c.codex, `an object of overrides of config.toml by dotted name, such as {"model_provider": "azure"}`},
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
		c.command = p.o.Command
	}
	maps.Copy(c.env, env)
	if home != "" {
		c.env["CODEX_HOME"] = home
	}
	return c, nil
}

// environ returns the environment of Codex. With it come the ambient variables of core, for its shells, and the credential
// for core's tools, which Codex takes from there.
func (p *provider) environ(c config, ambient map[string]string) []string {
	pass := Declaration(p.o).Env.Passthrough
	environ := bridgekit.ChildEnv(os.Environ(), pass, ambient)
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		environ = append(environ, name+"="+c.env[name]) // of two, the last one counts
	}
	return environ
}

// thread fills in what a thread is made with.
func (c config) thread(which schema.ThreadParams, method string, p protocol.SessionParams, tools *toolNames) schema.ThreadParams {
	o := p.Options
	which.Model, which.ServiceTier, which.Cwd = o.Model, o.ServiceTier, p.Cwd
	which.ApprovalPolicy, which.Sandbox = permission(o.Permission)
	which.Config = maps.Clone(c.codex)
	if which.Config == nil {
		which.Config = map[string]any{}
	}
	if o.ReasoningLevel != "" {
		which.Config["model_reasoning_effort"] = o.ReasoningLevel
	}
	if url, token := p.Env[mcpURL], p.Env[mcpToken]; url != "" && token != "" {
		which.Config["mcp_servers.bb.url"] = url
		which.Config["mcp_servers.bb.bearer_token_env_var"] = mcpToken
	}
	switch {
	case o.Instructions == "":
	case p.InstructionMode == protocol.InstructionsReplace:
		which.BaseInstructions = o.Instructions
	default:
		which.DeveloperInstructions = o.Instructions
	}
	if method == schema.ThreadStart {
		which.DynamicTools = tools.declare(p.Tools)
	} else {
		which.ExcludeTurns = true // core has them
		tools.declare(p.Tools)    // Codex keeps them with the thread
	}
	return which
}

// permission is a policy as Codex's approval policy and sandbox. Core decides about what is asked: with accept-edits Codex
// asks for every change and for every command that is not known to only read; with auto it works inside its sandbox and asks
// to leave it.
func permission(p protocol.PermissionPolicy) (approval, sandbox string) {
	switch p.Mode {
	case protocol.ModeFull:
		return "never", "danger-full-access"
	case protocol.ModeAuto:
		return "on-request", "workspace-write"
	}
	return "untrusted", "workspace-write"
}

// sandboxPolicy is the sandbox of a turn, with the roots that may be written.
func sandboxPolicy(p protocol.PermissionPolicy, w protocol.Workspace) *schema.SandboxPolicy {
	if p.Mode == protocol.ModeFull {
		return &schema.SandboxPolicy{Type: "dangerFullAccess"}
	}
	return &schema.SandboxPolicy{Type: "workspaceWrite", WritableRoots: w.WriteRoots}
}
