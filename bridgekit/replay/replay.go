// Package replay runs a recorded conversation between core and a bridge through the grammar and the assembler, as the
// host did when it happened. What comes out is the same every time, so that a test can pin it.
//
// The agent's side of a recording is replayed by record.WithPlayback. See docs/spec/bridges-record.md.
package replay

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/record"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// Options says what the recording does not.
type Options struct {
	Kinds *extension.Kinds // the extension kinds of the provider's declaration, nil for none
	Steer protocol.Steer   // what the bridge reported; "" is native
}

// Result is what a recording comes to.
type Result struct {
	Events     []assembler.Event
	Violations []Violation
}

// Violation is a delta that was dropped.
type Violation struct {
	Seq uint64 // the entry that it is in
	*grammar.Violation
}

// Counts returns how many events of each type there are.
func (r *Result) Counts() map[assembler.EventType]int {
	counts := map[assembler.EventType]int{}
	for _, e := range r.Events {
		counts[e.Type]++
	}
	return counts
}

// Rows returns how many items the timeline shows.
func (r *Result) Rows() int {
	items := map[string]bool{}
	for _, e := range r.Events {
		if e.ItemID != "" {
			items[e.ItemID] = true
		}
	}
	return len(items)
}

// Thread replays the recording of one thread. Turn ids are turn-1, turn-2 and so on, in the order of the requests; item ids
// begin with the number of their run. What is open when a run ends settles as it does when a bridge is gone. Lines that are
// no messages are passed over, as the host passes over them; a message that the protocol does not allow is an error that
// names the entry.
func Thread(r *record.Recording, o Options) (*Result, error) {
	t := &thread{o: o, result: &Result{}}
	run := ""
	for _, e := range r.Lane(record.CoreToBridge, record.BridgeToCore) {
		if e.Run != run {
			t.end()
			run = e.Run
			t.begin()
		}
		if err := t.entry(e); err != nil {
			return nil, fmt.Errorf("replay: entry %d of run %s: %w", e.Seq, e.Run, err)
		}
	}
	t.end()
	return t.result, nil
}

// thread is a replay in progress.
type thread struct {
	o      Options
	result *Result
	runs   int
	turns  int
	last   record.Entry

	check    *grammar.Checker
	assemble *assembler.Assembler   // nil until the thread's id is known
	asked    map[wire.ID]withdrawal // requests of core that handed something in
	batch    protocol.DeltaBatch
}

// withdrawal is what a request handed in, to be taken back when it fails.
type withdrawal struct{ turnID, clientRequestID string }

func (t *thread) begin() {
	t.runs++
	t.check = grammar.New(t.o.Kinds)
	t.assemble = nil
	t.asked = map[wire.ID]withdrawal{}
}

func (t *thread) end() {
	if t.assemble != nil {
		t.add(t.assemble.Settle(t.last.Time, "the recording ends here"))
	}
}

func (t *thread) add(events []assembler.Event) { t.result.Events = append(t.result.Events, events...) }

func (t *thread) entry(e record.Entry) error {
	t.last = e
	m, err := wire.Parse([]byte(e.Line))
	if err != nil {
		return nil
	}
	switch {
	case e.Lane == record.CoreToBridge && m.Kind == wire.RequestKind:
		return t.request(m)
	case e.Lane == record.BridgeToCore && m.Kind == wire.ResponseKind:
		t.response(m)
	case e.Lane == record.BridgeToCore && m.Kind == wire.NotificationKind && m.Method == protocol.MethodThreadDelta:
		return t.deltas(m.Params)
	}
	return nil
}

// of begins the assembler, now that the thread is known.
func (t *thread) of(threadID string) *assembler.Assembler {
	if t.assemble == nil {
		t.assemble = assembler.New(assembler.Options{ThreadID: threadID, Entropy: strconv.Itoa(t.runs), Kinds: t.o.Kinds})
	}
	return t.assemble
}

func (t *thread) request(m wire.Message) error {
	var p struct {
		ThreadID        string `json:"threadId"`
		ClientRequestID string `json:"clientRequestId"`
	}
	if m.Method != protocol.MethodTurnStart && m.Method != protocol.MethodTurnSteer {
		return nil
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return fmt.Errorf("%s: %w", m.Method, err)
	}
	if m.Method == protocol.MethodTurnSteer && t.o.Steer != protocol.SteerQueue {
		t.asked[m.ID] = withdrawal{clientRequestID: p.ClientRequestID}
		return t.of(p.ThreadID).ExpectInput(p.ClientRequestID)
	}
	t.turns++
	w := withdrawal{turnID: "turn-" + strconv.Itoa(t.turns)}
	t.asked[m.ID] = w
	return t.of(p.ThreadID).Expect(w.turnID, p.ClientRequestID)
}

func (t *thread) response(m wire.Message) {
	w, ok := t.asked[m.ID]
	delete(t.asked, m.ID)
	switch {
	case !ok || m.Error == nil:
	case w.turnID != "":
		t.add(t.assemble.Withdraw(t.last.Time, w.turnID, m.Error.Message))
	default:
		t.add(t.assemble.WithdrawInput(t.last.Time, w.clientRequestID, m.Error.Message))
	}
}

func (t *thread) deltas(params json.RawMessage) error {
	if err := protocol.ParseDeltaParams(params, &t.batch); err != nil {
		return err
	}
	for i, d := range t.batch.Deltas {
		if v := t.check.Check(d); v != nil {
			v.Index = i
			t.result.Violations = append(t.result.Violations, Violation{t.last.Seq, v})
			continue
		}
		t.add(t.of(t.batch.ThreadID).Apply(d.Delta, t.last.Time))
	}
	return nil
}
