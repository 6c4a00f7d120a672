// Codex-bridge serves Codex as a provider, on standard input and output. See package codex.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/bb-kernel/bb/bridgekit"
	codex "github.com/bb-kernel/bb/examples/provider-codex"
)

const usage = `codex-bridge serves Codex as a provider. It starts codex app-server, one process a session, and speaks the bridge protocol
on standard input and output: start it from a server, or grade it with bb-conformance bridge -- codex-bridge.

Usage: codex-bridge [flags] [-- CODEX [ARGUMENTS…]]

  codex-bridge
  codex-bridge --home /srv/codex -- /opt/codex/bin/codex
  codex-bridge --env AZURE_OPENAI_API_KEY -- codex -c model_provider=azure

Install Codex with npm install -g @openai/codex, and log in with codex login or OPENAI_API_KEY.
Core may set the bridge options command, codexHome, env, and config, an object of overrides of config.toml.

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
	var o codex.Options
	var pass, set list
	flags := flag.NewFlagSet("codex-bridge", flag.ContinueOnError)
	flags.StringVar(&o.ProviderID, "id", "codex", "the `id` of the provider")
	flags.StringVar(&o.DisplayName, "name", "Codex", "the `name` that people see")
	flags.StringVar(&o.Home, "home", "", "the `directory` of Codex's configuration and sessions, CODEX_HOME (default: Codex's own choice)")
	flags.Var(&pass, "env", "the `name` of a variable of this environment that Codex gets, beside "+strings.Join(codex.Passthrough(), ", ")+"; may be repeated")
	flags.Var(&set, "set", "a variable for Codex, `NAME=value`; may be repeated")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	o.Command, o.Passthrough, o.Env = flags.Args(), pass, map[string]string{}
	for _, v := range set {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			fmt.Fprintln(os.Stderr, "codex-bridge: --set: write NAME=value")
			return 2
		}
		o.Env[name] = value
	}
	bridge, err := codex.Bridge(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "codex-bridge:", err)
		return 2
	}
	bridgekit.Main(bridge) // ends the process
	return 0
}
