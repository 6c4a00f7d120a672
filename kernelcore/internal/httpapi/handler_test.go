package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/evidence"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

const things = "/api/v1/test/things/"

func TestQueryAndMutation(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	a := s.do(request{path: things + "greet?name=b+b"})
	is.Equal(a.status, 200)
	is.Equal(a.body, `{"ok":true,"result":{"message":"Hello, b b!"}}`)
	is.Equal(a.header.Get("Content-Type"), "application/json")
	a = s.do(request{method: "POST", path: things + "count", body: `{"name":"bb","salutation":"Hi"}`})
	is.Equal(a.status, 200)
	is.Equal(a.body, `{"ok":true,"result":{"message":"Hi, bb!"}}`)
	a = s.do(request{path: things + `read?$input=%7B%22big%22:9007199254740993%7D`})
	is.True(strings.Contains(a.body, `"big":9007199254740993`))
}

func TestHeadersOnEveryAnswer(t *testing.T) {
	s := start(t, setup{})
	layout := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	seen := map[string]bool{}
	for _, tt := range []struct {
		name   string
		r      request
		status int
		budget time.Duration
	}{
		{"query", request{path: things + "greet?name=bb"}, 200, 30 * time.Second},
		{"mutation", request{method: "POST", path: things + "count", body: `{"name":"bb"}`}, 200, 60 * time.Second},
		{"blocking", request{method: "POST", path: things + "slow", body: `{"name":"bb"}`}, 200, 100 * time.Millisecond},
		{"stream", request{path: things + "follow?limit=1"}, 200, 30 * time.Second},
		{"unknown route", request{path: "/api/v1/no/such/method"}, 404, 30 * time.Second},
		{"elsewhere", request{path: "/nowhere"}, 404, 30 * time.Second},
		{"wrong verb", request{method: "POST", path: things + "greet"}, 405, 30 * time.Second},
		{"bad input", request{path: things + "greet"}, 400, 30 * time.Second},
		{"no evidence", request{path: things + "greet", header: map[string]string{"X-Forwarded-For": "192.0.2.1"}}, 401, 30 * time.Second},
		{"foreign Host", request{path: things + "greet", host: "evil.example"}, 403, 30 * time.Second},
		{"raw endpoint", request{path: "/internal/echo"}, 200, 30 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			before := time.Now()
			a := s.do(tt.r)
			is.Equal(a.status, tt.status)
			is.Equal(a.header.Get("Bb-Generation"), "7")
			is.Equal(a.header.Get("Bb-Server-Id"), "server-1")
			is.Equal(a.header.Get("Cache-Control"), "no-store")
			is.Equal(a.header.Get("X-Content-Type-Options"), "nosniff")
			id := a.header.Get("Bb-Call-Id")
			is.True(id != "" && !seen[id])
			seen[id] = true
			is.True(layout.MatchString(a.header.Get("Bb-Deadline")))
			deadline, err := time.Parse(time.RFC3339, a.header.Get("Bb-Deadline"))
			is.NoErr(err)
			budget := deadline.Sub(before)
			is.True(budget > tt.budget-10*time.Millisecond && budget < tt.budget+5*time.Second)
			is.True(a.header.Get("Content-Length") != "" || tt.name == "stream")
		})
	}
}

func TestRouteIsMatchedByteForByte(t *testing.T) {
	s := start(t, setup{})
	for _, target := range []string{
		"/api/v1/test/things/greet/", "/api/v1/test/things%2fgreet", "/api/v1/test/things%2Fgreet", "/api/v1/test//things/greet",
		"//api/v1/test/things/greet", "/api/v1/./test/things/greet", "/api/v1/x/../test/things/greet", "/api/v1/test/things/%67reet",
		"/api/v1/test/things/Greet", "/API/v1/test/things/greet", "/api/v1/test/things", "/api/v1/test/things/hidden", "/api/v1", "/",
		"/api/v1/test/things/greet%00", "/api/v1/kernel/raw/echo", "/internal/echo/", "/internal//echo", "/internal/%65cho", "/internal/nothing",
	} {
		t.Run(target, func(t *testing.T) {
			is := is.New(t)
			a := s.raw("GET " + target + "?name=bb HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			is.Equal(a.status, 404)
			is.Equal(a.failure(t).Error.Code, "not_found")
		})
	}
}

func TestWrongVerb(t *testing.T) {
	s := start(t, setup{})
	for _, tt := range []struct{ verb, method, allow string }{
		{"POST", "greet", "GET, HEAD"}, {"PUT", "greet", "GET, HEAD"}, {"GET", "count", "POST"}, {"HEAD", "count", "POST"},
		{"POST", "follow", "GET"}, {"HEAD", "follow", "GET"}, {"DELETE", "follow", "GET"}, {"QUERY", "greet", "GET, HEAD"},
	} {
		t.Run(tt.verb+" "+tt.method, func(t *testing.T) {
			is := is.New(t)
			a := s.do(request{method: tt.verb, path: things + tt.method})
			is.Equal(a.status, 405)
			is.Equal(a.header.Get("Allow"), tt.allow)
			if tt.verb != "HEAD" {
				is.Equal(a.failure(t).Error.Code, "invalid_input")
			}
		})
	}
}

func TestHeadOfAQuery(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	get := s.do(request{path: things + "greet?name=bb"})
	head := s.do(request{method: "HEAD", path: things + "greet?name=bb"})
	is.Equal(head.status, 200)
	is.Equal(head.body, "")
	is.Equal(head.header.Get("Content-Type"), "application/json")
	is.Equal(head.header.Get("Content-Length"), get.header.Get("Content-Length"))
	is.Equal(s.do(request{method: "HEAD", path: things + "greet"}).status, 400)
	w := httptest.NewRecorder() // in process nobody else drops the body
	r := httptest.NewRequest("HEAD", things+"open", nil)
	s.handler.ServeHTTP(w, r)
	is.Equal(w.Code, 200)
	is.Equal(w.Body.Len(), 0)
}

// TestBadInput proves that every kind of bad input has its code and reaches no handler.
func TestBadInput(t *testing.T) {
	s := start(t, setup{})
	deep := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	tooBig := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	post := func(body string) request { return request{method: "POST", path: things + "shapes", body: body} }
	get := func(query string) request { return request{path: things + "read" + query} }
	with := func(name, value string) request {
		return request{path: things + "greet?name=bb", header: map[string]string{name: value}}
	}
	for _, tt := range []struct {
		name   string
		r      request
		status int
		code   string
		issue  string // code and path of the first issue
	}{
		{"unknown key", post(`{"smal":1}`), 400, "invalid_input", `unrecognized_key ["smal"]`},
		{"unknown key in a query string", get("?smal=1"), 400, "invalid_input", `unrecognized_key ["smal"]`},
		{"unknown key of a mutation in the query string", request{method: "POST", path: things + "shapes?small=1", body: "{}"}, 400, "invalid_input", `unrecognized_key ["small"]`},
		{"other case of a key", post(`{"Small":1}`), 400, "invalid_input", `unrecognized_key ["Small"]`},
		{"wrong type", post(`{"small":"1"}`), 400, "invalid_input", `invalid_type ["small"]`},
		{"wrong type in a query string", get("?small=x"), 400, "invalid_input", `invalid_type ["small"]`},
		{"missing key", request{method: "POST", path: things + "count", body: `{}`}, 400, "invalid_input", `required ["name"]`},
		{"missing key in a query string", request{path: things + "greet"}, 400, "invalid_input", `required ["name"]`},
		{"duplicate key", post(`{"small":1,"small":2}`), 400, "invalid_input", `duplicate_key ["small"]`},
		{"duplicate key in a query string", get("?small=1&small=2"), 400, "invalid_input", `duplicate_key ["small"]`},
		{"whole input beside a field", get("?$input={}&small=1"), 400, "invalid_input", `invalid_value ["$input"]`},
		{"trailing bytes", post(`{} {}`), 400, "invalid_input", `invalid_json []`},
		{"not JSON", post(`small=1`), 400, "invalid_input", `invalid_json []`},
		{"cut JSON", post(`{"small":`), 400, "invalid_input", `invalid_json ["small"]`},
		{"blank body", post("  "), 400, "invalid_input", `invalid_json []`},
		{"list", post(`[]`), 400, "invalid_input", `invalid_type []`},
		{"null", post(`null`), 400, "invalid_input", `invalid_type []`},
		{"invalid UTF-8", post("{\"text\":\"\xff\"}"), 400, "invalid_input", ""},
		{"invalid UTF-8 in a query string", get("?text=%ff"), 400, "invalid_input", `invalid_format ["text"]`},
		{"deep nesting", post(`{"tree":` + deep + `}`), 400, "invalid_input", ""},
		{"deep nesting in a query string", get("?tree=" + strings.ReplaceAll(deep, `"`, "%22")), 400, "invalid_input", ""},
		{"1e400", post(`{"ratio":1e400}`), 400, "invalid_input", `too_big ["ratio"]`},
		{"1e400 in a query string", get("?ratio=1e400"), 400, "invalid_input", `too_big ["ratio"]`},
		{"narrow integer", post(`{"small":128}`), 400, "invalid_input", `too_big ["small"]`},
		{"narrow integer below", get("?small=-129"), 400, "invalid_input", `too_small ["small"]`},
		{"wide integer", post(`{"big":9223372036854775808}`), 400, "invalid_input", `too_big ["big"]`},
		{"body over 1 MiB", post(tooBig), 413, "invalid_input", ""},
		{"chunked body over 1 MiB", request{method: "POST", path: things + "shapes", body: tooBig, chunked: true}, 413, "invalid_input", ""},
		{"URL over 32 KiB", get("?text=" + strings.Repeat("x", 32<<10)), 400, "invalid_input", ""},
		{"URL over 32 KiB with its path", get("?text=" + strings.Repeat("x", 32<<10-len("text="))), 400, "invalid_input", ""},
		{"wrong content type", request{method: "POST", path: things + "shapes", body: `{}`, header: map[string]string{"Content-Type": "text/plain"}}, 415, "invalid_input", ""},
		{"form", request{method: "POST", path: things + "shapes", body: `small=1`, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, 415, "invalid_input", ""},
		{"no content type", request{method: "POST", path: things + "shapes", body: `{}`, header: map[string]string{"Content-Type": ""}}, 415, "invalid_input", ""},
		{"other charset", request{method: "POST", path: things + "shapes", body: `{}`, header: map[string]string{"Content-Type": "application/json; charset=latin1"}}, 415, "invalid_input", ""},
		{"malformed X-BB-Client", with("X-BB-Client", "CLI"), 400, "invalid_input", ""},
		{"malformed x-bb-context", with("x-bb-context", "{"), 400, "invalid_input", ""},
		{"unknown key in x-bb-context", with("x-bb-context", `{"user":"root"}`), 400, "invalid_input", ""},
		{"malformed Bb-Render", with("Bb-Render", "text; width=1"), 400, "invalid_input", ""},
		{"malformed Last-Event-ID", with("Last-Event-ID", strings.Repeat("x", 257)), 400, "invalid_input", ""},
		{"foreign Host", request{path: things + "greet?name=bb", host: "evil.example"}, 403, "forbidden", ""},
		{"foreign Origin", with("Origin", "https://evil.example"), 403, "forbidden", ""},
		{"null Origin", with("Origin", "null"), 403, "forbidden", ""},
		{"cross-site", with("Sec-Fetch-Site", "cross-site"), 403, "forbidden", ""},
		{"invalid token", with("Authorization", "Bearer bbt_wrong"), 401, "unauthenticated", ""},
		{"other authorization", with("Authorization", "Basic YTpi"), 401, "unauthenticated", ""},
		{"unverified gate", with("Bb-Gate", "v1.e30.AAAA"), 401, "unauthenticated", ""},
		{"unknown route", request{path: "/api/v1/test/things/nothing"}, 404, "not_found", ""},
		{"unknown service", request{path: "/api/v1/test/nothing/greet"}, 404, "not_found", ""},
		{"unknown plugin", request{path: "/api/v1/nothing/things/greet"}, 404, "not_found", ""},
		{"since of what cannot be resumed", request{path: things + "tail?$since=1"}, 400, "invalid_input", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			ran := s.plugin.executed.Load()
			a := s.do(tt.r)
			f := a.failure(t)
			is.Equal(a.status, tt.status)
			is.Equal(f.Error.Code, tt.code)
			is.True(f.Error.Message != "")
			is.True(!f.Error.Retryable)
			if tt.issue != "" {
				is.True(len(f.Error.Issues) > 0)
				path, err := json.Marshal(f.Error.Issues[0].Path)
				is.NoErr(err)
				is.Equal(string(f.Error.Issues[0].Code)+" "+string(path), tt.issue)
			}
			is.Equal(s.plugin.executed.Load(), ran)
		})
	}
}

func TestLongestURL(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	start := things + "read?text="
	is.Equal(s.do(request{path: start + strings.Repeat("x", 32<<10-len(start))}).status, 200)
	is.Equal(s.do(request{path: start + strings.Repeat("x", 32<<10-len(start)+1)}).status, 400)
}

func TestPostContentType(t *testing.T) {
	s := start(t, setup{})
	const client = "cli/tty"
	for _, tt := range []struct {
		name, contentType, client, body string
		status                          int
	}{
		{"JSON", "application/json", "", `{}`, 200},
		{"JSON with charset", "Application/JSON; charset=UTF-8", "", `{}`, 200},
		{"JSON, empty body", "application/json", "", "", 200},
		{"empty body with a client header", "", client, "", 200},
		{"empty body of any type with a client header", "text/plain", client, "", 200},
		{"empty body alone", "", "", "", 415},
		{"empty body of a form", "text/plain", "", "", 415},
		{"a client header is not enough for a body", "", client, `{}`, 415},
		{"JSON under another name", "text/json", "", `{}`, 415},
		{"malformed", "application/json;;", "", `{}`, 415},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			a := s.do(request{method: "POST", path: things + "shapes", body: tt.body, header: map[string]string{"Content-Type": tt.contentType, "X-BB-Client": tt.client}})
			is.Equal(a.status, tt.status)
		})
	}
}

// TestCheckOrder sends requests that are wrong in several ways: the earliest check answers.
func TestCheckOrder(t *testing.T) {
	s := start(t, setup{})
	type h = map[string]string
	big := strings.Repeat("x", 1<<20+1)
	for _, tt := range []struct {
		name   string
		r      request
		status int
	}{
		{"row 0 before credentials", request{path: things + "greet", host: "evil.example", header: h{"Authorization": "Bearer bbt_wrong"}}, 403},
		{"fetch metadata before credentials", request{path: things + "greet", header: h{"Sec-Fetch-Site": "cross-site", "Authorization": "Bearer bbt_wrong"}}, 403},
		{"principal before route", request{path: "/api/v1/no/such/method", header: h{"Authorization": "Bearer bbt_wrong"}}, 401},
		{"route before verb", request{method: "DELETE", path: "/api/v1/no/such/method"}, 404},
		{"verb before headers", request{method: "DELETE", path: things + "greet", header: h{"X-BB-Client": "?"}}, 405},
		{"headers before access", request{path: things + "people", header: h{"X-BB-Client": "?", "x-bb-context": `{"threadId":"t1"}`}}, 400},
		{"malformed context before access", request{path: things + "local", header: h{"Authorization": "Bearer bbt_all", "x-bb-context": `{`, "Bb-Gate": ""}}, 400},
		{"actors before target", request{path: things + "people?x=1", header: h{"x-bb-context": `{"threadId":"t1"}`}}, 403},
		{"scope before body", request{method: "POST", path: things + "count", body: big, header: h{"Authorization": "Bearer bbt_read"}}, 403},
		{"target before input", request{path: things + "away?x=1"}, 503},
		{"size before content type", request{method: "POST", path: things + "count", body: big, header: h{"Content-Type": "text/plain"}}, 413},
		{"size of a chunked body before content type", request{method: "POST", path: things + "count", body: big, chunked: true, header: h{"Content-Type": "text/plain"}}, 413},
		{"content type before JSON", request{method: "POST", path: things + "count", body: "{", header: h{"Content-Type": "text/plain"}}, 415},
		{"unauthenticated on an open route is anonymous", request{path: things + "open", header: h{"Authorization": "Bearer bbt_wrong"}}, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(s.do(tt.r).status, tt.status)
		})
	}
}

func TestHeaderProblemsInOrder(t *testing.T) {
	s := start(t, setup{})
	all := []struct{ name, value string }{{"X-BB-Client", "?"}, {"x-bb-context", "?"}, {"Bb-Render", "?"}, {"Last-Event-ID", "é"}}
	for i := range all {
		t.Run(all[i].name, func(t *testing.T) {
			is := is.New(t)
			h := map[string]string{}
			for _, p := range all[i:] {
				h[p.name] = p.value
			}
			is.True(strings.Contains(s.do(request{path: things + "greet", header: h}).failure(t).Error.Message, all[i].name))
		})
	}
}

// TestPrincipals proves that the transport hands each kind of evidence to the table of principals.
func TestPrincipals(t *testing.T) {
	s := start(t, setup{})
	own := s.URL
	gate := func(change func(*evidence.Claims)) string {
		now := time.Now().Unix()
		c := evidence.Claims{Kind: evidence.GateSession, Account: "ann", Host: "bb.example.com", Proto: "https", Method: "GET",
			Target: things + "who", Issued: now, Expires: now + 20, Nonce: t.Name() + time.Now().String()}
		change(&c)
		return evidence.SignGate(gateKey, c)
	}
	type h = map[string]string
	for _, tt := range []struct {
		name string
		path string
		h    h
		want string
	}{
		{"this machine", "who", nil, "user:local loopback"},
		{"own origin", "who", h{"Origin": own}, "user:local origin"},
		{"own origin by name", "who", h{"Origin": strings.Replace(own, "127.0.0.1", "localhost", 1)}, "user:local origin"},
		{"configured origin", "who", h{"Origin": "https://app.example.com", "Sec-Fetch-Site": "cross-site"}, "user:local origin"},
		{"thread", "who", h{"x-bb-context": `{"threadId":"t1"}`}, "agent:t1 loopback"},
		{"token", "who", h{"Authorization": "Bearer bbt_all"}, "user:all token"},
		{"token behind a proxy", "who", h{"Authorization": "Bearer bbt_all", "X-Forwarded-For": "192.0.2.1"}, "user:all token"},
		{"host key", "machine", h{"Authorization": "Bearer bbh_host"}, "system:host:h1 host"},
		{"host key on an operator's method", "who", h{"Authorization": "Bearer bbh_host"}, "403 forbidden"},
		{"host proxy", "who", h{"Authorization": "Bearer bbh_host", "Bb-Host-Proxy": "1", "x-bb-context": `{"hostId":"h1"}`}, "user:host:h1 host-proxy"},
		{"host proxy for a thread", "who", h{"Authorization": "Bearer bbh_host", "Bb-Host-Proxy": "1", "x-bb-context": `{"hostId":"h1","threadId":"t1"}`}, "agent:t1 host-proxy"},
		{"host proxy for another's thread", "who", h{"Authorization": "Bearer bbh_host", "Bb-Host-Proxy": "1", "x-bb-context": `{"hostId":"h1","threadId":"t2"}`}, "403 forbidden"},
		{"session key", "who", h{"Authorization": "Bearer bbs_session"}, "agent:t9 tool"},
		{"gate session", "who", h{"Bb-Gate": gate(func(*evidence.Claims) {})}, "user:ann gate-session"},
		{"gate machine", "who", h{"Bb-Gate": gate(func(c *evidence.Claims) { c.Kind = evidence.GateMachine })}, "user:ann gate-machine"},
		{"gate of another target", "who", h{"Bb-Gate": gate(func(c *evidence.Claims) { c.Target = "/" })}, "401 unauthenticated"},
		{"gate of another method", "who", h{"Bb-Gate": gate(func(c *evidence.Claims) { c.Method = "POST" })}, "401 unauthenticated"},
		{"behind a proxy", "who", h{"X-Forwarded-For": "192.0.2.1"}, "401 unauthenticated"},
		{"behind a proxy, open", "open", h{"Via": "1.1 proxy"}, "user:anonymous anonymous"},
		{"open, this machine", "open", nil, "user:local loopback"},
		{"open, broken credential", "open", h{"Authorization": "x"}, "user:anonymous anonymous"},
		{"local", "local", nil, "user:local loopback"},
		{"local through a gate", "local", h{"Bb-Gate": gate(func(c *evidence.Claims) { c.Target = things + "local" })}, "403 forbidden"},
		{"local with a foreign origin", "local", h{"Authorization": "Bearer bbt_all", "Origin": "https://evil.example"}, "403 forbidden"},
		{"local with an allowed origin", "local", h{"Authorization": "Bearer bbt_all", "Origin": own}, "user:all token"},
		{"actors", "people", nil, "user:local loopback"},
		{"actors without agents", "people", h{"x-bb-context": `{"threadId":"t1"}`}, "403 forbidden"},
		{"the store fails", "who", h{"Authorization": "Bearer bbt_error"}, "500 internal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			a := s.do(request{path: things + tt.path, header: tt.h})
			if a.status != 200 {
				is.Equal(http.StatusText(a.status) != "", true)
				is.Equal(strings.Join([]string{itoa(a.status), a.failure(t).Error.Code}, " "), tt.want)
				is.Equal(a.status == 401, a.header.Get("WWW-Authenticate") != "")
				return
			}
			var got struct{ Result greetOut }
			is.NoErr(json.Unmarshal([]byte(a.body), &got))
			is.Equal(got.Result.Message, tt.want)
		})
	}
}

func TestGateNonceIsUsedOnce(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	now := time.Now().Unix()
	gate := evidence.SignGate(gateKey, evidence.Claims{Kind: evidence.GateMachine, Account: "ann", Host: "bb.example.com", Proto: "https",
		Method: "GET", Target: things + "who", Issued: now, Expires: now + 20, Nonce: "once"})
	r := request{path: things + "who", host: "bb.example.com", header: map[string]string{"Bb-Gate": gate}}
	is.Equal(s.do(r).status, 200)
	is.Equal(s.do(r).status, 401)
}

func TestRemotePeer(t *testing.T) {
	s := start(t, setup{})
	for name, tt := range map[string]struct {
		addr, path, auth string
		status           int
	}{
		"no credential":                  {"192.0.2.1:1234", "who", "", 401},
		"open":                           {"192.0.2.1:1234", "open", "", 200},
		"token":                          {"192.0.2.1:1234", "who", "Bearer bbt_all", 200},
		"session key":                    {"192.0.2.1:1234", "who", "Bearer bbs_session", 401},
		"local":                          {"192.0.2.1:1234", "local", "Bearer bbt_all", 403},
		"no address":                     {"@", "who", "", 401},
		"IPv6 loopback":                  {"[::1]:1234", "who", "", 200},
		"unknown route without evidence": {"192.0.2.1:1234", "nothing", "", 401},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			r := httptest.NewRequest("GET", things+tt.path, nil)
			r.RemoteAddr, r.Host = tt.addr, "localhost"
			if tt.auth != "" {
				r.Header.Set("Authorization", tt.auth)
			}
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
			is.Equal(w.Code, tt.status)
		})
	}
}

func TestReadScope(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	h := map[string]string{"Authorization": "Bearer bbt_read"}
	is.Equal(s.do(request{path: things + "greet?name=bb", header: h}).status, 200)
	is.Equal(s.do(request{path: things + "follow?limit=1", header: h}).status, 200)
	is.Equal(s.do(request{method: "POST", path: things + "count", body: `{"name":"bb"}`, header: h}).status, 403)
}

func TestFailures(t *testing.T) {
	s := start(t, setup{})
	for _, tt := range []struct {
		name       string
		r          request
		status     int
		code       string
		retryable  bool
		retryAfter string
	}{
		{"declared code", request{path: things + "greet?name=nobody"}, 403, "muted", false, ""},
		{"kernel code", request{path: things + "greet?name=down"}, 503, "service_unavailable", false, "1"},
		{"panic", request{path: things + "panics"}, 500, "internal", false, ""},
		{"undeclared error", request{method: "POST", path: things + "breaks"}, 500, "internal", false, ""},
		{"runs on a host", request{path: things + "away"}, 503, "service_unavailable", true, "1"},
		{"handler that never answers", request{path: things + "hang"}, 504, "timeout", true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			a := s.do(tt.r)
			f := a.failure(t)
			is.Equal(a.status, tt.status)
			is.Equal(f.Error.Code, tt.code)
			is.Equal(f.Error.Retryable, tt.retryable)
			is.Equal(a.header.Get("Retry-After"), tt.retryAfter)
			is.Equal(a.header.Get("Content-Type"), "application/json")
			is.True(!strings.Contains(a.body, "secret")) // what a plugin says to nobody stays in the log
		})
	}
}

func TestClientLeavesMidCall(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	ctx, leave := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		resp, err := s.Client().Do(s.request(ctx, request{path: things + "wait"}))
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	await(t, s.plugin.started, "the handler")
	leave()
	await(t, s.plugin.left, "the handler's context to end")
	is.True(await(t, done, "the client") != nil)
	deadline := time.Now().Add(patience)
	for {
		if calls := s.engine.Log.Last(1); len(calls) == 1 && calls[0].Code == kernelcontract.Cancelled {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the call is not recorded as cancelled")
		}
	}
}

func TestRefusalsAreRecorded(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	s.do(request{path: things + "people", header: map[string]string{"x-bb-context": `{"threadId":"t1"}`, "X-BB-Client": "cli/tty"}})
	calls := s.engine.Log.Last(1)
	is.Equal(len(calls), 1)
	is.Equal(calls[0].Code, kernelcontract.Forbidden)
	is.Equal(calls[0].Principal, kernelcontract.Principal{Actor: "agent:t1", Via: "loopback"})
	is.Equal(calls[0].Client.Kind, "cli")
}

func TestAmbientFields(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	h := map[string]string{"x-bb-context": `{"threadId":"t1"}`}
	is.Equal(s.do(request{path: things + "here", header: h}).body, `{"ok":true,"result":{"thread":"t1"}}`)
	is.Equal(s.do(request{path: things + "here?thread=t2", header: h}).body, `{"ok":true,"result":{"thread":"t2"}}`)
}

func TestReloadDuringCalls(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	stop, failed := make(chan struct{}), make(chan string, 8)
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					failed <- ""
					return
				default:
				}
				if a := s.do(request{path: things + "greet?name=bb"}); a.status != 200 {
					failed <- a.body
					return
				}
			}
		}()
	}
	old := s.instance
	for g := uint64(8); g < 40; g++ {
		fresh := engine.NewInstance(s.plugin.source())
		s.engine.Swap(engine.NewCatalog(g, []*engine.Instance{fresh}, s.engine.Catalog()))
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		is.True(old.Retire(ctx, time.Second))
		cancel()
		old = fresh
	}
	close(stop)
	for range 4 {
		is.Equal(await(t, failed, "a caller"), "")
	}
	is.Equal(s.do(request{path: things + "greet?name=bb"}).header.Get("Bb-Generation"), "39")
}

func TestDrain(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	s.engine.Drain()
	a := s.do(request{path: things + "greet?name=bb"})
	is.Equal(a.status, 503)
	is.Equal(a.failure(t).Error.Code, "service_unavailable")
	is.True(a.failure(t).Error.Retryable)
	is.Equal(a.header.Get("Retry-After"), "1")
}

func TestRawEndpoints(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	a := s.do(request{method: "PUT", path: "/internal/echo", body: strings.Repeat("x", 2<<20)})
	is.Equal(a.status, 200) // its body is its own
	is.True(strings.HasPrefix(a.body, "PUT user:local xxx"))
	is.Equal(s.do(request{path: "/internal/echo", header: map[string]string{"X-Forwarded-For": "192.0.2.1"}}).status, 401)
	is.Equal(s.do(request{path: "/internal/echo", header: map[string]string{"X-BB-Client": "?"}}).status, 400)
	a = s.do(request{path: "/local/broken"})
	is.Equal(a.status, 500)
	is.Equal(s.engine.Log.Last(1)[0].Code, kernelcontract.Internal)
	is.True(!strings.Contains(a.body, "secret"))
	is.Equal(s.do(request{path: "/local/broken", header: map[string]string{"Authorization": "Bearer bbt_all", "Origin": "https://evil.example"}}).status, 403)
	calls := s.engine.Log.Last(9)
	is.Equal(calls[len(calls)-1].Ref, "kernel/raw.echo")
}

func TestGuard(t *testing.T) {
	s := start(t, setup{})
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(kernelcontract.CallFrom(r.Context()).Principal.Actor))
	})
	for name, tt := range map[string]struct {
		access  kernelcontract.Access
		headers bool
		h       map[string]string
		status  int
		body    string
	}{
		"operator":         {kernelcontract.Access{}, true, nil, 200, "user:local"},
		"without evidence": {kernelcontract.Access{}, true, map[string]string{"Via": "x"}, 401, ""},
		"open":             {kernelcontract.Access{Auth: kernelcontract.AuthNone}, false, map[string]string{"Via": "x"}, 200, "user:anonymous"},
		"host key":         {kernelcontract.Access{}, false, map[string]string{"Authorization": "Bearer bbh_host"}, 403, ""},
		"machine":          {kernelcontract.Access{Auth: kernelcontract.AuthMachine}, false, map[string]string{"Authorization": "Bearer bbh_host"}, 200, "system:host:h1"},
		"actors":           {kernelcontract.Access{Actors: []kernelcontract.ActorKind{kernelcontract.User}}, false, map[string]string{"x-bb-context": `{"threadId":"t"}`}, 403, ""},
		"local":            {kernelcontract.Access{Local: true}, false, map[string]string{"Authorization": "Bearer bbt_all", "Origin": "https://evil.example"}, 403, ""},
		"malformed header": {kernelcontract.Access{}, false, map[string]string{"X-BB-Client": "?"}, 400, ""},
		"navigation":       {kernelcontract.Access{Auth: kernelcontract.AuthNone}, false, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200, "user:local"},
		"cross-site":       {kernelcontract.Access{Auth: kernelcontract.AuthNone}, false, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost"
			for k, v := range tt.h {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			s.handler.Guard(tt.access, tt.headers, page).ServeHTTP(w, r)
			is.Equal(w.Code, tt.status)
			is.Equal(w.Header().Get("Bb-Call-Id") != "", tt.headers)
			if tt.status == 200 {
				is.Equal(w.Body.String(), tt.body)
			}
		})
	}
}

func TestCORS(t *testing.T) {
	s := start(t, setup{})
	is := is.New(t)
	origin := map[string]string{"Origin": "https://app.example.com"}
	for _, r := range []request{{path: things + "greet?name=bb", header: origin}, {path: things + "nothing", header: origin}} {
		a := s.do(r)
		is.Equal(a.header.Get("Access-Control-Allow-Origin"), "https://app.example.com")
		is.Equal(a.header.Get("Access-Control-Expose-Headers"), "Bb-Call-Id, Bb-Generation, Bb-Deadline, Bb-Server-Id, Retry-After")
		is.Equal(a.header.Get("Access-Control-Allow-Credentials"), "")
		is.Equal(a.header.Get("Vary"), "Origin")
	}
	for _, r := range []request{
		{path: things + "greet?name=bb"},
		{path: things + "greet?name=bb", header: map[string]string{"Origin": "https://evil.example"}},
		{path: things + "greet?name=bb", header: map[string]string{"Origin": "https://evil.example", "Authorization": "Bearer bbt_all"}},
	} {
		is.Equal(s.do(r).header.Get("Access-Control-Allow-Origin"), "")
	}

	a := s.do(request{method: "OPTIONS", path: things + "count", header: map[string]string{"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST"}})
	is.Equal(a.status, 204)
	is.Equal(a.header.Get("Access-Control-Allow-Origin"), "https://app.example.com")
	is.Equal(a.header.Get("Access-Control-Allow-Methods"), "GET, HEAD, POST")
	is.Equal(a.header.Get("Access-Control-Allow-Headers"), "Authorization, Content-Type, X-BB-Client, x-bb-context, Bb-Render, Last-Event-ID")
	is.True(a.header.Get("Bb-Call-Id") != "")
	for _, h := range []map[string]string{nil, {"Origin": "https://evil.example"}, {"Origin": "null"}} {
		is.Equal(s.do(request{method: "OPTIONS", path: things + "count", header: h}).status, 403)
	}
}

func TestTextRendering(t *testing.T) {
	s := start(t, setup{})
	for _, tt := range []struct {
		name, path, render string
		status             int
		body               string
	}{
		{"the author's", "greet?name=bb", "text; width=40", 200, "Hello, bb! (40)"},
		{"default width", "greet?name=bb", "text", 200, "Hello, bb! (80)"},
		{"generic", "here?thread=t", "text", 200, "thread: t"},
		{"failure", "greet?name=nobody", "text", 403, "muted: nobody asked not to be greeted"},
		{"issues", "greet?nme=bb", "text", 400, "invalid_input: "},
		{"unknown route", "nothing", "text", 404, "not_found: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			a := s.do(request{path: things + tt.path, header: map[string]string{"Bb-Render": tt.render}})
			is.Equal(a.status, tt.status)
			is.Equal(a.header.Get("Content-Type"), "text/plain; charset=utf-8")
			is.True(strings.HasPrefix(a.body, tt.body))
			if tt.name == "issues" {
				is.True(strings.Count(strings.TrimSpace(a.body), "\n") >= 1) // one line an issue
			}
		})
	}
}
