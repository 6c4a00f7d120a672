package fakemodel_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/pluginsdk/plugintest/fakemodel"
)

func function(name, schema string) fakemodel.Tool {
	return fakemodel.Tool{Name: name, Kind: fakemodel.KindFunction, Schema: json.RawMessage(schema)}
}

// shellWords are what the shell is given as a list, as JSON.
func shellWords(command string) string {
	if runtime.GOOS == "windows" {
		return `["cmd","/c","` + command + `"]`
	}
	return `["sh","-c","` + command + `"]`
}

// TestToolsOfAgents chooses among the shapes that agents are known to offer.
func TestToolsOfAgents(t *testing.T) {
	const text = `{"type":"string"}`
	object := func(required string, properties ...string) string {
		return `{"type":"object","required":[` + required + `],"properties":{` + strings.Join(properties, ",") + `}}`
	}
	other := function("read", object(`"filePath"`, `"filePath":`+text))
	for _, test := range []struct {
		rule     string
		role     fakemodel.Role
		argument string
		tool     fakemodel.Tool
		want     string // "" for a tool that does not fit
	}{
		{"shell-cmd", "shell", "ls", function("exec_command", object(`"cmd"`, `"cmd":`+text, `"yield_time_ms":{"type":"number"}`)), `{"cmd":"ls"}`},
		{"shell-list", "shell", "ls", function("shell", object(`"command"`, `"command":{"type":"array","items":`+text+`}`)), `{"command":` + shellWords("ls") + `}`},
		{"shell-nothing-required", "shell", "ls", function("sh", `{"properties":{"command":{"type":["string","null"]}}}`), `{"command":"ls"}`},
		{"shell-any-of", "shell", "ls", function("sh", object(`"command"`, `"command":{"anyOf":[`+text+`,{"type":"null"}]}`)), `{"command":"ls"}`},
		{"shell-local", "shell", "ls", fakemodel.Tool{Name: "local_shell", Kind: "local_shell"}, shellWords("ls")},
		{"shell-typed", "shell", "ls", fakemodel.Tool{Name: "bash", Kind: "bash_20250124"}, `{"command":"ls"}`},
		{
			"shell-fills-the-rest", "shell", "ls", function("run_shell_command", object(
				`"command","description","timeout_ms","n","m","on","list","mode","kind","preset","nested","odd"`,
				`"command":`+text, `"description":`+text, `"timeout_ms":{"type":"integer"}`, `"n":{"type":"number","minimum":7}`,
				`"m":{"type":"integer"}`, `"on":{"type":"boolean"}`, `"list":{"type":"array"}`, `"mode":{"enum":["x","y"]}`,
				`"kind":{"const":"k"}`, `"preset":{"type":"string","default":"d"}`, `"nested":`+object(`"a"`, `"a":`+text), `"odd":{}`)),
			`{"command":"ls","description":"fake","kind":"k","list":[],"m":1,"mode":"x","n":7,"nested":{"a":"fake"},"odd":null,"on":false,"preset":"d","timeout_ms":10000}`,
		},
		{"no-shell-words-of-a-tool", "shell", "ls", function("str_replace", object(`"command"`, `"command":{"type":"string","enum":["view"]}`)), ""},
		{"no-shell-sub-agent", "shell", "ls", function("task", object(`"prompt","command"`, `"prompt":`+text, `"command":`+text)), ""},
		{"no-shell-optional", "shell", "ls", function("x", object(`"y"`, `"y":`+text, `"command":`+text)), ""},
		{"no-shell-number", "shell", "ls", function("x", object(`"command"`, `"command":{"type":"number"}`)), ""},
		{"no-schema", "shell", "ls", function("bash", ``), ""},
		{"strange-schema", "shell", "ls", function("bash", `{"properties":5,"required":{},"type":[1]}`), ""},

		{"edit-custom", "edit", "a.txt hi", fakemodel.Tool{Name: "apply_patch", Kind: "custom"}, "*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch\n"},
		{"edit-patch", "edit", "a.txt hi", function("apply_patch", object(`"input"`, `"input":`+text)), `{"input":"*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch\n"}`},
		{"edit-write", "edit", "a.txt hi", function("Write", object(`"file_path","content"`, `"file_path":`+text, `"content":`+text)), `{"content":"hi\n","file_path":"a.txt"}`},
		{"edit-replace", "edit", "a.txt hi", function("edit", object(`"filePath","oldString","newString"`, `"filePath":`+text, `"oldString":`+text, `"newString":`+text)), `{"filePath":"a.txt","newString":"hi\n","oldString":""}`},
		{"edit-create", "edit", "a.txt hi", function("editor", object(`"command","path"`, `"command":{"type":"string","enum":["view","create"]}`, `"path":`+text, `"file_text":`+text)), `{"command":"create","file_text":"hi\n","path":"a.txt"}`},
		{"edit-typed", "edit", "a.txt hi", fakemodel.Tool{Name: "str_replace_based_edit_tool", Kind: "text_editor_20250728"}, `{"command":"create","file_text":"hi\n","path":"a.txt"}`},
		{"no-edit-custom", "edit", "a.txt", fakemodel.Tool{Name: "exec", Kind: "custom"}, ""},
		{"no-edit-typed", "edit", "a.txt", fakemodel.Tool{Name: "x", Kind: "web_search"}, ""},

		{"plan-codex", "plan", "a;b; c", function("update_plan", object(`"plan"`, `"plan":{"type":"array","items":`+object(`"step","status"`, `"step":`+text, `"status":`+text)+`}`)), `{"plan":[{"status":"in_progress","step":"a"},{"status":"pending","step":"b"},{"status":"pending","step":"c"}]}`},
		{"plan-claude", "plan", "a", function("TodoWrite", object(`"todos"`, `"todos":{"type":"array","items":`+object(`"content","status","activeForm"`, `"content":`+text, `"status":`+text, `"activeForm":`+text)+`}`)), `{"todos":[{"activeForm":"a","content":"a","status":"in_progress"}]}`},
		{"no-plan-text", "plan", "a", function("x", object(`"plan"`, `"plan":`+text)), ""},

		{"agent-named-type", "agent", "SAY x", function("Task", object(`"prompt","subagent_type"`, `"prompt":`+text, `"subagent_type":{"type":"string","description":"such as general-purpose"}`)), `{"prompt":"SAY x","subagent_type":"general-purpose"}`},
		{"agent-enum", "agent", "SAY x", function("x", object(`"prompt","agent"`, `"prompt":`+text, `"agent":{"type":"string","enum":["e","f"]}`)), `{"agent":"e","prompt":"SAY x"}`},
		{"agent-spawn", "agent", "SAY x", function("spawn_agent", object(`"message"`, `"message":`+text, `"agent_type":`+text)), `{"message":"SAY x"}`},
		{"no-agent-question", "agent", "SAY x", function("ask", object(`"prompt"`, `"prompt":`+text)), ""},
		{"no-such-role", "dance", "x", function("bash", object(`"command"`, `"command":`+text)), ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			is := is.New(t)
			got, ok := fakemodel.Choose(test.role, test.argument, []fakemodel.Tool{other, test.tool, other})
			is.Equal(ok, test.want != "")
			is.Equal(got.Arguments, test.want)
			if ok {
				is.Equal(got.Tool.Name, test.tool.Name)
			}
		})
	}
	t.Run("the-better-wins", func(t *testing.T) {
		is := is.New(t)
		write := function("write", object(`"path","content"`, `"path":`+text, `"content":`+text))
		edit := function("edit", object(`"path","old_str","new_str"`, `"path":`+text, `"old_str":`+text, `"new_str":`+text))
		patch := fakemodel.Tool{Name: "apply_patch", Kind: fakemodel.KindCustom}
		call, _ := fakemodel.Choose(fakemodel.RoleEdit, "x", []fakemodel.Tool{edit, write})
		is.Equal(call.Tool.Name, "write")
		call, _ = fakemodel.Choose(fakemodel.RoleEdit, "x", []fakemodel.Tool{write, patch, edit})
		is.Equal(call.Tool.Name, "apply_patch")
		one := function("mcp", object(`"command"`, `"command":`+text))
		two := function("bash", object(`"command"`, `"command":`+text))
		call, _ = fakemodel.Choose(fakemodel.RoleShell, "x", []fakemodel.Tool{one, two, two})
		is.Equal(call.Tool.Name, "bash")
	})
}

// TestToolsOfResponses has the tools that only OpenAI Responses knows.
func TestToolsOfResponses(t *testing.T) {
	c := responsesClient{}
	url := fakemodel.New(fakemodel.Options{}).Start(t)
	for _, test := range []struct {
		rule, script string
		tool         object
		want         call
	}{
		{"custom", "EDIT a.txt", object{"type": "custom", "name": "apply_patch"}, call{
			name: "apply_patch", kind: "custom_tool_call",
			input: "*** Begin Patch\n*** Add File: a.txt\n+edited by the fake model\n*** End Patch\n",
		}},
		{"local-shell", "RUN ls", object{"type": "local_shell"}, call{kind: "local_shell_call", input: shellWords("ls")}},
		{"namespace", "RUN ls", object{"type": "namespace", "name": "os", "tools": []any{
			object{"type": "function", "name": "bash", "parameters": schemas()["bash"]},
		}}, call{name: "bash", namespace: "os", kind: "function_call", input: `{"command":"ls","description":"fake"}`}},
	} {
		for _, stream := range []bool{true, false} {
			t.Run(test.rule, func(t *testing.T) {
				is := is.New(t)
				body := c.body([]turn{{user: test.script}}, stream)
				body["tools"] = []any{object{"type": "web_search"}, test.tool}
				got := post(t, url, c, body, stream)
				is.Equal(len(got.calls), 1)
				test.want.id = "call_1_1_1"
				is.Equal(got.calls[0], test.want)
				history := c.body([]turn{{user: test.script}, {reply: &got, results: []string{"r"}}}, stream)
				is.Equal(post(t, url, c, history, stream).text, "result: r")
			})
		}
	}
	t.Run("sealed-thoughts", func(t *testing.T) {
		is := is.New(t)
		body := c.body([]turn{{user: "THINK x"}}, true)
		is.Equal(in(post(t, url, c, body, true).raw, 0, "encrypted_content"), nil)
		body["include"] = []any{"reasoning.encrypted_content"}
		is.True(text(post(t, url, c, body, true).raw, 0, "encrypted_content") != "")
	})
	t.Run("input-as-text", func(t *testing.T) {
		is.New(t).Equal(post(t, url, c, object{"model": "m", "input": "SAY x"}, false).text, "x")
	})
}

// TestWithoutTools has requests that offer no tool that fits, or forbid to use them.
func TestWithoutTools(t *testing.T) {
	everywhere(t, func(t *testing.T, c client, stream bool) {
		url := fakemodel.New(fakemodel.Options{}).Start(t)
		for _, word := range []string{"RUN x", "EDIT x", "PLAN", "AGENT", "CALL x", "TWO", "STEPS 2", "BAD"} {
			body := c.body([]turn{{user: word + "\nSAY on"}}, stream)
			delete(body, "tools")
			first, _, _ := strings.Cut(word, " ")
			is.New(t).Equal(post(t, url, c, body, stream).text, first+": no such tool is offered\non")
		}
		for _, choice := range []any{"none", object{"type": "none"}} {
			body := c.body([]turn{{user: "RUN x"}}, stream)
			body["tool_choice"] = choice
			is.New(t).Equal(len(post(t, url, c, body, stream).calls), 0)
		}
	})
}

// TestOneCallAtATime has agents that want no parallel calls.
func TestOneCallAtATime(t *testing.T) {
	everywhere(t, func(t *testing.T, c client, stream bool) {
		is := is.New(t)
		url := fakemodel.New(fakemodel.Options{}).Start(t)
		serial := func(history []turn) reply {
			body := c.body(history, stream)
			body["parallel_tool_calls"] = false
			body["tool_choice"] = object{"type": "auto", "disable_parallel_tool_use": true}
			return post(t, url, c, body, stream)
		}
		history := []turn{{user: "TWO\nSAY end"}}
		for _, want := range []string{"echo one", "echo two"} {
			got := serial(history)
			is.Equal(len(got.calls), 1)
			is.True(strings.Contains(got.calls[0].input, want))
			history = append(history, turn{reply: &got, results: []string{"r"}})
		}
		is.Equal(serial(history).text, "result: r\nend")
	})
}

// TestEditByShell has agents without a tool for edits.
func TestEditByShell(t *testing.T) {
	is := is.New(t)
	c := responsesClient{}
	url := fakemodel.New(fakemodel.Options{}).Start(t)
	body := c.body([]turn{{user: "EDIT a.txt it's"}}, true)
	body["tools"] = []any{object{"type": "function", "name": "exec", "parameters": object{
		"properties": object{"cmd": object{"type": "string"}},
	}}}
	var arguments struct{ Cmd string }
	is.NoErr(json.Unmarshal([]byte(post(t, url, c, body, true).calls[0].input), &arguments))
	want := `printf '%s\n' 'it'\''s' > 'a.txt'`
	if runtime.GOOS == "windows" {
		want = `echo it's> "a.txt"`
	}
	is.Equal(arguments.Cmd, want)
	body["instructions"] = "Use `apply_patch` to edit files."
	is.NoErr(json.Unmarshal([]byte(post(t, url, c, body, true).calls[0].input), &arguments))
	is.Equal(arguments.Cmd, "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+it's\n*** End Patch\nEOF")
}
