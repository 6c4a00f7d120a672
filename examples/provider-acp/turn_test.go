package acp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/matryer/is"
)

// play starts a bridge over a scene, with a session.
func play(t *testing.T, s scene) (*core, protocol.ThreadRef, func(string) []map[string]json.RawMessage) {
	t.Helper()
	o, sent := fake(t, s)
	c := start(t, o, t.TempDir())
	return c, c.open("t"), sent
}

func script(lines ...string) string { return strings.Join(lines, "\n") }

const chunk = `UPDATE {"sessionUpdate":"agent_message_chunk","messageId":"%s","content":{"type":"text","text":"%s"}}`

func TestTextIsSplitIntoMessages(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	is.Equal(c.say(ref, script(
		fmt.Sprintf(chunk, "a", "one "), fmt.Sprintf(chunk, "a", "two"), fmt.Sprintf(chunk, "b", "three"),
		`UPDATE {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`,
		`UPDATE {"sessionUpdate":"tool_call","toolCallId":"1","title":"look","kind":"read","status":"completed"}`,
		`UPDATE {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"mine"}}`,
		`UPDATE {"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","uri":"file:///x","name":"x"}}`)), protocol.Completed)
	is.Equal(c.said("t"), "one two|three|file:///x")
	thoughts, _ := items[*protocol.Reasoning](c, "t")
	is.Equal(thoughts[0].Text, "hm")
	c.clean()
}

func TestLongTextGoesOnInAnotherMessage(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	long := strings.Repeat("é", 600<<10) // more than a delta holds
	is.Equal(c.say(ref, "SAY "+long), protocol.Completed)
	messages, _ := items[*protocol.Message](c, "t")
	is.Equal(len(messages), 2)
	is.Equal(strings.ReplaceAll(c.said("t"), "|", ""), long)
	c.clean()
}

func TestPlansAndUsageAreReported(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	is.Equal(c.say(ref, script(
		`UPDATE {"sessionUpdate":"plan","entries":[{"content":"a","priority":"high","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c","status":"pending"}]}`,
		`UPDATE {"sessionUpdate":"usage_update","used":5,"size":100}`,
		`UPDATE {"sessionUpdate":"session_info_update","title":"A name"}`,
		`UPDATE {"sessionUpdate":"current_mode_update","currentModeId":"plan"}`,
		`UPDATE {"sessionUpdate":"available_commands_update","availableCommands":[{"name":"init","description":"d"}]}`,
		`USAGE {"totalTokens":10,"inputTokens":6,"outputTokens":4,"thoughtTokens":1,"cachedReadTokens":2}`)), protocol.Completed)
	todo := find[*protocol.Todo](c, "t")
	is.Equal(todo[0].Steps, []protocol.TodoStep{{Text: "a", Status: protocol.TodoCompleted}, {Text: "b", Status: protocol.TodoActive}, {Text: "c", Status: protocol.TodoPending}})
	is.Equal(*find[*protocol.ContextWindow](c, "t")[0].Used, int64(5))
	is.Equal(find[*protocol.ThreadName](c, "t")[0].Name, "A name")
	states := find[*protocol.ExtensionState](c, "t")
	is.Equal(string(states[0].Payload), `{"id":"plan"}`)
	is.Equal(string(states[1].Payload), `{"commands":[{"description":"d","name":"init"}]}`)
	is.Equal(find[*protocol.Usage](c, "t")[0].Last, protocol.TokenBreakdown{TotalTokens: 10, InputTokens: 6, CachedInputTokens: 2, OutputTokens: 4, ReasoningOutputTokens: 1})
	c.clean()
}

func TestCostOfATurnIsWhatTheSessionCostMore(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	for _, amount := range []string{"0.5", "0.5", "2"} {
		is.Equal(c.say(ref, script(`UPDATE {"sessionUpdate":"usage_update","used":5,"size":100,"cost":{"amount":`+amount+`,"currency":"USD"}}`, `USAGE {"totalTokens":1}`)), protocol.Completed)
	}
	usage := find[*protocol.Usage](c, "t")
	is.Equal(usage[0].Cost.Amount, 0.5)
	is.Equal(usage[1].Cost, nil)
	is.Equal(usage[2].Cost.Amount, 1.5)
	c.clean()
}

func TestEndsOfTurns(t *testing.T) {
	c, ref, _ := play(t, scene{})
	for _, test := range []struct {
		step     string
		status   protocol.Status
		category protocol.ErrorCategory
	}{
		{"STOP end_turn", protocol.Completed, ""},
		{"STOP cancelled", protocol.Interrupted, ""},
		{"STOP something new", protocol.Completed, ""},
		{"STOP max_tokens", protocol.Failed, protocol.ErrorMaxOutputTokens},
		{"STOP max_turn_requests", protocol.Failed, protocol.ErrorMaxTurns},
		{"STOP refusal", protocol.Failed, protocol.ErrorPolicy},
		{"FAIL -32603 it broke", protocol.Failed, protocol.ErrorInternal},
		{"FAIL -32000 Authentication required", protocol.Failed, protocol.ErrorUnauthorized},
		{"FAIL -32000 no luck", protocol.Failed, protocol.ErrorUnknown},
	} {
		t.Run(test.step, func(t *testing.T) {
			is := is.New(t)
			before := len(find[*protocol.ProviderError](c, "t"))
			is.Equal(c.say(ref, test.step), test.status)
			errors := find[*protocol.ProviderError](c, "t")[before:]
			if test.category == "" {
				is.Equal(len(errors), 0)
				return
			}
			is.Equal(errors[0].Category, test.category)
			is.True(errors[0].SettlesTurn)
		})
	}
	is.New(t).True(slices.Contains(c.notes, protocol.MethodProviderRecovery+" "+string(protocol.RecoverReauthenticate)))
	c.clean()
}

func TestToolCallsBecomeItems(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	const update = `UPDATE {"sessionUpdate":"tool_call_update","toolCallId":`
	is.Equal(c.say(ref, script(
		`UPDATE {"sessionUpdate":"tool_call","toolCallId":"e","title":"edit","kind":"edit","status":"pending","content":[{"type":"diff","path":"a.txt","oldText":"one\n","newText":"two\n"}]}`,
		update+`"e","status":"completed","content":[{"type":"content","content":{"type":"text","text":"done"}}]}`,
		`UPDATE {"sessionUpdate":"tool_call","toolCallId":"d","title":"rm","kind":"delete","locations":[{"path":"/gone"}],"status":"failed","content":[{"type":"content","content":{"type":"text","text":"not allowed"}}]}`,
		`UPDATE {"sessionUpdate":"tool_call","toolCallId":"x","title":"`+"`ls`"+`","kind":"execute","rawInput":{"command":["ls","-l"],"cwd":"sub"}}`,
		update+`"x","rawOutput":{"exitCode":2,"output":"nothing"},"status":"failed"}`,
		`UPDATE {"sessionUpdate":"tool_call","toolCallId":"f","title":"get","kind":"fetch","rawInput":{"url":"u"},"status":"in_progress"}`,
		update+`"f","title":"got it","rawOutput":"text","status":"completed"}`,
		update+`"f","title":"late"}`, // after its end
		update+`"new","title":"no call before it","status":"completed"}`,
		`UPDATE {"sessionUpdate":"tool_call","toolCallId":"f","title":"get again","kind":"fetch"}`)), protocol.Completed)
	changes, how := items[*protocol.FileChange](c, "t")
	is.Equal(how, []protocol.Status{protocol.Completed, protocol.Failed})
	path := filepath.Join(c.cwd, "a.txt")
	is.Equal(changes[0].Changes[0].Path, path)
	is.Equal(*changes[0].Changes[0].Diff, "--- "+path+"\n+++ "+path+"\n@@ -1,1 +1,1 @@\n-one\n+two\n")
	is.Equal(changes[1].Changes[0].Change, protocol.ChangeDelete)
	commands, how := items[*protocol.Command](c, "t")
	is.Equal(how, []protocol.Status{protocol.Failed})
	is.Equal(commands[0].Command, "ls -l")
	is.Equal(*commands[0].Cwd, filepath.Join(c.cwd, "sub"))
	is.Equal(*commands[0].ExitCode, int64(2))
	is.Equal(*commands[0].Output, "nothing")
	tools, how := items[*protocol.Tool](c, "t")
	is.Equal(how, []protocol.Status{protocol.Completed, protocol.Completed, protocol.Interrupted}) // the last one never ended
	is.Equal(tools[0].Tool, "get")
	is.Equal(*tools[0].Result, "text")
	is.Equal(tools[0].Intent, protocol.IntentWeb)
	is.Equal(tools[1].Tool, "no call before it")
	closes := find[*protocol.ItemClose](c, "t")
	is.Equal(closes[1].Presentation.Detail, "not allowed")
	is.Equal(closes[len(closes)-1].Key.ProviderItemID, "f#2") // an id that is used again in its turn
	c.clean()
}

func TestDiffsOfACallAreBounded(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	diff := func(path string) string {
		return `{"type":"diff","path":"` + path + `","newText":"` + strings.Repeat("x", 700<<10) + `"}`
	}
	is.Equal(c.say(ref, `UPDATE {"sessionUpdate":"tool_call","toolCallId":"e","title":"edit","kind":"edit","status":"completed","content":[`+diff("a")+`,`+diff("b")+`]}`), protocol.Completed)
	changes, _ := items[*protocol.FileChange](c, "t")
	is.Equal(len(changes[0].Changes), 2)
	is.True(changes[0].Changes[0].Diff != nil)
	is.Equal(changes[0].Changes[1].Diff, nil)
	c.clean()
}

func TestOutputIsAppendedOrReplaced(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	out := func(text string) string {
		return `UPDATE {"sessionUpdate":"tool_call_update","toolCallId":"x","kind":"execute","title":"x","content":[{"type":"content","content":{"type":"text","text":"` + text + `"}}]}`
	}
	is.Equal(c.say(ref, script(out("a"), out("ab"), out("c"), out("d"), out("e"),
		`UPDATE {"sessionUpdate":"tool_call_update","toolCallId":"x","status":"completed"}`)), protocol.Completed)
	var modes []protocol.OutputMode
	for _, d := range find[*protocol.ItemOutput](c, "t") {
		modes = append(modes, d.Mode)
	}
	is.Equal(modes, []protocol.OutputMode{protocol.Append, protocol.Append, protocol.Replace}) // then the end brings the last
	commands, _ := items[*protocol.Command](c, "t")
	is.Equal(*commands[0].Output, "e")
	c.clean()
}

func TestCallsOfEarlierTurnsStayClosed(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	is.Equal(c.say(ref, `UPDATE {"sessionUpdate":"tool_call","toolCallId":"1","title":"one","status":"completed"}`), protocol.Completed)
	is.Equal(c.say(ref, script(
		`UPDATE {"sessionUpdate":"tool_call_update","toolCallId":"1","title":"late","status":"failed"}`, // of the turn before
		`UPDATE {"sessionUpdate":"tool_call","toolCallId":"1","title":"two","status":"completed"}`)), protocol.Completed)
	tools, how := items[*protocol.Tool](c, "t")
	is.Equal(how, []protocol.Status{protocol.Completed, protocol.Completed})
	is.Equal(tools[1].Tool, "two")
	c.clean()
}

const options = `"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]`

func permission(id, kind, options string) string {
	return `CALL session/request_permission {"sessionId":"s1","toolCall":{"toolCallId":"` + id + `","title":"do it","kind":"` + kind + `","rawInput":{"command":"true","plan":"A plan"}},` + options + `}`
}

func TestPermissionsBecomeApprovals(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	const all = `"options":[{"optionId":"once","kind":"allow_once"},{"optionId":"always","kind":"allow_always"},{"optionId":"never","kind":"reject_always"}]`
	for _, test := range []struct {
		kind, options string
		decision      protocol.DecisionKind
		subject       protocol.SubjectKind
		outcome       string
	}{
		{"execute", options, protocol.AllowOnce, protocol.SubjectCommand, `"y"`},
		{"edit", options, protocol.Deny, protocol.SubjectFileChange, `"n"`},
		{"switch_mode", options, protocol.AllowOnce, protocol.SubjectPlan, `"y"`},
		{"fetch", all, protocol.AllowForSession, protocol.SubjectPermission, `"always"`},
		{"fetch", all, protocol.Deny, protocol.SubjectPermission, `"never"`},
		{"fetch", `"options":[{"optionId":"y","kind":"allow_once"}]`, protocol.Deny, protocol.SubjectPermission, `"cancelled"`},
	} {
		c.mu.Lock()
		c.answer, c.questions = decide(test.decision), nil
		c.mu.Unlock()
		is.Equal(c.say(ref, permission("p", test.kind, test.options)), protocol.Completed)
		is.True(strings.Contains(c.said("t"), test.outcome))
		is.Equal(c.questions[0].(*protocol.Approval).Subject.Kind(), test.subject)
	}
	c.clean()
}

func TestOptionsOfOneKindAreAnOpenQuestion(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	c.answer = func(q protocol.Interaction) (protocol.Resolution, error) {
		open := q.(*protocol.OpenInteraction)
		is.Equal(open.Name, "acp/permission")
		is.Equal(open.Title, "Permission: do it")
		is.True(strings.Contains(string(open.Data), `"optionId":"b"`))
		return &protocol.Submitted{Data: json.RawMessage(`{"optionId":"b"}`)}, nil
	}
	is.Equal(c.say(ref, permission("p", "fetch", `"options":[{"optionId":"a","kind":"allow_once"},{"optionId":"b","kind":"allow_once"}]`)), protocol.Completed)
	is.True(strings.Contains(c.said("t"), `"b"`))
	c.clean()
}

func TestPermissionThatIsTakenBackIsWithdrawn(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	c.answer = nil
	request := strings.TrimPrefix(permission("p", "fetch", options), "CALL session/request_permission ")
	is.Equal(c.say(ref, script(`RAW {"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":`+request+`}`,
		`NOTIFY $/cancel_request {"requestId":"q"}`, "SAY on")), protocol.Completed)
	c.await("the withdrawal", func() bool { return slices.Contains(c.notes, protocol.MethodInteractionWithdrawn) })
	c.clean()
}

func TestInterruptCancelsPermissions(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	c.answer = nil
	turn, err := c.send(ref, script(permission("p", "fetch", options), "WAIT")) // it waits for the answer behind the cancellation
	is.NoErr(err)
	c.await("the question", func() bool { return len(c.questions) == 1 })
	c.stop(ref, protocol.Interrupt)
	is.Equal(c.settled(ref, turn), protocol.Interrupted)
	c.clean()
}

func TestInterruptDropsWhatIsLate(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	turn, err := c.send(ref, script("SAY before", `UPDATE {"sessionUpdate":"tool_call","toolCallId":"1","title":"x","kind":"execute"}`, "WAIT",
		"SAY late", `UPDATE {"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`))
	is.NoErr(err)
	c.await("the call", func() bool { return len(c.deltas["t"]) > 5 })
	c.stop(ref, protocol.Interrupt)
	is.Equal(c.settled(ref, turn), protocol.Interrupted)
	_, how := items[*protocol.Command](c, "t")
	is.Equal(how, []protocol.Status{protocol.Interrupted})
	is.Equal(c.said("t"), "before")
	is.Equal(c.say(ref, "SAY next"), protocol.Completed)
	is.Equal(c.said("t"), "before|next")
	c.clean()
}

func TestAgentThatIgnoresACancellationIsEnded(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{Init: json.RawMessage(`{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)})
	turn, err := c.send(ref, script("SAY here", "HANG"))
	is.NoErr(err)
	c.stop(ref, protocol.Interrupt)
	is.Equal(c.settled(ref, turn), protocol.Interrupted)
	is.Equal(c.say(ref, "SAY in a new process"), protocol.Completed) // which loaded the session
	c.clean()
}

func TestDeathOfTheAgentFailsTheTurn(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	is.Equal(c.say(ref, script("SAY so", "STDERR out of memory", "EXIT 3")), protocol.Failed)
	e := find[*protocol.ProviderError](c, "t")[0]
	is.Equal(e.Category, protocol.ErrorStreamDisconnected)
	is.Equal(e.Message, "the agent exited with status 3: out of memory")
	_, err := c.send(ref, "SAY more")
	var failed *protocol.Error
	is.True(asError(err, &failed))
	is.Equal(failed.Recovery, protocol.RecoverResumeFresh) // it cannot load the session
	c.clean()
}

func TestGarbageIsDropped(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	is.Equal(c.say(ref, script("RAW this is no message", "RAW [1,2]", `RAW {"jsonrpc":"2.0","id":99,"result":{}}`,
		`NOTIFY session/new_thing {"a":1}`, `CALL session/unknown {}`,
		`UPDATE {"sessionUpdate":"something_new","x":1}`, `UPDATE {"sessionUpdate":"tool_call","toolCallId":7}`,
		`NOTIFY session/update {"sessionId":"other","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"no"}}}`,
		"SAY fine")), protocol.Completed)
	is.True(strings.HasSuffix(c.said("t"), "fine"))
	is.True(strings.Contains(c.said("t"), "-32601"))
	is.True(!strings.Contains(c.said("t"), "no|"))
	unhandled := find[*protocol.ProviderUnhandled](c, "t")
	is.Equal(len(unhandled), 2)
	is.Equal(unhandled[0].RawType, "session/update something_new")
	is.True(slices.Contains(c.notes, protocol.MethodProviderRaw+" unknown"))
	is.Equal(len(c.logs), 3) // the lines that are no messages
}

func TestLineBeyondTheLimitFailsTheTurn(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	is.Equal(c.say(ref, script("LONG 33554433", "HANG")), protocol.Failed)
	e := find[*protocol.ProviderError](c, "t")[0]
	is.Equal(e.Category, protocol.ErrorStreamDisconnected)
	is.Equal(e.Message, "the agent sent a line of more than 32 MiB, and was ended")
}

func TestFilesOfTheWorkspace(t *testing.T) {
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	at := func(name string) string { return filepath.ToSlash(filepath.Join(c.cwd, name)) }
	is.NoErr(os.WriteFile(at("a.txt"), []byte("1\n2\n3\n"), 0o600))
	outside := filepath.Join(t.TempDir(), "secret")
	is.NoErr(os.WriteFile(outside, []byte("secret"), 0o600))
	is.NoErr(os.Symlink(outside, at("link")))
	read := func(path, more string) string {
		return `CALL fs/read_text_file {"sessionId":"s1","path":"` + path + `"` + more + `}`
	}
	write := func(path string) string {
		return `CALL fs/write_text_file {"sessionId":"s1","path":"` + path + `","content":"new\n"}`
	}
	for _, test := range []struct{ name, step, want string }{
		{"whole", read(at("a.txt"), ""), `{"content":"1\n2\n3\n"}`},
		{"some lines", read(at("a.txt"), `,"line":2,"limit":1`), `{"content":"2\n"}`},
		{"behind the end", read(at("a.txt"), `,"line":9`), `{"content":""}`},
		{"not there", read(at("none"), ""), "-32002"},
		{"outside", read(outside, ""), "outside of the workspace"},
		{"dots", read(c.cwd+"/../x", ""), "outside of the workspace"},
		{"relative", read("a.txt", ""), "no absolute path"},
		{"link to the outside", read(at("link"), ""), "escapes"},
		{"folder", read(at("."), ""), "is no file"},
		{"write", write(at("sub/b.txt")), "{}"},
		{"write outside", write(outside), "outside of the workspace"},
		{"write through a link", write(at("link")), "escapes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(c.say(ref, test.step), protocol.Completed)
			messages, _ := items[*protocol.Message](c, "t")
			got := messages[len(messages)-1].Text
			if !strings.Contains(got, test.want) {
				t.Errorf("%s: %s, not %s", test.step, got, test.want)
			}
		})
	}
	changes, _ := items[*protocol.FileChange](c, "t")
	is.Equal(len(changes), 1) // a write is shown
	is.Equal(changes[0].Changes[0].Change, protocol.ChangeAdd)
	data, err := os.ReadFile(outside)
	is.NoErr(err)
	is.Equal(string(data), "secret")

	is.Equal(c.say(ref, script(`UPDATE {"sessionUpdate":"tool_call","toolCallId":"w","title":"write","kind":"edit","locations":[{"path":"`+at("a.txt")+`"}]}`,
		write(at("a.txt")), `UPDATE {"sessionUpdate":"tool_call_update","toolCallId":"w","status":"completed"}`)), protocol.Completed)
	changes, _ = items[*protocol.FileChange](c, "t")
	is.Equal(len(changes), 2) // in the call that is about the file
	is.True(strings.HasSuffix(*changes[1].Changes[0].Diff, "-1\n-2\n-3\n+new\n"))
	c.clean()
}

func TestTerminals(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // the scripts are for sh
	}
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	const terminal = `{"sessionId":"s1","terminalId":"TERMINAL"}`
	is.Equal(c.say(ref, script(
		`CALL terminal/create {"sessionId":"s1","command":"echo $WHO; exit 4","env":[{"name":"WHO","value":"me"}]}`,
		`UPDATE {"sessionUpdate":"tool_call","toolCallId":"x","title":"sh","kind":"execute","content":[{"type":"terminal","terminalId":"TERMINAL"}]}`,
		`CALL terminal/wait_for_exit `+terminal, `CALL terminal/output `+terminal,
		`UPDATE {"sessionUpdate":"tool_call_update","toolCallId":"x","status":"completed"}`,
		`CALL terminal/release `+terminal, `CALL terminal/output `+terminal)), protocol.Completed)
	is.True(strings.HasPrefix(c.said("t"), `{"exitCode":4,"signal":null}{"output":"me\n","truncated":false,"exitStatus":{"exitCode":4,"signal":null}}`))
	is.True(strings.Contains(c.said("t"), "there is no terminal"))
	commands, _ := items[*protocol.Command](c, "t")
	is.Equal(*commands[0].Output, "me\n")
	is.Equal(*commands[0].ExitCode, int64(4))
	is.Equal(commands[0].Command, "echo $WHO; exit 4")
	var streamed string
	for _, d := range find[*protocol.ItemOutput](c, "t") {
		streamed += d.Text
	}
	is.Equal(streamed, "me\n")

	before := len(c.said("t"))
	is.Equal(c.say(ref, script(
		`CALL terminal/create {"sessionId":"s1","command":"sh","args":["-c","printf 'aé€b'; sleep 60"],"outputByteLimit":5}`,
		`CALL terminal/kill `+terminal, `CALL terminal/wait_for_exit `+terminal,
		`CALL terminal/create {"sessionId":"s1","command":"printf","args":["aé€b"],"outputByteLimit":5}`,
		`CALL terminal/wait_for_exit `+terminal, `CALL terminal/output `+terminal,
		`CALL terminal/create {"sessionId":"s1","command":"sh","args":["-c","true"],"env":[{"name":"BB_X","value":"1"}]}`,
		`CALL terminal/create {"sessionId":"s1","command":"/no/such/program","args":["x"]}`)), protocol.Completed)
	said := c.said("t")[before:]
	is.True(strings.Contains(said, `"exitCode":null,"signal":"`))      // killed
	is.True(strings.Contains(said, `{"output":"€b","truncated":true`)) // cut between characters
	is.True(strings.Contains(said, "BB_X belongs to core"))
	is.True(strings.Contains(said, "/no/such/program"))
	c.clean()
}

func TestInterruptEndsTerminals(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // the script is for sh
	}
	is := is.New(t)
	c, ref, _ := play(t, scene{})
	turn, err := c.send(ref, script(`CALL terminal/create {"sessionId":"s1","command":"sleep","args":["60"]}`, "SAY running", "WAIT"))
	is.NoErr(err)
	c.await("the text", func() bool { return slices.ContainsFunc(c.deltas["t"], isText) })
	c.stop(ref, protocol.Interrupt)
	is.Equal(c.settled(ref, turn), protocol.Interrupted)
	is.Equal(c.say(ref, `CALL terminal/wait_for_exit {"sessionId":"s1","terminalId":"terminal-2"}`), protocol.Completed)
	is.True(strings.Contains(c.said("t"), `"signal":"killed"`))
	c.clean()
}
