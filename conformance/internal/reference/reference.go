// Package reference runs bb-server for the tests of this module, which shares no code with it.
package reference

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// program builds bb-server, once a process: from the repository when this module lies in it, else the published one.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "bb-servertest-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "bb-server")
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	cmd := exec.Command("go", "install", "github.com/bb-kernel/bb/server/cmd/bb-server@latest")
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "CGO_ENABLED=0")
	source := filepath.Join("..", "..", "server") // from the folder of a package, where its tests run
	if exists(filepath.Join(source, "go.mod")) {
		cmd = exec.Command("go", "build", "-o", file, "./cmd/bb-server")
		cmd.Dir, cmd.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", &buildError{string(out), err}
	}
	built.Store(&file)
	return file, nil
})

// built is the result of program, for Main.
var built atomic.Pointer[string]

// lifetime bounds a server: a test that hangs leaves none behind.
const lifetime = 10 * time.Minute

type buildError struct {
	output string
	err    error
}

func (e *buildError) Error() string {
	return "bb-server does not build: " + e.err.Error() + "\n" + e.output
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Main runs the tests of a package that calls Start, and removes what was built. It returns the exit status.
func Main(m *testing.M) int {
	code := m.Run()
	if file := built.Load(); file != nil {
		os.RemoveAll(filepath.Dir(*file))
	}
	return code
}

// Start runs bb-server on a free port with a data directory of its own until the test ends, and returns its address.
func Start(t *testing.T) (url string) {
	t.Helper()
	file, err := program()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	cmd := exec.CommandContext(ctx, file, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "BB_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	var log strings.Builder // read after Wait
	cmd.Stderr = &log
	cmd.Cancel = func() error { return cmd.Process.Kill() }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the server said:\n%s", log.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "bb-server listening on ")
	if !ok {
		t.Fatalf("the server does not start: %v, it says %q", err, line)
	}
	return url
}
