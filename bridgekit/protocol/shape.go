package protocol

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// shape describes the values of a Go type on the wire. The decoder, the encoder and the JSON Schemas all come from it.
// Fields tell what reflection cannot see in the struct tag "rule", a list of words separated by commas:
//
//	null            the Go zero value stands for null; otherwise the zero value is not special
//	notnull         a pointer that may not be null: it is nil only where the field does not belong
//	isnull          null is the only value
//	optional        the field is left out when it is zero; it may not be null
//	nonempty        a string of at least one character, or a list of at least one element
//	nonblank        a string with a character that is no white space
//	nosep           a string of at least one character without ItemKeySeparator
//	pattern=P       a string that matches a named pattern: id or extension
//	enum=A|B        one of the strings
//	min=N, max=N    the bound of a number, of a list's length, of a string's length in characters; a number or a named limit
//	bytes=N         the bound of a value's size: of a string in bytes of UTF-8, of any other value in bytes of its JSON
//	unique          no element of a list is there twice; unique=F: no two elements have the same field F
//	keys=P          the keys of a map match a named pattern
//	when=F:A|B      the field belongs to the object only where its field F has one of the values
//	tag             (json:"-") the field holds the discriminator of an open union
//	scope           (json:"-") the fields scope and turnKey; scope=full: a turnKey of null is written with scope thread too
type shape struct {
	kind     kind
	typ      reflect.Type // of the value; the pointer's element when pointer
	pointer  bool         // the Go value is a pointer; nil is null
	nullable bool         // null is a value
	null     bool         // null is the only value

	name   string // of the type, for schemas; "" when it is not shared
	obj    *object
	sum    *sum
	elem   *shape
	values []string // of an enum

	pattern  *pattern // of a string, or of a map's keys
	nonblank bool
	nosep    bool
	min      *int64
	max      *int64
	bytes    int // 0: unbounded
	unique   bool
	uniqueBy string
}

type kind int

const (
	kindString kind = iota
	kindEnum
	kindBool
	kindInt
	kindFloat
	kindRaw // any JSON
	kindObject
	kindSum
	kindList
	kindMap
)

// what names the JSON type of a kind for messages.
func (k kind) what() string {
	switch k {
	case kindString, kindEnum:
		return "a string"
	case kindBool:
		return "true or false"
	case kindInt:
		return "an integer"
	case kindFloat:
		return "a number"
	case kindList:
		return "an array"
	}
	return "an object"
}

// object describes a struct.
type object struct {
	typ      reflect.Type
	name     string
	fields   []field
	index    map[string]int
	extra    []int  // the index of the field Extra; nil when there is none
	tagField []int  // the index of the field that holds the discriminator of an open union; nil when there is none
	scope    []int  // the index of the field Scope; nil when there is none
	full     bool   // the turnKey is written with scope thread too
	refine   bool   // *T is a refined
	prepare  bool   // *T is a prepared
	complete bool   // *T is a completed
	required uint64 // the fields that may not be missing
}

// field is a field of an object on the wire.
type field struct {
	name  string
	index []int
	shape *shape
	role  role
	empty bool // left out when zero
}

type role int

const (
	roleValue role = iota
	roleTag        // the discriminator of a union, which is no field of the struct
	roleScope
	roleTurnKey
)

// sum describes a union, told apart by a field.
type sum struct {
	tag      string
	variants []variant
	byTag    map[string]int
	open     *variant // for every tag that matches the pattern of extension kinds; nil when the union is closed
	self     bool     // the union is one struct whose fields depend on the discriminator, itself one of them
	tagIndex []int    // self: the discriminator
	tagBool  bool     // self: the discriminator is a bool
}

type variant struct {
	tag string
	obj *object
	ptr reflect.Type
}

// refined is a type with rules beyond its fields. refine is asked when the fields are right; the paths of what it
// returns begin at the value. refinement states the same as a JSON Schema as far as that can be said there, "" for not
// at all.
type refined interface {
	refine() []Issue
	refinement() string
}

// prepared is a type that fills in what an author may leave out, before it is encoded.
type prepared interface{ prepare() }

// completed is a type that fills in what follows from other fields, after it was decoded.
type completed interface{ complete() }

// enumerated is a string type with a closed set of values.
type enumerated interface{ values() []string }

// pattern is a named pattern of strings.
type pattern struct {
	expression string
	matches    func(string) bool
	what       string
}

// patternOf returns the pattern of a rule.
func patternOf(name string) *pattern {
	switch name {
	case "id":
		return &pattern{IDPattern, isID, "lower-case letters, digits and dashes, beginning with a letter"}
	case "extension":
		return &pattern{ExtensionKindPattern, IsExtensionKind, "<pluginId>/<name>, of lower-case letters, digits and dashes"}
	}
	panic("protocol: no pattern is named " + name)
}

// limitOf returns the value of a bound: a number or a named limit.
func limitOf(name string) int64 {
	switch name {
	case "text":
		return MaxDeltaText
	case "diff":
		return MaxDiff
	case "raw":
		return MaxRaw
	case "interaction":
		return MaxInteraction
	case "extension":
		return MaxExtension
	case "questions":
		return MaxQuestions
	case "options":
		return MaxOptions
	case "selected":
		return MaxSelected
	case "freeText":
		return MaxFreeText
	case "title":
		return MaxTitle
	case "installArgs":
		return MaxInstallArgs
	}
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		panic("protocol: no limit is named " + name)
	}
	return n
}

// shapes holds the shape of every type of the protocol; it is made once and never changes.
var shapes = sync.OnceValue(func() map[reflect.Type]*shape {
	b := &shaper{made: map[reflect.Type]*shape{}}
	for _, t := range rootTypes() {
		b.of(t)
		b.of(reflect.PointerTo(t)) // callers have both
	}
	return b.made
})

// shapeOf returns the shape of a type; those that are not of the protocol are described anew at each call.
func shapeOf(t reflect.Type) *shape {
	if s := shapes()[t]; s != nil {
		return s
	}
	return (&shaper{made: map[reflect.Type]*shape{}}).of(t)
}

// shaper makes shapes.
type shaper struct {
	made map[reflect.Type]*shape
}

// of returns the shape of a type without the rules of a field.
func (b *shaper) of(t reflect.Type) *shape {
	if s := b.made[t]; s != nil {
		return s
	}
	s := &shape{typ: t}
	b.made[t] = s
	switch {
	case t.Kind() == reflect.Pointer:
		*s = *b.of(t.Elem())
		s.pointer, s.nullable = true, true
	case t == reflect.TypeFor[json.RawMessage]():
		s.kind, s.nullable = kindRaw, true
	case t.Implements(reflect.TypeFor[enumerated]()):
		s.kind, s.name = kindEnum, t.Name()
		s.values = reflect.Zero(t).Interface().(enumerated).values()
	case t.Kind() == reflect.Interface:
		s.kind, s.name = kindSum, t.Name()
		s.sum = b.union(t)
	case t.Kind() == reflect.Struct:
		s.kind, s.name = kindObject, t.Name()
		s.obj = &object{typ: t, name: t.Name()}
		if tag := discriminator(t); tag != "" {
			s.kind = kindSum
			s.sum = b.dependent(t, tag)
		} else {
			b.fill(s.obj, "", "")
		}
	case t.Kind() == reflect.Slice:
		s.kind, s.elem = kindList, b.of(t.Elem())
	case t.Kind() == reflect.Map:
		s.kind, s.elem = kindMap, b.of(t.Elem())
	case t.Kind() == reflect.String:
		s.kind = kindString
	case t.Kind() == reflect.Bool:
		s.kind = kindBool
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		s.kind = kindInt
	case t.Kind() == reflect.Float64:
		s.kind = kindFloat
	default:
		panic(fmt.Sprintf("protocol: %v has no form on the wire", t))
	}
	return s
}

// discriminator returns the field that the rules when= of a struct depend on.
func discriminator(t reflect.Type) string {
	for i := range t.NumField() {
		for _, word := range strings.Split(t.Field(i).Tag.Get("rule"), ",") {
			if condition, ok := strings.CutPrefix(word, "when="); ok {
				name, _, _ := strings.Cut(condition, ":")
				return name
			}
		}
	}
	return ""
}

// dependent describes a struct whose fields depend on one of them as a union of its forms.
func (b *shaper) dependent(t reflect.Type, tag string) *sum {
	u := &sum{tag: tag, byTag: map[string]int{}, self: true}
	values := []string{"false", "true"}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") != tag {
			continue
		}
		u.tagIndex = f.Index
		u.tagBool = f.Type.Kind() == reflect.Bool
		if !u.tagBool {
			values = b.of(f.Type).values
		}
	}
	for i, value := range values {
		o := &object{typ: t, name: t.Name()}
		b.fill(o, tag, value)
		u.variants = append(u.variants, variant{value, o, nil})
		u.byTag[value] = i
	}
	return u
}

// union describes a sealed interface.
func (b *shaper) union(t reflect.Type) *sum {
	tag, members := membersOf(t)
	u := &sum{tag: tag, byTag: map[string]int{}}
	for _, m := range members {
		ptr := reflect.TypeOf(m.value)
		o := &object{typ: ptr.Elem(), name: ptr.Elem().Name()}
		o.fields = append(o.fields, field{name: tag, role: roleTag})
		b.fill(o, "", "")
		v := variant{m.tag, o, ptr}
		if m.tag == "" {
			u.open = &v
			continue
		}
		u.byTag[m.tag] = len(u.variants)
		u.variants = append(u.variants, v)
	}
	return u
}

// fill describes the fields of a struct: those that belong to it where its field tag has the value.
func (b *shaper) fill(o *object, tag, value string) {
	b.fields(o, o.typ, nil, tag, value)
	o.index = make(map[string]int, len(o.fields))
	for i, f := range o.fields {
		o.index[f.name] = i
		if !f.empty && f.role != roleTurnKey {
			o.required |= 1 << i
		}
	}
	ptr := reflect.PointerTo(o.typ)
	o.refine = ptr.Implements(reflect.TypeFor[refined]())
	o.prepare = ptr.Implements(reflect.TypeFor[prepared]())
	o.complete = ptr.Implements(reflect.TypeFor[completed]())
}

func (b *shaper) fields(o *object, t reflect.Type, index []int, tag, value string) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		name := f.Tag.Get("json")
		rule := f.Tag.Get("rule")
		switch {
		case f.Anonymous:
			b.fields(o, f.Type, at, tag, value)
		case f.Name == "Extra":
			o.extra = at
		case rule == "tag":
			o.tagField = at
		case strings.HasPrefix(rule, "scope"):
			o.scope, o.full = at, rule == "scope=full"
			o.fields = append(o.fields, field{name: "scope", role: roleScope}, field{name: "turnKey", role: roleTurnKey})
		case name == "-" || !f.IsExported():
		default:
			s, empty, belongs := b.field(f.Type, rule, tag, value)
			if belongs {
				o.fields = append(o.fields, field{name: name, index: at, shape: s, empty: empty})
			}
		}
	}
}

// field returns the shape of a field with its rules, whether it is left out when zero, and whether it belongs to the
// form of its struct in which the field tag has the value.
func (b *shaper) field(t reflect.Type, rule, tag, value string) (s *shape, empty, belongs bool) {
	base := b.of(t)
	if rule == "" {
		return base, false, true
	}
	c := *base
	s = &c
	belongs = true
	for _, word := range strings.Split(rule, ",") {
		name, arg, _ := strings.Cut(word, "=")
		switch name {
		case "null":
			s.nullable = true
			if s.kind == kindString {
				s.min = Ptr[int64](1)
			}
		case "notnull":
			s.nullable = false
		case "isnull":
			s.null = true
		case "optional":
			empty = true
		case "nonempty":
			s.min = Ptr[int64](1)
		case "nonblank":
			s.nonblank = true
		case "nosep":
			s.nosep, s.min = true, Ptr[int64](1)
		case "pattern", "keys":
			s.pattern = patternOf(arg)
		case "enum":
			s.kind, s.values = kindEnum, strings.Split(arg, "|")
		case "min":
			s.min = Ptr(limitOf(arg))
		case "max":
			s.max = Ptr(limitOf(arg))
		case "bytes":
			s.bytes = int(limitOf(arg))
		case "unique":
			s.unique, s.uniqueBy = arg == "", arg
		case "when":
			_, values, _ := strings.Cut(arg, ":")
			belongs = tag == "" || slices.Contains(strings.Split(values, "|"), value)
		default:
			panic("protocol: no rule is named " + name)
		}
	}
	return s, empty, belongs
}

// field returns a field of a struct value. Like all of reflection here it sees exported fields only.
func (f *field) value(v reflect.Value) reflect.Value {
	if len(f.index) == 1 {
		return v.Field(f.index[0])
	}
	return v.FieldByIndex(f.index)
}
