package providers_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// agentWord makes the test's own program the bridge of an agent whose inputs say what it does. The word after it is the
// file whose lines are its starts, the next one a way to behave.
const agentWord = "run-the-agent"

// leaverWord makes it a server that has a bridge and then waits to be killed.
const leaverWord = "run-the-leaver"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == agentWord:
		serveAgent(os.Args[2], os.Args[3])
	case len(os.Args) == 3 && os.Args[1] == leaverWord:
		leave(os.Args[2])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// declaration is what the agent declares.
func declaration() protocol.ProviderDeclaration {
	return protocol.ProviderDeclaration{
		ID: "agent", DisplayName: "Agent", Icon: "flask", Visibility: protocol.VisibleAlways,
		Strings:         protocol.ProviderStrings{SignInHint: "run `agent login`", ExpiredHint: "sign in again", InstallURL: "https://agent.example"},
		Capabilities:    protocol.Capabilities{Fork: protocol.ForkNone, Steer: protocol.SteerNone, ApprovalEnforcedBy: protocol.EnforcedByRuntime},
		PermissionModes: []protocol.PermissionMode{protocol.ModeFull},
		Maintenance:     protocol.Maintenance{Health: true, Usage: true, Installation: true},
		Models: protocol.ModelSource{Catalog: protocol.CatalogBridge, Scope: protocol.ModelsPerWorkspace,
			Fallback: []protocol.ModelDecl{{ID: "fallback", Label: "Fallback"}}},
		Env: protocol.EnvAccess{Passthrough: []string{"AGENT_KEY"}},
	}
}

func serveAgent(starts, behaviour string) {
	f, err := os.OpenFile(starts, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, os.Getpid())
		f.Close()
	}
	raw, _ := os.ReadFile(starts)
	n := strings.Count(string(raw), "\n")
	if behaviour == "fails" || behaviour == "fails-once" && n == 1 {
		fmt.Fprintln(os.Stderr, "the agent's config is broken")
		os.Exit(3)
	}
	var asked atomic.Int64
	a := &agentBridge{starts: starts}
	bridgekit.Main(bridgekit.Bridge[string]{
		Declarations: []protocol.ProviderDeclaration{declaration()},
		ThreadStart: func(_ context.Context, t *bridgekit.Thread, p protocol.SessionParams) (string, protocol.SessionIdentity, error) {
			return t.ID(), protocol.SessionIdentity{ProviderThreadID: "agent-" + t.ID()}, nil
		},
		TurnStart:     func(_ string, _ context.Context, p protocol.TurnStartParams) error { return a.do(p.Text()) },
		ThreadStop:    func(string, context.Context, protocol.ThreadStopParams) error { return nil },
		ThreadDiscard: func(string, context.Context, protocol.ThreadRef) error { return nil },
		Shutdown:      func(context.Context, protocol.ShutdownParams) error { return nil },
		ModelList: func(_ context.Context, p protocol.ProviderParams) (protocol.ModelListResult, error) {
			if behaviour == "no-models" {
				return protocol.ModelListResult{}, protocol.BridgeError.Errorf("the account has no models")
			}
			id := fmt.Sprintf("%s#%d", p.Cwd, asked.Add(1))
			return protocol.ModelListResult{Models: []protocol.ModelDecl{{ID: id, Label: id, IsDefault: true}}}, nil
		},
		ProviderHealth: func(context.Context, protocol.ProviderParams) (protocol.HealthResult, error) {
			status := protocol.HealthReady
			if behaviour == "signed-out" {
				status = protocol.HealthUnauthenticated
			}
			return protocol.HealthResult{Health: protocol.ProviderHealth{Status: status, InstalledVersion: protocol.Ptr("1.0")}}, nil
		},
		ProviderUsage: func(context.Context, protocol.ProviderParams) (protocol.UsageResult, error) {
			return protocol.UsageResult{Usage: protocol.ProviderUsage{Status: protocol.UsageOK}}, nil
		},
		InstallationStatus: func(context.Context, protocol.InstallationStatusParams) (protocol.InstallationStatusResult, error) {
			return protocol.InstallationStatusResult{Status: a.status()}, nil
		},
		InstallationRun: func(_ context.Context, p protocol.InstallationRunParams) (protocol.InstallationRunResult, error) {
			return a.install(behaviour, p.Action)
		},
	})
}

type agentBridge struct{ starts string }

// do does what an input says.
func (a *agentBridge) do(text string) error {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "exit":
		code, _ := strconv.Atoi(rest)
		fmt.Fprintln(os.Stderr, "the agent gives up")
		os.Exit(code)
	case "env":
		return os.WriteFile(rest, []byte(strings.Join(os.Environ(), "\n")), 0o600)
	case "run": // a shell in the bridge's group, or one that leaves it with setsid; it says its number in a file
		cmd := exec.Command("sh", "-c", rest)
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() { _ = cmd.Wait() }() // ends with the program
	}
	return protocol.BridgeError.Errorf("no turn")
}

// status says that the agent is installed when its file is there, in the version that the file holds.
func (a *agentBridge) status() protocol.InstallationStatus {
	s := protocol.InstallationStatus{ExecutableName: "agent", InstallSource: protocol.SourceNotInstalled}
	if raw, err := os.ReadFile(a.starts + ".version"); err == nil {
		s.Installed, s.InstallSource, s.CurrentVersion = true, protocol.SourceExternal, protocol.Ptr(strings.TrimSpace(string(raw)))
	}
	return s
}

func (a *agentBridge) install(behaviour string, action protocol.InstallAction) (protocol.InstallationRunResult, error) {
	if behaviour == "managed" {
		return protocol.InstallationRunResult{Message: "the system administrator installs it"}, nil
	}
	script := "echo fetching; echo careful >&2; echo 2.0 > '" + a.starts + ".version'"
	v := &protocol.InstallVerification{Kind: protocol.VerifyInstalled}
	switch behaviour {
	case "install-fails":
		script = "echo no network; exit 4"
	case "install-does-nothing":
		script = "echo nothing to do"
	case "install-hangs":
		script = "echo waiting; sleep 600"
	case "same-version":
		script = "echo 1.0 > '" + a.starts + ".version'"
	}
	if action == protocol.ActionUpdate {
		v = &protocol.InstallVerification{Kind: protocol.VerifyVersionChanged, PreviousVersion: "1.0"}
		if behaviour == "at-least-3" {
			v = &protocol.InstallVerification{Kind: protocol.VerifyVersionAtLeast, Version: "3.0"}
		}
	}
	return protocol.InstallationRunResult{
		Available: true, Verification: v, Command: &protocol.InstallCommand{Command: "sh", Args: []string{"-c", script}, DisplayCommand: "install agent"},
	}, nil
}
