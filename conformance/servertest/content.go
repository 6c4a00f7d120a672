package servertest

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// contentChecks prove the forms in which a result comes.
var contentChecks = []check{
	{name: "http.json", rule: "a result is application/json with ok and result", run: func(p *probe) {
		a := p.get(greetPath, "name=bb")
		p.success(a, nil)
		if media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type")); media != "application/json" {
			p.errorf("%s: the content type is %q", a.to, a.header.Get("Content-Type"))
		}
	}},
	{name: "http.bytes.json", rule: "bytes are JSON with kind, mimeType and base64, also for Accept */*", run: bytesAsJSON},
	{name: "http.bytes.raw", rule: "bytes are raw for $raw=1", run: func(p *probe) {
		id := p.attachment("image/png")
		p.rawBytes(p.get(attachmentsPath+"/get", "id="+id+"&$raw=1"), "image/png")
		p.rawBytes(p.get(attachmentsPath+"/get", "id="+id+"&raw=1"), "image/png")
	}},
	{name: "http.bytes.accept", rule: "bytes are raw for an Accept that names their type above JSON", run: bytesByAccept},
	{name: "http.bytes.inline", rule: "images and plain text are inline, all else is an attachment in a sandbox", run: inline},
	{name: "http.bytes.range", rule: "single ranges of bytes are served", run: ranges},
	{name: "http.text", rule: "Bb-Render makes the answer text/plain", run: textAnswer},
	{name: "http.text.generic", rule: "a result without a renderer of its own has the generic text", run: func(p *probe) {
		a := p.post(countPath, `{"name":"conformance-text-`+p.run+`"}`, "Bb-Render", "text")
		if a.status != http.StatusOK || !strings.Contains(string(a.body), "count: 1") {
			p.errorf("%s: status %d %.200q, want the fields as key: value", a.to, a.status, a.body)
		}
	}},
	{name: "http.text.errors", rule: "a failure becomes text as well: code: message, and a line for each issue", run: textErrors},
}

// content is what the attachments of the checks hold.
var content = []byte("\x89PNG\r\n\x1a\n conformance \x00\xff 0123456789")

// attachment keeps content as a type and returns its id.
func (p *probe) attachment(mimeType string) string {
	id := "conformance-" + p.run + "-" + strings.NewReplacer("/", "-", "+", "-").Replace(mimeType)
	p.success(p.post(attachmentsPath+"/put", `{"id":"`+id+`","mimeType":"`+mimeType+`","base64":"`+base64.StdEncoding.EncodeToString(content)+`"}`), nil)
	return id
}

// rawBytes checks an answer that is the content itself.
func (p *probe) rawBytes(a *answer, mimeType string) {
	if a.status != http.StatusOK || string(a.body) != string(content) {
		p.errorf("%s: status %d, %d bytes %.100q; want the content", a.to, a.status, len(a.body), a.body)
	} else if media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type")); media != mimeType {
		p.errorf("%s: the content type is %q, want %s", a.to, a.header.Get("Content-Type"), mimeType)
	}
}

// jsonBytes checks an answer that has the content in JSON.
func (p *probe) jsonBytes(a *answer, mimeType string) {
	r := p.result(a)
	if r["kind"] != "bytes" || r["mimeType"] != mimeType || r["base64"] != base64.StdEncoding.EncodeToString(content) {
		p.errorf("%s: the result is %v", a.to, r)
	}
}

func bytesAsJSON(p *probe) {
	id := p.attachment("image/png")
	p.jsonBytes(p.get(attachmentsPath+"/get", "id="+id), "image/png")
	p.jsonBytes(p.get(attachmentsPath+"/get", "id="+id+"&$raw=0"), "image/png")
	p.jsonBytes(p.get(attachmentsPath+"/get", "id="+id, "Accept", "*/*"), "image/png")
}

func bytesByAccept(p *probe) {
	id := p.attachment("image/png")
	for _, accept := range []string{"image/png", "image/*", "application/json;q=0.5, image/png", "text/html, image/*;q=0.8, */*;q=0.1"} {
		p.rawBytes(p.get(attachmentsPath+"/get", "id="+id, "Accept", accept), "image/png")
	}
	for _, accept := range []string{"application/json", "application/json, image/png;q=0.5", "image/jpeg", "image/png;q=0, */*"} {
		p.jsonBytes(p.get(attachmentsPath+"/get", "id="+id, "Accept", accept), "image/png")
	}
}

func inline(p *probe) {
	for _, mimeType := range []string{"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"} {
		a := p.get(attachmentsPath+"/get", "id="+p.attachment(mimeType)+"&$raw=1")
		if d := a.header.Get("Content-Disposition"); a.status != http.StatusOK || d != "" && !strings.HasPrefix(d, "inline") {
			p.errorf("%s: %s has status %d and the disposition %q", a.to, mimeType, a.status, d)
		}
	}
	for _, mimeType := range []string{"text/html", "image/svg+xml", "application/javascript", "application/octet-stream"} {
		a := p.get(attachmentsPath+"/get", "id="+p.attachment(mimeType)+"&$raw=1")
		if !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment") || !strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox") {
			p.errorf("%s: %s has the disposition %q and the policy %q, want an attachment in a sandbox", a.to, mimeType, a.header.Get("Content-Disposition"), a.header.Get("Content-Security-Policy"))
		}
	}
}

func ranges(p *probe) {
	id := p.attachment("image/png")
	for header, want := range map[string]string{"bytes=0-3": string(content[:4]), "bytes=4-": string(content[4:]), "bytes=-10": string(content[len(content)-10:])} {
		a := p.get(attachmentsPath+"/get", "id="+id+"&$raw=1", "Range", header)
		if a.status != http.StatusPartialContent || string(a.body) != want || !strings.HasSuffix(a.header.Get("Content-Range"), fmt.Sprintf("/%d", len(content))) {
			p.errorf("%s: status %d %q, Content-Range %q; want 206 %q", a.to, a.status, a.body, a.header.Get("Content-Range"), want)
		}
	}
	if a := p.get(attachmentsPath+"/get", "id="+id+"&$raw=1", "Range", "bytes=1000000-"); a.status != http.StatusRequestedRangeNotSatisfiable {
		p.errorf("%s: status %d, want 416", a.to, a.status)
	}
}

func textAnswer(p *probe) {
	name := "conformance-" + p.run
	a := p.get(greetPath, "name="+name, "Bb-Render", "text; width=80; color=0; tty=0")
	if media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type")); media != "text/plain" {
		p.errorf("%s: the content type is %q", a.to, a.header.Get("Content-Type"))
	}
	if want := "Hello, " + name + "!"; a.status != http.StatusOK || !strings.HasPrefix(string(a.body), want) {
		p.errorf("%s: status %d %.200q, want %q first", a.to, a.status, a.body, want)
	}
}

func textErrors(p *probe) {
	a := p.get(greetPath, "name=bb&colour=red&size=9", "Bb-Render", "text")
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	text := string(a.body)
	if a.status != http.StatusBadRequest || media != "text/plain" || !strings.HasPrefix(text, "invalid_input: ") {
		p.errorf("%s: status %d, type %q, %.200q; want 400 text that begins with the code", a.to, a.status, media, text)
	}
	if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) != 3 || !strings.Contains(text, "colour") || !strings.Contains(text, "size") {
		p.errorf("%s: %q; want a line for the error and one for each of two issues", a.to, text)
	}
}
