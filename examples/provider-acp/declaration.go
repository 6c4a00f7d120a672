package acp

import (
	"encoding/json"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// Declaration returns what the provider declares. Steering is left to core, which queues: the protocol knows nothing of
// input during a turn, and agents differ in what they do with it.
func Declaration(o Options) protocol.ProviderDeclaration {
	o = o.withDefaults()
	hint := o.SignInHint
	if hint == "" {
		hint = "Log in with the agent's own program, then try again."
	}
	return protocol.ProviderDeclaration{
		ID: o.ProviderID, DisplayName: o.DisplayName, Icon: "robot", Visibility: protocol.VisibleAlways,
		Strings: protocol.ProviderStrings{SignInHint: hint, ExpiredHint: hint},
		Capabilities: protocol.Capabilities{SessionRestore: !o.NoResume,
			Fork: protocol.ForkNone, Steer: protocol.SteerNone, ApprovalEnforcedBy: protocol.EnforcedByRuntime},
		PermissionModes: []protocol.PermissionMode{protocol.ModeAcceptEdits, protocol.ModeAuto, protocol.ModeFull},
		Maintenance:     protocol.Maintenance{Health: true},
		Models:          protocol.ModelSource{Catalog: protocol.CatalogBridge, Scope: protocol.ModelsPerWorkspace},
		ExtensionKinds: map[string]protocol.ExtensionKind{
			o.PluginID + "/commands": {State: json.RawMessage(`{"type":"object","properties":{"commands":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string"}},"required":["name","description"],"additionalProperties":false}}},"required":["commands"],"additionalProperties":false}`)},
			o.PluginID + "/mode":     {State: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false}`)},
		},
		Env: protocol.EnvAccess{Passthrough: o.Passthrough},
	}
}

// InteractionKind returns the name of the open interaction with which a permission is asked that has several options of
// one kind. Its data is {"toolCall": …, "options": [{"optionId", "name", "kind"}, …]} as the agent sent it, the answer
// {"optionId": …}.
func InteractionKind(o Options) string { return o.withDefaults().PluginID + "/permission" }
