//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// call calls a method over HTTP and reads its result: a query without an input, a mutation with one.
func call[T any](t *testing.T, address string, in any) T {
	t.Helper()
	var out T
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if in != nil {
		raw, jerr := json.Marshal(in)
		if jerr != nil {
			t.Fatal(jerr)
		}
		r, err = http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(raw))
		r.Header.Set("Content-Type", "application/json")
	}
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%s: %d %s %v", address, res.StatusCode, raw, err)
	}
	var envelope struct{ Result json.RawMessage }
	if json.Unmarshal(raw, &envelope) == nil && envelope.Result != nil {
		raw = envelope.Result
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s: %s: %v", address, raw, err)
	}
	return out
}

func providers(t *testing.T, address string, all string) (ids []string) {
	t.Helper()
	for _, p := range call[[]threadapi.Provider](t, address+"/api/v1/providers/providers/list?all="+all, nil) {
		ids = append(ids, p.ID)
	}
	return ids
}

// The server is its own bridge: nothing has to be installed to run a thread.
func TestRunsAThreadWithItsOwnBridge(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	cmd, address, _ := startIn(t, dir)
	thread := call[threadapi.Thread](t, address+"/api/v1/threads/threads/create", threadapi.CreateInput{
		ProviderID: "echo", Cwd: dir, Input: []threadapi.Part{threadapi.Text("good morning")},
	})
	waited := call[threadapi.WaitOutput](t, address+"/api/v1/threads/threads/wait?thread="+url.QueryEscape(thread.ID), nil)
	is.Equal(waited.Turn.Status, threadapi.TurnCompleted)
	rows := call[threadapi.TimelineOutput](t, address+"/api/v1/threads/threads/timeline?thread="+url.QueryEscape(thread.ID), nil)
	raw, err := json.Marshal(rows)
	is.NoErr(err)
	is.True(strings.Contains(string(raw), "good morning"))

	is.NoErr(cmd.Process.Kill()) // in no order at all
	_ = cmd.Wait()
	_, address, _ = startIn(t, dir)
	is.Equal(call[threadapi.Thread](t, address+"/api/v1/threads/threads/get?thread="+url.QueryEscape(thread.ID), nil).Status, threadapi.Idle)
	call[threadapi.Turn](t, address+"/api/v1/threads/threads/send", threadapi.SendInput{
		Thread: thread.ID, Input: []threadapi.Part{threadapi.Text("still there?")},
	})
	waited = call[threadapi.WaitOutput](t, address+"/api/v1/threads/threads/wait?thread="+url.QueryEscape(thread.ID), nil)
	is.Equal(waited.Turn.Status, threadapi.TurnCompleted)
}

func TestLeavesTheEchoProviderOut(t *testing.T) {
	is := is.New(t)
	_, address, _ := startIn(t, t.TempDir(), "--no-builtin-examples")
	is.True(!slices.Contains(providers(t, address, "true"), "echo"))
}

func TestOffersAgents(t *testing.T) {
	is := is.New(t)
	t.Setenv("PATH", t.TempDir()) // where nothing is installed
	dir := t.TempDir()
	is.NoErr(os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"agents": [{"id": "mine", "command": ["my-agent", "acp"]}]}`), 0o600))
	_, address, _ := startIn(t, dir)
	is.Equal(providers(t, address, "false"), []string{"echo", "mine"})
	is.Equal(providers(t, address, "true"), []string{"codex", "echo", "mine"})
	mine := call[threadapi.Provider](t, address+"/api/v1/providers/providers/get?id=mine", nil)
	is.Equal(mine.DisplayName, "mine")
	is.Equal(*mine.Installed, false)
}

// The words by which the program runs itself are for itself.
func TestBridgeWordsAreNotForPeople(t *testing.T) {
	is := is.New(t)
	self, err := os.Executable()
	is.NoErr(err)
	cmd := exec.CommandContext(t.Context(), self, "help")
	cmd.Env = append(os.Environ(), runMain+"=1")
	out, err := cmd.Output()
	is.NoErr(err)
	is.True(!strings.Contains(string(out), "bridge-"))
}
