package codex_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/matryer/is"
)

// TestItems holds what becomes of each type of item.
func TestItems(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "f.txt")
	path, _ := json.Marshal(at)
	for _, test := range []struct {
		name   string
		fields string
		status protocol.Status
		item   protocol.Item
	}{
		{"plan", `"type":"plan","id":"i","text":"first, then"`, protocol.Completed, &protocol.Plan{Text: "first, then"}},
		{"reasoning", `"type":"reasoning","id":"i","summary":["a","b"],"content":["c","d"]`, protocol.Completed, &protocol.Reasoning{Text: "c\n\nd", Summary: "a\n\nb"}},
		{"command", `"type":"commandExecution","id":"i","command":"/bin/bash -lc 'cat x'","cwd":"/w","status":"completed","commandActions":[{"type":"read","command":"cat x","name":"x","path":"/w/x"},{"type":"listFiles","command":"ls"},{"type":"search","command":"rg y","query":"y"},{"type":"odd","command":"z"}],"aggregatedOutput":"out","exitCode":0,"durationMs":-1`, protocol.Completed,
			&protocol.Command{Command: "cat x", Cwd: protocol.Ptr("/w"), Intent: protocol.IntentTerminal, Output: protocol.Ptr("out"), ExitCode: protocol.Ptr(int64(0)),
				Actions: protocol.CommandActions{&protocol.ReadAction{Command: "cat x", Name: "x", Path: "/w/x"}, &protocol.ListFilesAction{Command: "ls"}, &protocol.SearchAction{Command: "rg y", Query: protocol.Ptr("y")}, &protocol.UnknownAction{Command: "z"}}}},
		{"declined", `"type":"commandExecution","id":"i","command":"x","status":"declined"`, protocol.Failed,
			&protocol.Command{Command: "x", Intent: protocol.IntentTerminal, Actions: protocol.CommandActions{}, Approval: protocol.ApprovalDenied}},
		{"update", `"type":"fileChange","id":"i","status":"completed","changes":[{"path":` + string(path) + `,"kind":{"type":"update","move_path":null},"diff":"@@ -1 +1 @@\n-a\n+b\n"}]`, protocol.Completed,
			&protocol.FileChange{Changes: []protocol.PathChange{{Path: at, Change: protocol.ChangeUpdate, Diff: protocol.Ptr("--- " + at + "\n+++ " + at + "\n@@ -1 +1 @@\n-a\n+b\n")}}}},
		{"move", `"type":"fileChange","id":"i","status":"completed","changes":[{"path":` + string(path) + `,"kind":{"type":"update","move_path":` + string(path) + `},"diff":"@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: g"}]`, protocol.Completed,
			&protocol.FileChange{Changes: []protocol.PathChange{{Path: at, Change: protocol.ChangeUpdate, MovePath: &at, Diff: protocol.Ptr("--- " + at + "\n+++ " + at + "\n@@ -1 +1 @@\n-a\n+b\n")}}}},
		{"delete", `"type":"fileChange","id":"i","status":"failed","changes":[{"path":` + string(path) + `,"kind":{"type":"delete"},"diff":"a\nb"}]`, protocol.Failed,
			&protocol.FileChange{Changes: []protocol.PathChange{{Path: at, Change: protocol.ChangeDelete, Diff: protocol.Ptr("--- " + at + "\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file\n")}}}},
		{"mcp", `"type":"mcpToolCall","id":"i","server":"s","tool":"t","status":"completed","arguments":{"a":1},"result":{"content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},"durationMs":3`, protocol.Completed,
			&protocol.Tool{Tool: "t", Server: protocol.Ptr("s"), Arguments: json.RawMessage(`{"a":1}`), Intent: protocol.IntentGeneric, Result: protocol.Ptr("x\ny"), DurationMs: protocol.Ptr(int64(3))}},
		{"mcp-failed", `"type":"mcpToolCall","id":"i","server":"s","tool":"t","status":"failed","error":{"message":"broken"}`, protocol.Failed,
			&protocol.Tool{Tool: "t", Server: protocol.Ptr("s"), Arguments: json.RawMessage(`null`), Intent: protocol.IntentGeneric, Error: protocol.Ptr("broken")}},
		{"dynamic-failed", `"type":"dynamicToolCall","id":"i","tool":"t","status":"failed","arguments":{},"success":false,"contentItems":[{"type":"inputText","text":"no"}]`, protocol.Failed,
			&protocol.Tool{Tool: "t", Arguments: json.RawMessage(`{}`), Intent: protocol.IntentGeneric, Error: protocol.Ptr("no")}},
		{"web", `"type":"webSearch","id":"i","query":"plums","action":{"type":"search","query":"plums"}`, protocol.Completed,
			&protocol.Tool{Tool: "web_search", Arguments: json.RawMessage(`{"action":{"type":"search","query":"plums"},"query":"plums"}`), Intent: protocol.IntentWeb}},
		{"image", `"type":"imageView","id":"i","path":"/p.png"`, protocol.Completed, &protocol.Tool{Tool: "view_image", Arguments: json.RawMessage(`{"path":"/p.png"}`), Intent: protocol.IntentImage}},
		{"drawn", `"type":"imageGeneration","id":"i"`, protocol.Completed, &protocol.Tool{Tool: "image_generation", Arguments: json.RawMessage(`{}`), Intent: protocol.IntentImage}},
		{"sleep", `"type":"sleep","id":"i"`, protocol.Completed, &protocol.Tool{Tool: "sleep", Arguments: json.RawMessage(`{}`), Intent: protocol.IntentGeneric}},
		{"delegation", `"type":"collabAgentToolCall","id":"i","tool":"spawnAgent","status":"completed","receiverThreadIds":["c"],"prompt":"look","agentsStates":{"c":{"status":"completed","message":"found"}}`, protocol.Completed,
			&protocol.Task{Role: protocol.TaskDelegation, Label: "look", TaskType: protocol.Ptr("spawnAgent"), ChildRef: protocol.Ptr("c"), Summary: protocol.Ptr("found")}},
		{"compaction", `"type":"contextCompaction","id":"i"`, protocol.Completed, &protocol.Compaction{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			c := playing(t, scene{Turns: [][]string{{item("started", test.fields), item("completed", test.fields), item("completed", test.fields), "!end"}}})
			is.Equal(c.say(c.open("t"), "go"), protocol.Completed)
			is.Equal(len(find[*protocol.ItemOpen](c, "t")), 1)
			closes := find[*protocol.ItemClose](c, "t")
			is.Equal(len(closes), 1) // it settles once
			is.Equal(closes[0].Status, test.status)
			got, err := json.Marshal(closes[0].Item)
			is.NoErr(err)
			want, err := json.Marshal(test.item)
			is.NoErr(err)
			is.Equal(string(got), string(want))
			c.clean()
		})
	}
}

func TestItemsThatSayNothing(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var script []string
	for _, kind := range []string{"userMessage", "hookPrompt", "functionCallOutput", "subAgentActivity", "enteredReviewMode", "exitedReviewMode"} {
		fields := `"type":"` + kind + `","id":"` + kind + `"`
		script = append(script, item("started", fields), item("completed", fields))
	}
	c := playing(t, scene{Turns: [][]string{append(script, "!end"), {item("completed", `"type":"novelty","id":"n"`), "!end"}}})
	ref := c.open("t")
	is.Equal(c.say(ref, "go"), protocol.Completed)
	is.Equal(len(find[*protocol.ItemOpen](c, "t"))+len(find[*protocol.ItemClose](c, "t")), 0)
	c.clean()
	is.Equal(c.say(ref, "go"), protocol.Completed)
	unhandled := find[*protocol.ProviderUnhandled](c, "t")
	is.Equal(len(unhandled), 1) // what is new is kept
	is.Equal(unhandled[0].RawType, "item novelty")
}

func TestTextIsStreamed(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := playing(t, scene{Turns: [][]string{{
		item("started", `"type":"reasoning","id":"r"`),
		`{"method":"item/reasoning/summaryTextDelta","params":{$T,"itemId":"r","delta":"one","summaryIndex":0}}`,
		`{"method":"item/reasoning/summaryTextDelta","params":{$T,"itemId":"r","delta":"two","summaryIndex":1}}`,
		`{"method":"item/reasoning/textDelta","params":{$T,"itemId":"r","delta":"raw","contentIndex":0}}`,
		`{"method":"item/agentMessage/delta","params":{$T,"itemId":"nowhere","delta":"lost"}}`,
		item("completed", `"type":"reasoning","id":"r","summary":[],"content":[]`),
		item("started", `"type":"plan","id":"p"`),
		`{"method":"item/plan/delta","params":{$T,"itemId":"p","delta":"a plan"}}`,
		item("completed", `"type":"plan","id":"p","text":"the plan"`),
		item("started", `"type":"commandExecution","id":"c","command":"x","status":"inProgress"`),
		`{"method":"item/commandExecution/outputDelta","params":{$T,"itemId":"c","delta":"part"}}`,
		item("completed", `"type":"commandExecution","id":"c","command":"x","status":"completed"`),
		item("started", `"type":"fileChange","id":"f","changes":[],"status":"inProgress"`),
		`{"method":"item/fileChange/patchUpdated","params":{$T,"itemId":"f","changes":[{"path":"/a","kind":{"type":"add"},"diff":"x\n"}]}}`,
		item("started", `"type":"mcpToolCall","id":"m","tool":"t"`),
		`{"method":"item/mcpToolCall/progress","params":{$T,"itemId":"m","message":"half"}}`,
		"!end"}}})
	is.Equal(c.say(c.open("t"), "go"), protocol.Completed)
	var texts []string
	for _, d := range find[*protocol.ItemText](c, "t") {
		texts = append(texts, string(d.Stream)+" "+d.Text)
	}
	is.Equal(texts, []string{"summary one", "summary \n\ntwo", "text raw", "text a plan"})
	thoughts, _ := items[*protocol.Reasoning](c, "t")
	is.Equal(*thoughts[0], protocol.Reasoning{Text: "raw", Summary: "one\n\ntwo"}) // as streamed
	plans, _ := items[*protocol.Plan](c, "t")
	is.Equal(plans[0].Text, "the plan") // the last word counts
	commands, _ := items[*protocol.Command](c, "t")
	is.Equal(*commands[0].Output, "part")
	progress := find[*protocol.ItemProgress](c, "t")
	is.Equal(progress[0].Item.(*protocol.FileChange).Changes[0].Path, "/a")
	is.Equal(*progress[1].Message, "half")
	_, how := items[*protocol.FileChange](c, "t")
	is.Equal(how, []protocol.Status{protocol.Completed}) // what is open closes with the turn
	c.clean()
}

func TestLongOutputIsCut(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	long := strings.Repeat("é", 700<<10)
	c := playing(t, scene{Turns: [][]string{{
		item("started", `"type":"commandExecution","id":"c","command":"x"`),
		`{"method":"item/commandExecution/outputDelta","params":{$T,"itemId":"c","delta":"` + long + `"}}`,
		item("completed", `"type":"commandExecution","id":"c","command":"x","status":"completed","aggregatedOutput":"`+long+`"`), "!end"}}})
	is.Equal(c.say(c.open("t"), "go"), protocol.Completed)
	is.Equal(c.streamed("t"), long) // in pieces
	commands, _ := items[*protocol.Command](c, "t")
	is.Equal(*commands[0].Output, long[len(long)-1<<20:]) // its end
	c.clean()
}
