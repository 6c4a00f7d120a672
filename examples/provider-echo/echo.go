// Package echo is a provider without a model: its agent does what the words of a prompt say, and says everything else
// back. It exercises everything that the bridge protocol has, so that cores, conformance kits and user interfaces can be
// tried without an agent, a login or a network.
//
// Options.Profile chooses what it can do. Bridge is served by cmd/echo-bridge; Words lists what its agent understands.
package echo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// Options configures the provider.
type Options struct {
	Profile  Profile // "" is Full
	StateDir string  // where sessions are kept; "" is the plugin's data directory, or one below the system's temporary one
}

// provider is what all sessions share.
type provider struct {
	profile Profile
	state   *states
	work    sync.WaitGroup // what goes on behind turns
}

// Bridge returns the bridge, for bridgekit.Main or bridgekit.Define. The error says that the profile does not exist or that sessions cannot be kept.
func Bridge(o Options) (bridgekit.Bridge[*Session], error) {
	none := bridgekit.Bridge[*Session]{}
	if o.Profile == "" {
		o.Profile = Full
	}
	declaration, err := Declaration(o.Profile)
	if err != nil {
		return none, err
	}
	state, err := openStates(o.StateDir)
	if err != nil {
		return none, err
	}
	p := &provider{profile: o.Profile, state: state}
	return bridgekit.Bridge[*Session]{
		Declarations:  []protocol.ProviderDeclaration{declaration},
		ThreadStart:   p.start,
		TurnStart:     (*Session).turn,
		ThreadStop:    (*Session).stop,
		ThreadDiscard: p.discard,
		Shutdown:      p.shutdown,

		ThreadResume:    p.resume,
		ThreadFork:      p.fork,
		TurnSteer:       (*Session).steer,
		ThreadArchive:   p.archive(true),
		ThreadUnarchive: p.archive(false),
		ThreadNameSet:   p.rename,
		ThreadGoalSet:   p.setGoal,
		ThreadGoalClear: p.clearGoal,
		SkillsConfigure: (*Session).configureSkills,

		ModelList:          modelList,
		ProviderHealth:     health,
		ProviderUsage:      usage,
		InstallationStatus: installationStatus,
		InstallationRun:    installationRun,
		SkillsDiscover:     skillsDiscover,
	}, nil
}

func (p *provider) start(ctx context.Context, t *bridgekit.Thread, params protocol.SessionParams) (*Session, protocol.SessionIdentity, error) {
	return p.open(ctx, t, params, &saved{ID: newID()})
}

func (p *provider) resume(ctx context.Context, t *bridgekit.Thread, params protocol.ResumeParams) (*Session, protocol.SessionIdentity, error) {
	kept, err := p.state.load(params.ProviderThreadID)
	if err != nil {
		return nil, protocol.SessionIdentity{}, err
	}
	return p.open(ctx, t, params.SessionParams, kept)
}

func (p *provider) fork(ctx context.Context, t *bridgekit.Thread, params protocol.ForkParams) (*Session, protocol.SessionIdentity, error) {
	kept, err := p.state.load(params.SourceProviderThreadID)
	if err != nil {
		return nil, protocol.SessionIdentity{}, err
	}
	copied := &saved{ID: newID(), Turns: kept.Turns}
	if id := params.SourceCheckpointID; id != "" {
		if copied.Turns, err = kept.until(id); err != nil {
			return nil, protocol.SessionIdentity{}, err
		}
	}
	return p.open(ctx, t, params.SessionParams, copied)
}

// open makes a session of what is kept of it.
func (p *provider) open(ctx context.Context, t *bridgekit.Thread, params protocol.SessionParams, kept *saved) (*Session, protocol.SessionIdentity, error) {
	if p.restorable() {
		if err := p.state.save(kept); err != nil {
			return nil, protocol.SessionIdentity{}, err
		}
	}
	s := &Session{p: p, t: t, ctx: ctx, params: params, kept: kept, steers: make(chan string, maxSteers)}
	return s, protocol.SessionIdentity{ProviderThreadID: kept.ID, SessionRestorable: p.restorable()}, t.Send(&protocol.SessionReset{})
}

func (p *provider) restorable() bool { return p.profile != Bare }

func (p *provider) discard(_ *Session, _ context.Context, ref protocol.ThreadRef) error {
	return p.state.remove(ref.ProviderThreadID)
}

func (p *provider) shutdown(context.Context, protocol.ShutdownParams) error {
	p.work.Wait() // its contexts have ended
	return nil
}

// change changes what is kept of a session, open or not.
func (p *provider) change(s *Session, id string, do func(*saved)) error {
	if s != nil {
		return s.change(do)
	}
	kept, err := p.state.load(id)
	if err != nil {
		return err
	}
	do(kept)
	return p.state.save(kept)
}

func (p *provider) archive(archived bool) func(*Session, context.Context, protocol.ThreadRef) error {
	return func(s *Session, _ context.Context, ref protocol.ThreadRef) error {
		return p.change(s, ref.ProviderThreadID, func(kept *saved) { kept.Archived = archived })
	}
}

func (p *provider) rename(s *Session, _ context.Context, params protocol.ThreadNameParams) error {
	return p.change(s, params.ProviderThreadID, func(kept *saved) { kept.Name = params.Title })
}

func (p *provider) setGoal(s *Session, _ context.Context, params protocol.ThreadGoalParams) error {
	return p.change(s, params.ProviderThreadID, func(kept *saved) { kept.Goal = params.Goal })
}

func (p *provider) clearGoal(s *Session, _ context.Context, ref protocol.ThreadRef) error {
	return p.change(s, ref.ProviderThreadID, func(kept *saved) { kept.Goal = "" })
}

func newID() string {
	var b [8]byte
	rand.Read(b[:])
	return fmt.Sprintf("echo-%s", hex.EncodeToString(b[:]))
}
