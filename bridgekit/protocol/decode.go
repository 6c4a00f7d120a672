package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Decode reads the JSON of a message type: params or a result, or any type that is part of one. The error is
// InvalidParams with every issue, sorted by path; the value is then zero.
func Decode[T any](raw []byte) (T, *Error) {
	var v T
	if issues := decodeInto(raw, reflect.ValueOf(&v)); len(issues) > 0 {
		var zero T
		return zero, invalid(issues)
	}
	return v, nil
}

// unmarshal is the UnmarshalJSON of every type of the package.
func unmarshal(raw []byte, into any) error {
	if issues := decodeInto(raw, reflect.ValueOf(into)); len(issues) > 0 {
		return invalid(issues)
	}
	return nil
}

// decodeInto reads a value of the type that ptr points to. A member of a union carries its discriminator.
func decodeInto(raw []byte, ptr reflect.Value) []Issue {
	union, ok := unionOf(ptr.Type())
	if !ok {
		return decode(raw, ptr.Elem())
	}
	member := reflect.New(union).Elem()
	issues := decode(raw, member)
	if len(issues) > 0 {
		return issues
	}
	if member.IsNil() || member.Elem().Type() != ptr.Type() {
		tag, _ := membersOf(union)
		return []Issue{{tag, IssueInvalidValue, "must be that of " + ptr.Type().Elem().Name()}}
	}
	ptr.Elem().Set(member.Elem().Elem())
	return nil
}

func invalid(issues []Issue) *Error {
	return &Error{Code: InvalidParams, Message: "the value breaks the protocol", Issues: issues}
}

// decode reads the one JSON value of raw into v and returns what is wrong with it. Types without Extra are strict.
func decode(raw []byte, v reflect.Value) []Issue {
	s := shapeOf(v.Type())
	d := decoder{scanner: scanner{data: raw}, strict: s.isStrict()}
	d.space()
	if d.value(s, v) {
		d.end()
	}
	return d.result()
}

// isStrict tells whether unknown fields are refused in a value that stands alone.
func (s *shape) isStrict() bool {
	for s.kind == kindList || s.kind == kindMap {
		s = s.elem
	}
	switch s.kind {
	case kindObject:
		return s.obj.extra == nil
	case kindSum:
		return s.sum.variants[0].obj.extra == nil
	}
	return false
}

// step is a field name or an index on the way to a value.
type step struct {
	name  string
	index int // -1: name
}

// decoder reads JSON into Go values by their shapes. Methods return false when the text is not JSON.
type decoder struct {
	scanner
	strict bool
	path   []step
	issues []Issue
	left   int // issues beyond MaxIssues
}

// result returns the sorted issues, or only that the text is not JSON.
func (d *decoder) result() []Issue {
	if d.bad != "" {
		return []Issue{{"", IssueInvalidJSON, "is not JSON: " + d.bad}}
	}
	sortIssues(d.issues)
	if d.left > 0 {
		last := &d.issues[len(d.issues)-1]
		last.Message += fmt.Sprintf(" (%d more issues were left out)", d.left)
	}
	return d.issues
}

func (d *decoder) pathString() string {
	path := ""
	for _, s := range d.path {
		if s.index >= 0 {
			path += "[" + strconv.Itoa(s.index) + "]"
		} else {
			path = joinPath(path, s.name)
		}
	}
	return path
}

// issue records a problem of the value that path leads to.
func (d *decoder) issue(code IssueCode, message string) {
	if len(d.issues) >= MaxIssues {
		d.left++
		return
	}
	d.issues = append(d.issues, Issue{d.pathString(), code, message})
}

// issueAt records a problem of a field of the value that path leads to.
func (d *decoder) issueAt(name string, code IssueCode, message string) {
	d.path = append(d.path, step{name, -1})
	d.issue(code, message)
	d.path = d.path[:len(d.path)-1]
}

// quote shortens foreign text for a message.
func quote(s string) string {
	const most = 64
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

// found names the JSON type of the value that begins with c.
func found(c byte) string {
	switch c {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// mismatch records that another type was expected, and skips what is there.
func (d *decoder) mismatch(s *shape) bool {
	what := s.kind.what()
	if s.null {
		what = "null"
	} else if s.nullable {
		what += " or null"
	}
	c := d.space()
	if !d.skipQuietly() {
		return false
	}
	d.issue(IssueInvalidType, "must be "+what+", not "+found(c))
	return true
}

// value reads a value of a shape.
func (d *decoder) value(s *shape, v reflect.Value) bool {
	c := d.space()
	if c == 'n' {
		if !d.word("null") {
			return false
		}
		v.SetZero()
		if !s.nullable {
			d.issue(IssueInvalidType, "must be "+s.kind.what()+", not null")
		}
		return true
	}
	if s.null {
		return d.mismatch(s)
	}
	if s.pointer {
		p := reflect.New(s.typ)
		v.Set(p)
		v = p.Elem()
	}
	start := d.pos
	switch s.kind {
	case kindString, kindEnum:
		if c != '"' {
			return d.mismatch(s)
		}
		raw, escaped, ok := d.text()
		if !ok {
			return false
		}
		if escaped {
			raw = unescape(raw)
		}
		d.string(s, raw, v)
	case kindBool:
		if c != 't' && c != 'f' {
			return d.mismatch(s)
		}
		if !d.word(wordOf(c)) {
			return false
		}
		v.SetBool(c == 't')
	case kindInt, kindFloat:
		if c != '-' && (c < '0' || c > '9') {
			return d.mismatch(s)
		}
		raw, ok := d.number()
		if !ok {
			return false
		}
		d.numeric(s, raw, v)
	case kindRaw:
		if !d.skip() {
			return false
		}
		if s.bytes > 0 && d.pos-start > s.bytes {
			d.tooManyBytes(s, d.pos-start)
			return true
		}
		v.SetBytes(bytes.Clone(d.data[start:d.pos]))
	case kindObject:
		if c != '{' {
			return d.mismatch(s)
		}
		return d.object(s.obj, "", v)
	case kindSum:
		if c != '{' {
			return d.mismatch(s)
		}
		return d.union(s, v)
	case kindList:
		if c != '[' {
			return d.mismatch(s)
		}
		return d.list(s, v)
	case kindMap:
		if c != '{' {
			return d.mismatch(s)
		}
		if !d.dictionary(s, v) {
			return false
		}
		if s.bytes > 0 && d.pos-start > s.bytes {
			d.tooManyBytes(s, d.pos-start)
		}
	}
	return true
}

func (d *decoder) tooManyBytes(s *shape, n int) {
	d.issue(IssueTooBig, fmt.Sprintf("must be at most %d bytes, not %d", s.bytes, n))
}

// string checks a text and sets v to it.
func (d *decoder) string(s *shape, text []byte, v reflect.Value) {
	if s.kind == kindEnum {
		for _, value := range s.values {
			if string(text) == value {
				v.SetString(value)
				return
			}
		}
		d.issue(IssueInvalidValue, "must be one of "+strings.Join(s.values, ", ")+", not "+quote(string(text)))
		return
	}
	if s.bytes > 0 && len(text) > s.bytes {
		d.tooManyBytes(s, len(text))
		return
	}
	value := string(text)
	v.SetString(value)
	if s.min != nil && *s.min > 0 && value == "" {
		d.issue(IssueTooSmall, "must not be empty")
		return
	}
	if s.max != nil && int64(len(value)) > *s.max && int64(utf8.RuneCountInString(value)) > *s.max {
		d.issue(IssueTooBig, fmt.Sprintf("must be at most %d characters, not %d", *s.max, utf8.RuneCountInString(value)))
	}
	if s.nonblank && !strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsSpace(r) }) {
		d.issue(IssueInvalidFormat, "must not be blank")
	}
	if s.nosep && strings.Contains(value, ItemKeySeparator) {
		d.issue(IssueInvalidFormat, "must not contain U+001F")
	}
	if s.pattern != nil && !s.pattern.matches(value) {
		d.issue(IssueInvalidFormat, "must be "+s.pattern.what+", not "+quote(value))
	}
}

// numeric checks a number and sets v to it.
func (d *decoder) numeric(s *shape, raw []byte, v reflect.Value) {
	if s.kind == kindFloat {
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			d.issue(IssueTooBig, "is beyond every 64-bit floating-point number")
			return
		}
		v.SetFloat(f)
		return
	}
	n, code := integer(raw)
	switch {
	case code == IssueInvalidType:
		d.issue(code, "must be an integer, not a fraction")
	case code != "":
		d.issue(code, "is beyond 64-bit integers")
	case s.min != nil && n < *s.min:
		d.issue(IssueTooSmall, fmt.Sprintf("must be at least %d", *s.min))
	case s.max != nil && n > *s.max:
		d.issue(IssueTooBig, fmt.Sprintf("must be at most %d", *s.max))
	}
	v.SetInt(n)
}

// list reads an array.
func (d *decoder) list(s *shape, v reflect.Value) bool {
	if !d.enter() {
		return false
	}
	before := len(d.issues)
	n := 0
	d.path = append(d.path, step{})
	v.SetLen(0)
	for {
		more, ok := d.element(n == 0)
		if !ok {
			return false
		}
		if !more {
			break
		}
		if n == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(n + 1)
		element := v.Index(n)
		element.SetZero()
		d.path[len(d.path)-1] = step{"", n}
		if !d.value(s.elem, element) {
			return false
		}
		n++
	}
	d.path = d.path[:len(d.path)-1]
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	if s.min != nil && int64(n) < *s.min {
		d.issue(IssueTooSmall, "must not be empty")
	}
	if s.max != nil && int64(n) > *s.max {
		d.issue(IssueTooBig, fmt.Sprintf("must have at most %d elements, not %d", *s.max, n))
	}
	if (s.unique || s.uniqueBy != "") && len(d.issues) == before {
		d.distinct(s, v)
	}
	return true
}

// distinct checks that no element of a list is there twice, by itself or by one of its fields.
func (d *decoder) distinct(s *shape, v reflect.Value) {
	var by *field
	if s.uniqueBy != "" {
		o := s.elem.obj
		by = &o.fields[o.index[s.uniqueBy]]
	}
	seen := make(map[string]bool, v.Len())
	for i := range v.Len() {
		element := v.Index(i)
		if by != nil {
			element = by.value(element)
		}
		text := element.String()
		if !seen[text] {
			seen[text] = true
			continue
		}
		d.path = append(d.path, step{"", i})
		if by != nil {
			d.issueAt(s.uniqueBy, IssueInvalidValue, quote(text)+" is there twice")
		} else {
			d.issue(IssueInvalidValue, quote(text)+" is there twice")
		}
		d.path = d.path[:len(d.path)-1]
	}
}

// dictionary reads an object whose names are free.
func (d *decoder) dictionary(s *shape, v reflect.Value) bool {
	if !d.enter() {
		return false
	}
	m := reflect.MakeMap(v.Type())
	v.Set(m)
	depth := len(d.path)
	for first := true; ; first = false {
		raw, more, ok := d.key(first)
		if !ok {
			return false
		}
		if !more {
			return true
		}
		name := string(raw)
		key := reflect.ValueOf(name).Convert(v.Type().Key())
		d.path = append(d.path, step{name, -1})
		switch {
		case m.MapIndex(key).IsValid():
			if ok = d.skip(); ok {
				d.issue(IssueDuplicateKey, "is given twice")
			}
		case s.elem.kind == kindRaw: // null stays the text null, so that it is not lost
			at := d.pos
			if ok = d.skip(); ok {
				m.SetMapIndex(key, reflect.ValueOf(json.RawMessage(bytes.Clone(d.data[at:d.pos]))))
			}
		default:
			element := reflect.New(v.Type().Elem()).Elem()
			ok = d.value(s.elem, element)
			m.SetMapIndex(key, element)
		}
		if !ok {
			return false
		}
		if s.pattern != nil && !s.pattern.matches(name) {
			d.issue(IssueInvalidFormat, "must be named "+s.pattern.what)
		}
		d.path = d.path[:depth]
	}
}

// union reads a member of a union into v, an interface or the struct that has all forms.
func (d *decoder) union(s *shape, v reflect.Value) bool {
	u := s.sum
	tag, state, ok := d.findTag(u)
	if !ok {
		return false
	}
	var chosen *variant
	switch {
	case state == tagMissing:
		d.issueAt(u.tag, IssueRequired, "missing")
	case state == tagMistyped:
		d.issueAt(u.tag, IssueInvalidType, "must be "+u.tagType())
	default:
		if i, ok := u.byTag[string(tag)]; ok {
			chosen = &u.variants[i]
		} else if u.open != nil && isExtensionKind(tag) {
			chosen = u.open
		} else {
			d.issueAt(u.tag, IssueInvalidValue, u.unknownTag(string(tag)))
		}
	}
	if chosen == nil {
		return d.skipQuietly()
	}
	if u.self {
		return d.object(chosen.obj, "", v)
	}
	ptr := reflect.New(chosen.obj.typ)
	if chosen.obj.tagField != nil {
		ptr.Elem().FieldByIndex(chosen.obj.tagField).SetString(string(tag))
	}
	v.Set(ptr)
	return d.object(chosen.obj, u.tag, ptr.Elem())
}

func (u *sum) tagType() string {
	if u.tagBool {
		return kindBool.what()
	}
	return kindString.what()
}

func (u *sum) unknownTag(tag string) string {
	known := make([]string, 0, len(u.variants)+1)
	for _, v := range u.variants {
		known = append(known, v.tag)
	}
	if u.open != nil {
		known = append(known, "<pluginId>/<name>")
	}
	return "must be one of " + strings.Join(known, ", ") + ", not " + quote(tag)
}

type tagState int

const (
	tagMissing tagState = iota
	tagMistyped
	tagFound
)

// findTag looks for the discriminator of the object that begins here, which it leaves where it is.
func (d *decoder) findTag(u *sum) (tag []byte, state tagState, ok bool) {
	before, depth, issues, left := d.pos, d.depth, len(d.issues), d.left
	defer func() {
		if ok {
			d.pos, d.depth, d.issues, d.left = before, depth, d.issues[:issues], left
		}
	}()
	if !d.enter() {
		return nil, tagMissing, false
	}
	for first := true; ; first = false {
		name, more, ok := d.key(first)
		if !ok || !more {
			return nil, tagMissing, ok
		}
		if string(name) != u.tag {
			if !d.skip() {
				return nil, tagMissing, false
			}
			continue
		}
		c := d.space()
		switch {
		case u.tagBool && (c == 't' || c == 'f'):
			return []byte(wordOf(c)), tagFound, d.word(wordOf(c))
		case !u.tagBool && c == '"':
			raw, escaped, ok := d.text()
			if ok && escaped {
				raw = unescape(raw)
			}
			return raw, tagFound, ok
		}
		return nil, tagMistyped, d.skip()
	}
}

// object reads an object into the struct v. The field tag, when it is given, was read before.
func (d *decoder) object(o *object, tag string, v reflect.Value) bool {
	if !d.enter() {
		return false
	}
	var (
		before  = len(d.issues) + d.left
		seen    uint64
		next    int
		thread  bool   // scope is thread
		turnKey string // "" for null
		extra   Extra
		depth   = len(d.path)
	)
	for first := true; ; first = false {
		name, more, ok := d.key(first)
		if !ok {
			return false
		}
		if !more {
			break
		}
		i := next
		if i >= len(o.fields) || string(name) != o.fields[i].name { // fields mostly come in their order
			if i, ok = o.index[string(name)]; !ok {
				i = -1
			}
		}
		switch {
		case i < 0:
			if !d.unknown(o, string(name), &extra) {
				return false
			}
			continue
		case seen&(1<<i) != 0:
			if !d.skip() {
				return false
			}
			d.issueAt(string(name), IssueDuplicateKey, "is given twice")
			continue
		}
		seen |= 1 << i
		next = i + 1
		f := &o.fields[i]
		d.path = append(d.path, step{f.name, -1})
		switch f.role {
		case roleTag:
			ok = d.skip()
		case roleScope:
			thread, ok = d.scopeKind()
		case roleTurnKey:
			turnKey, ok = d.turnKey()
		default:
			ok = d.value(f.shape, f.value(v))
		}
		if !ok {
			return false
		}
		d.path = d.path[:depth]
	}
	if missing := o.required &^ seen; missing != 0 {
		for i := range o.fields {
			if missing&(1<<i) != 0 {
				d.issueAt(o.fields[i].name, IssueRequired, "missing")
			}
		}
	}
	if o.scope != nil {
		d.scope(o, seen, thread, turnKey, v)
	}
	if extra != nil {
		v.FieldByIndex(o.extra).Set(reflect.ValueOf(extra))
	}
	if len(d.issues)+d.left > before {
		return true
	}
	if o.complete {
		v.Addr().Interface().(completed).complete()
	}
	if o.refine {
		d.refined(v.Addr().Interface().(refined).refine())
	}
	return true
}

// refined records issues whose paths begin at this value.
func (d *decoder) refined(issues []Issue) {
	for _, i := range issues {
		if len(d.issues) >= MaxIssues {
			d.left++
			continue
		}
		i.Path = under(d.pathString(), i.Path)
		d.issues = append(d.issues, i)
	}
}

// under returns the path rest below the path base.
func under(base, rest string) string {
	if base == "" || rest == "" || rest[0] == '[' {
		return base + rest
	}
	return base + "." + rest
}

// unknown refuses a field that the object does not have, or keeps it.
func (d *decoder) unknown(o *object, name string, extra *Extra) bool {
	d.space()
	if d.strict {
		d.issueAt(name, IssueUnrecognizedKey, "is not a field of this object")
		return d.skipQuietly()
	}
	start := d.pos
	d.path = append(d.path, step{name, -1})
	if !d.skip() {
		return false
	}
	d.path = d.path[:len(d.path)-1]
	if o.extra == nil {
		return true
	}
	if _, ok := (*extra)[name]; ok {
		d.issueAt(name, IssueDuplicateKey, "is given twice")
		return true
	}
	if *extra == nil {
		*extra = Extra{}
	}
	(*extra)[name] = bytes.Clone(d.data[start:d.pos])
	return true
}

// scopeKind reads the field scope.
func (d *decoder) scopeKind() (thread, ok bool) {
	if d.space() != '"' {
		return false, d.mismatch(&shape{kind: kindString})
	}
	raw, escaped, ok := d.text()
	if !ok {
		return false, false
	}
	if escaped {
		raw = unescape(raw)
	}
	switch string(raw) {
	case "turn":
	case "thread":
		thread = true
	default:
		d.issue(IssueInvalidValue, "must be one of turn, thread, not "+quote(string(raw)))
	}
	return thread, true
}

// turnKey reads the field turnKey that goes with a scope.
func (d *decoder) turnKey() (key string, ok bool) {
	switch d.space() {
	case 'n':
		return "", d.word("null")
	case '"':
	default:
		return "", d.mismatch(&shape{kind: kindString, nullable: true})
	}
	raw, escaped, ok := d.text()
	if !ok {
		return "", false
	}
	if escaped {
		raw = unescape(raw)
	}
	if len(raw) == 0 {
		d.issue(IssueTooSmall, "must not be empty")
	}
	return string(raw), true
}

// scope checks that scope and turnKey go together and sets the field Scope.
func (d *decoder) scope(o *object, seen uint64, thread bool, turnKey string, v reflect.Value) {
	given := seen&(1<<o.index["turnKey"]) != 0
	switch {
	case seen&(1<<o.index["scope"]) == 0:
		return // what turnKey should be is unknown
	case !given && (!thread || o.full):
		d.issueAt("turnKey", IssueRequired, "missing")
	case given && thread && !o.full:
		d.issueAt("turnKey", IssueUnrecognizedKey, "does not go with scope thread")
	case turnKey != "" && thread:
		d.issueAt("turnKey", IssueInvalidValue, "must be null with scope thread")
	}
	*v.FieldByIndex(o.scope).Addr().Interface().(*Scope) = Scope{Turn: turnKey, Thread: thread}
}

// skipQuietly reads a value that is wrong anyway.
func (d *decoder) skipQuietly() bool {
	issues, left := len(d.issues), d.left
	ok := d.skip()
	d.issues, d.left = d.issues[:issues], left
	return ok
}

// skip reads any value and checks that no object in it has a field twice, which readers would understand differently.
func (d *decoder) skip() bool {
	switch c := d.space(); c {
	case '{':
		if !d.enter() {
			return false
		}
		var few [8]string
		names := few[:0]
		var many map[string]bool
		for first := true; ; first = false {
			raw, more, ok := d.key(first)
			if !ok || !more {
				return ok
			}
			name := string(raw)
			twice := many[name] || many == nil && slices.Contains(names, name)
			switch {
			case many != nil:
				many[name] = true
			case len(names) == 32:
				many = map[string]bool{name: true}
				for _, n := range names {
					many[n] = true
				}
			default:
				names = append(names, name)
			}
			d.path = append(d.path, step{name, -1})
			if !d.skip() {
				return false
			}
			if twice {
				d.issue(IssueDuplicateKey, "is given twice")
			}
			d.path = d.path[:len(d.path)-1]
		}
	case '[':
		if !d.enter() {
			return false
		}
		d.path = append(d.path, step{})
		for n := 0; ; n++ {
			more, ok := d.element(n == 0)
			if !ok {
				return false
			}
			if !more {
				d.path = d.path[:len(d.path)-1]
				return true
			}
			d.path[len(d.path)-1] = step{"", n}
			if !d.skip() {
				return false
			}
		}
	case '"':
		_, _, ok := d.text()
		return ok
	case 't', 'f', 'n':
		return d.word(wordOf(c))
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		_, ok := d.number()
		return ok
	case 0:
		if d.pos >= len(d.data) {
			return d.fail("unexpected end")
		}
	}
	return d.fail("unexpected character")
}
