package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/openapi"
	"github.com/bb-kernel/bb/server"
)

func TestTheCatalogIsDescribedForOperators(t *testing.T) {
	is := is.New(t)
	r := start(t, server.Config{})
	a := get(t, r.url+"/openapi.json")
	is.Equal(a.status, http.StatusOK)
	is.Equal(a.header.Get("Content-Type"), openapi.MediaType)
	for _, name := range []string{"Bb-Call-Id", "Bb-Generation", "Bb-Deadline", "Bb-Server-Id"} {
		is.True(a.header.Get(name) != "") // each header of the API
	}
	is.Equal(a.header.Get("X-Content-Type-Options"), "nosniff")
	var document struct {
		OpenAPI string
		Paths   map[string]map[string]any
	}
	is.NoErr(json.Unmarshal([]byte(a.body), &document))
	is.Equal(document.OpenAPI, openapi.Version)
	is.True(document.Paths["/api/v1/hello-slot/greeter/greet"]["get"] != nil)
	is.True(document.Paths["/api/v1/kernel/contract/manifest"]["get"] != nil) // the kernel's own methods too
	is.Equal(get(t, r.url+"/openapi.json", "Authorization", "Bearer bbt_nothing").status, http.StatusUnauthorized)
	is.Equal(get(t, r.url+"/openapi.json", "Origin", "https://evil.example").status, http.StatusForbidden)
	head := do(t, noRedirects(), http.MethodHead, r.url+"/openapi.json")
	is.Equal(head.status, http.StatusOK)
	is.Equal(head.header.Get("Content-Length"), a.header.Get("Content-Length"))
	is.Equal(do(t, noRedirects(), http.MethodOptions, r.url+"/openapi.json").status, http.StatusForbidden)
}

func TestTheDescriptionFollowsTheGeneration(t *testing.T) {
	is := is.New(t)
	r := start(t, server.Config{})
	a := get(t, r.url+"/openapi.json")
	tag := a.header.Get("ETag")
	is.True(tag != "")
	for _, known := range []string{tag, `"other", W/` + tag, "*"} {
		same := get(t, r.url+"/openapi.json", "If-None-Match", known)
		is.Equal(same.status, http.StatusNotModified)
		is.Equal(same.body, "")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/api/v1/kernel/plugin/disable", strings.NewReader(`{"id":"hello-slot"}`))
	is.NoErr(err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	is.NoErr(err)
	is.NoErr(res.Body.Close())
	is.Equal(res.StatusCode, http.StatusOK)
	now := get(t, r.url+"/openapi.json", "If-None-Match", tag)
	is.Equal(now.status, http.StatusOK)
	is.True(now.header.Get("ETag") != tag)
	is.True(!strings.Contains(now.body, "hello-slot"))
}
