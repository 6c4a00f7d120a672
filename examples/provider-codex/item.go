package codex

import (
	"encoding/json"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/examples/provider-codex/internal/schema"
)

const (
	// maxOutput is how much of an item's text or output it closes with, of an output the end: it has to fit a line.
	maxOutput = 1 << 20
	// maxStreamed is how much output of an item is streamed in all; the rest comes with its end.
	maxStreamed = 8 << 20
	// maxShown is the most of a name that a row shows.
	maxShown = 1 << 10
	// maxDetail is the most of a message or a reason.
	maxDetail = 8 << 10
	// maxArguments is the most of a call's arguments that an item carries.
	maxArguments = 256 << 10
	// maxFiles is how many files a change lists; more are not listed.
	maxFiles = 256
	// maxItemDiff bounds the diffs of all files of an item, which has to fit a line.
	maxItemDiff = 2 << 20
)

// item is an open item.
type item struct {
	key      protocol.ItemKey
	last     schema.Item
	text     [2]strings.Builder // as streamed: text and summary
	parts    [2]int             // the part of each that grows
	output   strings.Builder    // as streamed
	streamed int
	approval protocol.ApprovalState
}

// item takes the start or the end of an item.
func (t *turn) item(raw json.RawMessage, done bool) {
	var it schema.Item
	if err := json.Unmarshal(object(raw), &it); err != nil || it.ID == "" {
		t.unhandled(it.Type, raw)
		return
	}
	switch it.Type {
	case schema.UserMessage, schema.HookPrompt, schema.ToolOutput, schema.SubAgent, schema.EnteredReview, schema.ExitedReview:
		return // what the user said is known, and the rest is shown by other items
	}
	if t.closed[it.ID] {
		return
	}
	i := t.items[it.ID]
	fresh := i == nil
	if fresh {
		i = &item{key: protocol.ItemKey{ProviderItemID: part(it.ID)}}
	}
	if it.Output == nil && i.last.Output != nil {
		it.Output = i.last.Output
	}
	i.last = it
	payload := i.payload(t.s)
	if payload == nil {
		if done {
			t.unhandled(it.Type, raw)
		}
		return
	}
	switch {
	case done:
		status := i.status()
		if status == protocol.Failed && t.stopping {
			status = protocol.Interrupted
		}
		t.close(it.ID, i, status)
	case fresh:
		t.items[it.ID] = i
		t.s.send(&protocol.ItemOpen{Scope: t.scope(), Key: i.key, Item: payload, Presentation: i.show(false)})
	default:
		t.progress(i)
	}
}

// close closes an item.
func (t *turn) close(id string, i *item, status protocol.Status) {
	if i.last.Status == schema.Declined {
		i.approval = protocol.ApprovalDenied
	} else if i.approval == protocol.ApprovalWaiting {
		i.approval = ""
	}
	delete(t.items, id)
	t.closed[id] = true
	t.s.send(&protocol.ItemClose{Scope: t.scope(), Key: i.key, Status: status, Item: i.payload(t.s), Presentation: i.show(true)})
	t.settleIfDone()
}

// closeAll closes what is open when the turn ends. A shell that the model left running is not waited for.
func (t *turn) closeAll(status protocol.Status) (ds []protocol.Delta) {
	for id, i := range t.items {
		how := status
		if i.last.Type == schema.CommandItem && status == protocol.Completed {
			how = protocol.Interrupted
		}
		if i.approval == protocol.ApprovalWaiting {
			i.approval = ""
		}
		delete(t.items, id)
		ds = append(ds, &protocol.ItemClose{Scope: t.scope(), Key: i.key, Status: how, Item: i.payload(t.s), Presentation: i.show(true)})
	}
	return ds
}

func (t *turn) progress(i *item) {
	t.s.send(&protocol.ItemProgress{Scope: t.scope(), Key: i.key, Item: i.payload(t.s), Presentation: protocol.Ptr(i.show(false))})
}

// unhandled keeps what the bridge does not translate, cut to what a delta may hold.
func (t *turn) unhandled(kind string, raw json.RawMessage) {
	raw = object(raw)
	if len(raw) > protocol.MaxRaw {
		raw, _ = json.Marshal(map[string]string{"beginning": cut(string(raw[:protocol.MaxRaw/4]), protocol.MaxRaw/4)})
	}
	t.s.send(&protocol.ProviderUnhandled{Scope: t.scope(), RawType: cut("item "+kind, maxShown), Raw: raw})
}

// text appends to a text or a summary. Its parts are paragraphs.
func (t *turn) text(id string, stream protocol.TextStream, text string, index int) {
	i := t.items[id]
	if i == nil || text == "" {
		return
	}
	n := 0
	if stream == protocol.Summary {
		n = 1
	}
	if index != i.parts[n] && i.text[n].Len() > 0 {
		text = "\n\n" + text
	}
	i.parts[n] = index
	text = valid(text)
	if i.text[n].Len()+len(text) > maxOutput {
		return // it closes with its beginning
	}
	i.text[n].WriteString(text)
	for _, piece := range pieces(text, protocol.MaxDeltaText) {
		t.s.send(&protocol.ItemText{Scope: t.scope(), Key: i.key, Stream: stream, Text: piece})
	}
}

// output appends to the output of a command.
func (t *turn) output(id, text string) {
	i := t.items[id]
	if i == nil || text == "" {
		return
	}
	text = valid(text)
	if i.output.Len()+len(text) <= maxOutput {
		i.output.WriteString(text)
	}
	if i.streamed += len(text); i.streamed > maxStreamed {
		return
	}
	for _, piece := range pieces(text, protocol.MaxDeltaText) {
		t.s.send(&protocol.ItemOutput{Scope: t.scope(), Key: i.key, Mode: protocol.Append, Text: piece})
	}
}

// patch takes a new form of a change that is not made yet.
func (t *turn) patch(id string, changes []schema.FileChange) {
	if i := t.items[id]; i != nil {
		i.last.Changes = changes
		t.progress(i)
	}
}

// status is how the item ended.
func (i *item) status() protocol.Status {
	if i.last.Status == schema.Failed || i.last.Status == schema.Declined {
		return protocol.Failed
	}
	return protocol.Completed
}

// payload is the item as core sees it; nil when the bridge does not know its type.
func (i *item) payload(s *Session) protocol.Item {
	it := i.last
	switch it.Type {
	case schema.AgentMessage:
		return &protocol.Message{Text: i.final(0, it.Text)}
	case schema.PlanItem:
		return &protocol.Plan{Text: i.final(0, it.Text)}
	case schema.Reasoning:
		return &protocol.Reasoning{Text: i.final(0, strings.Join(texts(it.Content), "\n\n")), Summary: i.final(1, strings.Join(it.Summary, "\n\n"))}
	case schema.CommandItem:
		c := &protocol.Command{Command: shown(it.Command), Cwd: optional(it.Cwd), Intent: protocol.IntentTerminal, Actions: actions(it.Actions), ExitCode: it.ExitCode, DurationMs: natural(it.DurationMs), Approval: i.approval}
		if it.Output != nil { // it is the truth: the first output may have been in no delta
			c.Output = protocol.Ptr(tail(*it.Output, maxOutput))
		} else if i.output.Len() > 0 {
			c.Output = protocol.Ptr(i.output.String())
		}
		return c
	case schema.FileItem:
		return &protocol.FileChange{Changes: changes(s, it.Changes), Approval: i.approval}
	case schema.MCPItem, schema.DynamicItem:
		return i.tool(s)
	case schema.WebSearch:
		arguments, _ := json.Marshal(map[string]any{"query": it.Query, "action": object(it.WebAction)})
		return &protocol.Tool{Tool: "web_search", Arguments: arguments, Intent: protocol.IntentWeb}
	case schema.ImageView:
		arguments, _ := json.Marshal(map[string]string{"path": it.Path})
		return &protocol.Tool{Tool: "view_image", Arguments: arguments, Intent: protocol.IntentImage}
	case schema.ImageItem:
		return &protocol.Tool{Tool: "image_generation", Arguments: json.RawMessage("{}"), Intent: protocol.IntentImage}
	case schema.SleepItem:
		return &protocol.Tool{Tool: "sleep", Arguments: json.RawMessage("{}"), Intent: protocol.IntentGeneric}
	case schema.CollabItem:
		return i.delegation()
	case schema.Compaction:
		return &protocol.Compaction{}
	}
	return nil
}

// final is a text as Codex has it, or as far as it was streamed.
func (i *item) final(n int, text string) string {
	if text == "" {
		return i.text[n].String()
	}
	return cut(text, maxOutput)
}

func texts(parts []any) (all []string) {
	for _, p := range parts {
		if text, ok := p.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// tool is a call of a tool, of a server or of core.
func (i *item) tool(s *Session) *protocol.Tool {
	it := i.last
	c := &protocol.Tool{Tool: cut(it.Tool, maxShown), Server: optional(cut(it.Server, maxShown)), Arguments: arguments(it.Arguments), Intent: protocol.IntentGeneric,
		DurationMs: natural(it.DurationMs), Approval: i.approval}
	var said string
	if it.Type == schema.DynamicItem {
		c.Tool = cut(s.tools.original(it.Tool), maxShown)
		c.Intent = s.tools.intent(c.Tool)
		for _, part := range it.ContentItems {
			said = lines(said, part.Text)
		}
		if it.Success != nil && !*it.Success {
			c.Error = protocol.Ptr(cut(said, maxOutput))
			return c
		}
	} else {
		var result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		}
		json.Unmarshal(object(it.Result), &result) // what has no text says nothing here
		for _, part := range result.Content {
			said = lines(said, part.Text)
		}
		var failure struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(object(it.Error), &failure); failure.Message != "" {
			c.Error = protocol.Ptr(cut(failure.Message, maxOutput))
		}
	}
	if said != "" {
		c.Result = protocol.Ptr(cut(said, maxOutput))
	}
	return c
}

func lines(text, more string) string {
	if text == "" || more == "" {
		return text + more
	}
	return text + "\n" + more
}

// delegation is work that Codex gave to a sub-agent.
func (i *item) delegation() protocol.Item {
	it := i.last
	label := it.Tool
	if it.Prompt != nil && *it.Prompt != "" {
		label = *it.Prompt
	}
	task := &protocol.Task{Role: protocol.TaskDelegation, Label: cut(label, maxShown), TaskType: optional(cut(it.Tool, maxShown))}
	if len(it.Receivers) > 0 {
		task.ChildRef = optional(valid(it.Receivers[0]))
	}
	for _, a := range it.Agents {
		if a != nil && a.Message != nil {
			task.Summary = protocol.Ptr(cut(*a.Message, maxDetail))
		}
	}
	return task
}

func arguments(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxArguments {
		raw, _ = json.Marshal(map[string]string{"beginning": cut(string(raw), maxDetail)})
	}
	return object(raw)
}

// natural is a number that is not negative; others are unknown.
func natural(n *int64) *int64 {
	if n == nil || *n < 0 {
		return nil
	}
	return n
}

func actions(all []schema.Action) protocol.CommandActions {
	list := protocol.CommandActions{}
	for _, a := range all {
		command := valid(a.Command)
		switch a.Type {
		case "read":
			path := ""
			if a.Path != nil {
				path = *a.Path
			}
			list = append(list, &protocol.ReadAction{Command: command, Name: valid(a.Name), Path: valid(path)})
		case "listFiles":
			list = append(list, &protocol.ListFilesAction{Command: command, Path: a.Path})
		case "search":
			list = append(list, &protocol.SearchAction{Command: command, Query: a.Query, Path: a.Path})
		default:
			list = append(list, &protocol.UnknownAction{Command: command})
		}
	}
	return list
}

// changes are changes of files with unified diffs that have headers. A file whose diff is too long is listed without.
func changes(s *Session, all []schema.FileChange) []protocol.PathChange {
	list := []protocol.PathChange{}
	room := maxItemDiff
	for _, c := range all[:min(len(all), maxFiles)] {
		p := protocol.PathChange{Path: s.path(valid(c.Path)), Change: protocol.ChangeUpdate}
		switch c.Kind.Type {
		case "add":
			p.Change = protocol.ChangeAdd
		case "delete":
			p.Change = protocol.ChangeDelete
		default:
			if c.Kind.MovePath != nil {
				p.MovePath = protocol.Ptr(s.path(valid(*c.Kind.MovePath)))
			}
		}
		if diff := unified(p, valid(c.Diff)); len(diff) <= room && diff != "" {
			room -= len(diff)
			p.Diff = &diff
		}
		list = append(list, p)
	}
	return list
}

// show is how the item looks.
func (i *item) show(done bool) protocol.Presentation {
	verb := func(icon, now, then string) protocol.Presentation {
		p := protocol.Presentation{Label: now, Icon: icon}
		if done {
			p.Label = then
		}
		switch {
		case i.approval == protocol.ApprovalWaiting:
			p.Tint = protocol.TintWarning
		case i.approval == protocol.ApprovalDenied, done && i.last.Status == schema.Failed:
			p.Tint = protocol.TintDanger
		}
		return p
	}
	it := i.last
	switch it.Type {
	case schema.AgentMessage:
		return verb("message", "Writing", "Wrote")
	case schema.PlanItem:
		return verb("list", "Planning", "Planned")
	case schema.Reasoning:
		return verb("brain", "Thinking", "Thought")
	case schema.CommandItem:
		p := verb("terminal", "Running", "Ran")
		p.Title = cut(shown(it.Command), maxShown)
		return p
	case schema.FileItem:
		p := verb("pencil", "Editing files", "Edited files")
		if i.approval == protocol.ApprovalDenied {
			p.Label = "Did not edit files"
		}
		if len(it.Changes) == 1 {
			p.Title = cut(it.Changes[0].Path, maxShown)
		}
		return p
	case schema.WebSearch:
		p := verb("globe", "Searching the web", "Searched the web")
		p.Title = cut(it.Query, maxShown)
		return p
	case schema.ImageView:
		return verb("image", "Looking at an image", "Looked at an image")
	case schema.ImageItem:
		return verb("image", "Drawing an image", "Drew an image")
	case schema.SleepItem:
		return verb("clock", "Waiting", "Waited")
	case schema.CollabItem:
		return verb("robot", "Delegating", "Delegated")
	case schema.Compaction:
		return verb("compress", "Compacting", "Compacted")
	}
	p := verb("wrench", "Calling a tool", "Called a tool")
	p.Title = cut(it.Tool, maxShown)
	return p
}
