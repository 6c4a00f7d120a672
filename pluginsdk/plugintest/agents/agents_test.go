package agents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/pluginsdk/plugintest/agents"
)

func TestFind(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	t.Setenv("BB_AGENTS_DIR", dir)
	bin := filepath.Join(dir, "codex", "node_modules", "@openai", "codex-linux-x64", "vendor", "x86_64", "bin")
	is.NoErr(os.MkdirAll(bin, 0o700))
	is.NoErr(os.WriteFile(filepath.Join(bin, "codex"), nil, 0o700))
	is.Equal(agents.Codex(t), []string{filepath.Join(bin, "codex")})

	skipped := false
	t.Run("missing", func(t *testing.T) {
		agents.OpenCode(absent{t, func() { skipped = true }})
	})
	is.True(skipped)
}

// absent is a test that notes that it would be skipped.
type absent struct {
	testing.TB
	noted func()
}

func (a absent) Skipf(string, ...any) { a.noted() }

func ExampleDir() {
	_ = os.Setenv("BB_AGENTS_DIR", "agents-of-this-test")
	fmt.Println(agents.Dir())
	_ = os.Unsetenv("BB_AGENTS_DIR")
	// Output: agents-of-this-test
}
