// Package testreport reads what `go test -json` prints: what became of each test.
package testreport

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Test names one test or subtest.
type Test struct{ Package, Name string }

// String is the form of the skip list: package and test, a space between them.
func (t Test) String() string { return t.Package + " " + t.Name }

// Report is the outcome of a run.
type Report struct {
	Outcome map[Test]string     // "pass", "fail" or "skip"
	Failed  []string            // packages that failed, in order, also those that did not build
	output  map[string][]string // lines by Test.String, and by package
}

// Read reads a whole run. A line that is no event (the go command mixes some in) is kept as output of no package.
func Read(r io.Reader) (*Report, error) {
	report := &Report{Outcome: map[Test]string{}, output: map[string][]string{}}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			report.add(line)
		}
		if err == io.EOF {
			return report, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *Report) add(line string) {
	var e struct{ Action, Package, ImportPath, Test, Output string }
	if json.Unmarshal([]byte(line), &e) != nil {
		r.output[""] = append(r.output[""], line+"\n")
		return
	}
	test := Test{e.Package, e.Test}
	switch e.Action {
	case "output":
		key := test.String()
		r.output[key] = append(r.output[key], e.Output)
	case "build-output":
		r.output[""] = append(r.output[""], e.Output)
	case "pass", "fail", "skip":
		if e.Test != "" {
			r.Outcome[test] = e.Action
		} else if e.Action == "fail" {
			r.Failed = append(r.Failed, e.Package)
		}
	}
}

// Count tells how many tests and subtests passed, failed and were skipped. A package that failed without a failed
// test (it did not build, or its process died) counts as one failure.
func (r *Report) Count() (passed, failed, skipped int) {
	blamed := map[string]bool{}
	for t, outcome := range r.Outcome {
		switch outcome {
		case "pass":
			passed++
		case "skip":
			skipped++
		case "fail":
			failed++
			blamed[t.Package] = true
		}
	}
	for _, p := range r.Failed {
		if !blamed[p] {
			failed++
		}
	}
	return passed, failed, skipped
}

// Skipped lists the tests that were skipped, sorted.
func (r *Report) Skipped() []string {
	var list []string
	for t, outcome := range r.Outcome {
		if outcome == "skip" {
			list = append(list, t.String())
		}
	}
	slices.Sort(list)
	return list
}

// WriteFailures writes the output of everything that failed.
func (r *Report) WriteFailures(w io.Writer) error {
	if len(r.Failed) == 0 {
		return nil
	}
	text := slices.Clone(r.output[""])
	for _, p := range r.Failed {
		text = append(text, "FAIL "+p+"\n")
		text = append(text, r.output[Test{Package: p}.String()]...)
		var names []string
		for t, outcome := range r.Outcome {
			if t.Package == p && outcome == "fail" {
				names = append(names, t.Name)
			}
		}
		for key := range r.output { // a test cut off by a crash has output but no outcome
			if name, ok := strings.CutPrefix(key, p+" "); ok && name != "" && r.Outcome[Test{p, name}] == "" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			text = append(text, r.output[Test{p, name}.String()]...)
		}
	}
	_, err := fmt.Fprint(w, strings.Join(text, ""))
	return err
}
