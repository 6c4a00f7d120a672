// Package codex is a provider for Codex: a bridge that starts its app-server, is its client, and reports what it does to
// core.
//
// Each session has an app-server of its own, so that the shells of a thread have that thread's environment and an
// app-server that dies takes one turn with it. docs/spec/provider-codex.md says what becomes of each message.
package codex

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
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-codex/internal/schema"
)

// Options configures the provider. The zero value is the program codex of the PATH, with the configuration of the user.
type Options struct {
	ProviderID  string // "" is codex
	DisplayName string // "" is Codex
	// Command is the program, and arguments in front of app-server; nil is codex. The bridge option command takes its place.
	Command []string
	// Home is the directory of Codex's configuration and sessions, CODEX_HOME; "" is Codex's own choice. The bridge option
	// codexHome takes its place.
	Home string
	// Env holds variables for Codex. Names that begin with BB_ are refused.
	Env map[string]string
	// Passthrough names variables of the bridge's own environment that reach Codex, beside those of Passthrough.
	Passthrough []string
}

// Passthrough returns the variables of the bridge's own environment that reach Codex in any case: where its home is, and the
// keys with which it logs in.
func Passthrough() []string {
	return []string{"CODEX_HOME", "OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", "CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"}
}

// provider is what all sessions share.
type provider struct {
	o      Options
	work   sync.WaitGroup  // app-servers that have not ended
	ending context.Context // ends when they get no more grace
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
	return bridgekit.Bridge[*Session]{
		Declarations:       []protocol.ProviderDeclaration{Declaration(o)},
		ThreadStart:        p.start,
		ThreadResume:       p.resume,
		ThreadFork:         p.fork,
		TurnStart:          (*Session).startTurn,
		TurnSteer:          (*Session).steer,
		ThreadStop:         (*Session).stop,
		ThreadDiscard:      p.discard,
		ThreadArchive:      p.archive,
		ThreadUnarchive:    p.unarchive,
		ThreadNameSet:      p.rename,
		ThreadGoalSet:      p.setGoal,
		ThreadGoalClear:    p.clearGoal,
		SkillsConfigure:    (*Session).skills,
		Shutdown:           p.shutdown,
		ModelList:          p.models,
		ProviderHealth:     p.health,
		ProviderUsage:      p.usage,
		InstallationStatus: p.installation,
		InstallationRun:    p.install,
	}, nil
}

func (o Options) withDefaults() Options {
	if o.ProviderID == "" {
		o.ProviderID = "codex"
	}
	if o.DisplayName == "" {
		o.DisplayName = "Codex"
	}
	if len(o.Command) == 0 {
		o.Command = []string{program}
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
	return p.open(ctx, t, params, schema.ThreadStart, schema.ThreadParams{})
}

func (p *provider) resume(ctx context.Context, t *bridgekit.Thread, params protocol.ResumeParams) (*Session, protocol.SessionIdentity, error) {
	return p.open(ctx, t, params.SessionParams, schema.ThreadResume, schema.ThreadParams{ThreadID: params.ProviderThreadID})
}

func (p *provider) fork(ctx context.Context, t *bridgekit.Thread, params protocol.ForkParams) (*Session, protocol.SessionIdentity, error) {
	return p.open(ctx, t, params.SessionParams, schema.ThreadFork, schema.ThreadParams{ThreadID: params.SourceProviderThreadID, LastTurnID: params.SourceCheckpointID})
}

// open starts an app-server and has it make, load or copy a thread.
func (p *provider) open(ctx context.Context, t *bridgekit.Thread, params protocol.SessionParams, method string, which schema.ThreadParams) (*Session, protocol.SessionIdentity, error) {
	c, err := p.configure(params.BridgeOptions)
	if err != nil {
		return nil, protocol.SessionIdentity{}, err
	}
	s := newSession(ctx, p, t, params, c)
	if err := s.connect(ctx, method, which); err != nil {
		s.end()
		return nil, protocol.SessionIdentity{}, err
	}
	if err := t.Send(&protocol.SessionReset{}); err != nil {
		s.end()
		return nil, protocol.SessionIdentity{}, err
	}
	if len(params.DisallowedTools) > 0 {
		s.warn(protocol.WarningConfig, "Codex cannot leave out tools: "+cut(strings.Join(params.DisallowedTools, ", "), maxShown)+" may still be used")
	}
	return s, protocol.SessionIdentity{ProviderThreadID: s.id, SessionRestorable: true}, nil
}

// reach calls the app-server about a thread: that of its session, or without one an app-server of its own.
func (p *provider) reach(ctx context.Context, s *Session, method string, params any) error {
	if s != nil {
		a, err := s.alive(ctx)
		if err != nil {
			return err
		}
		return a.call(ctx, method, params, nil)
	}
	return p.probe(ctx, protocol.ProviderParams{ProviderID: p.o.ProviderID}, func(a *server) error { return a.call(ctx, method, params, nil) })
}

// threadRef is the params of requests about a thread and nothing else.
func threadRef(id string) map[string]string { return map[string]string{"threadId": id} }

// discard deletes what Codex keeps of the thread. One that never had a turn is nowhere.
func (p *provider) discard(s *Session, ctx context.Context, ref protocol.ThreadRef) error {
	err := p.reach(ctx, s, schema.ThreadDelete, threadRef(ref.ProviderThreadID))
	if s != nil {
		s.end()
	}
	var answer *wire.Error
	if errors.As(err, &answer) {
		bridgekit.ContextOf(ctx).Log(protocol.LogInfo, "Codex did not delete the thread: "+answer.Message, nil)
		return nil
	}
	return err
}

func (p *provider) archive(s *Session, ctx context.Context, ref protocol.ThreadRef) error {
	err := p.reach(ctx, s, schema.ThreadArchive, threadRef(ref.ProviderThreadID))
	if err == nil && s != nil {
		s.mu.Lock()
		s.unloaded = true
		s.mu.Unlock()
	}
	return err
}

func (p *provider) unarchive(s *Session, ctx context.Context, ref protocol.ThreadRef) error {
	if s != nil {
		return s.server.call(ctx, schema.ThreadUnarchive, threadRef(ref.ProviderThreadID), nil)
	}
	return p.reach(ctx, nil, schema.ThreadUnarchive, threadRef(ref.ProviderThreadID))
}

func (p *provider) rename(s *Session, ctx context.Context, params protocol.ThreadNameParams) error {
	return p.reach(ctx, s, schema.ThreadSetName, map[string]string{"threadId": params.ProviderThreadID, "name": params.Title})
}

func (p *provider) setGoal(s *Session, ctx context.Context, params protocol.ThreadGoalParams) error {
	return p.reach(ctx, s, schema.ThreadGoalSet, map[string]string{"threadId": params.ProviderThreadID, "objective": params.Goal, "status": "active"})
}

func (p *provider) clearGoal(s *Session, ctx context.Context, ref protocol.ThreadRef) error {
	return p.reach(ctx, s, schema.ThreadGoalClear, threadRef(ref.ProviderThreadID))
}

// shutdown waits for the app-servers, which have been told to end with the contexts of their sessions, for most of the
// grace, then kills them.
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
