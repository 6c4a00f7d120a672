package echo

import (
	"context"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// PluginOptions configures Plugin.
type PluginOptions struct {
	Command []string // the program that serves Bridge, with its arguments; cmd/echo-bridge is one
	Profile Profile  // the one that the program serves; "" is Full
}

// Plugin returns the plugin that brings the echo provider into a kernel. The error names an unknown profile.
func Plugin(o PluginOptions) (*pluginsdk.Plugin, error) {
	if o.Profile == "" {
		o.Profile = Full
	}
	d, err := Declaration(o.Profile)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.Plugin{
		ID: "echo", Version: "0.1.0", Summary: "An agent without a model, to try bb with",
		Providers: []protocol.ProviderDeclaration{d}, InteractionKinds: []string{formKind},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			program := bridge.Program{Command: o.Command}
			if len(o.Command) > 0 {
				program.Agent = o.Command[0] // the agent is a part of its bridge
			}
			h.ProvideBridge(d.ID, program)
			return nil
		},
	}, nil
}
