package assembler_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// source turns bytes into choices. When they end every choice is the first.
type source struct{ data []byte }

func (s *source) pick(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := int(s.data[0])
	s.data = s.data[1:]
	return b % n
}

func (s *source) word(words ...string) string { return words[s.pick(len(words))] }

func (s *source) scope() protocol.Scope {
	switch s.pick(6) {
	case 0:
		return protocol.Scope{Thread: true}
	case 1:
		return protocol.Scope{Turn: "a"}
	case 2:
		return protocol.Scope{Turn: "b"}
	}
	return protocol.Scope{}
}

func (s *source) key() protocol.ItemKey {
	return protocol.ItemKey{ProviderItemID: s.word("a", "b", "c", "d"), Channel: s.word("", "", "", "x"),
		ParentRef: s.word("", "", "", "a", "b", "c", "d\x1f\x1f")}
}

func (s *source) item() protocol.Item {
	switch s.pick(9) {
	case 0:
		return message(s.word("", "a", "aa"))
	case 1:
		return command("c")
	case 2:
		return tool("t")
	case 3:
		return task("k")
	case 4:
		return &protocol.FileChange{}
	case 5:
		return &protocol.Reasoning{}
	case 6:
		return &protocol.Plan{}
	case 7:
		return &protocol.Compaction{}
	}
	return message("")
}

func (s *source) status() protocol.Status {
	return protocol.Status(s.word("completed", "failed", "interrupted"))
}

func (s *source) delta() protocol.Delta {
	switch s.pick(24) {
	case 0, 1:
		return &protocol.TurnOpen{TurnKey: null(s.word("", "a", "b"))}
	case 2, 3:
		return &protocol.TurnBoundary{TurnKey: null(s.word("", "", "a", "b", "z")), Status: s.status()}
	case 4, 5:
		return accepted(s.word("c1", "c2", "c3", "s1", "s2"))
	case 6, 7, 8:
		return &protocol.ItemOpen{Scope: s.scope(), Key: s.key(), Item: s.item(), Presentation: shown("Doing")}
	case 9, 10, 11:
		return &protocol.ItemText{Scope: s.scope(), Key: s.key(), Stream: protocol.TextStream(s.word("text", "text", "summary")), Text: s.word("a", "b", "")}
	case 12, 13:
		return &protocol.ItemOutput{Scope: s.scope(), Key: s.key(), Mode: protocol.OutputMode(s.word("append", "replace")), Text: s.word("a", "b")}
	case 14:
		p := &protocol.ItemProgress{Scope: s.scope(), Key: s.key()}
		if s.pick(2) == 0 {
			p.Item = s.item()
		}
		return p
	case 15, 16:
		return &protocol.ItemClose{Scope: s.scope(), Key: s.key(), Status: s.status(), Item: s.item(), Presentation: shown("Did")}
	case 17:
		return &protocol.Usage{TurnKey: null(s.word("", "a", "b")), Last: tokens(1)}
	case 18:
		return &protocol.Todo{TurnKey: null(s.word("", "a", "b"))}
	case 19:
		return &protocol.ProviderError{Scope: s.scope(), Category: protocol.ErrorUnknown, SettlesTurn: s.pick(2) == 0}
	case 20:
		return &protocol.ProviderWarning{Scope: s.scope(), Category: protocol.WarningGeneral, Summary: protocol.Ptr(s.word("v", "w"))}
	case 21:
		return &protocol.RateLimits{}
	case 22:
		return &protocol.ProviderUnhandled{Scope: s.scope(), RawType: "r", Raw: json.RawMessage(`1`)}
	}
	if s.pick(2) == 0 {
		return &protocol.SessionEnded{}
	}
	return &protocol.SessionReset{}
}

// model follows events and says what they break.
type model struct {
	t       *testing.T
	clean   bool              // the deltas passed the grammar
	items   map[string]string // id: open, settled
	keys    map[string]string // id: its providerItemId
	parents map[string]string
	turns   map[string]string // id: waiting, spare, open, settled
	inputs  map[string]string // steering input: waiting, settled
	known   map[string]string // key string: the turn it belongs to, "" the thread
	open    string            // the open turn
	n       int               // unhandled since turn.started
	all     bytes.Buffer
}

func newModel(t *testing.T, clean bool) *model {
	return &model{t: t, clean: clean, items: map[string]string{}, keys: map[string]string{}, parents: map[string]string{},
		turns: map[string]string{}, inputs: map[string]string{}, known: map[string]string{}}
}

func (m *model) check(ok bool, format string, args ...any) {
	m.t.Helper()
	if !ok {
		m.t.Fatalf(format, args...)
	}
}

// see follows the events of one call; d is its delta, nil for other calls.
func (m *model) see(d protocol.Delta, events []assembler.Event) {
	content, phase := 0, 0
	var settled []string
	for _, e := range events {
		raw, err := json.Marshal(e)
		m.check(err == nil, "%v", err)
		m.all.Write(append(raw, '\n'))
		line := show(m.t, e)
		now := 1
		switch p := e.Payload.(type) {
		case *assembler.TurnStarted:
			now = 3
			want := "waiting"
			if p.Origin == assembler.OriginAgent {
				want = "spare"
			}
			m.check(m.turns[e.Scope.TurnID] == want, "%s: was not handed in", line)
			m.check(m.open == "", "%s: %s is open", line, m.open)
			m.turns[e.Scope.TurnID], m.open, m.n = "open", e.Scope.TurnID, 0
		case *assembler.TurnCompleted:
			now = 3
			id := e.Scope.TurnID
			m.check(m.turns[id] == "open" || m.turns[id] == "waiting", "%s: is %s", line, m.turns[id])
			m.check((p.Status == assembler.Merged) == (p.MergedInto != nil), "%s", line)
			if m.turns[id] == "open" {
				m.open = ""
				for item, state := range m.items {
					m.check(state != "open "+id, "%s: %s is open", line, item)
				}
				for k, turn := range m.known {
					if turn == id {
						delete(m.known, k)
					}
				}
			}
			m.turns[id] = "settled"
		case *assembler.InputAccepted:
			now = 3
			m.check(e.Scope.TurnID == m.open && m.open != "", "%s", line)
			if m.inputs[p.ClientRequestID] != "" {
				m.check(m.inputs[p.ClientRequestID] == "waiting", "%s: twice", line)
				m.inputs[p.ClientRequestID] = "settled"
			}
		case *assembler.InputFailed:
			now = 3
			m.check(m.inputs[p.ClientRequestID] == "waiting", "%s", line)
			m.inputs[p.ClientRequestID] = "settled"
		case *assembler.ItemStarted:
			content++
			m.born(e, p.Item.ProviderItemID, line)
			m.items[e.ItemID] = "open " + e.Scope.TurnID
		case *assembler.ItemCompleted:
			if p.Partial {
				now = 2
				if p.Status == protocol.Completed {
					now = 0
				} else {
					settled = append(settled, e.ItemID)
				}
				m.check(m.items[e.ItemID] == "open "+e.Scope.TurnID, "%s: not open", line)
			} else if m.items[e.ItemID] != "open "+e.Scope.TurnID {
				m.check(m.items[e.ItemID] == "", "%s: settled twice", line)
				m.born(e, p.Item.ProviderItemID, line)
			}
			m.items[e.ItemID] = "settled"
		case *assembler.ItemText, *assembler.ItemOutput, *assembler.ItemProgress:
			content++
			m.check(m.items[e.ItemID] == "open "+e.Scope.TurnID, "%s: not open", line)
		default:
			content++
			m.check(e.Scope.TurnID == "" || e.Scope.TurnID == m.open, "%s: open is %q", line, m.open)
			u, ok := p.(*assembler.Unhandled)
			if ok {
				m.n++
				m.check(m.n <= assembler.MaxUnhandled+1, "%d unhandled", m.n)
			}
			if ok && u.Rule != nil && m.clean {
				_, known := m.known[keyOf(d)]
				m.check(!known, "%s: of a known item", line)
			}
		}
		m.check(now >= phase, "%s: out of order", line)
		phase = now
		if k := keyOf(d); k != "" && now == 1 && e.ItemID != "" {
			m.known[k] = e.Scope.TurnID
		}
	}
	m.check(content <= 1, "%d content events", content)
	for i, id := range settled {
		for _, earlier := range settled[:i] {
			m.check(m.parents[id] != earlier, "%s settled before its child %s", earlier, id)
		}
	}
	if _, ok := d.(*protocol.SessionReset); ok {
		clear(m.known)
	}
}

func (m *model) born(e assembler.Event, provider, line string) {
	m.check(strings.HasPrefix(e.ItemID, "e-"), "%s", line)
	m.check(m.items[e.ItemID] == "" || m.items[e.ItemID] == "settled" && m.keys[e.ItemID] == provider, "%s: not unique", line)
	m.keys[e.ItemID], m.parents[e.ItemID] = provider, e.ParentItemID
	for id, n := e.ParentItemID, 0; id != ""; id, n = m.parents[id], n+1 {
		m.check(id != e.ItemID && n < 1000, "%s: parents form a circle", line)
	}
}

func keyOf(d protocol.Delta) string {
	switch d := d.(type) {
	case *protocol.ItemOpen:
		return d.Key.String()
	case *protocol.ItemText:
		return d.Key.String()
	case *protocol.ItemOutput:
		return d.Key.String()
	case *protocol.ItemProgress:
		return d.Key.String()
	case *protocol.ItemClose:
		return d.Key.String()
	}
	return ""
}

// play runs what the bytes say and returns all events as JSON.
func play(t *testing.T, data []byte) string {
	s := &source{data: data}
	m := newModel(t, s.pick(4) > 0)
	a := assembler.New(assembler.Options{ThreadID: "th", Entropy: "e"})
	g := grammar.New(nil)
	for turn := 1; len(s.data) > 0; {
		switch s.pick(10) {
		case 0: // a request with its turn id
			id, input := fmt.Sprint("T", turn), s.word("c1", "c2", "c3")
			turn++
			if a.Expect(id, input) == nil {
				m.turns[id] = "waiting"
			}
		case 1:
			switch s.pick(6) {
			case 0, 1:
				id := fmt.Sprint("T", turn)
				turn++
				if a.Spare(id) == nil {
					m.turns[id] = "spare"
				}
			case 2:
				input := s.word("s1", "s2")
				if m.inputs[input] != "waiting" && a.ExpectInput(input) == nil {
					m.inputs[input] = "waiting"
				}
			case 3:
				m.see(nil, a.Withdraw(at, fmt.Sprint("T", s.pick(turn)), "withdrawn"))
			case 4:
				m.see(nil, a.WithdrawInput(at, s.word("s1", "s2"), "withdrawn"))
			case 5:
				k := s.key()
				first, ok := a.ItemID(s.scope(), k)
				second, again := a.ItemID(protocol.Scope{}, k)
				m.check(!ok || !again || first == second, "ids %s and %s of one key", first, second)
			}
		default:
			d := s.delta()
			if g.Check(protocol.DecodedDelta{Delta: d}) != nil && m.clean {
				continue
			}
			m.see(d, a.Apply(d, at))
		}
	}
	m.see(nil, a.Settle(at, "end"))
	for id, state := range m.items {
		m.check(state == "settled", "%s is %s", id, state)
	}
	for id, state := range m.turns {
		m.check(state == "settled" || state == "spare", "turn %s is %s", id, state)
	}
	for id, state := range m.inputs {
		m.check(state == "settled", "input %s is %s", id, state)
	}
	return m.all.String()
}

func FuzzAssembler(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x01\x00\x00\x05\x00\x05\x06\x03\x00\x00\x00"))
	for i := range 40 { // long enough to get somewhere
		var b []byte
		for j := range 400 {
			b = append(b, byte(i*31+j*j*7+j*i*13+j>>3))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if first, second := play(t, data), play(t, data); first != second {
			t.Fatal("the same input gave other events")
		}
	})
}
