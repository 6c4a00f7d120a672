package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Schema returns the protocol as a JSON Schema, draft 2020-12, with a definition below $defs for each type, named like
// the Go type. The definitions of deltas, items and presentations refuse unknown fields, the others keep them; where a
// type occurs on both sides its additive form has the prefix Additive. The member x-methods names the definitions of
// each method's params and result.
//
// What a schema cannot say stands in $comment: sizes in bytes, and fields that are unique in a list.
func Schema() []byte {
	g := &schemer{defs: map[string]string{}, strictly: strictTypes()}
	var methods []string
	method := func(name, from string, params, result reflect.Type) {
		text := `{"from":` + strconv.Quote(from) + `,"params":` + g.of(shapeOf(params), params == reflect.TypeFor[DeltaParams]())
		if result != nil {
			text += `,"result":` + g.of(shapeOf(result), false)
		}
		methods = append(methods, strconv.Quote(name)+":"+text+"}")
	}
	for _, s := range CoreToBridge() {
		method(s.Method, "core", reflect.TypeOf(s.Params()).Elem(), reflect.TypeOf(s.Result()).Elem())
	}
	for _, m := range bridgeToCore() {
		method(m.method, "bridge", m.params, m.result)
	}
	g.of(shapeOf(reflect.TypeFor[ProviderDeclaration]()), false)
	g.of(shapeOf(reflect.TypeFor[PromptInput]()), false)
	g.of(shapeOf(reflect.TypeFor[ItemStatus]()), false) // of rows, which no message carries
	g.errors()
	slices.Sort(g.names)
	defs := make([]string, len(g.names))
	for i, n := range g.names {
		defs[i] = strconv.Quote(n) + ":" + g.defs[n]
	}
	text := `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"urn:bb:bridge-protocol:` + strconv.Itoa(Version) + `",` +
		`"title":"Bridge protocol ` + strconv.Itoa(Version) + `","x-methods":{` + strings.Join(methods, ",") + `},"$defs":{` + strings.Join(defs, ",") + `}}`
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "", "  "); err != nil {
		panic("protocol: the schema is not JSON: " + err.Error())
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// schemer writes the definitions of a schema.
type schemer struct {
	defs     map[string]string
	names    []string
	strictly map[string]bool // names of the types that deltas have
}

// strictTypes returns the names of the types that are part of thread/delta.
func strictTypes() map[string]bool {
	names := map[string]bool{}
	var walk func(s *shape)
	object := func(o *object) {
		names[o.name] = true
		for _, f := range o.fields {
			if f.shape != nil {
				walk(f.shape)
			}
		}
	}
	walk = func(s *shape) {
		if s.name != "" {
			if names[s.name] {
				return
			}
			names[s.name] = true
		}
		switch s.kind {
		case kindObject:
			object(s.obj)
		case kindList, kindMap:
			walk(s.elem)
		case kindSum:
			for _, v := range s.sum.variants {
				object(v.obj)
			}
			if s.sum.open != nil {
				object(s.sum.open.obj)
			}
		}
	}
	walk(shapeOf(reflect.TypeFor[DeltaParams]()))
	return names
}

// define writes a definition once and returns a reference to it.
func (g *schemer) define(name string, strict bool, text func() string) string {
	if !strict && g.strictly[name] {
		name = "Additive" + name
	}
	if _, ok := g.defs[name]; !ok {
		g.defs[name] = "" // it may refer to itself
		g.names = append(g.names, name)
		g.defs[name] = text()
	}
	return `{"$ref":"#/$defs/` + name + `"}`
}

// of returns the schema of a shape.
func (g *schemer) of(s *shape, strict bool) string {
	if s.null {
		return `{"type":"null"}`
	}
	var text string
	switch s.kind {
	case kindRaw:
		if s.bytes > 0 {
			return fmt.Sprintf(`{"$comment":"at most %d bytes of JSON"}`, s.bytes)
		}
		return `true`
	case kindString:
		return g.text(s)
	case kindEnum:
		text = `{"enum":` + list(s.values) + `}`
		if s.name != "" {
			values := text
			text = g.define(s.name, true, func() string { return values })
		}
	case kindBool:
		return typed("boolean", s.nullable)
	case kindFloat:
		return typed("number", s.nullable)
	case kindInt:
		low, high := int64(math.MinInt64), int64(math.MaxInt64)
		if s.min != nil {
			low = *s.min
		}
		if s.max != nil {
			high = *s.max
		}
		return typed("integer", s.nullable, `"minimum":`+strconv.FormatInt(low, 10), `"maximum":`+strconv.FormatInt(high, 10))
	case kindObject:
		text = g.define(s.name, strict, func() string { return g.object(s.obj, "", strict) })
	case kindSum:
		text = g.define(s.name, strict, func() string { return g.sum(s.sum, strict) })
	case kindList:
		return g.list(s, strict)
	case kindMap:
		rules := []string{`"additionalProperties":` + g.of(s.elem, strict)}
		if s.elem.kind == kindRaw {
			rules = nil
		}
		if s.pattern != nil {
			rules = append(rules, `"propertyNames":{"pattern":`+jsonString(s.pattern.expression)+`}`)
		}
		if s.bytes > 0 {
			rules = append(rules, fmt.Sprintf(`"$comment":"at most %d bytes of JSON"`, s.bytes))
		}
		return typed("object", s.nullable, rules...)
	}
	if s.nullable {
		return `{"anyOf":[` + text + `,{"type":"null"}]}`
	}
	return text
}

func typed(name string, nullable bool, rules ...string) string {
	text := `"type":` + strconv.Quote(name)
	if nullable {
		text = `"type":[` + strconv.Quote(name) + `,"null"]`
	}
	return "{" + strings.Join(append([]string{text}, rules...), ",") + "}"
}

func jsonString(s string) string { return string(appendString(nil, s)) }

func list(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = jsonString(v)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

func (g *schemer) text(s *shape) string {
	var rules []string
	if s.min != nil {
		rules = append(rules, `"minLength":`+strconv.FormatInt(*s.min, 10))
	}
	switch {
	case s.max != nil:
		rules = append(rules, `"maxLength":`+strconv.FormatInt(*s.max, 10))
	case s.bytes > 0: // a character has at least one byte
		rules = append(rules, fmt.Sprintf(`"maxLength":%d,"$comment":"at most %d bytes of UTF-8"`, s.bytes, s.bytes))
	}
	switch {
	case s.pattern != nil:
		rules = append(rules, `"pattern":`+jsonString(s.pattern.expression))
	case s.nosep:
		rules = append(rules, `"pattern":`+jsonString("^[^"+ItemKeySeparator+"]*$"))
	case s.nonblank: // anything but the white space of Unicode
		rules = append(rules, `"pattern":`+jsonString("[^\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"))
	}
	return typed("string", s.nullable, rules...)
}

func (g *schemer) list(s *shape, strict bool) string {
	rules := []string{`"items":` + g.of(s.elem, strict)}
	if s.min != nil {
		rules = append(rules, `"minItems":`+strconv.FormatInt(*s.min, 10))
	}
	if s.max != nil {
		rules = append(rules, `"maxItems":`+strconv.FormatInt(*s.max, 10))
	}
	if s.unique {
		rules = append(rules, `"uniqueItems":true`)
	}
	if s.uniqueBy != "" {
		rules = append(rules, `"$comment":`+jsonString("the "+s.uniqueBy+" of each element is unique"))
	}
	return typed("array", s.nullable, rules...)
}

func (g *schemer) sum(u *sum, strict bool) string {
	branches := make([]string, 0, len(u.variants)+1)
	for _, v := range u.variants {
		tag := jsonString(v.tag)
		if u.tagBool {
			tag = v.tag
		}
		tag = `{"const":` + tag + `}`
		if u.self {
			branches = append(branches, g.objectWith(v.obj, u.tag, tag, strict))
			continue
		}
		branches = append(branches, g.define(v.obj.name, strict, func() string { return g.objectWith(v.obj, u.tag, tag, strict) }))
	}
	if u.open != nil {
		tag := `{"type":"string","pattern":` + jsonString(ExtensionKindPattern) + `}`
		branches = append(branches, g.define(u.open.obj.name, strict, func() string { return g.objectWith(u.open.obj, u.tag, tag, strict) }))
	}
	return `{"oneOf":[` + strings.Join(branches, ",") + `]}`
}

func (g *schemer) object(o *object, tag string, strict bool) string {
	return g.objectWith(o, tag, "", strict)
}

// objectWith returns the schema of an object whose field tag, if any, has the given schema.
func (g *schemer) objectWith(o *object, tag, tagSchema string, strict bool) string {
	var properties, required, rules []string
	for _, f := range o.fields {
		var text string
		switch {
		case f.name == tag:
			text = tagSchema
		case f.role == roleScope:
			text = `{"enum":["turn","thread"]}`
		case f.role == roleTurnKey:
			text = `{"type":["string","null"],"minLength":1}`
		default:
			text = g.of(f.shape, strict)
		}
		properties = append(properties, jsonString(f.name)+":"+text)
		if !f.empty && (f.role != roleTurnKey || o.full) {
			required = append(required, f.name)
		}
	}
	if o.scope != nil {
		then := `"properties":{"turnKey":false}`
		otherwise := `,"else":{"required":["turnKey"]}`
		if o.full {
			then, otherwise = `"properties":{"turnKey":{"type":"null"}}`, ""
		}
		rules = append(rules, `{"if":{"properties":{"scope":{"const":"thread"}}},"then":{`+then+`}`+otherwise+`}`)
	}
	if r, ok := reflect.New(o.typ).Interface().(refined); ok {
		if text := r.refinement(); text != "" {
			rules = append(rules, text)
		}
	}
	text := `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":` + list(required)
	if len(rules) > 0 {
		text += `,"allOf":[` + strings.Join(rules, ",") + `]`
	}
	if strict {
		text += `,"additionalProperties":false`
	}
	return text + "}"
}

// errors defines the error of a response.
func (g *schemer) errors() {
	g.define("Issue", true, func() string {
		codes := make([]string, 0, 9)
		for _, c := range []IssueCode{IssueUnrecognizedKey, IssueRequired, IssueInvalidType, IssueInvalidValue, IssueTooSmall,
			IssueTooBig, IssueInvalidFormat, IssueDuplicateKey, IssueInvalidJSON} {
			codes = append(codes, string(c))
		}
		return `{"type":"object","properties":{"path":{"type":"array","items":{"type":["string","integer"]}},"code":{"enum":` + list(codes) +
			`},"message":{"type":"string"}},"required":["path","code","message"]}`
	})
	hint := g.of(shapeOf(reflect.TypeFor[RecoveryHint]()), false)
	versions := g.of(shapeOf(reflect.TypeFor[Versions]()), false)
	g.define("Error", true, func() string {
		when := func(c Code, then string) string {
			return fmt.Sprintf(`{"if":{"properties":{"code":{"const":%d}}},"then":{%s}}`, int(c), then)
		}
		return `{"type":"object","properties":{"code":{"type":"integer"},"message":{"type":"string"}},"required":["code","message"],"allOf":[` +
			when(InvalidParams, `"required":["data"],"properties":{"data":{"type":"object","properties":{"issues":{"type":"array","items":{"$ref":"#/$defs/Issue"}}},"required":["issues"]}}`) + "," +
			when(BridgeError, `"properties":{"data":{"type":"object","properties":{"recovery":`+hint+`}}}`) + "," +
			when(ProtocolUnsupported, `"required":["data"],"properties":{"data":`+versions+`}`) + `]}`
	})
}
