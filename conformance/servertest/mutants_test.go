package servertest_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bb-kernel/bb/conformance/internal/reference"
	"github.com/bb-kernel/bb/conformance/servertest"
)

const (
	greet       = "/api/v1/hello-slot/greeter/greet"
	count       = "/api/v1/hello-slot/greeter/count"
	hostGreet   = "/api/v1/hello-slot/greeter/hostGreet"
	apply       = "/api/v1/notes-fixture/settings/apply"
	read        = "/api/v1/notes-fixture/settings/read"
	notes       = "/api/v1/notes-fixture/notes"
	attachments = "/api/v1/notes-fixture/attachments/get"
	unknown     = "/api/v1/no-plugin/no-service/none"
	failureOf   = `{"ok":false,"error":{"code":"invalid_input","message":"m","issues":[],"retryable":false}}`
)

func failed(code string) string { return strings.Replace(failureOf, "invalid_input", code, 1) }

// query replaces a part of a query string.
func query(path, from, to string) func(*outgoing) {
	return func(r *outgoing) {
		if r.URL.Opaque == path {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, from, to, 1)
		}
	}
}

// body replaces a part of a body.
func body(path, from, to string) func(*outgoing) {
	return func(r *outgoing) {
		if r.URL.Opaque == path {
			r.Body = strings.Replace(r.Body, from, to, 1)
		}
	}
}

// header replaces the value of a header, "" removes it.
func header(name, from, to string) func(*outgoing) {
	return func(r *outgoing) {
		if r.Header.Get(name) != from {
			return
		}
		if to == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, to)
		}
	}
}

// when changes the answers to some requests.
func when(match func(r *http.Request, a *incoming) bool, change func(a *incoming)) func(*http.Request, *incoming) {
	return func(r *http.Request, a *incoming) {
		if match(r, a) {
			change(a)
		}
	}
}

func status(code int) func(*http.Request, *incoming) bool {
	return func(_ *http.Request, a *incoming) bool { return a.Status == code }
}

func path(p string) func(*http.Request, *incoming) bool {
	return func(r *http.Request, a *incoming) bool { return r.URL.Path == p }
}

func del(name string) func(*incoming) { return func(a *incoming) { a.Header.Del(name) } }

func replace(from, to string) func(*incoming) {
	return func(a *incoming) { a.replace(from, to) }
}

func become(code int, body string) func(*incoming) {
	return func(a *incoming) { a.become(code, body) }
}

// both is the conjunction.
func both(conditions ...func(*http.Request, *incoming) bool) func(*http.Request, *incoming) bool {
	return func(r *http.Request, a *incoming) bool {
		for _, c := range conditions {
			if !c(r, a) {
				return false
			}
		}
		return true
	}
}

func sent(name, value string) func(*http.Request, *incoming) bool {
	return func(r *http.Request, _ *incoming) bool {
		got := r.Header.Values(name)
		return value == "" && len(got) == 0 || value == "*" && len(got) > 0 || len(got) == 1 && got[0] == value
	}
}

func asked(rawQuery string) func(*http.Request, *incoming) bool {
	return func(r *http.Request, _ *incoming) bool { return r.URL.RawQuery == rawQuery }
}

func method(m string) func(*http.Request, *incoming) bool {
	return func(r *http.Request, _ *incoming) bool { return r.Method == m }
}

// inBlock replaces a part of the blocks that contain a text, for some requests.
func inBlock(match func(r *http.Request) bool, containing, from, to string) func(*http.Request, string) string {
	return func(r *http.Request, block string) string {
		if match(r) && strings.Contains(block, containing) {
			return strings.ReplaceAll(block, from, to)
		}
		return block
	}
}

func everyone(*http.Request) bool { return true }

func resumed(r *http.Request) bool { return r.Header.Get("Last-Event-ID") != "" }

func since(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, "since=") }

// mutants breaks every rule once.
func mutants() []mutant {
	return []mutant{
		{check: "http.headers.call-id", response: when(both(path(unknown), status(404)), del("Bb-Call-Id"))},
		{check: "http.headers.generation", response: when(status(405), del("Bb-Generation"))},
		{check: "http.headers.server-id", response: when(status(405), func(a *incoming) { a.Header.Set("Bb-Server-Id", "other") })},
		{check: "http.headers.deadline", response: when(both(path(count), status(200)), func(a *incoming) {
			a.Header.Set("Bb-Deadline", time.Now().Add(30*time.Second).UTC().Format("2006-01-02T15:04:05.000Z"))
		})},
		{check: "http.headers.no-store", response: when(status(405), del("Cache-Control"))},
		{check: "http.headers.nosniff", response: when(status(405), del("X-Content-Type-Options"))},

		{check: "http.route.exact", request: func(r *outgoing) {
			r.URL.Opaque = strings.TrimSuffix(r.URL.Opaque, "/greet/") + strings.Repeat("/greet", strings.Count(r.URL.Opaque, "/greet/"))
		}},
		{check: "http.route.unknown", response: when(path("/api/v1/hello-slot/none/greet"), become(400, failureOf))},
		{check: "http.route.elsewhere", response: when(both(path("/nonsense"), status(404)), func(a *incoming) {
			a.Body = "404 page not found"
			a.Header.Set("Content-Type", "text/plain")
		})},
		{check: "http.verb.refused", response: when(both(method("PUT"), status(405)), del("Allow"))},
		{check: "http.verb.head", response: when(both(method("HEAD"), path(count)), func(a *incoming) { a.Status = 200 })},
		{check: "http.healthz", response: when(both(path("/healthz"), status(200)), func(a *incoming) { a.Body = "fine" })},
		{check: "http.metrics", response: when(both(path("/metrics"), status(401)), func(a *incoming) { a.Status = 200 })},

		{check: "http.query.unknown-key", request: query(greet, "name=bb&Name=bb", "name=bb")},
		{check: "http.query.required", response: when(both(path(greet), asked(""), status(400)), replace(`"path":["name"]`, `"path":[]`))},
		{check: "http.query.integer", request: query(read, "count=01", "count=1")},
		{check: "http.query.narrow", request: query(read, "small=128", "small=127")},
		{check: "http.query.number", request: query(read, "ratio=.5", "ratio=0.5")},
		{check: "http.query.boolean", request: query(read, "enabled=yes", "enabled=true")},
		{check: "http.query.array", request: query(read, "labels=a&labels=b%2Cc", "labels=a")},
		{check: "http.query.object", response: when(path(read), replace(`"radius":2`, `"radius":3`))},
		{check: "http.query.null", request: query(read, "count=null", "count=0")},
		{check: "http.query.input", request: query(greet, "&salutation=Hi", "")},
		{check: "http.query.repeated", request: query(greet, "name=a&name=b", "name=b")},
		{check: "http.query.escapes", request: query(read, "someName=%ff", "someName=x")},
		{check: "http.query.too-long", request: func(r *outgoing) {
			if len(r.URL.RawQuery) > 32<<10 {
				r.URL.RawQuery = "title=t"
			}
		}},
		{check: "http.query.default", request: query(greet, "&salutation=", "")},
		{check: "http.query.transport", request: query(greet, "name=bb&since=1", "name=bb")},
		{check: "http.query.mutation", request: query(count, "name=bb", "")},

		{check: "http.body.unknown-key", request: body(apply, `"colour":"red"}`, `"color":"red"}`)},
		{check: "http.body.key-case", request: body(apply, `"SomeName"`, `"someName"`)},
		{check: "http.body.required", request: func(r *outgoing) {
			if r.URL.Opaque == apply && r.Body == "{}" {
				r.Body = `{"title":"t"}`
			}
		}},
		{check: "http.body.duplicate-key", request: body(apply, `"count":1,"count":1`, `"count":1`)},
		{check: "http.body.type", request: body(apply, `"loud":"true"`, `"loud":true`)},
		{check: "http.body.range", request: body(apply, `"small":128}`, `"small":127}`)},
		{check: "http.body.value", request: body(apply, `"color":"pink"}`, `"color":"red"}`)},
		{check: "http.body.union", response: when(path(apply), replace("invalid_union", "invalid_value"))},
		{check: "http.body.issues-sorted", response: when(path(apply), func(a *incoming) {
			a.Body = strings.NewReplacer("apple", "zebra", "zebra", "apple").Replace(a.Body)
		})},
		{check: "http.body.exact-integers", response: when(path(apply), replace("9007199254740993", "9007199254740992"))},
		{check: "http.body.number-range", request: body(apply, "1e400", "1")},
		{check: "http.body.json", request: body(apply, `{"title":"t"}{}`, `{"title":"t"}`)},
		{check: "http.body.object", request: func(r *outgoing) {
			if r.URL.Opaque == apply && r.Body == "null" {
				r.Body = `{"title":"t"}`
			}
		}},
		{check: "http.body.utf8", request: body(apply, "\xff", "")},
		{check: "http.body.depth", request: func(r *outgoing) {
			if strings.Count(r.Body, "[") == 64 {
				r.Body = `{"title":"t"}`
			}
		}},
		{check: "http.body.empty", response: when(both(path(count), sent("Content-Type", ""), sent("X-BB-Client", "*"), status(400)), become(415, failureOf))},
		{check: "http.body.too-large", request: func(r *outgoing) {
			if len(r.Body) == 1<<20+1 && r.Header.Get("Content-Type") == "application/json" {
				r.Body = `{"title":"t"}`
			}
		}},
		{check: "http.body.content-type", request: func(r *outgoing) {
			if r.Body == `{"title":"t"}` && r.Header.Get("Content-Type") == "text/plain" {
				r.Header.Set("Content-Type", "application/json")
			}
		}},
		{check: "http.body.simple-request", request: func(r *outgoing) {
			if r.URL.Opaque == count && r.Header.Get("X-BB-Client") == "" {
				r.Header.Set("X-BB-Client", "web/page")
			}
		}},

		{check: "http.header.client", request: header("X-Bb-Client", "SDK/tty", "sdk/tty")},
		{check: "http.header.client.missing", response: when(both(path(greet), sent("X-BB-Client", ""), status(200)), become(400, failureOf))},
		{check: "http.header.context", request: header("X-Bb-Context", `{"actor":"user:root"}`, "")},
		{check: "http.header.render", request: header("Bb-Render", "text; depth=8", "text")},
		{check: "http.header.last-event-id", request: header("Last-Event-Id", strings.Repeat("x", 257), "")},
		{check: "http.context.ambient", request: func(r *outgoing) {
			if r.URL.Opaque == read {
				r.Header.Del("X-Bb-Context")
			}
		}},

		{check: "order.principal-before-route", response: when(both(path(unknown), status(401), sent("Bb-Render", "")), become(404, failed("not_found")))},
		{check: "order.principal-before-headers", response: when(both(path(greet), status(401), sent("Bb-Render", "html")), become(400, failureOf))},
		{check: "order.route-before-headers", response: when(both(path(unknown), status(404), sent("Bb-Render", "html")), become(400, failureOf))},
		{check: "order.verb-before-headers", response: when(both(status(405), sent("Bb-Render", "html")), become(400, failureOf))},
		{check: "order.headers-before-target", response: when(both(path(hostGreet), sent("Bb-Render", "html")), become(503, failed("service_unavailable")))},
		{check: "order.target-before-input", response: when(both(path(hostGreet), asked("colour=red")), become(400, failureOf))},
		{check: "order.size-before-type", response: when(both(status(413), sent("Content-Type", "text/plain")), become(415, failureOf))},
		{check: "order.type-before-json", request: func(r *outgoing) {
			if r.Body == `{"title"` {
				r.Header.Set("Content-Type", "application/json")
			}
		}},
		{check: "order.json-before-input", request: body(apply, `{"colour":"red","title"`, `{"colour":"red"}`)},

		{check: "errors.failure-object", response: when(both(path(greet), asked(""), status(400)), replace(`"retryable":false`, `"retryable":true`))},
		{check: "errors.not-found", response: when(both(path(notes+"/remove"), status(404), func(r *http.Request, a *incoming) bool { return true }), become(409, failed("conflict")))},
		{check: "errors.plugin-code", response: when(both(path(greet), asked("name=nobody")), func(a *incoming) { a.Status = 500 })},
		{check: "errors.relayed-code", response: when(path(notes+"/add"), replace("muted", "internal"))},
		{check: "errors.service-unavailable", response: when(path(hostGreet), del("Retry-After"))},
		{check: "errors.unread-body", request: func(r *outgoing) {
			if len(r.Body) == 3<<19 {
				panic(http.ErrAbortHandler)
			}
		}},
		{check: "errors.state", response: when(path(greet), replace(`"count":2`, `"count":1`))},

		{check: "http.json", response: when(both(path(greet), status(200), sent("Bb-Render", "")), func(a *incoming) { a.Header.Set("Content-Type", "text/html") })},
		{check: "http.bytes.json", request: func(r *outgoing) {
			if r.URL.Opaque == attachments && r.Header.Get("Accept") == "*/*" {
				r.URL.RawQuery += "&$raw=1"
			}
		}},
		{check: "http.bytes.raw", request: query(attachments, "&raw=1", "")},
		{check: "http.bytes.accept", request: header("Accept", "image/*", "*/*")},
		{check: "http.bytes.inline", response: when(path(attachments), func(a *incoming) {
			if a.Header.Get("Content-Type") == "image/gif" {
				a.Header.Set("Content-Disposition", "attachment")
			}
		})},
		{check: "http.bytes.range", request: header("Range", "bytes=4-", "")},
		{check: "http.text", response: when(both(path(greet), sent("Bb-Render", "text; width=80; color=0; tty=0")), func(a *incoming) { a.Header.Set("Content-Type", "text/html") })},
		{check: "http.text.generic", response: when(both(path(count), sent("Bb-Render", "text")), func(a *incoming) { a.Body = "done" })},
		{check: "http.text.errors", response: when(both(path(greet), sent("Bb-Render", "text"), status(400)), func(a *incoming) {
			a.Body, _, _ = strings.Cut(a.Body, "\n")
		})},

		{check: "http.sse.open", block: inBlock(everyone, ": open", ": open", ": hello")},
		{check: "http.sse.headers", response: func(r *http.Request, a *incoming) { a.Header.Del("X-Accel-Buffering") }},
		{check: "http.sse.item", block: inBlock(everyone, "conformance item", `"createdAt":`, `"made":`)},
		{check: "http.sse.end", block: inBlock(everyone, "event: end", "data: {}", "data: null")},
		{check: "http.sse.order", block: swap("conformance order 3\"")},
		{check: "http.sse.live", response: when(path(notes+"/add"), func(a *incoming) {
			if strings.Contains(a.Body, "conformance live 2") {
				a.replace(`"id":"`, `"id":"never-`)
			}
		})},
		{check: "http.sse.resume", block: inBlock(resumed, "conformance resume 2", `"id":"`, `"id":"x`)},
		{check: "http.sse.since", block: inBlock(since, "conformance resume 2", `"id":"`, `"id":"x`)},
		{check: "http.sse.last-event-id-wins", block: inBlock(since, "conformance wins 3", `"id":"`, `"id":"x`)},
		{check: "http.sse.beyond-end", block: func(r *http.Request, block string) string {
			if r.Header.Get("Last-Event-ID") == "9000000000" && r.Header.Get("Authorization") == "" {
				return block + "event: end\ndata: {}\n\n"
			}
			return block
		}},
		{check: "http.sse.refused", response: when(both(path(notes+"/follow"), asked("limit=x"), status(400)), func(a *incoming) { a.Status = 422 })},
		{check: "http.sse.text", block: inBlock(everyone, `"seq":0`, `"seq":0`, `"seq":1`)},
		{check: "http.sse.heartbeat", slow: true, block: func(r *http.Request, block string) string {
			if strings.HasPrefix(block, ":") && !strings.Contains(block, "open") {
				return ""
			}
			return block
		}},

		{check: "principal.loopback", response: replaceLog(`"actor":"user:local","via":"loopback"`, `"actor":"user:root","via":"loopback"`)},
		{check: "principal.loopback-agent", response: replaceLog(`"actor":"agent:t`, `"actor":"user:t`)},
		{check: "principal.origin", response: replaceLog(`"via":"origin"`, `"via":"loopback"`)},
		{check: "principal.token", response: replaceLog(`"via":"token"`, `"via":"loopback"`)},
		{check: "principal.token-scope", response: when(both(path(count), sent("Authorization", "*"), status(403)), become(200, `{"ok":true,"result":{}}`))},
		{check: "principal.token-revoked", response: afterRevoke()},
		{check: "principal.credential-broken", request: header("Authorization", "Basic dTpw", "")},
		{check: "principal.gate-broken", request: header("Bb-Gate", "x", "")},
		{check: "principal.forwarded", request: header("Via", "192.0.2.1", "")},
		{check: "principal.anonymous", response: when(both(path("/healthz"), sent("Authorization", "*")), func(a *incoming) { a.Status = 401 })},
		{check: "principal.actors", request: func(r *outgoing) {
			if strings.HasSuffix(r.URL.Opaque, "/token/create") {
				r.Header.Del("X-Bb-Context")
			}
		}},

		{check: "host.foreign", request: func(r *outgoing) {
			if r.Host == "localhost.evil.example" {
				r.Host = "localhost"
			}
		}},
		{check: "host.loopback", request: func(r *outgoing) {
			if r.Host == "127.9.9.9:80" {
				r.Host = "evil.example"
			}
		}},
		{check: "origin.foreign", request: header("Origin", "file://", "")},
		{check: "origin.own", request: func(r *outgoing) {
			if strings.HasPrefix(r.Header.Get("Origin"), "http://[::1]") {
				r.Header.Set("Origin", "https://evil.example")
			}
		}},
		{check: "origin.fetch-site", request: func(r *outgoing) {
			if r.Header.Get("Sec-Fetch-Site") == "same-site" {
				r.Header.Del("Sec-Fetch-Site")
			}
		}},
		{check: "cors.allowed", response: when(method("GET"), del("Access-Control-Expose-Headers"))},
		{check: "cors.foreign", response: when(both(path(greet), sent("Origin", "")), func(a *incoming) { a.Header.Set("Access-Control-Allow-Origin", "*") })},
		{check: "cors.preflight", response: when(method("OPTIONS"), del("Access-Control-Allow-Headers"))},
		{check: "cors.preflight-foreign", response: when(both(method("OPTIONS"), sent("Origin", "null")), func(a *incoming) { a.Status = 204 })},
	}
}

func replaceLog(from, to string) func(*http.Request, *incoming) {
	return when(path("/api/v1/kernel/runtime/calls"), replace(from, to))
}

// swap lets the block that contains a text come after the one behind it.
func swap(containing string) func(*http.Request, string) string {
	var held string
	return func(_ *http.Request, block string) string {
		if strings.Contains(block, containing) {
			held = block
			return ""
		}
		block, held = block+held, ""
		return block
	}
}

// afterRevoke lets a revoked token in once more.
func afterRevoke() func(*http.Request, *incoming) {
	var armed atomic.Bool
	return func(r *http.Request, a *incoming) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/token/revoke"):
			armed.Store(true)
		case r.URL.Path == greet && a.Status == 401 && armed.CompareAndSwap(true, false):
			a.become(200, `{"ok":true,"result":{"message":"","count":0}}`)
		}
	}
}

// workers is how many mutants are checked at once, each with a server of its own: most of the time they wait for disks.
const workers = 8

// Breaking a rule fails its check and no other; the proxy itself breaks none.
func TestMutants(t *testing.T) {
	t.Parallel()
	all := append([]mutant{{}}, mutants()...)
	slices.SortStableFunc(all, func(a, b mutant) int { // who waits longest begins
		switch {
		case a.slow == b.slow:
			return 0
		case a.slow:
			return -1
		}
		return 1
	})
	proved := map[string]bool{}
	for _, m := range all {
		proved[m.check] = true
	}
	for _, r := range servertest.Rules() {
		if !proved[r.Check] {
			t.Errorf("no mutant breaks %s", r.Check)
		}
	}
	type outcome struct {
		results []servertest.Result
		err     error
	}
	outcomes := make([]outcome, len(all))
	var next atomic.Int32
	var wg sync.WaitGroup
	for range workers {
		server := reference.Start(t)
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					return
				}
				url, stop := proxy(server, all[i])
				outcomes[i].results, outcomes[i].err = servertest.Run(t.Context(), servertest.Options{BaseURL: url, Short: !all[i].slow})
				stop()
			}
		})
	}
	wg.Wait()
	for i, m := range all {
		name := m.check
		if name == "" {
			name = "none"
		}
		t.Run(name, func(t *testing.T) {
			if err := outcomes[i].err; err != nil {
				t.Fatal(err)
			}
			for _, r := range outcomes[i].results {
				if broken := r.Err != nil; broken != (r.Check == m.check) {
					t.Errorf("%s: %v", r.Check, r.Err)
				}
			}
		})
	}
}
