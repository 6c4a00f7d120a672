//go:build unix

package threads_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// kill kills a process as the system does when memory runs out.
func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// alive tells whether a process runs. One that has ended and whose parent has not asked for it does not.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		if _, rest, ok := strings.Cut(string(stat), ") "); ok {
			return !strings.HasPrefix(rest, "Z")
		}
	}
	return true
}
