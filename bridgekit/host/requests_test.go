package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

const (
	threadScope = `"scope":"thread","turnKey":null`
	turnScope   = `"scope":"turn","turnKey":null`
)

// asking is an interaction that waits for its answer.
type asking struct {
	ctx    context.Context
	p      protocol.InteractionParams
	answer chan<- any // a protocol.Resolution or an error
}

// answerer has the test answer interactions.
func answerer(o *host.Options, s *seen) <-chan asking {
	asked := make(chan asking, 100)
	o.Handler.Interact = func(ctx context.Context, p protocol.InteractionParams) (protocol.Resolution, error) {
		answer := make(chan any)
		asked <- asking{ctx, p, answer}
		select {
		case a := <-answer:
			if err, ok := a.(error); ok {
				return nil, err
			}
			r, _ := a.(protocol.Resolution)
			return r, nil
		case <-ctx.Done():
			s.add("ended %s %v", p.RequestKey, context.Cause(ctx))
			return nil, ctx.Err()
		}
	}
	return asked
}

// bridge starts a puppet with thread t1 whose interactions the test answers.
func bridge(t *testing.T, commands ...string) (*host.Bridge, *seen, <-chan asking) {
	t.Helper()
	o := options(commands...)
	s := watch(&o)
	asked := answerer(&o, s)
	o.InteractionKinds = []string{"demo/pick"}
	b := start(t, o)
	begin(t, b, "t1")
	return b, s, asked
}

var choice = &protocol.Answers{Answers: map[string]protocol.Answer{"q": {Selected: []string{"a"}}}}

const interrupted = `"error":{"code":-32007`

func TestInteractions(t *testing.T) {
	t.Run("a question is answered", func(t *testing.T) {
		is := is.New(t)
		b, s, asked := bridge(t)
		do(t, b, "t1", question("1", "k1", threadScope))
		a := <-asked
		is.Equal(a.p.ThreadID, "t1")
		is.True(a.p.Scope.Thread)
		do(t, b, "t1", deltas(`{"kind":"thread.name","name":"meanwhile"}`)) // the reader goes on
		a.answer <- choice
		s.wait(t, "got", `"id":1,"result":{"kind":"answer","answers":{"q":{"selected":["a"],"freeText":null}}}`)
		<-a.ctx.Done()
	})
	t.Run("an approval is answered", func(t *testing.T) {
		b, s, asked := bridge(t)
		do(t, b, "t1", approval("1", "k1"))
		(<-asked).answer <- &protocol.Decision{Kind: protocol.AllowOnce}
		s.wait(t, "got", `"id":1,"result":{"kind":"approval","decision":"allow_once","granted":null}`)
	})
	t.Run("a denial fits every approval", func(t *testing.T) {
		b, s, asked := bridge(t)
		do(t, b, "t1", approval("1", "k1"))
		(<-asked).answer <- &protocol.Decision{Kind: protocol.Deny}
		s.wait(t, "got", `"id":1,"result":{"kind":"approval","decision":"deny","granted":null}`)
	})
	t.Run("an open interaction that is declared", func(t *testing.T) {
		b, s, asked := bridge(t)
		pick := func(id, kind string) string {
			return fmt.Sprintf(`say {"jsonrpc":"2.0","id":%s,"method":"interaction/request","params":{"threadId":"$T","providerThreadId":"$P","requestKey":"k","scope":"thread","turnKey":null,"request":{"kind":%q,"title":"t","data":1}}}`, id, kind)
		}
		do(t, b, "t1", pick("1", "demo/pick"))
		(<-asked).answer <- &protocol.Submitted{Data: []byte("2")}
		s.wait(t, "got", `"id":1,"result":{"kind":"submitted","data":2}`)
		do(t, b, "t1", pick("2", "demo/other"))
		s.wait(t, "got", `"id":2,"error":{"code":-32602`, "demo/other")
	})
	for name, tt := range map[string]struct {
		answer any
		says   string
	}{
		"of another kind":     {choice, "-32000"},
		"not offered":         {&protocol.Decision{Kind: protocol.AllowForSession}, "-32000"},
		"none at all":         {nil, "-32000"},
		"interrupted":         {host.ErrInterrupted, "-32007"},
		"stored interruption": {&protocol.InterruptedResolution{}, "-32007"},
		"an error":            {errors.New("no database"), "-32000"},
		"a protocol error":    {protocol.NoActiveTurn.Errorf("none"), "-32001"},
	} {
		t.Run("an answer "+name, func(t *testing.T) {
			b, s, asked := bridge(t)
			do(t, b, "t1", approval("1", "k1"))
			(<-asked).answer <- tt.answer
			s.wait(t, "got", `"id":1,"error":{"code":`+tt.says)
		})
	}
	t.Run("wrong params", func(t *testing.T) {
		is := is.New(t)
		b, s, _ := bridge(t)
		do(t, b, "t1", `say {"jsonrpc":"2.0","id":1,"method":"interaction/request","params":{"threadId":"$T"}}`)
		line := s.wait(t, "got", `"id":1,"error":{"code":-32602`)
		is.True(strings.Contains(line, `"issues":[`))
		do(t, b, "t1", `say {"jsonrpc":"2.0","id":2,"method":"interaction/request","params":3}`)
		s.wait(t, "got", `"id":2,"error":{"code":-32602`)
		do(t, b, "t1", `say {"jsonrpc":"2.0","id":3,"method":"tool/call"}`)
		s.wait(t, "got", `"id":3,"error":{"code":-32601`) // no tools here
		do(t, b, "t1", `say {"jsonrpc":"2.0","id":4,"method":"","params":{}}`)
		s.wait(t, "got", `"id":4,"error":{"code":-32601`)
	})
	t.Run("of an unknown thread or session", func(t *testing.T) {
		b, s, _ := bridge(t)
		q := question("1", "k1", threadScope)
		do(t, b, "t1", strings.Replace(q, "$T", "t9", 1))
		s.wait(t, "got", `"id":1,"error":{"code":-32602`, "t9")
		do(t, b, "t1", strings.Replace(strings.Replace(q, "$P", "p-other", 1), `"id":1`, `"id":2`, 1))
		s.wait(t, "got", `"id":2,"error":{"code":-32602`, "p-other")
	})
	t.Run("before the identity", func(t *testing.T) {
		_, s, _ := bridge(t, "on thread/start "+question("1", "k1", threadScope), "on thread/start await")
		s.wait(t, "got", `"id":1,"error":{"code":-32602`, "identity")
	})
	t.Run("a handler that panics", func(t *testing.T) {
		o := options()
		s := watch(&o)
		o.Handler.Interact = func(context.Context, protocol.InteractionParams) (protocol.Resolution, error) { panic("oh") }
		b := start(t, o)
		begin(t, b, "t1")
		do(t, b, "t1", question("1", "k1", threadScope))
		s.wait(t, "got", `"id":1,"error":{"code":-32000`, "oh")
	})
	t.Run("without a handler", func(t *testing.T) {
		o := options()
		s := watch(&o)
		b := start(t, o)
		begin(t, b, "t1")
		do(t, b, "t1", question("1", "k1", threadScope))
		s.wait(t, "got", `"id":1,"error":{"code":-32601`)
	})
}

func TestRepeatedRequests(t *testing.T) {
	t.Run("an equal one joins", func(t *testing.T) {
		is := is.New(t)
		b, s, asked := bridge(t)
		// the same params with their members in another order
		moved := strings.Replace(strings.Replace(question("2", "k1", threadScope), `"requestKey":"k1",`, "", 1), `"params":{`, `"params":{"requestKey":"k1",`, 1)
		do(t, b, "t1", question("1", "k1", threadScope), moved)
		(<-asked).answer <- choice
		s.wait(t, "got", `"id":1,"result"`)
		s.wait(t, "got", `"id":2,"result"`)
		is.Equal(len(asked), 0)
	})
	t.Run("another one under the same key is refused", func(t *testing.T) {
		is := is.New(t)
		b, s, asked := bridge(t)
		do(t, b, "t1", question("1", "k1", threadScope), strings.Replace(question("2", "k1", threadScope), "Which?", "What?", 1))
		s.wait(t, "got", `"id":2,"error":{"code":-32602`, "k1")
		do(t, b, "t1", approval("3", "k1"))
		s.wait(t, "got", `"id":3,"error":{"code":-32602`)
		(<-asked).answer <- choice
		s.wait(t, "got", `"id":1,"result"`)
		is.Equal(len(asked), 0)
	})
	t.Run("after the answer the key starts anew", func(t *testing.T) {
		b, s, asked := bridge(t)
		do(t, b, "t1", question("1", "k1", threadScope))
		(<-asked).answer <- choice
		s.wait(t, "got", `"id":1,"result"`)
		do(t, b, "t1", approval("2", "k1"))
		(<-asked).answer <- &protocol.Decision{Kind: protocol.Deny}
		s.wait(t, "got", `"id":2,"result":{"kind":"approval"`)
	})
	t.Run("sessions are apart", func(t *testing.T) {
		b, s, asked := bridge(t)
		begin(t, b, "t2")
		do(t, b, "t1", question("1", "k1", threadScope))
		do(t, b, "t2", question("2", "k1", threadScope))
		(<-asked).answer <- choice
		(<-asked).answer <- choice
		s.wait(t, "got", `"id":1,"result"`)
		s.wait(t, "got", `"id":2,"result"`)
	})
}

func TestInterruption(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(b *host.Bridge) error
	}{
		{"thread/stop", func(b *host.Bridge) error { return b.ThreadStop(background, stop("t1", protocol.Interrupt)) }},
		{"thread/discard", func(b *host.Bridge) error { return b.ThreadDiscard(background, ref("t1")) }},
	} {
		t.Run(tt.name+" is sent first, then the answers", func(t *testing.T) {
			is := is.New(t)
			// the puppet answers the stop only when the question is answered: both are on the wire before
			b, s, asked := bridge(t, "on "+tt.name+" await")
			begin(t, b, "t2")
			do(t, b, "t1", question("1", "k1", threadScope))
			do(t, b, "t2", question("2", "k1", threadScope))
			<-asked
			<-asked
			is.NoErr(tt.end(b))
			s.wait(t, "got", `"id":1,`+interrupted)
			s.wait(t, "ended k1", host.ErrInterrupted.Error())
			is.Equal(index(s.all(), `"id":2,`), -1) // the other thread's waits on
		})
	}
	t.Run("a request that crosses the stop", func(t *testing.T) {
		is := is.New(t)
		b, s, asked := bridge(t, "on thread/stop "+question("1", "k1", threadScope), "on thread/stop await")
		is.NoErr(b.ThreadStop(background, stop("t1", protocol.Interrupt)))
		s.wait(t, "got", `"id":1,`+interrupted)
		do(t, b, "t1", question("2", "k2", threadScope)) // afterwards it can ask again
		a := <-asked
		if a.p.RequestKey == "k1" { // it was taken before core knew that the stop is out; then it was told so
			<-a.ctx.Done()
			is.Equal(context.Cause(a.ctx), host.ErrInterrupted)
			a = <-asked
		}
		is.Equal(a.p.RequestKey, "k2")
	})
	t.Run("a handler that ignores its context", func(t *testing.T) {
		is := is.New(t)
		o := options()
		s := watch(&o)
		release := make(chan struct{})
		o.Handler.ToolCall = func(context.Context, protocol.ToolCallParams) (protocol.ToolResult, error) {
			<-release
			return protocol.ToolResult{}, nil
		}
		b := start(t, o)
		begin(t, b, "t1")
		do(t, b, "t1", toolCall("1", "k1", "1"))
		is.NoErr(b.ThreadStop(background, stop("t1", protocol.Interrupt)))
		s.wait(t, "got", `"id":1,`+interrupted)
		close(release)
	})
	t.Run("withdrawn", func(t *testing.T) {
		is := is.New(t)
		b, s, asked := bridge(t)
		do(t, b, "t1", question("1", "k1", threadScope), question("2", "k2", threadScope), notification("interaction/withdrawn", `{"threadId":"$T","requestKey":"k1"}`))
		s.wait(t, "got", `"id":1,`+interrupted)
		s.wait(t, "ended k1", host.ErrWithdrawn.Error())
		s.wait(t, "withdrawn t1 k1")
		is.Equal(index(s.all(), `"id":2,`), -1)
		do(t, b, "t1", question("3", "k1", threadScope)) // the key is free
		for range 3 {
			<-asked
		}
	})
	t.Run("settlement of its turn", func(t *testing.T) {
		failed := `{"kind":"provider.error","scope":"turn","turnKey":null,"category":"internal","message":"m","detail":null,"providerCode":null,"httpStatus":null,"willRetry":false,"settlesTurn":true}`
		for name, settling := range map[string]string{
			"turn.boundary":            boundary,
			"turn.boundary of the key": strings.Replace(boundary, "null", `"k1"`, 1),
			"provider.error":           failed,
			"session.ended":            `{"kind":"session.ended"}`,
			"session.reset":            `{"kind":"session.reset"}`,
			"turn.open of another key": strings.Replace(turnOpen, "null", `"k2"`, 1),
		} {
			t.Run(name, func(t *testing.T) {
				is := is.New(t)
				b, s, asked := bridge(t)
				do(t, b, "t1", deltas(strings.Replace(turnOpen, "null", `"k1"`, 1)), question("1", "k1", turnScope), question("2", "k2", threadScope),
					deltas(strings.Replace(turnOpen, "null", `"k1"`, 1), strings.Replace(failed, `"settlesTurn":true`, `"settlesTurn":false`, 1), strings.Replace(boundary, "null", `"k9"`, 1)))
				<-asked
				<-asked
				is.Equal(index(s.all(), "ended"), -1) // repeats and other turns settle nothing
				do(t, b, "t1", deltas(settling))
				s.wait(t, "got", `"id":1,`+interrupted)
				is.True(index(s.all(), "delta t1", settling[:20]) >= 0)
				is.Equal(index(s.all(), "ended k2"), -1) // what belongs to the thread waits on
			})
		}
	})
	t.Run("exit", func(t *testing.T) {
		is := is.New(t)
		o := options()
		s := watch(&o)
		running := make(chan struct{})
		o.Handler.ToolCall = func(ctx context.Context, _ protocol.ToolCallParams) (protocol.ToolResult, error) {
			close(running)
			<-ctx.Done()
			<-time.After(20 * time.Millisecond) // is slow to return
			s.add("ended %v", context.Cause(ctx))
			return protocol.ToolResult{}, ctx.Err()
		}
		b := start(t, o)
		begin(t, b, "t1")
		do(t, b, "t1", toolCall("1", "k1", "1"))
		<-running
		b.Kill()
		<-b.Done()
		lines := s.all()
		is.Equal(index(lines, "ended "+host.ErrExited.Error()), len(lines)-2)
		is.Equal(index(lines, "exit "), len(lines)-1) // after every handler
	})
	t.Run("shutdown", func(t *testing.T) {
		is := is.New(t)
		b, s, asked := bridge(t, "on shutdown await")
		do(t, b, "t1", question("1", "k1", threadScope))
		<-asked
		is.NoErr(b.Stop(background))
		s.wait(t, "got", `"id":1,`+interrupted)
		is.Equal(b.Exit().Exit.Code, 0)
	})
}

func TestToolCalls(t *testing.T) {
	is := is.New(t)
	o := options()
	s := watch(&o)
	o.Handler.ToolCall = func(_ context.Context, p protocol.ToolCallParams) (protocol.ToolResult, error) {
		switch string(p.Arguments) {
		case "1":
			return protocol.ToolResult{Success: true, Content: []protocol.ToolContent{{Type: protocol.ContentText, Text: p.Tool}}}, nil
		case "2":
			return protocol.ToolResult{}, nil // without content
		}
		return protocol.ToolResult{}, protocol.InvalidParams.Errorf("no such tool")
	}
	b := start(t, o)
	begin(t, b, "t1")
	do(t, b, "t1", toolCall("1", "k1", "1"), toolCall("2", "k2", "2"), toolCall("3", "k3", "3"))
	s.wait(t, `"id":1,"result":{"success":true,"content":[{"type":"text","text":"add"`)
	s.wait(t, `"id":2,"error":{"code":-32000`, "content")
	s.wait(t, `"id":3,"error":{"code":-32602`)
	is.NoErr(b.Stop(background))
}

func TestRequestsInFlight(t *testing.T) {
	is := is.New(t)
	b, s, asked := bridge(t)
	var ask []string
	for i := range host.MaxRequests + 1 {
		ask = append(ask, question(fmt.Sprint(i), fmt.Sprint("k", i%2), threadScope)) // repetitions count as well
	}
	do(t, b, "t1", ask...)
	s.wait(t, "got", fmt.Sprintf(`"id":%d,"error":{"code":-32000`, host.MaxRequests))
	(<-asked).answer <- choice
	s.wait(t, "got", `,"result":`)
	is.NoErr(b.ThreadStop(background, stop("t1", protocol.Interrupt)))
	s.wait(t, "got", interrupted)
	do(t, b, "t1", question("9999", "k3", threadScope))
	<-asked
}
