// Package fold turns the events of a thread into the rows of its timeline (docs/spec/timeline.md).
//
// A [Fold] keeps the rows that are open and forgets those that have settled: its size is that of what is under way. It is
// deterministic, reads no clock, and never fails: what it cannot read changes nothing.
package fold

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// MaxText bounds what is folded into one field of a row. A row is read, sent and drawn as a whole; who wants all of a
// longer output has the events, or the payload with which the item ends.
const MaxText = 1 << 20

// MaxRecent bounds the settled items that may begin anew under their id: as many as an assembler knows of a turn and of
// the thread together.
const MaxRecent = 2048

// The statuses of rows.
const (
	open        = "open"
	completed   = "completed"
	failed      = string(protocol.Failed)
	interrupted = string(protocol.Interrupted)
)

// Fold folds the events of one thread. It belongs to one goroutine.
type Fold struct {
	open    map[string]*Row  // by key
	due     map[*Row]bool    // began or settled since TakeDue
	changed map[*Row]bool    // open, and not as they were last encoded
	recent  map[string]int64 // settled items that may begin anew: the seqs of their rows
	order   []string         // the keys of recent, the oldest first
	frozen  bool
}

// New returns a Fold that goes on with rows that are open, or from the beginning when there are none.
func New(rows ...*Row) *Fold {
	f := &Fold{open: map[string]*Row{}, due: map[*Row]bool{}, changed: map[*Row]bool{}, recent: map[string]int64{}}
	for _, r := range rows {
		f.open[r.key] = r
	}
	return f
}

// Remember says that an item has settled in the row that began with seq, so that it can begin anew.
func (f *Fold) Remember(itemID string, seq int64) {
	if _, known := f.recent[itemID]; !known {
		f.order = append(f.order, itemID)
	}
	f.recent[itemID] = seq
	if len(f.order) > MaxRecent {
		delete(f.recent, f.order[0])
		f.order = f.order[1:]
	}
}

// CatchUp folds an event into the rows that are open and do not show it yet. It begins none: rows are stored together
// with the events that begin and settle them, and only what came in between is not.
func (f *Fold) CatchUp(e *threadapi.Event) {
	f.frozen = true
	f.Apply(e)
	f.frozen = false
}

// TakeDue returns the rows that began or settled since it was last called, in their order.
func (f *Fold) TakeDue() []*Row {
	rows := slices.SortedFunc(maps.Keys(f.due), bySeq)
	clear(f.due)
	for _, r := range rows {
		delete(f.changed, r)
	}
	return rows
}

// ChangedSize is about the size of the open rows that changed since they were last taken.
func (f *Fold) ChangedSize() (size int) {
	for r := range f.changed {
		size += r.size()
	}
	return size
}

// TakeChanged returns the open rows that changed since they were last taken, here or by TakeDue, in their order.
func (f *Fold) TakeChanged() []*Row {
	rows := slices.SortedFunc(maps.Keys(f.changed), bySeq)
	clear(f.changed)
	return rows
}

// Open returns the open rows, in their order.
func (f *Fold) Open() []*Row { return slices.SortedFunc(maps.Values(f.open), bySeq) }

// bySeq has the later of two lives of a row behind the earlier.
func bySeq(a, b *Row) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.LastSeq, b.LastSeq))
}

// The keys of open rows, by what they show.
func itemKey(id string) string        { return "item " + id }
func askKey(id string) string         { return "interaction " + id }
func latestKey(kind, t string) string { return kind + " " + t }

// Apply folds an event. Events come in the order of their seqs.
func (f *Fold) Apply(e *threadapi.Event) {
	switch e.Type {
	case string(assembler.TypeItemText):
		f.text(e)
	case string(assembler.TypeItemOutput):
		f.output(e)
	case string(assembler.TypeItemStarted), string(assembler.TypeItemProgress), string(assembler.TypeItemCompleted):
		f.item(e)
	case string(assembler.TypeTodo):
		f.latest(e, threadapi.RowTodo)
	case string(assembler.TypeUsage):
		f.latest(e, threadapi.RowUsage)
	case string(assembler.TypeTurnStarted):
		f.settleLatest(e, "") // what belonged to no turn was before this one
	case string(assembler.TypeTurnCompleted):
		f.turn(e)
	case threadapi.EventInputSent:
		var p threadapi.InputSent
		if json.Unmarshal(e.Payload, &p) == nil && len(p.Input) > 0 {
			f.fact(e, threadapi.RowUser, completed)
		}
	case threadapi.EventThreadSession:
		var p threadapi.SessionChange
		if json.Unmarshal(e.Payload, &p) == nil && p.ContextLost {
			f.fact(e, threadapi.RowNotice, completed)
		}
	case string(assembler.TypeProviderError), string(assembler.TypeProviderWarning), string(assembler.TypeModelFallback),
		string(assembler.TypeInputFailed), string(assembler.TypeContextCleared), threadapi.EventThreadForked, threadapi.EventThreadGoal:
		f.fact(e, threadapi.RowNotice, completed)
	case threadapi.EventInteractionOpened:
		f.opened(e)
	case threadapi.EventInteractionResolved:
		f.resolved(e)
	}
}

// row returns the open row with a key that an event changes, or nil.
func (f *Fold) row(key string, e *threadapi.Event) *Row {
	r := f.open[key]
	if r == nil || e.Seq <= r.LastSeq {
		return nil
	}
	r.LastSeq = e.Seq
	f.changed[r] = true
	return r
}

// begin opens a row, or returns nil while none may begin.
func (f *Fold) begin(key, id, kind string, e *threadapi.Event) *Row {
	if f.frozen {
		return nil
	}
	if id == "" {
		id = "seq-" + strconv.FormatInt(e.Seq, 10)
	}
	r := &Row{key: key, Row: threadapi.Row{
		ID: id, Seq: e.Seq, LastSeq: e.Seq, Kind: kind, Status: open, TurnID: e.Scope.TurnID, ParentID: e.ParentItemID, StartedAt: e.At, Data: e.Payload,
	}}
	f.open[key] = r
	f.due[r] = true
	return r
}

func (f *Fold) settle(r *Row, status string, at time.Time) {
	r.Status, r.SettledAt = status, &at
	delete(f.open, r.key)
	delete(f.changed, r)
	f.due[r] = true
}

// fact is the row of one event.
func (f *Fold) fact(e *threadapi.Event, kind, status string) {
	if r := f.begin("fact", "", kind, e); r != nil {
		r.Type = e.Type
		f.settle(r, status, e.At)
	}
}

// latest is the row of a turn that shows the last event of a type.
func (f *Fold) latest(e *threadapi.Event, kind string) {
	key := latestKey(kind, e.Scope.TurnID)
	r := f.row(key, e)
	if r == nil && f.open[key] == nil {
		if r = f.begin(key, "", kind, e); r != nil {
			r.Type = e.Type
		}
	}
	if r != nil {
		r.Data, r.ParentID = e.Payload, e.ParentItemID
	}
}

// settleLatest ends the todo and usage rows of a turn.
func (f *Fold) settleLatest(e *threadapi.Event, turn string) {
	if f.frozen {
		return
	}
	for _, kind := range []string{threadapi.RowTodo, threadapi.RowUsage} {
		if r := f.open[latestKey(kind, turn)]; r != nil {
			f.settle(r, completed, e.At)
		}
	}
}

// turn ends a turn. It has a row of its own only when it did not end well.
func (f *Fold) turn(e *threadapi.Event) {
	f.settleLatest(e, e.Scope.TurnID)
	var p struct {
		Status string `json:"status"`
	}
	if json.Unmarshal(e.Payload, &p) != nil {
		return
	}
	switch p.Status {
	case failed, interrupted:
		f.fact(e, threadapi.RowTurn, p.Status)
	}
}

// asked is the data of the row of an interaction.
type asked struct {
	Request    json.RawMessage `json:"request"`
	Resolution json.RawMessage `json:"resolution"`
	By         *string         `json:"by"`
}

func (f *Fold) opened(e *threadapi.Event) {
	var p threadapi.InteractionOpened
	if json.Unmarshal(e.Payload, &p) != nil || p.InteractionID == "" || f.open[askKey(p.InteractionID)] != nil {
		return
	}
	if r := f.begin(askKey(p.InteractionID), p.InteractionID, threadapi.RowInteraction, e); r != nil {
		r.Data = encode(asked{Request: p.Request})
	}
}

func (f *Fold) resolved(e *threadapi.Event) {
	var p threadapi.InteractionResolved
	if json.Unmarshal(e.Payload, &p) != nil {
		return
	}
	r := f.row(askKey(p.InteractionID), e)
	if r == nil {
		return
	}
	var data asked
	var answer struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(r.Data, &data) // written above
	_ = json.Unmarshal(p.Resolution, &answer)
	data.Resolution, data.By = p.Resolution, &p.By
	r.Data = encode(data)
	status := completed
	if answer.Kind == interrupted {
		status = interrupted
	}
	f.settle(r, status, e.At)
}

// item begins, changes or settles an item.
func (f *Fold) item(e *threadapi.Event) {
	var p struct {
		Status       string          `json:"status"`
		Message      *string         `json:"message"`
		Item         json.RawMessage `json:"item"`
		Presentation json.RawMessage `json:"presentation"`
		Partial      bool            `json:"partial"`
	}
	if json.Unmarshal(e.Payload, &p) != nil || e.ItemID == "" {
		return
	}
	ends := e.Type == string(assembler.TypeItemCompleted)
	key := itemKey(e.ItemID)
	known := f.open[key] != nil
	r := f.row(key, e)
	if !known {
		settled, again := f.recent[e.ItemID]
		if e.Type == string(assembler.TypeItemProgress) || ends && again {
			return
		}
		if r = f.begin(key, e.ItemID, "", e); r == nil {
			return
		}
		r.Data, r.base = nil, json.RawMessage("{}")
		if again {
			r.Seq = settled // the same row, from the beginning
		}
	}
	if r == nil {
		return
	}
	switch {
	case !isObject(p.Item):
	case ends && p.Partial:
		r.keep(p.Item)
	default:
		r.replace(p.Item)
	}
	if isObject(p.Presentation) {
		r.present(p.Presentation)
	}
	if p.Message != nil {
		r.Detail = *p.Message
	}
	if !ends {
		return
	}
	r.Partial = p.Partial
	switch p.Status {
	case failed, interrupted:
		f.settle(r, p.Status, e.At)
	default:
		f.settle(r, completed, e.At)
	}
	f.Remember(e.ItemID, r.Seq)
}

func (f *Fold) text(e *threadapi.Event) {
	var p assembler.ItemText
	if json.Unmarshal(e.Payload, &p) != nil {
		return
	}
	if r := f.row(itemKey(e.ItemID), e); r != nil {
		if p.Stream == protocol.Summary {
			r.summary.add(p.Text)
		} else {
			r.text.add(p.Text)
		}
	}
}

func (f *Fold) output(e *threadapi.Event) {
	var p assembler.ItemOutput
	if json.Unmarshal(e.Payload, &p) != nil {
		return
	}
	if r := f.row(itemKey(e.ItemID), e); r != nil {
		if p.Mode == protocol.Replace {
			r.output = folded{changed: true}
		}
		r.output.add(p.Text)
	}
}
