package echo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// maxSteers is how many inputs may wait while a turn is open: more than a person sends.
const maxSteers = 16

// Session is a thread's conversation with the echo agent.
type Session struct {
	p      *provider
	t      *bridgekit.Thread
	ctx    context.Context // the session's
	params protocol.SessionParams
	steers chan string // what was said to the open turn

	turning sync.Mutex // held while a turn is open

	mu     sync.Mutex
	kept   *saved
	turns  int      // turns of this process, for keys
	items  int      // items of this process, for keys
	queued []queued // steers that become turns of their own
	skills []protocol.SkillRoot
}

// queued is a steer that waits for its turn.
type queued struct{ clientRequestID, text string }

// change changes what is kept of the session.
func (s *Session) change(do func(*saved)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.kept)
	if !s.p.restorable() {
		return nil
	}
	return s.p.state.save(s.kept)
}

func (s *Session) configureSkills(_ context.Context, p protocol.SkillsConfigureParams) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skills = p.Roots
	return nil
}

// number counts up one of the session's counters.
func (s *Session) number(counter *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	*counter++
	return *counter
}

// turn runs a turn to its end: the runtime answers core as soon as the input is accepted.
func (s *Session) turn(ctx context.Context, p protocol.TurnStartParams) error {
	text := p.Text()
	for _, action := range p.Actions {
		text = strings.TrimSpace(string(action) + " " + text)
	}
	stopped := false
	for next := (queued{p.ClientRequestID, text}); ; {
		var err error
		if stopped, err = s.run(ctx, stopped, next); err != nil {
			return err
		}
		var more bool
		if next, more = s.next(); !more {
			return nil
		}
	}
}

// next takes the steer that has waited longest.
func (s *Session) next() (queued, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queued) == 0 {
		return queued{}, false
	}
	first := s.queued[0]
	s.queued = s.queued[1:]
	return first, true
}

// run is one turn, unless what it waited for was stopped: then it is stopped with it. It tells whether it was stopped.
func (s *Session) run(ctx context.Context, stopped bool, input queued) (bool, error) {
	s.turning.Lock()
	defer s.turning.Unlock()
	word, argument := parse(input.text)
	if word.before != nil {
		return stopped, word.before(s, argument)
	}
	accepted := &protocol.InputAccepted{ClientRequestID: input.clientRequestID}
	if stopped || ctx.Err() != nil {
		return true, s.t.Send(accepted, &protocol.TurnBoundary{Status: protocol.Interrupted})
	}
	if word.zeroWork {
		return false, s.t.Send(accepted, &protocol.TurnBoundary{Status: protocol.Completed})
	}
	t := s.newTurn(ctx, input.clientRequestID)
	defer close(t.over)
	if err := s.t.Send(accepted, &protocol.TurnOpen{TurnKey: &t.key}); err != nil {
		return false, err
	}
	err := word.run(t, argument)
	return t.stopped(err), t.finish(input.text, err)
}

// stop has nothing to do: after it the turn's context ends, and the turn settles what it has open.
func (s *Session) stop(context.Context, protocol.ThreadStopParams) error { return nil }

// steer gives the open turn more input, or lets it wait for a turn of its own.
func (s *Session) steer(_ context.Context, p protocol.TurnSteerParams) error {
	if s.p.profile == Queue {
		if word, argument := parse(p.Text()); word.before != nil {
			return word.before(s, argument)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.queued) == maxSteers {
			return protocol.BridgeError.Errorf("%d inputs wait already", maxSteers)
		}
		s.queued = append(s.queued, queued{p.ClientRequestID, p.Text()})
		return nil
	}
	select {
	case s.steers <- p.Text():
	default:
		return protocol.BridgeError.Errorf("%d inputs wait already", maxSteers)
	}
	return s.t.Send(&protocol.InputAccepted{ClientRequestID: p.ClientRequestID})
}

// turn is a turn that is open.
type turn struct {
	*Session
	ctx     context.Context
	key     string
	request string // the client request that asked for it, or a name of its own
	open    []open // items, the oldest first
	settled bool   // an error has settled the turn, or the session is over
	over    chan struct{}
}

// open is an item that is open, and how it ends when the turn is interrupted.
type open struct {
	key  protocol.ItemKey
	item protocol.Item
	show protocol.Presentation
}

func (s *Session) newTurn(ctx context.Context, request string) *turn {
	for len(s.steers) > 0 { // what came too late for the turn before
		<-s.steers
	}
	return &turn{Session: s, ctx: ctx, key: fmt.Sprintf("turn-%d", s.number(&s.turns)), request: request, over: make(chan struct{})}
}

// stopped tells whether a word ended with the error because the turn was stopped.
func (t *turn) stopped(err error) bool {
	return err != nil && (errors.Is(err, bridgekit.ErrInterrupted) || t.ctx.Err() != nil)
}

// finish settles the turn with what its word came to.
func (t *turn) finish(text string, err error) error {
	if t.settled {
		return nil
	}
	b := &protocol.TurnBoundary{TurnKey: &t.key, Status: protocol.Completed}
	switch {
	case err == nil:
		checkpoint := newID()
		if err := t.change(func(kept *saved) { kept.Turns = append(kept.Turns, savedTurn{checkpoint, text}) }); err != nil {
			return err
		}
		if t.p.profile == Full {
			b.CheckpointID = &checkpoint
		}
	case t.stopped(err):
		b.Status = protocol.Interrupted
	default:
		b.Status, b.Error = protocol.Failed, &protocol.TurnError{Message: err.Error()}
	}
	var ds []protocol.Delta
	for i := len(t.open) - 1; i >= 0; i-- { // the innermost first
		o := t.open[i]
		o.show.Label = "Stopped"
		ds = append(ds, &protocol.ItemClose{Key: o.key, Status: b.Status, Item: o.item, Presentation: o.show})
	}
	return t.t.Send(append(ds, b)...)
}

// after lets something happen when the turn is over, unless the session ends first.
func (t *turn) after(do func(*Session)) {
	t.p.work.Add(1)
	go func() {
		defer t.p.work.Done()
		select {
		case <-t.over:
			do(t.Session)
		case <-t.Session.ctx.Done():
		}
	}()
}

// newKey names a new item.
func (t *turn) newKey() protocol.ItemKey {
	return protocol.ItemKey{ProviderItemID: fmt.Sprintf("item-%d", t.number(&t.items))}
}

// begin opens an item.
func (t *turn) begin(key protocol.ItemKey, item protocol.Item, label, icon string) error {
	show := protocol.Presentation{Label: label, Icon: icon}
	if err := t.t.Send(&protocol.ItemOpen{Key: key, Item: item, Presentation: show}); err != nil {
		return err
	}
	t.open = append(t.open, open{key, item, show})
	return nil
}

// end closes an item.
func (t *turn) end(key protocol.ItemKey, status protocol.Status, item protocol.Item, label string) error {
	for i, o := range t.open {
		if o.key == key {
			t.open = append(t.open[:i], t.open[i+1:]...)
			o.show.Label = label
			return t.t.Send(&protocol.ItemClose{Key: key, Status: status, Item: item, Presentation: o.show})
		}
	}
	return fmt.Errorf("item %q is not open", key)
}

// say is a message, word by word.
func (t *turn) say(text string) error { return t.sayUnder("", text) }

// sayUnder is a message below another item.
func (t *turn) sayUnder(parent, text string) error {
	key := t.newKey()
	key.ParentRef = parent
	if err := t.begin(key, &protocol.Message{}, "Writing", "message"); err != nil {
		return err
	}
	for _, part := range strings.SplitAfter(text, " ") {
		if err := t.t.Send(&protocol.ItemText{Key: key, Stream: protocol.Text, Text: part}); err != nil {
			return err
		}
	}
	return t.end(key, protocol.Completed, &protocol.Message{Text: text}, "Wrote")
}
