package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// The test binary is the program when this variable is set.
const asProgram = "BB_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// program returns the command that runs bb against a server, with a home of its own.
func program(t *testing.T, url string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "HOME="+home, "XDG_CACHE_HOME="+home, "XDG_CONFIG_HOME="+home, "LocalAppData="+home, "AppData="+home,
		"BB_SERVER_URL="+url, "BB_TOKEN=")
	return cmd
}

// endless serves one stream without end, which stops to send after items of them; left is closed when its reader has gone.
func endless(t *testing.T, items int) (url string, left chan struct{}) {
	t.Helper()
	follow := &kernelcontract.Stream[kernelcontract.None, int]{Ref: "demo/svc.follow", Summary: "Follow"}
	s := &kernelcontract.Service{ID: "demo/svc", Summary: "Demo", Methods: []kernelcontract.Method{follow}}
	def, err := s.Def()
	if err != nil {
		t.Fatal(err)
	}
	w, err := word.Of(def.Methods[0], def)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := docs.Of(def.Methods[0], w)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := manifest.Encode(&manifest.Manifest{Format: manifest.Format, ServerID: "s", Generation: 1, Problems: []manifest.Problem{},
		Plugins: []manifest.Plugin{{ID: "demo", State: manifest.Ready, Services: []manifest.Service{{ID: "demo/svc", Group: def.Group, Aliases: [][]string{}, Methods: []docs.MethodDoc{doc}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	left = make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Bb-Call-Id", "1")
		switch {
		case strings.HasSuffix(r.URL.Path, "/manifest"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"ok":true,"result":%s}`, raw)
		case strings.HasSuffix(r.URL.Path, "/follow"):
			defer close(left)
			w.Header().Set("Content-Type", "text/event-stream")
			for n := 0; r.Context().Err() == nil; n++ {
				if n == items {
					<-r.Context().Done()
					return
				}
				text, _ := json.Marshal(map[string]any{"seq": n, "text": strings.Repeat("x", 1000)})
				fmt.Fprintf(w, "event: item\ndata: %s\n\n", text)
				w.(http.Flusher).Flush()
			}
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, left
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

func TestHelpOfTheProgram(t *testing.T) {
	is := is.New(t)
	out, err := program(t, "http://127.0.0.1:1", "--help").Output()
	is.NoErr(err)
	is.True(strings.HasPrefix(string(out), "Usage: bb "))
}

// TestClosedPipeOfTheProgram proves that `bb … | head` ends quietly: no signal, no message.
func TestClosedPipeOfTheProgram(t *testing.T) {
	is := is.New(t)
	url, left := endless(t, -1)
	cmd := program(t, url, "svc", "follow")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	is.NoErr(err)
	is.NoErr(cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	is.NoErr(err)
	is.NoErr(out.Close())
	is.Equal(exitCode(cmd.Wait()), 0)
	is.Equal(errs.String(), "")
	<-left
}

// TestClosedPipeOfAnIdleStream proves that a stream with nothing to write ends too when its reader has gone.
func TestClosedPipeOfAnIdleStream(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there only a write tells
	}
	is := is.New(t)
	url, left := endless(t, 1)
	cmd := program(t, url, "svc", "follow")
	out, err := cmd.StdoutPipe()
	is.NoErr(err)
	is.NoErr(cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	is.NoErr(err)
	is.NoErr(out.Close())
	is.Equal(exitCode(cmd.Wait()), 0)
	<-left
}

// TestInterruptOfTheProgram proves that SIGINT closes the request and exits 130.
func TestInterruptOfTheProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // a process cannot be interrupted alone there
	}
	is := is.New(t)
	url, left := endless(t, 1)
	cmd := program(t, url, "svc", "follow")
	out, err := cmd.StdoutPipe()
	is.NoErr(err)
	is.NoErr(cmd.Start())
	lines := bufio.NewReader(out)
	_, err = lines.ReadString('\n')
	is.NoErr(err)
	is.NoErr(cmd.Process.Signal(os.Interrupt))
	_, err = io.Copy(io.Discard, lines)
	is.NoErr(err)
	is.Equal(exitCode(cmd.Wait()), 130)
	<-left
}
