package providers

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	bridgeprocess "github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
)

// presenceFor is how long it is remembered whether an agent is installed: a list of providers is shown often, and asking
// starts a process.
const presenceFor = time.Minute

// presence remembers whether a provider's agent is installed.
type presence struct {
	mu   sync.Mutex
	at   time.Time
	here *bool
}

func (c *presence) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}

// isInstalled tells whether a provider's agent is installed: by its bridge where it tells, else by whether the bridge's program is
// found; nil when nobody knows.
func (p *Pool) isInstalled(ctx context.Context, s *slot, one kernelcore.Provider) *bool {
	no := false
	if command := one.Program.Command; len(command) > 0 {
		if _, err := exec.LookPath(absolute(command)[0]); err != nil {
			return &no
		}
	}
	if one.Declaration.Visibility == protocol.VisibleAlways || !one.Declaration.Maintenance.Installation {
		yes := true
		if one.Declaration.Visibility == protocol.VisibleAlways {
			return &yes
		}
		return nil
	}
	s.installed.mu.Lock()
	defer s.installed.mu.Unlock()
	if time.Since(s.installed.at) < presenceFor {
		return s.installed.here
	}
	status, err := p.installation(ctx, one.Declaration.ID, false)
	if err != nil {
		p.log.Debug("it is not known whether an agent is installed", "provider", one.Declaration.ID, "error", err)
		return nil
	}
	s.installed.at, s.installed.here = time.Now(), &status.Installed
	return s.installed.here
}

// installation asks the bridge how its agent is installed.
func (p *Pool) installation(ctx context.Context, id string, updates bool) (protocol.InstallationStatus, error) {
	answer, err := ask(ctx, p, id, "", func(b *Bridge, q protocol.ProviderParams) (protocol.InstallationStatusResult, error) {
		return b.InstallationStatus(ctx, protocol.InstallationStatusParams{ProviderParams: q, CheckUpdates: updates})
	})
	return answer.Status, err
}

// InstallationStatus asks how a provider's agent is installed.
func (p *Pool) InstallationStatus(ctx context.Context, in threadapi.InstallationStatusInput) (json.RawMessage, error) {
	one, err := p.provider(in.ID)
	if err == nil {
		err = unsupported(one.Declaration.Maintenance.Installation, in.ID, "installation")
	}
	if err != nil {
		return nil, err
	}
	status, err := p.installation(ctx, in.ID, in.CheckUpdates)
	if err != nil {
		return nil, err
	}
	return protocol.Marshal(status)
}

// Install runs the command with which a provider's agent is installed, and yields what it prints. At the end the bridge
// is asked again, and the last piece says whether the installation shows.
func (p *Pool) Install(ctx context.Context, in threadapi.InstallInput) (iter.Seq2[threadapi.InstallOutput, error], error) {
	one, err := p.provider(in.ID)
	if err == nil {
		err = unsupported(one.Declaration.Maintenance.Installation, in.ID, "installation")
	}
	if err != nil {
		return nil, err
	}
	s, err := p.slot(in.ID)
	if err != nil {
		return nil, err
	}
	plan, err := ask(ctx, p, in.ID, "", func(b *Bridge, q protocol.ProviderParams) (protocol.InstallationRunResult, error) {
		return b.InstallationRun(ctx, protocol.InstallationRunParams{ProviderParams: q, Action: protocol.InstallAction(in.Action)})
	})
	if err != nil {
		return nil, err
	}
	if !plan.Available {
		return nil, threadapi.Unsupported.Errorf("%s", plan.Message)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.installing {
		return nil, kernelcontract.Conflict.Errorf("an installation of %s is running already", in.ID)
	}
	s.installing = true
	return func(yield func(threadapi.InstallOutput, error) bool) {
		defer func() {
			s.mu.Lock()
			s.installing = false
			s.mu.Unlock()
			s.installed.clear()
		}()
		if !yield(threadapi.InstallOutput{Command: plan.Command.DisplayCommand}, nil) {
			return
		}
		if ok, err := p.runInstall(ctx, plan.Command, yield); !ok {
			if err != nil {
				yield(threadapi.InstallOutput{}, err)
			}
			return
		}
		status, err := p.installation(ctx, in.ID, false)
		if err != nil {
			yield(threadapi.InstallOutput{}, err)
			return
		}
		yield(threadapi.InstallOutput{Done: true, OK: verified(status, plan.Verification)}, nil)
	}, nil
}

// runInstall runs a command with the server's environment, since package managers are configured there, and yields its output.
// It reports whether the command succeeded; without an error the caller had enough.
func (p *Pool) runInstall(ctx context.Context, c *protocol.InstallCommand, yield func(threadapi.InstallOutput, error) bool) (bool, error) {
	proc, err := bridgeprocess.Start(ctx, bridgeprocess.Options{Command: append([]string{c.Command}, c.Args...), Env: installEnv()})
	if err != nil {
		return false, threadapi.ProviderUnavailable.Errorf("the installation does not start: %s", err)
	}
	defer proc.Kill()
	_ = proc.Stdin.Close()
	stop := context.AfterFunc(ctx, proc.Kill)
	defer stop()
	out := bufio.NewReaderSize(proc.Stdout, 4096)
	for {
		piece := make([]byte, 4096)
		n, err := out.Read(piece)
		if n > 0 && !yield(threadapi.InstallOutput{Text: strings.ToValidUTF8(string(piece[:n]), "\uFFFD")}, nil) {
			return false, nil
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, err
		}
	}
	exit, err := proc.Wait(ctx)
	if err != nil {
		return false, context.Cause(ctx)
	}
	if text := strings.TrimSpace(string(proc.Stderr())); text != "" && !yield(threadapi.InstallOutput{Text: text + "\n"}, nil) {
		return false, nil
	}
	if exit.Code != 0 {
		return false, threadapi.ProviderUnavailable.Errorf("the installation failed: %s", exit)
	}
	return true, nil
}

// installEnv is the server's environment without what is the server's own.
func installEnv() []string {
	var env []string
	for _, line := range os.Environ() {
		if !strings.HasPrefix(line, protocol.ReservedEnvPrefix) {
			env = append(env, line)
		}
	}
	return env
}

// verified tells whether an installation shows in what the bridge says afterwards.
func verified(s protocol.InstallationStatus, v *protocol.InstallVerification) bool {
	version := ""
	if s.CurrentVersion != nil {
		version = *s.CurrentVersion
	}
	switch v.Kind {
	case protocol.VerifyVersionChanged:
		return s.Installed && version != v.PreviousVersion
	case protocol.VerifyVersionAtLeast:
		return s.Installed && !olderThan(version, v.Version)
	}
	return s.Installed
}

// olderThan compares versions by their numbers; what is no number compares as text.
func olderThan(a, b string) bool {
	as, bs := strings.FieldsFunc(a, separates), strings.FieldsFunc(b, separates)
	for i := range max(len(as), len(bs)) {
		x, y := "0", "0"
		if i < len(as) {
			x = as[i]
		}
		if i < len(bs) {
			y = bs[i]
		}
		n, errX := strconv.Atoi(x)
		m, errY := strconv.Atoi(y)
		switch {
		case errX == nil && errY == nil && n != m:
			return n < m
		case (errX != nil || errY != nil) && x != y:
			return x < y
		}
	}
	return false
}

func separates(r rune) bool { return r == '.' || r == '-' || r == '+' || r == 'v' }
