package servertest

import (
	"net/http"
	"slices"
	"strings"
)

// originChecks prove what keeps pages of other sites, and names that were rebound to this machine, away.
var originChecks = []check{
	{name: "host.foreign", rule: "a Host that is neither loopback nor configured is forbidden on every path, before credentials", local: true, run: foreignHosts},
	{name: "host.loopback", rule: "localhost and loopback addresses are this server, whatever their port, case and trailing dot", local: true, run: loopbackHosts},
	{name: "origin.foreign", rule: "an Origin that is not allowed is forbidden; null never is", local: true, run: foreignOrigins},
	{name: "origin.own", rule: "the server's own loopback origins are allowed", local: true, run: ownOrigins},
	{name: "origin.fetch-site", rule: "a request of a page of another site is forbidden, except top-level navigation to /", local: true, run: fetchSite},
	{name: "cors.allowed", rule: "an allowed origin may read the answer and its Bb- headers", local: true, run: corsAllowed},
	{name: "cors.foreign", rule: "no other origin may read an answer", local: true, run: corsForeign},
	{name: "cors.preflight", rule: "the preflight of an allowed origin names the verbs and headers", local: true, run: preflight},
	{name: "cors.preflight-foreign", rule: "every other preflight is 403", local: true, run: func(p *probe) {
		for _, origin := range []string{"https://evil.example", "null"} {
			a := p.do(request{method: "OPTIONS", path: greetPath, header: []string{"Origin", origin, "Access-Control-Request-Method", "GET"}})
			if a.status != http.StatusForbidden {
				p.errorf("%s: status %d, want 403", a.to, a.status)
			}
		}
	}},
}

func foreignHosts(p *probe) {
	for _, path := range []string{greetPath, "/healthz", "/", "/nonsense", "/metrics"} {
		for _, host := range []string{"evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example"} {
			a := p.do(request{method: "GET", path: path, host: host})
			if a.status != http.StatusForbidden {
				p.errorf("%s with Host %s: status %d, want 403", a.to, host, a.status)
			}
		}
	}
	p.refused(p.do(request{method: "GET", path: greetPath, query: "name=bb", host: "evil.example"}), http.StatusForbidden, "forbidden")
	p.refused(p.do(request{method: "GET", path: greetPath, query: "name=bb", host: "evil.example", header: []string{"Authorization", "Bearer bbt_nonsense"}}), http.StatusForbidden, "forbidden")
	p.refused(p.raw("an empty Host", "GET "+greetPath+"?name=bb HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n"), http.StatusForbidden, "forbidden")
}

func loopbackHosts(p *probe) {
	for _, host := range []string{"localhost", "LOCALHOST:1", "localhost.:8080", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:99", "[::ffff:127.0.0.1]"} {
		if a := p.do(request{method: "GET", path: greetPath, query: "name=bb", host: host}); a.status != http.StatusOK {
			p.errorf("%s with Host %s: status %d, want 200", a.to, host, a.status)
		}
	}
}

// foreign are origins that no server allows which was not told to.
func (p *probe) foreign() []string {
	return []string{"https://evil.example", "http://evil.example", "null", "http://127.0.0.1.evil.example:" + p.port(), "http://localhost:1", "file://", "chrome-extension://abc"}
}

func (p *probe) port() string {
	if port := p.base.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[p.base.Scheme]
}

func foreignOrigins(p *probe) {
	for _, origin := range p.foreign() {
		p.refused(p.get(greetPath, "name=bb", "Origin", origin), http.StatusForbidden, "forbidden")
	}
	p.refused(p.post(countPath, `{"name":"bb"}`, "Origin", "https://evil.example"), http.StatusForbidden, "forbidden")
}

func ownOrigins(p *probe) {
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
		if a := p.get(greetPath, "name=bb", "Origin", p.base.Scheme+"://"+host+":"+p.port()); a.status != http.StatusOK {
			p.errorf("%s: status %d, want 200", a.to, a.status)
		}
	}
}

func fetchSite(p *probe) {
	for _, site := range []string{"cross-site", "same-site"} {
		p.refused(p.get(greetPath, "name=bb", "Sec-Fetch-Site", site), http.StatusForbidden, "forbidden")
		p.refused(p.get(greetPath, "name=bb", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), http.StatusForbidden, "forbidden")
		if a := p.get("/", "", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); a.status == http.StatusForbidden {
			p.errorf("%s: a link to / is refused", a.to)
		}
		if a := p.get(greetPath, "name=bb", "Sec-Fetch-Site", site, "Origin", p.origin()); a.status != http.StatusOK {
			p.errorf("%s: status %d, want 200 for an allowed origin", a.to, a.status)
		}
	}
	for _, site := range []string{"same-origin", "none"} {
		if a := p.get(greetPath, "name=bb", "Sec-Fetch-Site", site); a.status != http.StatusOK {
			p.errorf("%s: status %d, want 200", a.to, a.status)
		}
	}
}

// listed returns the lower-case elements of a header's list.
func listed(h http.Header, name string) []string {
	var out []string
	for _, part := range strings.Split(strings.Join(h.Values(name), ","), ",") {
		out = append(out, strings.ToLower(strings.TrimSpace(part)))
	}
	return out
}

func corsAllowed(p *probe) {
	for _, a := range []*answer{p.get(greetPath, "name=bb", "Origin", p.origin()), p.get(greetPath, "", "Origin", p.origin())} {
		if got := a.header.Get("Access-Control-Allow-Origin"); got != p.origin() {
			p.errorf("%s: Access-Control-Allow-Origin is %q, want %q", a.to, got, p.origin())
		}
		exposed := listed(a.header, "Access-Control-Expose-Headers")
		for _, name := range []string{"bb-call-id", "bb-generation", "bb-deadline", "bb-server-id", "retry-after"} {
			if !slices.Contains(exposed, name) {
				p.errorf("%s: %s is not exposed: %v", a.to, name, exposed)
			}
		}
		if !slices.Contains(listed(a.header, "Vary"), "origin") {
			p.errorf("%s: Vary is %q, want Origin", a.to, a.header.Values("Vary"))
		}
	}
}

func corsForeign(p *probe) {
	for _, a := range []*answer{p.get(greetPath, "name=bb"), p.get(greetPath, "name=bb", "Origin", "https://evil.example"), p.get(greetPath, "name=bb", "Origin", "null")} {
		if got := a.header.Get("Access-Control-Allow-Origin"); got != "" {
			p.errorf("%s: Access-Control-Allow-Origin is %q, want none", a.to, got)
		}
	}
}

func preflight(p *probe) {
	for path, verb := range map[string]string{greetPath: "GET", countPath: "POST"} {
		a := p.do(request{method: "OPTIONS", path: path, header: []string{"Origin", p.origin(), "Access-Control-Request-Method", verb, "Access-Control-Request-Headers", "content-type,x-bb-client"}})
		if a.status != http.StatusOK && a.status != http.StatusNoContent {
			p.errorf("%s: status %d, want 204", a.to, a.status)
		}
		if got := a.header.Get("Access-Control-Allow-Origin"); got != p.origin() {
			p.errorf("%s: Access-Control-Allow-Origin is %q, want %q", a.to, got, p.origin())
		}
		if verbs := listed(a.header, "Access-Control-Allow-Methods"); !slices.Contains(verbs, strings.ToLower(verb)) {
			p.errorf("%s: the verbs are %v, want %s", a.to, verbs, verb)
		}
		allowed := listed(a.header, "Access-Control-Allow-Headers")
		for _, name := range []string{"authorization", "content-type", "x-bb-client", "x-bb-context", "bb-render", "last-event-id"} {
			if !slices.Contains(allowed, name) {
				p.errorf("%s: the header %s is not allowed: %v", a.to, name, allowed)
			}
		}
	}
}
