package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/bb-kernel/bb/bridgekit"
	bridgeprocess "github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
)

// Bounds of installations.
const (
	// InstallTimeout bounds the command: packages of agents are large, and networks slow.
	InstallTimeout = 30 * time.Minute
	// installGrace is how long the command has to end when nobody waits for it any more.
	installGrace = 2 * time.Second
	// installPiece bounds one piece of output, in bytes.
	installPiece = 32 << 10
)

// Install installs a provider's agent or brings it up to date: the bridge names the command, which runs here; what it
// prints is yielded as it comes, and the last piece says whether the bridge finds the result that it wanted. The command
// ends with the stream. The error is threadapi.Unsupported when the provider cannot be installed this way, and
// kernelcontract.Conflict while it is being installed.
func (p *Pool) Install(ctx context.Context, in threadapi.InstallInput) (iter.Seq2[threadapi.InstallOutput, error], error) {
	one, s, err := p.find(in.ID)
	switch {
	case err != nil:
		return nil, err
	case !one.Declaration.Maintenance.Installation:
		hint := ""
		if url := one.Declaration.Strings.InstallURL; url != "" {
			hint = "; see " + url
		}
		return nil, threadapi.Unsupported.Errorf("the provider %s cannot be installed from here%s", in.ID, hint)
	}
	var result protocol.InstallationRunResult
	err = p.ask(ctx, s, func(b *Bridge) (err error) {
		result, err = b.InstallationRun(ctx, protocol.InstallationRunParams{ProviderParams: b.about(""), Action: protocol.InstallAction(in.Action)})
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !result.Available:
		return nil, threadapi.Unsupported.Errorf("%s", result.Message)
	}
	if !s.beginInstall() {
		return nil, errBusy(in.ID)
	}
	return func(yield func(threadapi.InstallOutput, error) bool) {
		defer s.endInstall()
		if !yield(threadapi.InstallOutput{Command: result.Command.DisplayCommand}, nil) {
			return
		}
		ok := true
		failure := runInstall(ctx, one, result.Command, func(text string) bool {
			ok = yield(threadapi.InstallOutput{Text: text}, nil)
			return ok
		})
		if !ok {
			return
		}
		if err := context.Cause(ctx); err != nil {
			yield(threadapi.InstallOutput{}, err)
			return
		}
		p.installedAnew(ctx, s)
		if failure == nil {
			failure = p.verify(ctx, s, *result.Verification)
		}
		if failure != nil {
			if yield(threadapi.InstallOutput{Text: failure.Error() + "\n", Done: true}, nil) {
				yield(threadapi.InstallOutput{}, threadapi.ProviderUnavailable.Errorf("%s", failure))
			}
			return
		}
		s.content()
		yield(threadapi.InstallOutput{Done: true, OK: true}, nil)
	}, nil
}

func (s *slot) beginInstall() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.installing {
		return false
	}
	s.installing = true
	return true
}

func (s *slot) endInstall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.installing = false
}

// installedAnew forgets what was known of the agent, and lets its processes begin anew: questions at once, sessions when
// their threads rest.
func (p *Pool) installedAnew(ctx context.Context, s *slot) {
	s.models.clear()
	s.installed.clear()
	s.maintenance.restart(ctx)
	if b := s.sessions.current(); b != nil {
		p.askForRestart(b, "the agent was installed anew")
	}
}

// runInstall runs the command and hands its output to out, until that has enough. The error says how it failed.
func runInstall(ctx context.Context, one kernelcore.Provider, c *protocol.InstallCommand, out func(string) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, InstallTimeout, fmt.Errorf("the command took longer than %s", InstallTimeout))
	defer cancel()
	pieces := make(chan []byte)
	over := make(chan struct{}) // nobody takes pieces any more
	send := func(b []byte) {
		select {
		case pieces <- append([]byte(nil), b...):
		case <-over:
		}
	}
	proc, err := bridgeprocess.Start(ctx, bridgeprocess.Options{
		Command: append([]string{c.Command}, c.Args...), OnStderr: send,
		Env: bridgekit.ChildEnv(os.Environ(), one.Declaration.Env.Passthrough, nil),
	})
	if err != nil {
		return err
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		buf := make([]byte, installPiece)
		for {
			n, err := proc.Stdout.Read(buf)
			if n > 0 {
				send(buf[:n])
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					proc.Kill()
				}
				return
			}
		}
	})
	reading.Go(func() { <-proc.Done() }) // standard error has been read
	finished := make(chan struct{})
	go func() { // ends with the process
		reading.Wait()
		close(finished)
	}()
	_ = proc.Stdin.Close() // nobody answers questions here
	var rest []byte        // the beginning of a rune
	for {
		select {
		case piece := <-pieces:
			text, tail := wholeRunes(append(rest, piece...))
			rest = tail
			if text == "" || out(text) {
				continue
			}
		case <-ctx.Done():
		case <-finished:
			exit, _ := proc.Wait(context.WithoutCancel(ctx))
			if exit.Code != 0 {
				return fmt.Errorf("the command %s", exit)
			}
			return nil
		}
		close(over)
		proc.Stop(context.WithoutCancel(ctx), installGrace)
		<-finished
		return context.Cause(ctx)
	}
}

// wholeRunes cuts a rune that is not complete off the end of b, and makes the rest text.
func wholeRunes(b []byte) (text string, tail []byte) {
	end := len(b)
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if i := len(b) - back; utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				end = i
			}
			break
		}
	}
	return strings.ToValidUTF8(string(b[:end]), "\uFFFD"), b[end:]
}

// verify checks what an installation did, as the bridge asked. The error says what is missing.
func (p *Pool) verify(ctx context.Context, s *slot, v protocol.InstallVerification) error {
	status, err := p.installation(ctx, s, false)
	if err != nil {
		return fmt.Errorf("the command has ended, but the agent cannot be looked at: %w", err)
	}
	version := deref(status.CurrentVersion)
	switch {
	case !status.Installed:
		return fmt.Errorf("the command has ended, but %s is not found", status.ExecutableName)
	case v.Kind == protocol.VerifyVersionChanged && version == v.PreviousVersion:
		return fmt.Errorf("the command has ended, but %s still has version %s", status.ExecutableName, version)
	case v.Kind == protocol.VerifyVersionAtLeast && compareVersions(version, v.Version) < 0:
		return fmt.Errorf("the command has ended, but %s has version %s instead of %s or later", status.ExecutableName, version, v.Version)
	}
	return nil
}

// compareVersions compares versions such as 1.2.10 and v1.3.0-rc.1 number by number; what comes before a release is less
// than the release, and no version less than any.
func compareVersions(a, b string) int {
	split := func(v string) (numbers []string, pre string) {
		v = strings.TrimPrefix(strings.TrimSpace(v), "v")
		v, _, _ = strings.Cut(v, "+")
		v, pre, _ = strings.Cut(v, "-")
		return strings.Split(v, "."), pre
	}
	an, ap := split(a)
	bn, bp := split(b)
	for i := range max(len(an), len(bn)) {
		at := func(n []string) int {
			if i >= len(n) {
				return 0
			}
			number, err := strconv.Atoi(n[i])
			if err != nil {
				return -1
			}
			return number
		}
		if x, y := at(an), at(bn); x != y {
			return cmp.Compare(x, y)
		}
	}
	switch {
	case ap == bp:
		return 0
	case ap == "":
		return 1
	case bp == "":
		return -1
	}
	return strings.Compare(ap, bp)
}
