package servertest

import (
	"net/http"
	"strings"
)

// orderChecks prove which refusal wins when a request breaks several rules.
var orderChecks = []check{
	{name: "order.principal-before-route", rule: "a caller without evidence gets 401 for an unknown route too", local: true, run: func(p *probe) {
		p.refused(p.get("/api/v1/no-plugin/no-service/none", "", "X-Forwarded-For", "192.0.2.1"), http.StatusUnauthorized, "unauthenticated")
	}},
	{name: "order.principal-before-headers", rule: "no evidence comes before a malformed header", local: true, run: func(p *probe) {
		p.refused(p.get(greetPath, "name=bb", "X-Forwarded-For", "192.0.2.1", "Bb-Render", "html"), http.StatusUnauthorized, "unauthenticated")
	}},
	{name: "order.route-before-headers", rule: "an unknown route comes before a malformed header", run: func(p *probe) {
		p.refused(p.get("/api/v1/no-plugin/no-service/none", "", "Bb-Render", "html"), http.StatusNotFound, "not_found")
	}},
	{name: "order.verb-before-headers", rule: "a wrong verb comes before a malformed header", run: func(p *probe) {
		p.refused(p.do(request{method: "DELETE", path: greetPath, header: []string{"Bb-Render", "html"}}), http.StatusMethodNotAllowed, "invalid_input")
	}},
	{name: "order.headers-before-target", rule: "a malformed header comes before a method's target", run: func(p *probe) {
		p.refused(p.get(hostGreetPath, "name=bb", "Bb-Render", "html"), http.StatusBadRequest, "invalid_input")
	}},
	{name: "order.target-before-input", rule: "a method's target comes before its input", run: func(p *probe) {
		p.refused(p.get(hostGreetPath, "colour=red"), http.StatusServiceUnavailable, "service_unavailable")
	}},
	{name: "order.size-before-type", rule: "the size of a body comes before its type", run: func(p *probe) {
		p.refused(p.do(request{method: "POST", path: applyPath, body: strings.Repeat("x", maxInput+1), header: []string{"Content-Type", "text/plain"}}), http.StatusRequestEntityTooLarge, "invalid_input")
	}},
	{name: "order.type-before-json", rule: "the type of a body comes before its syntax", run: func(p *probe) {
		p.refused(p.do(request{method: "POST", path: applyPath, body: `{"title"`, header: []string{"Content-Type", "text/plain"}}), http.StatusUnsupportedMediaType, "invalid_input")
	}},
	{name: "order.json-before-input", rule: "the syntax of a body comes before what it says", run: func(p *probe) {
		a := p.post(applyPath, `{"colour":"red","title"`)
		if f := p.refused(a, http.StatusBadRequest, "invalid_input"); f != nil && (len(f.Error.Issues) != 1 || f.Error.Issues[0].Code != "invalid_json") {
			p.errorf("%s: want invalid_json alone: %.300s", a.to, a.body)
		}
	}},
}
