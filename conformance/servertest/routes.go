package servertest

import (
	"net/http"
	"slices"
	"strings"
)

var routeChecks = []check{
	{name: "http.route.exact", rule: "a path is compared byte for byte: no escape, double slash, dot segment, trailing slash or other case leads to a method, and none is redirected", run: exactRoutes},
	{name: "http.route.unknown", rule: "an unknown plugin, service or method is not_found", run: unknownRoutes},
	{name: "http.route.elsewhere", rule: "every other path is a JSON not_found", run: otherPaths},
	{name: "http.verb.refused", rule: "a wrong verb is 405 invalid_input with Allow", run: wrongVerbs},
	{name: "http.verb.head", rule: "HEAD of a query works and has no body", run: head},
	{name: "http.healthz", rule: "/healthz answers ok", run: healthz},
	{name: "http.metrics", rule: "/metrics is for operators", run: metrics, local: true},
}

func exactRoutes(p *probe) {
	for _, path := range []string{
		"/api/v1/hello-slot/greeter%2Fgreet", "/api/v1/hello-slot/greeter%2fgreet", "/api/v1/hello-slot/greeter//greet",
		"/api//v1/hello-slot/greeter/greet", "/api/v1/hello-slot/./greeter/greet", "/api/v1/x/../hello-slot/greeter/greet",
		"/api/v1/hello-slot/greeter/greet/", "/api/v1/hello-slot/greeter/%67reet", "/api/v1/hello-slot/greeter/Greet",
		"/API/v1/hello-slot/greeter/greet", "/api/v1/hello-slot/greeter.greet", "/api/v1/hello-slot/greeter/greet%00",
	} {
		p.refused(p.get(path, "name=bb"), http.StatusNotFound, "not_found")
	}
}

func unknownRoutes(p *probe) {
	for _, path := range []string{"/api/v1/no-plugin/greeter/greet", "/api/v1/hello-slot/none/greet", "/api/v1/hello-slot/greeter/none"} {
		p.refused(p.get(path, "name=bb"), http.StatusNotFound, "not_found")
		p.refused(p.post(path, `{}`), http.StatusNotFound, "not_found")
	}
}

func otherPaths(p *probe) {
	for _, path := range []string{"/nonsense", "/api", "/api/v1", "/api/v1/", "/api/v1/hello-slot", "/api/v2/hello-slot/greeter/greet", "/internal/nonsense", "/local/nonsense"} {
		p.refused(p.get(path, ""), http.StatusNotFound, "not_found")
	}
}

func wrongVerbs(p *probe) {
	for _, tt := range []struct {
		path, allow string
		verbs       []string
	}{
		{greetPath, "GET", []string{"POST", "PUT", "PATCH", "DELETE"}},
		{countPath, "POST", []string{"GET", "PUT", "PATCH", "DELETE"}},
		{notesPath + "/follow", "GET", []string{"POST", "DELETE"}},
	} {
		for _, verb := range tt.verbs {
			a := p.do(request{method: verb, path: tt.path})
			p.refused(a, http.StatusMethodNotAllowed, "invalid_input")
			allowed := strings.Split(strings.ReplaceAll(a.header.Get("Allow"), " ", ""), ",")
			if !slices.Contains(allowed, tt.allow) || slices.Contains(allowed, verb) {
				p.errorf("%s: Allow is %q, want %s", a.to, a.header.Get("Allow"), tt.allow)
			}
		}
	}
}

func head(p *probe) {
	a := p.do(request{method: "HEAD", path: greetPath, query: "name=bb"})
	if a.status != http.StatusOK || len(a.body) > 0 || a.header.Get("Content-Type") == "" {
		p.errorf("%s: status %d, content type %q, %d bytes of body; want 200, that of GET and none", a.to, a.status, a.header.Get("Content-Type"), len(a.body))
	}
	if a := p.do(request{method: "HEAD", path: greetPath}); a.status != http.StatusBadRequest {
		p.errorf("%s: status %d, want 400: the input is checked as that of GET", a.to, a.status)
	}
	if a := p.do(request{method: "HEAD", path: countPath}); a.status != http.StatusMethodNotAllowed {
		p.errorf("%s: status %d, want 405: only what reads has a HEAD", a.to, a.status)
	}
}

func healthz(p *probe) {
	a := p.do(request{method: "GET", path: "/healthz", bare: true})
	if a.status != http.StatusOK || strings.TrimSpace(string(a.body)) != "ok" {
		p.errorf("%s: status %d %.80q, want 200 ok", a.to, a.status, a.body)
	}
}

func metrics(p *probe) {
	if a := p.get("/metrics", ""); a.status != http.StatusOK {
		p.errorf("%s: status %d, want 200 for an operator", a.to, a.status)
	}
	if a := p.get("/metrics", "", "X-Forwarded-For", "192.0.2.1"); a.status != http.StatusUnauthorized {
		p.errorf("%s: status %d, want 401", a.to, a.status)
	}
}
