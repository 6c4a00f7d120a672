// Coverage keeps docs/coverage.tsv, the list of the specification's rules with the test that proves each.
//
//	go run ./workspace/cmd/coverage merge        folds docs/coverage.d/*.tsv into it, sorted by id
//	go run ./workspace/cmd/coverage check        checks its form and that the named test functions exist
//	go run ./workspace/cmd/coverage check JSON   also that they passed in that run of go test -json
//
// It runs from the root of the repository.
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/bb-kernel/bb/workspace/internal/coverage"
	"github.com/bb-kernel/bb/workspace/internal/testreport"
)

const (
	listFile = "docs/coverage.tsv"
	partsDir = "docs/coverage.d"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case slices.Equal(args, []string{"merge"}):
		err = merge()
	case slices.Equal(args, []string{"check"}):
		err = check("")
	case len(args) == 2 && args[0] == "check":
		err = check(args[1])
	default:
		fmt.Fprintln(os.Stderr, "usage: coverage merge | check [JSON]")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

func merge() error {
	rules, err := coverage.Merge(listFile, partsDir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(listFile, []byte(coverage.Format(rules)), 0o644); err != nil {
		return err
	}
	summary(rules)
	return nil
}

func check(run string) error {
	data, err := os.ReadFile(listFile)
	if err != nil {
		return err
	}
	rules, err := coverage.Parse(listFile, string(data))
	if err != nil {
		return err
	}
	summary(rules)
	err = coverage.CheckSources(".", rules)
	if run == "" {
		return err
	}
	f, openErr := os.Open(run)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	defer f.Close()
	report, readErr := testreport.Read(f)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	return errors.Join(err, coverage.CheckRun(report, rules))
}

func summary(rules []coverage.Rule) {
	missing := 0
	for _, r := range rules {
		if r.Test == coverage.Missing {
			missing++
		}
	}
	fmt.Printf("%d rules, %d with a test, %d missing\n", len(rules), len(rules)-missing, missing)
}
