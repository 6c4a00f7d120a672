//go:build unix

package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// TakeStdout returns standard output and lets everything else that writes there, C code and files opened before
// included, write to standard error.
func TakeStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_DUPFD_CLOEXEC, 3) // 0 to 2 keep their meaning
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := unix.Dup2(int(os.Stderr.Fd()), int(os.Stdout.Fd())); err != nil {
		return nil, os.NewSyscallError("dup2", err)
	}
	return os.NewFile(uintptr(fd), "stdout"), nil
}
