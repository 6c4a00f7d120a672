//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// group is the process group of a child, whose number is that of its first process.
type group struct{}

func (group) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	return cmd.Start()
}

func (group) terminate(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func (group) kill(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

func (group) close() {}

// exitOf reads how a process ended.
func exitOf(s *os.ProcessState) Exit {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Exit{Code: -1, Signal: status.Signal().String()}
	}
	return Exit{Code: s.ExitCode()}
}
