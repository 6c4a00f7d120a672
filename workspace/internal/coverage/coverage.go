// Package coverage reads the list of the specification's rules with the test that proves each.
//
// A line holds three fields with a tab between: the rule's id, the test, and the rule in a few words. The test is
// PACKAGE-DIR:NAME with the folder below the repository's root and the name as `go test -run` shows it, ".ci/run:STAGE"
// for what only a stage of the CI script can prove, or "missing".
package coverage

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/workspace/internal/testreport"
)

// Missing stands in the list in place of a test that nobody has written.
const Missing = "missing"

// ciScript is the script whose stages may stand in place of a test.
const ciScript = ".ci/run"

// Prefix is the path of the repository's modules: a package's import path is Prefix and its folder.
const Prefix = "github.com/bb-kernel/bb/"

// Rule is one line.
type Rule struct {
	ID, Test, Statement string
	Line                int // in its file, from 1
}

// Dir is the folder of the test's package.
func (r Rule) Dir() string {
	dir, _, _ := strings.Cut(r.Test, ":")
	return dir
}

// Name is the name of the test, with its subtest if one is named.
func (r Rule) Name() string {
	_, name, _ := strings.Cut(r.Test, ":")
	return name
}

var (
	idPattern   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+$`)
	testPattern = regexp.MustCompile(`^[a-z][a-z0-9/_-]*:(Test|Fuzz|Example|Benchmark)[^\s]*$|^\.ci/run:[^"]+$`)
)

// Parse reads a list. The error names every bad line and every id that stands twice.
func Parse(name, text string) ([]Rule, error) {
	var (
		rules    []Rule
		problems []error
	)
	line := 0
	for raw := range strings.Lines(text) {
		line++
		raw = strings.TrimRight(raw, "\r\n")
		if strings.TrimSpace(raw) == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		problem := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("%s:%d: %s", name, line, fmt.Sprintf(format, args...)))
		}
		fields := strings.Split(raw, "\t")
		if len(fields) != 3 {
			problem("has %d fields with tabs between, want 3: id, test, statement", len(fields))
			continue
		}
		r := Rule{ID: fields[0], Test: fields[1], Statement: strings.TrimSpace(fields[2]), Line: line}
		if !idPattern.MatchString(r.ID) {
			problem("id %q is not dotted words such as http.deadline.ignored-context", r.ID)
		}
		if r.Test != Missing && !testPattern.MatchString(r.Test) {
			problem("test %q is neither PACKAGE-DIR:TestName nor %q", r.Test, Missing)
		}
		if r.Statement == "" {
			problem("rule %s has no statement", r.ID)
		}
		rules = append(rules, r)
	}
	return rules, errors.Join(append(problems, Duplicates(rules))...)
}

// Duplicates names every id that stands twice.
func Duplicates(rules []Rule) error {
	var problems []error
	seen := map[string]bool{}
	for _, r := range rules {
		if seen[r.ID] {
			problems = append(problems, fmt.Errorf("rule %s is listed twice: one line per rule", r.ID))
		}
		seen[r.ID] = true
	}
	return errors.Join(problems...)
}

// Format writes the list sorted by id.
func Format(rules []Rule) string {
	rules = slices.Clone(rules)
	slices.SortStableFunc(rules, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, "%s\t%s\t%s\n", r.ID, r.Test, r.Statement)
	}
	return b.String()
}

// Merge folds the lists of partsDir into the list in file: a rule of a part replaces the line with its id, others are
// added. Two parts with one id are an error.
func Merge(file, partsDir string) ([]Rule, error) {
	parts, err := filepath.Glob(filepath.Join(partsDir, "*.tsv"))
	if err != nil {
		return nil, err
	}
	var (
		merged   []Rule
		problems []error
	)
	for _, p := range parts {
		rules, err := read(p)
		problems = append(problems, err)
		merged = append(merged, rules...)
	}
	problems = append(problems, Duplicates(merged))
	old, err := read(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		problems = append(problems, err)
	}
	for _, r := range old {
		if !slices.ContainsFunc(merged, func(m Rule) bool { return m.ID == r.ID }) {
			merged = append(merged, r)
		}
	}
	return merged, errors.Join(problems...)
}

func read(file string) ([]Rule, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(filepath.ToSlash(file), string(data))
}

// CheckSources reports every rule whose test function no test file under root declares.
func CheckSources(root string, rules []Rule) error {
	var problems []error
	declared := map[string]map[string]bool{} // package folder to test functions
	for _, r := range rules {
		if r.Test == Missing {
			continue
		}
		dir := r.Dir()
		if dir == ciScript {
			script, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(ciScript)))
			if err == nil && !strings.Contains(string(script), "\nstage \""+r.Name()+"\" ") {
				err = fmt.Errorf("%s has no stage %q", ciScript, r.Name())
			}
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", r.ID, err))
			}
			continue
		}
		if declared[dir] == nil {
			names, err := testFuncs(filepath.Join(root, filepath.FromSlash(dir)))
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", r.ID, err))
			}
			declared[dir] = names
		}
		name, _, _ := strings.Cut(r.Name(), "/")
		if !declared[dir][name] {
			problems = append(problems, fmt.Errorf("%s: no test file in %s declares %s: write it, correct the name, or say %s", r.ID, dir, name, Missing))
		}
	}
	return errors.Join(problems...)
}

// testFuncs lists the test functions that the test files of one folder declare.
func testFuncs(dir string) (map[string]bool, error) {
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return names, err
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return names, err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				names[fn.Name.Name] = true
			}
		}
	}
	return names, nil
}

// CheckRun reports every rule whose test did not pass in the run: it was not run, it failed or it was skipped.
// Benchmarks and CI stages run elsewhere and are left out.
func CheckRun(report *testreport.Report, rules []Rule) error {
	var problems []error
	for _, r := range rules {
		if r.Test == Missing || r.Dir() == ciScript || strings.HasPrefix(r.Name(), "Benchmark") {
			continue
		}
		switch outcome := report.Outcome[testreport.Test{Package: path.Join(Prefix, r.Dir()), Name: r.Name()}]; outcome {
		case "pass":
		case "":
			problems = append(problems, fmt.Errorf("%s: %s was not run: is its name right?", r.ID, r.Test))
		default:
			problems = append(problems, fmt.Errorf("%s: %s: %s", r.ID, r.Test, outcome))
		}
	}
	return errors.Join(problems...)
}
