// Package bridgetest holds a provider bridge to the rules of the bridge protocol as part of a Go test: each rule is a
// subtest. Package bridgecheck does the same for programs, and is where fixtures and reports are described.
package bridgetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/conformance/bridgecheck"
)

// TestBridge grades the bridge that command starts, a program with its arguments. Each rule is a subtest of its id: it
// fails with the lines around the breach, and is skipped with the reason when the fixture or the bridge does not have
// what it needs.
func TestBridge(t *testing.T, command []string, fixture bridgecheck.Fixture) {
	t.Helper()
	Test(t, command, fixture, bridgecheck.Options{})
}

// Test is TestBridge with options.
func Test(t *testing.T, command []string, fixture bridgecheck.Fixture, o bridgecheck.Options) {
	t.Helper()
	report, err := bridgecheck.Run(t.Context(), command, fixture, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		t.Run(r.Rule, func(t *testing.T) {
			switch r.Status {
			case bridgecheck.Fail:
				for _, o := range r.Profiles {
					if o.Status == bridgecheck.Fail {
						t.Error(describe(o))
					}
				}
			case bridgecheck.Skip:
				t.Skip(r.Detail)
			}
		})
	}
}

// describe tells what was seen of a failure.
func describe(o bridgecheck.Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "profile %d: %s\n", o.Profile, o.Detail)
	for _, l := range o.Lines {
		direction := "bridge"
		if l.Sent {
			direction = "core"
		}
		fmt.Fprintf(&b, "%8.1f ms %s: %s\n", l.AtMs, direction, l.Text)
	}
	if o.Exit != "" {
		fmt.Fprintf(&b, "the process %s\n", o.Exit)
	}
	if o.Stderr != "" {
		fmt.Fprintf(&b, "standard error:\n%s", o.Stderr)
	}
	return b.String()
}
