package host_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// plainMessage is what the baselines read and write with encoding/json.
type plainMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

// answerPlainly is the child of all benchmarks: bufio and encoding/json, a line at a time. A model/list with a cwd that
// is a number is answered with so many deltas first.
func answerPlainly() {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m plainMessage
		var p protocol.ProviderParams
		m.Params = &p
		json.Unmarshal(line, &m)
		answer := plainMessage{JSONRPC: "2.0", ID: m.ID, Result: json.RawMessage(`{"models":[]}`)}
		switch m.Method {
		case "initialize":
			answer.Result = json.RawMessage(`{"protocol":3,"capabilities":` + allCapabilities + `}`)
		case "thread/start":
			fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"thread/identity","params":{"threadId":"t1","providerThreadId":"p-t1","sessionRestorable":true}}`)
			fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"thread/delta","params":{"threadId":"t1","deltas":[`+turnOpen+`,`+messageOpen+`]}}`)
			answer.Result = json.RawMessage(`{"providerThreadId":"p-t1","sessionRestorable":true}`)
		}
		var n int
		fmt.Sscan(p.Cwd, &n)
		for range n {
			io.WriteString(out, floodLine)
		}
		raw, _ := json.Marshal(answer)
		out.Write(append(raw, '\n'))
		out.Flush()
	}
}

const floodLine = `{"jsonrpc":"2.0","method":"thread/delta","params":{"threadId":"t1","deltas":[{"kind":"item.text","scope":"turn","turnKey":null,"key":{"providerItemId":"m1","channel":null,"parentRef":null},"stream":"text","text":"The quick brown fox "}]}}` + "\n"

// child starts the child of the benchmarks with bare pipes.
func child(b *testing.B) (io.WriteCloser, io.Reader) {
	b.Helper()
	c := exec.Command(os.Args[0])
	c.Env = []string{role + "=plain"}
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		c.Wait()
	})
	return in, out
}

// lineStream is the least that the JSON-RPC library needs to speak lines.
type lineStream struct {
	r *bufio.Reader
	w io.WriteCloser
}

func (s lineStream) ReadObject(v any) error {
	line, err := s.r.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

func (s lineStream) WriteObject(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = s.w.Write(append(raw, '\n'))
	return err
}

func (s lineStream) Close() error { return s.w.Close() }

// BenchmarkRoundTrip calls model/list of a child: through a Bridge, through the bare JSON-RPC library, and with bufio and
// encoding/json alone.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("bridge", func(b *testing.B) {
		b.ReportAllocs()
		o := options()
		o.Env = []string{role + "=plain"}
		bridge := start(b, o)
		for b.Loop() {
			if _, err := bridge.ModelList(background, provider); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare-jsonrpc2", func(b *testing.B) {
		b.ReportAllocs()
		in, out := child(b)
		conn := jsonrpc2.NewConn(background, lineStream{bufio.NewReader(out), in}, jsonrpc2.HandlerWithError(
			func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) { return nil, nil }))
		for b.Loop() {
			var result protocol.ModelListResult
			if err := conn.Call(background, "model/list", provider, &result); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain-json", func(b *testing.B) {
		b.ReportAllocs()
		in, out := child(b)
		r := bufio.NewReader(out)
		for b.Loop() {
			raw, _ := json.Marshal(plainMessage{JSONRPC: "2.0", ID: json.RawMessage(`1`), Method: "model/list", Params: provider})
			in.Write(append(raw, '\n'))
			line, err := r.ReadBytes('\n')
			if err != nil {
				b.Fatal(err)
			}
			var m plainMessage
			if err := json.Unmarshal(line, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFlood has a child send text deltas: to a Bridge, which decodes them and checks the grammar, to a loop that
// decodes the lines with encoding/json, and to one that only splits them.
func BenchmarkFlood(b *testing.B) {
	report := func(b *testing.B, n int) {
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "deltas/s")
		b.ReportMetric(0, "ns/op")
	}
	const batch = 20_000
	loop := func(b *testing.B, take func(line []byte) bool) {
		in, out := child(b)
		r := bufio.NewReaderSize(out, 64<<10)
		n := 0
		for b.Loop() {
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":1,"method":"model/list","params":{"providerId":"puppet","cwd":"%d","bridgeOptions":{}}}`+"\n", batch)
			for {
				line, err := r.ReadSlice('\n')
				if err != nil {
					b.Fatal(err)
				}
				if !take(line) {
					break
				}
				n++
			}
		}
		report(b, n)
	}
	b.Run("bridge", func(b *testing.B) {
		o := options()
		o.Env = []string{role + "=plain"}
		var n atomic.Int64
		o.Handler.Deltas = func(_ string, ds protocol.Deltas) { n.Add(int64(len(ds))) }
		bridge := start(b, o)
		begin(b, bridge, "t1")
		n.Store(0)
		p := provider
		p.Cwd = fmt.Sprint(batch)
		for b.Loop() {
			if _, err := bridge.ModelList(background, p); err != nil {
				b.Fatal(err)
			}
		}
		report(b, int(n.Load()))
	})
	b.Run("json-lines", func(b *testing.B) {
		type delta struct {
			Kind, Scope string
			TurnKey     *string
			Key         struct{ ProviderItemID, Channel, ParentRef *string }
			Stream      string
			Text        string
		}
		loop(b, func(line []byte) bool {
			var m struct {
				Method string
				Params struct {
					ThreadID string
					Deltas   []delta
				}
			}
			return json.Unmarshal(line, &m) == nil && m.Method != ""
		})
	})
	b.Run("raw-lines", func(b *testing.B) {
		loop(b, func(line []byte) bool { return !bytes.Contains(line, []byte(`"result"`)) })
	})
}
