package codex_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	codex "github.com/bb-kernel/bb/examples/provider-codex"
	"github.com/matryer/is"
)

func TestCodexTellsAboutItself(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	o, _ := realCodex(t, cwd)
	c := start(t, o, cwd)
	p := protocol.ProviderParams{ProviderID: "codex", Cwd: cwd}
	health, err := c.bridge.Health(c.ctx, p)
	is.NoErr(err)
	is.Equal(health.Health.Status, protocol.HealthReady)
	is.True(strings.Count(*health.Health.InstalledVersion, ".") == 2)
	usage, err := c.bridge.Usage(c.ctx, p)
	is.NoErr(err)
	is.Equal(usage.Usage.Status, protocol.UsageOK) // a key has no windows
	is.Equal(len(usage.Usage.Windows), 0)

	is.NoErr(os.Remove(filepath.Join(o.Home, "config.toml"))) // Codex as it comes, logged out
	models, err := c.bridge.ModelList(c.ctx, p)
	is.NoErr(err)
	is.True(len(models.Models) > 0)
	defaults := 0
	for _, m := range models.Models {
		is.True(len(m.ReasoningLevels) > 0)
		if m.IsDefault {
			defaults++
		}
	}
	is.Equal(defaults, 1)
	health, err = c.bridge.Health(c.ctx, p)
	is.NoErr(err)
	is.Equal(health.Health.Status, protocol.HealthUnauthenticated)
	is.Equal(*health.Health.LoginCommand, "codex login")
	usage, err = c.bridge.Usage(c.ctx, p)
	is.NoErr(err)
	is.Equal(usage.Usage.Status, protocol.UsageUnauthenticated)

	status, err := c.bridge.InstallationStatus(c.ctx, protocol.InstallationStatusParams{ProviderParams: p})
	is.NoErr(err)
	is.True(status.Status.Installed)
	is.Equal(*status.Status.CurrentVersion, *health.Health.InstalledVersion)
	c.clean()
}

func TestMissingCodex(t *testing.T) {
	is := is.New(t)
	cwd := t.TempDir()
	c := start(t, codex.Options{Command: []string{filepath.Join(cwd, "codex")}}, cwd)
	p := protocol.ProviderParams{ProviderID: "codex", Cwd: cwd}
	_, err := c.bridge.ThreadStart(c.ctx, c.params("t"))
	is.True(errors.Is(err, protocol.MissingExecutable))
	is.True(strings.Contains(err.Error(), "npm install -g @openai/codex"))
	_, err = c.bridge.ModelList(c.ctx, p)
	is.True(errors.Is(err, protocol.MissingExecutable))
	health, err := c.bridge.Health(c.ctx, p)
	is.NoErr(err)
	is.Equal(health.Health.Status, protocol.HealthNotInstalled)
	usage, err := c.bridge.Usage(c.ctx, p)
	is.NoErr(err)
	is.Equal(usage.Usage.Status, protocol.UsageNotInstalled)
	status, err := c.bridge.InstallationStatus(c.ctx, protocol.InstallationStatusParams{ProviderParams: p})
	is.NoErr(err)
	is.True(!status.Status.Installed)
	is.Equal(status.Status.InstallAction.Command, "npm install -g @openai/codex@latest")
	run, err := c.bridge.InstallationRun(c.ctx, protocol.InstallationRunParams{ProviderParams: p, Action: protocol.ActionInstall})
	is.NoErr(err)
	is.True(run.Available)
	is.Equal(fmt.Sprint(run.Command.Command, run.Command.Args), "npm[install -g @openai/codex@latest]")
	is.Equal(run.Verification.Kind, protocol.VerifyInstalled)
	run, err = c.bridge.InstallationRun(c.ctx, protocol.InstallationRunParams{ProviderParams: p, Action: protocol.ActionUpdate})
	is.NoErr(err)
	is.True(!run.Available)
}
