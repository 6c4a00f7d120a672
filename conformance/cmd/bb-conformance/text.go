package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/bb-kernel/bb/conformance/bridgecheck"
)

// writeText writes one line a rule, what shows each failure, and the summary.
func writeText(w io.Writer, r *bridgecheck.Report) error {
	var b strings.Builder
	for _, result := range r.Results {
		fmt.Fprintf(&b, "%s %s", result.Status, result.Rule)
		if result.Detail != "" {
			fmt.Fprintf(&b, " %s", printable(firstLine(result.Detail)))
		}
		b.WriteByte('\n')
	}
	for _, result := range r.Results {
		for _, o := range result.Profiles {
			if o.Status == bridgecheck.Fail {
				writeFailure(&b, result.Rule, o)
			}
		}
	}
	fmt.Fprintf(&b, "%d pass, %d fail, %d skip (%d ms)\n", r.Passed, r.Failed, r.Skipped, r.DurationMs)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeFailure writes what was seen of a failure.
func writeFailure(b *strings.Builder, rule string, o bridgecheck.Outcome) {
	fmt.Fprintf(b, "\n--- %s, profile %d\n%s\n", rule, o.Profile, printable(o.Detail))
	if o.Exit != "" {
		fmt.Fprintf(b, "the process: %s\n", o.Exit)
	}
	for _, l := range o.Lines {
		arrow := "<"
		if l.Sent {
			arrow = ">"
		}
		fmt.Fprintf(b, "%9.1f ms %s %s\n", l.AtMs, arrow, printable(l.Text))
	}
	if o.Stderr != "" {
		fmt.Fprintf(b, "standard error:\n%s\n", printable(strings.TrimRight(o.Stderr, "\n")))
	}
	b.WriteByte('\n')
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// printable takes out what would control a terminal: the text is the bridge's.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}
