package workspace_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/workspace/internal/doctest"
)

// documents reads the fenced blocks of every Markdown page: the root's, the modules' README.md and docs.
func documents(t *testing.T, root string) map[string][]doctest.Block {
	t.Helper()
	pages := map[string][]doctest.Block{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pages[filepath.ToSlash(rel)], err = doctest.Parse(filepath.ToSlash(rel), string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// provedElsewhere lists the commands that the documentation shows and that this test cannot run, with what does.
var provedElsewhere = map[string]string{
	"go test work":                              ".ci/run has it as a stage; here it would run itself",
	"bash .ci/run":                              "is what runs this test",
	"bash .ci/full":                             "runs .ci/run, then what takes longer",
	"scripts/standalone":                        ".ci/run has it as a stage",
	"scripts/release --tag":                     "tools/release tests it on a repository of its own",
	"scripts/coverage merge":                    "workspace/internal/coverage tests it on files of its own",
	"go run ./server/cmd/bb-server":             "TestEndToEnd runs the program; here it would never end (end it in & to run it here)",
	"git push origin --tags":                    "publishes",
	"git clone https://github.com/bb-kernel/bb": "the tests run in a clone",
	"go test -run='^$' -bench=. work":           ".ci/run has it as a stage, each benchmark once",
	"cd bb":                                     "the tests begin there",
	"npm install -g @openai/codex":              "asks the network; scripts/agents installs the same",
	"codex login":                               "opens a browser",
	"bb provider health codex":                  "beside a login; provider-codex tests it with the real program",
	"bb thread create --provider-id codex --cwd ~/work why does the build fail?": "scripts/e2e-agents drives the real Codex",
	"bb provider health opencode": "provider-acp tests it with the real program",
	"bb thread create --provider-id opencode --cwd ~/work why does the build fail?":                                                                                    "scripts/e2e-agents drives the real opencode",
	"go run ./conformance/cmd/bb-conformance bridge --fixture conformance/testdata/python-bridge/fixture.json -- python3 conformance/testdata/python-bridge/bridge.py": "TestPythonBridge of conformance/bridgetest runs it where there is a python3",
}

// TestDocsGoBlocks checks that every Go block of the documentation is part of a file that is compiled.
func TestDocsGoBlocks(t *testing.T) {
	dir := root(t)
	var corpus doctest.Corpus
	files := []string{filepath.Join(dir, "tools", "standalone", "testdata", "outside", "main.go")} // built by scripts/standalone
	for _, p := range graph(t).Ours {
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			files = append(files, filepath.Join(p.Dir, name))
		}
	}
	for _, file := range files {
		if err := corpus.Add(file); err != nil {
			t.Fatal(err)
		}
	}
	for _, blocks := range documents(t, dir) {
		for _, b := range blocks {
			if err := b.Check(); err != nil {
				t.Error(err)
			}
			if b.Lang == "go" {
				if err := corpus.Check(b); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
