package bridgekit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// TestBadLines proves that what is no message is dropped with a warning, is never answered, and harms nothing.
func TestBadLines(t *testing.T) {
	for name, line := range map[string]string{
		"junk":              `starting agent…`,
		"null":              `null`,
		"number":            `1`,
		"array":             `[{"jsonrpc":"2.0","id":1,"method":"shutdown","params":{"graceMs":0}}]`,
		"two-objects":       `{"jsonrpc":"2.0","id":1,"method":"x"}{"jsonrpc":"2.0","id":2,"method":"x"}`,
		"empty":             ``,
		"invalid-utf8":      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
		"over-long":         `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 8<<20) + `"}`,
		"id-null":           `{"jsonrpc":"2.0","id":null,"method":"x"}`,
		"id-fraction":       `{"jsonrpc":"2.0","id":1.5,"method":"x"}`,
		"id-bool":           `{"jsonrpc":"2.0","id":true,"method":"x"}`,
		"unknown-response":  `{"jsonrpc":"2.0","id":"nobody","result":{}}`,
		"null-response":     `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`,
		"no-version":        `{"id":1,"method":"x"}`,
		"core-notification": `{"jsonrpc":"2.0","method":"thread/stopped","params":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			c := run(t, bridge())
			c.initialize()
			c.write(line)
			c.logged(`"level":"warn"`)
			c.must(protocol.MethodThreadStart, sessionParams("t1"))
			is.Equal(len(c.lines()), 4) // two answers, the warning, the identity
		})
	}
	t.Run("before-initialize", func(t *testing.T) {
		is := is.New(t)
		c := run(t, bridge())
		c.write("\xef\xbb\xbfjunk") // goes to standard error
		c.initialize()
		is.Equal(len(c.lines()), 1)
	})
	t.Run("tolerated", func(t *testing.T) {
		c := run(t, bridge())
		hello, err := protocol.Marshal(hello())
		if err != nil {
			t.Fatal(err)
		}
		c.write("\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":"i","method":"initialize","params":` + string(hello) + "}\r")
		c.response(`"i"`)
		p := sessionParams("a\u2028b")
		c.must(protocol.MethodThreadStart, p)
	})
}

// TestIDs proves that ids come back byte for byte, and what is done with one that is in use.
func TestIDs(t *testing.T) {
	is := is.New(t)
	release := make(chan struct{})
	c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
		b.ModelList = func(context.Context, protocol.ProviderParams) (protocol.ModelListResult, error) {
			<-release
			return protocol.ModelListResult{}, nil
		}
	}))
	c.initialize()
	params := `{"providerId":"test","cwd":"/","bridgeOptions":{}}`
	ids := []string{`0`, `-1`, `9007199254740993`, `123456789012345678901234567890`, `""`, `"\u0041"`, `"é"`, `"1"`}
	for _, id := range ids {
		c.write(`{"jsonrpc":"2.0","id":` + id + `,"method":"model/list","params":` + params + `}`)
	}
	c.write(`{"jsonrpc":"2.0","id":0,"method":"no/such","params":{}}`) // in use
	c.logged("repeated-id")
	close(release)
	for _, id := range ids {
		is.Equal(string(c.response(id).Result), `{"models":[]}`)
	}
	c.must(protocol.MethodThreadStart, sessionParams("t1"))
	for _, m := range c.lines() {
		is.True(m.Error == nil)
	}
}

// FuzzRun feeds a bridge random lines: it never panics or hangs, and every request with a valid id gets exactly one
// answer.
func FuzzRun(f *testing.F) {
	start := fmt.Sprintf(`{"jsonrpc":"2.0","id":"s","method":"thread/start","params":%s}`, marshal(f, sessionParams("t1")))
	turn := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"turn/start","params":%s}`, marshal(f, turnParams("t1", "a")))
	stop := fmt.Sprintf(`{"jsonrpc":"2.0","id":8,"method":"thread/stop","params":%s}`, marshal(f, stopParams("t1", protocol.Interrupt)))
	release := fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"thread/stop","params":%s}`, marshal(f, stopParams("t1", protocol.Release)))
	discard := fmt.Sprintf(`{"jsonrpc":"2.0","id":10,"method":"thread/discard","params":%s}`, marshal(f, ref("t1")))
	for _, lines := range [][]string{
		{start, turn, stop, release},
		{start, turn, discard, start},
		{start, turn, turn, stop, turn},
		{`{"jsonrpc":"2.0","id":1,"method":"shutdown","params":{"graceMs":0}}`, start},
		{`{"jsonrpc":"2.0","id":1,"method":"x"}`, `junk`, `null`, `[]`, `{"jsonrpc":"2.0","id":1.5,"method":"x"}`},
		{`{"jsonrpc":"2.0","id":"b0","result":{}}`, `{"jsonrpc":"2.0","id":"","method":""}`},
	} {
		f.Add([]byte(strings.Join(lines, "\n")), true)
		f.Add([]byte(strings.Join(lines, "\n")), false)
	}
	f.Fuzz(func(t *testing.T, input []byte, greet bool) {
		b := bridge(func(b *bridgekit.Bridge[*agent]) {
			b.TurnStart = (*agent).openAndBlock
			b.ThreadStop = settle
			b.ModelList = func(context.Context, protocol.ProviderParams) (protocol.ModelListResult, error) { panic("boom") }
		})
		r, err := bridgekit.Define(b)
		if err != nil {
			t.Fatal(err)
		}
		if greet {
			input = append([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":%s}`+"\n", marshal(t, hello()))), input...)
		}
		var out bytes.Buffer
		done := make(chan error, 1)
		go func() { done <- r.Run(context.Background(), bytes.NewReader(input), &out) }()
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatal("Run did not return")
		}
		answers := map[wire.ID]int{}
		ended := false // perhaps by a shutdown: nobody may be left to answer what stands behind it
		for line := range bytes.SplitSeq(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n")) {
			if len(line) == 0 {
				continue
			}
			m, err := wire.Parse(line)
			if err != nil {
				t.Fatalf("the bridge wrote %q: %v", line, err)
			}
			if m.Kind == wire.ResponseKind {
				answers[m.ID]++
				ended = ended || m.Error == nil && string(m.Result) == "{}"
			}
		}
		requests, late := map[wire.ID]int{}, map[wire.ID]bool{}
		down := false
		reader := wire.NewLineReader(bytes.NewReader(input), 0)
		for {
			line, err := reader.Next()
			if err == io.EOF {
				break
			}
			if m, bad := wire.Parse(line); err == nil && bad == nil && m.Kind == wire.RequestKind {
				requests[m.ID]++
				late[m.ID] = down
				down = down || ended && m.Method == protocol.MethodShutdown
			}
		}
		for id, n := range answers {
			if n > requests[id] {
				t.Errorf("%d answers to %d requests of the id %s", n, requests[id], id)
			}
		}
		for id := range requests {
			if answers[id] == 0 && !late[id] && !same(id, answers) {
				t.Errorf("no answer to %s", id)
			}
		}
	})
}

// same tells whether one of the ids is another spelling of id: the second of two such requests is dropped.
func same(id wire.ID, answers map[wire.ID]int) bool {
	var want any
	if json.Unmarshal([]byte(id), &want) != nil {
		return true // an integer that no float holds
	}
	for other := range answers {
		var got any
		if json.Unmarshal([]byte(other), &got) == nil && got == want {
			return true
		}
	}
	return false
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := protocol.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
