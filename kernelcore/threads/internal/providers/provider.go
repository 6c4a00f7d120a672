package providers

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcontract/word"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// provider finds a provider in the current composition. The error is kernelcontract.NotFound.
func (p *Pool) provider(id string) (kernelcore.Provider, error) {
	all := p.kernel.Providers()
	ids := make([]string, len(all))
	for i, one := range all {
		if ids[i] = one.Declaration.ID; ids[i] == id {
			return one, nil
		}
	}
	if near := word.Nearest(id, ids); len(near) > 0 {
		return kernelcore.Provider{}, kernelcontract.NotFound.Errorf("there is no provider %q; did you mean %s?", id, near[0])
	}
	return kernelcore.Provider{}, kernelcontract.NotFound.Errorf(
		"there is no provider %q: `bb provider list --all` shows those that there are, `bb plugin list` whether its plugin is disabled, removed or failed", id)
}

// needed finds the provider of a thread, which had it once. The error is threadapi.ProviderUnavailable.
func (p *Pool) needed(id string) (kernelcore.Provider, error) {
	one, err := p.provider(id)
	if err != nil {
		return one, threadapi.ProviderUnavailable.Errorf("%s", kernelcontract.AsError(err).Message)
	}
	return one, nil
}

// Provider returns the declaration of a provider. The error is kernelcontract.NotFound when no plugin that is ready brings
// it.
func (p *Pool) Provider(id string) (protocol.ProviderDeclaration, error) {
	one, err := p.provider(id)
	return one.Declaration, err
}

// Bridge returns the running process for the sessions of a provider, and starts one when there is none. The error is
// threadapi.ProviderUnavailable and says what to do, kernelcontract.BridgeEnvFailed or BridgeEnvReserved, or ctx's. After
// failures it waits as the backoff says, or until ctx ends.
func (p *Pool) Bridge(ctx context.Context, providerID string) (*Bridge, error) {
	s, err := p.slot(providerID)
	if err != nil {
		return nil, err
	}
	return s.sessions.get(ctx)
}

// DeriveOptions asks the provider's plugin for the options of what is about to happen. The error is
// kernelcontract.ProviderOptionsFailed, threadapi.ProviderUnavailable or ctx's.
func (p *Pool) DeriveOptions(ctx context.Context, r bridge.OptionsRequest) (protocol.JSONObject, error) {
	one, err := p.needed(r.ProviderID)
	if err != nil {
		return nil, err
	}
	return one.Program.Hooks.Derive(ctx, r)
}

// List returns the providers in composition order: with all also those whose agent is not installed and whose declaration
// hides them then.
func (p *Pool) List(ctx context.Context, all bool) []threadapi.Provider {
	list := []threadapi.Provider{}
	for _, one := range p.kernel.Providers() {
		shown := p.describe(ctx, one)
		if !all && one.Declaration.Visibility == protocol.VisibleInstalled && shown.Installed != nil && !*shown.Installed {
			continue
		}
		list = append(list, shown)
	}
	return list
}

// Get returns a provider; the error is kernelcontract.NotFound.
func (p *Pool) Get(ctx context.Context, id string) (threadapi.Provider, error) {
	one, err := p.provider(id)
	if err != nil {
		return threadapi.Provider{}, err
	}
	return p.describe(ctx, one), nil
}

// describe shows a provider to people.
func (p *Pool) describe(ctx context.Context, one kernelcore.Provider) threadapi.Provider {
	d := one.Declaration
	c := d.Capabilities
	out := threadapi.Provider{
		ID: d.ID, DisplayName: d.DisplayName, PluginID: one.PluginID, Icon: d.Icon, State: threadapi.ProviderStopped,
		PermissionModes: []threadapi.Mode{}, Actions: []threadapi.Action{},
	}
	for _, m := range d.PermissionModes {
		out.PermissionModes = append(out.PermissionModes, threadapi.Mode(m))
	}
	for _, a := range d.Actions {
		out.Actions = append(out.Actions, threadapi.Action(a))
	}
	if s, err := p.slot(d.ID); err == nil {
		b, waits, starts, last := s.sessions.state(time.Now())
		problem := s.asksFor()
		if last != nil && problem == "" {
			problem = kernelcontract.AsError(s.sessions.unavailable(one, last)).Message
		}
		switch {
		case b != nil:
			c = b.Capabilities()
			out.State, out.Threads = threadapi.ProviderRunning, b.liveThreads()
		case waits:
			out.State = threadapi.ProviderBackoff
		}
		if problem != "" && out.State != threadapi.ProviderBackoff {
			out.State = threadapi.ProviderDegraded
		}
		out.Problem, out.Restarts = problem, max(starts-1, 0)
		out.Installed = p.installed(ctx, s, one)
	}
	out.Capabilities = threadapi.Capabilities{
		SessionRestore: c.SessionRestore, ThreadArchive: c.ThreadArchive, ThreadRename: c.ThreadRename, ThreadGoal: c.ThreadGoal,
		Fork: string(c.Fork), ApprovalEnforcedBy: string(c.ApprovalEnforcedBy), Steer: string(c.Steer),
	}
	return out
}

// Report notes what an agent asks people to do for it: to sign in, or to install it again. It is shown with the provider
// until its health is ready, it was installed, or it is restarted. Other hints are none of the pool's business.
func (p *Pool) Report(providerID string, hint protocol.RecoveryHint, message string) {
	one, err := p.provider(providerID)
	if err != nil {
		return
	}
	s, err := p.slot(providerID)
	if err != nil {
		return
	}
	var todo string
	switch d := one.Declaration; hint {
	case protocol.RecoverReauthenticate:
		todo = cmp.Or(strings.TrimSpace(d.Strings.SignInHint), "sign in to it")
	case protocol.RecoverReinstall:
		todo = installHint(d)
	default:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = sentence(message, todo)
}

// asksFor returns what a person has to do, "" for nothing.
func (s *slot) asksFor() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

// content takes that back.
func (s *slot) content() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = ""
}

// sentence joins what is wrong and what to do.
func sentence(what, todo string) string {
	what = strings.TrimRight(strings.TrimSpace(what), ".")
	if what == "" {
		return todo
	}
	return what + ": " + todo
}

// Restart ends the processes of a provider, so that its next use starts fresh ones; what was open in them is interrupted.
// Failures and what the agent asked for are forgotten.
func (p *Pool) Restart(ctx context.Context, id string) (threadapi.Provider, error) {
	one, err := p.provider(id)
	if err != nil {
		return threadapi.Provider{}, err
	}
	s, err := p.slot(id)
	if err != nil {
		return threadapi.Provider{}, err
	}
	s.maintenance.restart(ctx)
	s.sessions.restart(ctx)
	s.content()
	s.models.clear()
	s.installed.clear()
	return p.describe(ctx, one), ctx.Err()
}
