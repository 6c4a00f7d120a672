package acp

import (
	"context"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// Plugin returns the plugin that brings the provider into a kernel. Its id is the one of the options. command is the program
// that serves Bridge with the same options, such as acp-bridge with its flags.
func Plugin(o Options, command []string) *pluginsdk.Plugin {
	o = o.withDefaults()
	program := bridge.Program{Command: command}
	if len(o.Command) > 0 {
		program.Agent = o.Command[0]
	}
	return &pluginsdk.Plugin{
		ID: o.PluginID, Version: "0.1.0", Summary: o.DisplayName + ", over the Agent Client Protocol",
		Providers: []protocol.ProviderDeclaration{Declaration(o)}, InteractionKinds: []string{InteractionKind(o)},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			h.ProvideBridge(o.ProviderID, program)
			return nil
		},
	}
}
