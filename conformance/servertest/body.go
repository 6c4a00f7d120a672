package servertest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// maxInput is the greatest body of a mutation.
const maxInput = 1 << 20

// bodyChecks prove how an input travels in a body.
var bodyChecks = []check{
	{name: "http.body.unknown-key", rule: "an unknown key is an issue whose path ends in it", run: func(p *probe) {
		p.issue(p.apply(`"colour":"red"`), "unrecognized_key", "colour")
		p.issue(p.apply(`"point":{"x":1,"y":2,"w":3}`), "unrecognized_key", "point", "w")
	}},
	{name: "http.body.key-case", rule: "a key in another case is an unknown one", run: func(p *probe) {
		p.issue(p.apply(`"SomeName":"x"`), "unrecognized_key", "SomeName")
	}},
	{name: "http.body.required", rule: "a missing key is an issue whose path ends in it", run: func(p *probe) {
		p.issue(p.post(applyPath, `{}`), "required", "title")
		p.issue(p.apply(`"point":{"x":1}`), "required", "point", "y")
	}},
	{name: "http.body.duplicate-key", rule: "a key that is given twice is an issue whose path ends in it", run: func(p *probe) {
		p.issue(p.apply(`"count":1,"count":1`), "duplicate_key", "count")
		p.issue(p.apply(`"point":{"x":1,"y":2,"\u0078":3}`), "duplicate_key", "point", "x")
	}},
	{name: "http.body.type", rule: "a value of another type is invalid_type, with the path to it", run: func(p *probe) {
		p.issue(p.apply(`"loud":"true"`), "invalid_type", "loud")
		p.issue(p.apply(`"count":"1"`), "invalid_type", "count")
		p.issue(p.apply(`"count":1.5`), "invalid_type", "count")
		p.issue(p.apply(`"labels":["a",1]`), "invalid_type", "labels", 1)
		p.issue(p.apply(`"someName":null`), "invalid_type", "someName")
	}},
	{name: "http.body.range", rule: "a value out of its bounds is too_small or too_big", run: func(p *probe) {
		p.issue(p.apply(`"small":128`), "too_big", "small")
		p.issue(p.apply(`"small":-129`), "too_small", "small")
		p.issue(p.apply(`"huge":18446744073709551616`), "too_big", "huge")
		p.issue(p.apply(`"ratio":1.5`), "too_big", "ratio")
		p.issue(p.post(applyPath, `{"title":""}`), "too_small", "title")
	}},
	{name: "http.body.value", rule: "a value that is not one of those allowed is invalid_value, one of another format invalid_format", run: func(p *probe) {
		p.issue(p.apply(`"color":"pink"`), "invalid_value", "color")
		p.issue(p.apply(`"pin":"12"`), "invalid_format", "pin")
		p.issue(p.apply(`"when":"yesterday"`), "invalid_format", "when")
		p.issue(p.apply(`"data":"%"`), "invalid_format", "data")
	}},
	{name: "http.body.union", rule: "a union that no branch fits is invalid_union; the discriminator chooses the branch", run: func(p *probe) {
		a := p.apply(`"shape":{"kind":"hexagon"}`)
		if f := p.refused(a, http.StatusBadRequest, "invalid_input"); f != nil && (len(f.Error.Issues) != 1 || f.Error.Issues[0].Code != "invalid_union") {
			p.errorf("%s: want one issue invalid_union: %.300s", a.to, a.body)
		}
		p.issue(p.apply(`"shape":{"kind":"circle"}`), "required", "shape", "radius")
		p.issue(p.apply(`"shape":{"kind":"circle","radius":1,"side":2}`), "unrecognized_key", "shape", "side")
	}},
	{name: "http.body.issues-sorted", rule: "issues come with unrecognized keys first, then in the order of the fields", run: sortedIssues},
	{name: "http.body.exact-integers", rule: "integers are exact, and 1.0 and 1e3 are integers", run: bodyIntegers},
	{name: "http.body.number-range", rule: "a number that no float64 holds is refused", run: func(p *probe) {
		p.refused(p.apply(`"ratio":1e400`), http.StatusBadRequest, "invalid_input")
	}},
	{name: "http.body.json", rule: "what is not one JSON value is invalid_json", run: badJSON},
	{name: "http.body.object", rule: "the input is an object", run: func(p *probe) {
		for _, body := range []string{`[]`, `null`, `"x"`, `1`} {
			p.issue(p.post(applyPath, body), "invalid_type")
		}
	}},
	{name: "http.body.utf8", rule: "invalid UTF-8 is refused", run: func(p *probe) {
		p.issue(p.apply("\"someName\":\"a\xffb\""), "invalid_json", "someName")
	}},
	{name: "http.body.depth", rule: "nesting is taken to a depth of 64", run: depth},
	{name: "http.body.empty", rule: "an empty body is {}", run: emptyBody},
	{name: "http.body.too-large", rule: "a body over 1 MiB is 413, one of 1 MiB is taken", run: tooLarge},
	{name: "http.body.content-type", rule: "a body that is not application/json is 415", run: contentType},
	{name: "http.body.simple-request", rule: "an empty POST needs a Content-Type or X-BB-Client, so that no page of another site can send it", run: simpleRequest},
}

// apply posts settings.apply with members beside the title.
func (p *probe) apply(members string) *answer { return p.post(applyPath, `{"title":"t",`+members+`}`) }

func sortedIssues(p *probe) {
	a := p.post(applyPath, `{"small":128,"zebra":1,"color":"pink","apple":1}`)
	f := p.refused(a, http.StatusBadRequest, "invalid_input")
	if f == nil {
		return
	}
	var got []string
	for _, i := range f.Error.Issues {
		if len(i.Path) == 1 {
			name, _ := i.Path[0].(string)
			got = append(got, name)
		}
	}
	if want := "apple zebra title color small"; strings.Join(got, " ") != want {
		p.errorf("%s: the issues are those of %v, want %s", a.to, got, want)
	}
}

// applies checks that a field is understood as this JSON.
func (p *probe) applies(field, value, want string) {
	var out map[string]json.RawMessage
	p.success(p.apply(`"`+field+`":`+value), &out)
	if got := string(out[field]); !sameJSON(got, want) {
		p.errorf("%s: %s is understood as %s, want %s", field, value, got, want)
	}
}

func bodyIntegers(p *probe) {
	p.applies("count", "9007199254740993", "9007199254740993")
	p.applies("huge", "18446744073709551615", "18446744073709551615")
	p.applies("amount", "9007199254740993", "9007199254740993")
	p.applies("count", "1.0", "1")
	p.applies("count", "1e3", "1000")
	p.applies("extra", "9007199254740993", "9007199254740993")
}

func badJSON(p *probe) {
	for _, body := range []string{`{`, `{"title":"t"`, `{"title":"t",}`, `{"title":"t"}{}`, `{"title":"t"} x`, `{title:"t"}`, `{"title":'t'}`, `{"title":"t","count":01}`, `{"title":"t","count":NaN}`, "{\"title\":\"\x01\"}", `{"title":"t"} //`} {
		a := p.post(applyPath, body)
		f := p.refused(a, http.StatusBadRequest, "invalid_input")
		if f != nil && (len(f.Error.Issues) != 1 || f.Error.Issues[0].Code != "invalid_json") {
			p.errorf("%s: want one issue invalid_json: %.300s", a.to, a.body)
		}
	}
}

func depth(p *probe) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	p.success(p.apply(`"extra":`+nested(63)), nil) // the object is the first level
	p.refused(p.apply(`"extra":`+nested(64)), http.StatusBadRequest, "invalid_input")
	p.refused(p.apply(`"extra":`+nested(100_000)), http.StatusBadRequest, "invalid_input")
}

func emptyBody(p *probe) {
	p.issue(p.do(request{method: "POST", path: countPath}), "required", "name")
	p.issue(p.post(countPath, ""), "required", "name")
}

func tooLarge(p *probe) {
	body := func(size int) string {
		const around = len(`{"title":"t","someName":""}`)
		return `{"title":"t","someName":"` + strings.Repeat("x", size-around) + `"}`
	}
	p.success(p.post(applyPath, body(maxInput)), nil)
	p.refused(p.post(applyPath, body(maxInput+1)), http.StatusRequestEntityTooLarge, "invalid_input")
}

func contentType(p *probe) {
	body := `{"title":"t"}`
	for _, typ := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", "application/", ""} {
		r := request{method: "POST", path: applyPath, body: body}
		if typ != "" {
			r.header = []string{"Content-Type", typ}
		}
		p.refused(p.do(r), http.StatusUnsupportedMediaType, "invalid_input")
	}
	for _, typ := range []string{"application/json; charset=utf-8", "Application/JSON"} {
		p.success(p.do(request{method: "POST", path: applyPath, body: body, header: []string{"Content-Type", typ}}), nil)
	}
}

func simpleRequest(p *probe) {
	p.refused(p.do(request{method: "POST", path: countPath, bare: true}), http.StatusUnsupportedMediaType, "invalid_input")
	p.issue(p.do(request{method: "POST", path: countPath, bare: true, header: []string{"Content-Type", "application/json"}}), "required", "name")
}
