package servertest

import (
	"net/http"
	"strings"
)

// requestHeaderChecks prove that a header that is not understood is refused and never guessed at.
var requestHeaderChecks = []check{
	{name: "http.header.client", rule: "X-BB-Client is kind/surface[; version=v], once; else invalid_input", run: headerRule("X-BB-Client",
		[]string{"sdk/headless", "cli/tty; version=1.2.3", "web/extensions", strings.Repeat("a", 64) + "/x"},
		[]string{"sdk", "sdk/", "/tty", "SDK/tty", "sdk/tty/x", "sdk/tty; v=1", "sdk/tty; version=", "sdk/t y", strings.Repeat("a", 65) + "/x", ""})},
	{name: "http.header.client.missing", rule: "a missing X-BB-Client is allowed", run: func(p *probe) {
		p.success(p.do(request{method: "GET", path: greetPath, query: "name=bb", bare: true}), nil)
	}},
	{name: "http.header.context", rule: "x-bb-context is an ASCII JSON object of known keys with strings of 1 to 4096 bytes, once; else invalid_input", run: headerRule("x-bb-context",
		[]string{`{}`, `{"projectId":"p"}`, `{"projectId":"p","environmentId":"e","cwd":"/home/\u00e9"}`, `{"cwd":"` + strings.Repeat("x", 4096) + `"}`},
		[]string{`{`, `[]`, `"x"`, `{"projectId":1}`, `{"projectId":null}`, `{"projectId":""}`, `{"projectID":"p"}`, `{"actor":"user:root"}`,
			`{"projectId":"p","projectId":"q"}`, `{"cwd":"/home/é"}`, `{"cwd":"` + strings.Repeat("x", 4097) + `"}`, `{"cwd":"x"}{}`})},
	{name: "http.header.render", rule: "Bb-Render is text with width 20 to 1000, color and tty 0 or 1, once; else invalid_input", run: headerRule("Bb-Render",
		[]string{"text", "text; width=80", "text; width=20; color=1; tty=0", "text; width=1000"},
		[]string{"html", "text; width=19", "text; width=1001", "text; width=wide", "text; color=2", "text; tty=yes", "text; depth=8", "text; width=80; width=90", "width=80"})},
	{name: "http.header.last-event-id", rule: "Last-Event-ID is printable ASCII of at most 256 bytes, once; else invalid_input", run: lastEventID},
	{name: "http.context.ambient", rule: "a field is filled from the context when it is omitted, and only then", run: ambient},
}

// headerRule checks values that a header takes, and values that it does not take, alone and repeated.
func headerRule(name string, good, bad []string) func(*probe) {
	return func(p *probe) {
		for _, v := range good {
			if a := p.get(greetPath, "name=bb", name, v); a.status != http.StatusOK {
				p.errorf("%s: status %d %.300s, want 200", a.to, a.status, a.body)
			}
		}
		for _, v := range bad {
			if v == "" {
				continue // no header at all, for some clients
			}
			p.refused(p.get(greetPath, "name=bb", name, v), http.StatusBadRequest, "invalid_input")
		}
		a := p.get(greetPath, "name=bb", name, good[0], name, good[0])
		if a.status != http.StatusBadRequest {
			p.errorf("%s: sent twice, status %d, want 400", a.to, a.status)
		}
	}
}

func lastEventID(p *probe) {
	for _, v := range []string{"é", "a\tb", strings.Repeat("x", 257)} {
		p.refused(p.get(notesPath+"/follow", "limit=1", "Last-Event-ID", v), http.StatusBadRequest, "invalid_input")
	}
	p.refused(p.get(notesPath+"/follow", "limit=1", "Last-Event-ID", "1", "Last-Event-ID", "1"), http.StatusBadRequest, "invalid_input")
	p.refused(p.get(notesPath+"/follow", "limit=1&$since=%C3%A9"), http.StatusBadRequest, "invalid_input")
}

func ambient(p *probe) {
	context := []string{"x-bb-context", `{"projectId":"p1","environmentId":"e1","cwd":"/tmp/\u00e9"}`}
	for name, a := range map[string]*answer{
		"query":    p.get(readPath, "title=t&environmentId=mine", context...),
		"mutation": p.post(applyPath, `{"title":"t","environmentId":"mine"}`, context...),
	} {
		out := p.result(a)
		for field, want := range map[string]string{"projectId": "p1", "environmentId": "mine", "cwd": "/tmp/é"} {
			if out[field] != want {
				p.errorf("%s: %s is %v, want %q", name, field, out[field], want)
			}
		}
	}
	if out := p.result(p.get(readPath, "title=t")); out["projectId"] != nil && out["projectId"] != "" {
		p.errorf("without a context projectId is %v", out["projectId"])
	}
}
