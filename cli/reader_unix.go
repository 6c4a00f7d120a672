//go:build unix

package cli

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// watchReader calls gone when nobody can read any more what is written to a pipe: a stream that has nothing to say would
// not find out by writing. The function that it returns ends the watch and waits for it.
func watchReader(w *os.File, gone func()) (stop func()) {
	info, err := w.Stat()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return func() {}
	}
	wake, woken, err := os.Pipe()
	if err != nil {
		return func() {} // the next write finds out
	}
	watched, ended := int32(w.Fd()), make(chan struct{})
	go func() {
		defer close(ended)
		fds := []unix.PollFd{{Fd: watched}, {Fd: int32(wake.Fd()), Events: unix.POLLIN}}
		for {
			if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
				return
			} else if err == nil {
				break
			}
		}
		if fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			gone()
		}
	}()
	return func() {
		_ = woken.Close() // wakes the watch
		<-ended
		_ = wake.Close()
	}
}
