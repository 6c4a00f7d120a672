package providers

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// stat is what /proc tells about a process.
type stat struct {
	parent, group, session int
	start                  string
	zombie                 bool
}

// statOf reads /proc/<pid>/stat; ok is false when there is no such process.
func statOf(pid int) (s stat, ok bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	// The name of the program stands in parentheses and may hold any character.
	_, rest, found := cutLast(string(raw), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return stat{}, false
	}
	s.zombie = fields[0] == "Z"
	s.parent, _ = strconv.Atoi(fields[1])
	s.group, _ = strconv.Atoi(fields[2])
	s.session, _ = strconv.Atoi(fields[3])
	s.start = fields[19]
	return s, true
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// bootID names the boot that start times count from.
func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// startOf returns when a process began, "" when there is none.
func startOf(pid int) string {
	s, ok := statOf(pid)
	if !ok {
		return ""
	}
	return bootID() + "/" + s.start
}

// members returns the processes of a group that have not ended.
func members(group int) []int {
	var pids []int
	for _, pid := range allProcesses() {
		if s, ok := statOf(pid); ok && s.group == group && !s.zombie {
			pids = append(pids, pid)
		}
	}
	return pids
}

// allProcesses returns the numbers of all processes.
func allProcesses() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// hasGroup tells whether the group of a process still is the one that it headed: its number cannot be given away while the
// group has members, so that it is, unless another process of the number lives.
func hasGroup(head process) bool {
	boot, _, _ := strings.Cut(head.Start, "/")
	if head.Start == "" || head.PID <= 1 || boot != bootID() {
		return false
	}
	if now, ok := statOf(head.PID); ok && boot+"/"+now.start != head.Start {
		return false
	}
	return len(members(head.PID)) > 0
}

// killGroup kills the group that a process heads, or headed, and returns how many it had.
func killGroup(head process) int {
	if !hasGroup(head) {
		return 0
	}
	n := len(members(head.PID))
	if syscall.Kill(-head.PID, syscall.SIGKILL) != nil {
		return 0
	}
	return n
}

// descendants returns the heads of the groups of a process's descendants, but for its own group.
func descendants(pid int) []process {
	own, ok := statOf(pid)
	if !ok {
		return nil
	}
	stats := map[int]stat{}
	for _, other := range allProcesses() {
		if s, ok := statOf(other); ok {
			stats[other] = s
		}
	}
	var out []process
	for other, s := range stats {
		if s.group != other || s.group == own.group || s.zombie {
			continue
		}
		for up, steps := other, 0; up > 1 && steps < len(stats); up, steps = stats[up].parent, steps+1 {
			if up == pid {
				out = append(out, process{PID: other, Start: bootID() + "/" + s.start})
				break
			}
		}
	}
	return out
}
