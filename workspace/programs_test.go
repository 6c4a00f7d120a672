package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// binDir is where builtPrograms puts the programs; TestMain removes it.
var binDir string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if binDir, err = os.MkdirTemp("", "bb-programs-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(binDir)
	return m.Run()
}

// builtPrograms builds bb and bb-server, and a stand-in for curl where there is none, once for all tests, and returns the folder that holds them.
var builtPrograms = func() func(t *testing.T) string {
	var (
		once sync.Once
		err  error
	)
	return func(t *testing.T) string {
		t.Helper()
		dir := root(t)
		once.Do(func() {
			programs := []string{"./cli/cmd/bb", "./server/cmd/bb-server"}
			if _, lacking := exec.LookPath("curl"); lacking != nil {
				programs = append(programs, "./workspace/cmd/curl")
			}
			cmd := exec.Command("go", append([]string{"build", "-o", binDir + string(filepath.Separator)}, programs...)...)
			cmd.Dir = dir
			var out []byte
			if out, err = cmd.CombinedOutput(); err != nil {
				err = fmt.Errorf("go build: %w\n%s", err, out)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return binDir
	}
}()
