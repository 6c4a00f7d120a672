package mcp_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/mcp"
)

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// begin opens a session and returns its id.
func (s *served) begin(t testing.TB, headers ...string) string {
	t.Helper()
	res := s.post(t, hello, headers...)
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	return res.Header.Get("Mcp-Session-Id")
}

const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`

func TestTheOldestSessionMakesRoom(t *testing.T) {
	is := is.New(t)
	s := serve(t, kernelcore.Options{})
	first := s.begin(t)
	second := s.begin(t)
	for range mcp.MaxSessions - 2 {
		s.begin(t)
	}
	is.Equal(s.post(t, ping, "Mcp-Session-Id", first).StatusCode, http.StatusOK)
	s.begin(t)
	is.Equal(s.post(t, ping, "Mcp-Session-Id", first).StatusCode, http.StatusNotFound)
	is.Equal(s.post(t, ping, "Mcp-Session-Id", second).StatusCode, http.StatusOK)
}

func TestRevokedSessionsEndFirst(t *testing.T) {
	is := is.New(t)
	s := serve(t, kernelcore.Options{})
	oldest := s.begin(t)
	secret, end := s.BeginSession("thr_1", kernelcontract.Context{})
	s.begin(t, "Authorization", "Bearer "+secret)
	for range mcp.MaxSessions - 2 {
		s.begin(t)
	}
	end()
	s.begin(t)
	is.Equal(s.post(t, ping, "Mcp-Session-Id", oldest).StatusCode, http.StatusOK)
}

func TestRevokedStreamEnds(t *testing.T) {
	is := is.New(t)
	s := serve(t, kernelcore.Options{})
	secret, end := s.BeginSession("thr_1", kernelcontract.Context{})
	id := s.begin(t, "Authorization", "Bearer "+secret)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
	is.NoErr(err)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", id)
	r.Header.Set("Authorization", "Bearer "+secret)
	res, err := http.DefaultClient.Do(r)
	is.NoErr(err)
	defer res.Body.Close()
	is.Equal(res.StatusCode, http.StatusOK)
	end()
	_, err = io.ReadAll(res.Body) // comes back
	is.NoErr(err)
	again, endAgain := s.BeginSession("thr_1", kernelcontract.Context{})
	defer endAgain()
	res = s.post(t, ping, "Mcp-Session-Id", id, "Authorization", "Bearer "+again)
	is.Equal(res.StatusCode, http.StatusNotFound) // the session went with its credential
}
