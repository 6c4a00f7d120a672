package validate

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// kind is a set of JSON types, and what a node reads.
type kind uint16

const (
	kindObject kind = 1 << iota
	kindArray
	kindString
	kindInteger
	kindNumber
	kindBoolean
	kindNull
	kindAny
	kindUnion // told apart by a discriminator
	kindMixed // told apart by what fits
)

// kindName names a type for a message.
func kindName(k kind) string {
	switch k {
	case kindObject:
		return "an object"
	case kindArray:
		return "an array"
	case kindString:
		return "a string"
	case kindInteger:
		return "an integer"
	case kindNumber:
		return "a number"
	case kindBoolean:
		return "true or false"
	}
	return "null"
}

// noLimit stands for a count without limit.
const noLimit = -1

// node is a schema made ready.
type node struct {
	kind     kind
	nullable bool
	target   *node // the definition that this one refers to
	checked  bool  // a string or number has more to check than its type
	takes    kind  // every type that a value may have

	constants []constant
	min, max  int // length, items or keys

	props  []prop
	byName map[string]int // when there are many
	values *node          // of other keys; nil: there are none

	items  *node
	unique bool

	pattern *regexp.Regexp
	format  *format
	base64  bool

	lower, upper []*bound
	multipleOf   *bound
	float32      bool

	discriminator string
	tags          []string
	branches      []*node
}

type prop struct {
	name     string
	key      string // `"name":`
	node     *node
	required bool
	def      string // "": none
	settled  settleState
}

type settleState int8

const (
	unsettled settleState = iota
	settling
	settled
)

// manyProps is the number of properties from which an index finds one faster than looking at each.
const manyProps = 8

// find returns the index of the property of that name, -1 when there is none; expected is a guess.
func (n *node) find(key []byte, expected int) int {
	if expected < len(n.props) && n.props[expected].name == string(key) {
		return expected
	}
	if n.byName != nil {
		if i, ok := n.byName[string(key)]; ok {
			return i
		}
		return -1
	}
	for i := range n.props {
		if n.props[i].name == string(key) {
			return i
		}
	}
	return -1
}

// Compile makes a Validator for a schema. The error lists every problem: a reference into nowhere, a keyword that does
// not go with the type, a pattern that is not RE2, a default or constant that its own schema refuses.
func Compile(s *schema.Schema) (*Validator, error) {
	if s == nil {
		s = &schema.Schema{}
	}
	c := compiler{root: s, defs: map[string]*node{}}
	for _, d := range s.Defs {
		c.defs[d.Name] = &node{}
	}
	for _, d := range s.Defs {
		c.fill(c.defs[d.Name], d.Schema, "$defs."+d.Name)
	}
	root := c.node(s, "")
	if len(c.problems) == 0 {
		c.kinds()
	}
	if len(c.problems) == 0 {
		c.defaults()
	}
	if len(c.problems) > 0 {
		return nil, fmt.Errorf("schema: %w", errors.Join(c.problems...))
	}
	return &Validator{root: root}, nil
}

type compiler struct {
	root     *schema.Schema
	defs     map[string]*node
	nodes    []*node // with their places, for the later passes
	places   []string
	problems []error
}

func (c *compiler) problem(place, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if place != "" {
		text = place + ": " + text
	}
	c.problems = append(c.problems, errors.New(text))
}

func (c *compiler) node(s *schema.Schema, place string) *node {
	n := &node{}
	c.fill(n, s, place)
	return n
}

// fill makes n the node of s.
func (c *compiler) fill(n *node, s *schema.Schema, place string) {
	n.min, n.max = noLimit, noLimit
	if s == nil {
		s = &schema.Schema{}
	}
	c.nodes = append(c.nodes, n)
	c.places = append(c.places, place)
	n.nullable = s.Nullable
	if s.Ref != "" {
		n.target = c.defs[s.Ref]
		if n.target == nil || c.root.Resolve(s) == nil {
			n.target = nil
			c.problem(place, "the reference %s leads nowhere", s.Ref)
		}
		return
	}
	c.applicable(s, place)
	c.constants(n, s, place)
	switch {
	case s.OneOf != nil:
		c.union(n, s, place)
	case s.Type == schema.Any:
		n.kind = kindAny
	case s.Type == schema.Object:
		n.kind = kindObject
		c.object(n, s, place)
	case s.Type == schema.Array:
		n.kind = kindArray
		n.items, n.unique = c.node(s.Items, place+"[]"), s.UniqueItems
		n.limits(s.MinItems, s.MaxItems)
	case s.Type == schema.String:
		n.kind = kindString
		c.text(n, s, place)
	case s.Type == schema.Integer, s.Type == schema.Number:
		n.kind = kindInteger
		if s.Type == schema.Number {
			n.kind = kindNumber
		}
		c.number(n, s, place)
	case s.Type == schema.Boolean:
		n.kind = kindBoolean
	default:
		c.problem(place, "%q is not a type", string(s.Type))
	}
}

func (n *node) limits(lowest, highest *int) {
	if lowest != nil {
		n.min = *lowest
	}
	if highest != nil {
		n.max = *highest
	}
}

// applicable reports keywords that mean nothing beside the type, and would be ignored silently.
func (c *compiler) applicable(s *schema.Schema, place string) {
	refuse := func(present bool, words, where string) {
		if present {
			c.problem(place, "%s must stand beside %s", words, where)
		}
	}
	plain := s.OneOf == nil
	refuse(!plain && (s.Type != schema.Any || s.Const != nil || s.Enum != nil), "type, const and enum", "no oneOf")
	refuse(s.Discriminator != "" && plain, "discriminator", "oneOf")
	refuse((s.Properties != nil || s.Strict || s.Values != nil || s.MinProperties != nil || s.MaxProperties != nil) && s.Type != schema.Object,
		"properties and their limits", "type object")
	refuse((s.Items != nil || s.MinItems != nil || s.MaxItems != nil || s.UniqueItems) && s.Type != schema.Array, "items and their limits", "type array")
	refuse((s.Pattern != "" || s.ContentEncoding != "" || s.MinLength != nil || s.MaxLength != nil) && s.Type != schema.String,
		"pattern, contentEncoding and length", "type string")
	refuse((s.Minimum != "" || s.Maximum != "" || s.ExclusiveMinimum != "" || s.ExclusiveMaximum != "" || s.MultipleOf != "") &&
		s.Type != schema.Integer && s.Type != schema.Number, "bounds", "type integer or number")
}

func (c *compiler) constants(n *node, s *schema.Schema, place string) {
	list := s.Enum
	if s.Const != nil {
		list = append(list[:len(list):len(list)], s.Const)
		if s.Enum != nil {
			c.problem(place, "const and enum must not stand together")
		}
	}
	if list == nil {
		return
	}
	n.constants = make([]constant, 0, len(list))
	for _, raw := range list {
		k, err := newConstant(raw)
		if err != nil {
			c.problem(place, "a constant is not JSON: %v", err)
			continue
		}
		n.constants = append(n.constants, k)
	}
}

func (c *compiler) object(n *node, s *schema.Schema, place string) {
	n.limits(s.MinProperties, s.MaxProperties)
	switch {
	case s.Strict && s.Values != nil:
		c.problem(place, "a strict object has no values of other keys")
	case s.Values != nil:
		n.values = c.node(s.Values, place+"{}")
	case !s.Strict:
		n.values = anyValue
	}
	n.props = make([]prop, 0, len(s.Properties))
	seen := map[string]int{}
	for i, p := range s.Properties {
		at := p.Name
		if place != "" {
			at = place + "." + p.Name
		}
		if _, twice := seen[p.Name]; twice {
			c.problem(at, "two properties have this name")
		}
		seen[p.Name] = i
		key, _ := json.Marshal(p.Name)
		q := prop{name: p.Name, key: string(key) + ":", node: c.node(p.Schema, at), required: p.Required}
		if p.Schema != nil {
			q.def = string(p.Schema.Default)
			if target := c.root.Resolve(p.Schema); q.def == "" && target != nil {
				q.def = string(target.Default)
			}
		}
		n.props = append(n.props, q)
	}
	if len(n.props) > manyProps {
		n.byName = seen
	}
}

func (c *compiler) text(n *node, s *schema.Schema, place string) {
	n.limits(s.MinLength, s.MaxLength)
	n.format = formatOf(s.Format)
	if s.Pattern != "" {
		var err error
		if n.pattern, err = regexp.Compile(s.Pattern); err != nil {
			c.problem(place, "%v", err)
		}
	}
	switch s.ContentEncoding {
	case "":
	case "base64":
		n.base64 = true
	default:
		c.problem(place, "the encoding %q is not known", s.ContentEncoding)
	}
	n.checked = n.constants != nil || n.min != noLimit || n.max != noLimit || n.pattern != nil || n.format != nil || n.base64
}

func (c *compiler) number(n *node, s *schema.Schema, place string) {
	add := func(dst *[]*bound, text json.Number, exclusive bool) {
		if text == "" {
			return
		}
		if !jsontext.IsNumber(string(text)) {
			c.problem(place, "the bound %q is not a number", text)
			return
		}
		*dst = append(*dst, newBound(string(text), exclusive))
	}
	add(&n.lower, s.ExclusiveMinimum, true)
	add(&n.lower, s.Minimum, false)
	add(&n.upper, s.ExclusiveMaximum, true)
	add(&n.upper, s.Maximum, false)
	var multiples []*bound
	add(&multiples, s.MultipleOf, false)
	for _, m := range multiples {
		if m.exact.compare(decimal{}) <= 0 {
			c.problem(place, "multipleOf must be above 0")
			continue
		}
		n.multipleOf = m
	}
	n.float32 = s.Type == schema.Number && s.Format == "float"
	n.checked = n.constants != nil || n.lower != nil || n.upper != nil || n.multipleOf != nil
}

func (c *compiler) union(n *node, s *schema.Schema, place string) {
	n.kind = kindMixed
	if s.Discriminator != "" {
		n.kind = kindUnion
	}
	n.discriminator = s.Discriminator
	if len(s.OneOf) == 0 {
		c.problem(place, "oneOf lists no branch")
	}
	for i, o := range s.OneOf {
		at := place + "|" + strconv.Itoa(i)
		n.branches = append(n.branches, c.node(o, at))
		if s.Discriminator == "" {
			continue
		}
		tag, err := c.tag(o, s.Discriminator)
		if err != nil {
			c.problem(at, "%v", err)
			continue
		}
		if n.branch(tag) != nil && len(n.tags) > 0 {
			c.problem(at, "two branches have the discriminator %q", tag)
		}
		n.tags = append(n.tags, tag)
	}
}

// tag returns the constant of the discriminator in a branch.
func (c *compiler) tag(branch *schema.Schema, discriminator string) (string, error) {
	resolved := c.root.Resolve(branch)
	if resolved == nil || resolved.Type != schema.Object || resolved.Nullable {
		return "", errors.New("a branch with a discriminator must be an object")
	}
	p := resolved.Property(discriminator)
	if p == nil || !p.Required {
		return "", fmt.Errorf("the discriminator %q must be required", discriminator)
	}
	var tag string
	if at := c.root.Resolve(p.Schema); at == nil || at.Const == nil || json.Unmarshal(at.Const, &tag) != nil {
		return "", fmt.Errorf("the discriminator %q must have a string as const", discriminator)
	}
	return tag, nil
}

// kinds finds out which types each node takes, and refuses a union that lists itself.
func (c *compiler) kinds() {
	// What a node takes grows until nothing changes; a union of itself alone stays empty.
	for changed := true; changed; {
		changed = false
		for _, n := range c.nodes {
			k := n.ownKinds()
			if k != n.takes {
				n.takes, changed = k, true
			}
		}
	}
	for i, n := range c.nodes {
		if n.kind == kindMixed && n.within(n, map[*node]bool{}) {
			c.problem(c.places[i], "the union lists itself as a branch")
		}
	}
}

func (n *node) ownKinds() kind {
	k := n.kind
	switch {
	case n.target != nil:
		k = n.target.takes
	case n.kind == kindAny && n.constants != nil:
		return kindsOfConstants(n.constants)
	case n.kind == kindAny:
		return kindObject | kindArray | kindString | kindInteger | kindNumber | kindBoolean | kindNull
	case n.kind == kindUnion:
		k = kindObject
	case n.kind == kindMixed:
		k = 0
		for _, b := range n.branches {
			k |= b.takes
		}
	}
	if n.nullable {
		k |= kindNull
	}
	return k
}

// within reports whether the union n can be reached from m without reading anything.
func (n *node) within(m *node, seen map[*node]bool) bool {
	for _, b := range m.branches {
		for b.target != nil {
			b = b.target
		}
		if b == n {
			return true
		}
		if b.kind == kindMixed && !seen[b] {
			seen[b] = true
			if n.within(b, seen) {
				return true
			}
		}
	}
	return false
}

// defaults checks every default against its own schema and fills it in turn, so that filling it in is a copy.
func (c *compiler) defaults() {
	var settle func(p *prop)
	place := ""
	settle = func(p *prop) {
		switch p.settled {
		case settled:
			return
		case settling:
			c.problem(place, "the default of %s contains itself", p.name)
			return
		}
		p.settled = settling
		r := run{in: []byte(p.def), input: true, settle: settle}
		if r.document(p.node) {
			p.def = string(r.result())
		} else {
			for _, i := range r.report() {
				c.problem(place, "the default of %s: %v %s", p.name, i.Path, i.Message)
			}
		}
		p.settled = settled
	}
	for i, n := range c.nodes {
		place = c.places[i]
		for j := range n.props {
			if n.props[j].def != "" {
				settle(&n.props[j])
			}
		}
	}
}
