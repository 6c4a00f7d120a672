package bridgecheck_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"reflect"
	"sync"

	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/conformance/bridgecheck"
)

// mutant is the echo bridge behind a proxy that breaks one rule on the way through. A nil hook passes everything on.
type mutant struct {
	rule    string
	variant string // tells mutants of one rule apart; the first has none and is held against all rules
	profile int    // of the fixture: where it can be seen
	// start is called before anything else.
	start func(p *proxy)
	// request gets what core sends, response what the bridge answers, with the request; message is everything else that
	// the bridge sends, and junk what is no message from core.
	request  func(p *proxy, m message)
	response func(p *proxy, request, m message)
	message  func(p *proxy, m message)
	junk     func(p *proxy, line []byte)
	// delta gets each delta and returns what takes its place.
	delta func(p *proxy, d message) []message
	// lives keeps the process alive when the bridge has ended.
	lives bool
}

func (m mutant) name() string {
	if m.variant == "" {
		return m.rule
	}
	return m.rule + "/" + m.variant
}

// message is a JSON object.
type message map[string]any

func (m message) str(name string) string { s, _ := m[name].(string); return s }

func (m message) obj(name string) message {
	switch o := m[name].(type) {
	case map[string]any:
		return o
	case message:
		return o
	}
	return nil
}

func (m message) clone() message {
	var c message
	decode(m.line(), &c)
	return c
}

func (m message) line() []byte {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return text
}

func decode(text []byte, into any) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into) == nil
}

// code makes a response an error.
func (m message) fail(code int) {
	delete(m, "result")
	m["error"] = message{"code": code, "message": "as the mutant says"}
}

func (m message) succeed(result message) {
	delete(m, "error")
	m["result"] = result
}

// proxy stands between core and the bridge. One hook runs at a time.
type proxy struct {
	mutant  mutant
	fixture bridgecheck.Fixture

	mu       sync.Mutex
	core     io.Writer
	bridge   io.Writer
	requests map[string]message // of core, by id
	first    message            // the first response to initialize
	open     string             // the thread whose turn is open
	prompts  map[string]string  // the last prompt of each thread, by its name in the fixture
	held     []message
}

func newProxy(m mutant, f bridgecheck.Fixture, core, bridge io.Writer) *proxy {
	return &proxy{mutant: m, fixture: f, core: core, bridge: bridge, requests: map[string]message{}, prompts: map[string]string{}}
}

func (p *proxy) toCore(m message)   { p.core.Write(append(m.line(), '\n')) }
func (p *proxy) toBridge(m message) { p.bridge.Write(append(m.line(), '\n')) }

// fromCore passes on what core writes.
func (p *proxy) fromCore(r io.Reader) {
	lines := wire.NewLineReader(r, 0)
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		p.coreLine(line)
	}
}

func (p *proxy) coreLine(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var m message
	if _, err := wire.Parse(line); err != nil || !decode(line, &m) {
		if p.mutant.junk != nil {
			p.mutant.junk(p, line)
			return
		}
		p.bridge.Write(append(line, '\n'))
		return
	}
	if m["method"] != nil {
		p.requests[idOf(m)] = m
		if m.str("method") == "turn/start" {
			p.prompts[m.obj("params").str("threadId")] = p.promptOf(m)
		}
	}
	if p.mutant.request != nil {
		p.mutant.request(p, m)
		return
	}
	p.toBridge(m)
}

// sent returns core's request of a method for a thread, nil when there is none.
func (p *proxy) sent(method, thread string) message {
	for _, m := range p.requests {
		if m.str("method") == method && m.obj("params").str("threadId") == thread {
			return m
		}
	}
	return nil
}

func idOf(m message) string { return string(message{"id": m["id"]}.line()) }

// promptOf is the name of the prompt that a turn/start sends.
func (p *proxy) promptOf(m message) string {
	var sent any
	decode(message{"input": m.obj("params")["input"]}.line(), &sent)
	f := p.fixture.Prompts
	for name, prompt := range map[string]*bridgecheck.Prompt{
		"plain": f.Plain, "items": f.Items, "dynamicTool": f.DynamicTool, "question": f.Question, "approval": f.Approval,
		"slow": f.Slow, "zeroWork": f.ZeroWork,
	} {
		var known any
		if prompt != nil && decode(message{"input": prompt.Input}.line(), &known) && reflect.DeepEqual(sent, known) {
			return name
		}
	}
	return ""
}

// fromBridge passes on what the bridge writes.
func (p *proxy) fromBridge(r io.Reader) {
	lines := wire.NewLineReader(r, 0)
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		p.bridgeLine(line)
	}
}

func (p *proxy) bridgeLine(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var m message
	if !decode(line, &m) {
		p.core.Write(append(line, '\n'))
		return
	}
	switch {
	case m["method"] == nil:
		request := p.requests[idOf(m)]
		if request.str("method") == "initialize" && p.first == nil && m["result"] != nil {
			p.first = m.clone()
		}
		if p.mutant.response != nil {
			p.mutant.response(p, request, m)
			return
		}
	case m.str("method") == "thread/delta":
		p.deltas(m)
		if len(m.obj("params")["deltas"].([]any)) == 0 {
			return
		}
		if p.mutant.message != nil {
			p.mutant.message(p, m)
			return
		}
	case p.mutant.message != nil:
		p.mutant.message(p, m)
		return
	}
	p.toCore(m)
}

// deltas puts each delta through the hook.
func (p *proxy) deltas(m message) {
	params := m.obj("params")
	list, _ := params["deltas"].([]any)
	changed := []any{}
	for _, v := range list {
		d := message(v.(map[string]any))
		switch d.str("kind") {
		case "turn.open":
			p.open = params.str("threadId")
		case "turn.boundary":
			p.open = ""
		}
		all := []message{d}
		if p.mutant.delta != nil {
			all = p.mutant.delta(p, message{"thread": params.str("threadId"), "d": d})
		}
		for _, d := range all {
			changed = append(changed, d)
		}
	}
	params["deltas"] = changed
}

// runMutant is the process of a mutant.
func runMutant(name string) {
	f, err := bridgecheck.ParseFixture(echoFixture())
	if err != nil {
		panic(err)
	}
	for _, m := range mutants() {
		if m.name() == name {
			toBridge, fromBridge, wait := startEcho(os.Args[1:])
			p := newProxy(m, f, os.Stdout, toBridge)
			if m.start != nil {
				m.start(p)
			}
			go func() {
				p.fromCore(os.Stdin)
				toBridge.Close()
			}()
			p.fromBridge(fromBridge)
			wait()
			if m.lives {
				block()
			}
			return
		}
	}
	panic("no mutant " + name)
}
