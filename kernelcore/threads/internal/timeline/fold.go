package timeline

import (
	"encoding/json"
	"slices"
	"sort"
	"strconv"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// The statuses of rows.
const (
	statusOpen        = "open"
	statusCompleted   = "completed"
	statusInterrupted = "interrupted"
)

// maxRecent bounds the items of a turn that have ended and may begin again: as an assembler does.
const maxRecent = 1024

// fold turns events into rows. It keeps what is open, and of what has ended only what a later event can still change.
type fold struct {
	items  map[string]*folded        // open items, by id
	asks   map[string]*threadapi.Row // open interactions, by id
	facts  map[string]*threadapi.Row // the todo and usage rows of the turns, by kind and turn
	recent map[string]*threadapi.Row // items of the open turns that have ended, by id
}

// folded is an open item.
type folded struct {
	row                   threadapi.Row
	item                  map[string]json.RawMessage // its last payload
	presentation          json.RawMessage
	text, summary, output []byte // with what came since
}

func newFold() *fold {
	return &fold{items: map[string]*folded{}, asks: map[string]*threadapi.Row{}, facts: map[string]*threadapi.Row{}, recent: map[string]*threadapi.Row{}}
}

// presentation is how an item is shown.
type presentation struct {
	Label, Icon, Title, Detail, Tint string
	Suppress                         bool
}

// apply folds an event and returns the rows that began, ended or otherwise have to be stored: streamed text alone changes
// nothing in the store.
func (f *fold) apply(e *threadapi.Event) []*threadapi.Row {
	switch e.Type {
	case "item.text":
		f.text(e)
	case "item.output":
		f.output(e)
	case "item.started", "item.progress", "item.completed":
		return f.item(e)
	case threadapi.EventInputSent:
		var p threadapi.InputSent
		if json.Unmarshal(e.Payload, &p) != nil || len(p.Input) == 0 {
			return nil
		}
		return f.fact(e, threadapi.RowUser, statusCompleted)
	case "thread.todo":
		return f.latest(e, threadapi.RowTodo)
	case "thread.usage":
		return f.latest(e, threadapi.RowUsage)
	case "turn.completed":
		return f.turn(e)
	case "provider.error", "provider.warning", "provider.modelFallback", "turn.input_failed",
		threadapi.EventThreadForked, threadapi.EventThreadGoal:
		return f.fact(e, threadapi.RowNotice, statusCompleted)
	case threadapi.EventThreadSession:
		var p threadapi.SessionChange
		if json.Unmarshal(e.Payload, &p) == nil && p.ContextLost {
			return f.fact(e, threadapi.RowNotice, statusCompleted)
		}
	case threadapi.EventInteractionOpened, threadapi.EventInteractionResolved:
		return f.interaction(e)
	}
	return nil
}

// row begins a row.
func row(e *threadapi.Event, id, kind, status string) threadapi.Row {
	if id == "" {
		id = "seq-" + strconv.FormatInt(e.Seq, 10)
	}
	r := threadapi.Row{
		ID: id, Seq: e.Seq, LastSeq: e.Seq, Kind: kind, Status: status, TurnID: e.Scope.TurnID, ParentID: e.ParentItemID, StartedAt: e.At, Data: e.Payload,
	}
	if status != statusOpen {
		r.SettledAt = &e.At
	}
	return r
}

// fact is a row of one event.
func (f *fold) fact(e *threadapi.Event, kind, status string) []*threadapi.Row {
	r := row(e, "", kind, status)
	return []*threadapi.Row{&r}
}

// latest is the row of a turn that shows only the last event of a type.
func (f *fold) latest(e *threadapi.Event, kind string) []*threadapi.Row {
	key := kind + " " + e.Scope.TurnID
	r := f.facts[key]
	if r == nil {
		begun := row(e, "", kind, statusCompleted)
		r = &begun
		f.facts[key] = r
	}
	r.LastSeq, r.SettledAt, r.Data = e.Seq, &e.At, e.Payload
	copied := *r
	return []*threadapi.Row{&copied}
}

// turn ends a turn. It has a row of its own only when it did not end well.
func (f *fold) turn(e *threadapi.Event) []*threadapi.Row {
	turn := e.Scope.TurnID
	delete(f.facts, threadapi.RowTodo+" "+turn)
	delete(f.facts, threadapi.RowUsage+" "+turn)
	for id, r := range f.recent {
		if r.TurnID == turn {
			delete(f.recent, id)
		}
	}
	var p struct{ Status string }
	if json.Unmarshal(e.Payload, &p) != nil {
		return nil
	}
	switch p.Status {
	case statusCompleted, "merged":
		return nil
	case statusInterrupted:
		return f.fact(e, threadapi.RowTurn, statusInterrupted)
	}
	return f.fact(e, threadapi.RowTurn, "failed")
}

// interaction opens or ends the row of an interaction.
func (f *fold) interaction(e *threadapi.Event) []*threadapi.Row {
	var p struct {
		InteractionID string          `json:"interactionId"`
		Request       json.RawMessage `json:"request"`
		Resolution    json.RawMessage `json:"resolution"`
		By            string          `json:"by"`
	}
	if json.Unmarshal(e.Payload, &p) != nil || p.InteractionID == "" {
		return nil
	}
	if e.Type == threadapi.EventInteractionOpened {
		r := row(e, p.InteractionID, threadapi.RowInteraction, statusOpen)
		r.Data = object(map[string]json.RawMessage{"request": p.Request, "resolution": nil, "by": nil})
		f.asks[r.ID] = &r
		copied := r
		return []*threadapi.Row{&copied}
	}
	r := f.asks[p.InteractionID]
	if r == nil {
		return nil
	}
	delete(f.asks, p.InteractionID)
	var was struct {
		Request json.RawMessage `json:"request"`
	}
	_ = json.Unmarshal(r.Data, &was) // written above
	by, _ := encode(p.By)
	var res struct{ Kind string }
	_ = json.Unmarshal(p.Resolution, &res)
	r.Status = statusCompleted
	if res.Kind == statusInterrupted {
		r.Status = statusInterrupted
	}
	r.LastSeq, r.SettledAt = e.Seq, &e.At
	r.Data = object(map[string]json.RawMessage{"request": was.Request, "resolution": p.Resolution, "by": by})
	return []*threadapi.Row{r}
}

// object encodes an object; absent values are null.
func object(fields map[string]json.RawMessage) json.RawMessage {
	for k, v := range fields {
		if len(v) == 0 {
			fields[k] = json.RawMessage("null")
		}
	}
	raw, err := encode(fields)
	if err != nil {
		return json.RawMessage("{}") // what was decoded encodes
	}
	return raw
}

// item begins, changes or ends an item.
func (f *fold) item(e *threadapi.Event) []*threadapi.Row {
	var p struct {
		Status       string                     `json:"status"`
		Message      *string                    `json:"message"`
		Item         map[string]json.RawMessage `json:"item"`
		Presentation json.RawMessage            `json:"presentation"`
		Partial      bool                       `json:"partial"`
	}
	if json.Unmarshal(e.Payload, &p) != nil || e.ItemID == "" {
		return nil
	}
	it := f.items[e.ItemID]
	if it == nil {
		if e.Type == "item.progress" {
			return nil
		}
		it = &folded{row: row(e, e.ItemID, "", statusOpen)}
		if old := f.recent[e.ItemID]; old != nil { // it begins again
			it.row.Seq, it.row.StartedAt = old.Seq, old.StartedAt
			delete(f.recent, e.ItemID)
		}
		f.items[e.ItemID] = it
	}
	it.row.LastSeq = e.Seq
	if p.Item != nil && !(e.Type == "item.completed" && p.Partial && it.item != nil) {
		it.replace(p.Item)
	}
	if p.Message != nil {
		it.row.Detail = *p.Message
	}
	if len(p.Presentation) > 0 && string(p.Presentation) != "null" {
		it.presentation = p.Presentation
		var show presentation
		if json.Unmarshal(p.Presentation, &show) == nil {
			it.row.Label, it.row.Icon, it.row.Title, it.row.Tint, it.row.Suppress = show.Label, show.Icon, show.Title, show.Tint, show.Suppress
			if show.Detail != "" || p.Message == nil {
				it.row.Detail = show.Detail
			}
		}
	}
	if e.Type == "item.completed" {
		it.row.Status, it.row.Partial, it.row.SettledAt = p.Status, p.Partial, &e.At
		delete(f.items, e.ItemID)
		out := it.rendered()
		if len(f.recent) < maxRecent {
			f.recent[e.ItemID] = &threadapi.Row{Seq: out.Seq, StartedAt: out.StartedAt, TurnID: out.TurnID}
		}
		return []*threadapi.Row{out}
	}
	if e.Type == "item.started" {
		return []*threadapi.Row{it.rendered()}
	}
	return nil
}

// The fields that text, summary and output are folded into, by kind.
func foldedFields(kind string) (text, summary, output string) {
	switch kind {
	case threadapi.RowMessage, threadapi.RowPlan:
		return "text", "", ""
	case threadapi.RowReasoning:
		return "text", "summary", ""
	case threadapi.RowCommand:
		return "", "", "output"
	case threadapi.RowTool:
		return "", "", "result"
	case threadapi.RowTask:
		return "", "", "summary"
	}
	return "", "", ""
}

// replace takes a whole payload in the place of what was folded.
func (it *folded) replace(item map[string]json.RawMessage) {
	it.item = item
	var kind string
	_ = json.Unmarshal(item["kind"], &kind) // "" is shown as such
	it.row.Kind = kind
	text, summary, output := foldedFields(kind)
	value := func(name string) []byte {
		var s *string
		if name == "" || json.Unmarshal(item[name], &s) != nil || s == nil {
			return nil
		}
		return []byte(*s)
	}
	it.text, it.summary, it.output = value(text), value(summary), value(output)
}

// rendered returns the row with what was folded.
func (it *folded) rendered() *threadapi.Row {
	r := it.row
	fields := make(map[string]json.RawMessage, len(it.item))
	for k, v := range it.item {
		fields[k] = v
	}
	put := func(name string, value []byte) {
		if name == "" || value == nil {
			return
		}
		if raw, err := encode(string(value)); err == nil {
			fields[name] = raw
		}
	}
	text, summary, output := foldedFields(r.Kind)
	put(text, it.text)
	put(summary, it.summary)
	put(output, it.output)
	r.Data = object(fields)
	return &r
}

// text appends to the text or summary of an item.
func (f *fold) text(e *threadapi.Event) {
	it := f.items[e.ItemID]
	var p struct{ Stream, Text string }
	if it == nil || json.Unmarshal(e.Payload, &p) != nil {
		return
	}
	it.row.LastSeq = e.Seq
	if p.Stream == "summary" {
		it.summary = append(it.summary, p.Text...)
	} else {
		it.text = append(it.text, p.Text...)
	}
}

// output appends to the output of an item, or replaces it.
func (f *fold) output(e *threadapi.Event) {
	it := f.items[e.ItemID]
	var p struct{ Mode, Text string }
	if it == nil || json.Unmarshal(e.Payload, &p) != nil {
		return
	}
	it.row.LastSeq = e.Seq
	if p.Mode == "replace" {
		it.output = it.output[:0]
	}
	it.output = append(it.output, p.Text...)
}

// open returns the rows that are open, as they are now.
func (f *fold) open() map[int64]*threadapi.Row {
	rows := make(map[int64]*threadapi.Row, len(f.items)+len(f.asks))
	for _, it := range f.items {
		rows[it.row.Seq] = it.rendered()
	}
	for _, r := range f.asks {
		copied := *r
		rows[r.Seq] = &copied
	}
	return rows
}

// openItems returns the items that are open, in the order in which they began.
func (f *fold) openItems() []OpenItem {
	all := make([]*folded, 0, len(f.items))
	for _, it := range f.items {
		all = append(all, it)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].row.Seq < all[j].row.Seq })
	out := make([]OpenItem, 0, len(all))
	for _, it := range slices.Backward(all) { // children before their parents
		show := it.presentation
		if len(show) == 0 {
			show = json.RawMessage("null")
		}
		out = append(out, OpenItem{ItemID: it.row.ID, ParentItemID: it.row.ParentID, TurnID: it.row.TurnID, Item: object(it.item), Presentation: show})
	}
	return out
}
