package bridgekit_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// benchThread is a thread with an open turn and an open message whose output is read and thrown away.
func benchThread(b *testing.B) *bridgekit.Thread {
	b.Helper()
	threads := make(chan *bridgekit.Thread, 1)
	r, err := bridgekit.Define(bridge(func(b *bridgekit.Bridge[*agent]) {
		start := b.ThreadStart
		b.ThreadStart = func(ctx context.Context, t *bridgekit.Thread, p protocol.SessionParams) (*agent, protocol.SessionIdentity, error) {
			threads <- t
			return start(ctx, t, p)
		}
	}))
	if err != nil {
		b.Fatal(err)
	}
	in, write := io.Pipe()
	out, stdout, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() { r.Run(context.Background(), in, stdout); stdout.Close(); close(done) }()
	lines := bufio.NewReaderSize(out, 64<<10)
	for _, line := range []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":%s}`, marshal(b, hello())),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"thread/start","params":%s}`, marshal(b, sessionParams("t1"))),
	} {
		io.WriteString(write, line+"\n")
		lines.ReadString('\n')
	}
	t := <-threads
	lines.ReadString('\n') // the answer behind the identity
	drained := make(chan struct{})
	go func() { io.Copy(io.Discard, lines); close(drained) }()
	b.Cleanup(func() { write.Close(); <-done; <-drained; out.Close() })
	if err := t.Send(&protocol.TurnOpen{TurnKey: protocol.Ptr("k0")}, open("m1")); err != nil {
		b.Fatal(err)
	}
	return t
}

// BenchmarkSend sends text deltas, one a line and 16 a line. The baseline marshals a struct of the same fields with
// encoding/json and writes the line.
func BenchmarkSend(b *testing.B) {
	const words = "The quick brown fox jumps over the lazy dog. "
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprintf("deltas=%d", n), func(b *testing.B) {
			t := benchThread(b)
			ds := make([]protocol.Delta, n)
			for i := range ds {
				ds[i] = text("m1", words)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := t.Send(ds...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "deltas/s")
		})
		b.Run(fmt.Sprintf("baseline-json/deltas=%d", n), func(b *testing.B) {
			out, stdout, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			drained := make(chan struct{})
			go func() { io.Copy(io.Discard, out); close(drained) }()
			type key struct{ ProviderItemID, Channel, ParentRef *string }
			type delta struct {
				Kind, Scope   string
				TurnKey       *string
				Key           key
				Stream, Text_ string
			}
			type line struct {
				JSONRPC, Method string
				Params          struct {
					ThreadID string
					Deltas   []delta
				}
			}
			l := line{JSONRPC: "2.0", Method: "thread/delta"}
			l.Params.ThreadID = "t1"
			for range n {
				l.Params.Deltas = append(l.Params.Deltas, delta{"item.text", "turn", nil, key{protocol.Ptr("m1"), nil, nil}, "text", words})
			}
			b.ReportAllocs()
			for b.Loop() {
				raw, err := json.Marshal(l)
				if err != nil {
					b.Fatal(err)
				}
				stdout.Write(append(raw, '\n'))
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "deltas/s")
			stdout.Close()
			<-drained
		})
	}
}

// BenchmarkRequest answers a request of a thread over pipes in memory. The baseline is an echo of lines that decodes and
// encodes with encoding/json.
func BenchmarkRequest(b *testing.B) {
	loop := func(b *testing.B, in io.Writer, out *bufio.Reader, line []byte) {
		b.ReportAllocs()
		for b.Loop() {
			in.Write(line)
			if _, err := out.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
	}
	line := append(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"thread/name/set","params":%s}`,
		marshal(b, protocol.ThreadNameParams{ThreadRef: ref("t1"), Title: "n"})), '\n')
	b.Run("runtime", func(b *testing.B) {
		r, err := bridgekit.Define(bridge(func(b *bridgekit.Bridge[*agent]) {
			b.ThreadNameSet = func(*agent, context.Context, protocol.ThreadNameParams) error { return nil }
		}))
		if err != nil {
			b.Fatal(err)
		}
		in, write := io.Pipe()
		read, out := io.Pipe()
		done := make(chan struct{})
		go func() { r.Run(context.Background(), in, out); close(done) }()
		lines := bufio.NewReader(read)
		fmt.Fprintf(write, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":%s}`+"\n", marshal(b, hello()))
		lines.ReadSlice('\n')
		loop(b, write, lines, line)
		write.Close()
		<-done
	})
	b.Run("baseline-json", func(b *testing.B) {
		in, write := io.Pipe()
		read, out := io.Pipe()
		go func() {
			s := bufio.NewScanner(in)
			for s.Scan() {
				var m struct {
					ID     json.RawMessage
					Method string
					Params map[string]any
				}
				if json.Unmarshal(s.Bytes(), &m) == nil {
					raw, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{}})
					out.Write(append(bytes.TrimSpace(raw), '\n'))
				}
			}
		}()
		loop(b, write, bufio.NewReader(read), line)
		write.Close()
	})
}
