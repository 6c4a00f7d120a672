package wire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/sourcegraph/jsonrpc2"
)

// role names, in the environment of a child, which of the programs below it is.
const role = "WIRE_TEST_ROLE"

func TestMain(m *testing.M) {
	program, arg, _ := strings.Cut(os.Getenv(role), " ")
	if program == "" {
		os.Exit(m.Run())
	}
	n, _ := strconv.Atoi(arg)
	switch program {
	case "peer": // answers each request with its params
		p := wire.NewPeer(os.Stdin, os.Stdout, wire.Options{
			Request: func(_ context.Context, r *wire.Request) { r.Reply(r.Params) },
		})
		p.Run(context.Background())
	case "lines": // the same with bufio and encoding/json alone
		in, out := bufio.NewReader(os.Stdin), os.Stdout
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				break
			}
			var m plainMessage
			if json.Unmarshal(line, &m) != nil {
				break
			}
			answer, _ := json.Marshal(plainMessage{Version: "2.0", ID: m.ID, Result: m.Params})
			out.Write(append(answer, '\n'))
		}
	case "jsonrpc2": // the same with the library alone
		<-jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(stdio{os.Stdin, os.Stdout}), echoHandler{}).DisconnectNotify()
	case "flood": // writes n deltas as fast as it can
		out := bufio.NewWriterSize(os.Stdout, 64<<10)
		for range n {
			io.WriteString(out, aDelta+"\n")
		}
		out.Flush()
	}
	os.Exit(0)
}

const aDelta = `{"jsonrpc":"2.0","method":"thread/delta","params":{"threadId":"t-1","deltas":[{"kind":"item.text","scope":"turn","turnKey":null,` +
	`"key":{"providerItemId":"m1","channel":null,"parentRef":null},"stream":"text","text":"a few words of text, as agents write them "}]}}`

type plainMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

type stdio struct {
	io.Reader
	io.WriteCloser
}

type echoHandler struct{}

func (echoHandler) Handle(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) {
	c.Reply(ctx, r.ID, r.Params)
}

// child starts one of the programs of TestMain.
func child(t testing.TB, program string) (io.Reader, io.WriteCloser) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{role + "=" + program}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return out, in
}
