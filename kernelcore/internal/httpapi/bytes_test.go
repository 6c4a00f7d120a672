package httpapi_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestBytesRawOrJSON(t *testing.T) {
	s := start(t, setup{})
	for _, tt := range []struct {
		name, mime, params, accept string
		raw                        bool
	}{
		{"JSON by default", "image/png", "", "", false},
		{"$raw", "image/png", "&$raw=1", "", true},
		{"raw", "image/png", "&raw=1", "application/json", true},
		{"$raw=0", "image/png", "&$raw=0", "", false},
		{"Accept names the type", "image/png", "", "image/png", true},
		{"Accept in another case", "image/png", "", "Image/PNG", true},
		{"Accept names the group", "image/png", "", "image/*", true},
		{"Accept everything", "image/png", "", "*/*", false},
		{"Accept another type", "image/png", "", "image/jpeg", false},
		{"a browser's image", "image/png", "", "image/avif,image/webp,image/*,*/*;q=0.8", true},
		{"a browser's page", "image/png", "", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false},
		{"the type and everything alike", "image/png", "", "image/png, */*", true},
		{"the type and JSON alike", "image/png", "", "image/png, application/json", false},
		{"the type above JSON", "image/png", "", "image/png, application/json;q=0.9", true},
		{"the type below JSON", "image/png", "", "image/png;q=0.5, application/json", false},
		{"the type refused", "image/png", "", "image/png;q=0, image/*", false},
		{"a broken quality", "image/png", "", "image/png;q=x", false},
		{"a group that holds JSON too", "application/pdf", "", "application/*", false},
		{"a file that is JSON", "application/json", "", "application/json", false},
		{"no media type", "nonsense", "", "nonsense", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			a := s.do(request{path: things + "file?data=abc&mime=" + tt.mime + tt.params, header: map[string]string{"Accept": tt.accept}})
			is.Equal(a.status, 200)
			if tt.raw {
				is.Equal(a.body, "abc")
				is.Equal(a.header.Get("Content-Type"), tt.mime)
			} else {
				is.Equal(a.body, `{"ok":true,"result":{"kind":"bytes","mimeType":"`+tt.mime+`","base64":"YWJj"}}`)
				is.Equal(a.header.Get("Content-Type"), "application/json")
			}
		})
	}
}

func TestBytesAreShownInPlaceOnlyWhenHarmless(t *testing.T) {
	s := start(t, setup{})
	for _, tt := range []struct {
		mime, contentType string
		inline            bool
	}{
		{"image/png", "image/png", true}, {"image/jpeg", "image/jpeg", true}, {"image/gif", "image/gif", true}, {"image/webp", "image/webp", true},
		{"text/plain", "text/plain", true}, {"text/plain;charset=UTF-8", "text/plain; charset=UTF-8", true}, {"IMAGE/PNG", "image/png", true},
		{"image/svg+xml", "image/svg+xml", false}, {"text/html", "text/html", false}, {"application/pdf", "application/pdf", false},
		{"nonsense", "application/octet-stream", false}, {"text/html\r\nX: y", "application/octet-stream", false}, {"", "application/octet-stream", false},
	} {
		t.Run(tt.mime, func(t *testing.T) {
			is := is.New(t)
			a := s.do(request{path: things + "file?$raw=1&data=abc&mime=" + strings.NewReplacer("\r", "%0d", "\n", "%0a", " ", "+", ";", "%3b", "+", "%2b").Replace(tt.mime)})
			is.Equal(a.status, 200)
			is.Equal(a.body, "abc")
			is.Equal(a.header.Get("Content-Type"), tt.contentType)
			is.Equal(a.header.Get("X-Content-Type-Options"), "nosniff")
			if tt.inline {
				is.Equal(a.header.Get("Content-Disposition"), "")
			} else {
				is.Equal(a.header.Get("Content-Disposition"), "attachment")
				is.Equal(a.header.Get("Content-Security-Policy"), "sandbox")
			}
		})
	}
}

func TestBytesOfAMutation(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	a := s.do(request{method: "POST", path: things + "upload?$raw=1", body: `{"mime":"image/png","data":"abc"}`})
	is.Equal(a.body, "abc")
	a = s.do(request{method: "POST", path: things + "upload?$raw=1", body: `{"mime":"","data":""}`})
	is.Equal(a.body, `{"ok":true,"result":null}`)
	a = s.do(request{path: things + "greet?$raw=1&name=bb"}) // no bytes, nothing to be raw
	is.Equal(a.header.Get("Content-Type"), "application/json")
	a = s.do(request{path: things + "file?data=abc&mime=image/png", header: map[string]string{"Bb-Render": "text", "Accept": "image/png"}})
	is.Equal(a.header.Get("Content-Type"), "text/plain; charset=utf-8")
	a = s.do(request{path: things + "file?$raw=1&data=abc&mime=image/png", header: map[string]string{"Bb-Render": "text"}})
	is.Equal(a.body, "abc")
}

func TestRanges(t *testing.T) {
	s := start(t, setup{})
	for _, tt := range []struct {
		value  string
		status int
		body   string
		span   string
	}{
		{"bytes=0-0", 206, "0", "bytes 0-0/10"},
		{"bytes=2-4", 206, "234", "bytes 2-4/10"},
		{"bytes=7-", 206, "789", "bytes 7-9/10"},
		{"bytes=7-99", 206, "789", "bytes 7-9/10"},
		{"bytes=-3", 206, "789", "bytes 7-9/10"},
		{"bytes=-99", 206, "0123456789", "bytes 0-9/10"},
		{"bytes=0-99999999999999999999", 206, "0123456789", "bytes 0-9/10"},
		{"bytes=10-", 416, "", "bytes */10"},
		{"bytes=99999999999999999999-", 416, "", "bytes */10"},
		{"bytes=-0", 416, "", "bytes */10"},
		{"bytes=0-1,3-4", 200, "0123456789", ""},
		{"bytes=4-2", 200, "0123456789", ""},
		{"bytes=-", 200, "0123456789", ""},
		{"bytes=a-b", 200, "0123456789", ""},
		{"items=0-1", 200, "0123456789", ""},
	} {
		t.Run(tt.value, func(t *testing.T) {
			is := is.New(t)
			a := s.do(request{path: things + "file?$raw=1&data=0123456789&mime=text/plain", header: map[string]string{"Range": tt.value}})
			is.Equal(a.status, tt.status)
			is.Equal(a.header.Get("Content-Range"), tt.span)
			is.Equal(a.header.Get("Accept-Ranges"), "bytes")
			if tt.status != 416 {
				is.Equal(a.body, tt.body)
			}
		})
	}
	is := is.New(t)
	h := map[string]string{"Range": "bytes=0-0", "If-Range": `"v1"`}
	is.Equal(s.do(request{path: things + "file?$raw=1&data=0123456789&mime=text/plain", header: h}).status, 200)
	h = map[string]string{"Range": "bytes=0-0"}
	is.Equal(s.do(request{path: things + "greet?name=bb", header: h}).status, 200) // not of JSON
	head := s.do(request{method: "HEAD", path: things + "file?$raw=1&data=0123456789&mime=text/plain", header: h})
	is.Equal(head.status, 200)
	is.Equal(head.header.Get("Content-Length"), "10")
}
