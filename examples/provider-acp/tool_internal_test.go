package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
)

func bareTurn() *turn {
	s := &Session{params: protocol.SessionParams{Cwd: "/w"}, terminals: map[string]*terminal{}, usedCalls: map[string]int{}}
	return &turn{s: s, key: "turn-1", calls: map[string]*call{}}
}

// FuzzToolUpdates reports updates of tool calls, one a line, and reads each delta as strictly as core does.
func FuzzToolUpdates(f *testing.F) {
	f.Add(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"ls","kind":"execute","rawInput":{"command":"ls"}}` + "\n" +
		`{"sessionUpdate":"tool_call_update","toolCallId":"1","content":[{"type":"content","content":{"type":"text","text":"a"}}]}` + "\n" +
		`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","rawOutput":{"exitCode":1}}`)
	f.Add(`{"sessionUpdate":"tool_call","toolCallId":"","title":"x","kind":"edit","locations":[{"path":"a"}],"content":[{"type":"diff","path":"a","newText":"x"}],"status":"failed"}`)
	f.Add(`{"sessionUpdate":"tool_call_update","toolCallId":"\u001f","rawInput":null,"rawOutput":"x","content":[{"type":"image"}]}`)
	f.Add(`{"sessionUpdate":"tool_call","toolCallId":"1","kind":"switch_mode","rawInput":[1],"content":null}`)
	f.Fuzz(func(t *testing.T, lines string) {
		turn := bareTurn()
		for line := range strings.Lines(lines) {
			var u schema.Update
			if json.Unmarshal([]byte(line), &u) != nil {
				continue
			}
			c := turn.call(u)
			if c == nil {
				continue
			}
			c.merge(turn, u) // what makes no sense is left out
			c.subject(turn)
			for _, d := range append(c.report(turn), c.stream(turn)...) {
				raw, err := protocol.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := protocol.ParseDelta(raw); err != nil {
					t.Fatalf("%s: %v", raw, err)
				}
			}
		}
	})
}

// BenchmarkToolUpdate is an update that resends all output with a line more, beside reading it only.
func BenchmarkToolUpdate(b *testing.B) {
	const size = 200
	var lines [][]byte
	output := ""
	for i := range size {
		output += fmt.Sprintf("line %d of a build\n", i)
		text, _ := json.Marshal(output)
		lines = append(lines, fmt.Appendf(nil, `{"sessionUpdate":"tool_call_update","toolCallId":"1","kind":"execute","title":"make","rawInput":{"command":"make"},"content":[{"type":"content","content":{"type":"text","text":%s}}]}`, text))
	}
	for name, report := range map[string]bool{"read": false, "report": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			turn := bareTurn()
			for i := 0; b.Loop(); i++ {
				if i%size == 0 {
					turn = bareTurn()
				}
				var u schema.Update
				if err := json.Unmarshal(lines[i%size], &u); err != nil {
					b.Fatal(err)
				}
				if report {
					c := turn.call(u)
					c.merge(turn, u)
					c.report(turn)
				}
			}
		})
	}
}
