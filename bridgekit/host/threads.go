package host

import (
	"maps"

	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// thread is a session of the bridge, from thread/start, resume or fork until release or discard.
type thread struct {
	id          string
	declaration *protocol.ProviderDeclaration

	// of the reader's goroutine
	checker *grammar.Checker
	turn    openTurn

	// guarded by Bridge.mu
	providerThreadID string // "" until the identity is known
	identified       bool   // thread/identity or session/replaced has come: deltas may
	announced        string // the id that the first of them gave
	stops            int    // stops and discards that are sent and not answered: new requests are interrupted
}

// begin makes the thread of a session that is about to start, so that what comes before the result finds it.
func (b *Bridge) begin(id string, d *protocol.ProviderDeclaration) (*thread, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.threads[id] != nil {
		return nil, protocol.InvalidParams.Errorf("thread %s already has a session in this process: release or discard it first", id)
	}
	if len(b.threads) >= maxThreads {
		return nil, protocol.BridgeError.Errorf("the process has %d threads: release or discard some", maxThreads)
	}
	t := &thread{id: id, declaration: d, checker: grammar.New(b.kinds[d.ID])}
	b.threads[id] = t
	return t, nil
}

// end forgets a thread and interrupts what waits for it.
func (b *Bridge) end(t *thread) {
	b.mu.Lock()
	if b.threads[t.id] == t {
		delete(b.threads, t.id)
	}
	b.mu.Unlock()
	b.interruptWhere(ErrInterrupted, func(r *request) bool { return r.thread == t })
}

// thread returns the thread with core's id, or nil.
func (b *Bridge) thread(id string) *thread {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.threads[id]
}

// notified notes the provider's id of a thread's session, as the bridge announced it.
func (b *Bridge) notified(t *thread, providerThreadID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.announced == "" {
		t.announced = providerThreadID
	}
	t.providerThreadID, t.identified = providerThreadID, true
}

// answered notes the provider's id that the result of a call names, and returns what was announced before. Only the
// notifications let deltas through, and their word counts: the caller may learn of the result after what came behind it.
func (b *Bridge) answered(t *thread, providerThreadID string) (announced string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !t.identified {
		t.providerThreadID = providerThreadID
	}
	return t.announced
}

// declaration returns the declaration of a provider.
func (b *Bridge) declaration(providerID string) (*protocol.ProviderDeclaration, error) {
	if d := b.declarations[providerID]; d != nil {
		return d, nil
	}
	return nil, protocol.InvalidParams.Errorf("this bridge does not serve the provider %q", providerID)
}

// of returns the thread and the declaration that a method with a ThreadRef is for. Without a live session there is no
// thread, and the capabilities, which are all that matters then, are the same for every declaration.
func (b *Bridge) of(threadID string) (*thread, *protocol.ProviderDeclaration) {
	if t := b.thread(threadID); t != nil {
		return t, t.declaration
	}
	return nil, &b.o.Declarations[0]
}

// fill adds to the params of a session what only this side knows: where the agent may write, unless it is given, and the
// ambient variables.
func (b *Bridge) fill(p *protocol.SessionParams) {
	if p.Workspace.Root == "" {
		p.Workspace.Root = p.Cwd
		if p.Workspace.WriteRoots == nil && p.Cwd != "" {
			p.Workspace.WriteRoots = []string{p.Cwd}
		}
	}
	env := maps.Clone(b.o.Ambient)
	if env == nil {
		env = map[string]string{}
	}
	env["BB_THREAD_ID"] = p.ThreadID
	maps.Copy(env, p.Env)
	p.Env = env
}

// gate refuses what the bridge has not advertised.
func (b *Bridge) gate(method string, d *protocol.ProviderDeclaration) error {
	if !b.methods[method].Advertised(d, &b.capabilities) {
		return protocol.CapabilityNotAdvertised.Errorf("the provider %s does not advertise %s", d.ID, method)
	}
	return nil
}

// check validates params before they are sent.
func check(method string, params any) error {
	issues := protocol.Validate(params)
	if len(issues) == 0 {
		return nil
	}
	err := protocol.InvalidParams.Errorf("%s was not sent: its params are wrong", method)
	err.Issues = issues
	return err
}
