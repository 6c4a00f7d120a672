package codex_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	codex "github.com/bb-kernel/bb/examples/provider-codex"
	"github.com/matryer/is"
)

func TestShownCommands(t *testing.T) {
	for command, want := range map[string]string{
		"/bin/bash -lc 'echo one; exit 3'":     "echo one; exit 3",
		"bash -c ls":                           "ls",
		"/bin/zsh -lc 'it'\\''s'":              "it's",
		`/bin/bash -lc "echo \"a\" \$HOME \n"`: `echo "a" $HOME \n`,
		`sh -c "it's"`:                         "it's",
		"sh -c 'unfinished":                    "sh -c 'unfinished",
		"sh -c a b":                            "sh -c a b",
		"ls -la":                               "ls -la",
		"bash script.sh":                       "bash script.sh",
		"bash -lc 'a\nb'":                      "a\nb",
		"":                                     "",
	} {
		if got := codex.Shown(command); got != want {
			t.Errorf("%q is shown as %q, not %q", command, got, want)
		}
	}
}

func TestKeysAreHidden(t *testing.T) {
	for text, want := range map[string]string{
		"Incorrect API key provided: sk-proj-****abcd.": "Incorrect API key provided: [hidden].",
		"Authorization: Bearer abc.def/ghi==":           "Authorization: Bearer [hidden]",
		"token eyJhbGciOiJIUzI1NiJ9.eyJzdWIi":           "token [hidden]",
		"the bearer of this":                            "the bearer of this",
		"a risk-averse person":                          "a risk-averse person",
	} {
		if got := codex.HideKeys(text); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}

func TestToolNames(t *testing.T) {
	is := is.New(t)
	long := strings.Repeat("n", 70)
	is.Equal(codex.Names("a.b", "a_b", "plain", long), map[string]string{"a_b": "a.b", "a_b_2": "a_b", "plain": "plain", long[:64]: long})
}

func TestPermissionModes(t *testing.T) {
	for mode, want := range map[protocol.PermissionMode][2]string{
		protocol.ModeAcceptEdits: {"untrusted", "workspace-write"},
		protocol.ModeAuto:        {"on-request", "workspace-write"},
		protocol.ModeFull:        {"never", "danger-full-access"},
	} {
		approval, sandbox := codex.Permission(protocol.PermissionPolicy{Mode: mode})
		if got := [2]string{approval, sandbox}; got != want {
			t.Errorf("%s is %v, not %v", mode, got, want)
		}
	}
}

// TestThreadParams holds that the credential for the tools of core is named, never sent.
func TestThreadParams(t *testing.T) {
	is := is.New(t)
	raw, err := codex.Thread(protocol.SessionParams{Cwd: "/w", Env: map[string]string{"BB_MCP_URL": "http://127.0.0.1:1/mcp", "BB_MCP_TOKEN": "very-secret-value"},
		Options: protocol.ExecutionOptions{Model: "m", ReasoningLevel: "high", ServiceTier: "flex", Instructions: "i"}})
	is.NoErr(err)
	is.Equal(string(raw), `{"model":"m","serviceTier":"flex","cwd":"/w","approvalPolicy":"untrusted","sandbox":"workspace-write","config":{"mcp_servers.bb.bearer_token_env_var":"BB_MCP_TOKEN","mcp_servers.bb.url":"http://127.0.0.1:1/mcp","model_reasoning_effort":"high"},"developerInstructions":"i"}`)
}

func versioned(r io.Reader) string {
	raw, err := io.ReadAll(codex.Versioned(io.NopCloser(r)))
	if err != nil {
		return "error " + err.Error()
	}
	return string(raw)
}

func TestVersionMember(t *testing.T) {
	for text, want := range map[string]string{
		"{\"id\":1}\n{\"a\":{}}\n": "{\"jsonrpc\":\"2.0\",\"id\":1}\n{\"jsonrpc\":\"2.0\",\"a\":{}}\n",
		"{\"jsonrpc\":\"2.0\"}\n":  "{\"jsonrpc\":\"2.0\"}\n",
		"{}\n\n[{\"a\":1}]\njunk":  "{}\n\n[{\"a\":1}]\njunk",
		"{\"js\":1}\n{\"jso":       "{\"jsonrpc\":\"2.0\",\"js\":1}\n{\"jso",
		"{":                        "{",
		"":                         "",
	} {
		for how, reader := range map[string]io.Reader{"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
			if got := versioned(reader); got != want {
				t.Errorf("%s, %q becomes %q, not %q", how, text, got, want)
			}
		}
	}
}

func FuzzVersionMember(f *testing.F) {
	for _, seed := range []string{"{\"id\":1}\n", "{\"jsonrpc\":\"2.0\"}\n{", "{}\nx\n", "{\"jsonrpcx\":1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole := versioned(bytes.NewReader(text))
		if pieces := versioned(iotest.OneByteReader(bytes.NewReader(text))); pieces != whole {
			t.Fatalf("%q in pieces becomes %q, and whole %q", text, pieces, whole)
		}
		if back := strings.ReplaceAll(whole, `"jsonrpc":"2.0",`, ""); !strings.Contains(string(text), `"jsonrpc"`) && back != string(text) {
			t.Fatalf("%q becomes %q, which is more than the member", text, whole)
		}
	})
}

func FuzzShown(f *testing.F) {
	f.Add("/bin/bash -lc 'echo one'")
	f.Add(`sh -c "a\"b"`)
	f.Fuzz(func(t *testing.T, command string) {
		if len(codex.Shown(command)) > 3*len(command) { // only what is not UTF-8 grows
			t.Fatal("it grew")
		}
	})
}

// FuzzItem holds that nothing that Codex says of an item breaks the rules of the protocol.
func FuzzItem(f *testing.F) {
	for _, seed := range []string{
		`{"type":"commandExecution","id":"c","command":"sh -c 'x'","commandActions":[{"type":"read"}],"durationMs":-3}`,
		`{"type":"fileChange","changes":[{"path":"/x","kind":{"type":"update","move_path":"y"},"diff":"@@ -1 +1 @@\n-a\n+b"}]}`,
		`{"type":"mcpToolCall","server":"s","tool":"t","arguments":{"a":[1]},"result":{"content":[{"text":"x"}]}}`,
		`{"type":"reasoning","summary":["a"],"content":["b",1]}`, `{"type":"collabAgentToolCall","agentsStates":{"x":null}}`, `{"type":"webSearch","action":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if i := codex.Payload(raw); i != nil {
			if issues := protocol.Validate(i); len(issues) > 0 {
				t.Fatalf("%s: %v", raw, issues)
			}
		}
	})
}

// BenchmarkVersionMember measures what the member costs a line, beside reading the stream as it is.
func BenchmarkVersionMember(b *testing.B) {
	line := []byte(`{"method":"item/agentMessage/delta","params":{"threadId":"01a2302d-5ed2-7d13-8a15-b54f29a83c9f","turnId":"01a2302d-5ef3-70b2-bc84-74daeffeffc6","itemId":"msg_1_1_0","delta":"hello th"}}` + "\n")
	stream := bytes.Repeat(line, 1000)
	b.Run("as-it-is", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(stream)))
		for b.Loop() {
			io.Copy(io.Discard, struct{ io.Reader }{bytes.NewReader(stream)})
		}
	})
	b.Run("with-the-member", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(stream)))
		for b.Loop() {
			io.Copy(io.Discard, struct{ io.Reader }{codex.Versioned(io.NopCloser(bytes.NewReader(stream)))})
		}
	})
}
