// Testreport judges a run of `go test -json`, read from a file.
//
//	go run ./workspace/cmd/testreport [-skips FILE] JSON
//
// It prints the output of what failed and the skipped tests, which must be exactly the lines of the skips file, and
// last "N passed, N failed, N skipped".
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/workspace/internal/testreport"
)

func main() {
	skips := flag.String("skips", "", "file of the tests that may be skipped, one `package test` a line; # begins a comment")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: testreport [-skips FILE] JSON")
		os.Exit(2)
	}
	ok, err := judge(flag.Arg(0), *skips)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func judge(file, skips string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	report, err := testreport.Read(f)
	if err != nil {
		return false, err
	}
	if err := report.WriteFailures(os.Stdout); err != nil {
		return false, err
	}
	allowed, err := list(skips)
	if err != nil {
		return false, err
	}
	skipped := report.Skipped()
	fmt.Printf("skipped tests: %d\n", len(skipped))
	for _, s := range skipped {
		fmt.Println("\t" + s)
	}
	same := slices.Equal(skipped, allowed)
	if !same {
		fmt.Printf("they must be exactly those of %s: %q\n", skips, allowed)
	}
	passed, failed, left := report.Count()
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, left)
	return failed == 0 && len(report.Failed) == 0 && same, nil
}

// list reads the lines of a file without comments, sorted. No file is an empty list.
func list(file string) ([]string, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines, nil
}
