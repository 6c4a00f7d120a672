// Package golist asks the go command which packages the workspace holds and what each depends on.
package golist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Prefix is the path that every module of the repository begins with.
const Prefix = "github.com/bb-kernel/bb/"

// Package is what the go command tells about one package.
type Package struct {
	ImportPath, Name, Dir, Export string
	Standard, DepOnly             bool
	Module                        *struct{ Path, Dir string }
	GoFiles, CgoFiles             []string
	TestGoFiles, XTestGoFiles     []string
	Imports                       []string
	TestImports, XTestImports     []string
	Deps                          []string // every package that it links, tests aside
}

// Folder is the folder of the package's module below the repository's root, "" for packages that are not ours.
func (p *Package) Folder() string {
	if p.Module == nil {
		return ""
	}
	folder, ours := strings.CutPrefix(p.Module.Path, Prefix)
	if !ours {
		return ""
	}
	return folder
}

// Public tells whether users import the package: not a program, nothing below internal.
func (p *Package) Public() bool {
	return p.Name != "main" && !slices.Contains(strings.Split(p.ImportPath, "/"), "internal")
}

// AllImports lists what the package and its tests import, sorted.
func (p *Package) AllImports() []string {
	all := slices.Concat(p.Imports, p.TestImports, p.XTestImports)
	slices.Sort(all)
	return slices.Compact(all)
}

// Graph is every package of the workspace and every package that one of them links.
type Graph struct {
	Packages map[string]*Package
	Ours     []*Package // those of the workspace, by import path
}

// Load lists the workspace at root. Without export it also lists what does not compile; with export it compiles
// everything, so that Package.Export names the files with the packages' types.
func Load(ctx context.Context, root string, export bool) (*Graph, error) {
	args := []string{"list", "-deps", "-json=ImportPath,Name,Dir,Export,Standard,DepOnly,Module,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Deps"}
	if export {
		args = append(args, "-export")
	} else {
		args = append(args, "-e")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "work")...)
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	g := &Graph{Packages: map[string]*Package{}}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p Package
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		g.Packages[p.ImportPath] = &p
		if p.Folder() != "" {
			g.Ours = append(g.Ours, &p)
		}
	}
	slices.SortFunc(g.Ours, func(a, b *Package) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return g, nil
}
