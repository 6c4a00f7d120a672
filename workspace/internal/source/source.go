// Package source reads the packages of the workspace as their authors wrote them, with types: the ground for the
// tests over style.
package source

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"

	"github.com/bb-kernel/bb/workspace/internal/golist"
)

// Package is one package with its syntax trees.
type Package struct {
	*golist.Package
	Fset  *token.FileSet
	Files []*ast.File // without tests
	Tests []*ast.File
	Types *types.Package
	Info  *types.Info
}

// Load parses and type-checks every package of ours in the graph, which must have been listed with export data.
func Load(g *golist.Graph) ([]*Package, error) {
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		p := g.Packages[path]
		if p == nil || p.Export == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(p.Export)
	})
	var out []*Package
	for _, listed := range g.Ours {
		p, err := load(fset, imports, listed)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func load(fset *token.FileSet, imports types.Importer, listed *golist.Package) (*Package, error) {
	p := &Package{Package: listed, Fset: fset, Info: &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	parse := func(names ...string) ([]*ast.File, error) {
		var files []*ast.File
		for _, name := range names {
			f, err := parser.ParseFile(fset, filepath.Join(listed.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
		return files, nil
	}
	var err error
	if p.Files, err = parse(append(listed.GoFiles, listed.CgoFiles...)...); err != nil {
		return nil, err
	}
	if p.Tests, err = parse(append(listed.TestGoFiles, listed.XTestGoFiles...)...); err != nil {
		return nil, err
	}
	config := types.Config{Importer: imports}
	p.Types, err = config.Check(listed.ImportPath, fset, p.Files, p.Info)
	return p, err
}

// Place is where something stands, as FILE:LINE below the package's module.
func (p *Package) Place(pos token.Pos) string {
	at := p.Fset.Position(pos)
	if p.Module != nil {
		if rel, err := filepath.Rel(filepath.Join(p.Module.Dir), at.Filename); err == nil {
			return fmt.Sprintf("%s/%s:%d", p.Folder(), filepath.ToSlash(rel), at.Line)
		}
	}
	return at.String()
}
