package sqlitestore_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// The test binary runs itself again for what needs a process of its own: to be killed, to hit a
// limit, to lose privileges, to come second.
const childVariable = "SQLITESTORE_TEST_CHILD"

var children = map[string]func(dir string) error{
	"acknowledge": acknowledgeUntilKilled,
	"open":        openOnly,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		run := children[name]
		if run == nil {
			run = limitedChildren[name]
		}
		if err := run(os.Args[1]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child returns the command that runs a child on dir.
func child(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, dir)
	cmd.Env = append(os.Environ(), childVariable+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// output runs a child and returns what it printed.
func output(t *testing.T, name, dir string) string {
	t.Helper()
	out, err := child(t, name, dir).Output()
	if err != nil {
		t.Logf("child %s: %v", name, err)
	}
	return string(bytes.TrimSpace(out))
}
