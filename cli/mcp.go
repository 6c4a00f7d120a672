package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/bb-kernel/bb/cli/internal/mcprelay"
	"github.com/bb-kernel/bb/kernelcontract"
)

// mcp answers `bb mcp`: the Model Context Protocol on standard input and output, for editors and agents that start a program for it
// (docs/spec/mcp.md).
func (a *app) mcp(json.RawMessage) int {
	client, err := a.connect(nil)
	if err != nil {
		return a.fail(kernelcontract.AsError(err), false)
	}
	if a.term.Stdin {
		a.warnf("this speaks the Model Context Protocol on standard input and output: name the command `bb mcp` where an editor or an agent asks for an MCP server")
	}
	send := func(ctx context.Context, method string, headers http.Header, body []byte) (*http.Response, error) {
		var r io.Reader
		if body != nil {
			r = bytes.NewReader(body)
		}
		return client.Raw(ctx, method, "/mcp", headers, r)
	}
	relay := mcprelay.New(a.o.Stdin, a.out, send, func(text string) { a.warnf("%s", text) })
	if err := relay.Run(a.ctx); err != nil {
		return a.fail(kernelcontract.Internal.Errorf("standard input cannot be read: %v", err), false)
	}
	if a.ctx.Err() != nil {
		return kernelcontract.ExitInterrupted
	}
	return kernelcontract.ExitOK
}
