package bridgecheck_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/conformance/bridgecheck"
)

// patience bounds every run against a bad bridge: each must end long before.
const patience = 2 * time.Minute

// badBridges are programs that are no bridges. None may hang the kit or outlive it.
func badBridges() map[string]func() {
	return map[string]func(){
		"never answers":                func() { readAll() },
		"exits at once":                func() { fmt.Fprintln(os.Stderr, "no agent is installed"); os.Exit(3) },
		"prints garbage":               func() { fmt.Println("hello, I am a program"); fmt.Println("{{{"); readAll() },
		"answers with garbage":         func() { eachLine(func(string) { fmt.Println(`{"jsonrpc":"2.0","id":1,"result":7}`) }) },
		"closes standard output":       func() { os.Stdout.Close(); readAll() },
		"ignores every request to end": func() { signal.Ignore(syscall.SIGTERM, os.Interrupt); block() },
		"never reads": func() {
			fmt.Println(`{"jsonrpc":"2.0","id":"q","method":"tool/call","params":{}}`)
			block()
		},
		"floods": func() {
			w := bufio.NewWriterSize(os.Stdout, 1<<16)
			for {
				if _, err := w.WriteString(`{"jsonrpc":"2.0","method":"bridge/log","params":{}}` + "\n"); err != nil {
					return
				}
			}
		},
		"one endless line": func() {
			chunk := strings.Repeat("x", 1<<20)
			for {
				if _, err := os.Stdout.WriteString(chunk); err != nil {
					return
				}
			}
		},
		"shows its folders": func() {
			for _, name := range []string{"BB_PLUGIN_DATA_DIR", "BB_PLUGIN_TEMP_DIR"} {
				dir := os.Getenv(name)
				info, err := os.Stat(dir)
				fmt.Fprintln(os.Stderr, dir, err == nil && info.IsDir())
			}
		},
		"fills standard error": func() {
			os.Stderr.WriteString(strings.Repeat("noise\n", 2<<20))
			os.Exit(1)
		},
	}
}

func runBad(name string) {
	if f := os.Getenv("BB_CONFORMANCE_PIDS"); f != "" {
		if file, err := os.OpenFile(f, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintln(file, os.Getpid())
			file.Close()
		}
	}
	badBridges()[name]()
}

func readAll() { eachLine(func(string) {}) }

func eachLine(do func(string)) {
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		do(s.Text())
	}
}

// emptyFixture needs nothing of a bridge but that it speaks the protocol.
func emptyFixture(t *testing.T, env map[string]string) bridgecheck.Fixture {
	t.Helper()
	f, err := bridgecheck.ParseFixture([]byte(smallest))
	if err != nil {
		t.Fatal(err)
	}
	f.TimeoutMs = 500
	f.Profiles = []bridgecheck.Profile{{Env: env}}
	return f
}

// TestBadBridges holds the kit to its own promise: a report, no hang, no process left.
func TestBadBridges(t *testing.T) {
	for name := range badBridges() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			pids := filepath.Join(t.TempDir(), "pids")
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			f := emptyFixture(t, map[string]string{badEnv: name, "BB_CONFORMANCE_PIDS": pids})
			report, err := bridgecheck.Run(ctx, []string{os.Args[0]}, f, bridgecheck.Options{StartAllowance: 5 * time.Second})
			is.NoErr(err)
			is.True(report.Failed > 0)
			is.Equal(report.Passed, 0)
			first := find(report, "handshake/initialize")
			is.Equal(first.Status, bridgecheck.Fail)
			is.True(first.Detail != "")
			t.Log(first.Detail)
			if name == "exits at once" {
				is.True(strings.Contains(first.Profiles[0].Stderr, "no agent is installed"))
				is.Equal(first.Profiles[0].Exit, "exited with status 3")
			}
			for _, pid := range recorded(t, pids) {
				is.True(!alive(pid)) // a process is left
			}
		})
	}
}

// TestFolders looks at the folders that a bridge is given: they are there, differ from run to run, and are gone at the
// end.
func TestFolders(t *testing.T) {
	is := is.New(t)
	seen := map[string]bool{}
	for range 2 {
		f := emptyFixture(t, map[string]string{badEnv: "shows its folders"})
		o := bridgecheck.Options{Env: append(os.Environ(), "BB_PLUGIN_DATA_DIR=/elsewhere"), Rules: []string{"handshake/initialize"}}
		report, err := bridgecheck.Run(t.Context(), []string{os.Args[0]}, f, o)
		is.NoErr(err)
		told := strings.Split(strings.TrimSpace(find(report, "handshake/initialize").Profiles[0].Stderr), "\n")
		is.Equal(len(told), 2)
		for _, line := range told {
			dir, there, _ := strings.Cut(line, " ")
			is.Equal(there, "true")
			is.True(!seen[dir])
			seen[dir] = true
			_, err := os.Stat(dir)
			is.True(os.IsNotExist(err))
		}
	}
}

// TestCancelled ends a run in the middle.
func TestCancelled(t *testing.T) {
	is := is.New(t)
	pids := filepath.Join(t.TempDir(), "pids")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := emptyFixture(t, map[string]string{badEnv: "never answers", "BB_CONFORMANCE_PIDS": pids})
	done := make(chan error)
	go func() {
		_, err := bridgecheck.Run(ctx, []string{os.Args[0]}, f, bridgecheck.Options{StartAllowance: patience})
		done <- err
	}()
	for deadline := time.Now().Add(patience); len(recorded(t, pids)) == 0 && time.Now().Before(deadline); {
		select {
		case err := <-done:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	select {
	case err := <-done:
		is.True(err != nil)
	case <-time.After(patience):
		t.Fatal("a cancelled run goes on")
	}
	for _, pid := range recorded(t, pids) {
		is.True(!alive(pid))
	}
}

// TestNoBridge starts what is not there.
func TestNoBridge(t *testing.T) {
	is := is.New(t)
	report, err := bridgecheck.Run(t.Context(), []string{"no-such-program-anywhere"}, emptyFixture(t, nil), bridgecheck.Options{})
	is.NoErr(err)
	first := find(report, "handshake/initialize")
	is.Equal(first.Status, bridgecheck.Fail)
	is.True(strings.Contains(first.Detail, "no-such-program-anywhere"))
	is.Equal(report.Passed, 0)
	is.Equal(report.Failed, 1) // everything else is blocked
}

func find(r *bridgecheck.Report, rule string) bridgecheck.Result {
	for _, result := range r.Results {
		if result.Rule == rule {
			return result
		}
	}
	return bridgecheck.Result{}
}

func recorded(t *testing.T, path string) []int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var pids []int
	for text := range strings.FieldsSeq(string(data)) {
		var pid int
		if _, err := fmt.Sscan(text, &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// block keeps a process alive until it is killed.
func block() { <-time.After(24 * time.Hour) }
