package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestFetch(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusGone)
		}
		fmt.Fprintf(w, "%s %s type=%q x=%q body=%q", r.Method, r.RequestURI, r.Header.Get("Content-Type"), r.Header.Get("X"), body)
	}))
	defer server.Close()
	for _, tt := range []struct {
		args   string
		status int
		want   string
	}{
		{"-sS URL/a?b=c", 0, `GET /a?b=c type="" x="" body=""`},
		{"URL/a -H X:1", 0, `GET /a type="" x="1" body=""`},
		{"-d {} -H Content-Type:application/json URL/a", 0, `POST /a type="application/json" x="" body="{}"`},
		{"--json {} URL/a", 0, `POST /a type="application/json" x="" body="{}"`},
		{"-G -d a=b URL/a --data-urlencode c=$1", 0, `GET /a?a=b&c=%241 type="" x="" body=""`},
		{"-X DELETE URL/a", 0, `DELETE /a type="" x="" body=""`},
		{"-f URL/gone", failed, ""},
		{"-i URL/a", 0, "HTTP/1.1 200 OK\r\n"},
		{"--unknown URL/a", 2, ""},
		{"URL/a URL/b", 2, ""},
	} {
		var out strings.Builder
		status, err := fetch(t.Context(), strings.Fields(strings.ReplaceAll(tt.args, "URL", server.URL)), &out)
		if status != tt.status || (err == nil) != (status == 0) || !strings.HasPrefix(out.String(), tt.want) {
			t.Errorf("curl %s: %d, %v, %q; want %d, %q", tt.args, status, err, out.String(), tt.status, tt.want)
		}
	}
}
