package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// provider returns a provider of the current composition.
func (p *Pool) provider(id string) (kernelcore.Provider, error) {
	all := p.kernel.Providers()
	for _, one := range all {
		if one.Declaration.ID == id {
			return one, nil
		}
	}
	return kernelcore.Provider{}, kernelcontract.NotFound.Errorf("there is no provider %q: its plugin is not installed or disabled; `bb provider list` shows those that there are", id)
}

// Provider returns the declaration of a provider of the current composition.
func (p *Pool) Provider(id string) (protocol.ProviderDeclaration, error) {
	one, err := p.provider(id)
	return one.Declaration, err
}

// Bridge returns the process for the sessions of a provider, and starts it when there is none: once for all who ask
// meanwhile, and after failures as late as the backoff says. The error is a *kernelcontract.Error that says what to do.
func (p *Pool) Bridge(ctx context.Context, providerID string) (*Bridge, error) {
	s, err := p.slot(providerID)
	if err != nil {
		return nil, err
	}
	return s.sessions.get(ctx)
}

// DeriveOptions asks the plugin of a provider for the options of what is about to happen.
func (p *Pool) DeriveOptions(ctx context.Context, r bridge.OptionsRequest) (protocol.JSONObject, error) {
	one, err := p.provider(r.ProviderID)
	if err != nil {
		return nil, err
	}
	return one.Program.Hooks.Derive(ctx, r)
}

// Report notes what a person has to do before a provider works again. It is shown until the provider is healthy or is
// restarted.
func (p *Pool) Report(providerID string, hint protocol.RecoveryHint, message string) {
	s, err := p.slot(providerID)
	if err != nil {
		return
	}
	text := message
	if one, err := p.provider(providerID); err == nil {
		switch hint {
		case protocol.RecoverReauthenticate:
			text = message + ": " + one.Declaration.Strings.ExpiredHint
		case protocol.RecoverReinstall:
			text = message + ": " + installHint(one.Declaration)
		}
	}
	s.mu.Lock()
	s.problem = text
	s.mu.Unlock()
}

// List returns the providers in composition order; those whose agent is not installed only with all, unless they are to
// be shown always.
func (p *Pool) List(ctx context.Context, all bool) []threadapi.Provider {
	out := []threadapi.Provider{}
	for _, one := range p.kernel.Providers() {
		shown := p.describe(ctx, one)
		if all || one.Declaration.Visibility == protocol.VisibleAlways || shown.Installed == nil || *shown.Installed {
			out = append(out, shown)
		}
	}
	return out
}

// Get returns a provider.
func (p *Pool) Get(ctx context.Context, id string) (threadapi.Provider, error) {
	one, err := p.provider(id)
	if err != nil {
		return threadapi.Provider{}, err
	}
	return p.describe(ctx, one), nil
}

// describe says how a provider stands.
func (p *Pool) describe(ctx context.Context, one kernelcore.Provider) threadapi.Provider {
	d := one.Declaration
	out := threadapi.Provider{
		ID: d.ID, DisplayName: d.DisplayName, PluginID: one.PluginID, Icon: d.Icon, State: threadapi.ProviderStopped,
		PermissionModes: []threadapi.Mode{}, Actions: []threadapi.Action{}, Capabilities: capabilities(d.Capabilities),
	}
	for _, m := range d.PermissionModes {
		out.PermissionModes = append(out.PermissionModes, threadapi.Mode(m))
	}
	for _, a := range d.Actions {
		out.Actions = append(out.Actions, threadapi.Action(a))
	}
	s, err := p.slot(d.ID)
	if err != nil {
		return out
	}
	b, waits, last, starts := s.sessions.state(time.Now())
	out.Restarts = max(starts-1, 0)
	switch {
	case b != nil:
		out.State, out.Threads, out.Capabilities = threadapi.ProviderRunning, b.liveThreads(), capabilities(b.Capabilities())
	case waits:
		out.State = threadapi.ProviderBackoff
	case last != nil:
		out.State = threadapi.ProviderDegraded
	}
	if b == nil && last != nil {
		out.Problem = kernelcontract.AsError(s.sessions.unavailable(one, last)).Message
	}
	s.mu.Lock()
	if s.problem != "" {
		out.Problem = s.problem
		if out.State == threadapi.ProviderStopped {
			out.State = threadapi.ProviderDegraded
		}
	}
	s.mu.Unlock()
	out.Installed = p.isInstalled(ctx, s, one)
	return out
}

func capabilities(c protocol.Capabilities) threadapi.Capabilities {
	return threadapi.Capabilities{
		SessionRestore: c.SessionRestore, ThreadArchive: c.ThreadArchive, ThreadRename: c.ThreadRename, ThreadGoal: c.ThreadGoal,
		Fork: string(c.Fork), ApprovalEnforcedBy: string(c.ApprovalEnforcedBy), Steer: string(c.Steer),
	}
}

// ask calls a method of the process for questions, in the provider's name.
func ask[T any](ctx context.Context, p *Pool, id, cwd string, call func(*Bridge, protocol.ProviderParams) (T, error)) (T, error) {
	var none T
	s, err := p.slot(id)
	if err != nil {
		return none, err
	}
	b, err := s.maintenance.get(ctx)
	if err != nil {
		return none, err
	}
	if cwd == "" {
		cwd = b.scratch
	}
	var out T
	b.during(func() {
		out, err = call(b, protocol.ProviderParams{ProviderID: id, Cwd: cwd, BridgeOptions: options(b)})
	})
	if err != nil {
		return none, answerError(ctx, b, err)
	}
	return out, nil
}

// options are the bridgeOptions of a bridge, never nil.
func options(b *Bridge) protocol.JSONObject {
	if b.Options == nil {
		return protocol.JSONObject{}
	}
	return b.Options
}

// answerError is what a caller gets for an error of a bridge.
func answerError(ctx context.Context, b *Bridge, err error) error {
	var wrong *protocol.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, protocol.CapabilityNotAdvertised), errors.Is(err, protocol.MethodNotFound):
		return threadapi.Unsupported.Errorf("the provider %s does not offer this", b.ProviderID)
	case errors.As(err, &wrong):
		return threadapi.ProviderUnavailable.Errorf("%s: %s", b.Declaration.DisplayName, wrong.Message)
	case errors.Is(err, host.ErrExited), errors.Is(err, host.ErrStopping):
		return threadapi.ProviderUnavailable.Errorf("%s: its bridge ended before it answered; try again", b.Declaration.DisplayName)
	}
	return threadapi.ProviderUnavailable.Errorf("%s: %s", b.Declaration.DisplayName, err)
}

// unsupported refuses what a provider does not declare.
func unsupported(declared bool, id, what string) error {
	if declared {
		return nil
	}
	return threadapi.Unsupported.Errorf("the provider %s does not tell its %s", id, what)
}

// Health asks how a provider's agent is. Good health clears what Report noted.
func (p *Pool) Health(ctx context.Context, id string) (threadapi.Health, error) {
	one, err := p.provider(id)
	if err == nil {
		err = unsupported(one.Declaration.Maintenance.Health, id, "health")
	}
	if err != nil {
		return threadapi.Health{}, err
	}
	answer, err := ask(ctx, p, id, "", func(b *Bridge, q protocol.ProviderParams) (protocol.HealthResult, error) { return b.Health(ctx, q) })
	if err != nil {
		return threadapi.Health{}, err
	}
	h := answer.Health
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	out := threadapi.Health{
		Status: string(h.Status), Message: text(h.StatusMessage), AccountEmail: text(h.AccountEmail), Plan: text(h.PlanLabel),
		InstalledVersion: text(h.InstalledVersion), MinimumVersion: text(h.MinimumSupportedVersion), CanInstall: h.CanInstall, CanUpdate: h.CanUpdate,
		LoginCommand: text(h.LoginCommand),
	}
	switch h.Status {
	case protocol.HealthNotInstalled:
		out.Hint = installHint(one.Declaration)
	case protocol.HealthUnauthenticated:
		out.Hint = one.Declaration.Strings.SignInHint
	case protocol.HealthExpired:
		out.Hint = one.Declaration.Strings.ExpiredHint
	case protocol.HealthUnsupportedVersion:
		out.Hint = fmt.Sprintf("run `bb provider install %s --action update`", id)
	case protocol.HealthReady:
		if s, err := p.slot(id); err == nil {
			s.mu.Lock()
			s.problem = ""
			s.mu.Unlock()
		}
	}
	return out, nil
}

// Usage asks how much of a provider's quota is used.
func (p *Pool) Usage(ctx context.Context, id string) (json.RawMessage, error) {
	one, err := p.provider(id)
	if err == nil {
		err = unsupported(one.Declaration.Maintenance.Usage, id, "usage")
	}
	if err != nil {
		return nil, err
	}
	answer, err := ask(ctx, p, id, "", func(b *Bridge, q protocol.ProviderParams) (protocol.UsageResult, error) { return b.Usage(ctx, q) })
	if err != nil {
		return nil, err
	}
	return protocol.Marshal(answer.Usage)
}

// Restart ends the processes of a provider and forgets what was wrong with them: the next use starts fresh ones.
func (p *Pool) Restart(ctx context.Context, id string) (threadapi.Provider, error) {
	one, err := p.provider(id)
	if err != nil {
		return threadapi.Provider{}, err
	}
	s, err := p.slot(id)
	if err != nil {
		return threadapi.Provider{}, err
	}
	s.sessions.restart(ctx)
	s.maintenance.restart(ctx)
	s.models.clear()
	s.installed.clear()
	s.mu.Lock()
	s.problem = ""
	s.mu.Unlock()
	return p.describe(ctx, one), ctx.Err()
}

// Models returns the models of a provider: those that its plugin says, else those that its bridge said within the last ten
// minutes or says now, else those of the declaration.
func (p *Pool) Models(ctx context.Context, in threadapi.ModelsInput) ([]threadapi.Model, error) {
	one, err := p.provider(in.ID)
	if err != nil {
		return nil, err
	}
	d := one.Declaration
	list, err := one.Program.Hooks.Models(ctx, bridge.ModelsRequest{ProviderID: in.ID, Cwd: in.Cwd})
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		p.log.Warn("a plugin does not say its models; the bridge is asked", "provider", in.ID, "error", err)
	}
	if list == nil && d.Models.Catalog == protocol.CatalogBridge {
		if list, err = p.askModels(ctx, d, in); err != nil && len(d.Models.Fallback) == 0 {
			return nil, err
		}
	}
	if list == nil {
		list = d.Models.Fallback
	}
	out := []threadapi.Model{}
	for _, m := range list {
		out = append(out, threadapi.Model{
			ID: m.ID, Label: m.Label, Description: m.Description, ReasoningLevels: slices.Clone(m.ReasoningLevels), DefaultReasoningLevel: m.DefaultReasoningLevel,
			ServiceTiers: slices.Clone(m.ServiceTiers), IsDefault: m.IsDefault,
		})
	}
	return out, nil
}

// askModels returns what the bridge says, or said a short while ago.
func (p *Pool) askModels(ctx context.Context, d protocol.ProviderDeclaration, in threadapi.ModelsInput) ([]protocol.ModelDecl, error) {
	s, err := p.slot(d.ID)
	if err != nil {
		return nil, err
	}
	cwd := in.Cwd
	if d.Models.Scope == protocol.ModelsPerHost {
		cwd = ""
	}
	if list, ok := s.models.get(cwd, time.Now()); ok && !in.Refresh {
		return list, nil
	}
	answer, err := ask(ctx, p, d.ID, cwd, func(b *Bridge, q protocol.ProviderParams) (protocol.ModelListResult, error) {
		return b.ModelList(ctx, q)
	})
	if err != nil {
		return nil, err
	}
	s.models.put(cwd, answer.Models, time.Now())
	return answer.Models, nil
}
