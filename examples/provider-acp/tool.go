package acp

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/unified"
)

const (
	// maxOutput is how much of a tool's output an item keeps, its end: the item is sent whole when it closes.
	maxOutput = 1 << 20
	// maxStreamed is how much output of an item is streamed in all; the rest comes with the end of it.
	maxStreamed = 8 << 20
	// replaceEvery is how often output may be replaced that does not only grow: everything is persisted.
	replaceEvery = 250 * time.Millisecond
	// maxShown is the most of a title or a reason that a row shows.
	maxShown = 1 << 10
	// maxInput is the most of a call's input that an item carries: it is repeated with each change.
	maxInput = 256 << 10
	// maxDiffs is how many bytes the diffs of one call may have, so that the item fits a line when each is an escape. Files
	// beyond it are listed without one.
	maxDiffs = 1 << 20
	// maxFiles is how many files one call may change; more are not listed.
	maxFiles = 256
)

// call is a tool call of the open turn, and the item that it becomes.
type call struct {
	key        protocol.ItemKey
	generation int // how often the id has been used so far
	opened     bool
	closed     bool

	name, title, kind, status string
	input, result             json.RawMessage
	locations                 []string
	text                      string // what its content says
	changes                   []protocol.PathChange
	terminal                  *terminal

	waiting, denied bool

	sent     []byte // the item and its presentation as last reported
	streamed string // the output as last reported
	total    int    // bytes of output reported
	replaced time.Time
}

// call finds the tool call of an update, or makes it. Nil is one that is over: agents number their calls anew in every
// turn, so that only a new call can take the id of an old one.
func (t *turn) call(u schema.Update) *call {
	id := u.ToolCallID
	c := t.calls[id]
	fresh := u.SessionUpdate == schema.ToolCallNew
	switch {
	case c != nil && (!c.closed || !fresh):
		if c.closed {
			return nil
		}
		return c
	case c == nil && !fresh && t.s.usedCalls[id] > 0 && u.SessionUpdate != "":
		return nil
	}
	n := &call{generation: 1, status: schema.Pending}
	if c != nil {
		n.generation = c.generation + 1
	}
	n.key.ProviderItemID = strings.ReplaceAll(strings.ToValidUTF8(id, "\uFFFD"), protocol.ItemKeySeparator, "")
	if n.generation > 1 || n.key.ProviderItemID == "" {
		n.key.ProviderItemID += "#" + strconv.Itoa(n.generation)
	}
	t.calls[id] = n
	t.order = append(t.order, n)
	return n
}

// merge takes what an update says about the call.
func (c *call) merge(t *turn, u schema.Update) error {
	if u.Title != nil && *u.Title != "" {
		c.title = strings.ToValidUTF8(*u.Title, "\uFFFD")
	}
	if u.Kind != "" {
		c.kind = u.Kind
	}
	if !c.opened {
		c.name = c.title // later titles say what it does, the first one often what it is
	}
	if u.Status != "" {
		c.status = u.Status
	}
	if present(u.RawInput) {
		c.input = u.RawInput
	}
	if present(u.RawOutput) {
		c.result = u.RawOutput
	}
	if u.Locations != nil {
		c.locations = nil
		for _, l := range u.Locations[:min(len(u.Locations), maxFiles)] {
			if l.Path != "" {
				c.locations = append(c.locations, t.s.path(l.Path))
			}
		}
	}
	if !present(u.Content) {
		return nil
	}
	var content []schema.ToolContent
	if err := json.Unmarshal(u.Content, &content); err != nil {
		return err
	}
	var texts []string
	for _, part := range content {
		switch part.Type {
		case "diff":
			c.change(t.s.path(part.Path), part.OldText, &part.NewText)
		case "terminal":
			if term := t.s.terminals[part.TerminalID]; term != nil {
				c.terminal = term
				term.shownBy = c
			}
		default:
			texts = append(texts, blockText(part.Content))
		}
	}
	if len(texts) > 0 {
		c.text = tailBytes(strings.ToValidUTF8(strings.Join(texts, "\n"), "\uFFFD"), maxOutput)
	}
	return nil
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// change notes what happened to a file. Nil is a file that does not exist; for agents that write "" for it, so is the
// empty text before.
func (c *call) change(path string, before, after *string) {
	if path == "" {
		return
	}
	if before != nil && *before == "" {
		before = nil
	}
	p := protocol.PathChange{Path: path, Change: protocol.ChangeUpdate}
	switch {
	case before == nil:
		p.Change = protocol.ChangeAdd
	case c.kind == "delete" && *after == "":
		p.Change, after = protocol.ChangeDelete, nil
	}
	clean := func(s *string) *string {
		if s == nil {
			return nil
		}
		return protocol.Ptr(strings.ToValidUTF8(*s, "\uFFFD"))
	}
	room := maxDiffs
	for _, other := range c.changes {
		if other.Diff != nil && other.Path != path {
			room -= len(*other.Diff)
		}
	}
	if diff := unified.Diff(path, clean(before), clean(after)); diff != "" && len(diff) <= room {
		p.Diff = &diff
	}
	for i := range c.changes {
		if c.changes[i].Path == path {
			c.changes[i] = p
			return
		}
	}
	if len(c.changes) < maxFiles {
		c.changes = append(c.changes, p)
	}
}

// path is a path of the agent's as an absolute one.
func (s *Session) path(path string) string {
	path = strings.ToValidUTF8(strings.TrimPrefix(path, "file://"), "\uFFFD")
	switch {
	case path == "":
		return ""
	case !filepath.IsAbs(path):
		path = filepath.Join(s.params.Cwd, path)
	}
	return filepath.Clean(path)
}

// inputText is a text of the call's input, "" when it has none of these names.
func (c *call) inputText(names ...string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(c.input, &fields) != nil {
		return ""
	}
	for _, name := range names {
		var text string
		var words []string
		switch {
		case json.Unmarshal(fields[name], &text) == nil && text != "":
			return text
		case json.Unmarshal(fields[name], &words) == nil && len(words) > 0:
			return strings.Join(words, " ")
		}
	}
	return ""
}

// isEdit tells whether the call changes files.
func (c *call) isEdit() bool {
	return len(c.changes) > 0 || c.kind == "edit" || c.kind == "delete" || c.kind == "move"
}

// isCommand tells whether the call runs a program.
func (c *call) isCommand() bool { return c.terminal != nil || c.kind == "execute" }

// command is the command line of a call that runs one.
func (c *call) command() string {
	if text := c.inputText("command", "cmd", "script"); text != "" {
		return text
	}
	if c.terminal != nil {
		return c.terminal.line
	}
	return strings.Trim(c.title, "`")
}

// item is the call as an item; final when it closes.
func (c *call) item(t *turn, final bool) protocol.Item {
	approval := protocol.ApprovalState("")
	switch {
	case c.waiting:
		approval = protocol.ApprovalWaiting
	case c.denied:
		approval = protocol.ApprovalDenied
	}
	output := c.output()
	switch {
	case c.isCommand():
		line := c.command()
		item := &protocol.Command{Command: line, Intent: protocol.IntentTerminal, Actions: protocol.CommandActions{&protocol.UnknownAction{Command: line}}, Approval: approval}
		if dir := c.inputText("cwd", "workdir", "directory"); dir != "" {
			item.Cwd = protocol.Ptr(t.s.path(dir))
		} else if c.terminal != nil {
			item.Cwd = &c.terminal.dir
		}
		if final {
			item.ExitCode = c.exitCode()
			if output != "" {
				item.Output = &output
			}
		}
		return item
	case c.isEdit():
		item := &protocol.FileChange{Changes: c.changes, Approval: approval}
		if len(item.Changes) == 0 {
			for _, path := range c.paths(t) {
				kind := protocol.ChangeUpdate
				if c.kind == "delete" {
					kind = protocol.ChangeDelete
				}
				item.Changes = append(item.Changes, protocol.PathChange{Path: path, Change: kind})
			}
		}
		return item
	}
	item := &protocol.Tool{Tool: c.name, Arguments: c.input, Intent: intentOf(c.kind), Approval: approval}
	if item.Tool == "" {
		item.Tool = "tool"
	}
	switch {
	case !present(item.Arguments):
		item.Arguments = json.RawMessage(`{}`)
	case len(item.Arguments) > maxInput:
		item.Arguments, _ = json.Marshal(map[string]string{"beginning": cut(string(item.Arguments[:maxInput]), maxInput)})
	}
	if final && output != "" {
		if c.status == schema.Failed || c.denied {
			item.Error = &output
		} else {
			item.Result = &output
		}
	}
	return item
}

// paths are the files that the call is about.
func (c *call) paths(t *turn) []string {
	if len(c.locations) > 0 {
		return c.locations
	}
	if path := c.inputText("file_path", "filePath", "filepath", "path"); path != "" {
		return []string{t.s.path(path)}
	}
	return nil
}

// output is what the call has printed or answered.
func (c *call) output() string {
	if c.terminal != nil {
		text, _ := c.terminal.shown()
		return tailBytes(text, maxOutput)
	}
	if c.text != "" {
		return c.text
	}
	var text string
	var fields struct {
		Output  string `json:"output"`
		Content string `json:"content"`
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	switch {
	case json.Unmarshal(c.result, &text) == nil:
	case json.Unmarshal(c.result, &fields) == nil:
		for _, text = range []string{fields.Output, fields.Content, fields.Error, fields.Message} {
			if text != "" {
				break
			}
		}
	}
	return tailBytes(strings.ToValidUTF8(text, "\uFFFD"), maxOutput)
}

// exitCode is the status of the command, as far as the agent tells.
func (c *call) exitCode() *int64 {
	if c.terminal != nil {
		if status := c.terminal.status(); status != nil && status.ExitCode != nil {
			return protocol.Ptr(int64(*status.ExitCode))
		}
		return nil
	}
	var result struct {
		ExitCode  *int64 `json:"exitCode"`
		ExitCode2 *int64 `json:"exit_code"`
		Metadata  struct {
			Exit *int64 `json:"exit"`
		} `json:"metadata"`
	}
	if json.Unmarshal(c.result, &result) != nil {
		return nil
	}
	for _, code := range []*int64{result.ExitCode, result.ExitCode2, result.Metadata.Exit} {
		if code != nil {
			return code
		}
	}
	return nil
}

// report reports what changed: it opens the item, shows how it is now, streams its output, and closes it.
func (c *call) report(t *turn) []protocol.Delta {
	scope := protocol.Scope{Turn: t.key}
	var ds []protocol.Delta
	item, show := c.item(t, false), c.show("")
	raw, err := protocol.Marshal(item)
	if err != nil {
		t.s.x.Log(protocol.LogWarn, "a tool call is not reported: "+err.Error(), nil)
		return nil
	}
	raw = append(raw, show.Label+show.Title+show.Detail...)
	switch {
	case !c.opened:
		ds = append(t.closeText(), &protocol.ItemOpen{Scope: scope, Key: c.key, Item: item, Presentation: show})
		c.opened = true
	case !bytes.Equal(raw, c.sent):
		ds = append(ds, &protocol.ItemProgress{Scope: scope, Key: c.key, Item: item, Presentation: &show})
	}
	c.sent = raw
	switch c.status {
	case schema.Completed:
		return append(ds, c.settle(t, protocol.Completed)...)
	case schema.Failed:
		return append(ds, c.settle(t, protocol.Failed)...)
	}
	return append(ds, c.stream(t)...)
}

// stream reports output that is new.
func (c *call) stream(t *turn) []protocol.Delta {
	if c.isEdit() && !c.isCommand() {
		return nil // an item of files has no output
	}
	now := c.output()
	if now == c.streamed || c.total+len(now) > maxStreamed {
		return nil
	}
	scope, mode, text := protocol.Scope{Turn: t.key}, protocol.Append, now
	if rest, grown := strings.CutPrefix(now, c.streamed); grown {
		text = rest
	} else {
		if time.Since(c.replaced) < replaceEvery {
			return nil // the next one, or the end, brings it
		}
		mode, c.replaced = protocol.Replace, time.Now()
	}
	c.streamed = now
	c.total += len(text)
	return []protocol.Delta{&protocol.ItemOutput{Scope: scope, Key: c.key, Mode: mode, Text: text}}
}

// settle closes the item.
func (c *call) settle(t *turn, status protocol.Status) []protocol.Delta {
	c.closed = true
	if c.terminal != nil && c.terminal.shownBy == c {
		c.terminal.shownBy = nil
	}
	if c.denied {
		status = protocol.Failed
	} else if status == protocol.Completed && c.status != schema.Completed {
		status = protocol.Interrupted // the agent never said how it ended
	}
	c.waiting = false
	return []protocol.Delta{&protocol.ItemClose{Scope: protocol.Scope{Turn: t.key}, Key: c.key, Status: status, Item: c.item(t, true), Presentation: c.show(status)}}
}

// show is how the call looks: while it goes on with the status "", else when it has ended.
func (c *call) show(status protocol.Status) protocol.Presentation {
	words := map[string][3]string{
		"read": {"Reading", "Read", "file"}, "edit": {"Editing", "Edited", "pencil"}, "delete": {"Deleting", "Deleted", "trash"},
		"move": {"Moving", "Moved", "file"}, "search": {"Searching", "Searched", "search"}, "execute": {"Running", "Ran", "terminal"},
		"think": {"Thinking", "Thought", "brain"}, "fetch": {"Fetching", "Fetched", "globe"},
		"switch_mode": {"Changing mode", "Changed mode", "gear"},
	}
	w, ok := words[c.kind]
	switch {
	case !ok && c.isCommand():
		w = words["execute"]
	case !ok && c.isEdit():
		w = words["edit"]
	case !ok:
		w = [3]string{"Using a tool", "Used a tool", "wrench"}
	}
	p := protocol.Presentation{Label: w[0], Icon: w[2], Title: cut(c.title, maxShown)}
	switch {
	case c.waiting:
		p.Label = "Waiting for permission"
	case status == "":
	case c.denied:
		p.Label, p.Tint = "Denied", protocol.TintWarning
	case status == protocol.Completed:
		p.Label = w[1]
	case status == protocol.Failed:
		p.Label, p.Tint = "Failed", protocol.TintDanger
		if c.isEdit() {
			p.Detail = cut(c.output(), maxShown) // the item has no place for it
		}
	default:
		p.Label = "Stopped"
	}
	return p
}

func intentOf(kind string) protocol.RenderIntent {
	switch kind {
	case "read":
		return protocol.IntentRead
	case "search":
		return protocol.IntentSearch
	case "fetch":
		return protocol.IntentWeb
	}
	return protocol.IntentGeneric
}

// tailBytes is the longest end of at most limit bytes that begins between characters.
func tailBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	start := len(text) - limit
	for start < len(text) && text[start]&0xC0 == 0x80 {
		start++
	}
	return text[start:]
}
