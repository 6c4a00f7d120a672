package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"github.com/bb-kernel/bb/conformance/bridgecheck"
	echo "github.com/bb-kernel/bb/examples/provider-echo"
)

// Exit statuses.
const (
	statusGood  = 0 // no rule failed; some may be skipped
	statusFail  = 1 // a rule failed
	statusUsage = 2 // the command line or the fixture makes no sense, or the run was cancelled
)

// program is one run of bb-conformance.
type program struct {
	stdout, stderr io.Writer
}

// arguments is the command line.
type arguments struct {
	Bridge  bridgeArguments  `cmd:"" help:"Grade a bridge: one line a rule, pass, fail or skip, then a summary."`
	Rules   rulesArguments   `cmd:"" help:"List the rules with what is done, what must happen, and what it needs."`
	Fixture fixtureArguments `cmd:"" help:"Print the default fixture, to make your own from."`
}

type rulesArguments struct{}

type fixtureArguments struct{}

type bridgeArguments struct {
	Command      []string      `arg:"" passthrough:"partial" name:"command" help:"The program that is the bridge, with its arguments. Write -- before it."`
	Fixture      string        `type:"path" placeholder:"FILE" help:"What to say to the bridge; by default what the echo provider understands."`
	Rule         []string      `placeholder:"ID" help:"Grade only this rule; may be repeated."`
	JSON         bool          `name:"json" help:"Print the whole report as JSON."`
	JUnit        string        `name:"junit" type:"path" placeholder:"FILE" help:"Also write the report as JUnit XML."`
	Timeout      time.Duration `default:"${timeout}" help:"For one rule in one profile."`
	StartTimeout time.Duration `default:"${start}" help:"Until the bridge answers for the first time; 'go run' compiles it first."`
	Processes    int           `placeholder:"N" help:"Checks side by side; by default one a CPU."`
	Verbose      bool          `short:"v" help:"Tell on standard error how each rule went in each profile."`
}

// Help is shown below the flags.
func (bridgeArguments) Help() string {
	return `The bridge is started afresh for every rule, talked to as the kernel does, and judged by the lines it writes. A rule
that fails shows the lines around the breach and the end of the bridge's standard error.

The fixture says what to send: "prompts" makes the agent behind the bridge answer plainly, use tools, ask, run until it
is stopped. A rule whose prompt is missing is skipped. Begin with the default one:

  bb-conformance fixture > fixture.json
  bb-conformance bridge --fixture fixture.json -- python3 my_bridge.py

While you write a bridge, take one rule at a time:

  bb-conformance bridge --rule handshake/initialize -- ./my-bridge`
}

// run is main; it returns the exit status.
func (p program) run(ctx context.Context, args []string) int {
	var a arguments
	exited := -1
	parser, err := kong.New(&a,
		kong.Name("bb-conformance"),
		kong.Description("Tells whether a provider bridge keeps the bridge protocol, rule by rule.\n\nExit status: 0 when no rule failed, 1 when one did, 2 when it was used wrongly."),
		kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.Vars{"timeout": bridgecheck.DefaultTimeout.String(), "start": bridgecheck.DefaultStartAllowance.String()},
	)
	if err != nil {
		return p.usage(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	selected, err := parser.Parse(args)
	if exited >= 0 { // help was shown
		return exited
	}
	if err != nil {
		return p.usage(err)
	}
	switch selected.Selected().Name {
	case "rules":
		for _, r := range bridgecheck.Rules() {
			fmt.Fprintf(p.stdout, "%s\n  does:  %s\n  wants: %s\n", r.ID, r.Stimulus, r.Evidence)
			if r.Needs != "" {
				fmt.Fprintf(p.stdout, "  needs: %s\n", r.Needs)
			}
		}
		return statusGood
	case "fixture":
		p.stdout.Write(echo.Fixture())
		return statusGood
	}
	return p.bridge(ctx, a.Bridge)
}

// bridge grades a bridge.
func (p program) bridge(ctx context.Context, a bridgeArguments) int {
	data := echo.Fixture()
	if a.Fixture != "" {
		var err error
		if data, err = os.ReadFile(a.Fixture); err != nil {
			return p.usage(err)
		}
	}
	fixture, err := bridgecheck.ParseFixture(data)
	if err != nil {
		return p.usage(err)
	}
	command := a.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	o := bridgecheck.Options{Rules: a.Rule, Timeout: a.Timeout, StartAllowance: a.StartTimeout, Processes: a.Processes}
	if a.Verbose {
		o.Progress = func(rule string, r bridgecheck.Outcome) {
			fmt.Fprintf(p.stderr, "profile %d: %s %s (%d ms) %s\n", r.Profile, r.Status, rule, r.DurationMs, firstLine(r.Detail))
		}
	}
	report, err := bridgecheck.Run(ctx, command, fixture, o)
	if err != nil {
		return p.usage(err)
	}
	if a.JUnit != "" {
		if err := writeJUnit(a.JUnit, report); err != nil {
			return p.usage(err)
		}
	}
	if a.JSON {
		e := json.NewEncoder(p.stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(report)
	} else {
		err = writeText(p.stdout, report)
	}
	if err != nil {
		return p.usage(err)
	}
	if report.Failed > 0 {
		return statusFail
	}
	return statusGood
}

// usage reports what kept the run from being one.
func (p program) usage(err error) int {
	fmt.Fprintf(p.stderr, "bb-conformance: %v\n", err)
	return statusUsage
}
