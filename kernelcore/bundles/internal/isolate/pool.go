package isolate

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Limits of an agent.
const (
	MaxInstances = 2  // of an agent at once: one that is busy must not take the places of all others
	MaxWaiting   = 64 // calls of an agent that wait
)

// Pool dispatches calls to instances and keeps these warm, apart for each agent. All methods are safe for concurrent use.
type Pool struct {
	engine *Engine

	mu     sync.Mutex
	agents map[string]*agent
}

// NewPool makes a pool on an engine.
func NewPool(e *Engine) *Pool { return &Pool{engine: e, agents: map[string]*agent{}} }

// agent is what is under way for an agent. It is forgotten when nothing is.
type agent struct {
	slots   chan struct{} // MaxInstances places
	calls   int           // that run or wait
	warm    []*instance
	version string // of warm
}

// Target says which code answers a call, and as whom.
type Target struct {
	AgentID string
	Version string // of the code; two versions with one name are one
	// Code returns what screen.Screen has made of the version; it is called when the version is not compiled.
	Code func() ([]byte, error)
	// Fresh makes an instance for this call alone.
	Fresh bool
}

// Dispatch sends the frame of an abi.Request to an instance and returns that of its abi.Response. ctx bounds it, waiting
// included; when it ends the error is its cause. Further errors are ErrBusy, *LoadError, *TrapError and ErrClosed.
func (p *Pool) Dispatch(ctx context.Context, t Target, request []byte, host Host) ([]byte, error) {
	a, err := p.enter(t.AgentID)
	if err != nil {
		return nil, err
	}
	defer p.leave(t.AgentID, a)
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	m, err := p.engine.compile(ctx, t.Version, t.Code) // before a place is taken: compiling takes no guest
	if err != nil {
		return nil, err
	}
	if err := p.engine.guests.enter(ctx); err != nil {
		p.engine.release(t.Version, m)
		return nil, err
	}
	defer p.engine.guests.leave()
	i := p.take(a, t)
	if i == nil {
		if i, err = p.engine.instantiate(ctx, t.Version, m); err != nil {
			return nil, err
		}
	} else {
		p.engine.release(t.Version, m) // the instance has a use of its own
	}
	response, err := i.dispatch(ctx, &call{request: request, host: host})
	if err != nil || t.Fresh || !i.reusable() {
		i.end()
		return response, err
	}
	p.keep(t.AgentID, a, i)
	return response, nil
}

// enter counts a call of an agent.
func (p *Pool) enter(id string) (*agent, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.agents[id]
	if a == nil {
		a = &agent{slots: make(chan struct{}, MaxInstances)}
		p.agents[id] = a
	}
	if a.calls >= MaxWaiting+MaxInstances {
		return nil, ErrBusy
	}
	a.calls++
	return a, nil
}

func (p *Pool) leave(id string, a *agent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.calls--
	p.forget(id, a)
}

// forget drops an agent that nothing is left of. p.mu is held.
func (p *Pool) forget(id string, a *agent) {
	if a.calls == 0 && len(a.warm) == 0 && p.agents[id] == a {
		delete(p.agents, id)
	}
}

// take returns a warm instance of the version, nil when there is none. Those of another version are ended.
func (p *Pool) take(a *agent, t Target) *instance {
	if t.Fresh {
		return nil
	}
	p.mu.Lock()
	warm := a.warm
	var old []*instance
	var found *instance
	if a.version != t.Version {
		old, warm = warm, nil
	}
	for found == nil && len(warm) > 0 {
		last := warm[len(warm)-1]
		warm = warm[:len(warm)-1]
		if p.engine.guests.resume(last) {
			found = last
		}
	}
	a.warm, a.version = warm, t.Version
	p.mu.Unlock()
	for _, i := range old {
		if p.engine.guests.resume(i) {
			i.end()
		}
	}
	if found != nil {
		found.timer.Stop()
	}
	return found
}

// keep keeps an instance for the next call, unless the agent has moved on to another version.
func (p *Pool) keep(id string, a *agent, i *instance) {
	p.mu.Lock()
	kept := a.version == i.version && p.engine.guests.rest(i)
	if kept {
		i.timer = time.AfterFunc(MaxIdle, func() { p.expire(id, a, i) })
		a.warm = append(a.warm, i)
	}
	p.mu.Unlock()
	if !kept {
		i.end()
	}
}

// expire ends an instance that has been idle for long.
func (p *Pool) expire(id string, a *agent, i *instance) {
	p.mu.Lock()
	a.warm = slices.DeleteFunc(a.warm, func(other *instance) bool { return other == i })
	p.forget(id, a)
	p.mu.Unlock()
	if p.engine.guests.resume(i) {
		i.end()
	}
}

// Evict ends the warm instances of an agent: its version or its environment has changed. Calls that are under way go on.
func (p *Pool) Evict(agentID string) {
	p.mu.Lock()
	a := p.agents[agentID]
	var old []*instance
	if a != nil {
		old, a.warm, a.version = a.warm, nil, ""
		p.forget(agentID, a)
	}
	p.mu.Unlock()
	for _, i := range old {
		if p.engine.guests.resume(i) {
			i.end()
		}
	}
}

// Stats says what is under way.
type Stats struct {
	Running, Idle int
	IdleMemory    uint64 // bytes
	Compiled      int
}

// Stats returns what is under way now.
func (p *Pool) Stats() Stats {
	var s Stats
	s.Running, s.Idle, s.IdleMemory = p.engine.guests.counts()
	p.engine.mu.Lock()
	s.Compiled = len(p.engine.compiled)
	p.engine.mu.Unlock()
	return s
}
