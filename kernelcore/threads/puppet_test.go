package threads_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// puppetWord makes the test's own program a bridge that does whatever an input says, however wrong it is. It writes its
// lines by hand, because the author's side of the kit would not let it.
const puppetWord = "run-the-puppet-bridge"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == puppetWord:
		(&puppet{sessions: map[string]*puppetSession{}, answers: map[string]chan message{}}).run()
		os.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == serverWord:
		runServer(os.Args[2:])
	}
	os.Exit(m.Run())
}

func puppetCommand() []string { return []string{os.Args[0], puppetWord} }

// puppetDeclaration is what the puppet declares.
func puppetDeclaration() protocol.ProviderDeclaration {
	return protocol.ProviderDeclaration{
		ID: "puppet", DisplayName: "Puppet", Icon: "hand", Visibility: protocol.VisibleAlways,
		Strings: protocol.ProviderStrings{SignInHint: "pull the strings", ExpiredHint: "pull them again"},
		Capabilities: protocol.Capabilities{
			SessionRestore: true, ThreadGoal: true, Fork: protocol.ForkCheckpoint, Steer: protocol.SteerNative, ApprovalEnforcedBy: protocol.EnforcedByRuntime,
		},
		PermissionModes: []protocol.PermissionMode{protocol.ModeAcceptEdits, protocol.ModeAuto, protocol.ModeFull},
		UserQuestions:   true,
		Actions:         []protocol.Action{protocol.ActionCompact},
		Skills:          protocol.SkillSupport{Configure: true},
		Models:          protocol.ModelSource{Catalog: protocol.CatalogStatic, Scope: protocol.ModelsPerHost, Fallback: []protocol.ModelDecl{}},
	}
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

type puppet struct {
	mu       sync.Mutex
	sessions map[string]*puppetSession
	answers  map[string]chan message
	serial   int
}

type puppetSession struct {
	thread, id string
	stop       chan struct{} // closed by an interrupt
	steered    chan string
	turns      int
	stubborn   bool // answers no stop
	open       bool
	approvals  int
	env        map[string]string
	tools      []string
	options    string
	roots      []string
}

func (p *puppet) write(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = os.Stdout.Write(append(raw, '\n'))
}

func (p *puppet) notify(method string, params any) {
	p.write(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

func (p *puppet) answer(id json.RawMessage, result any) {
	p.write(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func (p *puppet) refuse(id json.RawMessage, code int, text string, data any) {
	p.write(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text, "data": data}})
}

// ask sends a request and waits for its answer.
func (p *puppet) ask(method string, params any) message {
	p.mu.Lock()
	p.serial++
	id := fmt.Sprintf("p%d", p.serial)
	ch := make(chan message, 1)
	p.answers[id] = ch
	p.mu.Unlock()
	p.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return <-ch
}

func (p *puppet) run() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if m.Method == "" {
			var id string
			_ = json.Unmarshal(m.ID, &id)
			p.mu.Lock()
			ch := p.answers[id]
			delete(p.answers, id)
			p.mu.Unlock()
			if ch != nil {
				ch <- m
			}
			continue
		}
		p.take(m)
	}
}

func (p *puppet) take(m message) {
	var q struct {
		ThreadID               string           `json:"threadId"`
		ProviderThreadID       string           `json:"providerThreadId"`
		SourceProviderThreadID string           `json:"sourceProviderThreadId"`
		ClientRequestID        string           `json:"clientRequestId"`
		Intent                 string           `json:"intent"`
		Goal                   string           `json:"goal"`
		Input                  []map[string]any `json:"input"`
		Roots                  []map[string]any `json:"roots"`
		Cwd                    string           `json:"cwd"`
		Env                    map[string]string
		Tools                  []struct{ Name string }
		Options                struct {
			Model, Instructions string
			Permission          struct{ Mode string }
			ProviderOptions     json.RawMessage
		}
		Actions []string
	}
	_ = json.Unmarshal(m.Params, &q)
	p.mu.Lock()
	s := p.sessions[q.ThreadID]
	p.mu.Unlock()
	switch m.Method {
	case "initialize":
		p.answer(m.ID, map[string]any{"protocol": 3, "capabilities": puppetDeclaration().Capabilities})
	case "thread/start", "thread/resume", "thread/fork":
		if _, err := os.Stat(q.Cwd + "/slow-start"); err == nil {
			go func() {
				for {
					if _, err := os.Stat(q.Cwd + "/slow-start"); err != nil {
						break
					}
					<-time.After(5 * time.Millisecond) // a child process has no channel to the test
				}
				p.begin(m, q.ThreadID, q.ProviderThreadID)
			}()
			return
		}
		if m.Method == "thread/resume" {
			if _, err := os.Stat(q.Cwd + "/forgotten"); err == nil {
				p.refuse(m.ID, -32002, "the session is gone", nil)
				return
			}
		}
		p.begin(m, q.ThreadID, q.ProviderThreadID)
		p.mu.Lock()
		s = p.sessions[q.ThreadID]
		s.env = q.Env
		for _, tool := range q.Tools {
			s.tools = append(s.tools, tool.Name)
		}
		p.mu.Unlock()
	case "thread/stop":
		if s == nil || q.Intent == "release" {
			p.mu.Lock()
			delete(p.sessions, q.ThreadID)
			p.mu.Unlock()
			p.answer(m.ID, map[string]any{})
			return
		}
		if s.stubborn {
			return
		}
		close(s.stop)
		s.stop = make(chan struct{})
		go func() { // the turn settles first
			for i := 0; i < 2000; i++ {
				p.mu.Lock()
				open := s.open
				p.mu.Unlock()
				if !open {
					break
				}
				<-time.After(time.Millisecond) // a child process has no channel to the test
			}
			p.answer(m.ID, map[string]any{})
		}()
	case "skills/configure":
		for _, root := range q.Roots {
			s.roots = append(s.roots, fmt.Sprint(root["id"], "=", root["path"]))
		}
		p.answer(m.ID, map[string]any{})
	case "thread/discard":
		p.mu.Lock()
		delete(p.sessions, q.ThreadID)
		p.mu.Unlock()
		if s != nil && s.stubborn {
			return
		}
		p.answer(m.ID, map[string]any{})
	case "thread/goal/set":
		p.answer(m.ID, map[string]any{})
		if q.Goal == "work" { // by itself
			go p.turn(s, "", "say on my own")
		}
	case "turn/start":
		text := textOf(q.Input)
		if len(q.Actions) > 0 {
			text = "say " + strings.Join(q.Actions, " ")
		}
		s.options = q.Options.Model + " " + q.Options.Permission.Mode + " " + string(q.Options.ProviderOptions) + " " + q.Options.Instructions
		go p.start(m, s, q.ClientRequestID, text)
	case "turn/steer":
		p.deltas(s, map[string]any{"kind": "input.accepted", "clientRequestId": q.ClientRequestID})
		select {
		case s.steered <- textOf(q.Input):
		default:
		}
		p.answer(m.ID, map[string]any{})
	case "shutdown":
		p.answer(m.ID, map[string]any{})
	default:
		p.answer(m.ID, map[string]any{})
	}
}

func textOf(input []map[string]any) string {
	for _, one := range input {
		if text, ok := one["text"].(string); ok {
			return text
		}
	}
	return ""
}

func (p *puppet) begin(m message, thread, id string) {
	if id == "" || m.Method == "thread/fork" {
		id = "session-of-" + thread
	}
	p.mu.Lock()
	p.sessions[thread] = &puppetSession{thread: thread, id: id, stop: make(chan struct{}), steered: make(chan string, 16)}
	p.mu.Unlock()
	p.notify("thread/identity", map[string]any{"threadId": thread, "providerThreadId": id, "sessionRestorable": true})
	p.answer(m.ID, map[string]any{"providerThreadId": id, "sessionRestorable": true})
}

func (p *puppet) deltas(s *puppetSession, ds ...map[string]any) {
	p.notify("thread/delta", map[string]any{"threadId": s.thread, "deltas": ds})
}

// start takes an input, in one of the ways that words choose before a turn begins.
func (p *puppet) start(m message, s *puppetSession, request, text string) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "mute": // no answer, ever
		return
	case "refuse":
		p.refuse(m.ID, -32000, "I would rather not", nil)
		return
	case "recover":
		p.refuse(m.ID, -32000, "something broke", map[string]any{"recovery": rest})
		return
	case "noopen":
		p.deltas(s, map[string]any{"kind": "input.accepted", "clientRequestId": request})
		p.answer(m.ID, map[string]any{})
		return
	}
	p.mu.Lock()
	s.open = true
	p.mu.Unlock()
	p.deltas(s, map[string]any{"kind": "input.accepted", "clientRequestId": request})
	p.answer(m.ID, map[string]any{})
	p.turn(s, request, text)
}

func (p *puppet) turn(s *puppetSession, request, text string) {
	p.mu.Lock()
	s.turns++
	key := "turn-" + strconv.Itoa(s.turns)
	stop := s.stop
	s.open = true
	p.mu.Unlock()
	settled := func() {
		p.mu.Lock()
		s.open = false
		p.mu.Unlock()
	}
	scoped := func(d map[string]any) map[string]any {
		d["scope"], d["turnKey"] = "turn", key
		return d
	}
	item := func(id string) map[string]any {
		return map[string]any{"providerItemId": id, "channel": nil, "parentRef": nil}
	}
	look := map[string]any{"label": "Working", "icon": "gear"}
	message := func(id, text string) []map[string]any {
		return []map[string]any{
			scoped(map[string]any{"kind": "item.open", "key": item(id), "item": map[string]any{"kind": "message", "text": ""}, "presentation": look}),
			scoped(map[string]any{"kind": "item.text", "key": item(id), "stream": "text", "text": text}),
			scoped(map[string]any{"kind": "item.close", "key": item(id), "status": "completed", "item": map[string]any{"kind": "message", "text": text}, "presentation": look}),
		}
	}
	boundary := func(status string) map[string]any {
		checkpoint := any(nil)
		if status == "completed" {
			checkpoint = "checkpoint-" + key
		}
		return map[string]any{"kind": "turn.boundary", "turnKey": key, "status": status, "error": nil, "checkpointId": checkpoint}
	}
	p.deltas(s, map[string]any{"kind": "turn.open", "turnKey": key, "parentRef": nil})
	id, status := "m-"+key, "completed"
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "say":
		p.deltas(s, message(id, rest)...)
	case "usage":
		n, _ := strconv.Atoi(rest)
		p.deltas(s, map[string]any{"kind": "usage", "turnKey": key, "last": map[string]any{"totalTokens": n, "inputTokens": n, "cachedInputTokens": 0, "outputTokens": 0, "reasoningOutputTokens": 0},
			"total": nil, "modelContextWindow": nil, "cacheWriteTokens": nil, "cost": nil})
	case "flood":
		n, _ := strconv.Atoi(rest)
		p.deltas(s, message(id, "")[0])
		for i := range n {
			p.deltas(s, scoped(map[string]any{"kind": "item.text", "key": item(id), "stream": "text", "text": strconv.Itoa(i) + " "}))
		}
		var all strings.Builder
		for i := range n {
			all.WriteString(strconv.Itoa(i) + " ")
		}
		p.deltas(s, scoped(map[string]any{"kind": "item.close", "key": item(id), "status": "completed", "item": map[string]any{"kind": "message", "text": all.String()}, "presentation": look}))
	case "pace": // a piece of text each ten milliseconds, which says when it was sent
		n, _ := strconv.Atoi(rest)
		p.deltas(s, message(id, "")[0])
		tick := time.NewTicker(10 * time.Millisecond)
		for range n {
			<-tick.C
			p.deltas(s, scoped(map[string]any{"kind": "item.text", "key": item(id), "stream": "text", "text": strconv.FormatInt(time.Now().UnixNano(), 10)}))
		}
	case "ask", "edit", "read":
		p.mu.Lock()
		s.approvals++
		requestKey := fmt.Sprintf("a%d", s.approvals)
		p.mu.Unlock()
		subject := map[string]any{"kind": "command", "itemKey": item("c-" + key), "command": rest, "cwd": nil, "actions": []any{}, "sessionGrant": nil}
		if word == "read" {
			subject["actions"] = []any{map[string]any{"kind": "read", "command": rest, "name": "x", "path": "x"}}
		}
		if word == "edit" {
			p.deltas(s, scoped(map[string]any{"kind": "item.open", "key": item("c-" + key), "presentation": look,
				"item": map[string]any{"kind": "file_change", "approval": "waiting", "changes": []any{map[string]any{"path": rest, "change": "add", "movePath": nil, "diff": nil}}}}))
			subject = map[string]any{"kind": "file_change", "itemKey": item("c-" + key), "writeScope": nil, "sessionGrant": nil}
		}
		got := p.ask("interaction/request", map[string]any{"threadId": s.thread, "providerThreadId": s.id, "requestKey": requestKey, "scope": "turn", "turnKey": key,
			"request": map[string]any{"kind": "approval", "subject": subject, "reason": nil, "decisions": []string{"allow_once", "allow_for_session", "deny"}}})
		if got.Error != nil {
			status = "interrupted"
			break
		}
		var d struct{ Decision string }
		_ = json.Unmarshal(got.Result, &d)
		p.deltas(s, message(id, "decision: "+d.Decision)...)
	case "question":
		got := p.ask("interaction/request", map[string]any{"threadId": s.thread, "providerThreadId": s.id, "requestKey": "q" + key, "scope": "turn", "turnKey": key,
			"request": map[string]any{"kind": "question", "questions": []any{map[string]any{"id": "q", "prompt": rest, "shortLabel": nil, "multiSelect": false, "allowFreeText": true,
				"options": []any{map[string]any{"value": "a", "label": "A", "description": nil}}}}}})
		if got.Error != nil {
			status = "interrupted"
			break
		}
		p.deltas(s, message(id, "answer: "+string(got.Result))...)
	case "tool":
		name, args, _ := strings.Cut(rest, " ")
		got := p.ask("tool/call", map[string]any{"threadId": s.thread, "providerThreadId": s.id, "requestKey": "t" + key, "turnKey": key, "itemKey": nil, "tool": name, "arguments": json.RawMessage(args)})
		p.deltas(s, message(id, "tool: "+string(got.Result)+string(got.Error))...)
	case "steerable":
		select {
		case said := <-s.steered:
			p.deltas(s, message(id, "heard: "+said)...)
		case <-stop:
			p.deltas(s, boundary("interrupted"))
			settled()
			return
		}
	case "slow", "stubborn", "late", "unsettled":
		p.deltas(s, message(id, "")[0], scoped(map[string]any{"kind": "item.text", "key": item(id), "stream": "text", "text": "so far"}))
		p.mu.Lock()
		s.stubborn = word == "stubborn"
		p.mu.Unlock()
		<-stop
		if word == "unsettled" {
			settled()
			return
		}
		p.deltas(s, boundary("interrupted"))
		settled()
		if word == "late" {
			p.deltas(s, scoped(map[string]any{"kind": "item.text", "key": item(id), "stream": "text", "text": " too late"}))
		}
		return
	case "twice":
		p.deltas(s, message(id, "once")...)
		p.deltas(s, boundary("completed"))
		p.deltas(s, boundary("failed"))
		settled()
		return
	case "die":
		p.deltas(s, message(id, "")[0], scoped(map[string]any{"kind": "item.text", "key": item(id), "stream": "text", "text": "famous last words"}))
		fmt.Fprintln(os.Stderr, "the puppet dies")
		os.Exit(3)
	case "child": // starts something that would outlive it, and waits to be stopped
		child := exec.Command("sleep", "300")
		if err := child.Start(); err == nil {
			p.deltas(s, message(id, fmt.Sprintf("pid %d", child.Process.Pid))...)
		}
		<-stop
		status = "interrupted"
	case "long": // a line that nobody reads
		p.deltas(s, message(id, "")[0])
		p.notify("thread/delta", map[string]any{"threadId": s.thread, "deltas": []any{scoped(map[string]any{"kind": "item.text", "key": item(id), "stream": "text", "text": strings.Repeat("x", 9<<20)})}})
		settled()
		return
	case "replace":
		p.notify("session/replaced", map[string]any{"threadId": s.thread, "providerThreadId": s.id + "-2", "reason": "compacted", "contextLost": true})
		s.id += "-2"
		p.deltas(s, message(id, "replaced")...)
	case "hint":
		p.notify("provider/recovery", map[string]any{"threadId": s.thread, "hint": rest, "message": "please"})
		p.deltas(s, message(id, "hinted")...)
	case "background":
		p.deltas(s, scoped(map[string]any{"kind": "item.open", "key": item("t-" + key), "presentation": look, "item": map[string]any{
			"kind": "task", "role": "background", "label": "later", "taskType": nil, "childRef": nil, "background": true, "summary": nil, "error": nil, "outputFile": nil, "usage": nil}}))
	case "env":
		var names []string
		for name, value := range s.env {
			names = append(names, name+"="+value)
		}
		sort.Strings(names)
		p.deltas(s, message(id, strings.Join(names, "\n"))...)
	case "tools":
		p.deltas(s, message(id, strings.Join(s.tools, " "))...)
	case "options":
		p.deltas(s, message(id, s.options)...)
	case "skills":
		p.deltas(s, message(id, strings.Join(s.roots, "\n"))...)
	case "pid":
		p.deltas(s, message(id, strconv.Itoa(os.Getpid()))...)
	default:
		p.deltas(s, message(id, text)...)
	}
	p.deltas(s, boundary(status))
	settled()
}
