package coverage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/workspace/internal/coverage"
	"github.com/bb-kernel/bb/workspace/internal/testreport"
)

func wants(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got error %v, want one with %q", err, part)
		}
	}
}

func TestParseNamesEveryBadLine(t *testing.T) {
	rules, err := coverage.Parse("c.tsv", "# note\na.b\tpkg:TestA\tsays\nA.b\tpkg:TestA\tsays\na.c\tTestA\tsays\na.d\tmissing\t\na.e\tmissing\na.b\tmissing\ttwice\n")
	if len(rules) != 5 || rules[0].Dir() != "pkg" || rules[0].Name() != "TestA" {
		t.Errorf("rules: %+v", rules)
	}
	wants(t, err, "c.tsv:3: id", "c.tsv:4: test", "c.tsv:5: rule a.d has no statement", "c.tsv:6: has 2 fields", "a.b is listed twice")
}

func TestMergeReplacesAndSorts(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"coverage.tsv": "z.old\tmissing\tkept\na.one\tmissing\treplaced\n",
		"d/x.tsv":      "a.one\tp:TestOne\tone\n",
		"d/y.tsv":      "b.two\tp:TestTwo\ttwo\n",
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rules, err := coverage.Merge(filepath.Join(dir, "coverage.tsv"), filepath.Join(dir, "d"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := coverage.Format(rules), "a.one\tp:TestOne\tone\nb.two\tp:TestTwo\ttwo\nz.old\tmissing\tkept\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "d/z.tsv"), []byte("b.two\tmissing\tagain\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = coverage.Merge(filepath.Join(dir, "coverage.tsv"), filepath.Join(dir, "d"))
	wants(t, err, "b.two is listed twice")
}

func TestCheckSourcesFindsTestsThatDoNotExist(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a_test.go"), []byte("package a\n\nfunc TestHere() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, ".ci"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".ci", "run"), []byte("#\nstage \"alone it works\" scripts/alone\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	rule := func(id, test string) coverage.Rule { return coverage.Rule{ID: id, Test: test, Statement: "s"} }
	if err := coverage.CheckSources(root, []coverage.Rule{rule("a.a", ".:TestHere"), rule("a.b", ".:TestHere/sub"), rule("a.c", coverage.Missing), rule("a.f", ".ci/run:alone it works")}); err != nil {
		t.Error(err)
	}
	wants(t, coverage.CheckSources(root, []coverage.Rule{rule("a.d", ".:TestGone"), rule("a.e", "nowhere:TestHere"), rule("a.g", ".ci/run:alone")}),
		"a.d: no test file in . declares TestGone", "a.e: ", "a.g: .ci/run has no stage \"alone\"")
}

func TestCheckRunFindsTestsThatDidNotPass(t *testing.T) {
	report, err := testreport.Read(strings.NewReader(`{"Action":"pass","Package":"github.com/bb-kernel/bb/m/p","Test":"TestGood/sub"}
{"Action":"skip","Package":"github.com/bb-kernel/bb/m/p","Test":"TestLeft"}
`))
	if err != nil {
		t.Fatal(err)
	}
	rule := func(id, test string) coverage.Rule { return coverage.Rule{ID: id, Test: test} }
	if err := coverage.CheckRun(report, []coverage.Rule{rule("a.a", "m/p:TestGood/sub"), rule("a.b", coverage.Missing), rule("a.c", "m/p:BenchmarkX")}); err != nil {
		t.Error(err)
	}
	wants(t, coverage.CheckRun(report, []coverage.Rule{rule("a.d", "m/p:TestLeft"), rule("a.e", "m/p:TestGood/other")}), "a.d: m/p:TestLeft: skip", "a.e: m/p:TestGood/other was not run")
}
