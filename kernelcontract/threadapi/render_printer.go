package threadapi

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Printer turns the events of a thread, in their order, into text that flows: messages and output appear piece by piece,
// and nothing that was shown is shown again when its item closes. The zero value prints without colours for 80 columns.
// What it returns is to be written as it is: it may end in the middle of a line. A Printer belongs to one goroutine.
// See docs/spec/cli-threads.md.
type Printer struct {
	// Render is the screen.
	Render kernelcontract.Render
	// Prompts says that the program asks for answers itself: how to answer is said only of the kinds that plugins declare.
	Prompts bool

	paper   paper
	items   map[string]*shown
	flow    string // the item whose text was written last
	stream  *said  // which of its texts
	failure string // the last error that was shown in the open turn
	session bool   // it was said that the session is another one
	held    *Event // an interaction that a rule may answer at once
	usage   *usage // of the open turn
	todo    string // the last list of steps that was shown
	spoken  bool   // something was shown
	whole   bool   // events come alone: items are shown when they settle
	digest  bool   // long output is cut
}

// shown is what was shown of an open item.
type shown struct {
	parent, turn string
	depth        int
	item         item
	look         look
	headed       bool
	name         string // as it was shown
	text         said   // of the stream text
	summary      said   // of the stream summary
	output       said
	progress     string
}

// said is how much of a text was shown.
type said struct {
	n   int
	sum maphash.Hash
}

func (s *said) add(t string) {
	s.n += len(t)
	_, _ = s.sum.WriteString(t) // it never fails
}

// rest returns what of the whole text was not shown yet; ok is false when the text is another one.
func (s *said) rest(whole string) (rest string, ok bool) {
	if s.n == 0 {
		return whole, true
	}
	if len(whole) < s.n {
		return "", false
	}
	var h maphash.Hash
	h.SetSeed(s.sum.Seed())
	_, _ = h.WriteString(whole[:s.n]) // it never fails
	return whole[s.n:], h.Sum64() == s.sum.Sum64()
}

// Lines of a tool's result, and of all output in a timeline, that are shown: the beginning says what it is.
const maxOutputLines = 12

// RenderEvent is how an event that comes alone reads in a terminal; "" for what a person does not want to see. Items are
// shown whole when they settle. A Printer shows a stream of events as it flows.
func RenderEvent(e Event, r kernelcontract.Render) string {
	p := Printer{Render: r, whole: true}
	return strings.TrimRight(p.Event(e)+p.Close(), "\n")
}

// Event returns the text of the next event, "" when there is nothing to show yet.
func (p *Printer) Event(e Event) string {
	p.paper.color = p.Render.Color
	if p.held != nil && !p.ruled(e) {
		p.release()
	} else if p.held != nil {
		p.held = nil
		return p.paper.take()
	}
	p.event(&e)
	return p.paper.take()
}

// Idle returns what was held back in the expectation of the next event: call it when none came for a moment.
func (p *Printer) Idle() string {
	p.release()
	return p.paper.take()
}

// Close returns what is needed to end the text.
func (p *Printer) Close() string {
	p.release()
	p.paper.end()
	return p.paper.take()
}

func (p *Printer) release() {
	if e := p.held; e != nil {
		p.held = nil
		p.opened(e)
	}
}

// ruled reports whether e answers the interaction that is held back, by a rule: allowing is then not worth a word.
func (p *Printer) ruled(e Event) bool {
	var was InteractionOpened
	var is InteractionResolved
	if e.Type != EventInteractionResolved || json.Unmarshal(e.Payload, &is) != nil || json.Unmarshal(p.held.Payload, &was) != nil {
		return false
	}
	if is.InteractionID != was.InteractionID || !strings.HasPrefix(is.By, "system:") {
		return false
	}
	if said, look := resolution(is.Resolution, ""); look != good {
		r := Interaction{Request: was.Request}.Asks()
		p.note(look, p.indent(e.ItemID), said+" by a rule: "+cut(r.brief(), p.Render.Columns()-step))
	}
	return true
}

// indent returns where what belongs to an item is written.
func (p *Printer) indent(itemID string) int {
	if s := p.items[itemID]; s != nil {
		return s.depth * step
	}
	return 0
}

// note writes lines that belong to no item.
func (p *Printer) note(look style, indent int, s string) {
	p.flow, p.spoken = "", true
	p.paper.line(look, indent, s)
}

func (p *Printer) event(e *Event) {
	switch e.Type {
	case EventInputSent:
		p.input(e)
	case EventInteractionOpened:
		if p.whole {
			p.opened(e)
		} else {
			held := *e
			p.held = &held
		}
	case EventInteractionResolved:
		var v InteractionResolved
		if json.Unmarshal(e.Payload, &v) == nil {
			s, look := resolution(v.Resolution, v.By)
			p.note(look, p.indent(e.ItemID)+step, s)
		}
	case "item.started", "item.progress", "item.completed":
		p.item(e)
	case "item.text":
		p.text(e)
	case "item.output":
		p.output(e)
	case "turn.completed":
		p.turn(e)
	case "thread.todo":
		p.steps(e)
	case "thread.usage":
		p.tokens(e)
	default:
		p.notice(e)
	}
}

// notice shows what happened to the thread, the session and the provider.
func (p *Printer) notice(e *Event) {
	var v struct {
		SessionChange
		Title         string  `json:"title"`
		Name          string  `json:"name"`
		Goal          string  `json:"goal"`
		ForkedFrom    string  `json:"forkedFrom"`
		Message       string  `json:"message"`
		Detail        *string `json:"detail"`
		WillRetry     bool    `json:"willRetry"`
		SettlesTurn   bool    `json:"settlesTurn"`
		Category      string  `json:"category"`
		Summary       *string `json:"summary"`
		Details       *string `json:"details"`
		OriginalModel string  `json:"originalModel"`
		FallbackModel string  `json:"fallbackModel"`
	}
	if json.Unmarshal(e.Payload, &v) != nil {
		return
	}
	switch e.Type {
	case EventThreadForked:
		p.note(faint, 0, strings.TrimSpace("forked from another thread "+v.ForkedFrom))
	case EventThreadRenamed:
		p.note(faint, 0, "renamed: "+v.Title)
	case EventThreadArchived:
		p.note(faint, 0, "archived")
	case EventThreadUnarchived:
		p.note(faint, 0, "taken back from the archive")
	case EventThreadGoal:
		if v.Goal == "" {
			p.note(faint, 0, "the goal is gone")
		} else {
			p.note(faint, 0, "goal: "+v.Goal)
		}
	case EventThreadSession:
		switch {
		case v.ContextLost:
			p.session = true
			p.note(caution, 0, "warning: the agent no longer knows what was said before"+because(v.Reason))
		case v.State == "lost":
			p.note(caution, 0, "warning: the agent's session ended"+because(v.Reason))
		}
	case "thread.context_cleared":
		p.note(faint, 0, "the agent's context was cleared")
	case "turn.input_failed":
		p.note(caution, 0, "warning: an input did not reach the agent"+because(v.Message))
	case "provider.error":
		s := "error: " + v.Message
		if d := deref(v.Detail); d != "" && d != v.Message {
			s += "\n" + d
		}
		if v.WillRetry {
			s += " (it tries again)"
		}
		p.failure = v.Message
		p.note(bad, 0, s)
	case "provider.warning":
		if v.Category == "session-replaced" && p.session {
			p.session = false
			return // that was said
		}
		s := "warning: " + first(deref(v.Summary), v.Category)
		if d := deref(v.Details); d != "" && d != deref(v.Summary) {
			s += "\n" + d
		}
		p.note(caution, 0, s)
	case "provider.modelFallback":
		p.note(caution, 0, "warning: "+v.FallbackModel+" answers instead of "+v.OriginalModel+because(v.Message))
	}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// input shows what was said to the agent.
func (p *Printer) input(e *Event) {
	var v InputSent
	if json.Unmarshal(e.Payload, &v) != nil || len(v.Input) == 0 {
		return
	}
	p.paper.end()
	if p.spoken {
		p.paper.b.WriteByte('\n')
	}
	who := ""
	if v.By != "" && !strings.HasPrefix(v.By, "user:") {
		who = v.By + ": "
	}
	said, words := "", false
	for i, raw := range v.Input {
		plain := len(raw) > 0 && raw[0] == '"'
		switch {
		case i == 0:
		case plain && words: // neighbouring words are one text
			said += " "
		default:
			said += "\n"
		}
		said, words = said+partText(raw), plain
	}
	lines := strings.Split(who+said, "\n")
	p.note(strong, 0, "> "+strings.Join(lines, "\n  "))
}

// partText is how a part of an input reads.
func partText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var part struct{ Type, Text, URL, Path string }
	if json.Unmarshal(raw, &part) != nil {
		return "[something]"
	}
	switch part.Type {
	case "text":
		return part.Text
	case "image":
		if strings.HasPrefix(part.URL, "data:") {
			return "[image]"
		}
		return "[image " + part.URL + "]"
	}
	return "[" + part.Path + "]"
}

// opened shows what an agent asks.
func (p *Printer) opened(e *Event) {
	var v InteractionOpened
	if json.Unmarshal(e.Payload, &v) != nil {
		return
	}
	r := Interaction{Request: v.Request}.Asks()
	indent := p.indent(e.ItemID)
	var files []fileChange
	if s := p.items[e.ItemID]; s != nil {
		files = s.item.Changes
	}
	p.flow, p.spoken = "", true
	p.paper.ask(indent, r, files)
	if !p.Prompts || r.Kind != KindApproval && r.Kind != KindQuestion {
		p.paper.line(faint, indent+step, "answer: "+howTo(v.InteractionID, r))
	}
}

// track returns what was shown of an item. New ones are remembered.
func (p *Printer) track(e *Event) *shown {
	if s := p.items[e.ItemID]; s != nil {
		return s
	}
	s := &shown{parent: e.ParentItemID, turn: e.Scope.TurnID}
	if up := p.items[e.ParentItemID]; up != nil {
		s.depth = min(up.depth+1, maxDepth)
	} else if e.ParentItemID != "" {
		s.depth = 1
	}
	if p.items == nil {
		p.items = map[string]*shown{}
	}
	p.items[e.ItemID] = s
	return s
}

// item opens, changes or closes an item.
func (p *Printer) item(e *Event) {
	var v struct {
		Status       string  `json:"status"`
		Message      *string `json:"message"`
		Item         *item   `json:"item"`
		Presentation *look   `json:"presentation"`
		Partial      bool    `json:"partial"`
	}
	if e.ItemID == "" || json.Unmarshal(e.Payload, &v) != nil {
		return
	}
	s := p.track(e)
	if v.Item != nil && !(v.Partial && s.item.Kind != "") {
		s.item = *v.Item
	}
	if v.Presentation != nil {
		s.look = *v.Presentation
	}
	switch {
	case e.Type == "item.completed":
		delete(p.items, e.ItemID)
		p.settle(e.ItemID, s, v.Status)
	case p.whole || s.look.Suppress:
	case e.Type == "item.started":
		p.begin(e.ItemID, s)
	case v.Message != nil && *v.Message != "" && *v.Message != s.progress && s.item.Kind != RowMessage && s.item.Kind != RowReasoning:
		s.progress = *v.Message
		p.to(e.ItemID, s)
		p.paper.line(faint, s.depth*step+step, *v.Message)
	}
}

// begin shows what is known when an item opens.
func (p *Printer) begin(id string, s *shown) {
	switch s.item.Kind {
	case RowMessage, RowReasoning, RowPlan:
		p.grow(id, s, &s.text, s.item.Text)
		p.grow(id, s, &s.summary, deref(s.item.Summary))
	case RowCommand, RowTool, RowTask:
		p.to(id, s)
		p.grow(id, s, &s.output, outputOf(&s.item))
	case RowFileChange, RowCompaction:
	default:
		p.to(id, s)
	}
}

// outputOf returns the text that item.output adds to.
func outputOf(i *item) string {
	switch i.Kind {
	case RowCommand:
		return deref(i.Output)
	case RowTool:
		return deref(i.Result)
	case RowTask:
		return deref(i.Summary)
	}
	return ""
}

// to makes an item the one that is written to. When others were in between, its name is repeated.
func (p *Printer) to(id string, s *shown) {
	if p.flow == id {
		return
	}
	p.paper.end()
	p.flow, p.spoken = id, true
	name := s.item.name(s.look, p.Render.Columns()-s.depth*step)
	switch {
	case name == "":
	case !s.headed:
		p.paper.line(strong, s.depth*step, name)
	default:
		line, _, _ := strings.Cut(name, "\n")
		p.paper.line(faint, s.depth*step, "… "+line)
	}
	s.headed, s.name = true, name
}

// grow shows more of a text of an item.
func (p *Printer) grow(id string, s *shown, to *said, t string) {
	if t == "" {
		return
	}
	to.add(t)
	p.to(id, s)
	if p.stream != to { // the summary of a thought, then the thought
		p.paper.end()
		p.stream = to
	}
	look, indent := plain, s.depth*step
	switch s.item.Kind {
	case RowReasoning:
		look = faint
	case RowMessage:
	default:
		indent += step
		if s.item.Kind != RowPlan {
			look = faint
		}
	}
	p.paper.put(look, indent, t)
}

// text shows a piece of what an agent says or thinks.
func (p *Printer) text(e *Event) {
	var v struct{ Stream, Text string }
	s := p.items[e.ItemID]
	if s == nil || p.whole || s.look.Suppress || json.Unmarshal(e.Payload, &v) != nil {
		return
	}
	if v.Stream == "summary" {
		p.grow(e.ItemID, s, &s.summary, v.Text)
	} else {
		p.grow(e.ItemID, s, &s.text, v.Text)
	}
}

// output shows a piece of output. Output that replaces what was shown is shown as far as it goes on from there.
func (p *Printer) output(e *Event) {
	var v struct{ Mode, Text string }
	s := p.items[e.ItemID]
	if s == nil || p.whole || s.look.Suppress || json.Unmarshal(e.Payload, &v) != nil {
		return
	}
	if v.Mode == "replace" {
		rest, ok := s.output.rest(v.Text)
		if !ok {
			return // the end shows it
		}
		v.Text = rest
	}
	p.grow(e.ItemID, s, &s.output, v.Text)
}

// settle shows what of an item was not shown yet, and how it ended.
func (p *Printer) settle(id string, s *shown, status string) {
	if s.look.Suppress {
		return
	}
	i := &s.item
	indent := s.depth * step
	switch i.Kind {
	case RowMessage, RowPlan:
		p.finish(id, s, &s.text, i.Text)
	case RowReasoning:
		p.finish(id, s, &s.summary, deref(i.Summary))
		if s.summary.n == 0 {
			p.finish(id, s, &s.text, i.Text)
		}
	case RowCompaction:
		if status == "completed" {
			said := "the agent made room in its context"
			if i.PreTokens != nil && i.PostTokens != nil {
				said += fmt.Sprintf(": %s tokens became %s", count(*i.PreTokens), count(*i.PostTokens))
			}
			p.note(faint, indent, said)
		}
	case RowFileChange:
		p.flow, p.spoken, s.headed = id, true, true
		p.paper.changes(indent, i.Changes)
	default:
		p.to(id, s)
		if name := i.name(s.look, p.Render.Columns()-indent-step); name != s.name && strings.Contains(i.Kind, "/") { // an extension says at the end what it did
			p.paper.line(plain, indent+step, strings.TrimPrefix(name, "* "))
		}
		out, more := outputOf(i), 0
		if s.output.n == 0 && (p.digest || i.Kind == RowTool) {
			out, more = head(out, maxOutputLines)
		}
		p.finish(id, s, &s.output, out)
		p.paper.more(indent+step, more)
	}
	if e := deref(i.Error); e != "" {
		p.to(id, s)
		p.paper.line(bad, indent+step, e)
	}
	if said, look := i.outcome(status); said != "" && (i.Kind != RowMessage && i.Kind != RowReasoning || status != "completed") {
		p.to(id, s)
		p.paper.line(look, indent+step, said)
	}
	if p.flow == id {
		p.paper.end()
	}
}

// finish shows the rest of a text. A message that became another one is shown whole.
func (p *Printer) finish(id string, s *shown, to *said, whole string) {
	rest, ok := to.rest(whole)
	switch {
	case ok:
		p.grow(id, s, to, strings.TrimRight(rest, "\n"))
	case s.item.Kind == RowMessage && len(whole) > 0 && len(whole) >= to.n:
		p.to(id, s)
		p.paper.end()
		p.grow(id, s, to, whole)
	}
}

// turn shows how a turn ended, with what it used.
func (p *Printer) turn(e *Event) {
	var v struct {
		Status string
		Error  *struct{ Message string }
	}
	if json.Unmarshal(e.Payload, &v) != nil {
		return
	}
	used := ""
	if p.usage != nil {
		used = p.usage.String()
	}
	why := ""
	if v.Error != nil && (v.Error.Message != p.failure || p.failure == "") {
		why = v.Error.Message
	}
	p.usage, p.todo, p.failure = nil, "", ""
	for id, s := range p.items {
		if s.turn == e.Scope.TurnID {
			delete(p.items, id)
		}
	}
	switch v.Status {
	case "completed":
		if used != "" {
			p.note(faint, 0, used)
		}
	case "failed":
		p.note(bad, 0, "The turn failed"+because(why))
	case "interrupted":
		p.note(caution, 0, "The turn was interrupted"+because(why))
	case "merged":
		p.note(faint, 0, "The agent took this into the turn that was open.")
	}
}

// usage is the payload of thread.usage.
type usage struct {
	Last struct {
		InputTokens       int64 `json:"inputTokens"`
		CachedInputTokens int64 `json:"cachedInputTokens"`
		OutputTokens      int64 `json:"outputTokens"`
	} `json:"last"`
	Total struct {
		TotalTokens int64 `json:"totalTokens"`
	} `json:"total"`
	Cost *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
}

// String is the usage in one line.
func (u *usage) String() string {
	s := fmt.Sprintf("tokens: %s in", count(u.Last.InputTokens))
	if u.Last.CachedInputTokens > 0 {
		s += fmt.Sprintf(" (%s cached)", count(u.Last.CachedInputTokens))
	}
	s += fmt.Sprintf(", %s out", count(u.Last.OutputTokens))
	if u.Total.TotalTokens > 0 {
		s += fmt.Sprintf("; %s in all", count(u.Total.TotalTokens))
	}
	if u.Cost != nil {
		s += fmt.Sprintf("; %.4f %s", u.Cost.Amount, u.Cost.Currency)
	}
	return s
}

// tokens keeps the usage for the end of the turn.
func (p *Printer) tokens(e *Event) {
	var u usage
	if json.Unmarshal(e.Payload, &u) != nil {
		return
	}
	if p.whole {
		p.note(faint, 0, u.String())
		return
	}
	p.usage = &u
}

// steps shows an agent's list of steps when it changed.
func (p *Printer) steps(e *Event) {
	var v struct {
		Steps []struct {
			Text   string `json:"text"`
			Status string `json:"status"`
		} `json:"steps"`
		Explanation *string `json:"explanation"`
	}
	if json.Unmarshal(e.Payload, &v) != nil {
		return
	}
	var lines []string
	for _, s := range v.Steps {
		box, ok := boxes[s.Status]
		if !ok {
			box = "[ ] "
		}
		lines = append(lines, box+strings.ReplaceAll(strings.TrimSpace(s.Text), "\n", "\n    "))
	}
	if list := strings.Join(lines, "\n"); list != p.todo {
		p.todo = list
		if x := deref(v.Explanation); x != "" {
			p.note(plain, 0, x)
		}
		for i, l := range lines {
			look := plain
			switch v.Steps[i].Status {
			case "completed":
				look = faint
			case "active":
				look = accent
			case "failed":
				look = bad
			}
			p.note(look, 0, l)
		}
	}
}

// boxes are the boxes of a checklist by a step's status.
var boxes = map[string]string{"pending": "[ ] ", "active": "[>] ", "completed": "[x] ", "failed": "[!] "}

// rows shows folded rows. A row stands below the row of its task, further to the right.
func (p *Printer) rows(rows []Row) {
	depth := map[string]int{}
	for _, r := range rows {
		if r.ParentID != "" {
			depth[r.ID] = min(depth[r.ParentID]+1, maxDepth)
		}
		p.row(r, depth[r.ID])
	}
}

func (p *Printer) row(r Row, depth int) {
	e := Event{Seq: r.Seq, Scope: Scope{Kind: "turn", TurnID: r.TurnID}, Payload: r.Data}
	switch r.Kind {
	case RowUser:
		p.input(&e)
	case RowTodo:
		p.steps(&e)
	case RowUsage:
		p.usage = nil
		var u usage
		if json.Unmarshal(r.Data, &u) == nil {
			p.note(faint, 0, u.String())
		}
	case RowTurn:
		e.Type = "turn.completed"
		p.turn(&e)
	case RowNotice:
		e.Type = r.Type
		p.notice(&e)
	case RowInteraction:
		p.interaction(r, depth)
	default:
		s := &shown{depth: depth, look: look{Label: r.Label, Title: r.Title, Detail: r.Detail, Suppress: r.Suppress}}
		if json.Unmarshal(r.Data, &s.item) != nil {
			return
		}
		p.settle(r.ID, s, r.Status)
		if r.Status == "open" && !r.Suppress {
			p.to(r.ID, s)
			p.paper.line(accent, depth*step+step, "…")
		}
	}
}

func (p *Printer) interaction(r Row, depth int) {
	var v struct {
		Request    json.RawMessage `json:"request"`
		Resolution json.RawMessage `json:"resolution"`
		By         *string         `json:"by"`
	}
	if json.Unmarshal(r.Data, &v) != nil {
		return
	}
	asked := Interaction{Request: v.Request}.Asks()
	if r.Status == "open" {
		p.flow, p.spoken = "", true
		p.paper.ask(depth*step, asked, nil)
		p.paper.line(faint, depth*step+step, "answer: "+howTo(r.ID, asked))
		return
	}
	said, look := resolution(v.Resolution, deref(v.By))
	if by := deref(v.By); look == good && strings.HasPrefix(by, "system:") {
		return
	}
	p.note(caution, depth*step, "? "+cut(asked.brief(), p.Render.Columns()-depth*step-step))
	p.note(look, depth*step+step, said)
}
