//go:build unix

package bridgecheck_test

import "syscall"

// alive reports whether the process exists.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
