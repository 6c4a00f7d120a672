package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/conformance/bridgecheck"
	echo "github.com/bb-kernel/bb/examples/provider-echo"
)

// childEnv makes the test binary a bridge: echo, or one that dies.
const childEnv = "BB_CONFORMANCE_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "echo":
		profile := echo.Full
		if len(os.Args) > 2 && os.Args[1] == "--profile" {
			profile = echo.Profile(os.Args[2])
		}
		definition, err := echo.Bridge(echo.Options{Profile: profile})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		bridgekit.Main(definition)
	case "dies":
		fmt.Fprintln(os.Stderr, "no agent \x1b[31mhere\x1b[0m")
		os.Exit(7)
	}
	// Under the race detector a program sleeps for a second at its end. Here a hundred are started one after the other.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// invoke runs the program; child is what the test binary is when the program starts it as the bridge.
func invoke(t *testing.T, child string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	t.Setenv(childEnv, child)
	var out, errs bytes.Buffer
	status = program{stdout: &out, stderr: &errs}.run(t.Context(), args)
	return status, out.String(), errs.String()
}

// TestEcho grades the echo bridge: everything passes.
func TestEcho(t *testing.T) {
	is := is.New(t)
	status, out, _ := invoke(t, "echo", "bridge", "--", os.Args[0])
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status != 0 || len(lines) != 34 {
		t.Fatalf("status %d\n%s", status, out)
	}
	for i, r := range bridgecheck.Rules() {
		is.Equal(lines[i], "pass "+r.ID)
	}
	is.True(strings.HasPrefix(lines[33], "33 pass, 0 fail, 0 skip ("))
}

func TestOneRule(t *testing.T) {
	is := is.New(t)
	status, out, errs := invoke(t, "echo", "bridge", "--rule", "handshake/initialize", "--rule=turn/lifecycle", "--verbose", "--", os.Args[0])
	is.Equal(status, 0)
	is.True(strings.HasPrefix(out, "pass handshake/initialize\npass turn/lifecycle\n2 pass, 0 fail, 0 skip"))
	is.True(strings.Contains(errs, "pass turn/lifecycle"))
}

// TestFailure shows what a person needs to know, without what would drive the terminal.
func TestFailure(t *testing.T) {
	is := is.New(t)
	status, out, _ := invoke(t, "dies", "bridge", "--", os.Args[0])
	is.Equal(status, 1)
	is.True(strings.Contains(out, "fail handshake/initialize the answer to initialize did not come"))
	is.True(strings.Contains(out, "skip turn/lifecycle blocked by handshake/initialize"))
	is.True(strings.Contains(out, "exited with status 7"))
	is.True(strings.Contains(out, "> {")) // the line that was not answered
	is.True(strings.Contains(out, "no agent"))
	is.True(!strings.Contains(out, "\x1b"))
}

func TestJSON(t *testing.T) {
	is := is.New(t)
	status, out, _ := invoke(t, "dies", "bridge", "--json", "--", os.Args[0])
	is.Equal(status, 1)
	var report bridgecheck.Report
	is.NoErr(json.Unmarshal([]byte(out), &report))
	is.Equal(len(report.Results), 33)
	is.True(report.Failed > 0)
	is.Equal(report.Command, []string{os.Args[0]})
}

func TestJUnit(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "report.xml")
	status, _, _ := invoke(t, "dies", "bridge", "--junit", file, "--", os.Args[0])
	is.Equal(status, 1)
	data, err := os.ReadFile(file)
	is.NoErr(err)
	var suite junitSuite
	is.NoErr(xml.Unmarshal(data, &suite))
	is.Equal(suite.Tests, 33)
	is.Equal(len(suite.Cases), 33)
	failures, skipped := 0, 0
	for _, c := range suite.Cases {
		if c.Failure != nil {
			failures++
			is.True(c.Failure.Text != "")
		}
		if c.Skipped != nil {
			skipped++
			is.True(c.Skipped.Message != "")
		}
	}
	is.Equal(failures, suite.Failures)
	is.Equal(skipped, suite.Skipped)
}

// TestUsage is what exits with 2.
func TestUsage(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "fixture.json")
	if err := os.WriteFile(broken, []byte(`{"prompts":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no command", []string{"bridge"}, "command"},
		{"unknown flag", []string{"bridge", "--fast", "--", os.Args[0]}, "--fast"},
		{"unknown rule", []string{"bridge", "--rule", "turn/none", "--", os.Args[0]}, "turn/none"},
		{"no fixture file", []string{"bridge", "--fixture", "nowhere.json", "--", os.Args[0]}, "nowhere.json"},
		{"broken fixture", []string{"bridge", "--fixture", broken, "--", os.Args[0]}, "providerIds"},
		{"no such subcommand", []string{"server"}, "server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			status, out, errs := invoke(t, "echo", c.args...)
			is.Equal(status, 2)
			is.Equal(out, "")
			if !strings.Contains(errs, c.want) {
				t.Errorf("standard error is %q, want it to name %s", errs, c.want)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	is := is.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Setenv(childEnv, "echo")
	var out, errs bytes.Buffer
	is.Equal(program{stdout: &out, stderr: &errs}.run(ctx, []string{"bridge", "--", os.Args[0]}), 2)
	is.True(strings.Contains(errs.String(), "cancelled"))
}

func TestHelp(t *testing.T) {
	is := is.New(t)
	status, out, _ := invoke(t, "", "bridge", "--help")
	is.Equal(status, 0)
	for _, want := range []string{"--fixture", "--junit", "--rule", "--timeout", "bb-conformance fixture > fixture.json"} {
		is.True(strings.Contains(out, want))
	}
	status, out, _ = invoke(t, "")
	is.Equal(status, 0)
	is.True(strings.Contains(out, "Exit status"))
}

func TestLists(t *testing.T) {
	is := is.New(t)
	status, out, _ := invoke(t, "", "rules")
	is.Equal(status, 0)
	is.Equal(strings.Count(out, "  does:  "), 33)
	status, out, _ = invoke(t, "", "fixture")
	is.Equal(status, 0)
	_, err := bridgecheck.ParseFixture([]byte(out))
	is.NoErr(err)
}
