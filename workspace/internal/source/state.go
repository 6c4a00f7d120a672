package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// Inits lists the init functions.
func (p *Package) Inits() []string {
	var list []string
	for _, f := range p.Files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				list = append(list, p.Place(fn.Pos())+": init")
			}
		}
	}
	return list
}

// State lists the package-level variables that hold state: those the package writes after they are declared, whose
// type exists to be written (a lock, an atomic, a channel), and exported ones that any importer could assign although
// they are not sentinel errors or pointers to definitions. It finds writes through the variable's own name only. A sync.Pool
// is no state: what it keeps may vanish at any time.
func (p *Package) State() []string {
	written := map[types.Object]token.Pos{}
	for _, f := range p.Files {
		p.writes(f, written)
	}
	var list []string
	for _, f := range p.Files {
		for _, d := range f.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, s := range group.Specs {
				for _, id := range s.(*ast.ValueSpec).Names {
					v := p.Info.Defs[id]
					if v == nil || id.Name == "_" || embedded(group, s.(*ast.ValueSpec)) {
						continue
					}
					if why := p.stateful(v, written); why != "" {
						list = append(list, fmt.Sprintf("%s: var %s %s", p.Place(id.Pos()), id.Name, why))
					}
				}
			}
		}
	}
	return list
}

func (p *Package) stateful(v types.Object, written map[types.Object]token.Pos) string {
	if v.Type().String() == "sync.Pool" && !v.Exported() {
		return ""
	}
	if pos, ok := written[v]; ok {
		return "is written at " + p.Place(pos)
	}
	if holdsState(v.Type(), map[types.Type]bool{}) {
		return "has a type that exists to be written: " + v.Type().String()
	}
	if v.Exported() && p.Name != "main" {
		_, pointer := v.Type().Underlying().(*types.Pointer)
		if !pointer && !types.Implements(v.Type(), types.Universe.Lookup("error").Type().Underlying().(*types.Interface)) {
			return "is exported and could be assigned by any importer"
		}
	}
	return ""
}

// writes records where package-level variables are assigned, incremented, deleted from, or have their address taken,
// be it by a method with a pointer receiver.
func (p *Package) writes(f *ast.File, written map[types.Object]token.Pos) {
	note := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.ParenExpr:
				e = x.X
				continue
			case *ast.IndexExpr:
				e = x.X
				continue
			case *ast.StarExpr:
				e = x.X
				continue
			case *ast.SelectorExpr:
				if _, qualified := p.Info.Selections[x]; qualified {
					e = x.X
					continue
				}
				e = x.Sel
				continue
			case *ast.Ident:
				if v, ok := p.Info.Uses[x].(*types.Var); ok && v.Parent() == p.Types.Scope() {
					written[v] = x.Pos()
				}
			}
			return
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					note(e)
				}
			}
		case *ast.IncDecStmt:
			note(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				if _, literal := n.X.(*ast.CompositeLit); !literal {
					note(n.X)
				}
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear") && len(n.Args) > 0 {
				note(n.Args[0])
			}
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
				s := p.Info.Selections[sel]
				if s != nil && s.Kind() == types.MethodVal && pointerReceiver(s) {
					if _, isPointer := s.Recv().Underlying().(*types.Pointer); !isPointer {
						note(sel.X)
					}
				}
			}
		}
		return true
	})
}

func pointerReceiver(s *types.Selection) bool {
	fn, ok := s.Obj().(*types.Func)
	if !ok {
		return false
	}
	recv := fn.Signature().Recv()
	if recv == nil {
		return false
	}
	_, pointer := recv.Type().Underlying().(*types.Pointer)
	return pointer
}

// holdsState tells whether values of the type are made to be written: what sync and sync/atomic declare, and channels.
func holdsState(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch u := t.(type) {
	case *types.Named:
		if pkg := u.Obj().Pkg(); pkg != nil && (pkg.Path() == "sync" || pkg.Path() == "sync/atomic") {
			return true
		}
		return holdsState(u.Underlying(), seen)
	case *types.Alias:
		return holdsState(types.Unalias(u), seen)
	case *types.Struct:
		for f := range u.Fields() {
			if holdsState(f.Type(), seen) {
				return true
			}
		}
	case *types.Array:
		return holdsState(u.Elem(), seen)
	case *types.Chan:
		return true
	}
	return false
}

// embedded tells whether a variable is filled by a go:embed directive.
func embedded(group *ast.GenDecl, s *ast.ValueSpec) bool {
	for _, d := range []*ast.CommentGroup{group.Doc, s.Doc} {
		if d == nil {
			continue
		}
		for _, c := range d.List {
			if strings.HasPrefix(c.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}
