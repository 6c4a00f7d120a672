//go:build unix

package process_test

import (
	"bufio"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"
)

func TestStopTerminatesThenKillsTheGroup(t *testing.T) {
	for program, want := range map[string]string{
		"polite":   "exited with status 7",
		"stubborn": "ended by signal: killed",
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			p := start(t, program)
			is.Equal(line(t, p.Stdout), "ready")
			is.Equal(p.Stop(background, time.Millisecond).String(), want)
		})
	}
}

// gone waits until no process of that number runs.
func gone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for running(pid) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there", pid)
		}
		runtime.Gosched()
	}
}

// running tells whether a process runs; one that has ended and is not reaped does not.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

func TestTheGroupEndsWithItsFirstProcess(t *testing.T) {
	is := is.New(t)
	p := start(t, "parent")
	out := bufio.NewReader(p.Stdout)
	first, err := out.ReadString('\n')
	is.NoErr(err)
	if first == "ready\n" { // of the grandchild, which may be the faster one
		first, err = out.ReadString('\n')
		is.NoErr(err)
	}
	_, number, _ := strings.Cut(strings.TrimSpace(first), " ")
	pid, err := strconv.Atoi(number)
	is.NoErr(err)
	is.Equal(wait(t, p).String(), "exited with status 0") // although the grandchild holds every pipe
	_, err = io.ReadAll(out)
	is.NoErr(err)
	gone(t, pid)
}

func TestTheChildDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // elsewhere a child learns of it by the end of its input
	}
	is := is.New(t)
	middle := start(t, "middle")
	pid, err := strconv.Atoi(line(t, middle.Stdout))
	is.NoErr(err)
	is.True(running(pid))
	syscall.Kill(middle.PID(), syscall.SIGKILL) // the middle one only, not its group
	wait(t, middle)
	gone(t, pid)
}

func TestNoFileIsLeftOpen(t *testing.T) {
	is := is.New(t)
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0
		}
		return len(files)
	}
	p := start(t, "echo")
	p.Stop(background, 30*time.Second)
	p.Stdout.Close()
	before := open()
	for range 5 {
		p := start(t, "echo")
		p.Stop(background, 30*time.Second)
		p.Stdout.Close()
	}
	is.True(open() <= before)
}
