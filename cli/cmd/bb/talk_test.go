package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// stubborn serves a thread whose turn cannot be stopped; stopping tells of the attempt.
func stubborn(t *testing.T) (url string, stopping chan struct{}) {
	t.Helper()
	def, err := threadapi.Threads.Def()
	if err != nil {
		t.Fatal(err)
	}
	service := manifest.Service{ID: def.ID(), Group: def.Group, Aliases: [][]string{}}
	for _, d := range def.Methods {
		w, err := word.Of(d, def)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := docs.Of(d, w)
		if err != nil {
			t.Fatal(err)
		}
		service.Methods = append(service.Methods, doc)
	}
	raw, err := manifest.Encode(&manifest.Manifest{Format: manifest.Format, ServerID: "s", Generation: 1, Problems: []manifest.Problem{},
		Plugins: []manifest.Plugin{{ID: "threads", State: manifest.Ready, Services: []manifest.Service{service}}}})
	if err != nil {
		t.Fatal(err)
	}
	stopping = make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Bb-Call-Id", "1")
		answer := func(result string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"ok":true,"result":%s}`, result)
		}
		switch _, method, _ := strings.Cut(r.URL.Path, "/threads/threads/"); {
		case strings.HasSuffix(r.URL.Path, "/manifest"):
			answer(string(raw))
		case method == "get":
			answer(`{"id":"th1"}`)
		case method == "send":
			answer(`{"id":"tn1","status":"queued","clientRequestId":"r"}`)
		case method == "stop":
			_, _ = io.Copy(io.Discard, r.Body) // until it is read the server does not see that the client leaves
			close(stopping)
			<-r.Context().Done()
		case method == "events":
			event, _ := json.Marshal(threadapi.Event{Seq: 1, Type: "item.started", ItemID: "c", Payload: json.RawMessage(`{"item":{"kind":"command","command":"sleep 9"}}`)})
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: 1\nevent: item\ndata: %s\n\n", event)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, stopping
}

// TestSecondInterruptLeaves proves that a second SIGINT ends the program although the turn goes on.
func TestSecondInterruptLeaves(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // a process cannot be interrupted alone there
	}
	is := is.New(t)
	url, stopping := stubborn(t)
	cmd := program(t, url, "thread", "send", "th1", "hello")
	out, err := cmd.StdoutPipe()
	is.NoErr(err)
	is.NoErr(cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	is.NoErr(err)
	is.Equal(line, "$ sleep 9\n")
	is.NoErr(cmd.Process.Signal(os.Interrupt))
	<-stopping // the first one stops the turn
	is.NoErr(cmd.Process.Signal(os.Interrupt))
	is.True(cmd.Wait() != nil)
	is.True(!cmd.ProcessState.Success())
}
