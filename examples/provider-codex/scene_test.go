package codex_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	codex "github.com/bb-kernel/bb/examples/provider-codex"
)

// scene is what the app-server of the tests does.
type scene struct {
	// Turns are what it says in each turn of a new thread, one line an entry, with $T for the turn. Entries that begin with ! are:
	// !answer, which waits for an answer of the client and says it; !exit, with a status; !long, a line that is too long;
	// !end, the end of the turn; !late, the end of the turn with what follows behind it.
	Turns [][]string
	// Before is said when the thread is there.
	Before []string
	// Stubborn does not end a turn that is interrupted.
	Stubborn bool
	// Refuse names a method that is answered with an error.
	Refuse string
	// Deaf names a method that is never answered.
	Deaf string
	// Stderr is written when it starts.
	Stderr string
}

// playServer is the app-server of the tests. The scene is in a file.
func playServer(file string) {
	var s scene
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &s) != nil {
		os.Exit(9)
	}
	fmt.Fprint(os.Stderr, s.Stderr)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	turns := 0
	var turn string
	say := func(line string) { fmt.Println(strings.ReplaceAll(line, "$T", `"threadId":"th","turnId":"`+turn+`"`)) }
	end := func(status string) {
		say(`{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"` + turn + `","status":"` + status + `","error":null}}}`)
	}
	var waiting []string // what is said behind an answer
	play := func(script []string) {
		for n, line := range script {
			word, rest, _ := strings.Cut(line, " ")
			switch word {
			case "!answer":
				waiting = script[n+1:]
				if len(waiting) == 0 {
					waiting = []string{"!end"}
				}
				return
			case "!exit":
				code := 0
				fmt.Sscan(rest, &code)
				os.Exit(code)
			case "!long":
				fmt.Println(strings.Repeat("x", 33<<20))
			case "!end":
				end("completed")
			default:
				say(line)
			}
		}
	}
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
			Params struct {
				ThreadID string `json:"threadId"`
			} `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			os.Exit(8)
		}
		answer := func(result string) { fmt.Printf(`{"id":%s,"result":%s}`+"\n", m.ID, result) }
		switch {
		case m.Method == "":
			text, _ := json.Marshal(string(m.Result) + string(m.Error))
			say(`{"method":"item/completed","params":{$T,"item":{"type":"agentMessage","id":"answer-` + strings.Trim(string(m.ID), `"`) + `","text":` + string(text) + `}}}`)
			script := waiting
			waiting = nil
			play(script)
		case m.Method == s.Deaf:
			say(`{"method":"warning","params":{"message":"not answered"}}`)
		case m.Method == s.Refuse:
			fmt.Printf(`{"id":%s,"error":{"code":-32600,"message":"refused with sk-abcdefghijkl"}}`+"\n", m.ID)
		case m.Method == "initialize":
			answer(`{"userAgent":"bb/1.2.3 (test)"}`)
		case m.Method == "initialized":
		case m.Method == "thread/start", m.Method == "thread/resume", m.Method == "thread/fork":
			answer(`{"thread":{"id":"th"},"model":"m"}`)
			if m.Method == "thread/resume" {
				s.Turns = nil
			}
			play(s.Before)
		case m.Method == "turn/start":
			turns++
			turn = fmt.Sprintf("tu-%d", turns)
			answer(`{"turn":{"id":"` + turn + `","status":"inProgress"}}`)
			say(`{"method":"turn/started","params":{"threadId":"th","turn":{"id":"` + turn + `","status":"inProgress"}}}`)
			if turns <= len(s.Turns) {
				play(s.Turns[turns-1])
			} else {
				end("completed")
			}
		case m.Method == "turn/interrupt":
			answer(`{}`)
			if !s.Stubborn {
				end("interrupted")
			}
		default:
			answer(`{}`)
		}
	}
}

// playing starts the bridge over an app-server that plays a scene.
func playing(t *testing.T, s scene) *core {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "scene.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, codex.Options{Command: []string{os.Args[0]}, Env: map[string]string{serverVariable: file, "TEST_API_KEY": "very-secret-value"}}, t.TempDir())
}

// item is a line about an item.
func item(how, fields string) string {
	return `{"method":"item/` + how + `","params":{$T,"item":{` + fields + `}}}`
}

// request is a line that asks for something.
func request(method, fields string) string {
	return `{"id":7,"method":"` + method + `","params":{$T,` + fields + `}}`
}
