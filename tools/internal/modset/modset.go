// Package modset reads which modules the repository holds and which version each is released as.
//
// Three files must agree: go.work names the folders, each folder's go.mod names the module and its siblings, and
// versions.yaml names every module either in one module set, whose members are released together, or as excluded.
package modset

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Prefix is the path that every module of the repository begins with.
const Prefix = "github.com/bb-kernel/bb/"

// Module is one released module.
type Module struct {
	Path     string   // import path
	Dir      string   // folder below the repository's root, with slashes
	Set      string   // module set of versions.yaml
	Version  string   // version the set is released as
	Siblings []string // paths of the repository's own modules that it requires
}

// Tag is the git tag that releases the module: "kernelcontract/v0.1.0".
func (m Module) Tag() string { return m.Dir + "/" + m.Version }

// ID is the module with its version, as module proxies name it.
func (m Module) ID() module.Version { return module.Version{Path: m.Path, Version: m.Version} }

// Load reads the repository at root and returns its released modules, each after the modules it requires. The error
// lists every disagreement between go.work, the go.mod files and versions.yaml, and a cycle if there is one.
func Load(root string) ([]Module, error) {
	versions, err := readVersions(filepath.Join(root, "versions.yaml"))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(root, "go.work")
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork(file, data, nil)
	if err != nil {
		return nil, err
	}
	var (
		modules  []Module
		problems []error
	)
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	seen := map[string]bool{}
	for _, use := range work.Use {
		m, err := readModule(root, path.Clean(filepath.ToSlash(use.Path)))
		if err != nil {
			problems = append(problems, err)
			continue
		}
		seen[m.Path] = true
		switch set, released := versions.set[m.Path]; {
		case slices.Contains(versions.excluded, m.Path):
		case !released:
			problem("versions.yaml: %s is in go.work but in no module set: add it to one, or to excluded-modules", m.Path)
		default:
			m.Set, m.Version = set, versions.version[set]
			modules = append(modules, m)
		}
	}
	for _, p := range versions.order {
		if !seen[p] {
			problem("versions.yaml: %s is in set %q but not in go.work: add its folder there or remove the line", p, versions.set[p])
		}
	}
	for _, m := range modules {
		for _, s := range m.Siblings {
			if _, released := versions.set[s]; !released {
				problem("%s/go.mod: requires %s, which versions.yaml does not release", m.Dir, s)
			}
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return sorted(modules)
}

// Versions returns the version of each module by its path.
func Versions(modules []Module) map[string]string {
	versions := make(map[string]string, len(modules))
	for _, m := range modules {
		versions[m.Path] = m.Version
	}
	return versions
}

// readModule reads dir/go.mod.
func readModule(root, dir string) (Module, error) {
	file := filepath.Join(root, filepath.FromSlash(dir), "go.mod")
	data, err := os.ReadFile(file)
	if err != nil {
		return Module{}, err
	}
	mod, err := modfile.Parse(file, data, nil)
	if err != nil {
		return Module{}, err
	}
	if mod.Module == nil {
		return Module{}, fmt.Errorf("%s/go.mod: has no module line", dir)
	}
	m := Module{Path: mod.Module.Mod.Path, Dir: dir}
	if m.Path != Prefix+dir {
		return Module{}, fmt.Errorf("%s/go.mod: module is %s, its folder says %s", dir, m.Path, Prefix+dir)
	}
	for _, r := range mod.Require {
		if strings.HasPrefix(r.Mod.Path, Prefix) {
			m.Siblings = append(m.Siblings, r.Mod.Path)
		}
	}
	return m, nil
}

// sorted puts every module after those it requires, and keeps the order of go.work otherwise.
func sorted(modules []Module) ([]Module, error) {
	var out []Module
	placed := map[string]bool{}
	for len(out) < len(modules) {
		before := len(out)
		for _, m := range modules {
			ready := !slices.ContainsFunc(m.Siblings, func(s string) bool { return !placed[s] })
			if !placed[m.Path] && ready {
				placed[m.Path] = true
				out = append(out, m)
			}
		}
		if len(out) == before {
			var stuck []string
			for _, m := range modules {
				if !placed[m.Path] {
					stuck = append(stuck, m.Path)
				}
			}
			return nil, fmt.Errorf("modules require each other in a cycle: %s", strings.Join(stuck, ", "))
		}
	}
	return out, nil
}

// versions is the content of versions.yaml.
type versions struct {
	set      map[string]string // module to set
	version  map[string]string // set to version
	order    []string          // modules of all sets, as written
	excluded []string
}

// readVersions reads the small, fixed part of YAML that versions.yaml uses:
//
//	module-sets:
//	  NAME:
//	    version: vX.Y.Z
//	    modules:
//	      - MODULE
//	excluded-modules:
//	  - MODULE
func readVersions(file string) (versions, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return versions{}, err
	}
	v := versions{set: map[string]string{}, version: map[string]string{}}
	var problems []error
	section, set, list := "", "", false
	for i, line := range strings.Split(string(data), "\n") {
		text, _, _ := strings.Cut(line, "#")
		text = strings.TrimRight(text, " \r")
		depth := len(text) - len(strings.TrimLeft(text, " "))
		text = strings.TrimSpace(text)
		key, value, isPair := strings.Cut(text, ":")
		value = strings.TrimSpace(value)
		item, isItem := strings.CutPrefix(text, "- ")
		bad := func(why string) { problems = append(problems, fmt.Errorf("versions.yaml:%d: %s: %q", i+1, why, text)) }
		switch {
		case text == "":
		case depth == 0 && (text == "module-sets:" || text == "excluded-modules:"):
			section, set, list = key, "", false
		case section == "module-sets" && depth == 2 && isPair && value == "":
			set, list = key, false
		case section == "module-sets" && set != "" && depth == 4 && key == "version" && isPair:
			if !semver.IsValid(value) || semver.Canonical(value) != value {
				bad("not a version like v0.1.0")
			}
			v.version[set] = value
		case section == "module-sets" && set != "" && depth == 4 && text == "modules:":
			list = true
		case section == "module-sets" && list && depth == 6 && isItem:
			if _, twice := v.set[item]; twice {
				bad("module is listed twice")
			}
			v.set[item] = set
			v.order = append(v.order, item)
		case section == "excluded-modules" && depth == 2 && isItem:
			v.excluded = append(v.excluded, item)
		default:
			bad("line is not understood here")
		}
	}
	for _, p := range v.order {
		if v.version[v.set[p]] == "" {
			problems = append(problems, fmt.Errorf("versions.yaml: set %q has no version", v.set[p]))
		}
	}
	return v, errors.Join(problems...)
}
