package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// The paths that the checks use.
const (
	greetPath       = "/api/v1/hello-slot/greeter/greet"
	countPath       = "/api/v1/hello-slot/greeter/count"
	hostGreetPath   = "/api/v1/hello-slot/greeter/hostGreet"
	notesPath       = "/api/v1/notes-fixture/notes"
	attachmentsPath = "/api/v1/notes-fixture/attachments"
	applyPath       = "/api/v1/notes-fixture/settings/apply"
	readPath        = "/api/v1/notes-fixture/settings/read"
	tokenPath       = "/api/v1/kernel/token"
	callsPath       = "/api/v1/kernel/runtime/calls"
)

// maxBody bounds what a check reads of an answer: all are small.
const maxBody = 4 << 20

// probe is one check while it runs: it makes requests and collects what is wrong.
type probe struct {
	*suite
	ctx      context.Context
	problems []error
	skipped  string
	cleanups []func()
}

// stop unwinds a check that cannot go on.
type stop struct{}

// errorf notes a problem; the check goes on.
func (p *probe) errorf(format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf(format, args...))
}

// failf notes a problem and ends the check.
func (p *probe) failf(format string, args ...any) {
	p.errorf(format, args...)
	panic(stop{})
}

// skipf ends the check: it cannot be made on this server.
func (p *probe) skipf(format string, args ...any) {
	p.skipped = fmt.Sprintf(format, args...)
	panic(stop{})
}

// request is one request. The path goes as it is written, byte for byte.
type request struct {
	method, path, query string
	header              []string // names and values by turns
	body                string
	host                string // "": the server's own
	bare                bool   // without the headers that every request has
}

func (r request) String() string {
	s := r.method + " " + r.path
	if r.query != "" {
		q := r.query
		if len(q) > 80 {
			q = q[:80] + "…"
		}
		s += "?" + q
	}
	for i := 0; i < len(r.header); i += 2 {
		s += fmt.Sprintf(" [%s: %.60s]", r.header[i], r.header[i+1])
	}
	if r.body != "" {
		s += fmt.Sprintf(" %.80q", r.body)
	}
	return s
}

// answer is a whole answer.
type answer struct {
	to     request
	status int
	header http.Header
	body   []byte
}

// get makes a GET request.
func (p *probe) get(path, query string, header ...string) *answer {
	return p.do(request{method: "GET", path: path, query: query, header: header})
}

// post makes a POST request with a JSON body.
func (p *probe) post(path, body string, header ...string) *answer {
	return p.do(request{method: "POST", path: path, body: body, header: append([]string{"Content-Type", "application/json"}, header...)})
}

// do makes a request and reads the answer; the check ends when there is none.
func (p *probe) do(r request) *answer {
	resp := p.open(p.ctx, r)
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		p.failf("%s: the answer breaks off: %v", r, err)
	}
	return &answer{to: r, status: resp.StatusCode, header: resp.Header, body: body}
}

// open makes a request and returns the answer with its body unread.
func (p *probe) open(ctx context.Context, r request) *http.Response {
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, p.base.String(), body)
	if err != nil {
		p.failf("%s: %v", r, err)
	}
	req.URL = &url.URL{Scheme: p.base.Scheme, Host: p.base.Host, Opaque: r.path, RawQuery: r.query}
	if r.host != "" {
		req.Host = r.host
	}
	if !r.bare {
		req.Header.Set("X-BB-Client", "conformance/servertest")
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	seen := map[string]bool{}
	for i := 0; i < len(r.header); i += 2 {
		name := http.CanonicalHeaderKey(r.header[i])
		if !seen[name] {
			req.Header.Del(name) // a header that a check gives replaces the usual one
			seen[name] = true
		}
		req.Header[name] = append(req.Header[name], r.header[i+1])
	}
	resp, err := p.client.Do(req)
	if err != nil {
		p.failf("%s: no answer: %v", r, errors.Unwrap(err))
	}
	return resp
}

// success checks a success and decodes its result into out, nil for no matter what.
func (p *probe) success(a *answer, out any) {
	if a.status != http.StatusOK {
		p.failf("%s: status %d %.300s, want 200", a.to, a.status, a.body)
	}
	var s struct {
		OK     bool            `json:"ok"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(a.body, &s); err != nil || !s.OK {
		p.failf("%s: the answer is not a success: %.300s", a.to, a.body)
	}
	if out == nil {
		return
	}
	d := json.NewDecoder(bytes.NewReader(s.Result))
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		p.failf("%s: the result %.300s does not fit: %v", a.to, s.Result, err)
	}
}

// result is success for a result that is an object.
func (p *probe) result(a *answer) map[string]any {
	var out map[string]any
	p.success(a, &out)
	return out
}

// failure is a failure object.
type failure struct {
	OK    *bool `json:"ok"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Issues  []struct {
			Path    []any  `json:"path"`
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"issues"`
		Details   map[string]any `json:"details"`
		Retryable *bool          `json:"retryable"`
	} `json:"error"`
}

// refused checks a failure: its status, its code, and that it is a failure object.
func (p *probe) refused(a *answer, status int, code string) *failure {
	var f failure
	if a.status != status {
		p.errorf("%s: status %d %.300s, want %d %s", a.to, a.status, a.body, status, code)
		return nil
	}
	if err := json.Unmarshal(a.body, &f); err != nil || f.OK == nil || *f.OK || f.Error == nil {
		p.errorf("%s: the answer is not a failure object: %.300s", a.to, a.body)
		return nil
	}
	if media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type")); media != "application/json" {
		p.errorf("%s: the failure has the content type %q", a.to, a.header.Get("Content-Type"))
	}
	if f.Error.Code != code {
		p.errorf("%s: the code is %q, want %q: %.300s", a.to, f.Error.Code, code, a.body)
	}
	return &f
}

// issue checks that a refused input has exactly one issue, with this code and path.
func (p *probe) issue(a *answer, code string, path ...any) {
	f := p.refused(a, http.StatusBadRequest, "invalid_input")
	if f == nil {
		return
	}
	if len(f.Error.Issues) != 1 {
		p.errorf("%s: %d issues, want one: %.300s", a.to, len(f.Error.Issues), a.body)
		return
	}
	i := f.Error.Issues[0]
	got, _ := json.Marshal(i.Path)
	want, _ := json.Marshal(append([]any{}, path...))
	if i.Code != code || string(got) != string(want) {
		p.errorf("%s: the issue is %s at %s, want %s at %s", a.to, i.Code, got, code, want)
	}
	if i.Message == "" {
		p.errorf("%s: the issue has no message", a.to)
	}
}

// note adds a note and returns its id.
func (p *probe) note(text string) string {
	n := p.result(p.post(notesPath+"/add", `{"text":"`+text+`"}`))
	id, _ := n["id"].(string)
	if id == "" {
		p.failf("a note has no id: %v", n)
	}
	return id
}

// newToken makes a token; the check is skipped on a server that makes none.
func (p *probe) newToken(scope string) (name, secret string) {
	p.mu.Lock()
	name = fmt.Sprintf("conformance-%s-%d", p.run, len(p.tokens))
	p.tokens = append(p.tokens, name)
	p.mu.Unlock()
	a := p.post(tokenPath+"/create", `{"name":"`+name+`","scope":"`+scope+`"}`)
	if a.status == http.StatusNotFound {
		p.skipf("the server has no %s/create", tokenPath)
	}
	secret, _ = p.result(a)["token"].(string)
	if secret == "" {
		p.failf("a new token is not shown: %.300s", a.body)
	}
	return name, secret
}
