package bridgekit

import (
	"slices"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// lane is the ordered queue of one thread. Its functions start in wire order, one at a time; turn/steer and thread/stop
// overtake what waits for turn/start, and thread/stop what waits for any function that only hangs. Everything here is guarded by the connection's mutex.
type lane struct {
	c           *conn
	id          string
	declaration *protocol.ProviderDeclaration // of the session that is there or is being made
	thread      *Thread                       // the session, also while it is being made; nil without one
	queue       []*job
	running     *job // the request whose function runs, unless it is starting or stopping
	starting    *job // the turn/start whose function runs
	stopping    *job // the thread/stop that is carried out
}

// enqueue puts a request into the queue of its thread, on the reader's goroutine.
func (c *conn) enqueue(id string, j *job) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == ending {
		return errShuttingDown()
	}
	l := c.lanes[id]
	if l == nil {
		l = &lane{c: c, id: id}
		c.lanes[id] = l
	}
	if len(l.queue) >= maxWaiting && j.method != protocol.MethodThreadStop {
		return crowdedError(true, maxWaiting, "requests of this thread wait")
	}
	if l.thread == nil && providerOf(j.params) != "" {
		l.declaration = j.declaration
	}
	if j.method == protocol.MethodThreadDiscard {
		l.hasten(l.takeStarts(len(l.queue)), j.declaration)
	}
	l.queue = append(l.queue, j)
	l.next()
	return nil
}

// next starts what may start. The caller holds the mutex.
func (l *lane) next() {
	if l.stopping != nil || l.c.state == ending {
		return
	}
	i := 0
	switch {
	case l.running != nil && !yields(l.running.method):
		return
	case l.running != nil:
		i = slices.IndexFunc(l.queue, func(j *job) bool { return j.method == protocol.MethodThreadStop })
	case l.starting != nil:
		i = slices.IndexFunc(l.queue, func(j *job) bool { return overtakes(j.method) })
	}
	if i < 0 || i >= len(l.queue) {
		if l.thread == nil && l.starting == nil && l.running == nil {
			delete(l.c.lanes, l.id)
		}
		return
	}
	j := l.queue[i]
	l.queue = slices.Delete(l.queue, i, i+1)
	if p, ok := j.params.(*protocol.ThreadStopParams); ok {
		if p.Intent == protocol.Release {
			j.refused = slices.ContainsFunc(l.queue[:i], startsTurn)
		} else {
			j.ahead = l.takeStarts(i)
		}
		l.stopping = j
	} else {
		l.running, j.done = j, make(chan struct{})
	}
	l.c.running.Go(func() { l.run(j) })
	l.next() // a stop may be waiting behind it
}

// takeStarts takes the turn/start requests out of the first n of the queue.
func (l *lane) takeStarts(n int) []*job {
	var taken, rest []*job
	for i, j := range l.queue {
		if i < n && startsTurn(j) {
			taken = append(taken, j)
		} else {
			rest = append(rest, j)
		}
	}
	l.queue = rest
	return taken
}

func startsTurn(j *job) bool { return j.method == protocol.MethodTurnStart }

// overtakes tells whether a method never waits for TurnStart.
func overtakes(method string) bool {
	return method == protocol.MethodTurnSteer || method == protocol.MethodThreadStop
}

// yields tells whether thread/stop overtakes the method's function: all but those that begin or end what a stop is about.
func yields(method string) bool {
	switch method {
	case protocol.MethodThreadStart, protocol.MethodThreadResume, protocol.MethodThreadFork, protocol.MethodThreadDiscard,
		protocol.MethodTurnStart:
		return false
	}
	return true
}

// free lets the next function start, behind that of j.
func (l *lane) free(j *job) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.stopping == j {
		l.stopping = nil
	} else {
		l.running = nil
		close(j.done)
	}
	l.next()
}

// session returns the lane's session, or nil.
func (l *lane) session() *Thread {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.thread
}

// run does what a request asks. It never panics, since the author's functions are contained.
func (l *lane) run(j *job) {
	switch p := j.params.(type) {
	case *protocol.SessionParams, *protocol.ResumeParams, *protocol.ForkParams:
		l.open(j)
	case *protocol.TurnStartParams:
		l.startTurn(j, p)
		return // the lane was freed as soon as the function had begun
	case *protocol.TurnSteerParams:
		l.steer(j, p)
	case *protocol.ThreadStopParams:
		l.stop(j, p)
	default:
		if j.method == protocol.MethodThreadDiscard {
			l.discard(j)
		} else {
			l.call(j)
		}
	}
	l.free(j)
}

// open makes a session.
func (l *lane) open(j *job) {
	if l.session() != nil {
		j.answer(nil, protocol.BridgeError.Errorf("thread %s has a session already: release or discard it first", clip(l.id)))
		return
	}
	t := newThread(l.c, l.id, j.declaration)
	l.c.mu.Lock()
	doomed := l.discarding()
	if !doomed {
		l.thread = t
	}
	l.c.mu.Unlock()
	if doomed {
		t.close()
		j.answer(nil, errDiscarded())
		return
	}
	o := <-l.c.contain(j.method, l.id, func() (any, error) { return j.handle(t.ctx, t, j.params) })
	failed := o.err != nil
	if !failed {
		made := o.out.(opened)
		o.out = made.identity
		valid := len(protocol.Validate(made.identity)) == 0 // finish says what is wrong
		if valid {
			t.session = made.session
			o.err = t.announce(made.identity)
		}
		failed = !valid || o.err != nil
	}
	if failed {
		defer l.drop(t) // ends the context that tells whether the function was interrupted
	}
	j.finish(t.ctx, o)
}

// drop ends a session.
func (l *lane) drop(t *Thread) {
	t.close()
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.thread == t {
		l.thread = nil
	}
}

// startTurn runs TurnStart. The lane is free as soon as the function has begun, for what overtakes it.
func (l *lane) startTurn(j *job, p *protocol.TurnStartParams) {
	t := l.session()
	if t == nil {
		j.answer(nil, noSession(l.id))
		l.free(j)
		return
	}
	turn := t.newTurn()
	t.expect(p.ClientRequestID, j)
	release, abandoned := t.work(turn)
	l.c.mu.Lock()
	doomed := l.discarding() // one that comes from here on finds the work and interrupts it
	l.c.mu.Unlock()
	if doomed {
		t.forget(p.ClientRequestID, j)
		release()
		j.answer(nil, errDiscarded())
		l.free(j)
		return
	}
	begun := make(chan struct{})
	ended := l.c.contain(j.method, l.id, func() (any, error) {
		close(begun)
		return j.handle(turn.ctx, t, j.params)
	})
	var o outcome
	done := false
	select {
	case <-begun:
	case o = <-ended:
		done = true
	}
	l.c.mu.Lock()
	l.starting = j
	l.c.mu.Unlock()
	l.free(j)
	if !done {
		select {
		case o = <-ended:
		case <-abandoned:
			o.err = ErrInterrupted
		}
	}
	if o.err != nil {
		t.failTurn(turn, p.ClientRequestID, j.method, o.err)
	}
	t.forget(p.ClientRequestID, j)
	j.finish(turn.ctx, o)
	release()
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.starting = nil
	l.next()
}

// discarding tells whether a discard waits for what is about to begin. The caller holds the connection's mutex.
func (l *lane) discarding() bool {
	return slices.ContainsFunc(l.queue, func(j *job) bool { return j.method == protocol.MethodThreadDiscard })
}

func errDiscarded() error {
	return protocol.InteractionInterrupted.Errorf("the thread was discarded before this began")
}

func noSession(id string) error {
	return protocol.BridgeError.Errorf("thread %s has no session here: start or resume one first", clip(id))
}

// steer runs TurnSteer for an open turn.
func (l *lane) steer(j *job, p *protocol.TurnSteerParams) {
	notOpen := protocol.NoActiveTurn.Errorf("the turn %q is not open", clip(p.TurnID))
	t := l.session()
	if t == nil {
		j.answer(nil, notOpen)
		return
	}
	turn := t.currentTurn()
	if turn == nil {
		j.answer(nil, notOpen)
		return
	}
	release, abandoned := t.work(turn)
	defer release()
	if !t.isOpen(p.TurnID) || l.interrupting() { // an interruption that comes from here on finds the work
		j.answer(nil, notOpen)
		return
	}
	var o outcome
	select {
	case o = <-l.c.contain(j.method, l.id, func() (any, error) { return j.handle(turn.ctx, t, j.params) }):
	case <-abandoned:
		o.err = ErrInterrupted
	}
	j.finish(turn.ctx, o)
}

// interrupting tells whether an interruption is carried out.
func (l *lane) interrupting() bool {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.stopping == nil {
		return false
	}
	p, ok := l.stopping.params.(*protocol.ThreadStopParams)
	return ok && p.Intent == protocol.Interrupt
}

// withoutSession tells which methods that need no live session.
func withoutSession(method string) bool {
	switch method {
	case protocol.MethodThreadArchive, protocol.MethodThreadUnarchive,
		protocol.MethodThreadNameSet, protocol.MethodThreadGoalSet, protocol.MethodThreadGoalClear:
		return true
	}
	return false
}

// call runs the function of any other method of a thread.
func (l *lane) call(j *job) {
	t := l.session()
	if t == nil && !withoutSession(j.method) {
		j.answer(nil, noSession(l.id))
		return
	}
	ctx := l.c.contextFor(j.declaration, l.id)
	if t != nil {
		ctx = t.ctx
	}
	o := <-l.c.contain(j.method, l.id, func() (any, error) { return j.handle(ctx, t, j.params) })
	j.finish(ctx, o)
}
