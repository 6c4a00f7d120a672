package servertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// queryChecks prove how an input travels in a query string. Title is the one required field of settings.read.
var queryChecks = []check{
	{name: "http.query.unknown-key", rule: "an unknown parameter is an issue whose path is its name", run: queryUnknown},
	{name: "http.query.required", rule: "a missing field is an issue whose path is its name", run: func(p *probe) { p.issue(p.get(greetPath, ""), "required", "name") }},
	{name: "http.query.integer", rule: "an integer is -?(0|[1-9][0-9]*) and exact", run: queryIntegers},
	{name: "http.query.narrow", rule: "a narrow integer is checked against its range", run: queryNarrow},
	{name: "http.query.number", rule: "a number is one that JSON has, in range", run: queryNumbers},
	{name: "http.query.boolean", rule: "a boolean is true, false, 1 or 0", run: queryBooleans},
	{name: "http.query.array", rule: "an array is a repeated parameter", run: queryArrays},
	{name: "http.query.object", rule: "an object or a union is JSON text, checked like the rest of the input", run: queryObjects},
	{name: "http.query.null", rule: "null is one only where a field is nullable and no string", run: queryNull},
	{name: "http.query.input", rule: "$input is the whole input as JSON, alone", run: queryInput},
	{name: "http.query.repeated", rule: "a scalar that is given twice is refused", run: queryRepeated},
	{name: "http.query.escapes", rule: "percent escapes and UTF-8 are read exactly, broken ones refused", run: queryEscapes},
	{name: "http.query.too-long", rule: "a URL over 32 KiB is invalid_input", run: queryTooLong},
	{name: "http.query.default", rule: "a default is filled in", run: queryDefault},
	{name: "http.query.transport", rule: "$raw and raw belong to the transport, $since and since to streams only", run: queryTransport},
	{name: "http.query.mutation", rule: "a mutation takes no parameters", run: queryMutation},
}

func queryUnknown(p *probe) {
	p.issue(p.get(greetPath, "name=bb&colour=red"), "unrecognized_key", "colour")
	p.issue(p.get(greetPath, "name=bb&Name=bb"), "unrecognized_key", "Name")
	p.issue(p.get(notesPath+"/follow", "limit=1&after=2"), "unrecognized_key", "after")
}

// read calls settings.read with parameters beside the title.
func (p *probe) read(query string) *answer { return p.get(readPath, "title=t&"+query) }

// reads checks that a field is read as this JSON.
func (p *probe) reads(query, field, want string) {
	var out map[string]json.RawMessage
	p.success(p.read(query), &out)
	if got := string(out[field]); !sameJSON(got, want) {
		p.errorf("?%s is read as %s, want %s", query, got, want)
	}
}

func sameJSON(a, b string) bool {
	decode := func(text string) string {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil {
			return "not JSON: " + text
		}
		out, _ := json.Marshal(v)
		return string(out)
	}
	return decode(a) == decode(b)
}

// refusesAll checks that each query is refused with an issue at the field.
func (p *probe) refusesAll(field string, values ...string) {
	for _, v := range values {
		a := p.read(field + "=" + url.QueryEscape(v))
		f := p.refused(a, http.StatusBadRequest, "invalid_input")
		if f != nil && (len(f.Error.Issues) != 1 || len(f.Error.Issues[0].Path) == 0 || f.Error.Issues[0].Path[0] != field) {
			p.errorf("%s: the issue is not that of %s: %.300s", a.to, field, a.body)
		}
	}
}

func queryIntegers(p *probe) {
	p.reads("count=9007199254740993", "count", "9007199254740993") // not a float64
	p.reads("huge=18446744073709551615", "huge", "18446744073709551615")
	p.reads("small=-128", "small", "-128")
	p.reads("maximum=0", "maximum", "0")
	p.refusesAll("count", "01", "+1", "1.0", "1e3", "0x10", " 1", "1 ", "", "one", "١")
}

func queryNarrow(p *probe) {
	p.refusesAll("small", "128", "-129", "99999999999999999999")
	p.refusesAll("count", "9223372036854775808", "-1")
	p.refusesAll("huge", "18446744073709551616", "-1")
}

func queryNumbers(p *probe) {
	p.reads("ratio=-0.5", "ratio", "-0.5")
	p.reads("ratio=5e-1", "ratio", "0.5")
	p.refusesAll("ratio", "1e400", "NaN", "Infinity", ".5", "1.", "1.5", "-1")
}

func queryBooleans(p *probe) {
	for _, v := range []string{"true", "1"} {
		p.reads("loud="+v, "loud", "true")
	}
	for _, v := range []string{"false", "0"} {
		p.reads("enabled="+v, "enabled", "false")
	}
	p.refusesAll("enabled", "yes", "TRUE", "", "2", "on")
}

func queryArrays(p *probe) {
	p.reads("labels=a&labels=b%2Cc", "labels", `["a","b,c"]`)
	p.reads("labels=a", "labels", `["a"]`)
	p.reads("numbers=1&numbers=-2", "numbers", `[1,-2]`)
	p.issue(p.read("numbers=1&numbers=x"), "invalid_type", "numbers", 1)
	p.issue(p.read("labels=a&labels=a"), "invalid_value", "labels")
}

func queryObjects(p *probe) {
	escape := url.QueryEscape
	p.reads("point="+escape(`{"x":1,"y":-2}`), "point", `{"x":1,"y":-2}`)
	p.reads("points="+escape(`{"x":1,"y":2}`)+"&points="+escape(`{"x":3,"y":4}`), "points", `[{"x":1,"y":2},{"x":3,"y":4}]`)
	p.reads("shape="+escape(`{"kind":"circle","radius":2}`), "shape", `{"kind":"circle","radius":2}`)
	p.reads("amount="+escape(`"5"`), "amount", `"5"`)
	p.reads("amount=5", "amount", `5`)
	p.reads("vars="+escape(`{"k":"v"}`), "vars", `{"k":"v"}`)
	p.issue(p.read("point="+escape(`{"x":1,"y":2,"w":3}`)), "unrecognized_key", "point", "w")
	p.issue(p.read("point="+escape(`{"x":1}`)), "required", "point", "y")
	p.issue(p.read("point="+escape(`{"x":1,"x":2,"y":3}`)), "duplicate_key", "point", "x")
	p.refusesAll("point", "{", "[1]", "")
}

func queryNull(p *probe) {
	p.reads("maximum=null", "maximum", "null")
	p.reads("strict=null", "strict", "null")
	p.reads("note=null", "note", `"null"`) // a string, nullable or not
	p.reads("someName=null", "someName", `"null"`)
	p.refusesAll("count", "null")
	p.refusesAll("loud", "null")
}

func queryInput(p *probe) {
	whole := func(input string) string { return "$input=" + url.QueryEscape(input) }
	var out map[string]json.RawMessage
	p.success(p.get(readPath, whole(`{"title":"t","labels":[],"note":null,"count":9007199254740993}`)), &out)
	if string(out["count"]) != "9007199254740993" {
		p.errorf("$input: an integer is read as %s", out["count"])
	}
	p.success(p.get(greetPath, strings.Replace(whole(`{"name":"bb"}`), "$", "%24", 1)), nil)
	p.refused(p.get(greetPath, whole(`{"name":"bb"}`)+"&salutation=Hi"), http.StatusBadRequest, "invalid_input")
	p.refused(p.get(greetPath, whole(`{"name":"bb"}`)+"&"+whole(`{"name":"bb"}`)), http.StatusBadRequest, "invalid_input")
	for _, bad := range []string{"", "{", "[]", `"x"`, `{"name":"bb"}{}`} {
		p.refused(p.get(greetPath, whole(bad)), http.StatusBadRequest, "invalid_input")
	}
	p.issue(p.get(greetPath, whole(`{"name":"bb","x":1}`)), "unrecognized_key", "x")
}

func queryRepeated(p *probe) {
	p.issue(p.get(greetPath, "name=a&name=b"), "duplicate_key", "name")
	p.issue(p.read("count=1&count=1"), "duplicate_key", "count")
}

func queryEscapes(p *probe) {
	p.reads("someName=a%26b%3D%2B+c%20%C3%A9%00", "someName", `"a&b=+ c é\u0000"`)
	for _, bad := range []string{"someName=%", "someName=%zz", "someName=%ff", "someName=%C3", "%zz=1"} {
		p.refused(p.read(bad), http.StatusBadRequest, "invalid_input")
	}
}

func queryTooLong(p *probe) {
	p.reads("someName="+strings.Repeat("x", 31<<10), "someName", `"`+strings.Repeat("x", 31<<10)+`"`)
	p.refused(p.read("someName="+strings.Repeat("x", 32<<10)), http.StatusBadRequest, "invalid_input")
}

func queryDefault(p *probe) {
	name := "conformance-" + p.run
	if got := p.result(p.get(greetPath, "name="+name))["message"]; got != "Hello, "+name+"!" {
		p.errorf("without a salutation the greeting is %v", got)
	}
	if got := p.result(p.get(greetPath, "name="+name+"&salutation="))["message"]; got != ", "+name+"!" {
		p.errorf("with an empty salutation the greeting is %v: it was given", got)
	}
	p.reads("count=1", "pause", `"PT30S"`)
}

func queryTransport(p *probe) {
	for _, raw := range []string{"$raw=1", "%24raw=0", "raw=1", "raw=false"} {
		p.success(p.get(greetPath, "name=bb&"+raw), nil)
	}
	p.refused(p.get(greetPath, "name=bb&$raw=maybe"), http.StatusBadRequest, "invalid_input")
	for _, since := range []string{"since", "$since"} {
		p.issue(p.get(greetPath, "name=bb&"+since+"=1"), "unrecognized_key", since)
	}
	p.issue(p.get(greetPath, "name=bb&$other=1"), "unrecognized_key", "$other")
}

func queryMutation(p *probe) {
	body := fmt.Sprintf(`{"name":"conformance-%s"}`, p.run)
	p.issue(p.do(request{method: "POST", path: countPath, query: "name=bb", body: body, header: []string{"Content-Type", "application/json"}}), "unrecognized_key", "name")
	p.refused(p.do(request{method: "POST", path: countPath, query: "$input=%7B%7D", body: body, header: []string{"Content-Type", "application/json"}}), http.StatusBadRequest, "invalid_input")
}
