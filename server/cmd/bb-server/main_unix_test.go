//go:build unix

package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/matryer/is"
)

// runMain makes the test binary run the program instead of the tests.
const runMain = "BB_SERVER_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" || len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "bridge-") {
		main()
	}
	os.Exit(m.Run())
}

// start runs the program and returns it with its URL and what it logs.
func start(t *testing.T) (cmd *exec.Cmd, url string, log *bufio.Reader) {
	t.Helper()
	return startIn(t, t.TempDir())
}

// startIn runs the program on a data directory.
func startIn(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, url string, log *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self, append([]string{"--listen", "127.0.0.1:0", "--data-dir", dir}, args...)...)
	cmd.Env = append(os.Environ(), runMain+"=1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(strings.TrimPrefix(line, "bb-server listening on ")), bufio.NewReader(stderr)
}

func TestServesTheExamples(t *testing.T) {
	is := is.New(t)
	_, url, _ := start(t)
	for _, path := range []string{"/api/v1/hello-slot/greeter/greet?name=bb", "/api/v1/notes-fixture/notes/list"} {
		res, err := http.Get(url + path)
		is.NoErr(err)
		is.NoErr(res.Body.Close())
		is.Equal(res.StatusCode, 200)
	}
}

func TestSignalsEndGracefully(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			is := is.New(t)
			cmd, _, _ := start(t)
			is.NoErr(cmd.Process.Signal(sig))
			is.NoErr(cmd.Wait()) // exit 0
		})
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	is := is.New(t)
	cmd, url, stderr := start(t)
	// A request that is never finished holds up a graceful end.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/notes-fixture/notes/follow", nil)
	is.NoErr(err)
	res, err := http.DefaultClient.Do(req)
	is.NoErr(err)
	defer res.Body.Close()
	is.NoErr(cmd.Process.Signal(syscall.SIGTERM))
	for line := ""; !strings.Contains(line, "stopping"); { // the first one has arrived
		line, err = stderr.ReadString('\n')
		is.NoErr(err)
	}
	is.NoErr(cmd.Process.Signal(syscall.SIGTERM))
	err = cmd.Wait()
	exit, ok := err.(*exec.ExitError)
	is.True(ok)
	is.Equal(exit.ExitCode(), 130)
}
