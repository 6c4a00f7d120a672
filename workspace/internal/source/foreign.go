package source

import (
	"fmt"
	"go/types"
)

// Foreign lists the types of other people's modules that the package's exported API shows. own tells which packages
// may appear: the standard library's, ours, and those the caller admits.
func (p *Package) Foreign(own func(path string) bool) []string {
	w := &apiWalk{pkg: p.Types, own: own, seen: map[types.Type]bool{}}
	scope := p.Types.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() {
			continue
		}
		w.where = p.Place(obj.Pos()) + ": " + name
		if tn, ok := obj.(*types.TypeName); ok && !tn.IsAlias() {
			w.declaration(tn.Type().(*types.Named))
		} else {
			w.visit(obj.Type())
		}
	}
	return w.found
}

type apiWalk struct {
	pkg   *types.Package
	own   func(path string) bool
	seen  map[types.Type]bool
	where string
	found []string
}

// declaration visits what a type of this package shows: type parameters, fields, methods.
func (w *apiWalk) declaration(n *types.Named) {
	if w.seen[n] {
		return
	}
	w.seen[n] = true
	for p := range n.TypeParams().TypeParams() {
		w.visit(p.Constraint())
	}
	w.visit(n.Underlying())
	for m := range n.Methods() {
		if m.Exported() {
			w.visit(m.Type())
		}
	}
}

func (w *apiWalk) visit(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		w.named(t.Obj(), t.TypeArgs())
		w.visit(t.Rhs())
	case *types.Named:
		w.named(t.Obj(), t.TypeArgs())
		if t.Obj().Pkg() == w.pkg && !t.Obj().Exported() { // its fields and methods are reachable through this name
			w.declaration(t)
		}
	case *types.Pointer:
		w.visit(t.Elem())
	case *types.Slice:
		w.visit(t.Elem())
	case *types.Array:
		w.visit(t.Elem())
	case *types.Chan:
		w.visit(t.Elem())
	case *types.Map:
		w.visit(t.Key())
		w.visit(t.Elem())
	case *types.Signature:
		for p := range t.TypeParams().TypeParams() {
			w.visit(p.Constraint())
		}
		w.visit(t.Params())
		w.visit(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			w.visit(v.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				w.visit(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				w.visit(m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			w.visit(e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.visit(term.Type())
		}
	}
}

func (w *apiWalk) named(obj *types.TypeName, args *types.TypeList) {
	if obj.Pkg() != nil && obj.Pkg() != w.pkg && !w.own(obj.Pkg().Path()) {
		w.found = append(w.found, fmt.Sprintf("%s shows %s.%s", w.where, obj.Pkg().Path(), obj.Name()))
	}
	for a := range args.Types() {
		w.visit(a)
	}
}
