package bridgekit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// maxDeltas is how many bytes the deltas of one line may have: the rest of the line is its envelope with the thread's
// id, whose length is taken off too.
const maxDeltas = MaxLine - 256

// Send sends deltas to core, all or none: the first that breaks a rule of the grammar is the error, a *grammar.Violation
// that names index, kind and rule, and then nothing is sent. Where the declared steer is not none, a TurnOpen without
// TurnKey is refused in the same way. Long lists are split over several lines. What several
// goroutines send does not mix. Send waits while core does not read.
//
// InputAccepted for the input of a TurnStart that still runs answers core's turn/start. Deltas that are sent before the
// session's identity is known wait for it.
func (t *Thread) Send(ds ...protocol.Delta) error {
	if len(ds) == 0 {
		return nil
	}
	if err := t.steerable(ds); err != nil {
		return err
	}
	lines, err := t.encode(ds)
	if err != nil {
		return err
	}
	t.sending.Lock()
	defer t.sending.Unlock()
	return t.send(lines, ds)
}

// steerable refuses a turn without a key when core may want to name it in turn/steer.
func (t *Thread) steerable(ds protocol.Deltas) error {
	if steer := t.declaration.Capabilities.Steer; steer == protocol.SteerNone || steer == "" {
		return nil
	}
	for i, d := range ds {
		if open, ok := d.(*protocol.TurnOpen); ok && open != nil && open.TurnKey == nil {
			return fmt.Errorf("bridgekit: deltas[%d]: %s: it has no turnKey, and provider %s declares steer %s: give each turn a key, by which core names the turn to steer",
				i, open.Kind(), t.declaration.ID, t.declaration.Capabilities.Steer)
		}
	}
	return nil
}

// send is Send for who holds t.sending.
func (t *Thread) send(lines [][]byte, ds protocol.Deltas) error {
	t.mu.Lock()
	ended, identified := t.ended, t.identity != ""
	t.mu.Unlock()
	if ended {
		return ErrEnded
	}
	if !identified {
		return t.hold(lines, ds)
	}
	if v := t.checker.CheckAll(ds); v != nil {
		return v
	}
	for _, params := range lines {
		if err := t.c.sendDeltas(params); err != nil {
			return err
		}
	}
	for _, d := range ds {
		t.observe(d)
	}
	return nil
}

// hold keeps deltas until the session's identity is known.
func (t *Thread) hold(lines [][]byte, ds protocol.Deltas) error {
	size := t.heldLen
	for _, l := range lines {
		size += len(l)
	}
	if size > maxHeld {
		return fmt.Errorf("bridgekit: more than %d bytes of deltas wait for the identity of thread %s: return from ThreadStart first", maxHeld, clip(t.id))
	}
	if v := t.checker.CheckAll(ds); v != nil {
		return v
	}
	t.held, t.heldLen = append(t.held, lines...), size
	for _, d := range ds {
		t.observe(d)
	}
	return nil
}

// encode returns the params of as many thread/delta notifications as the deltas need. A delta that is not valid is left
// out: the grammar names it.
func (t *Thread) encode(ds protocol.Deltas) ([][]byte, error) {
	id, err := protocol.Marshal(t.id)
	if err != nil {
		return nil, fmt.Errorf("bridgekit: the id of the thread: %w", err)
	}
	head := append(append([]byte(`{"threadId":`), id...), `,"deltas":[`...)
	var lines [][]byte
	var line []byte
	for i, d := range ds {
		raw, err := protocol.Marshal(d)
		if err != nil {
			continue
		}
		if len(raw)+len(head) > maxDeltas {
			return nil, fmt.Errorf("bridgekit: deltas[%d]: %s: it has %d bytes as JSON, and a line %d: send it in parts", i, d.Kind(), len(raw), MaxLine)
		}
		switch {
		case line == nil:
			line = append(append(make([]byte, 0, len(head)+len(raw)+2), head...), raw...)
		case len(line)+1+len(raw) > maxDeltas:
			lines = append(lines, append(line, "]}"...))
			line = append(append(make([]byte, 0, len(head)+len(raw)+2), head...), raw...)
		default:
			line = append(append(line, ','), raw...)
		}
	}
	if line != nil {
		lines = append(lines, append(line, "]}"...))
	}
	return lines, nil
}

// sendDeltas writes one thread/delta.
func (c *conn) sendDeltas(params []byte) error {
	return c.wrote(c.peer.Notify(context.Background(), protocol.MethodThreadDelta, json.RawMessage(params)))
}

// observe keeps the runtime's picture of the turn after a delta is on the wire.
func (t *Thread) observe(d protocol.Delta) {
	var accepted *job
	t.mu.Lock()
	switch d := d.(type) {
	case *protocol.InputAccepted:
		accepted = t.starts[d.ClientRequestID]
		if _, ok := t.asked[d.ClientRequestID]; ok && !t.open {
			t.waiting++
		}
		delete(t.asked, d.ClientRequestID)
	case *protocol.TurnOpen:
		t.waiting = max(0, t.waiting-1)
		t.open, t.openKey, t.openBy = true, "", t.turn
		if d.TurnKey != nil {
			t.openKey = *d.TurnKey
		}
	case *protocol.TurnBoundary:
		if !t.open {
			t.waiting = max(0, t.waiting-1)
		}
		t.open = false
	case *protocol.ProviderError:
		if d.SettlesTurn {
			t.open = false
		}
	case *protocol.SessionReset:
		t.open = false
	case *protocol.SessionEnded:
		t.open, t.waiting = false, 0
	}
	if !t.open && t.waiting == 0 && t.settled != nil {
		close(t.settled)
		t.settled = nil
	}
	t.mu.Unlock()
	if accepted != nil {
		accepted.answer(protocol.Empty{}, nil)
	}
}
