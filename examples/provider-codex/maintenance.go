package codex

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-codex/internal/schema"
)

const (
	// versionTimeout is for a program that says its version; it reads no network.
	versionTimeout = 5 * time.Second
	// registryTimeout is for npm to ask its registry, within the time that core gives a request.
	registryTimeout = 15 * time.Second
	// maxPages is how many pages of models are read.
	maxPages = 20
)

// probe starts an app-server without a thread, asks it something and ends it.
func (p *provider) probe(ctx context.Context, params protocol.ProviderParams, ask func(*server) error) error {
	c, err := p.configure(params.BridgeOptions)
	if err != nil {
		return err
	}
	a, err := p.launch(ctx, launch{command: c.command, dir: params.Cwd, env: p.environ(c, nil), providerID: params.ProviderID,
		request: func(ctx context.Context, r *wire.Request) {
			go r.Fail(&wire.Error{Code: schema.CodeMethodNotFound, Message: "this client has no method " + r.Method}) // ends with the app-server
		},
		log: func(text string) { bridgekit.ContextOf(ctx).Log(protocol.LogDebug, text, nil) }})
	if err != nil {
		return err
	}
	defer a.end()
	return ask(a)
}

// models lists the models that Codex offers, with their reasoning levels.
func (p *provider) models(ctx context.Context, params protocol.ProviderParams) (protocol.ModelListResult, error) {
	result := protocol.ModelListResult{Models: []protocol.ModelDecl{}}
	err := p.probe(ctx, params, func(a *server) error {
		seen := map[string]bool{}
		query := map[string]any{}
		for range maxPages {
			var page schema.ModelsResult
			if err := a.call(ctx, schema.ModelList, query, &page); err != nil {
				return err
			}
			for _, m := range page.Data {
				if m.Hidden || m.Model == "" || seen[m.Model] {
					continue
				}
				seen[m.Model] = true
				result.Models = append(result.Models, model(m))
			}
			if page.NextCursor == nil {
				return nil
			}
			query["cursor"] = *page.NextCursor
		}
		return nil
	})
	return result, err
}

func model(m schema.Model) protocol.ModelDecl {
	d := protocol.ModelDecl{ID: valid(m.Model), Label: valid(m.DisplayName), Description: valid(m.Description), DefaultReasoningLevel: valid(m.DefaultEffort), IsDefault: m.IsDefault,
		ReasoningLevels: []string{}, ServiceTiers: []string{}}
	if d.Label == "" {
		d.Label = d.ID
	}
	for _, e := range m.Efforts {
		d.ReasoningLevels = append(d.ReasoningLevels, valid(e.Effort))
	}
	for _, t := range m.Tiers {
		d.ServiceTiers = append(d.ServiceTiers, valid(t.ID))
	}
	return d
}

// health tells whether Codex is there and somebody is logged in.
func (p *provider) health(ctx context.Context, params protocol.ProviderParams) (protocol.HealthResult, error) {
	h := protocol.ProviderHealth{Status: protocol.HealthReady, CanInstall: true, CanUpdate: true}
	err := p.probe(ctx, params, func(a *server) error {
		h.InstalledVersion = optional(a.version())
		var account schema.AccountResult
		if err := a.call(ctx, schema.AccountRead, map[string]bool{"refreshToken": false}, &account); err != nil {
			return err
		}
		switch {
		case account.Account != nil:
			h.AccountEmail, h.PlanLabel = account.Account.Email, account.Account.Plan
		case account.RequiresAuth:
			h.Status, h.LoginCommand = protocol.HealthUnauthenticated, protocol.Ptr("codex login")
		}
		return nil
	})
	switch {
	case err == nil:
	case errors.Is(err, protocol.MissingExecutable):
		h.Status, h.CanUpdate = protocol.HealthNotInstalled, false
	case ctx.Err() != nil || errors.Is(err, protocol.BridgeError):
		return protocol.HealthResult{}, err
	default:
		h.Status, h.StatusMessage = protocol.HealthUnknown, protocol.Ptr(cut(hideKeys(err.Error()), maxDetail))
	}
	return protocol.HealthResult{Health: h}, nil
}

// usage tells how much of the account's quota is used.
func (p *provider) usage(ctx context.Context, params protocol.ProviderParams) (protocol.UsageResult, error) {
	u := protocol.ProviderUsage{Status: protocol.UsageOK, Windows: []protocol.UsageWindow{}}
	err := p.probe(ctx, params, func(a *server) error {
		var account schema.AccountResult
		if err := a.call(ctx, schema.AccountRead, map[string]bool{"refreshToken": false}, &account); err != nil {
			return err
		}
		if account.Account == nil {
			if account.RequiresAuth {
				u = protocol.ProviderUsage{Status: protocol.UsageUnauthenticated}
			}
			return nil // a model provider of the user's own has no quota here
		}
		var limits schema.LimitsResult
		if err := a.call(ctx, schema.AccountLimits, nil, &limits); err != nil {
			return err
		}
		u.AccountEmail, u.PlanLabel = account.Account.Email, account.Account.Plan
		for key, w := range map[string]*schema.LimitWindow{"primary": limits.RateLimits.Primary, "secondary": limits.RateLimits.Secondary} {
			if w == nil {
				continue
			}
			one := protocol.UsageWindow{Label: windowLabel(key, w), UsedPercent: w.UsedPercent}
			if w.ResetsAt != nil {
				one.ResetsAt = protocol.Ptr(time.Unix(*w.ResetsAt, 0).UTC().Format(time.RFC3339))
			}
			u.Windows = append(u.Windows, one)
		}
		return nil
	})
	var answer *wire.Error
	switch {
	case err == nil:
	case errors.Is(err, protocol.MissingExecutable):
		u = protocol.ProviderUsage{Status: protocol.UsageNotInstalled}
	case errors.As(err, &answer):
		u = protocol.ProviderUsage{Status: protocol.UsageError, Message: answer.Message}
	default:
		return protocol.UsageResult{}, err
	}
	return protocol.UsageResult{Usage: u}, nil
}

// installation tells how Codex is installed.
func (p *provider) installation(ctx context.Context, params protocol.InstallationStatusParams) (protocol.InstallationStatusResult, error) {
	c, err := p.configure(params.BridgeOptions)
	if err != nil {
		return protocol.InstallationStatusResult{}, err
	}
	st := protocol.InstallationStatus{ExecutableName: filepath.Base(c.command[0]), InstallSource: protocol.SourceNotInstalled, NpmPackageName: protocol.Ptr(npmPackage),
		InstallAction: action(protocol.ActionInstall)}
	path, err := exec.LookPath(c.command[0])
	if err != nil {
		return protocol.InstallationStatusResult{Status: st}, nil
	}
	st.Installed, st.ExecutablePath, st.InstallSource, st.InstallAction = true, &path, protocol.SourceExternal, nil
	said, err := p.output(ctx, c, params.Cwd, versionTimeout, append(append([]string{}, c.command...), "--version")...)
	if err == nil {
		_, version, _ := strings.Cut(said, " ") // codex-cli 0.171.0
		st.CurrentVersion = optional(version)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && strings.Contains(filepath.ToSlash(real), "/node_modules/"+npmPackage) {
		st.InstallSource, st.NpmGlobalPackageVersion = protocol.SourceNpmGlobal, st.CurrentVersion
	}
	if params.CheckUpdates {
		if latest, err := p.output(ctx, c, params.Cwd, registryTimeout, "npm", "view", npmPackage, "version"); err == nil {
			st.LatestVersion = optional(latest)
		}
		if st.LatestVersion != nil && st.CurrentVersion != nil && *st.LatestVersion != *st.CurrentVersion {
			st.NeedsUpdate = true
			if st.InstallSource == protocol.SourceNpmGlobal {
				st.InstallAction = action(protocol.ActionUpdate)
			}
		}
	}
	return protocol.InstallationStatusResult{Status: st}, nil
}

func action(kind protocol.InstallAction) *protocol.InstallActionInfo {
	label := "Install"
	if kind == protocol.ActionUpdate {
		label = "Update"
	}
	return &protocol.InstallActionInfo{Kind: kind, Label: label, Command: installLine}
}

const installLine = "npm install -g " + npmPackage + "@latest"

// install gives the command that installs or updates Codex.
func (p *provider) install(ctx context.Context, params protocol.InstallationRunParams) (protocol.InstallationRunResult, error) {
	status, err := p.installation(ctx, protocol.InstallationStatusParams{ProviderParams: params.ProviderParams})
	if err != nil {
		return protocol.InstallationRunResult{}, err
	}
	st := status.Status
	unavailable := func(why string) (protocol.InstallationRunResult, error) {
		return protocol.InstallationRunResult{Message: why}, nil
	}
	switch {
	case st.Installed && st.InstallSource != protocol.SourceNpmGlobal:
		return unavailable("Codex was not installed with npm: update it as it was installed, see " + installURL)
	case params.Action == protocol.ActionUpdate && !st.Installed:
		return unavailable("Codex is not installed: install it first")
	}
	verification := &protocol.InstallVerification{Kind: protocol.VerifyInstalled}
	if params.Action == protocol.ActionUpdate && st.CurrentVersion != nil {
		verification = &protocol.InstallVerification{Kind: protocol.VerifyVersionChanged, PreviousVersion: *st.CurrentVersion}
	}
	return protocol.InstallationRunResult{Available: true, Verification: verification,
		Command: &protocol.InstallCommand{Command: "npm", Args: strings.Fields(installLine)[1:], DisplayCommand: installLine}}, nil
}

// output is what a program prints on one line.
func (p *provider) output(ctx context.Context, c config, dir string, timeout time.Duration, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	child, err := process.Start(ctx, process.Options{Command: command, Dir: dir, Env: p.environ(c, nil)})
	if err != nil {
		return "", err
	}
	defer child.Stop(ctx, 0)
	lines := wire.NewLineReader(child.Stdout, maxDetail)
	stop := context.AfterFunc(ctx, child.Kill)
	defer stop()
	line, err := lines.Next()
	return strings.TrimSpace(valid(string(line))), err
}
