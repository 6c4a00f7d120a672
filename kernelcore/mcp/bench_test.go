package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bb-kernel/bb/kernelcore"
)

// BenchmarkCall compares a call of a tool through the kernel with the same tool on a bare server of the protocol's library.
func BenchmarkCall(b *testing.B) {
	for _, version := range versions {
		b.Run(version, func(b *testing.B) {
			b.Run("kernel", func(b *testing.B) {
				s := serve(b, kernelcore.Options{})
				benchmarkCalls(b, s.connect(b, version, s.transport(""), nil))
			})
			b.Run("library", func(b *testing.B) {
				server := sdk.NewServer(&sdk.Implementation{Name: "bare", Version: "1"}, nil)
				sdk.AddTool(server, &sdk.Tool{Name: "say", Description: "Says something"},
					func(_ context.Context, _ *sdk.CallToolRequest, in sayIn) (*sdk.CallToolResult, any, error) {
						return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
					})
				srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
					&sdk.StreamableHTTPOptions{JSONResponse: true, Stateless: version >= "2026-07-28"}))
				b.Cleanup(srv.Close)
				b.Cleanup(srv.CloseClientConnections)
				s := &served{url: srv.URL}
				benchmarkCalls(b, s.connect(b, version, s.transport(""), nil))
			})
		})
	}
}

func benchmarkCalls(b *testing.B, c *sdk.ClientSession) {
	b.ReportAllocs()
	for b.Loop() {
		r, err := c.CallTool(b.Context(), &sdk.CallToolParams{Name: "say", Arguments: json.RawMessage(`{"text":"hi"}`)})
		if err != nil || r.IsError {
			b.Fatal(r, err)
		}
	}
}
