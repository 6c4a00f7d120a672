package schema

import (
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// finish names the nodes that become definitions, puts the others in place of their only reference, and hangs the
// definitions on the root.
func (b *builder) finish(root *Schema) *Schema {
	rootNode := b.byRef(root.Ref)
	if rootNode != nil {
		rootNode.uses--
	}
	taken := map[string]bool{}
	for _, n := range b.order {
		if n.uses > 1 || n.recursive {
			n.name = defName(n.t, taken)
		}
	}
	b.place(root)
	if rootNode != nil && rootNode.name != "" {
		// A reader finds the members at the root, so the root holds them; the definition is for those who refer to it.
		whole := *rootNode.s
		whole.Nullable = root.Nullable
		root = &whole
	}
	for _, n := range b.order {
		if n.name != "" {
			b.place(n.s)
			root.Defs = append(root.Defs, Def{Name: n.name, Schema: n.s})
		}
	}
	slices.SortFunc(root.Defs, func(x, y Def) int { return strings.Compare(x.Name, y.Name) })
	return root
}

func (b *builder) byRef(ref string) *node {
	if rest, ok := strings.CutPrefix(ref, refMark); ok {
		if i, err := strconv.Atoi(rest); err == nil && i < len(b.order) {
			return b.order[i]
		}
	}
	return nil
}

// place replaces the marks below s.
func (b *builder) place(s *Schema) {
	if s == nil {
		return
	}
	if n := b.byRef(s.Ref); n != nil {
		if n.name != "" {
			s.Ref = n.name
			return
		}
		outer := *s
		*s = *n.s
		s.Nullable = s.Nullable || outer.Nullable
		if outer.Description != "" {
			s.Description = outer.Description
		}
		if outer.Default != nil {
			s.Default = outer.Default
		}
	}
	for _, p := range s.Properties {
		b.place(p.Schema)
	}
	b.place(s.Values)
	b.place(s.Items)
	for _, o := range s.OneOf {
		b.place(o)
	}
}

// defName makes the name of a definition from the name of a type: letters and digits, type arguments without their
// packages, a number when it is taken.
func defName(t reflect.Type, taken map[string]bool) string {
	full := t.Name()
	if isUnion(t) {
		full = t.Field(0).Type.Name()
	}
	var b strings.Builder
	for _, part := range strings.FieldsFunc(full, func(r rune) bool { return strings.ContainsRune("[],* ", r) }) {
		part = path.Base(part)
		if i := strings.LastIndexByte(part, '.'); i >= 0 {
			part = part[i+1:]
		}
		for _, r := range part {
			if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
				b.WriteRune(r)
			}
		}
	}
	name := b.String()
	if name == "" {
		name = "Type"
	}
	for i := 2; taken[name]; i++ {
		name = strings.TrimRight(name, "0123456789") + strconv.Itoa(i)
	}
	taken[name] = true
	return name
}
