package process

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent lets the kernel kill the child when the thread that starts it is gone.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// awaitExit waits until the first process has exited, but leaves it to be reaped: until then its number, which is that of
// the group, belongs to nobody else.
func (group) awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
