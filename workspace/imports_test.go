package workspace_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/workspace/internal/golist"
)

// mayImport is the table of docs/spec/workspace.md: the modules whose packages a module's packages and tests import.
var mayImport = map[string][]string{
	"kernelcontract": {},
	"bridgekit":      {},
	"pluginsdk":      {"kernelcontract", "bridgekit"},
	"kernelcore":     {"kernelcontract", "bridgekit", "pluginsdk"},
	"sdk":            {"kernelcontract"},
	"cli":            {"kernelcontract", "sdk"},
	"server":         {"kernelcontract", "bridgekit", "pluginsdk", "kernelcore", "sdk"},
	"conformance":    {"kernelcontract", "bridgekit", "pluginsdk", "sdk", "examples/provider-echo"},
	"workspace":      {"conformance"},
}

// extraImports widens the table for one program, what is below it, and the tests of its module.
var extraImports = map[string][]string{
	"server/cmd/bb-server": {"examples/hello-slot", "examples/notes-fixture", "examples/provider-echo", "examples/provider-acp", "examples/provider-codex"},
}

// The folders of examples: a plugin imports what plugin authors import and the contracts of other example plugins, a
// program imports anything.
var (
	plugins  = []string{"examples/hello-slot", "examples/notes-fixture", "examples/provider-echo", "examples/provider-acp", "examples/provider-codex"}
	programs = []string{"examples/embed", "examples/quickstart", "examples/todo", "examples/bridge-hello", "examples/bundle-skills"}

	pluginMayImport = []string{"kernelcontract", "pluginsdk", "bridgekit"}
)

// allowed tells whether the package p, or its tests, may import the package of another module.
func allowed(p, imported *golist.Package, inTest bool) bool {
	from, to := p.Folder(), imported.Folder()
	folder := strings.TrimPrefix(p.ImportPath, golist.Prefix)
	switch {
	case from == to:
		return true
	case slices.Contains(programs, from):
		return true
	case slices.Contains(plugins, from):
		return slices.Contains(pluginMayImport, to) || slices.Contains(plugins, to)
	default:
		if slices.Contains(mayImport[from], to) {
			return true
		}
		for program, extra := range extraImports {
			within := folder == program || strings.HasPrefix(folder, program+"/") || inTest && strings.HasPrefix(program, from+"/")
			if within && slices.Contains(extra, to) {
				return true
			}
		}
		return false
	}
}

func TestImportTable(t *testing.T) {
	g := graph(t)
	for _, p := range g.Ours {
		folder := p.Folder()
		if _, known := mayImport[folder]; !known && !slices.Contains(plugins, folder) && !slices.Contains(programs, folder) {
			t.Errorf("module %s is not in the import table: add it to docs/spec/workspace.md and to this test", folder)
		}
		for _, path := range p.AllImports() {
			if !strings.HasPrefix(path, golist.Prefix) {
				continue
			}
			imported := g.Packages[path]
			if imported == nil || imported.Folder() == "" {
				t.Errorf("%s imports %s, which is no package of the workspace, or one whose module it does not require", p.ImportPath, path)
				continue
			}
			if inTest := !slices.Contains(p.Imports, path); !allowed(p, imported, inTest) {
				t.Errorf("%s must not import %s", p.ImportPath, path)
			}
			if p.Folder() != imported.Folder() && slices.Contains(strings.Split(path, "/"), "internal") {
				t.Errorf("%s imports %s, an internal package of another module", p.ImportPath, path)
			}
		}
	}
}

func TestImportsMakeNoCycleOfModules(t *testing.T) {
	g := graph(t)
	edges := map[string]map[string]bool{}
	for _, p := range g.Ours {
		for _, path := range p.AllImports() {
			if to := g.Packages[path]; to != nil && to.Folder() != "" && to.Folder() != p.Folder() {
				if edges[p.Folder()] == nil {
					edges[p.Folder()] = map[string]bool{}
				}
				edges[p.Folder()][to.Folder()] = true
			}
		}
	}
	const visiting, done = 1, 2
	state := map[string]int{}
	var visit func(module string, trail []string)
	visit = func(module string, trail []string) {
		trail = append(trail, module)
		switch state[module] {
		case visiting:
			t.Errorf("cycle of modules: %s", strings.Join(trail, " -> "))
			return
		case done:
			return
		}
		state[module] = visiting
		for _, next := range slices.Sorted(maps.Keys(edges[module])) {
			visit(next, trail)
		}
		state[module] = done
	}
	for _, module := range slices.Sorted(maps.Keys(edges)) {
		visit(module, nil)
	}
}

// linkRule forbids packages to be linked, directly or through others.
type linkRule struct {
	name   string
	from   func(p *golist.Package) bool
	forbid []string // a path and everything below it; "=PATH" only the path itself
	why    string
}

func inModules(folders ...string) func(*golist.Package) bool {
	return func(p *golist.Package) bool { return slices.Contains(folders, p.Folder()) }
}

func isPackage(path string) func(*golist.Package) bool {
	return func(p *golist.Package) bool { return p.ImportPath == golist.Prefix+path }
}

var (
	network   = []string{"=net", "net/http", "net/rpc", "net/smtp", "crypto/tls"}
	databases = []string{"database/sql", "modernc.org"}
	routers   = []string{"github.com/gorilla/mux"}
)

// servesTests tells whether a program is itself for tests.
func servesTests(p *golist.Package) bool { return strings.Contains(p.ImportPath, "/plugintest/") }

var linkRules = []linkRule{
	{"contract and bridges do no network I/O", inModules("kernelcontract", "bridgekit"), network, "they must work without a network"},
	{"contract and bridges need no database", inModules("kernelcontract", "bridgekit"), databases, "they must work without a database"},
	{"contract and bridges need no router", inModules("kernelcontract", "bridgekit"), routers, "they must work without a router"},
	{"a plugin never links the kernel or its clients", inModules(plugins...),
		[]string{golist.Prefix + "sdk", golist.Prefix + "server", golist.Prefix + "cli", golist.Prefix + "kernelcore"}, "a plugin sees only its host"},
	{"a small embedder links no engine", isPackage("examples/embed"),
		[]string{"modernc.org", "github.com/tetratelabs/wazero", "github.com/modelcontextprotocol"}, "what a program does not use it must not link"},
	{"the kernel root links no database", isPackage("kernelcore"), databases, "the SQLite store is opt-in"},
	{"the kernel root links no MCP library", isPackage("kernelcore"), []string{"github.com/modelcontextprotocol"}, "kernelcore/mcp is opt-in"},
	{"bb does not link the validator", isPackage("cli/cmd/bb"), []string{golist.Prefix + "kernelcontract/validate"}, "the server validates, and bb must start fast"},
	{"bb links no engine", isPackage("cli/cmd/bb"),
		[]string{"modernc.org", "github.com/tetratelabs/wazero", "github.com/modelcontextprotocol", "github.com/gorilla/mux", "github.com/prometheus"}, "bb is a thin client"},
	{"programs link no test code", func(p *golist.Package) bool { return p.Name == "main" && !servesTests(p) }, []string{"testing", "net/http/httptest", "github.com/matryer/is"}, "tests are not shipped"},
}

// links returns the package that breaks the rule, "" when none does.
func (r linkRule) links(p *golist.Package) string {
	for _, dep := range append(slices.Clone(p.Deps), p.ImportPath) {
		for _, f := range r.forbid {
			exact, only := strings.CutPrefix(f, "=")
			if dep == exact || !only && strings.HasPrefix(dep, f+"/") {
				return dep
			}
		}
	}
	return ""
}

func TestImportLinks(t *testing.T) {
	g := graph(t)
	for _, r := range linkRules {
		t.Run(r.name, func(t *testing.T) {
			matched := 0
			told := map[string]bool{} // by the last import on the way, which is the one to remove
			for _, p := range g.Ours {
				if p.Folder() == "workspace" || !r.from(p) {
					continue
				}
				matched++
				if dep := r.links(p); dep != "" {
					way := trail(g, p.ImportPath, dep)
					if last := strings.Join(way[max(0, len(way)-2):], " "); !told[last] {
						told[last] = true
						t.Errorf("%s links %s: %s (%s)", p.ImportPath, dep, r.why, strings.Join(way, " -> "))
					}
				}
			}
			if matched == 0 {
				t.Error("the rule matches no package: is a name in it out of date?")
			}
		})
	}
}

func TestImportOnlyTheStoreNeedsSQLite(t *testing.T) {
	for _, p := range graph(t).Ours {
		for _, path := range p.AllImports() {
			if strings.HasPrefix(path, "modernc.org/") && !strings.HasPrefix(p.ImportPath, golist.Prefix+"kernelcore/sqlitestore") {
				t.Errorf("%s imports %s: only kernelcore/sqlitestore does", p.ImportPath, path)
			}
		}
	}
}

// trail names the packages through which from links to.
func trail(g *golist.Graph, from, to string) []string {
	type step struct {
		path string
		via  []string
	}
	seen := map[string]bool{from: true}
	for queue := []step{{path: from}}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		p := g.Packages[s.path]
		if s.path == to || p == nil {
			if s.path == to {
				return append(s.via, to)
			}
			continue
		}
		for _, next := range p.Imports {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, step{next, append(slices.Clone(s.via), s.path)})
			}
		}
	}
	return nil
}
