package servertest

import (
	"net/http"
	"strconv"
	"time"
)

// headerChecks prove what every answer carries, failures and unknown routes included.
var headerChecks = []check{
	{name: "http.headers.call-id", rule: "every answer has a Bb-Call-Id that is unique and sorts by time", run: callID},
	{name: "http.headers.generation", rule: "every answer has the catalog's number in Bb-Generation", run: generation},
	{name: "http.headers.server-id", rule: "every answer has the same Bb-Server-Id", run: serverID},
	{name: "http.headers.deadline", rule: "every answer has its Bb-Deadline, RFC 3339 with milliseconds: 30 s for a query, 60 s for a mutation", run: deadline},
	{name: "http.headers.no-store", rule: "no answer may be cached", run: everywhere("Cache-Control", "no-store")},
	{name: "http.headers.nosniff", rule: "no answer's type may be guessed", run: everywhere("X-Content-Type-Options", "nosniff")},
}

// answers returns one answer of each sort: success, refused input, wrong verb, unknown route, mutation.
func (p *probe) answers() []*answer {
	return []*answer{
		p.get(greetPath, "name=bb"),
		p.get(greetPath, ""),
		p.do(request{method: "DELETE", path: greetPath}),
		p.get("/api/v1/no-plugin/no-service/none", ""),
		p.post(countPath, `{"name":"conformance-`+p.run+`"}`),
	}
}

func callID(p *probe) {
	last := ""
	for _, a := range p.answers() {
		id := a.header.Get("Bb-Call-Id")
		if id == "" {
			p.errorf("%s: no Bb-Call-Id", a.to)
		} else if id <= last {
			p.errorf("%s: Bb-Call-Id %q does not sort after %q of the call before", a.to, id, last)
		}
		last = id
	}
}

func generation(p *probe) {
	for _, a := range p.answers() {
		if n, err := strconv.ParseUint(a.header.Get("Bb-Generation"), 10, 64); err != nil || n == 0 {
			p.errorf("%s: Bb-Generation is %q, want a number from 1", a.to, a.header.Get("Bb-Generation"))
		}
	}
}

func serverID(p *probe) {
	first := ""
	for _, a := range p.answers() {
		id := a.header.Get("Bb-Server-Id")
		if first == "" {
			first = id
		}
		if id == "" || id != first {
			p.errorf("%s: Bb-Server-Id is %q, before it was %q", a.to, id, first)
		}
	}
}

// clockSlack is how far a budget may seem off: rounding, and the time that a request takes.
const clockSlack = 5 * time.Second

func deadline(p *probe) {
	for _, a := range p.answers() {
		want := 30 * time.Second
		if a.to.method == "POST" {
			want = 60 * time.Second
		}
		text := a.header.Get("Bb-Deadline")
		at, err := time.Parse("2006-01-02T15:04:05.000Z07:00", text)
		if err != nil {
			p.errorf("%s: Bb-Deadline is %q", a.to, text)
			continue
		}
		if date, err := http.ParseTime(a.header.Get("Date")); err == nil && a.status == http.StatusOK {
			if left := at.Sub(date); left < want-clockSlack || left > want+clockSlack {
				p.errorf("%s: Bb-Deadline is %s after the answer, want %s", a.to, left, want)
			}
		}
	}
}

// everywhere checks a header that every answer has.
func everywhere(name, want string) func(*probe) {
	return func(p *probe) {
		for _, a := range p.answers() {
			if got := a.header.Get(name); got != want {
				p.errorf("%s: %s is %q, want %q", a.to, name, got, want)
			}
		}
	}
}
