//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// dieWithParent does nothing here: a child learns of its parent's death by the end of its standard input.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitExit waits until the first process has exited. It reaps it, too: not every system can wait without that. The group
// is killed right after.
func (group) awaitExit(cmd *exec.Cmd) { cmd.Wait() }
