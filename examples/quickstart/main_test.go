package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// runMain makes the test binary run the program instead of the tests.
const runMain = "BB_QUICKSTART_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" || len(os.Args) == 2 && os.Args[1] == bridgeWord {
		main()
		return
	}
	os.Exit(m.Run())
}

// steps are the stations of the tour in their order, with what comes back from each.
var steps = []struct{ name, want string }{
	{"http", `200 OK {"ok":true,"result":{"message":"Hello, bb!","count":0}}`},
	{"sdk", "{Message:Hello, bb! Count:1}"},
	{"cli", "→ Welcome, bb! (greeted 1 times)"},
	{"tool", `{"success":true,"content":[{"type":"text","text":"Hello, bb! (greeted 1 times)"}]}`},
	{"docs", "bb hello greet <name> [--salutation <string>]"},
	{"thread", `→ completed, "Hello from an agent!"`},
}

func check(t *testing.T, output string) {
	t.Helper()
	is := is.New(t)
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	is.Equal(len(lines), len(steps))
	for i, step := range steps {
		is.True(strings.HasPrefix(lines[i], step.name+": "))
		is.True(strings.HasSuffix(lines[i], step.want))
	}
}

func TestTourCallsEverySurface(t *testing.T) {
	is := is.New(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var out bytes.Buffer
	is.NoErr(tour(t.Context(), &out))
	check(t, out.String())
	left, err := os.ReadDir(temp)
	is.NoErr(err)
	is.Equal(len(left), 0) // it cleans up
}

// The program minds no server of its user.
func TestProgramExitsZero(t *testing.T) {
	is := is.New(t)
	self, err := os.Executable()
	is.NoErr(err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), runMain+"=1", "BB_SERVER_URL=http://127.0.0.1:1", "BB_TOKEN=bbt_nonsense", "BB_THREAD_ID=t-1")
	out, err := cmd.Output()
	is.NoErr(err)
	check(t, string(out))
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no one reads") }

func TestTourStopsTheKernelWhenItFails(t *testing.T) {
	is := is.New(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	is.True(tour(t.Context(), brokenWriter{}) != nil)
	left, err := os.ReadDir(temp)
	is.NoErr(err)
	is.Equal(len(left), 0)
}
