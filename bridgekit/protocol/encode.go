package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Marshal returns the JSON of a message, or of any type that is part of one. Unlike json.Marshal it leaves <, > and &
// as they are. What is not UTF-8 in a string becomes U+FFFD; a nil slice or map becomes [] or {}. It checks only that
// the outcome is JSON: see Validate for the rules of the protocol. Issues are the error when a float is no number, when
// a json.RawMessage is not JSON, or when a Scope is both a turn and the thread.
func Marshal(v any) ([]byte, error) {
	b, issue := encode(nil, reflect.ValueOf(v))
	if issue != nil {
		return nil, Issues{*issue}
	}
	return b, nil
}

// Validate returns what is wrong with a value of the protocol, sorted by path: what the other side would say about its
// JSON. A nil pointer or union is wrong.
func Validate(v any) []Issue {
	value := reflect.ValueOf(v)
	b, issue := encode(nil, value)
	if issue != nil {
		return []Issue{*issue}
	}
	if !value.IsValid() {
		return one("", IssueInvalidType, "must be a value of the protocol, not nil")
	}
	t := value.Type()
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	return decodeInto(b, reflect.New(t.Elem()))
}

// encode appends the JSON of v. Members of unions carry their discriminator.
func encode(b []byte, v reflect.Value) ([]byte, *Issue) {
	if !v.IsValid() {
		return append(b, "null"...), nil
	}
	t := v.Type()
	if t.Kind() != reflect.Pointer {
		if _, ok := unionOf(reflect.PointerTo(t)); ok {
			ptr := reflect.New(t)
			ptr.Elem().Set(v)
			v, t = ptr, ptr.Type()
		}
	}
	union, ok := unionOf(t)
	if !ok {
		return appendValue(b, shapeOf(t), v)
	}
	member := reflect.New(union).Elem()
	member.Set(v)
	return appendValue(b, shapeOf(union), member)
}

func wrong(code IssueCode, format string, args ...any) *Issue {
	return &Issue{Code: code, Message: fmt.Sprintf(format, args...)}
}

// in puts a field name before the path of an issue.
func (i *Issue) in(name string) *Issue {
	i.Path = under(joinPath("", name), i.Path)
	return i
}

func (i *Issue) at(index int) *Issue {
	i.Path = under("["+strconv.Itoa(index)+"]", i.Path)
	return i
}

// appendValue appends the JSON of a value of a shape.
func appendValue(b []byte, s *shape, v reflect.Value) ([]byte, *Issue) {
	if s.pointer {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		v = v.Elem()
	}
	switch s.kind {
	case kindString, kindEnum:
		if v.Len() == 0 && s.nullable && !s.pointer {
			return append(b, "null"...), nil
		}
		return appendString(b, v.String()), nil
	case kindBool:
		return strconv.AppendBool(b, v.Bool()), nil
	case kindInt:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case kindFloat:
		return appendFloat(b, v.Float())
	case kindRaw:
		return appendRaw(b, v.Bytes())
	case kindObject:
		return appendObject(b, s.obj, "", "", v)
	case kindSum:
		return appendUnion(b, s, v)
	case kindList:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			var issue *Issue
			if b, issue = appendValue(b, s.elem, v.Index(i)); issue != nil {
				return b, issue.at(i)
			}
		}
		return append(b, ']'), nil
	}
	names := make([]string, 0, v.Len())
	for _, k := range v.MapKeys() {
		names = append(names, k.String())
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		var issue *Issue
		if b, issue = appendValue(b, s.elem, v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key()))); issue != nil {
			return b, issue.in(name)
		}
	}
	return append(b, '}'), nil
}

func appendUnion(b []byte, s *shape, v reflect.Value) ([]byte, *Issue) {
	u := s.sum
	if u.self {
		tag := ""
		if u.tagBool {
			tag = strconv.FormatBool(v.FieldByIndex(u.tagIndex).Bool())
		} else {
			tag = v.FieldByIndex(u.tagIndex).String()
		}
		i, ok := u.byTag[tag]
		if !ok { // decoding reports it
			b = append(appendString(append(b, '{'), u.tag), ':')
			return append(appendString(b, tag), '}'), nil
		}
		return appendObject(b, u.variants[i].obj, "", "", v)
	}
	if v.IsNil() || v.Elem().IsNil() {
		return append(b, "null"...), nil
	}
	v = v.Elem()
	if u.open != nil && v.Type() == u.open.ptr {
		v = v.Elem()
		return appendObject(b, u.open.obj, u.tag, v.FieldByIndex(u.open.obj.tagField).String(), v)
	}
	for i := range u.variants {
		if m := &u.variants[i]; m.ptr == v.Type() {
			return appendObject(b, m.obj, u.tag, m.tag, v.Elem())
		}
	}
	return append(b, "null"...), nil // no sealed interface has other members
}

func appendObject(b []byte, o *object, tag, tagValue string, v reflect.Value) ([]byte, *Issue) {
	if o.prepare {
		ptr := reflect.New(o.typ)
		ptr.Elem().Set(v)
		ptr.Interface().(prepared).prepare()
		v = ptr.Elem()
	}
	b = append(b, '{')
	start := len(b)
	name := func(n string) {
		if len(b) > start {
			b = append(b, ',')
		}
		b = append(appendString(b, n), ':')
	}
	for i := range o.fields {
		f := &o.fields[i]
		switch f.role {
		case roleTag:
			name(tag)
			b = appendString(b, tagValue)
		case roleScope:
			scope := v.FieldByIndex(o.scope).Interface().(Scope)
			name("scope")
			if !scope.Thread {
				b = append(b, `"turn"`...)
				break
			}
			if scope.Turn != "" {
				return b, wrong(IssueInvalidValue, "is thread and has the turn %s; set one of Thread and Turn", quote(scope.Turn)).in("scope")
			}
			b = append(b, `"thread"`...)
		case roleTurnKey:
			scope := v.FieldByIndex(o.scope).Interface().(Scope)
			switch {
			case scope.Turn != "":
				name("turnKey")
				b = appendString(b, scope.Turn)
			case !scope.Thread || o.full:
				name("turnKey")
				b = append(b, "null"...)
			}
		default:
			value := f.value(v)
			if f.empty && value.IsZero() {
				continue
			}
			name(f.name)
			var issue *Issue
			if b, issue = appendValue(b, f.shape, value); issue != nil {
				return b, issue.in(f.name)
			}
		}
	}
	if o.extra != nil {
		extra := v.FieldByIndex(o.extra).Interface().(Extra)
		for _, n := range slices.Sorted(maps.Keys(extra)) {
			if _, known := o.index[n]; known {
				continue // the field of the struct holds
			}
			name(n)
			var issue *Issue
			if b, issue = appendRaw(b, extra[n]); issue != nil {
				return b, issue.in(n)
			}
		}
	}
	return append(b, '}'), nil
}

func appendFloat(b []byte, f float64) ([]byte, *Issue) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return b, wrong(IssueInvalidValue, "is %v, which JSON cannot hold", f)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, 64), nil
}

// appendRaw appends JSON that an author made, without its white space; nil is null.
func appendRaw(b, raw []byte) ([]byte, *Issue) {
	if len(raw) == 0 {
		return append(b, "null"...), nil
	}
	d := decoder{scanner: scanner{data: raw}}
	if !d.skip() || !d.end() {
		return b, wrong(IssueInvalidJSON, "is not JSON: %s", d.bad)
	}
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 && bytes.IndexByte(raw, ' ') < 0 && bytes.IndexByte(raw, '\t') < 0 {
		return append(b, raw...), nil
	}
	buffer := bytes.NewBuffer(b)
	if err := json.Compact(buffer, raw); err != nil {
		return b, wrong(IssueInvalidJSON, "is not JSON: %v", err)
	}
	return buffer.Bytes(), nil
}

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string. U+2028 and U+2029 are escaped, since some readers end lines there.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				b = append(append(b, s[start:i]...), "\ufffd"...)
			case r == '\u2028' || r == '\u2029':
				b = append(append(b, s[start:i]...), `\u202`...)
				b = append(b, hexDigits[r&0xf])
			default:
				i += size
				continue
			}
			i += size
			start = i
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
