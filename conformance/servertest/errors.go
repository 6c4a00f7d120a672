package servertest

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// errorChecks prove the rows of the error table that can be provoked from outside, beside those that the other checks
// meet on their way.
var errorChecks = []check{
	{name: "errors.failure-object", rule: "a failure says ok, code, message, issues where there are any, and retryable", run: failureObject},
	{name: "errors.not-found", rule: "an unknown entity is 404 not_found", run: func(p *probe) {
		p.refused(p.get(notesPath+"/get", "id=no-such-note-"+p.run), http.StatusNotFound, "not_found")
		p.refused(p.post(notesPath+"/remove", `{"id":"no-such-note-`+p.run+`"}`), http.StatusNotFound, "not_found")
	}},
	{name: "errors.plugin-code", rule: "a plugin's own code takes the status of the code that it is like", run: func(p *probe) {
		p.refused(p.get(greetPath, "name=nobody"), http.StatusForbidden, "muted")
	}},
	{name: "errors.relayed-code", rule: "a code passes through the plugin that called", run: func(p *probe) {
		p.refused(p.post(notesPath+"/add", `{"text":"hello","greet":"nobody"}`), http.StatusForbidden, "muted")
	}},
	{name: "errors.service-unavailable", rule: "a method that no host runs is 503 service_unavailable with Retry-After", run: func(p *probe) {
		a := p.get(hostGreetPath, "name=bb")
		f := p.refused(a, http.StatusServiceUnavailable, "service_unavailable")
		if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 0 {
			p.errorf("%s: Retry-After is %q, want seconds", a.to, a.header.Get("Retry-After"))
		}
		if f != nil && f.Error.Retryable != nil && !*f.Error.Retryable {
			p.errorf("%s: it is not retryable, though nothing was started", a.to)
		}
	}},
	{name: "errors.unread-body", rule: "a refusal before the body is read reaches a client that sends the whole body first", local: true, run: unreadBody},
	{name: "errors.state", rule: "a removed entity is gone and one that was added is there", run: state},
}

func failureObject(p *probe) {
	a := p.get(greetPath, "")
	f := p.refused(a, http.StatusBadRequest, "invalid_input")
	if f == nil {
		return
	}
	if f.Error.Message == "" || f.Error.Retryable == nil || *f.Error.Retryable || len(f.Error.Issues) == 0 {
		p.errorf("%s: want a message, retryable false and issues: %.300s", a.to, a.body)
	}
	a = p.get(notesPath+"/get", "id=no-such-note-"+p.run)
	f = p.refused(a, http.StatusNotFound, "not_found")
	if f != nil && (f.Error.Message == "" || f.Error.Retryable == nil || len(f.Error.Issues) != 0) {
		p.errorf("%s: want a message, retryable and no issues: %.300s", a.to, a.body)
	}
}

// dial opens a socket to the server. It closes with the check.
func (p *probe) dial() net.Conn {
	host := p.base.Host
	if p.base.Port() == "" {
		host = net.JoinHostPort(p.base.Hostname(), map[string]string{"http": "80", "https": "443"}[p.base.Scheme])
	}
	conn, err := (&net.Dialer{}).DialContext(p.ctx, "tcp", host)
	if err != nil {
		p.failf("no connection: %v", err)
	}
	if p.base.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: p.base.Hostname()})
	}
	p.cleanups = append(p.cleanups, func() { conn.Close() })
	if at, ok := p.ctx.Deadline(); ok {
		_ = conn.SetDeadline(at)
	}
	return conn
}

// raw sends bytes on a socket of their own and reads one answer.
func (p *probe) raw(what string, text string) *answer {
	conn := p.dial()
	if _, err := io.WriteString(conn, text); err != nil {
		p.failf("%s: it cannot be sent: %v", what, err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		p.failf("%s: no answer: %v", what, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		p.failf("%s: the answer breaks off: %v", what, err)
	}
	return &answer{to: request{method: what}, status: resp.StatusCode, header: resp.Header, body: body}
}

// unreadBody sends bodies that nobody will read, of a size that servers discard, and reads only then.
func unreadBody(p *probe) {
	const size = 3 << 19 // 1.5 MiB: more than sockets buffer
	head := func(path, extra string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", path, p.base.Host, size, extra)
	}
	body := strings.Repeat("x", size)
	p.refused(p.raw("no evidence, 1.5 MiB", head(countPath, "X-Forwarded-For: 192.0.2.1\r\n")+body), http.StatusUnauthorized, "unauthenticated")
	p.refused(p.raw("unknown route, 1.5 MiB", head("/api/v1/no-plugin/none/none", "")+body), http.StatusNotFound, "not_found")
	p.refused(p.raw("too large, 1.5 MiB", head(countPath, "")+body), http.StatusRequestEntityTooLarge, "invalid_input")
}

func state(p *probe) {
	name := "conformance-state-" + p.run
	for want := 1; want <= 2; want++ {
		if got := fmt.Sprint(p.result(p.post(countPath, `{"name":"`+name+`"}`))["count"]); got != strconv.Itoa(want) {
			p.errorf("count %d of %s is %s", want, name, got)
		}
	}
	if got := fmt.Sprint(p.result(p.get(greetPath, "name="+name))["count"]); got != "2" {
		p.errorf("greet says %s after two counts", got)
	}
	id := p.note("conformance " + p.run)
	if n := p.result(p.get(notesPath+"/get", "id="+id)); n["text"] != "conformance "+p.run || n["id"] != id {
		p.errorf("the note is %v", n)
	}
	p.success(p.post(notesPath+"/remove", `{"id":"`+id+`"}`), nil)
	p.refused(p.get(notesPath+"/get", "id="+id), http.StatusNotFound, "not_found")
}
