package threadapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// happened is an event of the turn t1 with a payload.
func happened(kind, itemID, payload string) threadapi.Event {
	return threadapi.Event{
		ThreadID: "th1", Seq: 1, At: time.Unix(0, 0), Type: kind, Scope: threadapi.Scope{Kind: "turn", TurnID: "t1"}, ItemID: itemID, Payload: json.RawMessage(payload),
	}
}

func below(parent string, e threadapi.Event) threadapi.Event {
	e.ParentItemID = parent
	return e
}

// printed is what a Printer makes of events.
func printed(p *threadapi.Printer, events ...threadapi.Event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(p.Event(e))
	}
	b.WriteString(p.Close())
	return b.String()
}

const (
	started   = "item.started"
	completed = "item.completed"
)

// item is the payload of an event of an item.
func item(status, fields string) string {
	return `{"status":"` + status + `","partial":false,"item":{` + fields + `},"presentation":{"label":"Working","icon":"x"}}`
}

const asked = `{"interactionId":"in_1","request":{"kind":"approval","subject":{"kind":"command","command":"rm x","cwd":"/w","actions":[],"sessionGrant":null},"reason":"to tidy up","decisions":["allow_once","deny"]}}`

var printerTests = []struct {
	name   string
	events []threadapi.Event
	want   string
}{
	{"a message flows and is not repeated", []threadapi.Event{
		happened(started, "m", item("", `"kind":"message","text":""`)),
		happened("item.text", "m", `{"stream":"text","text":"Hel"}`), happened("item.text", "m", `{"stream":"text","text":"lo\nyou"}`),
		happened(completed, "m", item("completed", `"kind":"message","text":"Hello\nyou"`)),
	}, "Hello\nyou\n"},
	{"a message that closes longer goes on", []threadapi.Event{
		happened(started, "m", item("", `"kind":"message","text":"Hel"`)), happened(completed, "m", item("completed", `"kind":"message","text":"Hello"`)),
	}, "Hello\n"},
	{"a message that became another one is shown whole", []threadapi.Event{
		happened(started, "m", item("", `"kind":"message","text":"abc"`)), happened(completed, "m", item("completed", `"kind":"message","text":"xyzw"`)),
	}, "abc\nxyzw\n"},
	{"a message without an opening is shown whole", []threadapi.Event{
		happened(completed, "m", item("completed", `"kind":"message","text":"Hi"`)),
	}, "Hi\n"},
	{"a partial message keeps what came", []threadapi.Event{
		happened(started, "m", item("", `"kind":"message","text":""`)), happened("item.text", "m", `{"stream":"text","text":"Hel"}`),
		happened(completed, "m", `{"status":"interrupted","partial":true,"item":{"kind":"message","text":""},"presentation":{"label":"x","icon":"x"}}`),
	}, "Hel\n  interrupted\n"},
	{"reasoning shows its summary, or else its text", []threadapi.Event{
		happened(completed, "r", item("completed", `"kind":"reasoning","text":"long","summary":"short"`)),
		happened(completed, "r2", item("completed", `"kind":"reasoning","text":"long","summary":""`)),
	}, "short\nlong\n"},
	{"a thought stands below its summary", []threadapi.Event{
		happened(started, "r", item("", `"kind":"reasoning","text":"","summary":""`)),
		happened("item.text", "r", `{"stream":"summary","text":"short"}`), happened("item.text", "r", `{"stream":"text","text":"long"}`),
		happened(completed, "r", item("completed", `"kind":"reasoning","text":"long","summary":"short"`)),
	}, "short\nlong\n"},
	{"a plan has a heading", []threadapi.Event{
		happened(started, "p", item("", `"kind":"plan","text":"1. Read","path":null`)), happened(completed, "p", item("completed", `"kind":"plan","text":"1. Read\n2. Write","path":null`)),
	}, "Plan\n  1. Read\n  2. Write\n"},
	{"a compaction says what it saved", []threadapi.Event{
		happened(completed, "c", item("completed", `"kind":"compaction","trigger":"auto","preTokens":12345,"postTokens":900`)),
	}, "the agent made room in its context: 12.3k tokens became 900\n"},
	{"a command shows its output and exit status", []threadapi.Event{
		happened(started, "c", item("", `"kind":"command","command":"go test","output":null`)),
		happened("item.output", "c", `{"mode":"append","text":"ok\n"}`),
		happened(completed, "c", item("failed", `"kind":"command","command":"go test","output":"ok\nFAIL\n","exitCode":1,"durationMs":1250`)),
	}, "$ go test\n  ok\n  FAIL\n  exit 1 after 1.2 s\n"},
	{"output that is replaced is shown as far as it goes on", []threadapi.Event{
		happened(started, "c", item("", `"kind":"command","command":"ls","output":null`)),
		happened("item.output", "c", `{"mode":"replace","text":"a"}`), happened("item.output", "c", `{"mode":"replace","text":"ab"}`), happened("item.output", "c", `{"mode":"replace","text":"zz"}`),
		happened(completed, "c", item("completed", `"kind":"command","command":"ls","output":"abc","exitCode":0`)),
	}, "$ ls\n  abc\n  exit 0\n"},
	{"a denied command says so", []threadapi.Event{
		happened(completed, "c", item("failed", `"kind":"command","command":"rm x","approval":"denied"`)),
	}, "$ rm x\n  denied\n"},
	{"commands at once are told apart", []threadapi.Event{
		happened(started, "a", item("", `"kind":"command","command":"one"`)), happened(started, "b", item("", `"kind":"command","command":"two"`)),
		happened("item.output", "a", `{"mode":"append","text":"1\n"}`), happened("item.output", "b", `{"mode":"append","text":"2\n"}`),
	}, "$ one\n$ two\n… $ one\n  1\n… $ two\n  2\n"},
	{"a tool shows its arguments and result", []threadapi.Event{
		happened(started, "t", item("", `"kind":"tool","tool":"search","server":"docs","arguments":{"q":"x"}`)),
		happened(completed, "t", item("completed", `"kind":"tool","tool":"search","server":"docs","arguments":{"q":"x"},"result":"3 hits"`)),
	}, "* docs.search {\"q\":\"x\"}\n  3 hits\n"},
	{"a long result is cut", []threadapi.Event{
		happened(completed, "t", item("completed", `"kind":"tool","tool":"read","arguments":{},"result":"`+strings.Repeat(`l\n`, 20)+`"`)),
	}, "* read\n" + strings.Repeat("  l\n", 12) + "  … 8 more lines\n"},
	{"a tool that fails shows its error", []threadapi.Event{
		happened(completed, "t", item("failed", `"kind":"tool","tool":"read","arguments":null,"error":"no such file"`)),
	}, "* read\n  no such file\n  failed\n"},
	{"files are listed with what changed in them", []threadapi.Event{
		happened(completed, "f", item("completed", `"kind":"file_change","changes":[{"path":"a.go","change":"update","movePath":"b.go","diff":"--- a.go\n+++ b.go\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"},{"path":"c","change":"add","diff":null},{"path":"d","change":"delete"}],"approval":null`)),
	}, "~ a.go -> b.go +2 -1\n+ c\n- d\n"},
	{"what belongs to a task stands to the right of it", []threadapi.Event{
		happened(started, "t", item("", `"kind":"task","role":"delegation","label":"Look around"`)),
		below("t", happened(completed, "c", item("completed", `"kind":"command","command":"ls","output":"a","exitCode":0`))),
		happened(completed, "t", item("completed", `"kind":"task","role":"delegation","label":"Look around","summary":"found it"`)),
	}, "+ Look around\n  $ ls\n    a\n    exit 0\n… + Look around\n  found it\n"},
	{"an extension shows its presentation", []threadapi.Event{
		happened(completed, "e", `{"status":"completed","partial":false,"item":{"kind":"demo/card","payload":{}},"presentation":{"label":"Drew","icon":"x","title":"a card","detail":"red"}}`),
	}, "* Drew a card red\n"},
	{"an extension says at the end what it did", []threadapi.Event{
		happened(started, "e", `{"item":{"kind":"demo/card","payload":{}},"presentation":{"label":"Drawing","icon":"x"}}`),
		happened(completed, "e", `{"status":"completed","partial":false,"item":{"kind":"demo/card","payload":{}},"presentation":{"label":"Drew","icon":"x","title":"a card"}}`),
	}, "* Drawing\n  Drew a card\n"},
	{"what asks to be left out is left out", []threadapi.Event{
		happened(started, "e", `{"item":{"kind":"message","text":"a"},"presentation":{"label":"x","icon":"x","suppress":true}}`),
		happened("item.text", "e", `{"stream":"text","text":"b"}`),
		happened(completed, "e", `{"status":"completed","item":{"kind":"message","text":"ab"},"presentation":{"label":"x","icon":"x","suppress":true}}`),
	}, ""},
	{"progress is a line, once", []threadapi.Event{
		happened(started, "t", item("", `"kind":"tool","tool":"fetch","arguments":{}`)),
		happened("item.progress", "t", `{"message":"half","item":null,"presentation":null}`), happened("item.progress", "t", `{"message":"half","item":null,"presentation":null}`),
	}, "* fetch\n  half\n"},
	{"inputs are quoted, and others are named", []threadapi.Event{
		happened(threadapi.EventInputSent, "", `{"clientRequestId":"r","steers":false,"by":"user:local","input":["Hi\nyou","there",{"type":"localFile","path":"/a"}]}`),
		happened(threadapi.EventInputSent, "", `{"clientRequestId":"r","steers":false,"by":"agent:th2","input":[{"type":"text","text":"Do"},{"type":"image","url":"data:x"}]}`),
	}, "> Hi\n  you there\n  [/a]\n\n> agent:th2: Do\n  [image]\n"},
	{"an approval says what, why and how to answer", []threadapi.Event{
		happened(threadapi.EventInteractionOpened, "", asked),
		happened(threadapi.EventInteractionResolved, "", `{"interactionId":"in_1","resolution":{"kind":"approval","decision":"deny","granted":null},"by":"user:local"}`),
	}, "? May it run: rm x?\n  in /w\n  because: to tidy up\n  answer: bb interaction resolve in_1 allow_once|deny\n  denied by user:local\n"},
	{"an approval of changes shows them", []threadapi.Event{
		happened(started, "f", item("", `"kind":"file_change","changes":[{"path":"a","change":"update","diff":"@@ -1 +1 @@\n-x\n+y\n"}],"approval":"waiting"`)),
		happened(threadapi.EventInteractionOpened, "f", `{"interactionId":"in_1","request":{"kind":"approval","subject":{"kind":"file_change","writeScope":"/w"},"reason":null,"decisions":["allow_once","allow_for_session","deny"]}}`),
	}, "? May it change files in /w?\n  ~ a +1 -1\n    @@ -1 +1 @@\n    -x\n    +y\n  answer: bb interaction resolve in_1 allow_once|allow_for_session|deny\n"},
	{"questions are shown with their options", []threadapi.Event{
		happened(threadapi.EventInteractionOpened, "", `{"interactionId":"in_1","request":{"kind":"question","questions":[{"id":"c","prompt":"Which colour?","multiSelect":false,"options":[{"value":"red","label":"Red","description":"warm"},{"value":"blue","label":"Blue","description":null}],"allowFreeText":false}]}}`),
	}, "? Which colour?\n  1. Red - warm\n  2. Blue\n  answer: bb interaction resolve in_1 --answers '{\"c\":{\"selected\":[\"red\"]}}'\n"},
	{"a kind of a plugin says how to answer", []threadapi.Event{
		happened(threadapi.EventInteractionOpened, "", `{"interactionId":"in_1","request":{"kind":"demo/pick","title":"Pick one","data":{"a":1}}}`),
	}, "? Pick one\n  {\"a\":1}\n  answer: bb interaction resolve in_1 --data '{…}'\n"},
	{"what a rule allows is not worth a word", []threadapi.Event{
		happened(threadapi.EventInteractionOpened, "", asked),
		happened(threadapi.EventInteractionResolved, "", `{"interactionId":"in_1","resolution":{"kind":"approval","decision":"allow_once","granted":null},"by":"system:auto-allow"}`),
	}, ""},
	{"what a rule denies is one line", []threadapi.Event{
		happened(threadapi.EventInteractionOpened, "", asked),
		happened(threadapi.EventInteractionResolved, "", `{"interactionId":"in_1","resolution":{"kind":"approval","decision":"deny","granted":null},"by":"system:auto-deny"}`),
	}, "denied by a rule: May it run: rm x\n"},
	{"an answer that nobody waits for", []threadapi.Event{
		happened(threadapi.EventInteractionResolved, "", `{"interactionId":"in_1","resolution":{"kind":"interrupted"},"by":"system:engine"}`),
	}, "  not answered: nobody waits for it any more\n"},
	{"usage stands at the end of its turn", []threadapi.Event{
		happened("thread.usage", "", `{"last":{"inputTokens":1200,"cachedInputTokens":1000,"outputTokens":30},"total":{"totalTokens":4100000},"cost":{"amount":0.01,"currency":"USD"}}`),
		happened(completed, "m", item("completed", `"kind":"message","text":"Hi"`)),
		happened("turn.completed", "", `{"status":"completed","error":null}`), happened("turn.completed", "", `{"status":"completed","error":null}`),
	}, "Hi\ntokens: 1.2k in (1.0k cached), 30 out; 4.1M in all; 0.0100 USD\n"},
	{"a turn that failed says why", []threadapi.Event{happened("turn.completed", "", `{"status":"failed","error":{"message":"no quota"}}`)}, "The turn failed: no quota\n"},
	{"a turn that was interrupted", []threadapi.Event{happened("turn.completed", "", `{"status":"interrupted","error":null}`)}, "The turn was interrupted\n"},
	{"a turn that was merged", []threadapi.Event{happened("turn.completed", "", `{"status":"merged","error":null}`)}, "The agent took this into the turn that was open.\n"},
	{"steps are a checklist, shown when it changes", []threadapi.Event{
		happened("thread.todo", "", `{"steps":[{"text":"Read","status":"completed"},{"text":"Write","status":"active"},{"text":"Test","status":"pending"},{"text":"Ship","status":"failed"}],"explanation":"So:"}`),
		happened("thread.todo", "", `{"steps":[{"text":"Read","status":"completed"},{"text":"Write","status":"active"},{"text":"Test","status":"pending"},{"text":"Ship","status":"failed"}],"explanation":null}`),
	}, "So:\n[x] Read\n[>] Write\n[ ] Test\n[!] Ship\n"},
	{"errors and warnings", []threadapi.Event{
		happened("provider.error", "", `{"category":"rate_limited","message":"slow down","detail":"429","willRetry":true,"settlesTurn":false}`),
		happened("provider.warning", "", `{"category":"deprecated","summary":null,"details":"use b"}`),
		happened("provider.modelFallback", "", `{"originalModel":"a","fallbackModel":"b","reason":"provider","message":"busy"}`),
		happened("turn.input_failed", "", `{"clientRequestId":"r","message":"gone"}`),
	}, "error: slow down\n429 (it tries again)\nwarning: deprecated\nuse b\nwarning: b answers instead of a: busy\nwarning: an input did not reach the agent: gone\n"},
	{"a turn that fails does not repeat its error", []threadapi.Event{
		happened("provider.error", "", `{"message":"no","willRetry":false,"settlesTurn":true}`), happened("turn.completed", "", `{"status":"failed","error":{"message":"no"}}`),
		happened("turn.completed", "", `{"status":"failed","error":{"message":"no"}}`),
	}, "error: no\nThe turn failed\nThe turn failed: no\n"},
	{"a session that is replaced is said once", []threadapi.Event{
		happened(threadapi.EventThreadSession, "", `{"state":"replaced","contextLost":true,"reason":"it crashed"}`),
		happened("provider.warning", "", `{"category":"session-replaced","summary":"it crashed","details":null}`),
	}, "warning: the agent no longer knows what was said before: it crashed\n"},
	{"what happens to the thread", []threadapi.Event{
		happened(threadapi.EventThreadForked, "", `{"forkedFrom":"th0"}`), happened(threadapi.EventThreadRenamed, "", `{"title":"New"}`),
		happened(threadapi.EventThreadArchived, "", `{}`), happened(threadapi.EventThreadUnarchived, "", `{}`),
		happened(threadapi.EventThreadGoal, "", `{"goal":"win"}`), happened(threadapi.EventThreadGoal, "", `{"goal":""}`),
		happened("thread.context_cleared", "", `{}`),
		happened(threadapi.EventThreadSession, "", `{"state":"replaced","contextLost":true,"reason":"it crashed"}`),
		happened(threadapi.EventThreadSession, "", `{"state":"lost","contextLost":false}`),
	}, "forked from another thread th0\nrenamed: New\narchived\ntaken back from the archive\ngoal: win\nthe goal is gone\nthe agent's context was cleared\nwarning: the agent no longer knows what was said before: it crashed\nwarning: the agent's session ended\n"},
	{"what people need not see", []threadapi.Event{
		happened(threadapi.EventThreadCreated, "", `{}`), happened("turn.started", "", `{"origin":"client","clientRequestId":"r"}`), happened("turn.input_accepted", "", `{"clientRequestId":"r"}`),
		happened("turn.diff", "", `{"diff":"x"}`), happened("thread.context_window", "", `{"used":1,"size":2,"estimated":false}`), happened("thread.name", "", `{"name":"x"}`),
		happened("thread.extension_state", "", `{"extensionKind":"a/b","payload":{}}`), happened("provider.rateLimits", "", `{"rateLimits":{}}`),
		happened("provider.unhandled", "", `{"rawType":"x","raw":{},"parentRef":null,"rule":null}`), happened(threadapi.EventThreadSession, "", `{"state":"started","contextLost":false}`),
		happened("from.the.future", "", `{"x":1}`), happened("item.text", "nobody", `{"stream":"text","text":"x"}`), happened(started, "", `[]`),
	}, ""},
	{"control sequences of foreign text are removed", []threadapi.Event{
		happened(completed, "m", item("completed", `"kind":"message","text":"a\u001b[31mb\u001b]0;title\u0007c\r"`)),
		happened(completed, "c", item("completed", `"kind":"command","command":"l\u001b[2Js","output":"\u009b1mx"`)),
	}, "abc\n$ ls\n  x\n"},
}

func TestPrinter(t *testing.T) {
	for _, tc := range printerTests {
		t.Run(tc.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(printed(&threadapi.Printer{}, tc.events...), tc.want)
			colored := printed(&threadapi.Printer{Render: kernelcontract.Render{Color: true, TTY: true, Width: 80}}, tc.events...)
			is.Equal(withoutStyles(colored), tc.want) // colours change nothing else
		})
	}
}

func withoutStyles(s string) string {
	for _, n := range []string{"0", "1", "2", "31", "32", "33", "36"} {
		s = strings.ReplaceAll(s, "\x1b["+n+"m", "")
	}
	return s
}

// TestPrinterColors proves that colours are there only when they are asked for, and end with each line.
func TestPrinterColors(t *testing.T) {
	is := is.New(t)
	e := happened("provider.error", "", `{"message":"a","detail":"b"}`)
	is.Equal(threadapi.RenderEvent(e, kernelcontract.Render{Color: true}), "\x1b[31merror: a\x1b[0m\n\x1b[31mb\x1b[0m")
	is.Equal(threadapi.RenderEvent(e, kernelcontract.Render{}), "error: a\nb")
}

// TestPrinterWidth proves that lines that only say what something is are cut to the screen.
func TestPrinterWidth(t *testing.T) {
	is := is.New(t)
	e := happened(completed, "t", item("completed", `"kind":"tool","tool":"search","arguments":{"q":"a long question"}`))
	is.Equal(threadapi.RenderEvent(e, kernelcontract.Render{Width: 20}), `* search {"q":"a lo…`)
}

// TestPrinterHoldsApprovals proves that an approval that a rule may answer waits for the next event, or for a pause.
func TestPrinterHoldsApprovals(t *testing.T) {
	is := is.New(t)
	p := threadapi.Printer{Prompts: true}
	is.Equal(p.Event(happened(threadapi.EventInteractionOpened, "", asked)), "")
	is.Equal(p.Idle(), "? May it run: rm x?\n  in /w\n  because: to tidy up\n")
	is.Equal(p.Event(happened(threadapi.EventInteractionOpened, "", asked)), "")
	is.Equal(p.Event(happened(threadapi.EventThreadRenamed, "", `{"title":"New"}`)), "? May it run: rm x?\n  in /w\n  because: to tidy up\nrenamed: New\n")
}

// TestRenderEventAlone proves that events that come alone show an item once, whole, when it settles.
func TestRenderEventAlone(t *testing.T) {
	is := is.New(t)
	r := kernelcontract.Render{}
	is.Equal(threadapi.RenderEvent(happened(started, "m", item("", `"kind":"message","text":""`)), r), "")
	is.Equal(threadapi.RenderEvent(happened("item.text", "m", `{"stream":"text","text":"Hi"}`), r), "")
	is.Equal(threadapi.RenderEvent(happened(completed, "m", item("completed", `"kind":"message","text":"Hi"`)), r), "Hi")
	is.Equal(threadapi.RenderEvent(happened(threadapi.EventInteractionOpened, "", asked), r), "? May it run: rm x?\n  in /w\n  because: to tidy up\n  answer: bb interaction resolve in_1 allow_once|deny")
	is.Equal(threadapi.RenderEvent(happened("thread.usage", "", `{"last":{"inputTokens":1,"outputTokens":2},"total":{"totalTokens":3}}`), r), "tokens: 1 in, 2 out; 3 in all")
}

// FuzzPrinter proves that no payload makes a Printer panic or print what a terminal obeys.
func FuzzPrinter(f *testing.F) {
	for _, tc := range printerTests {
		for _, e := range tc.events {
			f.Add(e.Type, string(e.Payload))
		}
	}
	f.Fuzz(func(t *testing.T, kind, payload string) {
		p := threadapi.Printer{}
		out := printed(&p, happened(kind, "i", payload), happened(completed, "i", payload))
		if text.Strip(out) != out {
			t.Errorf("%q prints %q", payload, out)
		}
	})
}

// BenchmarkPrinter measures a piece of streamed text, beside the decoding of its event alone.
func BenchmarkPrinter(b *testing.B) {
	e := happened("item.text", "m", `{"stream":"text","text":"some words of a message "}`)
	b.Run("printer", func(b *testing.B) {
		p := threadapi.Printer{Render: kernelcontract.Render{Color: true}}
		p.Event(happened(started, "m", item("", `"kind":"message","text":""`)))
		b.ReportAllocs()
		for b.Loop() {
			p.Event(e)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v struct{ Stream, Text string }
			if err := json.Unmarshal(e.Payload, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
