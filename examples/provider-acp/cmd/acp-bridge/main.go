// Acp-bridge serves any agent that speaks the Agent Client Protocol as a provider, on standard input and output. See
// package acp.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bb-kernel/bb/bridgekit"
	acp "github.com/bb-kernel/bb/examples/provider-acp"
)

const usage = `acp-bridge serves any agent that speaks the Agent Client Protocol as a provider. It starts the agent whose command
line it is given, one process a session, and speaks the bridge protocol on standard input and output: start it from a
server, or grade it with bb-conformance bridge -- acp-bridge -- AGENT.

Usage: acp-bridge [flags] -- AGENT [ARGUMENTS…]

  acp-bridge --id opencode --name OpenCode -- opencode acp
  acp-bridge --id gemini --env GEMINI_API_KEY -- gemini --acp
  acp-bridge --set OPENCODE_CONFIG=/etc/opencode.json -- opencode acp

Without an agent, core names it in the bridge option command. Other bridge options: env, mcpServers, modes, authMethod.

Flags:
`

func main() { os.Exit(run(os.Args[1:])) }

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func run(args []string) int {
	var o acp.Options
	var pass, set list
	flags := flag.NewFlagSet("acp-bridge", flag.ContinueOnError)
	flags.StringVar(&o.ProviderID, "id", "acp", "the `id` of the provider")
	flags.StringVar(&o.DisplayName, "name", "ACP agent", "the `name` that people see")
	flags.StringVar(&o.PluginID, "plugin", "", "the `id` of the plugin, in front of extension kinds (default: that of the provider)")
	flags.StringVar(&o.SignInHint, "sign-in", "", "a `hint` how to log in (default: what the agent says)")
	flags.BoolVar(&o.NoResume, "no-resume", false, "declare that the agent cannot load sessions")
	flags.Var(&pass, "env", "the `name` of a variable of this environment that the agent gets, such as its API key; may be repeated")
	flags.Var(&set, "set", "a variable for the agent, `NAME=value`; may be repeated")
	flags.Usage = func() { // the parser calls it too
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.SetOutput(io.Discard)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(os.Stdout)
		flags.Usage()
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "acp-bridge: %v; see acp-bridge --help\n", err)
		return 2
	}
	o.Command, o.Passthrough, o.Env = flags.Args(), pass, map[string]string{}
	for _, v := range set {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			fmt.Fprintf(os.Stderr, "acp-bridge: --set %s: write NAME=value\n", v)
			return 2
		}
		o.Env[name] = value
	}
	bridge, err := acp.Bridge(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "acp-bridge:", err)
		return 2
	}
	bridgekit.Main(bridge) // ends the process
	return 0
}
