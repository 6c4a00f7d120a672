package mcp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/mcp"
	"github.com/bb-kernel/bb/pluginsdk"
)

func Example() {
	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{other()}})
	if err != nil {
		log.Fatal(err)
	}
	defer k.Close()
	mux := http.NewServeMux()
	mux.Handle("/mcp", k.Guard(kernelcontract.Access{}, true, mcp.Handler(k)))
	srv := httptest.NewServer(mux)
	defer srv.Close()

	ctx := context.Background()
	client := sdk.NewClient(&sdk.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: srv.URL + "/mcp"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	r, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "other"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Content[0].(*sdk.TextContent).Text)
	// Output: other
}
