package wire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/sourcegraph/jsonrpc2"
)

// BenchmarkRoundTrip sends a request to a child process and waits for the answer. The aim: at most 3 times the plain
// lines and at most 1.2 times the bare library.
func BenchmarkRoundTrip(b *testing.B) {
	params := json.RawMessage(`{"threadId":"t-1","providerThreadId":"p-1","intent":"interrupt"}`)
	b.Run("lines", func(b *testing.B) {
		out, in := child(b, "lines")
		lines := bufio.NewReader(out)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			line, err := json.Marshal(plainMessage{Version: "2.0", ID: fmt.Append(nil, n), Method: "thread/stop", Params: params})
			if err == nil {
				_, err = in.Write(append(line, '\n'))
			}
			if err == nil {
				line, err = lines.ReadBytes('\n')
			}
			var m plainMessage
			if err == nil {
				err = json.Unmarshal(line, &m)
			}
			if err != nil || len(m.Result) == 0 {
				b.Fatal(err, string(line))
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		out, in := child(b, "jsonrpc2")
		conn := jsonrpc2.NewConn(b.Context(), jsonrpc2.NewPlainObjectStream(stdio{out, in}), echoHandler{})
		defer conn.Close()
		b.ReportAllocs()
		for b.Loop() {
			var result json.RawMessage
			if err := conn.Call(b.Context(), "thread/stop", params, &result); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("peer", func(b *testing.B) {
		out, in := child(b, "peer")
		p := wire.NewPeer(out, in, wire.Options{})
		done := make(chan error)
		go func() { done <- p.Run(context.Background()) }()
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Call(ctx, "thread/stop", params); err != nil {
				b.Fatal(err)
			}
		}
		p.Close()
		<-done
	})
}

// BenchmarkFlood reads notifications that a child process writes as fast as it can, beside a loop that only splits lines
// and one that decodes the envelope with encoding/json.
func BenchmarkFlood(b *testing.B) {
	plain := func(decode bool) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			out, _ := child(b, fmt.Sprint("flood ", b.N))
			in := bufio.NewReaderSize(out, 64<<10)
			n := 0
			for {
				line, err := in.ReadSlice('\n')
				if err != nil {
					break
				}
				var m plainMessage
				if decode && json.Unmarshal(line, &m) != nil {
					b.Fatal(string(line))
				}
				n++
			}
			if n != b.N {
				b.Fatal(n)
			}
		}
	}
	b.Run("lines", plain(false))
	b.Run("json", plain(true))
	b.Run("peer", func(b *testing.B) {
		b.ReportAllocs()
		out, in := child(b, fmt.Sprint("flood ", b.N))
		n := 0
		p := wire.NewPeer(out, in, wire.Options{Notify: func(context.Context, wire.Notification) { n++ }})
		if err := p.Run(b.Context()); err != nil || n != b.N {
			b.Fatal(err, n)
		}
	})
}

// BenchmarkParse beside encoding/json on the same lines.
func BenchmarkParse(b *testing.B) {
	for name, line := range map[string]string{"delta": aDelta, "long": strings.Replace(aDelta, "a few", strings.Repeat("a few ", 2000), 1)} {
		raw := []byte(line)
		b.Run(name+"/json", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				var m plainMessage
				if err := json.Unmarshal(raw, &m); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/parse", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.Parse(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLines beside bufio.
func BenchmarkLines(b *testing.B) {
	b.Run("bufio", func(b *testing.B) {
		in := bufio.NewReaderSize(&endless{text: aDelta + "\n"}, 64<<10)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := in.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("reader", func(b *testing.B) {
		in := wire.NewLineReader(&endless{text: aDelta + "\n"}, 0)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := in.Next(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// endless is a text without an end.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(b []byte) (n int, err error) {
	for n < len(b) {
		k := copy(b[n:], e.text[e.at:])
		e.at = (e.at + k) % len(e.text)
		n += k
	}
	return n, nil
}

// BenchmarkNotify writes notifications, beside a loop that writes the same lines.
func BenchmarkNotify(b *testing.B) {
	params := json.RawMessage(aDelta[strings.Index(aDelta, `{"threadId"`) : len(aDelta)-1])
	b.Run("lines", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			line, err := json.Marshal(plainMessage{Version: "2.0", Method: "thread/delta", Params: params})
			if err != nil {
				b.Fatal(err)
			}
			io.Discard.Write(append(line, '\n'))
		}
	})
	b.Run("peer", func(b *testing.B) {
		p := wire.NewPeer(strings.NewReader(""), io.Discard, wire.Options{})
		b.ReportAllocs()
		for b.Loop() {
			if err := p.Notify(b.Context(), "thread/delta", params); err != nil {
				b.Fatal(err)
			}
		}
	})
}
