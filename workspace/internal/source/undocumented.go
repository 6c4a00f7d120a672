package source

import (
	"go/ast"
	"go/doc"
	"go/token"
	"slices"
	"strings"
)

// HasComment tells whether the package has a package comment.
func (p *Package) HasComment() bool {
	for _, f := range p.Files {
		if f.Doc != nil && strings.TrimSpace(f.Doc.Text()) != "" {
			return true
		}
	}
	return false
}

// HasExample tells whether the package has an example that go test runs, one with an output. A test kit, which only
// works inside a test, needs one that compiles; a package that exports nothing needs none.
func (p *Package) HasExample() bool {
	if !slices.ContainsFunc(p.Types.Scope().Names(), ast.IsExported) {
		return true
	}
	kit := slices.Contains(p.Imports, "testing")
	for _, e := range doc.Examples(p.Tests...) {
		if kit || e.Output != "" || e.EmptyOutput {
			return true
		}
	}
	return false
}

// Undocumented lists the exported functions, methods, types, constants and variables without a comment of their own.
// A constant or variable of a group may share the group's.
func (p *Package) Undocumented() []string {
	var list []string
	missing := func(id *ast.Ident, docs ...*ast.CommentGroup) {
		if !id.IsExported() {
			return
		}
		for _, d := range docs {
			if d != nil && strings.TrimSpace(d.Text()) != "" {
				return
			}
		}
		list = append(list, p.Place(id.Pos())+": "+id.Name)
	}
	for _, f := range p.Files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || ast.IsExported(receiver(d)) {
					missing(d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						missing(s.Name, s.Doc, s.Comment, onlyWhen(d.Lparen == token.NoPos, d.Doc))
						if i, ok := s.Type.(*ast.InterfaceType); ok && s.Name.IsExported() {
							for _, m := range i.Methods.List {
								for _, name := range m.Names {
									missing(name, m.Doc, m.Comment)
								}
							}
						}
					case *ast.ValueSpec:
						for _, name := range s.Names {
							missing(name, s.Doc, s.Comment, d.Doc)
						}
					}
				}
			}
		}
	}
	return list
}

func onlyWhen(ok bool, d *ast.CommentGroup) *ast.CommentGroup {
	if ok {
		return d
	}
	return nil
}

// receiver is the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	expr := d.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}
