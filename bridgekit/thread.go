package bridgekit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// ErrEnded is what a Thread returns when its session is over: released, discarded, or never made.
var ErrEnded = errors.New("bridgekit: the session of this thread has ended")

// Thread is one thread of core for as long as its session lives: what a bridge says about it goes through here. It is
// safe for concurrent use, also after the session has ended, when everything returns ErrEnded.
type Thread struct {
	id          string
	c           *conn
	declaration *protocol.ProviderDeclaration
	ctx         context.Context // of the session
	cancel      context.CancelCauseFunc
	session     any // the author's; set before the first function that gets it

	sending sync.Mutex // held while deltas are checked and written, so that both happen in one order
	checker *grammar.Checker
	held    [][]byte // params that wait for the identity
	heldLen int

	stopping sync.Mutex // held while work is interrupted

	mu           sync.Mutex
	identity     string // the agent's id of the session; "" until it is announced
	ended        bool
	turn         *turn // whose context new work gets
	works        map[chan struct{}]*turn
	abandoned    chan struct{} // closed, and replaced, when what is in works is waited for no longer
	calls        map[*call]struct{}
	starts       map[string]*job     // turn/start requests whose function runs, by their clientRequestId
	asked        map[string]struct{} // inputs of turn/start that are not accepted yet
	interrupting bool

	open    bool   // a turn is open on the wire
	openKey string // its key, "" for null
	openBy  *turn  // the turn that was current when it opened
	waiting int    // accepted inputs whose turn did not open yet
	settled chan struct{}
}

func newThread(c *conn, id string, d *protocol.ProviderDeclaration) *Thread {
	t := &Thread{
		id: id, c: c, declaration: d,
		checker:   grammar.New(c.runtime.kinds[d.ID]),
		works:     map[chan struct{}]*turn{},
		abandoned: make(chan struct{}),
		calls:     map[*call]struct{}{},
		starts:    map[string]*job{},
		asked:     map[string]struct{}{},
	}
	t.ctx, t.cancel = context.WithCancelCause(c.contextFor(d, id))
	return t
}

// ID returns core's id of the thread.
func (t *Thread) ID() string { return t.id }

// Replaced tells core that the agent went on in another session (session/replaced): providerThreadID is its id from now
// on, and contextLost says that the agent forgot what was said before.
func (t *Thread) Replaced(providerThreadID, reason string, contextLost bool) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	if _, err := t.identified(); err != nil {
		return err
	}
	p := protocol.ReplacedParams{ThreadID: t.id, ProviderThreadID: providerThreadID, Reason: reason, ContextLost: contextLost}
	if err := t.c.notify(protocol.MethodSessionReplaced, p); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.identity = providerThreadID
	return nil
}

// Recover tells core what helps after a failure that no request reports (provider/recovery). A request that fails
// carries its hint in Error.Recovery instead, never both.
func (t *Thread) Recover(hint protocol.RecoveryHint, message string) error {
	return ContextOf(t.ctx).Recover(hint, message)
}

// identified returns the agent's id of the session.
func (t *Thread) identified() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return "", ErrEnded
	}
	if t.identity == "" {
		return "", fmt.Errorf("bridgekit: the session of thread %s has no identity yet: core learns it when ThreadStart returns", clip(t.id))
	}
	return t.identity, nil
}

// announce tells core the identity, and then everything that waited for it.
func (t *Thread) announce(id protocol.SessionIdentity) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	p := protocol.IdentityParams{ThreadID: t.id, ProviderThreadID: id.ProviderThreadID, SessionRestorable: id.SessionRestorable}
	if err := t.c.notify(protocol.MethodThreadIdentity, p); err != nil {
		return err
	}
	for _, params := range t.held {
		if err := t.c.sendDeltas(params); err != nil {
			return err
		}
	}
	t.held, t.heldLen = nil, 0
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return ErrEnded
	}
	t.identity = id.ProviderThreadID
	return nil
}

// close ends the session: its contexts and calls with the cause ErrInterrupted.
func (t *Thread) close() {
	t.mu.Lock()
	t.ended = true
	for c := range t.calls {
		c.cancel(ErrInterrupted)
	}
	t.mu.Unlock()
	t.cancel(ErrInterrupted)
}
