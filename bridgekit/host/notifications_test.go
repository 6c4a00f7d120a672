package host_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

func TestNotifications(t *testing.T) {
	is := is.New(t)
	o := options()
	s := watch(&o)
	b := start(t, o)
	begin(t, b, "t1")
	before := len(s.all())
	do(t, b, "t1",
		notification("session/replaced", `{"threadId":"$T","providerThreadId":"p-t1","reason":"r","contextLost":true}`),
		notification("provider/recovery", `{"threadId":null,"hint":"reauthenticate","message":"m"}`),
		notification("provider/recovery", `{"threadId":"$T","hint":"none","message":"m","more":1}`),
		notification("interaction/withdrawn", `{"threadId":"$T","requestKey":"k"}`),
		notification("provider/raw", `{"threadId":null,"coverage":"noise","payload":{"a":1}}`),
		notification("bridge/log", `{"threadId":"$T","level":"error","message":"m","data":{"b":2}}`),
		deltas(`{"kind":"thread.name","name":"n"}`),
		// dropped with a warning each:
		notification("thread/renamed", `{}`),
		notification("bridge/log", `{"level":"loud"}`),
		`say {"jsonrpc":"2.0","method":"bridge/log"}`,
		notification("thread/identity", `{"threadId":"t9","providerThreadId":"p","sessionRestorable":true}`),
		notification("provider/recovery", `{"threadId":"t9","hint":"none","message":"m"}`),
		notification("thread/delta", `{"threadId":"t9","deltas":[`+turnOpen+`]}`),
		notification("thread/delta", `{"threadId":"t1"}`),
		notification("thread/delta", `{"threadId":"t1","deltas":[],"more":1}`),
	)
	got := s.all()[before:]
	for i, want := range []string{
		"replaced t1 p-t1", `recovery "" reauthenticate`, `recovery "t1" none`, "withdrawn t1 k", `raw "" {"a":1}`,
		`error t1 m {"b":2}`, `delta t1 {"kind":"thread.name","name":"n"}`,
		"thread/renamed", "level", "message", "t9", "t9", "t9", "deltas", "more",
	} {
		if i >= 7 && !strings.HasPrefix(got[i], "warn ") || !strings.Contains(got[i], want) {
			t.Errorf("%d: %s, want %s", i, got[i], want)
		}
	}
	is.Equal(len(got), 15)
}

func TestGrammarIsLive(t *testing.T) {
	const text = `{"kind":"item.text","scope":"turn","turnKey":null,` + key + `,"stream":"text","text":"a"}`
	const message = `"item":{"kind":"message","text":""}`
	for rule, delta := range map[string]string{
		"events/schema-valid":          `{"kind":"thread.name","name":"n","more":1}`,
		"scope/explicit":               strings.Replace(text, `"scope":"turn",`, "", 1),
		"item/presentation-present":    `{"kind":"item.open","scope":"turn","turnKey":null,` + key + `,` + message + `}`,
		"item/extension-kind-declared": `{"kind":"item.open","scope":"turn","turnKey":null,` + key + `,"item":{"kind":"demo/other","payload":{}},` + label + `}`,
		"turn/vouched-keys-only":       strings.Replace(messageOpen, `"turnKey":null`, `"turnKey":"k9"`, 1),
		"item/opens-before-delta":      text,
		"item/settles-once":            `{"kind":"item.close","scope":"turn","turnKey":null,"key":{"providerItemId":"m0","channel":null,"parentRef":null},"status":"completed",` + message + `,` + label + `}`,
	} {
		t.Run(rule, func(t *testing.T) {
			is := is.New(t)
			o := options()
			s := watch(&o)
			b := start(t, o)
			begin(t, b, "t1")
			closed := strings.Replace(strings.Replace(messageOpen, "m1", "m0", 1), "item.open", "item.close", 1)
			closed = strings.Replace(closed, `"item":`, `"status":"completed","item":`, 1)
			do(t, b, "t1", deltas(turnOpen, closed, delta, `{"kind":"thread.name","name":"after"}`))
			warning := s.wait(t, "warn t1", `"rule":"`+rule+`"`)
			is.True(strings.Contains(warning, `"index":2`))
			is.Equal(index(s.all(), "warn t1"), index(s.all(), `"rule":"`+rule+`"`)) // nothing else was wrong
			s.wait(t, "delta t1", "after")                                           // the others stay
			s.wait(t, "delta t1", "m0")
		})
	}
	t.Run("a schema of the declaration", func(t *testing.T) {
		o := options()
		s := watch(&o)
		b := start(t, o)
		begin(t, b, "t1")
		chart := func(id, payload string) string {
			return strings.NewReplacer("m1", id, message, `"item":{"kind":"demo/chart","payload":`+payload+`}`).Replace(messageOpen)
		}
		do(t, b, "t1", deltas(turnOpen, chart("c1", `{}`), chart("c2", `{"points":[]}`)))
		s.wait(t, "warn t1", `"index":1`)
		s.wait(t, "delta t1", "c2")
	})
	t.Run("identity first", func(t *testing.T) {
		is := is.New(t)
		o := options("on thread/start " + deltas(turnOpen))
		s := watch(&o)
		b := start(t, o)
		begin(t, b, "t1")
		is.True(strings.Contains(s.wait(t, "warn t1", "before thread/identity"), "session/identity-precedes-delta"))
		is.Equal(index(s.all(), "delta t1 "), -1)
	})
	t.Run("the result is no identity", func(t *testing.T) {
		is := is.New(t)
		o := options(`on thread/start result {"providerThreadId":"$P","sessionRestorable":true}`)
		s := watch(&o)
		b := start(t, o)
		begin(t, b, "t1")
		do(t, b, "t1", deltas(turnOpen))
		s.wait(t, "warn t1", "before thread/identity")
		do(t, b, "t1", notification("session/replaced", `{"threadId":"$T","providerThreadId":"p","reason":"r","contextLost":false}`), deltas(turnOpen))
		s.wait(t, "delta t1", "turn.open")
		is.Equal(len(s.all()), 3)
	})
	t.Run("threads are apart", func(t *testing.T) {
		is := is.New(t)
		o := options()
		s := watch(&o)
		b := start(t, o)
		begin(t, b, "t1")
		begin(t, b, "t2")
		do(t, b, "t1", deltas(turnOpen, messageOpen))
		do(t, b, "t2", deltas(turnOpen, text))
		s.wait(t, "warn t2", "item/opens-before-delta")
		is.Equal(index(s.all(), "warn t1"), -1)
	})
	t.Run("a released thread is unknown", func(t *testing.T) {
		is := is.New(t)
		for _, end := range []func(b *host.Bridge) error{
			func(b *host.Bridge) error { return b.ThreadStop(background, stop("t1", protocol.Release)) },
			func(b *host.Bridge) error { return b.ThreadDiscard(background, ref("t1")) },
		} {
			o := options()
			s := watch(&o)
			b := start(t, o)
			begin(t, b, "t1")
			begin(t, b, "t2")
			is.NoErr(end(b))
			do(t, b, "t2", notification("thread/delta", `{"threadId":"t1","deltas":[`+turnOpen+`]}`))
			s.wait(t, "warn t1", "without a session")
			is.Equal(index(s.all(), "delta t1"), -1)
			begin(t, b, "t1") // and can start again
		}
	})
}

func TestBadLines(t *testing.T) {
	for name, tt := range map[string]struct{ line, reason string }{
		"invalid JSON":         {`{"jsonrpc":`, "invalid-json"},
		"null":                 {`null`, "not-an-object"},
		"array":                {`[{"jsonrpc":"2.0","method":"bridge/log","params":{}}]`, "batch"},
		"two objects":          {`{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}`, "second-value"},
		"invalid UTF-8":        {"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}", "invalid-utf8"},
		"id 1.5":               {`{"jsonrpc":"2.0","id":1.5,"method":"tool/call","params":{}}`, "wrong-id"},
		"id null":              {`{"jsonrpc":"2.0","id":null,"method":"tool/call","params":{}}`, "wrong-id"},
		"response without id":  {`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`, "missing-id"},
		"unknown response":     {`{"jsonrpc":"2.0","id":"99","result":{}}`, "unknown-id"},
		"over the limit":       {strings.Repeat("x", 100), ""},
		"empty line":           {"", "invalid-json"},
		"params no object":     {`{"jsonrpc":"2.0","method":"thread/delta","params":[]}`, "wrong-params"},
		"banner with controls": {"\x1b[31mhello", "invalid-json"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			o := options()
			s := watch(&o)
			b := start(t, o)
			begin(t, b, "t1")
			if name == "over the limit" {
				do(t, b, "t1", "junk 9000000", "say", "say")
				s.wait(t, "warn", "over-long")
			} else {
				do(t, b, "t1", fmt.Sprintf("hex %x0a", tt.line))
				s.wait(t, "warn", `"reason":"`+tt.reason+`"`)
			}
			_, err := b.ModelList(background, provider)
			is.NoErr(err) // the bridge lives on
			is.Equal(index(s.all(), "delta t1 "), -1)
		})
	}
	for name, line := range map[string]string{
		"CRLF":       deltas(`{"kind":"thread.name","name":"x"}`) + "\r",
		"raw U+2028": deltas("{\"kind\":\"thread.name\",\"name\":\"x\u2028\"}"),
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			s := watch(&o)
			b := start(t, o)
			begin(t, b, "t1")
			do(t, b, "t1", line)
			s.wait(t, "delta t1", "thread.name", "x")
		})
	}
	t.Run("ids come back byte for byte", func(t *testing.T) {
		for _, id := range []string{"0", "-1", "9007199254740993", `"a\u0062"`} {
			o := options()
			s := watch(&o)
			b := start(t, o)
			begin(t, b, "t1")
			do(t, b, "t1", fmt.Sprintf(`say {"jsonrpc":"2.0","id":%s,"method":"no/such","params":{}}`, id))
			s.wait(t, "got", `"id":`+id+`,`, "-32601")
		}
	})
	t.Run("an id in flight twice", func(t *testing.T) {
		o := options()
		s := watch(&o)
		asked := answerer(&o, s)
		b := start(t, o)
		begin(t, b, "t1")
		do(t, b, "t1", question("1", "k1", `"scope":"thread","turnKey":null`), question("1", "k2", `"scope":"thread","turnKey":null`))
		s.wait(t, "warn", "repeated-id")
		<-asked
	})
}

func TestOverLongLineLosesOpenTurns(t *testing.T) {
	is := is.New(t)
	o := options()
	s := watch(&o)
	asked := answerer(&o, s)
	b := start(t, o)
	for _, thread := range []string{"t1", "t2", "t3"} {
		begin(t, b, thread)
	}
	do(t, b, "t1", deltas(turnOpen), question("1", "k1", `"scope":"turn","turnKey":null`))
	do(t, b, "t2", deltas(turnOpen, boundary))
	do(t, b, "t3", deltas(turnOpen))
	<-asked
	do(t, b, "t2", "junk 9000000", "say")
	s.wait(t, "lost [t1 t3]")
	s.wait(t, "got", `"id":1,"error":{"code":-32007`)
	is.NoErr(b.ThreadArchive(background, ref("t1"))) // the process lives on
	do(t, b, "t2", "junk 9000000", "say")
	_, err := b.ModelList(background, provider)
	is.NoErr(err)
	is.Equal(strings.Count(strings.Join(s.all(), "\n"), "lost ["), 1) // no turn was open any more
}

func TestHandlerPanics(t *testing.T) {
	is := is.New(t)
	o := options()
	s := watch(&o)
	o.Handler.Identity = func(protocol.IdentityParams) { panic("one") }
	o.Handler.Exit = func(*host.ExitError) { panic("two") }
	b := start(t, o)
	begin(t, b, "t1")
	s.wait(t, "warn", "handler-panicked")
	do(t, b, "t1", deltas(turnOpen))
	s.wait(t, "delta t1", "turn.open")
	is.NoErr(b.Stop(background))
}

// TestFlood has a real child send 100,000 deltas to a consumer that is slow at times.
func TestFlood(t *testing.T) {
	is := is.New(t)
	const n = 100_000
	o := options()
	next, wrong := 0, 0
	var peak, before runtime.MemStats
	o.Handler.Deltas = func(_ string, ds protocol.Deltas) {
		for _, d := range ds {
			text, ok := d.(*protocol.ItemText)
			if !ok {
				continue
			}
			if text.Text != fmt.Sprint(next) {
				wrong++
			}
			next++
			if next%10_000 == 0 {
				for range 1000 { // let the child fill every buffer there is
					runtime.Gosched()
				}
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.HeapAlloc = max(peak.HeapAlloc, m.HeapAlloc)
			}
		}
	}
	b := start(t, o)
	begin(t, b, "t1")
	runtime.GC()
	runtime.ReadMemStats(&before)
	do(t, b, "t1", deltas(turnOpen, messageOpen), fmt.Sprintf("flood %d", n))
	is.Equal(next, n)  // nothing is lost
	is.Equal(wrong, 0) // the order is kept
	if peak.HeapAlloc > before.HeapAlloc+8<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before.HeapAlloc, peak.HeapAlloc)
	}
}

// TestDefaultLog sends what the bridge logs to Options.Log when there is no Handler.Log.
func TestDefaultLog(t *testing.T) {
	is := is.New(t)
	var log lockedBuffer
	o := options()
	o.Log = textLogger(&log)
	b := start(t, o)
	begin(t, b, "t1")
	do(t, b, "t1", notification("bridge/log", `{"threadId":"$T","level":"error","message":"mine","data":{"b":2}}`),
		notification("bridge/log", `{"threadId":null,"level":"debug","message":"quiet","data":null}`), "say junk")
	is.True(strings.Contains(log.String(), `level=ERROR msg=mine thread=t1 data="{\"b\":2}"`))
	is.True(strings.Contains(log.String(), "level=WARN"))
	is.True(!strings.Contains(log.String(), "quiet"))
	is.NoErr(b.Stop(background))
}

func TestIdentities(t *testing.T) {
	is := is.New(t)
	o := options("on thread/resume "+notification("thread/identity", `{"threadId":"$T","providerThreadId":"first","sessionRestorable":true}`),
		`on thread/resume result {"providerThreadId":"other","sessionRestorable":true}`)
	s := watch(&o)
	b := start(t, o)
	id, err := b.ThreadResume(background, protocol.ResumeParams{SessionParams: session("t1"), ProviderThreadID: "p-t1"})
	is.NoErr(err)
	is.Equal(id.ProviderThreadID, "other")
	s.wait(t, "warn t1", "another session", "first", "other")
}

// TestAReplacementRightBehindTheResult: the result reaches its caller on another goroutine than the notification, so that
// it may come later.
func TestAReplacementRightBehindTheResult(t *testing.T) {
	is := is.New(t)
	replaced := notification("session/replaced", `{"threadId":"$T","providerThreadId":"new","reason":"r","contextLost":true}`)
	o := options("on thread/start "+notification("thread/identity", `{"threadId":"$T","providerThreadId":"$P","sessionRestorable":true}`),
		`on thread/start result {"providerThreadId":"$P","sessionRestorable":true}`, "on thread/start "+replaced)
	o.Handler.ToolCall = func(context.Context, protocol.ToolCallParams) (protocol.ToolResult, error) {
		return protocol.ToolResult{Success: true, Content: []protocol.ToolContent{{Type: protocol.ContentText, Text: "done"}}}, nil
	}
	s := watch(&o)
	b := start(t, o)
	for i := range 50 {
		thread := fmt.Sprint("t", i)
		begin(t, b, thread)
		do(t, b, thread, `say {"jsonrpc":"2.0","id":"$T","method":"tool/call","params":{"threadId":"$T","providerThreadId":"new","requestKey":"k","turnKey":null,"itemKey":null,"tool":"x","arguments":{}}}`, "await")
		s.wait(t, "got", `"id":"`+thread+`","result"`)
	}
	is.Equal(index(s.all(), "another session"), -1)
}

func TestThreadsAreBounded(t *testing.T) {
	is := is.New(t)
	b := start(t, options())
	for i := 0; ; i++ {
		_, err := b.ThreadStart(background, session(fmt.Sprint("t", i)))
		if err != nil {
			is.Equal(i, 4096)
			is.True(strings.Contains(err.Error(), "4096 threads"))
			return
		}
	}
}
