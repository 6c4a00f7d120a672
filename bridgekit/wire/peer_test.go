package wire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/matryer/is"
)

// fixture is a Peer whose other side is the test itself, line by line.
type fixture struct {
	*wire.Peer
	t       *testing.T
	in      *os.File // what the peer reads
	out     *bufio.Reader
	outFile *os.File
	dropped chan *wire.DroppedError
	ran     chan error
}

func newFixture(t *testing.T, o wire.Options) *fixture {
	t.Helper()
	r, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20), outFile: out, dropped: make(chan *wire.DroppedError, 100), ran: make(chan error, 1)}
	if o.Dropped == nil {
		o.Dropped = func(err *wire.DroppedError) { f.dropped <- err }
	}
	f.Peer = wire.NewPeer(r, w, o)
	go func() { f.ran <- f.Run(context.Background()) }()
	t.Cleanup(func() {
		f.Close()
		f.ended()
		for _, file := range []*os.File{r, in, out, w} {
			file.Close()
		}
	})
	return f
}

func (f *fixture) say(lines ...string) {
	f.t.Helper()
	if _, err := io.WriteString(f.in, strings.Join(lines, "\n")+"\n"); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) hear() string {
	f.t.Helper()
	f.outFile.SetReadDeadline(time.Now().Add(20 * time.Second))
	line, err := f.out.ReadString('\n')
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

// expect waits for a dropped line.
func (f *fixture) expect(r wire.Reason) *wire.DroppedError {
	f.t.Helper()
	select {
	case d := <-f.dropped:
		if d.Reason != r {
			f.t.Fatalf("dropped: %v, want %s", d, r)
		}
		return d
	case <-time.After(20 * time.Second):
		f.t.Fatal("nothing was dropped")
		return nil
	}
}

// ended waits for Run.
func (f *fixture) ended() error {
	f.t.Helper()
	select {
	case err := <-f.ran:
		f.ran <- err
		return err
	case <-time.After(20 * time.Second):
		f.t.Fatal("Run does not return")
		return nil
	}
}

// echo answers each request with its params.
func echo(_ context.Context, r *wire.Request) { _ = r.Reply(r.Params) }

func TestIDsAreEchoedByteForByte(t *testing.T) {
	f := newFixture(t, wire.Options{Request: echo})
	for _, id := range []string{`0`, `-1`, `-0`, `9007199254740993`, `123456789012345678901234567890`, `""`, `"a"`, `"\u0041\u2028"`, "\"\u2028\"", `"<&>"`} {
		t.Run(id, func(t *testing.T) {
			is := is.New(t)
			f.say(`{"jsonrpc":"2.0","id":` + id + `,"method":"m","params":{"n":9007199254740993,"h":"<&>","s":"\ud800"}}`)
			is.Equal(f.hear(), `{"jsonrpc":"2.0","id":`+id+`,"result":{"n":9007199254740993,"h":"<&>","s":"\ud800"}}`)
		})
	}
}

func TestTheConnectionOutlivesBadLines(t *testing.T) {
	for _, test := range []struct {
		name, line string
		reason     wire.Reason
	}{
		{"junk", "Welcome!", wire.InvalidJSON},
		{"null", "null", wire.NotAnObject},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"m"}]`, wire.Batch},
		{"two objects", `{"jsonrpc":"2.0","id":1,"method":"m"} {}`, wire.SecondValue},
		{"invalid UTF-8", "\"\xff\"", wire.InvalidUTF8},
		{"over-long", strings.Repeat("x", 2000), wire.OverLong},
		{"id of another type", `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, wire.WrongID},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"m"}`, wire.WrongID},
		{"response to null", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, wire.MissingID},
		{"response to nothing", `{"jsonrpc":"2.0","id":"77","result":{}}`, wire.UnknownID},
		{"response to a number", `{"jsonrpc":"2.0","id":0,"result":{}}`, wire.UnknownID},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t, wire.Options{Request: echo, MaxLine: 1000})
			f.say(test.line, `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`)
			is.Equal(f.hear(), `{"jsonrpc":"2.0","id":1,"result":{}}`)
			d := f.expect(test.reason)
			is.Equal(d.Length, int64(len(test.line)))
		})
	}
}

func TestBannerThenByteOrderMarkIsJunk(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, wire.Options{Request: echo})
	f.say("\ufeff"+`{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`+"\r", "\ufeff"+`{"jsonrpc":"2.0","id":2,"method":"m","params":{}}`)
	is.Equal(f.hear(), `{"jsonrpc":"2.0","id":1,"result":{}}`)
	f.expect(wire.InvalidJSON)
}

func TestASecondRequestUnderAnIDInFlightIsDropped(t *testing.T) {
	is := is.New(t)
	requests := make(chan *wire.Request, 5)
	f := newFixture(t, wire.Options{Request: func(_ context.Context, r *wire.Request) { requests <- r }})
	f.say(`{"jsonrpc":"2.0","id":"A","method":"first"}`, `{"jsonrpc":"2.0","id":"\u0041","method":"second"}`, `{"jsonrpc":"2.0","id":"B","method":"third"}`)
	d := f.expect(wire.RepeatedID)
	is.Equal(d.Method, "second")
	is.Equal(d.ID, wire.ID(`"\u0041"`))
	first := <-requests
	is.Equal((<-requests).Method, "third")
	is.NoErr(first.Reply(nil))
	is.Equal(f.hear(), `{"jsonrpc":"2.0","id":"A","result":null}`)
	f.say(`{"jsonrpc":"2.0","id":"A","method":"fourth"}`) // answered: the id is free
	is.Equal((<-requests).Method, "fourth")
	f.say(`{"jsonrpc":"2.0","id":0,"method":"fifth"}`, `{"jsonrpc":"2.0","id":"0","method":"sixth"}`, `{"jsonrpc":"2.0","id":-0,"method":"seventh"}`)
	is.Equal(f.expect(wire.RepeatedID).Method, "seventh")
	is.Equal((<-requests).Method, "fifth")
	is.Equal((<-requests).Method, "sixth")
}

func TestARequestIsAnsweredOnce(t *testing.T) {
	is := is.New(t)
	requests := make(chan *wire.Request, 1)
	f := newFixture(t, wire.Options{Request: func(_ context.Context, r *wire.Request) { requests <- r }, MaxLine: 1000})
	f.say(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
	r := <-requests
	is.True(r.Reply(json.RawMessage(`{"a":`)) != nil) // no JSON: the request stays open
	is.True(r.Reply(func() {}) != nil)
	var long *wire.LongLineError
	is.True(errors.As(r.Reply(strings.Repeat("x", 1000)), &long))
	is.True(r.Fail(&wire.Error{Code: 1, Data: json.RawMessage("{")}) != nil)
	is.NoErr(r.Reply(json.RawMessage("{\n\"a\":\r\n1}")))
	is.Equal(f.hear(), `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`) // one line
	is.Equal(r.Reply(nil), wire.ErrAnswered)
	is.Equal(r.Fail(nil), wire.ErrAnswered)
}

func TestErrorsOfRequests(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"plain":         {errors.New("broken"), `{"code":-32000,"message":"broken"}`},
		"typed":         {&wire.Error{Code: -32007, Message: "<stop>", Data: json.RawMessage(`{"a": 1}`)}, `{"code":-32007,"message":"<stop>","data":{"a": 1}}`},
		"wrapped":       {fmt.Errorf("more: %w", &wire.Error{Code: -32001, Message: "gone"}), `{"code":-32001,"message":"gone"}`},
		"never code 0":  {&wire.Error{Message: "m"}, `{"code":-32000,"message":"m"}`},
		"nil":           {nil, `{"code":-32000,"message":"failed without an error"}`},
		"invalid UTF-8": {errors.New("a\xffb"), `{"code":-32000,"message":"a\ufffdb"}`},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t, wire.Options{Request: func(_ context.Context, r *wire.Request) { _ = r.Fail(test.err) }})
			f.say(`{"jsonrpc":"2.0","id":"x","method":"m"}`)
			is.Equal(f.hear(), `{"jsonrpc":"2.0","id":"x","error":`+test.want+`}`)
		})
	}
}

func TestNobodyTakesRequests(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, wire.Options{})
	f.say(`{"jsonrpc":"2.0","method":"n"}`, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
	is.True(strings.Contains(f.hear(), `"error":{"code":-32601,`))
}

func TestCall(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, wire.Options{})
	type answer struct {
		result json.RawMessage
		err    error
	}
	call := func(params any) chan answer {
		answers := make(chan answer, 1)
		go func() {
			result, err := f.Call(context.Background(), "m", params)
			answers <- answer{result, err}
		}()
		return answers
	}
	answers := call(map[string]string{"html": "<&>\u2028"})
	is.Equal(f.hear(), `{"jsonrpc":"2.0","id":"1","method":"m","params":{"html":"<&>\u2028"}}`)
	f.say(`{"jsonrpc":"2.0","id":"\u0031","result":{"big":9007199254740993, "s":"\ud800"}}`) // another spelling of "1"
	a := <-answers
	is.NoErr(a.err)
	is.Equal(string(a.result), `{"big":9007199254740993, "s":"\ud800"}`)

	answers = call(nil)
	is.Equal(f.hear(), `{"jsonrpc":"2.0","id":"2","method":"m","params":{}}`)
	f.say(`{"jsonrpc":"2.0","id":2,"result":{}}`) // the number is not our string
	f.expect(wire.UnknownID)
	f.say(`{"jsonrpc":"2.0","id":"2","error":{"code":-32001,"message":"gone","data":{"a":1}}}`)
	a = <-answers
	var failed *wire.Error
	is.True(errors.As(a.err, &failed))
	is.Equal(*failed, wire.Error{Code: -32001, Message: "gone", Data: json.RawMessage(`{"a":1}`)})
	is.Equal(a.err.Error(), "gone (code -32001)")

	f.say(`{"jsonrpc":"2.0","id":"2","result":{}}`) // answered twice
	f.expect(wire.UnknownID)

	for _, bad := range []any{json.RawMessage(`{"a":`), json.RawMessage("{\"a\":\"\xff\"}"), json.RawMessage(`{} {}`), json.RawMessage(``), []int{1}, "text", func() {}} {
		_, err := f.Call(context.Background(), "m", bad)
		is.True(err != nil)
		is.True(f.Notify(context.Background(), "m", bad) != nil)
	}
	is.NoErr(f.Notify(context.Background(), "n", json.RawMessage("\n{\n\"a\":\n1}\n"))) // nothing came before it
	is.Equal(f.hear(), `{"jsonrpc":"2.0","method":"n","params":{"a":1}}`)
}

func TestCallSent(t *testing.T) {
	t.Run("what is sent from then on comes behind the request", func(t *testing.T) {
		is := is.New(t)
		f := newFixture(t, wire.Options{})
		done := make(chan error, 1)
		go func() {
			_, err := f.CallSent(context.Background(), "m", nil, func() {
				if err := f.Notify(context.Background(), "n", nil); err != nil { // the write lock is free
					t.Error(err)
				}
			})
			done <- err
		}()
		is.Equal(f.hear(), `{"jsonrpc":"2.0","id":"1","method":"m","params":{}}`)
		is.Equal(f.hear(), `{"jsonrpc":"2.0","method":"n","params":{}}`)
		f.say(`{"jsonrpc":"2.0","id":"1","result":{}}`)
		is.NoErr(<-done)
	})
	t.Run("not before the whole line is written", func(t *testing.T) {
		is := is.New(t)
		f := newFixture(t, wire.Options{})
		sent, done := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := f.CallSent(context.Background(), "m", map[string]string{"text": strings.Repeat("x", 1<<20)}, func() { close(sent) })
			done <- err
		}()
		f.hearSome() // more than the pipe and the test's buffer hold is still to come
		select {
		case <-sent:
			t.Fatal("it was called while the line was being written")
		default:
		}
		f.hear()
		<-sent
		f.say(`{"jsonrpc":"2.0","id":"1","result":{}}`)
		is.NoErr(<-done)
	})
	t.Run("not for what is not sent", func(t *testing.T) {
		is := is.New(t)
		f := newFixture(t, wire.Options{MaxLine: 1000})
		never := func() { t.Error("it was called") }
		for _, params := range []any{[]int{1}, map[string]string{"text": strings.Repeat("x", 2000)}} {
			_, err := f.CallSent(context.Background(), "m", params, never)
			is.True(err != nil)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := f.CallSent(ctx, "m", nil, never)
		is.True(errors.Is(err, context.Canceled))
		f.Close()
		_, err = f.CallSent(context.Background(), "m", nil, never)
		is.Equal(err, wire.ErrClosed)
	})
	t.Run("before the answer is returned", func(t *testing.T) {
		is := is.New(t)
		f := newFixture(t, wire.Options{})
		goOn, done := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := f.CallSent(context.Background(), "m", nil, func() { <-goOn })
			done <- err
		}()
		f.hear()
		f.say(`{"jsonrpc":"2.0","id":"1","result":{}}`, `{"jsonrpc":"2.0","id":"1","result":{}}`)
		f.expect(wire.UnknownID) // the first has arrived, and is not lost
		close(goOn)
		is.NoErr(<-done)
	})
}

func TestALateAnswerIsDroppedQuietly(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, wire.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := f.Call(ctx, "m", nil)
		failed <- err
	}()
	f.hear()
	cancel()
	is.True(errors.Is(<-failed, context.Canceled))
	f.say(`{"jsonrpc":"2.0","id":"1","result":{}}`, `{"jsonrpc":"2.0","id":"1","result":{}}`)
	f.expect(wire.LateResponse)
	f.expect(wire.UnknownID) // the second is no answer to anything
	_, err := f.Call(ctx, "m", nil)
	is.True(errors.Is(err, context.Canceled))
}

func TestOrder(t *testing.T) {
	is := is.New(t)
	var seen []string
	f := newFixture(t, wire.Options{
		Notify: func(_ context.Context, n wire.Notification) {
			runtime.Gosched()
			seen = append(seen, n.Method)
		},
		Request: func(_ context.Context, r *wire.Request) { seen = append(seen, r.Method); _ = r.Reply(nil) },
	})
	var want []string
	answered := make(chan error, 1)
	go func() {
		_, err := f.Call(context.Background(), "m", nil)
		answered <- err
	}()
	f.hear()
	for n := range 200 {
		name := fmt.Sprint("n", n)
		want = append(want, name)
		if n%7 == 0 {
			f.say(`{"jsonrpc":"2.0","id":` + fmt.Sprint(n) + `,"method":"` + name + `"}`)
		} else {
			f.say(`{"jsonrpc":"2.0","method":"` + name + `"}`)
		}
	}
	f.say(`{"jsonrpc":"2.0","id":"1","result":{}}`)
	is.NoErr(<-answered)
	is.Equal(seen, want) // without a lock: the race detector sees that the answer came after all of them
}

func TestWhatArrivedIsTheReceiversToKeep(t *testing.T) {
	is := is.New(t)
	const each = 300
	var notes, requests, results []json.RawMessage
	done := make(chan struct{})
	f := newFixture(t, wire.Options{
		Notify: func(_ context.Context, n wire.Notification) { notes = append(notes, n.Params) },
		Request: func(_ context.Context, r *wire.Request) {
			if requests = append(requests, r.Params); len(requests) == each {
				close(done)
			}
		},
	})
	params := func(n int) string { return fmt.Sprintf(`{"n":"%0600d"}`, n) }
	for n := range each {
		answered := make(chan json.RawMessage, 1)
		go func() {
			result, _ := f.Call(context.Background(), "m", nil)
			answered <- result
		}()
		f.hear()
		f.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"n","params":%s}`, params(n)),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"r","params":%s}`, n, params(n)),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","result":%s}`, n+1, params(n)))
		results = append(results, <-answered)
	}
	<-done
	for n := range each {
		is.Equal(string(notes[n]), params(n))
		is.Equal(string(requests[n]), params(n))
		is.Equal(string(results[n]), params(n))
	}
}

func TestNotificationsPrecedeTheReply(t *testing.T) {
	is := is.New(t)
	var f *fixture
	started := make(chan struct{})
	f = newFixture(t, wire.Options{Request: func(ctx context.Context, r *wire.Request) {
		<-started
		for n := range 10 {
			_ = f.Notify(ctx, fmt.Sprint("n", n), nil)
		}
		_ = r.Reply(nil)
	}})
	close(started)
	f.say(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
	for n := range 10 {
		is.Equal(f.hear(), fmt.Sprintf(`{"jsonrpc":"2.0","method":"n%d","params":{}}`, n))
	}
	is.Equal(f.hear(), `{"jsonrpc":"2.0","id":1,"result":null}`)
}

func TestLinesDoNotInterleave(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, wire.Options{})
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			text := strings.Repeat(string(rune('a'+n)), 10_000)
			for range 50 {
				_ = f.Notify(context.Background(), text, nil)
			}
		})
	}
	for range 8 * 50 {
		m, err := wire.Parse([]byte(f.hear()))
		is.NoErr(err)
		is.Equal(m.Method, strings.Repeat(m.Method[:1], 10_000))
	}
	all.Wait()
}

func TestTee(t *testing.T) {
	is := is.New(t)
	type crossing struct {
		sent bool
		line string
	}
	var mu sync.Mutex
	var seen []crossing
	f := newFixture(t, wire.Options{Request: echo, MaxLine: 1000, Tee: func(sent bool, line []byte) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, crossing{sent, string(line)})
	}})
	f.say(`junk`, strings.Repeat("x", 2000), `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`)
	f.hear()
	is.NoErr(f.Notify(context.Background(), "n", nil))
	f.hear()
	mu.Lock()
	defer mu.Unlock()
	is.Equal(seen, []crossing{
		{false, "junk"},
		{false, `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`},
		{true, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{true, `{"jsonrpc":"2.0","method":"n","params":{}}`},
	})
}

func TestForeignCodeIsContained(t *testing.T) {
	t.Run("a panic in Request", func(t *testing.T) {
		is := is.New(t)
		f := newFixture(t, wire.Options{Request: func(context.Context, *wire.Request) { panic("boom") }})
		f.say(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
		is.Equal(f.hear(), `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the handler of \"m\" panicked"}}`)
		is.True(strings.Contains(f.expect(wire.HandlerPanicked).Detail, "boom"))
	})
	t.Run("a panic after the answer", func(t *testing.T) {
		is := is.New(t)
		f := newFixture(t, wire.Options{Request: func(_ context.Context, r *wire.Request) {
			_ = r.Reply(1)
			panic("boom")
		}})
		f.say(`{"jsonrpc":"2.0","id":1,"method":"m"}`, `{"jsonrpc":"2.0","id":2,"method":"m"}`)
		is.Equal(f.hear(), `{"jsonrpc":"2.0","id":1,"result":1}`)
		is.Equal(f.hear(), `{"jsonrpc":"2.0","id":2,"result":1}`)
	})
	t.Run("a panic in Notify, Dropped and Tee", func(t *testing.T) {
		is := is.New(t)
		f := newFixture(t, wire.Options{
			Notify:  func(context.Context, wire.Notification) { panic("boom") },
			Dropped: func(*wire.DroppedError) { panic("boom") },
			Tee:     func(bool, []byte) { panic("boom") },
			Request: echo,
		})
		f.say(`junk`, `{"jsonrpc":"2.0","method":"n"}`, `{"jsonrpc":"2.0","id":2,"method":"m","params":{}}`)
		is.Equal(f.hear(), `{"jsonrpc":"2.0","id":2,"result":{}}`)
	})
	for name, o := range map[string]wire.Options{
		"Request that ends its goroutine": {Request: func(context.Context, *wire.Request) { runtime.Goexit() }},
		"Notify that ends its goroutine":  {Notify: func(context.Context, wire.Notification) { runtime.Goexit() }},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t, o)
			f.say(`{"jsonrpc":"2.0","method":"n"}`, `{"jsonrpc":"2.0","id":2,"method":"m","params":{}}`)
			is.NoErr(f.ended())
			_, err := f.Call(context.Background(), "m", nil)
			is.Equal(err, wire.ErrClosed)
		})
	}
}

func TestEndOfInput(t *testing.T) {
	is := is.New(t)
	requests := make(chan *wire.Request, 1)
	f := newFixture(t, wire.Options{Request: func(_ context.Context, r *wire.Request) { requests <- r }})
	failed := make(chan error, 1)
	go func() {
		_, err := f.Call(context.Background(), "m", nil)
		failed <- err
	}()
	f.hear()
	f.say(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
	r := <-requests
	is.NoErr(f.in.Close())
	is.NoErr(f.ended())
	is.Equal(<-failed, wire.ErrClosed)
	_, err := f.Call(context.Background(), "m", nil)
	is.Equal(err, wire.ErrClosed)
	is.NoErr(f.Notify(context.Background(), "n", nil)) // the other side may still listen
	is.NoErr(r.Fail(errors.New("shut down")))
	is.Equal(f.hear(), `{"jsonrpc":"2.0","method":"n","params":{}}`)
	is.Equal(f.hear(), `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"shut down"}}`)
	f.Close()
	is.Equal(f.Notify(context.Background(), "n", nil), wire.ErrClosed)
	is.True(f.Run(context.Background()) != nil) // a second time
}

func TestClose(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, wire.Options{})
	failed := make(chan error, 1)
	go func() {
		_, err := f.Call(context.Background(), "m", nil)
		failed <- err
	}()
	f.hear()
	f.Close()
	f.Close()
	is.NoErr(f.ended())
	is.Equal(<-failed, wire.ErrClosed)

	never := wire.NewPeer(strings.NewReader(""), io.Discard, wire.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	_, err := never.Call(ctx, "m", nil) // nobody runs it
	is.True(errors.Is(err, context.Canceled))
	never.Close()
	_, err = never.Call(context.Background(), "m", nil)
	is.Equal(err, wire.ErrClosed)
}

func TestTheContextOfRun(t *testing.T) {
	for name, streams := range map[string]func() (io.Reader, io.Writer, func()){
		"files": func() (io.Reader, io.Writer, func()) {
			r, w, _ := os.Pipe()
			return r, w, func() { r.Close(); w.Close() }
		},
		"pipes in memory": func() (io.Reader, io.Writer, func()) {
			r, w := io.Pipe()
			return r, w, func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			r, w, done := streams()
			defer done()
			p := wire.NewPeer(r, w, wire.Options{})
			ctx, cancel := context.WithCancel(context.Background())
			ran := make(chan error, 1)
			go func() { ran <- p.Run(ctx) }()
			cancel()
			is.True(errors.Is(<-ran, context.Canceled))
			p.Close()
		})
	}
	t.Run("a reader that cannot be interrupted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			block := make(chan struct{})
			p := wire.NewPeer(blocked(block), io.Discard, wire.Options{})
			ran := make(chan error, 1)
			go func() { ran <- p.Run(t.Context()) }()
			synctest.Wait()
			p.Close()
			is.NoErr(<-ran)
			close(block)
		})
	})
	t.Run("waits for a callback", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			finish := make(chan struct{})
			p := wire.NewPeer(strings.NewReader(`{"jsonrpc":"2.0","method":"n"}`), io.Discard,
				wire.Options{Notify: func(context.Context, wire.Notification) { <-finish }})
			ran := make(chan error, 1)
			go func() { ran <- p.Run(t.Context()) }()
			synctest.Wait()
			p.Close()
			synctest.Wait()
			is.Equal(len(ran), 0)
			close(finish)
			is.NoErr(<-ran)
		})
	})
	t.Run("ends that of the callbacks", func(t *testing.T) {
		is := is.New(t)
		entered := make(chan struct{})
		f := newFixture(t, wire.Options{Notify: func(ctx context.Context, _ wire.Notification) {
			close(entered)
			<-ctx.Done()
		}})
		f.say(`{"jsonrpc":"2.0","method":"n"}`)
		<-entered
		f.Close()
		is.NoErr(f.ended())
	})
}

// blocked reads nothing until it is closed.
type blocked chan struct{}

func (b blocked) Read([]byte) (int, error) {
	<-b
	return 0, io.EOF
}

func TestAReadErrorEndsRun(t *testing.T) {
	is := is.New(t)
	r, w := io.Pipe()
	p := wire.NewPeer(r, io.Discard, wire.Options{})
	broken := errors.New("broken")
	go w.CloseWithError(broken)
	is.True(errors.Is(p.Run(context.Background()), broken))
}

func TestABlockedWriteEndsWithItsContext(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, wire.Options{})
	big := map[string]string{"text": strings.Repeat("x", 1<<20)}
	ctx, cancel := context.WithCancel(context.Background())
	sent := make(chan error, 2)
	go func() { sent <- f.Notify(ctx, "big", big) }()
	f.hearSome()
	go func() { // waits for the first
		_, err := f.Call(ctx, "never sent", nil)
		sent <- err
	}()
	cancel()
	is.True(errors.Is(<-sent, context.Canceled))
	is.True(errors.Is(<-sent, context.Canceled))

	go func() { sent <- f.Notify(context.Background(), "after", nil) }()
	m, err := wire.Parse([]byte(f.hear())) // the line that was cut is whole
	is.NoErr(err)
	is.Equal(m.Method, "big")
	is.Equal(f.hear(), `{"jsonrpc":"2.0","method":"after","params":{}}`)
	is.NoErr(<-sent)
}

// fullPipe takes nothing until a deadline has passed.
type fullPipe struct {
	writing, passed chan struct{}
	once            sync.Once
}

func (s *fullPipe) Write([]byte) (int, error) {
	close(s.writing)
	<-s.passed
	return 0, os.ErrDeadlineExceeded
}

func (s *fullPipe) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		s.once.Do(func() { close(s.passed) })
	}
	return nil
}

func TestALineOfWhichNothingWasWrittenIsNotSeen(t *testing.T) {
	is := is.New(t)
	full := &fullPipe{writing: make(chan struct{}), passed: make(chan struct{})}
	var seen atomic.Bool
	p := wire.NewPeer(strings.NewReader(""), full, wire.Options{Tee: func(bool, []byte) { seen.Store(true) }})
	defer p.Close()
	ctx, cancel := context.WithCancel(context.Background())
	sent := make(chan error)
	go func() { sent <- p.Notify(ctx, "n", nil) }()
	<-full.writing
	cancel()
	is.True(errors.Is(<-sent, context.Canceled))
	is.True(!seen.Load())
}

func TestALineThatWasCutIsSeenOnce(t *testing.T) {
	is := is.New(t)
	var seen atomic.Int32
	f := newFixture(t, wire.Options{Tee: func(sent bool, _ []byte) {
		if sent {
			seen.Add(1)
		}
	}})
	ctx, cancel := context.WithCancel(context.Background())
	sent := make(chan error, 1)
	go func() { sent <- f.Notify(ctx, "big", map[string]string{"text": strings.Repeat("x", 1<<20)}) }()
	f.hearSome()
	cancel()
	is.True(errors.Is(<-sent, context.Canceled))
	is.Equal(seen.Load(), int32(1))
	go func() { sent <- f.Notify(context.Background(), "after", nil) }()
	f.hear()
	f.hear()
	is.NoErr(<-sent)
	is.Equal(seen.Load(), int32(2))
}

func TestABlockedWriteEndsWithClose(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, wire.Options{})
	big := map[string]string{"text": strings.Repeat("x", 1<<20)}
	sent := make(chan error, 2)
	for range 2 {
		go func() { sent <- f.Notify(context.Background(), "big", big) }()
	}
	f.hearSome()
	f.Close()
	is.Equal(<-sent, wire.ErrClosed)
	is.Equal(<-sent, wire.ErrClosed)
}

// hearSome waits for the first bytes of a line.
func (f *fixture) hearSome() {
	f.t.Helper()
	if _, err := f.out.Peek(1); err != nil {
		f.t.Fatal(err)
	}
}

func TestTheWriteTimeoutEndsTheConnection(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, wire.Options{WriteTimeout: 50 * time.Millisecond})
	big := map[string]string{"text": strings.Repeat("x", 1<<20)}
	is.Equal(f.Notify(context.Background(), "big", big), wire.ErrStalled)
	is.Equal(f.ended(), wire.ErrStalled)
	_, err := f.Call(context.Background(), "m", nil)
	is.Equal(err, wire.ErrClosed)
}

func TestABrokenPipeIsAnError(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, wire.Options{})
	is.NoErr(f.outFile.Close())
	is.True(errors.Is(f.Notify(context.Background(), "n", nil), wire.ErrClosed))
	_, err := f.Call(context.Background(), "m", nil)
	is.True(errors.Is(err, wire.ErrClosed))
}

func TestBackpressureHoldsTheSender(t *testing.T) {
	is := is.New(t)
	const lines = 100_000
	out, in := child(t, fmt.Sprint("flood ", lines))
	n := 0
	p := wire.NewPeer(out, in, wire.Options{Notify: func(_ context.Context, note wire.Notification) {
		if n++; n%1000 == 0 {
			runtime.Gosched() // a consumer that is slower than the sender
		}
	}})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	is.NoErr(p.Run(context.Background()))
	runtime.GC()
	runtime.ReadMemStats(&after)
	is.Equal(n, lines)
	is.True(int64(after.HeapAlloc)-int64(before.HeapAlloc) < 4<<20)
}

func TestNoGoroutineIsLeft(t *testing.T) {
	is := is.New(t)
	before := runtime.NumGoroutine()
	for range 10 {
		r, _ := io.Pipe()
		p := wire.NewPeer(r, io.Discard, wire.Options{})
		ran := make(chan error, 1)
		go func() { ran <- p.Run(context.Background()) }()
		failed := make(chan error, 1)
		go func() {
			_, err := p.Call(context.Background(), "m", nil)
			failed <- err
		}()
		p.Close()
		is.NoErr(<-ran)
		is.Equal(<-failed, wire.ErrClosed)
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	is.True(runtime.NumGoroutine() <= before)
}
