package codex

import (
	"context"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// Plugin returns the plugin that brings the provider into a kernel. Its id is the provider's. command is the program that
// serves Bridge with the same options, such as codex-bridge with its flags. The provider is listed where Codex is installed.
func Plugin(o Options, command []string) *pluginsdk.Plugin {
	d := Declaration(o)
	d.Visibility = protocol.VisibleInstalled
	agent := "codex"
	if len(o.Command) > 0 {
		agent = o.Command[0]
	}
	return &pluginsdk.Plugin{
		ID: d.ID, Version: "0.1.0", Summary: d.DisplayName + ", through its app-server",
		Providers: []protocol.ProviderDeclaration{d},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			h.ProvideBridge(d.ID, bridge.Program{Command: command, Agent: agent})
			return nil
		},
	}
}
