package workspace_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inspector returns the command line of the protocol's own inspector, which scripts/agents has installed.
func inspector(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("BB_AGENTS_DIR")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(cache, "bb-agents")
	}
	file := filepath.Join(dir, "mcp", "node_modules", ".bin", "mcp-inspector")
	if _, err := os.Stat(file); err != nil {
		t.Skipf("%s is not installed: run scripts/agents", file)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not on the PATH")
	}
	return []string{node, file, "--cli"}
}

// TestMCPInspector drives both doors of the Model Context Protocol with a client of the protocol's authors.
func TestMCPInspector(t *testing.T) {
	t.Parallel()
	command := inspector(t)
	i := install(t)
	_, url := i.serve(t, "127.0.0.1:0")
	for door, target := range map[string][]string{
		"http":  {url + "/mcp", "--transport", "http"},
		"stdio": {filepath.Join(i.bin, "bb"), "mcp", "-e", "BB_SERVER_URL=" + url},
	} {
		t.Run(door, func(t *testing.T) {
			ask := func(args ...string) (string, error) {
				words := append(append(append([]string{}, command[1:]...), target...), args...)
				cmd := i.command(deadline(t), url, "bb") // for its environment
				cmd.Path, cmd.Args = command[0], append([]string{command[0]}, words...)
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			for _, c := range []struct {
				args []string
				want []string
			}{
				{[]string{"--method", "tools/list"}, []string{`"hello_slot_greeter_greet"`, `"readOnlyHint": true`, `"minLength": 1`}},
				{[]string{"--method", "tools/call", "--tool-name", "hello_slot_greeter_greet", "--tool-arg", "name=bb"}, []string{`"Hello, bb! (greeted 0 times)"`}},
				{[]string{"--method", "resources/list"}, []string{`"bb://reference/hello-slot"`, `"bb://guide/notes-fixture/notes"`, `"text/markdown"`}},
				{[]string{"--method", "resources/read", "--uri", "bb://reference/hello-slot"}, []string{"bb hello greet <name>"}},
			} {
				out, err := ask(c.args...)
				if err != nil {
					t.Fatalf("%v: %v: %s", c.args, err, out)
				}
				for _, want := range c.want {
					if !strings.Contains(out, want) {
						t.Errorf("%v does not say %q: %s", c.args, want, out)
					}
				}
			}
			// What a tool does not like is its result.
			out, _ := ask("--method", "tools/call", "--tool-name", "hello_slot_greeter_greet", "--tool-arg", `name=""`)
			if !strings.Contains(out, `"isError": true`) || !strings.Contains(out, "invalid_input") {
				t.Errorf("an input that is not valid: %s", out)
			}
		})
	}
}

// editor is a client that has started `bb mcp`.
type editor struct {
	*process
	in io.WriteCloser
}

func (e *editor) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(e.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// answer returns the next message with an id, and notes the methods of what comes before.
func (e *editor) answer(t *testing.T, id string) (raw string, told []string) {
	t.Helper()
	for {
		line := e.next(t)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("standard output has %q: %v", line, err)
		}
		if string(m.ID) == id {
			return line, told
		}
		told = append(told, m.Method)
	}
}

// TestMCPOverStandardStreams speaks to `bb mcp` as an editor does: exact integers, changes that are told, a server that is
// started anew, and an end.
func TestMCPOverStandardStreams(t *testing.T) {
	t.Parallel()
	i := install(t)
	server, url := i.serve(t, "127.0.0.1:0")
	cmd := i.command(t.Context(), url, "bb", "mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{start(t, cmd), in}
	e.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"editor","version":"1"}}}`)
	if got, _ := e.answer(t, "0"); !strings.Contains(got, `"protocolVersion":"2025-06-18"`) || !strings.Contains(got, `"resources":{"listChanged":true}`) {
		t.Fatal(got)
	}
	e.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	e.send(t, `not JSON`)
	if got, _ := e.answer(t, "null"); !strings.Contains(got, "-32700") {
		t.Fatal(got)
	}
	e.send(t, `{"jsonrpc":"2.0","id":"exact","method":"tools/call","params":{"name":"notes_fixture_settings_apply","arguments":{"title":"t","count":9007199254740993}}}`)
	if got, _ := e.answer(t, `"exact"`); !strings.Contains(got, "9007199254740993") {
		t.Fatalf("the integer is not exact: %s", got)
	}
	i.bb(t, url, "plugin", "disable", "hello-slot")
	e.send(t, `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`)
	got, told := e.answer(t, `"a"`)
	if strings.Contains(got, "hello_slot") {
		t.Fatalf("a disabled plugin's tool is listed: %s", got)
	}
	for n := 0; !strings.Contains(strings.Join(told, " "), "notifications/tools/list_changed") || !strings.Contains(strings.Join(told, " "), "notifications/resources/list_changed"); n++ {
		var m struct{ Method string }
		if line := e.next(t); json.Unmarshal([]byte(line), &m) != nil || n > 20 {
			t.Fatalf("the change was not told: %v", told)
		}
		told = append(told, m.Method)
	}
	// Without a server a request has an answer, and the session goes on with the next one.
	server.kill()
	e.send(t, `{"jsonrpc":"2.0","id":"b","method":"tools/list"}`)
	if got, _ := e.answer(t, `"b"`); !strings.Contains(got, `"error"`) || !strings.Contains(got, "-32020") {
		t.Fatal(got)
	}
	i.serve(t, strings.TrimPrefix(url, "http://"))
	i.bb(t, url, "plugin", "enable", "hello-slot")
	e.send(t, `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"hello_slot_greeter_greet","arguments":{"name":"again"}}}`)
	if got, _ := e.answer(t, `"c"`); !strings.Contains(got, "Hello, again!") {
		t.Fatal(got)
	}
	// The end of the input is the end.
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	for range e.lines { // what was on its way
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
