package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/bb-kernel/bb/bridgekit"
	acp "github.com/bb-kernel/bb/examples/provider-acp"
	codex "github.com/bb-kernel/bb/examples/provider-codex"
	echo "github.com/bb-kernel/bb/examples/provider-echo"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/server/internal/program"
)

// The words with which the server runs its own program again as a bridge, so that nothing else has to be installed. They
// are not for people, who write their own bridges.
const (
	echoWord  = "bridge-echo"
	codexWord = "bridge-codex"
	acpWord   = "bridge-acp" // with acp.Options as JSON
)

// serveBridge serves the bridge that a word names, and then ends the process. It returns for every other word.
func serveBridge(word string, args []string) {
	switch {
	case word == echoWord && len(args) == 0:
		serve(echo.Bridge(echo.Options{}))
	case word == codexWord && len(args) == 0:
		serve(codex.Bridge(codex.Options{}))
	case word == acpWord && len(args) == 1:
		var o acp.Options
		if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
			fail(err)
		}
		serve(acp.Bridge(o))
	}
}

func serve[S any](b bridgekit.Bridge[S], err error) {
	if err != nil {
		fail(err)
	}
	bridgekit.Main(b) // ends the process
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(kernelcontract.ExitFailure)
}

// codexPlugin brings Codex, where it is installed.
func codexPlugin(self string) *pluginsdk.Plugin {
	return codex.Plugin(codex.Options{}, []string{self, codexWord})
}

// echoPlugin brings the echo provider.
func echoPlugin(self string) *pluginsdk.Plugin {
	p, err := echo.Plugin(echo.PluginOptions{Command: []string{self, echoWord}})
	if err != nil {
		fail(err) // only a profile can be wrong
	}
	return p
}

// agentPlugin brings an agent that the config file names.
func agentPlugin(self string, a program.Agent) *pluginsdk.Plugin {
	o := acp.Options{ProviderID: a.ID, DisplayName: a.DisplayName, Command: a.Command, Passthrough: a.Env}
	if o.DisplayName == "" {
		o.DisplayName = a.ID
	}
	raw, err := json.Marshal(o)
	if err != nil {
		fail(err) // texts encode
	}
	return acp.Plugin(o, []string{self, acpWord, string(raw)})
}
