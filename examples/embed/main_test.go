package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
)

// runMain makes the test binary run the program instead of the tests.
const runMain = "BB_EMBED_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func program(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), runMain+"=1")
	return cmd
}

func TestAnswersInProcess(t *testing.T) {
	is := is.New(t)
	out, err := program(t.Context(), t).CombinedOutput()
	is.NoErr(err)
	is.Equal(string(out), "Hello, bb! <nil>\n")
}

func TestAnswersOverHTTP(t *testing.T) {
	is := is.New(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	is.NoErr(err)
	addr := ln.Addr().String()
	is.NoErr(ln.Close())

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	cmd := program(ctx, t, addr)
	is.NoErr(cmd.Start())
	defer func() {
		cancel()
		_ = cmd.Wait()
	}()
	is.True(strings.Contains(get(ctx, t, "http://"+addr+"/api/v1/hello-slot/greeter/greet?name=bb"), `"message":"Hello, bb!"`))
}

// get asks until the program answers.
func get(ctx context.Context, t *testing.T, url string) string {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the program did not answer: %v", err)
		}
	}
}

func TestMainHasFewerThanTwentyLines(t *testing.T) {
	is := is.New(t)
	src, err := os.ReadFile("main.go")
	is.NoErr(err)
	_, body, found := strings.Cut(string(src), "func main() {\n")
	is.True(found)
	is.True(strings.Count(body, "\n") < 20)
}
