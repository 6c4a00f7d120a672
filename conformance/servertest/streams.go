package servertest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

const followPath = notesPath + "/follow"

// heartbeat is how often an idle stream says that it lives.
const heartbeat = 15 * time.Second

var streamChecks = []check{
	{name: "http.sse.open", rule: "a stream begins at once with retry: 1000 and the comment : open", run: streamOpens},
	{name: "http.sse.headers", rule: "a stream is text/event-stream, not compressed, not buffered by proxies, not stored", run: streamHeaders},
	{name: "http.sse.item", rule: "an item is its cursor as id, event: item, and its JSON as data", run: streamItem},
	{name: "http.sse.end", rule: "the end is event: end with {}, and the connection closes", run: streamEnd},
	{name: "http.sse.order", rule: "items come whole and in order", run: streamOrder},
	{name: "http.sse.live", rule: "a new item is sent when it is there", run: streamLive},
	{name: "http.sse.resume", rule: "Last-Event-ID goes on after that item", run: resumeWith("Last-Event-ID")},
	{name: "http.sse.since", rule: "$since and since go on after that item", run: func(p *probe) {
		resumeWith("$since")(p)
		resumeWith("since")(p)
	}},
	{name: "http.sse.last-event-id-wins", rule: "Last-Event-ID wins over $since", run: lastEventIDWins},
	{name: "http.sse.beyond-end", rule: "a cursor beyond the end waits", run: beyondEnd},
	{name: "http.sse.refused", rule: "an error before the stream opens is a plain failure with its status", run: streamRefused},
	{name: "http.sse.text", rule: "with Bb-Render the data is seq, from 0 for each connection, and text", run: streamText},
	{name: "http.sse.heartbeat", rule: "an idle stream sends a comment every 15 s", run: streamHeartbeat, wait: heartbeat + 5*time.Second},
}

// stream is an open event stream.
type stream struct {
	p      *probe
	what   request
	lines  *bufio.Reader
	header http.Header
	close  func()
}

// follow opens the notes' stream; it must open.
func (p *probe) follow(query string, header ...string) *stream {
	r := request{method: "GET", path: followPath, query: query, header: header}
	ctx, cancel := context.WithCancel(p.ctx)
	resp := p.open(ctx, r)
	closed := func() {
		cancel()
		resp.Body.Close()
	}
	p.cleanups = append(p.cleanups, closed)
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody))
		p.failf("%s: status %d %.300s, want 200", r, resp.StatusCode, body)
	}
	return &stream{p: p, what: r, lines: bufio.NewReader(resp.Body), header: resp.Header, close: closed}
}

// block is what stands between two blank lines.
type block struct {
	id, event, data string
	hasID           bool
	lines           []string
}

// next reads a block; ok is false at the end of the stream.
func (s *stream) next() (b block, ok bool) {
	b, err := s.read()
	if err != nil && err != io.EOF {
		s.p.failf("%s: the stream breaks off: %v", s.what, err)
	}
	return b, err == nil
}

func (s *stream) read() (b block, err error) {
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return b, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			return b, nil
		}
		b.lines = append(b.lines, line)
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			b.id, b.hasID = value, true
		case "event":
			b.event = value
		case "data":
			if b.data != "" {
				value = b.data + "\n" + value
			}
			b.data = value
		}
	}
}

// event reads the next block that is an event.
func (s *stream) event() (b block, ok bool) {
	for {
		b, ok = s.next()
		if !ok || b.event != "" || b.data != "" {
			return b, ok
		}
	}
}

// item reads the next item.
func (s *stream) item() (b block, note map[string]any) {
	b, ok := s.event()
	if !ok || b.event != "item" {
		s.p.failf("%s: %q came, want an item", s.what, b.lines)
	}
	if err := json.Unmarshal([]byte(b.data), &note); err != nil {
		s.p.failf("%s: the item %.200q is not a JSON object", s.what, b.data)
	}
	return b, note
}

// until reads items up to the note with this id and returns its block.
func (s *stream) until(id string) block {
	for {
		if b, note := s.item(); note["id"] == id {
			return b
		}
	}
}

func streamOpens(p *probe) {
	id := p.note("conformance open " + p.run)
	s := p.follow("", "Last-Event-ID", p.follow("").until(id).id) // nothing follows: what comes, comes at once
	var lines []string
	for len(lines) < 2 {
		b, ok := s.next()
		if !ok {
			break
		}
		lines = append(lines, b.lines...)
	}
	if len(lines) < 2 || strings.ReplaceAll(lines[0], " ", "") != "retry:1000" || strings.ReplaceAll(lines[1], " ", "") != ":open" {
		p.errorf("%s: it begins with %q, want retry: 1000 and : open", s.what, lines)
	}
}

func streamHeaders(p *probe) {
	h := p.follow("limit=1", "Accept-Encoding", "gzip, br").header
	if media, _, _ := mime.ParseMediaType(h.Get("Content-Type")); media != "text/event-stream" {
		p.errorf("the content type is %q", h.Get("Content-Type"))
	}
	for name, want := range map[string]string{"Content-Encoding": "", "X-Accel-Buffering": "no", "Cache-Control": "no-store"} {
		if h.Get(name) != want {
			p.errorf("%s is %q, want %q", name, h.Get(name), want)
		}
	}
}

func streamItem(p *probe) {
	id := p.note("conformance item " + p.run)
	b := p.follow("").until(id)
	if !b.hasID || b.id == "" || len(b.id) > 256 || strings.ContainsFunc(b.id, func(r rune) bool { return r < ' ' || r > '~' }) {
		p.errorf("the cursor is %q, want printable ASCII", b.id)
	}
	for _, field := range []string{"id", "text", "createdAt"} {
		if !strings.Contains(b.data, `"`+field+`":`) {
			p.errorf("the item has no %s: %.200s", field, b.data)
		}
	}
}

func streamEnd(p *probe) {
	p.note("conformance end " + p.run)
	s := p.follow("limit=1")
	s.item()
	if b, ok := s.event(); !ok || b.event != "end" || b.data != "{}" {
		p.errorf("%s: after the last item comes %q, want event: end with {}", s.what, b.lines)
	}
	if b, ok := s.next(); ok {
		p.errorf("%s: after the end comes %q", s.what, b.lines)
	}
}

func streamOrder(p *probe) {
	const many = 20
	var ids []string
	for i := range many {
		ids = append(ids, p.note(fmt.Sprintf("conformance order %d", i)))
	}
	s := p.follow("")
	s.until(ids[0])
	for _, want := range ids[1:] {
		s.until(want) // never comes when it came before
	}
}

func streamLive(p *probe) {
	first := p.note("conformance live 1 " + p.run)
	s := p.follow("")
	s.until(first)
	s.until(p.note("conformance live 2 " + p.run))
}

// resumeWith resumes after a note in one of the ways to say so.
func resumeWith(how string) func(*probe) {
	return func(p *probe) {
		first := p.note("conformance resume 1 " + p.run)
		second := p.note("conformance resume 2 " + p.run)
		cursor := p.follow("").until(first).id
		s := p.resume(how, cursor)
		if _, note := s.item(); note["id"] != second {
			p.errorf("%s: after the note %s comes %v, want %s", s.what, first, note["id"], second)
		}
	}
}

func (p *probe) resume(how, cursor string) *stream {
	if how == "Last-Event-ID" {
		return p.follow("", how, cursor)
	}
	return p.follow(how + "=" + cursor)
}

func lastEventIDWins(p *probe) {
	first := p.note("conformance wins 1 " + p.run)
	second := p.note("conformance wins 2 " + p.run)
	third := p.note("conformance wins 3 " + p.run)
	s := p.follow("")
	one, two := s.until(first).id, s.until(second).id
	s = p.follow("$since="+one, "Last-Event-ID", two)
	if _, note := s.item(); note["id"] != third {
		p.errorf("%s: the note %v comes first, want %s", s.what, note["id"], third)
	}
}

// quiet is how long nothing may come where nothing should.
const quiet = 200 * time.Millisecond

func beyondEnd(p *probe) {
	s := p.follow("", "Last-Event-ID", "9000000000")
	came := make(chan block)
	go func() {
		defer close(came)
		for {
			b, err := s.read()
			if err != nil {
				return
			}
			if b.event != "" || b.data != "" {
				came <- b
				return
			}
		}
	}()
	select {
	case b, ok := <-came:
		if !ok {
			p.errorf("%s: it ended", s.what)
		} else {
			p.errorf("%s: %q came", s.what, b.lines)
		}
	case <-time.After(quiet):
	}
	s.close()
	for range came { // until the reader is done
	}
}

func streamRefused(p *probe) {
	p.issue(p.get(followPath, "limit=0"), "too_small", "limit")
	p.issue(p.get(followPath, "limit=x"), "invalid_type", "limit")
}

func streamText(p *probe) {
	text := "conformance text " + p.run
	p.note(text)
	cursor := ""
	for range 2 { // seq begins anew
		var s *stream
		if cursor == "" {
			s = p.follow("", "Bb-Render", "text; width=80")
		} else {
			s = p.follow("", "Bb-Render", "text; width=80", "Last-Event-ID", cursor)
			p.note(text + " again")
		}
		for want := 0; ; want++ {
			b, ok := s.event()
			var f struct {
				Seq  *int    `json:"seq"`
				Text *string `json:"text"`
			}
			if !ok || b.event != "item" || json.Unmarshal([]byte(b.data), &f) != nil || f.Seq == nil || f.Text == nil {
				p.failf("%s: %q came, want an item of seq and text", s.what, b.lines)
			}
			if *f.Seq != want {
				p.failf("%s: seq is %d, want %d", s.what, *f.Seq, want)
			}
			if strings.Contains(*f.Text, text) {
				cursor = b.id
				break
			}
		}
		s.close()
	}
}

func streamHeartbeat(p *probe) {
	s := p.follow("", "Last-Event-ID", "9000000000")
	for opened := time.Now(); ; {
		b, ok := s.next()
		if !ok {
			p.failf("%s: it ended", s.what)
		}
		if b.event == "" && b.data == "" && time.Since(opened) > heartbeat/2 {
			if after := time.Since(opened); after > heartbeat+2*time.Second {
				p.errorf("%s: the first heartbeat came after %s", s.what, after)
			}
			return
		}
	}
}
