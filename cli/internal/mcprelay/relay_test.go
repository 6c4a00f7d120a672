package mcprelay_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/cli/internal/mcprelay"
)

// endpoint answers requests of a relay by a function.
type endpoint struct {
	mu    sync.Mutex
	calls []string // method, session and body
	serve func(method string, h http.Header, body string) (status int, headers map[string]string, answer string, err error)
}

func (e *endpoint) send(_ context.Context, method string, h http.Header, body []byte) (*http.Response, error) {
	e.mu.Lock()
	e.calls = append(e.calls, strings.TrimSpace(method+" "+h.Get("Mcp-Session-Id")+" "+string(body)))
	e.mu.Unlock()
	status, headers, answer, err := e.serve(method, h, string(body))
	if err != nil {
		return nil, err
	}
	res := &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}
	for k, v := range headers {
		res.Header.Set(k, v)
	}
	return res, nil
}

// run relays an input to its end and returns what came back.
func run(t *testing.T, e *endpoint, input string) (output string, said []string) {
	t.Helper()
	var out strings.Builder
	var mu sync.Mutex
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := mcprelay.New(strings.NewReader(input), &out, e.send, func(s string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, s)
	}).Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), said
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize"}`

func TestRelay(t *testing.T) {
	t.Run("keeps the session and ends it", func(t *testing.T) {
		is := is.New(t)
		e := &endpoint{serve: func(method string, h http.Header, body string) (int, map[string]string, string, error) {
			if strings.Contains(body, "initialize") {
				return 200, map[string]string{"Mcp-Session-Id": "s1", "Content-Type": "application/json"}, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`, nil
			}
			is.Equal(h.Get("Mcp-Protocol-Version"), "2025-06-18")
			return 200, map[string]string{"Content-Type": "application/json"}, "{\n\"id\": 9007199254740993\n}", nil
		}}
		out, _ := run(t, e, initialize+"\n\n"+`{"id":2,"method":"x"}`)
		is.Equal(out, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`+"\n"+`{"id":9007199254740993}`+"\n") // numbers as they are, one line each
		is.Equal(e.calls, []string{"POST  " + initialize, `POST s1 {"id":2,"method":"x"}`, "DELETE s1"})
	})
	t.Run("reads event streams", func(t *testing.T) {
		is := is.New(t)
		e := &endpoint{serve: func(string, http.Header, string) (int, map[string]string, string, error) {
			return 200, map[string]string{"Content-Type": "text/event-stream"}, ": hello\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata: {\"b\":2}\n\n", nil
		}}
		out, _ := run(t, e, `{"id":2,"method":"x"}`+"\n")
		is.Equal(out, "{\"a\":1}\n{\"b\":2}\n")
	})
	t.Run("begins a session anew that the server has forgotten", func(t *testing.T) {
		is := is.New(t)
		session := "s1"
		e := &endpoint{}
		e.serve = func(method string, h http.Header, body string) (int, map[string]string, string, error) {
			json := map[string]string{"Content-Type": "application/json"}
			switch {
			case strings.Contains(body, "initialize"):
				if len(e.calls) > 1 {
					session = "s2"
				}
				json["Mcp-Session-Id"] = session
				return 200, json, `{"id":1,"result":{}}`, nil
			case h.Get("Mcp-Session-Id") != "s2":
				return 404, nil, "", nil
			}
			return 200, json, `{"id":2,"result":{}}`, nil
		}
		out, _ := run(t, e, initialize+"\n"+`{"id":2,"method":"x"}`+"\n")
		is.Equal(out, `{"id":1,"result":{}}`+"\n"+`{"id":2,"result":{}}`+"\n") // the client sees one answer to each
	})
	t.Run("answers for a server that is away", func(t *testing.T) {
		is := is.New(t)
		e := &endpoint{serve: func(string, http.Header, string) (int, map[string]string, string, error) {
			return 0, nil, "", errors.New("nobody is there")
		}}
		out, said := run(t, e, `{"id":"a","method":"x"}`+"\n"+`{"method":"notifications/y"}`+"\n")
		is.Equal(out, `{"error":{"code":-32020,"message":"nobody is there"},"id":"a","jsonrpc":"2.0"}`+"\n")
		is.Equal(said, []string{"nobody is there"}) // a notification has no answer
	})
	t.Run("tells what the server refuses", func(t *testing.T) {
		is := is.New(t)
		e := &endpoint{serve: func(string, http.Header, string) (int, map[string]string, string, error) {
			return 401, nil, "unauthenticated: bb login", nil
		}}
		out, _ := run(t, e, `{"id":7,"method":"x"}`)
		is.True(strings.Contains(out, "unauthenticated: bb login"))
		is.True(strings.Contains(out, `"id":7`))
	})
	t.Run("answers what is no message", func(t *testing.T) {
		is := is.New(t)
		e := &endpoint{serve: func(string, http.Header, string) (int, map[string]string, string, error) {
			return 202, nil, "", nil
		}}
		out, said := run(t, e, "junk\n"+strings.Repeat("x", mcprelay.MaxLine+10)+"\n"+`{"method":"notifications/y"}`+"\n")
		is.Equal(strings.Count(out, "\n"), 2)
		is.True(strings.Contains(out, "-32700"))
		is.True(strings.Contains(out, "-32600"))
		is.Equal(len(said), 1)
		is.Equal(len(e.calls), 1) // the reader goes on behind them
	})
	t.Run("ends when it is asked to", func(t *testing.T) {
		is := is.New(t)
		ctx, cancel := context.WithCancel(t.Context())
		in, w := io.Pipe()
		defer w.Close()
		e := &endpoint{serve: func(string, http.Header, string) (int, map[string]string, string, error) { return 202, nil, "", nil }}
		done := make(chan error)
		go func() { done <- mcprelay.New(in, io.Discard, e.send, func(string) {}).Run(ctx) }()
		cancel()
		is.NoErr(<-done)
	})
}
