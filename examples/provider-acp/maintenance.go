package acp

import (
	"context"
	"errors"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
)

// probe starts an agent, makes a session and ends both: only a session tells which models there are and whether somebody
// is logged in.
func (p *provider) probe(ctx context.Context, params protocol.ProviderParams) (about schema.InitializeResult, result schema.SessionResult, err error) {
	c, err := p.configure(params.BridgeOptions)
	if err != nil {
		return about, result, err
	}
	a, err := p.launch(ctx, ctx, launch{command: c.command, dir: params.Cwd, env: p.environ(c, nil), providerID: params.ProviderID,
		log: func(text string) { bridgekit.ContextOf(ctx).Log(protocol.LogDebug, text, nil) }})
	if err != nil {
		return about, result, err
	}
	defer a.end()
	err = p.authenticated(ctx, a, c, func() error {
		return a.call(ctx, schema.SessionNew, schema.SessionParams{Cwd: params.Cwd, MCPServers: []schema.MCPServer{}}, &result)
	})
	if err == nil && schema.Has(a.about.AgentCapabilities.SessionCapabilities.Close) {
		a.call(ctx, schema.SessionClose, map[string]string{"sessionId": result.SessionID}, nil) // it ends anyway
	}
	return a.about, result, err
}

func (p *provider) models(ctx context.Context, params protocol.ProviderParams) (protocol.ModelListResult, error) {
	_, result, err := p.probe(ctx, params)
	if err != nil {
		return protocol.ModelListResult{}, err
	}
	return protocol.ModelListResult{Models: choicesOf(result).model.decls()}, nil
}

// health tells whether the agent is there and takes a session.
func (p *provider) health(ctx context.Context, params protocol.ProviderParams) (protocol.HealthResult, error) {
	about, _, err := p.probe(ctx, params)
	h := protocol.ProviderHealth{Status: protocol.HealthReady}
	if v := about.AgentInfo.Version; v != "" {
		h.InstalledVersion = &v
	}
	var missing *process.NotFoundError
	var version *versionError
	var login *loginError
	var answer *wire.Error
	var death *deathError
	switch {
	case err == nil:
	case errors.As(err, &missing):
		h.Status = protocol.HealthNotInstalled
	case errors.As(err, &login):
		h.Status = protocol.HealthUnauthenticated
	case errors.As(err, &version):
		h.Status = protocol.HealthUnsupportedVersion
	case errors.As(err, &answer), errors.As(err, &death):
		h.Status = protocol.HealthUnknown
	default:
		return protocol.HealthResult{}, err
	}
	if err != nil {
		h.StatusMessage = protocol.Ptr(cut(err.Error(), maxLastWords))
	}
	return protocol.HealthResult{Health: h}, nil
}
