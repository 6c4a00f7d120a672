package providers

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
)

// bootID names this boot of the system: the clock that processes' starts are told by begins with it.
var bootID = sync.OnceValue(func() string {
	raw, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(raw))
})

// processes lists the processes of this machine.
func processes() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []process
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if one, ok := processOf(pid); ok {
				list = append(list, one)
			}
		}
	}
	return list
}

// processOf describes a process that runs.
func processOf(pid int) (process, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	one, ok := parseStat(raw)
	one.Start = bootID() + ":" + one.Start
	return one, ok && one.PID == pid
}

// parseStat reads /proc/<pid>/stat. A process that has ended and is not reaped does not count. Its name stands in
// parentheses and may have any bytes.
func parseStat(raw []byte) (process, bool) {
	open, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw[:open])))
	fields := strings.Fields(string(raw[end+1:]))
	const state, parent, group, start = 0, 1, 2, 19 // fields 3, 4, 5 and 22 of proc(5)
	if err != nil || len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return process{}, false
	}
	one := process{PID: pid, Start: fields[start]}
	if one.parent, err = strconv.Atoi(fields[parent]); err != nil {
		return process{}, false
	}
	if one.group, err = strconv.Atoi(fields[group]); err != nil {
		return process{}, false
	}
	return one, true
}

// olderThan tells whether a began before b, and with another boot that it has nothing to do with it.
func olderThan(a, b process) bool {
	aBoot, aTicks, _ := strings.Cut(a.Start, ":")
	bBoot, bTicks, _ := strings.Cut(b.Start, ":")
	x, errX := strconv.ParseUint(aTicks, 10, 64)
	y, errY := strconv.ParseUint(bTicks, 10, 64)
	return aBoot != bBoot || errX != nil || errY != nil || x < y
}
