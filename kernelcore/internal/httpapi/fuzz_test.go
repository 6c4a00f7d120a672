package httpapi_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequest sends anything as target, body, Accept and Range: whatever it is, there is an answer in its form, and no
// panic.
func FuzzRequest(f *testing.F) {
	f.Add("GET", things+"greet?name=bb", "", "*/*", "")
	f.Add("POST", things+"count", `{"name":"bb"}`, "application/json", "")
	f.Add("GET", things+"file?mime=image/png&data=0123456789", "", "image/*;q=0.5, */*", "bytes=-3")
	f.Add("GET", things+"file?$raw=1&mime=text/html&data=0123456789", "", "", "bytes=2-99999999999999999999")
	f.Add("HEAD", things+"open", "", "", "")
	f.Add("OPTIONS", "/x", "", "", "")
	s := start(f, setup{})
	f.Fuzz(func(t *testing.T, method, target, body, accept, span string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || strings.ContainsAny(method, " \r\n") || method == "" || strings.Contains(target, "/hang") ||
			strings.Contains(target, "/wait") || strings.Contains(target, "/follow") {
			return
		}
		r := httptest.NewRequest("GET", "/", strings.NewReader(body))
		r.Method, r.URL, r.RequestURI, r.Host, r.RemoteAddr = method, u, target, "localhost", "127.0.0.1:1"
		r.Header["Content-Type"] = []string{"application/json"}
		r.Header["Accept"], r.Header["Range"] = []string{accept}, []string{span}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Header().Get("Bb-Call-Id") == "" {
			t.Fatalf("%s %q: no call id", method, target)
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && method != "HEAD" && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%s %q: %d %q is not JSON", method, target, w.Code, w.Body)
		}
	})
}
