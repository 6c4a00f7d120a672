package echo

import (
	"encoding/json"
	"fmt"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// Profile is how much the provider can do.
type Profile string

// The profiles. Between them every capability has each of its values.
const (
	Full  Profile = "full"  // everything: restores, forks at checkpoints, steers natively
	Queue Profile = "queue" // forks at the tip, queues what steers, decides about approvals itself
	Bare  Profile = "bare"  // only what every bridge can do
)

// Profiles returns all profiles, the widest first.
func Profiles() []Profile { return []Profile{Full, Queue, Bare} }

// The extension kinds that the provider declares, and the kind of its open interaction.
const (
	cardKind = "echo/card" // an item
	moodKind = "echo/mood" // a state
	formKind = "echo/form" // an interaction
)

// Declaration returns what the provider declares under a profile.
func Declaration(p Profile) (protocol.ProviderDeclaration, error) {
	d := protocol.ProviderDeclaration{
		ID: "echo", DisplayName: "Echo", Icon: "megaphone", Visibility: protocol.VisibleAlways,
		Strings: protocol.ProviderStrings{SignInHint: "Echo needs no account.", ExpiredHint: "Echo never expires."},
		Capabilities: protocol.Capabilities{
			Fork: protocol.ForkNone, ApprovalEnforcedBy: protocol.EnforcedByRuntime, Steer: protocol.SteerNone},
		PermissionModes: []protocol.PermissionMode{protocol.ModeAcceptEdits, protocol.ModeAuto, protocol.ModeFull},
		UserQuestions:   true,
		Models:          protocol.ModelSource{Catalog: protocol.CatalogStatic, Fallback: models(), Scope: protocol.ModelsPerHost},
		ExtensionKinds: map[string]protocol.ExtensionKind{
			cardKind: {Item: json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"],"additionalProperties":false}`)},
			moodKind: {State: json.RawMessage(`{"type":"object","properties":{"mood":{"type":"string"}},"required":["mood"],"additionalProperties":false}`)},
		},
	}
	switch p {
	case Bare:
		return d, nil
	case Queue:
		d.Capabilities.SessionRestore = true
		d.Capabilities.Fork, d.Capabilities.Steer = protocol.ForkTip, protocol.SteerQueue
		d.Capabilities.ApprovalEnforcedBy = protocol.EnforcedByProvider
		return d, nil
	case Full:
		d.Capabilities = protocol.Capabilities{SessionRestore: true, ThreadArchive: true, ThreadRename: true, ThreadGoal: true,
			Fork: protocol.ForkCheckpoint, ApprovalEnforcedBy: protocol.EnforcedByRuntime, Steer: protocol.SteerNative}
		d.ReasoningLevels = []protocol.Choice{{ID: "low", Label: "Low"}, {ID: "high", Label: "High"}}
		d.ServiceTiers = []protocol.Choice{{ID: "standard", Label: "Standard"}}
		d.Actions = []protocol.Action{protocol.ActionCompact, protocol.ActionPlan, protocol.ActionGoal}
		d.Maintenance = protocol.Maintenance{Health: true, Usage: true, Installation: true}
		d.Models.Catalog = protocol.CatalogBridge
		d.Skills = protocol.SkillSupport{Configure: true, Discover: true}
		return d, nil
	}
	return d, fmt.Errorf("echo: there is no profile %q: take one of %v", p, Profiles())
}
