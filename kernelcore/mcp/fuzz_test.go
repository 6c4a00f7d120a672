package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/mcp"
	"github.com/bb-kernel/bb/pluginsdk"
)

// FuzzBody sends bodies that nobody expects: each is answered, none panics.
func FuzzBody(f *testing.F) {
	for _, body := range []string{hello, ping, `{}`, `[]`, `[{}]`, `null`, `"`, "\x00", `{"jsonrpc":"2.0","id":null,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"number","arguments":{"n":1e400}}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`} {
		f.Add(body, "")
		f.Add(body, "2026-07-28")
	}
	fx := newFixture()
	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{fx.plugin()}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = k.Close() })
	h := k.Guard(kernelcontract.Access{}, true, mcp.Handler(k))
	f.Fuzz(func(t *testing.T, body, version string) {
		if strings.Contains(body, "wait") || strings.Contains(body, "listen") {
			return // that would wait, which the tool and the method are for
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
		r.RemoteAddr = "127.0.0.1:4711"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if version != "" {
			r.Header.Set("Mcp-Protocol-Version", version)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
	})
}
