package sdk_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/sdk"
)

func TestUpload(t *testing.T) {
	is := is.New(t)
	status, answer := 200, `{"ok":true,"result":{"uploadId":"up_1"}}`
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + " " + string(raw)
		w.Header().Set("Bb-Call-Id", "c1")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer srv.Close()
	client, err := sdk.Connect(sdk.Options{URL: srv.URL, Token: "bbt_x"})
	is.NoErr(err)
	id, err := client.Upload(t.Context(), strings.NewReader("content"), 7)
	is.NoErr(err)
	is.Equal(id, "up_1")
	is.Equal(got, "PUT /internal/uploads Bearer bbt_x content")
	status, answer = 413, `{"ok":false,"error":{"code":"invalid_input","message":"the upload is larger than 64 MiB","retryable":false}}`
	_, err = client.Upload(t.Context(), strings.NewReader("content"), 7)
	is.True(errors.Is(err, kernelcontract.InvalidInput))
	_, err = client.Upload(t.Context(), nil, sdk.MaxUpload+1)
	is.True(errors.Is(err, kernelcontract.InvalidInput))
	resp, err := client.Raw(t.Context(), http.MethodPost, "/mcp", http.Header{"X-One": {"1"}}, strings.NewReader("body"))
	is.NoErr(err)
	is.NoErr(resp.Body.Close())
	is.Equal(got, "POST /mcp Bearer bbt_x body")
	srv.Close()
	_, err = client.Upload(t.Context(), strings.NewReader("content"), 7)
	is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
	_, err = client.Raw(t.Context(), http.MethodGet, "/mcp", nil, nil)
	is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
}
