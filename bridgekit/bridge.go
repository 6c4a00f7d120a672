package bridgekit

import (
	"context"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// Bridge is a provider bridge. S is the author's session: ThreadStart makes it, the runtime keeps it and passes it first
// to each later function of that thread, so that method expressions fit.
//
// Functions of a thread start in wire order, one at a time, except that TurnSteer and ThreadStop never wait for
// TurnStart; threads run side by side. A function may call core and may block: it never holds up the reader.
//
// The context of ThreadStart, ThreadResume and ThreadFork is the session's: it ends at release, discard, shutdown or the
// end of the input. TurnStart and TurnSteer get the turn's, which an interruption cancels. ThreadStop has its own, with
// StopGrace to live. All others get the session's when there is one. ContextOf finds the bridge's context in each.
//
// On an interruption ThreadStop runs first; then turn contexts and the work of Thread.Go are cancelled and awaited
// within the grace, and a turn that is still open settles as interrupted, before core has its answer. Without a live
// session, ThreadDiscard and the archive, rename and goal functions get the zero S; ThreadStop is not called, since
// there is nothing to stop; a steer is refused with NO_ACTIVE_TURN and the rest with BRIDGE_ERROR.
//
// An *protocol.Error that a function returns reaches core as it is, a protocol.Code as an error of that code, a program
// that is not installed as MISSING_EXECUTABLE, ErrInterrupted as INTERACTION_INTERRUPTED, and any other error as
// BRIDGE_ERROR with its message. A panic is answered with BRIDGE_ERROR and logged; the process lives.
//
// A nil function answers METHOD_NOT_FOUND, unless it is marked as required.
type Bridge[S any] struct {
	// Declarations describe the providers that the bridge serves; at least one. The declaration that thread/start names
	// is the thread's from then on.
	Declarations []protocol.ProviderDeclaration

	// ThreadStart makes a session; required. The identity is announced to core before any delta: deltas that are sent
	// here wait for it.
	ThreadStart func(ctx context.Context, t *Thread, p protocol.SessionParams) (S, protocol.SessionIdentity, error)
	// TurnStart gives the agent input, or an action with none; required. It may return when the agent has the input and
	// let Thread.Go do the rest, or block until the turn ends: core is answered as soon as InputAccepted is sent. An
	// error after that fails the turn.
	TurnStart func(s S, ctx context.Context, p protocol.TurnStartParams) error
	// ThreadStop stops the open turn, or with the intent release lets go of an idle session; required. What settles the
	// turn is sent by it, by the work that is interrupted when it has returned, or by whatever listens to the agent. It is
	// called for a release only when no turn is open.
	ThreadStop func(s S, ctx context.Context, p protocol.ThreadStopParams) error
	// ThreadDiscard deletes what is kept of a session; required.
	ThreadDiscard func(s S, ctx context.Context, p protocol.ThreadRef) error
	// Shutdown ends what the bridge started; required. Core has its answer already. It also runs at the end of the
	// input, with GraceMs 0.
	Shutdown func(ctx context.Context, p protocol.ShutdownParams) error

	// Initialize reports what the code can do, below the ceiling of every declaration; nil: what is declared. It does
	// not start the agent. It holds up everything else, for HandshakeTimeout at most.
	Initialize func(ctx context.Context, p protocol.InitializeParams) (protocol.Capabilities, error)

	// ThreadResume continues a session; the code SESSION_NOT_RESTORABLE says that it is gone.
	ThreadResume func(ctx context.Context, t *Thread, p protocol.ResumeParams) (S, protocol.SessionIdentity, error)
	// ThreadFork starts a session as a copy of another one. A checkpoint comes only when the capability fork is
	// checkpoint.
	ThreadFork func(ctx context.Context, t *Thread, p protocol.ForkParams) (S, protocol.SessionIdentity, error)
	// TurnSteer adds input while the turn that p.TurnID names is open; the runtime refuses others with NO_ACTIVE_TURN.
	TurnSteer func(s S, ctx context.Context, p protocol.TurnSteerParams) error

	ThreadArchive   func(s S, ctx context.Context, p protocol.ThreadRef) error             // puts a session away
	ThreadUnarchive func(s S, ctx context.Context, p protocol.ThreadRef) error             // takes it back
	ThreadNameSet   func(s S, ctx context.Context, p protocol.ThreadNameParams) error      // renames a session
	ThreadGoalSet   func(s S, ctx context.Context, p protocol.ThreadGoalParams) error      // gives the agent a goal
	ThreadGoalClear func(s S, ctx context.Context, p protocol.ThreadRef) error             // takes it away
	SkillsConfigure func(s S, ctx context.Context, p protocol.SkillsConfigureParams) error // hands staged skills to the agent

	// The functions without a session run side by side.
	ModelList          func(ctx context.Context, p protocol.ProviderParams) (protocol.ModelListResult, error)
	ProviderHealth     func(ctx context.Context, p protocol.ProviderParams) (protocol.HealthResult, error)
	ProviderUsage      func(ctx context.Context, p protocol.ProviderParams) (protocol.UsageResult, error)
	InstallationStatus func(ctx context.Context, p protocol.InstallationStatusParams) (protocol.InstallationStatusResult, error)
	InstallationRun    func(ctx context.Context, p protocol.InstallationRunParams) (protocol.InstallationRunResult, error)
	SkillsDiscover     func(ctx context.Context, p protocol.ProviderParams) (protocol.SkillsDiscoverResult, error)
}

// Define checks a bridge and makes its runtime. The error is a *DefinitionError that names every problem: each required
// function that is missing and everything that is wrong with a declaration.
func Define[S any](b Bridge[S]) (*Runtime, error) {
	problems := b.missing()
	problems = append(problems, checkDeclarations(b.Declarations, b.Initialize != nil)...)
	kinds, kindProblems := compileKinds(b.Declarations)
	problems = append(problems, kindProblems...)
	if len(problems) > 0 {
		return nil, &DefinitionError{Problems: problems}
	}
	return &Runtime{
		declarations: cloneDeclarations(b.Declarations),
		kinds:        kinds,
		initialize:   b.Initialize,
		shutdown:     b.Shutdown,
		handlers:     b.handlers(),
	}, nil
}

// missing names the required functions that are nil.
func (b *Bridge[S]) missing() []string {
	var problems []string
	for _, f := range []struct {
		name string
		nil  bool
	}{
		{"ThreadStart", b.ThreadStart == nil},
		{"TurnStart", b.TurnStart == nil},
		{"ThreadStop", b.ThreadStop == nil},
		{"ThreadDiscard", b.ThreadDiscard == nil},
		{"Shutdown", b.Shutdown == nil},
	} {
		if f.nil {
			problems = append(problems, f.name+" is nil: every bridge needs this function")
		}
	}
	return problems
}

// handlers are the functions without their types, by method.
func (b *Bridge[S]) handlers() map[string]handler {
	return map[string]handler{
		protocol.MethodThreadStart:        opening(b.ThreadStart),
		protocol.MethodThreadResume:       opening(b.ThreadResume),
		protocol.MethodThreadFork:         opening(b.ThreadFork),
		protocol.MethodThreadStop:         session(b.ThreadStop),
		protocol.MethodThreadDiscard:      session(b.ThreadDiscard),
		protocol.MethodThreadArchive:      session(b.ThreadArchive),
		protocol.MethodThreadUnarchive:    session(b.ThreadUnarchive),
		protocol.MethodThreadNameSet:      session(b.ThreadNameSet),
		protocol.MethodThreadGoalSet:      session(b.ThreadGoalSet),
		protocol.MethodThreadGoalClear:    session(b.ThreadGoalClear),
		protocol.MethodSkillsConfigure:    session(b.SkillsConfigure),
		protocol.MethodTurnStart:          session(b.TurnStart),
		protocol.MethodTurnSteer:          session(b.TurnSteer),
		protocol.MethodModelList:          sessionless(b.ModelList),
		protocol.MethodHealth:             sessionless(b.ProviderHealth),
		protocol.MethodUsage:              sessionless(b.ProviderUsage),
		protocol.MethodInstallationStatus: sessionless(b.InstallationStatus),
		protocol.MethodInstallationRun:    sessionless(b.InstallationRun),
		protocol.MethodSkillsDiscover:     sessionless(b.SkillsDiscover),
	}
}

// handler is a function of a bridge without its types. The params are a pointer to the method's type. Of a function that
// makes a session the result is an opened.
type handler func(ctx context.Context, t *Thread, params any) (any, error)

// opened is what a function that makes a session returns.
type opened struct {
	session  any
	identity protocol.SessionIdentity
}

func opening[S, P any](fn func(context.Context, *Thread, P) (S, protocol.SessionIdentity, error)) handler {
	if fn == nil {
		return nil
	}
	return func(ctx context.Context, t *Thread, params any) (any, error) {
		s, id, err := fn(ctx, t, *params.(*P))
		return opened{s, id}, err
	}
}

func session[S, P any](fn func(S, context.Context, P) error) handler {
	if fn == nil {
		return nil
	}
	return func(ctx context.Context, t *Thread, params any) (any, error) {
		var s S
		if t != nil {
			s, _ = t.session.(S) // a nil interface is no S, and the zero S is what it stands for
		}
		return protocol.Empty{}, fn(s, ctx, *params.(*P))
	}
}

func sessionless[P, R any](fn func(context.Context, P) (R, error)) handler {
	if fn == nil {
		return nil
	}
	return func(ctx context.Context, _ *Thread, params any) (any, error) {
		return fn(ctx, *params.(*P))
	}
}
