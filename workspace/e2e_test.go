package workspace_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait of the end-to-end tests; on an idle machine each takes milliseconds.
const patience = time.Minute

// installation is the built programs with a data directory and a home of their own.
type installation struct {
	bin, data, home string
}

func install(t *testing.T) *installation {
	t.Helper()
	return &installation{bin: builtPrograms(t), data: filepath.Join(t.TempDir(), "data"), home: t.TempDir()}
}

// command prepares one of the programs, in an environment that knows of no other server.
func (i *installation) command(ctx context.Context, url, program string, args ...string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	cmd := exec.CommandContext(ctx, filepath.Join(i.bin, program), args...)
	cmd.Dir = i.home
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "BB_") && !strings.HasPrefix(name, "XDG_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+i.home, "LOCALAPPDATA="+i.home, "APPDATA="+i.home, "BB_DATA_DIR="+i.data)
	if url != "" {
		cmd.Env = append(cmd.Env, "BB_SERVER_URL="+url)
	}
	cmd.WaitDelay = patience
	return cmd
}

// bb runs one bb command to its end and returns what it wrote to stdout; it must exit with 0.
func (i *installation) bb(t *testing.T, url string, args ...string) string {
	t.Helper()
	return output(t, i.command(deadline(t), url, "bb", args...))
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\nstdout: %s\nstderr: %s", strings.Join(cmd.Args, " "), err, out, stderr.String())
	}
	return string(out)
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// process is a program that runs until it is killed, with the lines it prints.
type process struct {
	cmd   *exec.Cmd
	lines chan string // closed at the end of its output
	log   *bytes.Buffer
}

func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, lines: make(chan string, 1000), log: new(bytes.Buffer)}
	cmd.Stderr = p.log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the process as kill -9 does and waits for it.
func (p *process) kill() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended by itself
	for range p.lines {      // Wait must not run before the output is read
	}
	_ = p.cmd.Wait()
}

// next returns the next line printed.
func (p *process) next(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			_ = p.cmd.Wait()
			t.Fatalf("%s ended: %v\n%s", strings.Join(p.cmd.Args, " "), p.cmd.ProcessState, p.log)
		}
		return line
	case <-time.After(patience):
		t.Fatalf("%s printed nothing more within %v", strings.Join(p.cmd.Args, " "), patience)
	}
	return ""
}

var readyLine = regexp.MustCompile(`^bb-server listening on (http://127\.0\.0\.1:\d+)$`)

// serve starts bb-server and returns it with its address, which it must print first.
func (i *installation) serve(t *testing.T, listen string) (*process, string) {
	t.Helper()
	p := start(t, i.command(t.Context(), "", "bb-server", "--listen", listen, "--data-dir", i.data))
	line := p.next(t)
	m := readyLine.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("the first line is %q, want %q", line, "bb-server listening on http://127.0.0.1:PORT")
	}
	return p, m[1]
}

// get fetches a URL and decodes the JSON answer.
func get(t *testing.T, url, authorization string) (status int, answer map[string]any, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(deadline(t), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("GET %s: %v in %s", url, err, body)
	}
	return res.StatusCode, answer, res.Header
}

const greet = "/api/v1/hello-slot/greeter/greet"

// TestEndToEnd uses the built programs as a person would, through a kill -9 of the server.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	i := install(t)
	server, url := i.serve(t, "127.0.0.1:0")

	status, answer, header := get(t, url+greet+"?name=bb", "")
	if status != 200 || fmt.Sprint(answer["result"]) != "map[count:0 message:Hello, bb!]" {
		t.Errorf("greet: %d %v", status, answer)
	}
	for _, name := range []string{"Bb-Call-Id", "Bb-Generation", "Bb-Deadline", "Bb-Server-Id"} {
		if header.Get(name) == "" {
			t.Errorf("greet answers without %s", name)
		}
	}
	status, answer, _ = get(t, url+greet+"?name=bb&nope=1", "")
	failure, _ := answer["error"].(map[string]any)
	issues, _ := failure["issues"].([]any)
	if status != 400 || failure["code"] != "invalid_input" || len(issues) != 1 || fmt.Sprint(issues[0].(map[string]any)["path"]) != "[nope]" {
		t.Errorf("greet with an unknown key: %d %v", status, answer)
	}

	if out := i.bb(t, url, "hello", "greet", "bb"); !strings.HasPrefix(out, "Hello, bb!") {
		t.Errorf("bb hello greet bb printed %q", out)
	}
	var greeting struct {
		Message string
		Count   int
	}
	if out := i.bb(t, url, "hello", "greet", "bb", "--json"); json.Unmarshal([]byte(out), &greeting) != nil || greeting.Message != "Hello, bb!" {
		t.Errorf("bb hello greet bb --json printed %q", out)
	}
	count := func(url string) (n int) {
		t.Helper()
		var counted struct{ Count int }
		out := i.bb(t, url, "hello", "count", "bb", "--json")
		if err := json.Unmarshal([]byte(out), &counted); err != nil {
			t.Fatalf("bb hello count bb --json printed %q: %v", out, err)
		}
		return counted.Count
	}
	if first, second := count(url), count(url); first != 1 || second != 2 {
		t.Errorf("two counts gave %d and %d", first, second)
	}

	server.kill()
	_, again := i.serve(t, strings.TrimPrefix(url, "http://"))
	if again != url {
		t.Errorf("the server came back at %s, want %s", again, url)
	}
	if n := count(url); n != 3 {
		t.Errorf("after kill -9 and a restart the count goes on with %d, want 3", n)
	}
}

// TestEndToEndFollow kills the server under bb notes follow: nothing is lost, nothing comes twice.
func TestEndToEndFollow(t *testing.T) {
	t.Parallel()
	i := install(t)
	server, url := i.serve(t, "127.0.0.1:0")
	add := func(names ...string) {
		t.Helper()
		for _, name := range names {
			i.bb(t, url, "notes", "add", name)
		}
	}
	add("note-1", "note-2")
	follow := start(t, i.command(t.Context(), url, "bb", "notes", "follow"))
	note := regexp.MustCompile(`note-\d+`)
	var seen []string
	until := func(last string) {
		t.Helper()
		for !slices.Contains(seen, last) {
			seen = append(seen, note.FindAllString(follow.next(t), -1)...)
		}
	}
	until("note-2")
	add("note-3")
	until("note-3")

	server.kill()
	i.serve(t, strings.TrimPrefix(url, "http://"))
	add("note-4", "note-5")
	until("note-5")
	if want := []string{"note-1", "note-2", "note-3", "note-4", "note-5"}; !slices.Equal(seen, want) {
		t.Errorf("bb notes follow printed %v, want %v", seen, want)
	}
}

// TestEndToEndToken makes a token before the first start; it opens the server until it is revoked.
func TestEndToEndToken(t *testing.T) {
	t.Parallel()
	i := install(t)
	created := output(t, i.command(deadline(t), "", "bb-server", "token", "create", "ci"))
	token := regexp.MustCompile(`bbt_[A-Za-z0-9_-]+`).FindString(created)
	if token == "" {
		t.Fatalf("bb-server token create ci printed no token: %q", created)
	}
	_, url := i.serve(t, "127.0.0.1:0")
	if status, answer, _ := get(t, url+greet+"?name=bb", "Bearer "+token); status != 200 {
		t.Errorf("with the token: %d %v", status, answer)
	}
	if status, answer, _ := get(t, url+greet+"?name=bb", "Bearer "+token+"x"); status != 401 {
		t.Errorf("with another token: %d %v", status, answer)
	}
	i.bb(t, url, "runtime", "token", "revoke", "ci")
	if status, answer, _ := get(t, url+greet+"?name=bb", "Bearer "+token); status != 401 {
		t.Errorf("with the revoked token: %d %v", status, answer)
	}
}
