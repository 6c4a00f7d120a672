package kernelapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
)

// server stands for a client of a running server.
type server struct{}

func (server) Call(_ context.Context, ref string, in, out any) error {
	return json.Unmarshal([]byte(`[{"id":"hello-slot","version":"0.1.0","state":"ready","summary":"Greets"}]`), out)
}

func (server) Open(context.Context, string, any, string) iter.Seq2[kernelcontract.Event[json.RawMessage], error] {
	return nil
}

func Example() {
	plugins, err := kernelapi.ListPlugins.Call(context.Background(), server{}, kernelcontract.None{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range plugins {
		fmt.Println(p.ID, p.State == manifest.Ready)
	}
	// Output: hello-slot true
}
