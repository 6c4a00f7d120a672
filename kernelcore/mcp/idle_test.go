package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/mcp"
)

func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		k, err := kernelcore.New(kernelcore.Options{})
		is.NoErr(err)
		defer func() { is.NoErr(k.Close()) }()
		h := k.Guard(kernelcontract.Access{}, true, mcp.Handler(k))
		post := func(session, body string) *http.Response {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
			r.RemoteAddr = "127.0.0.1:4711"
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Result()
		}
		opened := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+versions[0]+
			`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
		is.Equal(opened.StatusCode, http.StatusOK)
		session := opened.Header.Get("Mcp-Session-Id")
		is.Equal(post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`).StatusCode, http.StatusAccepted)
		const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
		for range 2 { // what it sends keeps it open
			time.Sleep(mcp.SessionTimeout - time.Minute)
			is.Equal(post(session, list).StatusCode, http.StatusOK)
		}
		time.Sleep(mcp.SessionTimeout + time.Minute)
		synctest.Wait()
		is.Equal(post(session, list).StatusCode, http.StatusNotFound)
	})
}
