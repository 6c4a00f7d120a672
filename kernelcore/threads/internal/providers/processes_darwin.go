package providers

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// processes lists the processes of this machine.
func processes() []process {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	list := make([]process, 0, len(all))
	for i := range all {
		if one, ok := processFrom(&all[i]); ok {
			list = append(list, one)
		}
	}
	return list
}

// processOf describes a process that runs.
func processOf(pid int) (process, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return process{}, false
	}
	return processFrom(k)
}

// zombie is the state of a process that has ended and is not reaped.
const zombie = 5

func processFrom(k *unix.KinfoProc) (process, bool) {
	start := k.Proc.P_starttime
	return process{
		PID: int(k.Proc.P_pid), Start: fmt.Sprintf("%020d.%06d", start.Sec, start.Usec), parent: int(k.Eproc.Ppid), group: int(k.Eproc.Pgid),
	}, k.Proc.P_stat != zombie
}

// olderThan tells whether a began before b.
func olderThan(a, b process) bool { return a.Start < b.Start }
