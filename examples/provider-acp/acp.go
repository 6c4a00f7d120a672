// Package acp is a provider for any coding agent that speaks the Agent Client Protocol: a bridge that starts the agent,
// is its client, and reports what it does to core.
//
// Each session has an agent process of its own, so that the shells of a thread have that thread's environment and an
// agent that dies takes one turn with it. Options names the agent's command line; cmd/acp-bridge takes it from its
// arguments, and core may name it in the bridge options. docs/spec/provider-acp.md says what becomes of each message.
package acp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// Options configures the provider. The zero value is a provider whose command core names.
type Options struct {
	ProviderID  string // "" is acp
	DisplayName string // "" is ACP agent
	PluginID    string // in front of the names of extension and interaction kinds; "" is ProviderID
	// Command is the program and its arguments. The bridge option command takes its place.
	Command []string
	// Env holds variables for the agent. Names that begin with BB_ are refused.
	Env map[string]string
	// Passthrough names variables of the bridge's own environment that reach the agent, such as its API key.
	Passthrough []string
	// NoResume declares an agent that cannot load its sessions again, so that core does not ask. Without it a session says
	// for itself whether it can be resumed.
	NoResume bool
	// SignInHint tells a person how to log in; "" names what the agent itself says.
	SignInHint string
}

// provider is what all sessions share.
type provider struct {
	o      Options
	work   sync.WaitGroup  // agents that have not ended
	ending context.Context // ends when agents get no more grace
	hurry  context.CancelFunc
}

// Bridge returns the bridge, for bridgekit.Main or bridgekit.Define. The error lists what is wrong with the options.
func Bridge(o Options) (bridgekit.Bridge[*Session], error) {
	o = o.withDefaults()
	if err := errors.Join(checkEnv("Env", o.Env), checkCommand("Command", o.Command)); err != nil {
		return bridgekit.Bridge[*Session]{}, err
	}
	p := &provider{o: o}
	p.ending, p.hurry = context.WithCancel(context.Background())
	b := bridgekit.Bridge[*Session]{
		Declarations:   []protocol.ProviderDeclaration{Declaration(o)},
		ThreadStart:    p.start,
		TurnStart:      (*Session).startTurn,
		ThreadStop:     (*Session).stop,
		ThreadDiscard:  p.discard,
		Shutdown:       p.shutdown,
		ModelList:      p.models,
		ProviderHealth: p.health,
	}
	if !o.NoResume {
		b.ThreadResume = p.resume
	}
	return b, nil
}

func (o Options) withDefaults() Options {
	if o.ProviderID == "" {
		o.ProviderID = "acp"
	}
	if o.DisplayName == "" {
		o.DisplayName = "ACP agent"
	}
	if o.PluginID == "" {
		o.PluginID = o.ProviderID
	}
	return o
}

// checkEnv refuses names that core fills itself and names that no system takes.
func checkEnv(where string, env map[string]string) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case strings.HasPrefix(name, protocol.ReservedEnvPrefix):
			problems = append(problems, fmt.Errorf("%s: %s belongs to core: choose a name without %s", where, name, protocol.ReservedEnvPrefix))
		case name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(env[name], "\x00"):
			problems = append(problems, fmt.Errorf("%s: %q is no variable: a name has no = and nothing has a zero byte", where, name))
		}
	}
	return errors.Join(problems...)
}

// checkCommand refuses a command without a program; none at all is none.
func checkCommand(where string, command []string) error {
	if len(command) > 0 && command[0] == "" {
		return fmt.Errorf("%s: the program has no name", where)
	}
	return nil
}

func (p *provider) start(ctx context.Context, t *bridgekit.Thread, params protocol.SessionParams) (*Session, protocol.SessionIdentity, error) {
	return p.open(ctx, t, params, "")
}

func (p *provider) resume(ctx context.Context, t *bridgekit.Thread, params protocol.ResumeParams) (*Session, protocol.SessionIdentity, error) {
	return p.open(ctx, t, params.SessionParams, params.ProviderThreadID)
}

// open starts the agent and makes a session, or loads the one that id names.
func (p *provider) open(ctx context.Context, t *bridgekit.Thread, params protocol.SessionParams, id string) (*Session, protocol.SessionIdentity, error) {
	config, err := p.configure(params.BridgeOptions)
	if err != nil {
		return nil, protocol.SessionIdentity{}, err
	}
	s := newSession(ctx, p, t, params, config)
	if err := s.connect(ctx, id); err != nil {
		s.end()
		return nil, protocol.SessionIdentity{}, err
	}
	if err := t.Send(&protocol.SessionReset{}); err != nil {
		s.end()
		return nil, protocol.SessionIdentity{}, err
	}
	return s, protocol.SessionIdentity{ProviderThreadID: s.id, SessionRestorable: s.restorable()}, nil
}

// discard ends the agent. What the agent keeps of the session is its own: the protocol has no way to delete it.
func (p *provider) discard(s *Session, _ context.Context, _ protocol.ThreadRef) error {
	if s != nil {
		s.end()
	}
	return nil
}

// shutdown waits for the agents, which have been told to end with the contexts of their sessions, for most of the grace,
// then kills them.
func (p *provider) shutdown(ctx context.Context, params protocol.ShutdownParams) error {
	ended := make(chan struct{})
	go func() {
		p.work.Wait()
		close(ended)
	}()
	patience := time.NewTimer(time.Duration(params.GraceMs) * time.Millisecond / 2)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
	case <-ctx.Done():
	}
	p.hurry()
	<-ended
	return nil
}
