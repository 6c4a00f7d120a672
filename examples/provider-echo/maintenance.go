package echo

import (
	"context"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// The methods without a session. The echo agent is part of its bridge, so all is always well.

const version = "1.0.0"

func models() []protocol.ModelDecl {
	return []protocol.ModelDecl{
		{ID: "echo-small", Label: "Small echo", Description: "Says it once", IsDefault: true},
		{ID: "echo-large", Label: "Large echo", Description: "Says it louder", ReasoningLevels: []string{"low", "high"}, DefaultReasoningLevel: "low", ServiceTiers: []string{"standard"}},
	}
}

func modelList(context.Context, protocol.ProviderParams) (protocol.ModelListResult, error) {
	return protocol.ModelListResult{Models: models()}, nil
}

func health(context.Context, protocol.ProviderParams) (protocol.HealthResult, error) {
	return protocol.HealthResult{Health: protocol.ProviderHealth{Status: protocol.HealthReady, InstalledVersion: protocol.Ptr(version)}}, nil
}

func usage(context.Context, protocol.ProviderParams) (protocol.UsageResult, error) {
	return protocol.UsageResult{Usage: protocol.ProviderUsage{Status: protocol.UsageOK,
		Windows: []protocol.UsageWindow{{Label: "Echoes", UsedPercent: 12.5, Cost: &protocol.WindowCost{UsedUSDCents: 1, LimitUSDCents: 8}}}}}, nil
}

func installationStatus(_ context.Context, p protocol.InstallationStatusParams) (protocol.InstallationStatusResult, error) {
	s := protocol.InstallationStatus{ExecutableName: "echo-bridge", Installed: true, InstallSource: protocol.SourceExternal, CurrentVersion: protocol.Ptr(version)}
	if p.CheckUpdates {
		s.LatestVersion = protocol.Ptr(version)
	}
	return protocol.InstallationStatusResult{Status: s}, nil
}

// installationRun offers a command that only says what it would do.
func installationRun(_ context.Context, p protocol.InstallationRunParams) (protocol.InstallationRunResult, error) {
	if p.Action == protocol.ActionInstall {
		return protocol.InstallationRunResult{Message: "The echo agent is part of its bridge."}, nil
	}
	return protocol.InstallationRunResult{
		Available:    true,
		Command:      &protocol.InstallCommand{Command: "echo", Args: []string{"up to date"}, DisplayCommand: "echo up to date"},
		Verification: &protocol.InstallVerification{Kind: protocol.VerifyVersionAtLeast, Version: version},
	}, nil
}

func skillsDiscover(context.Context, protocol.ProviderParams) (protocol.SkillsDiscoverResult, error) {
	return protocol.SkillsDiscoverResult{Skills: []protocol.DiscoveredSkill{
		{Name: "echoing", Description: "How to say things back", Path: "skills/echoing/SKILL.md", Scope: protocol.SkillUser, Source: "echo"},
	}}, nil
}
