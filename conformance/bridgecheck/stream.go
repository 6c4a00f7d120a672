package bridgecheck

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// breach is a rule that a line broke.
type breach struct {
	rule   string
	at     int // index of the line
	detail string
}

// stream grades what a bridge sends, delta by delta. Unlike core it goes on with what a rejected delta meant: its item is
// open, its turn has begun. So each breach counts once, under the rule that names it best.
type stream struct {
	kinds    *extension.Kinds
	threads  map[string]*threadState
	breaches []breach
	at       int
}

// threadState is what a stream knows about a thread.
type threadState struct {
	vouched map[string]bool // turn keys that a turn.open brought
	open    bool            // a turn is open
	turn    map[string]*itemState
	thread  map[string]*itemState
	keys    map[string]bool // of every item that was ever opened
}

type itemState struct{ settled bool }

// grade finds every breach of the rules about deltas in the lines of one process.
func grade(lines []line, kinds *extension.Kinds) []breach {
	s := &stream{kinds: kinds, threads: map[string]*threadState{}}
	for i := range lines {
		l := &lines[i]
		if l.sent || l.dropped != nil {
			continue
		}
		s.at = i
		switch l.msg.Method {
		case protocol.MethodThreadDelta:
			s.params(l)
		case protocol.MethodToolCall, protocol.MethodInteractionRequest:
			s.request(l)
		}
	}
	return s.breaches
}

func (s *stream) addf(rule, format string, args ...any) {
	s.breaches = append(s.breaches, breach{rule: rule, at: s.at, detail: fmt.Sprintf(format, args...)})
}

func (s *stream) state(thread string) *threadState {
	t := s.threads[thread]
	if t == nil {
		t = &threadState{vouched: map[string]bool{}, turn: map[string]*itemState{}, thread: map[string]*itemState{}, keys: map[string]bool{}}
		s.threads[thread] = t
	}
	return t
}

// params grades a thread/delta.
func (s *stream) params(l *line) {
	var fields map[string]json.RawMessage
	if l.msg.Kind != wire.NotificationKind || json.Unmarshal(l.msg.Params, &fields) != nil {
		s.addf(eventsSchemaValid, "thread/delta is not a notification with an object of params")
		return
	}
	for name := range fields {
		if name != "threadId" && name != "deltas" {
			s.addf(eventsSchemaValid, "thread/delta has the unknown field %q", name)
		}
	}
	var thread string
	if json.Unmarshal(fields["threadId"], &thread) != nil || thread == "" {
		s.addf(eventsSchemaValid, "thread/delta has no threadId")
	}
	var list []json.RawMessage
	if isNull(fields["deltas"]) || json.Unmarshal(fields["deltas"], &list) != nil {
		s.addf(eventsSchemaValid, "thread/delta has no array deltas")
	}
	for i := range l.deltas {
		s.delta(i, &l.deltas[i])
	}
}

// request grades the turn key of a request.
func (s *stream) request(l *line) {
	var p struct {
		ThreadID string  `json:"threadId"`
		TurnKey  *string `json:"turnKey"`
	}
	if json.Unmarshal(l.msg.Params, &p) == nil && p.TurnKey != nil {
		s.vouch(l.msg.Method, p.ThreadID, *p.TurnKey)
	}
}

// delta grades one delta and applies it.
func (s *stream) delta(index int, d *delta) {
	name := fmt.Sprintf("deltas[%d] %s", index, d.kind)
	s.form(name, d)
	t := s.state(d.thread)
	switch {
	case d.kind == protocol.KindTurnOpen:
		if d.turnKey != nil {
			t.vouched[*d.turnKey] = true
		}
		t.open = true
		t.turn = map[string]*itemState{}
	case d.kind == protocol.KindTurnBoundary:
		// A boundary may bring a key of its own: that of a turn without work.
	case d.turnKey != nil:
		s.vouch(name, d.thread, *d.turnKey)
	}
	if d.key != "" {
		s.item(name, t, d)
	}
	if d.settlesTurn() {
		t.open = false
		for _, i := range t.turn {
			i.settled = true
		}
	}
	switch d.kind {
	case protocol.KindSessionEnded, protocol.KindSessionReset:
		t.turn, t.thread = map[string]*itemState{}, map[string]*itemState{}
	}
}

// form grades the shape of a delta: the special rules first, what is left is events/schema-valid.
func (s *stream) form(name string, d *delta) {
	explained := map[string]bool{} // fields whose problems have a rule of their own
	if scoped(d.kind) {
		if problem := d.scopeProblem(); problem != "" {
			s.addf(scopeExplicit, "%s %s", name, problem)
			explained["scope"], explained["turnKey"] = true, true
		}
	}
	if (d.kind == protocol.KindItemOpen || d.kind == protocol.KindItemClose) && isNull(d.fields["presentation"]) {
		s.addf(itemPresentation, "%s has no presentation", name)
		explained["presentation"] = true
	}
	parsed, err := protocol.ParseDelta(d.raw)
	if err == nil {
		s.extension(name, parsed)
		return
	}
	for _, issue := range err.Issues {
		if field, _, _ := strings.Cut(issue.Path, "."); !explained[field] {
			s.addf(eventsSchemaValid, "%s: %s", name, issue)
			return
		}
	}
	if len(err.Issues) == 0 {
		s.addf(eventsSchemaValid, "%s: %s", name, err.Error())
	}
}

// extension grades items and states of kinds that are not core's.
func (s *stream) extension(name string, d protocol.Delta) {
	var item protocol.Item
	switch d := d.(type) {
	case *protocol.ExtensionState:
		if err := s.kinds.CheckState(d.Name, d.Payload); err != nil {
			s.addf(itemExtensionKind, "%s: %v", name, err)
		}
	case *protocol.ItemOpen:
		item = d.Item
	case *protocol.ItemProgress:
		item = d.Item
	case *protocol.ItemClose:
		item = d.Item
	}
	if e, ok := item.(*protocol.Extension); ok && e != nil {
		if err := s.kinds.CheckItem(e.Name, e.Payload); err != nil {
			s.addf(itemExtensionKind, "%s: %v", name, err)
		}
	}
}

// vouch grades a turn key that is used.
func (s *stream) vouch(name, thread, key string) {
	if s.state(thread).vouched[key] {
		return
	}
	for other, t := range s.threads {
		if other != thread && t.vouched[key] {
			s.addf(threadsIndependent, "%s of thread %s has the turnKey %q, which is of thread %s", name, thread, key, other)
			return
		}
	}
	s.addf(turnVouchedKeys, "%s has the turnKey %q, which no turn.open of the thread brought", name, key)
}

// item grades and applies what a delta does to its item.
func (s *stream) item(name string, t *threadState, d *delta) {
	items := t.turn
	if d.string("scope") == "thread" {
		items = t.thread
	}
	known := t.turn[d.key]
	if known == nil {
		known = t.thread[d.key]
	}
	switch d.kind {
	case protocol.KindItemOpen:
		t.keys[d.key] = true
		if known == nil {
			items[d.key] = &itemState{}
		} else {
			known.settled = false // in its scope an item may be opened again
		}
	case protocol.KindItemText, protocol.KindItemProgress, protocol.KindItemOutput:
		switch {
		case known != nil && known.settled:
			s.addf(itemSettlesOnce, "%s is for the item %s, which is settled", name, show(d.key))
		case known == nil && d.kind != protocol.KindItemOutput: // output may come before its item is opened
			s.unopened(name, d)
		}
	case protocol.KindItemClose:
		switch {
		case known == nil: // a close brings all that the item is
			items[d.key] = &itemState{settled: true}
		case known.settled:
			s.addf(itemSettlesOnce, "%s settles the item %s a second time", name, show(d.key))
		default:
			known.settled = true
		}
	}
}

// unopened grades text or progress for a key that is not open here.
func (s *stream) unopened(name string, d *delta) {
	for other, t := range s.threads {
		if other != d.thread && t.keys[d.key] {
			s.addf(threadsIndependent, "%s of thread %s is for the item %s, which is of thread %s", name, d.thread, show(d.key), other)
			return
		}
	}
	s.addf(itemOpensFirst, "%s is for the item %s, which was not opened", name, show(d.key))
}

// show makes a key string readable.
func show(key string) string { return strings.ReplaceAll(key, protocol.ItemKeySeparator, "/") }
