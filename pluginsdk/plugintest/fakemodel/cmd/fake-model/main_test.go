package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"
)

func TestServesUntilItsInputEnds(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "requests")
	stdin, end := io.Pipe()
	out, stdout := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(context.Background(), []string{"--requests", file}, stdin, stdout) }()
	url, err := bufio.NewReader(out).ReadString('\n')
	is.NoErr(err)
	r, err := http.Post(strings.TrimSpace(url)+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"SAY hi"}]}`))
	is.NoErr(err)
	body, err := io.ReadAll(r.Body)
	is.NoErr(err)
	is.NoErr(r.Body.Close())
	is.True(strings.Contains(string(body), `"hi"`))
	is.NoErr(end.Close())
	is.NoErr(<-done)
	seen, err := os.ReadFile(file)
	is.NoErr(err)
	is.True(strings.Contains(string(seen), "SAY hi"))
}
