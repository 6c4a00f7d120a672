package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/server"
)

// message sends a message of the Model Context Protocol.
func message(t *testing.T, url, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestToolsAreServedForOperators(t *testing.T) {
	is := is.New(t)
	r := start(t, server.Config{})
	res := message(t, r.url, initialize)
	is.Equal(res.StatusCode, http.StatusOK)
	is.True(res.Header.Get("Bb-Server-Id") != "")
	session := res.Header.Get("Mcp-Session-Id")
	list, err := io.ReadAll(message(t, r.url, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id", session).Body)
	is.NoErr(err)
	is.True(strings.Contains(string(list), `"name":"hello_slot_greeter_greet"`))
	is.Equal(message(t, r.url, initialize, "Authorization", "Bearer bbt_nothing").StatusCode, http.StatusUnauthorized)
	is.Equal(message(t, r.url, initialize, "Origin", "https://evil.example").StatusCode, http.StatusForbidden)
}

// A client that follows changes does not keep a server from ending.
func TestFollowersOfToolsDoNotHoldUpTheEnd(t *testing.T) {
	is := is.New(t)
	r := start(t, server.Config{})
	session := message(t, r.url, initialize).Header.Get("Mcp-Session-Id")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/mcp", nil)
	is.NoErr(err)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", session)
	res, err := http.DefaultClient.Do(req)
	is.NoErr(err)
	defer res.Body.Close()
	is.Equal(res.StatusCode, http.StatusOK)
	r.stop()
	select {
	case <-r.done:
	case <-time.After(20 * time.Second):
		t.Fatal("the server goes on")
	}
	_, err = io.ReadAll(res.Body)
	is.NoErr(err)
}
