package providers

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
)

// Times of questions about installations.
const (
	// PresenceLifetime is how long it is remembered whether an agent is installed.
	PresenceLifetime = 5 * time.Minute
	// PresenceTimeout bounds how long a list of providers waits for a bridge to say so.
	PresenceTimeout = 5 * time.Second
)

// ask runs fn with the provider's process for questions.
func (p *Pool) ask(ctx context.Context, s *slot, fn func(b *Bridge) error) error {
	b, err := s.maintenance.get(ctx)
	if err != nil {
		return err
	}
	b.during(func() { err = fn(b) })
	return p.explain(ctx, s.id, err)
}

// explain makes an error of a bridge's answer one for callers.
func (p *Pool) explain(ctx context.Context, id string, err error) error {
	var wrong *protocol.Error
	var timeout *host.TimeoutError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, protocol.CapabilityNotAdvertised), errors.Is(err, protocol.MethodNotFound):
		return threadapi.Unsupported.Errorf("the provider %s cannot do this", id)
	case errors.As(err, &wrong):
		if wrong.Recovery != "" {
			p.Report(id, wrong.Recovery, wrong.Message)
		}
		return threadapi.ProviderUnavailable.Errorf("the bridge of provider %s says: %s: %w", id, wrong.Message, err)
	case errors.As(err, &timeout):
		return threadapi.ProviderUnavailable.Errorf("the bridge of provider %s did not answer %s within %s: %w", id, timeout.Method, timeout.After, err)
	}
	return threadapi.ProviderUnavailable.Errorf("the bridge of provider %s: %s: %w", id, err, err)
}

// about are the params of a question about the provider. Without a directory it is the process's own.
func (b *Bridge) about(cwd string) protocol.ProviderParams {
	if cwd == "" {
		cwd = b.scratch
	}
	return protocol.ProviderParams{ProviderID: b.ProviderID, Cwd: cwd, BridgeOptions: b.Options}
}

// find returns a provider with its slot; the error is kernelcontract.NotFound.
func (p *Pool) find(id string) (kernelcore.Provider, *slot, error) {
	one, err := p.provider(id)
	if err != nil {
		return one, nil, err
	}
	s, err := p.slot(id)
	return one, s, err
}

func unsupported(id, what string) error {
	return threadapi.Unsupported.Errorf("the provider %s does not tell %s", id, what)
}

// Health says how a provider's agent is: what its bridge answers, and what the agent asked for in a session.
func (p *Pool) Health(ctx context.Context, id string) (threadapi.Health, error) {
	one, s, err := p.find(id)
	if err != nil {
		return threadapi.Health{}, err
	}
	d := one.Declaration
	if !d.Maintenance.Health {
		h := threadapi.Health{Status: string(protocol.HealthUnknown), Hint: s.asksFor()}
		if there := p.installed(ctx, s, one); there != nil && !*there {
			h.Status, h.Hint = string(protocol.HealthNotInstalled), installHint(d)
		}
		return h, nil
	}
	var result protocol.HealthResult
	err = p.ask(ctx, s, func(b *Bridge) (err error) {
		result, err = b.Health(ctx, b.about(""))
		return err
	})
	if err != nil {
		return threadapi.Health{}, err
	}
	r := result.Health
	h := threadapi.Health{
		Status: string(r.Status), Message: deref(r.StatusMessage), AccountEmail: deref(r.AccountEmail), Plan: deref(r.PlanLabel),
		InstalledVersion: deref(r.InstalledVersion), MinimumVersion: deref(r.MinimumSupportedVersion),
		CanInstall: r.CanInstall, CanUpdate: r.CanUpdate, LoginCommand: deref(r.LoginCommand),
	}
	switch r.Status {
	case protocol.HealthReady:
		s.content()
	case protocol.HealthNotInstalled:
		h.Hint = installHint(d)
	case protocol.HealthUnauthenticated, protocol.HealthExpired:
		h.Hint = signInHint(d, r)
	case protocol.HealthUnsupportedVersion:
		h.Hint = installHint(d)
		if r.CanUpdate {
			h.Hint = "run `bb provider install " + id + " --action update`"
		}
	default:
		h.Hint = s.asksFor()
	}
	return h, nil
}

// signInHint says how to sign in.
func signInHint(d protocol.ProviderDeclaration, h protocol.ProviderHealth) string {
	hint := d.Strings.SignInHint
	if h.Status == protocol.HealthExpired && d.Strings.ExpiredHint != "" {
		hint = d.Strings.ExpiredHint
	}
	if hint == "" && h.LoginCommand != nil {
		hint = "run `" + *h.LoginCommand + "`"
	}
	return hint
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Usage says how much of a provider's quota is used, as its bridge answers. The error is threadapi.Unsupported when it does
// not tell.
func (p *Pool) Usage(ctx context.Context, id string) (json.RawMessage, error) {
	one, s, err := p.find(id)
	switch {
	case err != nil:
		return nil, err
	case !one.Declaration.Maintenance.Usage:
		return nil, unsupported(id, "how much of its quota is used")
	}
	var result protocol.UsageResult
	err = p.ask(ctx, s, func(b *Bridge) (err error) {
		result, err = b.Usage(ctx, b.about(""))
		return err
	})
	if err != nil {
		return nil, err
	}
	return protocol.Marshal(result.Usage)
}

// InstallationStatus says how a provider's agent is installed, as its bridge answers. The error is threadapi.Unsupported
// when it does not tell.
func (p *Pool) InstallationStatus(ctx context.Context, in threadapi.InstallationStatusInput) (json.RawMessage, error) {
	one, s, err := p.find(in.ID)
	switch {
	case err != nil:
		return nil, err
	case !one.Declaration.Maintenance.Installation:
		return nil, unsupported(in.ID, "how its agent is installed")
	}
	status, err := p.installation(ctx, s, in.CheckUpdates)
	if err != nil {
		return nil, err
	}
	return protocol.Marshal(status)
}

func (p *Pool) installation(ctx context.Context, s *slot, checkUpdates bool) (protocol.InstallationStatus, error) {
	var result protocol.InstallationStatusResult
	err := p.ask(ctx, s, func(b *Bridge) (err error) {
		result, err = b.InstallationStatus(ctx, protocol.InstallationStatusParams{ProviderParams: b.about(""), CheckUpdates: checkUpdates})
		return err
	})
	if err == nil {
		s.installed.set(&result.Status.Installed, time.Now())
	}
	return result.Status, err
}

// presence remembers whether an agent is installed.
type presence struct {
	mu    sync.Mutex
	known *bool
	until time.Time
}

func (c *presence) get(now time.Time) (*bool, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known, now.Before(c.until)
}

func (c *presence) set(known *bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.until = known, now.Add(PresenceLifetime)
}

func (c *presence) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
}

// installed tells whether a provider's agent is installed, nil when that is not known: the agent's program is looked for
// when the plugin named it; else a provider that is shown only when it is installed asks its bridge.
func (p *Pool) installed(ctx context.Context, s *slot, one kernelcore.Provider) *bool {
	no := false
	if !found(absolute(one.Program.Command)[0]) {
		return &no
	}
	if agent := one.Program.Agent; agent != "" {
		there := found(agent)
		return &there
	}
	if !one.Declaration.Maintenance.Installation || one.Declaration.Visibility != protocol.VisibleInstalled {
		known, _ := s.installed.get(time.Now())
		return known
	}
	if known, fresh := s.installed.get(time.Now()); fresh {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, PresenceTimeout)
	defer cancel()
	status, err := p.installation(ctx, s, false)
	if err != nil {
		p.log.Warn("it is not known whether an agent is installed", "provider", s.id, "error", err)
		s.installed.set(nil, time.Now())
		return nil
	}
	return &status.Installed
}

// found tells whether a program is there: a name in the PATH, or a path.
func found(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// errBusy says that an installation is under way.
func errBusy(id string) error {
	return kernelcontract.Conflict.Errorf("the agent of provider %s is being installed already", id)
}
