package assembler_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// lines returns the params of thread/delta with perLine deltas each: a turn that streams for as long as n lines last.
func lines(t testing.TB, n, perLine int, mixed bool) [][]byte {
	t.Helper()
	m, c := key("msg_01"), key("cmd_01")
	round := []protocol.Delta{text(m, "Some words of an answer, as an agent streams them. ")}
	if mixed {
		round = []protocol.Delta{
			opens(m, message("")), text(m, "Let me look. "), text(m, "I run a command. "), opens(c, command("go test ./...")),
			output(c, "ok  \tbridgekit\t0.1s\n"), output(c, "ok  \tkernel\t0.2s\n"), progress(c, "2 of 3"), closes(c, command("go test ./...")),
			text(m, "All tests pass."), closes(m, message("Let me look. I run a command. All tests pass.")),
			&protocol.Usage{Last: tokens(120)}, &protocol.Todo{Steps: []protocol.TodoStep{{Text: "test", Status: protocol.TodoCompleted}, {Text: "ship", Status: protocol.TodoActive}}},
			&protocol.ContextWindow{Used: protocol.Ptr[int64](1200), Size: protocol.Ptr[int64](200000)}, &protocol.TurnDiff{Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"},
			opens(key("r"), &protocol.Reasoning{}), closes(key("r"), &protocol.Reasoning{Text: "done"}),
		}
	}
	out := make([][]byte, n)
	for i := range out {
		p := protocol.DeltaParams{ThreadID: "thr_0123456789"}
		for j := range perLine {
			p.Deltas = append(p.Deltas, round[j%len(round)])
		}
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = raw
	}
	return out
}

// chain is what core does with the params of thread/delta.
type chain struct {
	batch protocol.DeltaBatch
	check *grammar.Checker
	asm   *assembler.Assembler
}

func newChain(t testing.TB) *chain {
	c := &chain{check: grammar.New(nil), asm: assembler.New(assembler.Options{ThreadID: "th", Entropy: "e"})}
	if err := c.asm.Expect("T1", "c1"); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *chain) feed(t testing.TB, raw []byte) (events []assembler.Event) {
	if err := protocol.ParseDeltaParams(raw, &c.batch); err != nil {
		t.Fatal(err)
	}
	for _, d := range c.batch.Deltas {
		if v := c.check.Check(d); v != nil {
			t.Fatal(v)
		}
		events = append(events, c.asm.Apply(d.Delta, at)...)
	}
	return events
}

func begin(t testing.TB, ds ...protocol.Delta) []byte {
	t.Helper()
	raw, err := json.Marshal(protocol.DeltaParams{ThreadID: "thr", Deltas: append(protocol.Deltas{accepted("c1"), turnOpen("")}, ds...)})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Events do not change when the memory that a line was read into is used again.
func TestEventsKeepNoLine(t *testing.T) {
	c := newChain(t)
	var events []assembler.Event
	ext := opens(key("x"), tool("t"))
	for _, raw := range append([][]byte{begin(t, ext)}, lines(t, 2, 16, true)...) {
		line := bytes.Clone(raw)
		events = append(events, c.feed(t, line)...)
		for i := range line {
			line[i] = '!'
		}
	}
	events = append(events, c.asm.Settle(at, "end")...)
	raw, err := json.Marshal(events)
	if err != nil || strings.Contains(string(raw), "!!") {
		t.Fatalf("%v %s", err, raw)
	}
}

// The chain does what core does with each line of a flood: at least half as fast as encoding/json alone.
func BenchmarkChain(b *testing.B) {
	for _, c := range []struct {
		name    string
		perLine int
		mixed   bool
	}{{"text", 1, false}, {"mixed", 16, true}} {
		raws := lines(b, 64, c.perLine, c.mixed)
		report := func(b *testing.B) {
			b.ReportMetric(float64(b.N*c.perLine)/b.Elapsed().Seconds(), "deltas/s")
		}
		b.Run(c.name+"/json", func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				var p struct {
					ThreadID string           `json:"threadId"`
					Deltas   []map[string]any `json:"deltas"`
				}
				if err := json.Unmarshal(raws[i%len(raws)], &p); err != nil {
					b.Fatal(err)
				}
			}
			report(b)
		})
		b.Run(c.name+"/jsonstruct", func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				var p struct {
					ThreadID string      `json:"threadId"`
					Deltas   []flatDelta `json:"deltas"`
				}
				if err := json.Unmarshal(raws[i%len(raws)], &p); err != nil {
					b.Fatal(err)
				}
			}
			report(b)
		})
		b.Run(c.name+"/chain", func(b *testing.B) {
			ch := newChain(b)
			ch.feed(b, begin(b))
			if !c.mixed {
				ch.feed(b, mustParams(b, opens(key("msg_01"), message(""))))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if err := protocol.ParseDeltaParams(raws[i%len(raws)], &ch.batch); err != nil {
					b.Fatal(err)
				}
				for _, d := range ch.batch.Deltas {
					if v := ch.check.Check(d); v != nil {
						b.Fatal(v)
					}
					if ch.asm.Apply(d.Delta, at) == nil {
						b.Fatal("no event")
					}
				}
			}
			report(b)
		})
		b.Run(c.name+"/assemble", func(b *testing.B) { // without decoding
			ch := newChain(b)
			ch.feed(b, begin(b))
			if !c.mixed {
				ch.feed(b, mustParams(b, opens(key("msg_01"), message(""))))
			}
			if err := protocol.ParseDeltaParams(raws[0], &ch.batch); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				for _, d := range ch.batch.Deltas {
					if v := ch.check.Check(d); v != nil {
						b.Fatal(v)
					}
					ch.asm.Apply(d.Delta, at)
				}
			}
			report(b)
		})
	}
}

func mustParams(t testing.TB, ds ...protocol.Delta) []byte {
	t.Helper()
	raw, err := json.Marshal(protocol.DeltaParams{ThreadID: "thr", Deltas: ds})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// flatDelta has the fields of the deltas in question, without telling their kinds apart.
type flatDelta struct {
	Kind    string  `json:"kind"`
	Scope   string  `json:"scope"`
	TurnKey *string `json:"turnKey"`
	Key     struct {
		ProviderItemID *string `json:"providerItemId"`
		Channel        *string `json:"channel"`
		ParentRef      *string `json:"parentRef"`
	} `json:"key"`
	Stream       string         `json:"stream"`
	Text         string         `json:"text"`
	Mode         string         `json:"mode"`
	Message      *string        `json:"message"`
	Item         map[string]any `json:"item"`
	Presentation map[string]any `json:"presentation"`
}
