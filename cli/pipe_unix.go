//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// watchPipe calls closed when nobody reads the pipe out any more, also while nothing is written to it. The function that
// it returns ends the watch and waits for it.
func watchPipe(out *os.File, closed func()) (stop func()) {
	wake, end, err := os.Pipe()
	if err != nil {
		return func() {} // the next write tells
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fds := []unix.PollFd{{Fd: int32(out.Fd())}, {Fd: int32(wake.Fd()), Events: unix.POLLIN}}
		for {
			_, err := unix.Poll(fds, -1)
			switch {
			case err == unix.EINTR:
				continue
			case err == nil && fds[1].Revents == 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0:
				closed()
			}
			return
		}
	}()
	return func() {
		_ = end.Close() // wakes the watch, which cannot fail to see it
		<-done
		_ = wake.Close() // nothing was written to it
	}
}
