package sdk

import (
	"context"
	"io"
	"net/http"

	"github.com/bb-kernel/bb/kernelcontract"
)

// uploadPath is where a kernel takes files.
const uploadPath = "/internal/uploads"

// MaxUpload is how many bytes a kernel takes as one file.
const MaxUpload = 64 << 20

// Upload sends a file of size bytes and returns the id that methods take for it, once and within an hour. The error is a
// *kernelcontract.Error.
func (c *Client) Upload(ctx context.Context, file io.Reader, size int64) (id string, err error) {
	if size > MaxUpload {
		return "", kernelcontract.InvalidInput.Errorf("the file has %d bytes, a server takes %d", size, MaxUpload)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, c.url+uploadPath, io.NopCloser(file))
	if err != nil {
		return "", kernelcontract.InvalidInput.Errorf("the upload: %s", err.Error())
	}
	r.Header = c.header.Clone()
	r.Header.Set("Content-Type", "application/octet-stream")
	r.ContentLength = size
	req := Request{Signature: kernelcontract.Signature{Ref: "kernel/uploads.put", Kind: kernelcontract.KindMutation}}
	resp, err := c.http.Do(r)
	if err != nil {
		return "", c.broken(ctx, req, true, err)
	}
	defer resp.Body.Close()
	c.table.saw(answerOf(resp))
	if resp.StatusCode != http.StatusOK {
		_, err := c.readFailure(ctx, req, resp)
		return "", err
	}
	a := &answer{Answer: answerOf(resp), form: formOf(req, resp)}
	if a.body, err = readBody(resp, MaxFailure); err != nil {
		return "", c.broken(ctx, req, true, err)
	}
	if a.form == "" {
		return "", c.foreign(req, resp)
	}
	var out struct {
		UploadID string `json:"uploadId"`
	}
	return out.UploadID, a.decode(req.Signature.Ref, &out)
}
