package route

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/header"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// The parameters of the transport. No field can have such a name. Raw and since are meant as well without the dollar
// sign where the method has no field of that name.
const (
	InputParam = "$input" // the whole input as a JSON object, instead of one parameter a field
	RawParam   = "$raw"   // a bytes result is wanted as it is; queries and mutations
	SinceParam = "$since" // the cursor to go on after; streams
)

// Transport is what a query string says beside the input.
type Transport struct {
	Raw   bool
	Since string
}

// param is a parameter of a query string, and the property it gives.
type param struct {
	key, value string
	property   int // index into the schema's properties, or one of the negative constants
}

const (
	noProperty = -1 - iota
	inputProperty
	rawProperty
	sinceProperty
)

// Decode reads a query string as a method's input, a JSON object with its members in schema order, and as the
// transport's own parameters. The values are those that the schema's types admit as text; whether they fit the rest of
// the schema is for the validator to say. A mutation has its input in the body, and so no parameters but RawParam; in
// may be nil then. There are at most MaxIssues issues, unrecognized keys first, then in schema order; with any the input
// is nil, and Issues adds what the validator has to say.
func Decode(in *schema.Schema, kind kernelcontract.Kind, rawQuery string) (json.RawMessage, Transport, []schema.Issue) {
	if rawQuery == "" {
		return json.RawMessage("{}"), Transport{}, nil
	}
	if len(rawQuery) > MaxURL {
		return nil, Transport{}, []schema.Issue{{Code: schema.IssueTooBig, Message: "the query string must not be longer than " + strconv.Itoa(MaxURL>>10) + " KiB"}}
	}
	if in == nil || kind == kernelcontract.KindMutation {
		in = &schema.Schema{}
	}
	d := decoder{in: in, kind: kind}
	d.parse(rawQuery)
	t := d.transport()
	raw, given := d.whole()
	if !given {
		raw = d.fields(len(rawQuery))
	}
	if len(d.unknown)+len(d.issues) > 0 {
		return nil, t, d.report()
	}
	return raw, t, nil
}

// MaxIssues bounds the issues of a query string, as the validator bounds those of a value: the first hundred say what
// kind of mistake it is, and thousands of short parameters fit into a URL.
const MaxIssues = 100

type decoder struct {
	in   *schema.Schema
	kind kernelcontract.Kind
	// The parameters, n of them. The first few are held in place, so that most query strings need no memory of their own.
	first   [8]param
	rest    []param
	n       int
	unknown []schema.Issue
	issues  []schema.Issue
	cut     bool // there are issues beyond MaxIssues
}

func (d *decoder) add(code schema.IssueCode, message string, path ...any) {
	if len(d.issues) == MaxIssues {
		d.cut = true
		return
	}
	d.issues = append(d.issues, schema.Issue{Path: path, Code: code, Message: message})
}

// parse splits the query string and finds out what each parameter is.
func (d *decoder) parse(rawQuery string) {
	for rawQuery != "" {
		var segment string
		segment, rawQuery, _ = strings.Cut(rawQuery, "&")
		if segment == "" {
			continue
		}
		rawKey, rawValue, _ := strings.Cut(segment, "=")
		key, ok := unescape(rawKey)
		if !ok {
			d.add(schema.IssueInvalidFormat, "a parameter name must be UTF-8 in percent escapes", strings.ToValidUTF8(rawKey, "\ufffd"))
			continue
		}
		value, ok := unescape(rawValue)
		if !ok {
			d.add(schema.IssueInvalidFormat, "must be UTF-8 in percent escapes", key)
			continue
		}
		p := param{key: key, value: value, property: d.classify(key)}
		if p.property == noProperty {
			d.unrecognized(key)
			continue
		}
		if d.n < len(d.first) {
			d.first[d.n] = p
		} else {
			d.rest = append(d.rest, p)
		}
		d.n++
	}
}

func (d *decoder) param(i int) *param {
	if i < len(d.first) {
		return &d.first[i]
	}
	return &d.rest[i-len(d.first)]
}

func (d *decoder) classify(key string) int {
	for i := range d.in.Properties {
		if d.in.Properties[i].Name == key {
			return i
		}
	}
	switch key {
	case InputParam:
		if d.kind != kernelcontract.KindMutation {
			return inputProperty
		}
	case RawParam, RawParam[1:]:
		if d.kind != kernelcontract.KindStream {
			return rawProperty
		}
	case SinceParam, SinceParam[1:]:
		if d.kind == kernelcontract.KindStream {
			return sinceProperty
		}
	}
	return noProperty
}

func (d *decoder) unrecognized(key string) {
	for i := range d.unknown {
		if d.unknown[i].Path[0] == key {
			return
		}
	}
	if len(d.unknown) == MaxIssues {
		d.cut = true
		return
	}
	message := "is not a parameter of this method"
	if d.kind == kernelcontract.KindMutation {
		message += "; send the input as the body"
	}
	d.unknown = append(d.unknown, schema.Issue{Path: []any{key}, Code: schema.IssueUnrecognizedKey, Message: message})
}

// only returns the one parameter of a property, nil when it is absent. A second one is an issue.
func (d *decoder) only(property int) *param {
	var found *param
	for i := range d.n {
		p := d.param(i)
		switch {
		case p.property != property:
		case found != nil:
			d.add(schema.IssueDuplicateKey, "must be given once", p.key)
			return nil
		default:
			found = p
		}
	}
	return found
}

func (d *decoder) transport() (t Transport) {
	if p := d.only(rawProperty); p != nil {
		switch p.value {
		case "1", "true":
			t.Raw = true
		case "0", "false":
		default:
			d.add(schema.IssueInvalidType, "must be 1 or 0", p.key)
		}
	}
	if p := d.only(sinceProperty); p != nil {
		if t.Since = p.value; !header.ValidCursor(t.Since) && t.Since != "" {
			d.add(schema.IssueInvalidFormat, "must be a cursor: printable ASCII, at most "+strconv.Itoa(kernelcontract.MaxCursor)+" bytes", p.key)
			t.Since = ""
		}
	}
	return t
}

// whole returns the input when it is given as one parameter.
func (d *decoder) whole() (raw json.RawMessage, given bool) {
	p := d.only(inputProperty)
	if p == nil {
		return nil, false
	}
	for i := range d.n {
		if d.param(i).property >= 0 {
			d.add(schema.IssueInvalidValue, "must stand alone: give the whole input here, or each field as a parameter", InputParam)
			break
		}
	}
	switch text := strings.TrimLeft(p.value, " \t\r\n"); {
	case !json.Valid([]byte(text)):
		d.add(schema.IssueInvalidJSON, "must be one JSON object", InputParam)
	case text[0] != '{':
		d.add(schema.IssueInvalidType, "must be a JSON object", InputParam)
	}
	return json.RawMessage(p.value), true
}

// fields builds the input from one parameter a field. size is about how long it will be.
func (d *decoder) fields(size int) json.RawMessage {
	out := make([]byte, 0, size+32)
	out = append(out, '{')
	for i := range d.in.Properties {
		if !d.gives(i) {
			continue
		}
		p := &d.in.Properties[i]
		s := d.in.Resolve(p.Schema)
		if s == nil {
			s = &schema.Schema{}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), p.Name...), '"', ':')
		if f := formOf(s); f == asList {
			out = d.list(out, i, p.Name, s)
		} else {
			out = d.scalar(out, i, p.Name, s, f)
		}
	}
	return append(out, '}')
}

// gives reports whether there is a parameter for a property.
func (d *decoder) gives(property int) bool {
	for i := range d.n {
		if d.param(i).property == property {
			return true
		}
	}
	return false
}

// scalar appends the one parameter of a field. With an issue what it appends does not matter.
func (d *decoder) scalar(out []byte, property int, name string, s *schema.Schema, f form) []byte {
	p := d.only(property)
	if p == nil {
		return out
	}
	out, problem := appendValue(out, s, f, p.value)
	if problem != nil {
		d.add(problem.Code, problem.Message, name)
	}
	return out
}

// list appends the repeated parameters of a list. A nullable list takes a single null as its own.
func (d *decoder) list(out []byte, property int, name string, s *schema.Schema) []byte {
	item := itemOf(d.in, s)
	f := formOf(item)
	if f == asList {
		f = asJSON
	}
	n, single := 0, ""
	for i := range d.n {
		if d.param(i).property == property {
			n, single = n+1, d.param(i).value
		}
	}
	if n == 1 && s.Nullable && single == "null" {
		return append(out, single...)
	}
	out = append(out, '[')
	n = 0
	for i := range d.n {
		if d.param(i).property != property {
			continue
		}
		if n > 0 {
			out = append(out, ',')
		}
		var problem *schema.Issue
		if out, problem = appendValue(out, item, f, d.param(i).value); problem != nil {
			d.add(problem.Code, problem.Message, name, n)
		}
		n++
	}
	return append(out, ']')
}
