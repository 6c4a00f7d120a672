// Package mcprelay carries the Model Context Protocol between standard input and output, where editors and agents speak it, and
// a server's endpoint for it. Messages pass as they are; the relay keeps the session (docs/spec/mcp.md).
package mcprelay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Limits of a relay.
const (
	MaxLine   = 1 << 20  // bytes of a message of the client: what the endpoint takes
	maxAnswer = 64 << 20 // bytes of a message of the server: images are inside
	// MaxAtOnce is how many requests are under way; further lines wait.
	MaxAtOnce = 64
	// retryEvery is how often the stream of notifications is opened again while the server is away.
	retryEvery = time.Second
	// leaveTime bounds what is still under way when the input ends.
	leaveTime = 2 * time.Second
)

// Names of headers.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// Code of the errors that the relay itself answers: that of service_unavailable.
const codeUnavailable = -32020

// Send sends a request to the endpoint. The error is that of the connection.
type Send func(ctx context.Context, method string, headers http.Header, body []byte) (*http.Response, error)

// Relay is one client's connection. Make it with New and call Run once.
type Relay struct {
	send Send
	in   io.Reader
	say  func(string) // for people, on standard error

	outMu sync.Mutex
	out   io.Writer

	mu          sync.Mutex
	session     string // "": none
	version     string
	initialize  []byte // the client's message, to begin anew with
	initialized []byte
	listening   bool
	work        sync.WaitGroup // requests
	listener    sync.WaitGroup
	slots       chan struct{}
}

// New returns a relay between the streams of a client and an endpoint. say gets what people should know.
func New(in io.Reader, out io.Writer, send Send, say func(string)) *Relay {
	return &Relay{send: send, in: in, out: out, say: say, slots: make(chan struct{}, MaxAtOnce)}
}

// message is what the relay reads of one.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result struct {
		ProtocolVersion string `json:"protocolVersion"`
	} `json:"result"`
}

// Run carries messages until the input ends or ctx does. The error is that of the streams.
func (r *Relay) Run(ctx context.Context) error {
	asked := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan []byte)
	var readErr error
	go func() { // ends with the input, or with the process when that cannot be interrupted
		defer close(lines)
		readErr = r.read(ctx, lines)
	}()
	for open := true; open; {
		select {
		case line, ok := <-lines:
			if open = ok; ok {
				r.take(ctx, line)
			}
		case <-ctx.Done():
			open = false
		}
	}
	done := make(chan struct{})
	go func() { // ends with the last request
		r.work.Wait()
		close(done)
	}()
	if ctx.Err() == nil { // answers that are under way still reach the client, notifications need not
		select {
		case <-done:
		case <-time.After(leaveTime):
		}
	}
	cancel()
	<-done
	r.listener.Wait()
	r.leave()
	if asked.Err() != nil { // the reader may still be blocked
		return nil
	}
	return readErr
}

// read splits the input into lines.
func (r *Relay) read(ctx context.Context, lines chan<- []byte) error {
	s := bufio.NewReaderSize(r.in, 64<<10)
	var line []byte
	long := false
	for {
		part, err := s.ReadSlice('\n')
		if len(line)+len(part) > MaxLine+1 {
			long = true
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if text := bytes.TrimSpace(line); long {
			r.say(fmt.Sprintf("a message of over %d bytes was dropped", MaxLine))
			r.answer(nil, -32600, fmt.Sprintf("a message has at most %d bytes", MaxLine))
		} else if len(text) > 0 {
			select {
			case lines <- text:
			case <-ctx.Done():
				return nil
			}
		}
		line, long = nil, false
		if err != nil {
			return nil
		}
	}
}

// take sends one message. The first ones go one after the other: there is no session before they are answered.
func (r *Relay) take(ctx context.Context, line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		r.answer(nil, -32700, "the message is not JSON: "+err.Error())
		return
	}
	switch m.Method {
	case "initialize":
		r.mu.Lock()
		r.initialize, r.session, r.version = line, "", ""
		r.mu.Unlock()
		r.post(ctx, m, line, true)
		return
	case "notifications/initialized":
		r.mu.Lock()
		r.initialized = line
		r.mu.Unlock()
		r.post(ctx, m, line, true)
		r.listen(ctx)
		return
	}
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	r.work.Go(func() {
		defer func() { <-r.slots }()
		r.post(ctx, m, line, true)
	})
}

func (r *Relay) headers() http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session != "" {
		h[sessionHeader] = []string{r.session}
	}
	if r.version != "" {
		h[versionHeader] = []string{r.version}
	}
	return h
}

// post sends a message and writes what comes back. A session that the server does not know any more, since it was started
// anew, is begun again once.
func (r *Relay) post(ctx context.Context, m message, line []byte, again bool) {
	h := r.headers()
	resp, err := r.send(ctx, http.MethodPost, h, line)
	if err != nil {
		if ctx.Err() == nil {
			r.fail(m, err.Error())
		}
		return
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound && again && m.Method != "initialize" && h.Get(sessionHeader) != "":
		if err := r.renew(ctx, h.Get(sessionHeader)); err != nil {
			r.fail(m, err.Error())
			return
		}
		r.post(ctx, m, line, false)
	case resp.StatusCode >= 400:
		raw, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // what there is of it
		r.fail(m, fmt.Sprintf("the server answered %s: %s", resp.Status, strings.TrimSpace(string(raw))))
	default:
		if m.Method == "initialize" {
			r.mu.Lock()
			r.session = resp.Header.Get(sessionHeader)
			r.mu.Unlock()
		}
		if err := r.copy(resp, m.Method == "initialize"); err != nil && ctx.Err() == nil {
			r.fail(m, "the answer broke off: "+err.Error())
		}
	}
}

// renew begins a session anew for a client that knows of none of this, unless another request has done so.
func (r *Relay) renew(ctx context.Context, lost string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session != lost {
		return nil
	}
	if r.initialize == nil {
		return errors.New("the session is gone")
	}
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	resp, err := r.send(ctx, http.MethodPost, h, r.initialize)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		return fmt.Errorf("the session is gone and cannot be begun anew: %s", resp.Status)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // the client has an answer already
	r.session = resp.Header.Get(sessionHeader)
	h[sessionHeader], h[versionHeader] = []string{r.session}, []string{r.version}
	if r.initialized != nil {
		resp, err := r.send(ctx, http.MethodPost, h, r.initialized)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	return nil
}

// listen opens the stream of what the server says by itself, and keeps it open.
func (r *Relay) listen(ctx context.Context) {
	r.mu.Lock()
	begun := r.listening
	r.listening = true
	r.mu.Unlock()
	if begun {
		return
	}
	r.listener.Go(func() {
		away := false
		for ctx.Err() == nil {
			h := r.headers()
			resp, err := r.send(ctx, http.MethodGet, h, nil)
			if err == nil {
				switch {
				case resp.StatusCode == http.StatusOK:
					if away { // what has changed in the meantime nobody has told
						for _, kind := range []string{"tools", "resources"} {
							r.write([]byte(`{"jsonrpc":"2.0","method":"notifications/` + kind + `/list_changed"}`))
						}
					}
					_ = r.copy(resp, false) // it ends with the server
				case resp.StatusCode == http.StatusMethodNotAllowed:
					_ = resp.Body.Close()
					return // the server says nothing by itself
				case resp.StatusCode == http.StatusNotFound:
					_ = r.renew(ctx, h.Get(sessionHeader)) // else the next round tries again
				}
				_ = resp.Body.Close()
			}
			away = true
			select {
			case <-time.After(retryEvery):
			case <-ctx.Done():
			}
		}
	})
}

// copy writes the messages of an answer, which is JSON or an event stream.
func (r *Relay) copy(resp *http.Response, first bool) error {
	body := bufio.NewReaderSize(io.LimitReader(resp.Body, maxAnswer), 64<<10)
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		raw, err := io.ReadAll(body)
		if err == nil && len(bytes.TrimSpace(raw)) > 0 {
			r.pass(raw, first)
		}
		return err
	}
	body = bufio.NewReaderSize(resp.Body, 64<<10) // a stream has no end
	var data []byte
	for {
		line, err := body.ReadBytes('\n')
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0 && len(data) > 0:
			r.pass(data, first)
			data = nil
		case bytes.HasPrefix(line, []byte("data:")):
			data = append(append(data, bytes.TrimPrefix(bytes.TrimPrefix(line, []byte("data:")), []byte(" "))...), '\n')
			if len(data) > maxAnswer {
				return errors.New("a message is too long")
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// pass writes a message of the server as one line, its numbers as they are.
func (r *Relay) pass(raw []byte, first bool) {
	if first {
		var m message
		if json.Unmarshal(raw, &m) == nil && m.Result.ProtocolVersion != "" {
			r.mu.Lock()
			r.version = m.Result.ProtocolVersion
			r.mu.Unlock()
		}
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		r.say("the server sent something that is not JSON")
		return
	}
	r.write(line.Bytes())
}

func (r *Relay) write(line []byte) {
	r.outMu.Lock()
	defer r.outMu.Unlock()
	_, _ = r.out.Write(append(line, '\n')) // a client that is gone has closed the input too
}

// fail answers a request of the client with an error; a notification has no answer.
func (r *Relay) fail(m message, reason string) {
	if m.ID == nil || m.Method == "" {
		r.say(reason)
		return
	}
	r.answer(m.ID, codeUnavailable, reason)
}

func (r *Relay) answer(id json.RawMessage, code int, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
	if err == nil { // texts encode
		r.write(raw)
	}
}

// leave ends the session at the server.
func (r *Relay) leave() {
	h := r.headers()
	if h.Get(sessionHeader) == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if resp, err := r.send(ctx, http.MethodDelete, h, nil); err == nil {
		_ = resp.Body.Close()
	}
}
