package sdk

import (
	"context"
	"io"
	"net/http"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Raw sends a request to an endpoint beside the methods, such as /mcp, with what the client sends of itself: its token, its context, and what it
// is. headers come on top. The caller closes the body; a status says nothing about the error, which is that of the
// connection, a *kernelcontract.Error.
func (c *Client) Raw(ctx context.Context, method, path string, headers http.Header, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return nil, kernelcontract.InvalidInput.Errorf("%s %s: %s", method, path, err.Error())
	}
	r.Header = c.header.Clone()
	for name, values := range headers {
		r.Header[name] = values
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.broken(ctx, Request{Signature: kernelcontract.Signature{Ref: path, Kind: kernelcontract.KindMutation}}, true, err)
	}
	return resp, nil
}
