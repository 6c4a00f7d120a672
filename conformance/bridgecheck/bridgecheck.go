// Package bridgecheck holds a provider bridge, in any language, to the rules of the bridge protocol from outside: it
// starts the bridge's command, talks to it as core does, and grades each rule pass, fail or skip with a reason.
//
// It judges the raw lines and shares no code with the drivers of bridges: what it sends is written out here, what comes
// back is kept line by line, and each rule looks at the lines itself. A fixture says what to say to the agent behind the
// bridge. Program bb-conformance and package bridgetest run it; docs/spec/bridges-conformance.md says what each rule
// means.
package bridgecheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit/extension"
)

const (
	// DefaultTimeout bounds one rule in one profile: the longest conversation, the tour, has a dozen steps.
	DefaultTimeout = time.Minute

	// DefaultStartAllowance is how long the first process may take to answer its first request. The command may compile
	// the bridge first, as `go run` does.
	DefaultStartAllowance = time.Minute

	// startMargin is how much longer than the first process every later one may take: several start side by side.
	startMargin = 3
)

// Options says how a run goes. The zero value is ready to use.
type Options struct {
	Rules          []string      // ids of the rules to grade; nil is all
	Timeout        time.Duration // for one rule in one profile; 0 is DefaultTimeout
	StartAllowance time.Duration // until the first answer of the first process; 0 is DefaultStartAllowance
	Processes      int           // checks side by side; 0 is one a CPU
	Env            []string      // the environment of the bridge, NAME=value; nil is that of this process
	// Progress, when not nil, is told of each outcome as it is known. It is called from one goroutine at a time.
	Progress func(rule string, o Outcome)
}

// Run grades the bridge that command starts: a program and its arguments, to which each profile adds its own. The error
// says why nothing could be graded: a fixture, an option or a command that makes no sense, or ctx. A bridge that cannot
// be started is no error, it fails handshake/initialize. No process is left when Run returns.
func Run(ctx context.Context, command []string, fixture Fixture, o Options) (*Report, error) {
	began := time.Now()
	s, err := newSuite(command, fixture, o)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bb-conformance-")
	if err != nil {
		return nil, fmt.Errorf("bridgecheck: no folder for the bridge: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := s.folders(dir); err != nil {
		return nil, fmt.Errorf("bridgecheck: no folder for the bridge: %w", err)
	}
	rules := table()
	outcomes := make([]map[string]*Outcome, len(fixture.Profiles)) // a profile: by rule
	r := &run{suite: s, options: o}
	for i := range fixture.Profiles {
		outcomes[i] = r.profile(ctx, i, selected(rules, o.Rules))
		settleBlocked(outcomes[i])
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("bridgecheck: the run was cancelled: %w", err)
	}
	report := &Report{Command: command}
	for _, rule := range selected(rules, o.Rules) {
		var all []Outcome
		for i := range outcomes {
			all = append(all, *outcomes[i][rule.ID])
		}
		report.Results = append(report.Results, conclude(rule.ID, all))
	}
	report.count()
	report.DurationMs = time.Since(began).Milliseconds()
	return report, nil
}

// newSuite checks what Run is given.
func newSuite(command []string, fixture Fixture, o Options) (*suite, error) {
	if len(command) == 0 || command[0] == "" {
		return nil, errors.New("bridgecheck: no command: give the program that is the bridge, with its arguments")
	}
	var p problems
	fixture.check(&p)
	if len(p) > 0 {
		return nil, fmt.Errorf("bridgecheck: fixture: %s", strings.Join(p, "; "))
	}
	known := Rules()
	for _, id := range o.Rules {
		if !slices.ContainsFunc(known, func(r Rule) bool { return r.ID == id }) {
			return nil, fmt.Errorf("bridgecheck: there is no rule %q", id)
		}
	}
	s := &suite{command: slices.Clone(command), fixture: fixture, environment: o.Env}
	if o.Env == nil {
		s.environment = os.Environ()
	}
	if fixture.Cwd != "" {
		dir, err := filepath.Abs(fixture.Cwd)
		if err != nil {
			return nil, fmt.Errorf("bridgecheck: the fixture's cwd: %w", err)
		}
		s.cwd = dir
	}
	for i, profile := range fixture.Profiles {
		kinds, err := extension.New(profile.Declarations...)
		if err != nil {
			return nil, fmt.Errorf("bridgecheck: profiles[%d]: %w", i, err)
		}
		s.kinds = append(s.kinds, kinds)
	}
	return s, nil
}

// folders gives the bridge the folders that core would, and the sessions one to work in, below dir.
func (s *suite) folders(dir string) error {
	own := map[string]string{"BB_PLUGIN_DATA_DIR": filepath.Join(dir, "data"), "BB_PLUGIN_TEMP_DIR": filepath.Join(dir, "temp")}
	s.environment = environment(s.environment, own)
	made := slices.Collect(maps.Values(own))
	if s.cwd == "" {
		s.cwd = filepath.Join(dir, "work")
		made = append(made, s.cwd)
	}
	for _, folder := range made {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// selected returns the rules with the ids, all for none.
func selected(rules []graded, ids []string) []graded {
	if len(ids) == 0 {
		return rules
	}
	return slices.DeleteFunc(slices.Clone(rules), func(g graded) bool { return !slices.Contains(ids, g.ID) })
}

// run is a run under way.
type run struct {
	*suite
	options Options
	mu      sync.Mutex // for Progress
}

// profile grades the rules in one profile. The rules that others build on come first, one by one; a bridge that does not
// even respond there is not asked the same again by all the others.
func (r *run) profile(ctx context.Context, profile int, rules []graded) map[string]*Outcome {
	outcomes := make(map[string]*Outcome, len(rules))
	startup := r.options.StartAllowance
	if startup <= 0 {
		startup = DefaultStartAllowance
	}
	dead := map[string]string{} // base rule: why nothing that builds on it can be graded
	bases := []string{handshakeInitialize, sessionStart, turnLifecycle}
	for _, base := range bases {
		g := find(base)
		o, first := r.grade(ctx, profile, g, startup, dead)
		if first > 0 { // how fast the bridge starts is known now
			startup = min(startup, r.fixture.timeout()+startMargin*first)
		}
		if o.Status != Pass && o.unresponsive {
			dead[base] = o.Detail
		}
		if slices.ContainsFunc(rules, func(g graded) bool { return g.ID == base }) {
			outcomes[base] = &o
		}
	}
	slots := make(chan struct{}, r.processes())
	var wg sync.WaitGroup
	for _, g := range rules {
		if slices.Contains(bases, g.ID) {
			continue
		}
		o := new(Outcome)
		outcomes[g.ID] = o
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			*o, _ = r.grade(ctx, profile, g, startup, dead)
		})
	}
	wg.Wait()
	return outcomes
}

func (r *run) processes() int {
	if r.options.Processes > 0 {
		return r.options.Processes
	}
	return runtime.NumCPU()
}

// find returns a rule of the table.
func find(id string) graded {
	for _, g := range table() {
		if g.ID == id {
			return g
		}
	}
	return graded{}
}

// grade runs one check. It also tells how long the first process took to answer initialize, 0 when it did not.
func (r *run) grade(ctx context.Context, profile int, g graded, startup time.Duration, dead map[string]string) (o Outcome, first time.Duration) {
	defer func() {
		if r.options.Progress != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.options.Progress(g.ID, o)
		}
	}()
	for l := fromInitialize; l <= g.level; l++ {
		if why, ok := dead[l.base()]; ok {
			return Outcome{Profile: profile, Status: Skip, BlockedBy: l.base(), Detail: blockedPrefix(l.base()) + why, unresponsive: true}, 0
		}
	}
	timeout := r.options.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, max(timeout, startup))
	defer cancel()
	s := &scenario{suite: r.suite, rule: g.ID, profile: profile, ctx: ctx, startup: startup}
	return s.run(g.check), s.first
}
