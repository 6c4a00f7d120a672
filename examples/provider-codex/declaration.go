package codex

import (
	"slices"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

const (
	program    = "codex"
	npmPackage = "@openai/codex"
	installURL = "https://developers.openai.com/codex/cli"
)

// Declaration returns what the provider declares. Which reasoning levels and service tiers a model has comes with the list
// of models.
func Declaration(o Options) protocol.ProviderDeclaration {
	o = o.withDefaults()
	pass := Passthrough()
	for _, name := range o.Passthrough {
		if !slices.Contains(pass, name) {
			pass = append(pass, name)
		}
	}
	return protocol.ProviderDeclaration{
		ID: o.ProviderID, DisplayName: o.DisplayName, Family: "openai", Icon: "robot", Visibility: protocol.VisibleAlways,
		Strings: protocol.ProviderStrings{SignInHint: "Run codex login, or set OPENAI_API_KEY.", ExpiredHint: "Run codex login again.", InstallURL: installURL,
			PlanModeCopy: "Codex makes a plan and asks before it changes anything."},
		Capabilities: protocol.Capabilities{SessionRestore: true, ThreadArchive: true, ThreadRename: true, ThreadGoal: true,
			Fork: protocol.ForkCheckpoint, Steer: protocol.SteerNative, ApprovalEnforcedBy: protocol.EnforcedByRuntime},
		PermissionModes: []protocol.PermissionMode{protocol.ModeAcceptEdits, protocol.ModeAuto, protocol.ModeFull},
		UserQuestions:   true,
		ReasoningLevels: []protocol.Choice{
			{ID: "minimal", Label: "Minimal"}, {ID: "low", Label: "Low"}, {ID: "medium", Label: "Medium"}, {ID: "high", Label: "High"},
			{ID: "xhigh", Label: "Extra high"}, {ID: "max", Label: "Max"}, {ID: "ultra", Label: "Ultra"},
		},
		ServiceTiers: []protocol.Choice{{ID: "priority", Label: "Fast"}, {ID: "flex", Label: "Flex"}},
		Actions:      []protocol.Action{protocol.ActionCompact, protocol.ActionPlan},
		Maintenance:  protocol.Maintenance{Health: true, Usage: true, Installation: true},
		Models:       protocol.ModelSource{Catalog: protocol.CatalogBridge, Scope: protocol.ModelsPerHost},
		Skills: protocol.SkillSupport{Configure: true, Roots: []protocol.SkillScanRoot{
			{Scope: protocol.SkillUser, Path: "$CODEX_HOME/skills", Format: protocol.SkillMD, Recursive: true},
			{Scope: protocol.SkillProject, Path: ".agents/skills", Format: protocol.SkillMD, WalkParents: true, Recursive: true},
		}},
		Env: protocol.EnvAccess{Passthrough: pass},
	}
}
