package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/bb-kernel/bb/bridgekit/protocol"
)

// textLine is what a streaming agent sends most.
const textLine = `{"threadId":"thread-1","deltas":[{"kind":"item.text","scope":"turn","turnKey":null,"key":{"providerItemId":"msg_01","channel":null,"parentRef":null},"stream":"text","text":"The quick brown fox jumps over"}]}`

// plainText has the fields of textLine for encoding/json.
type plainText struct {
	ThreadID string `json:"threadId"`
	Deltas   []struct {
		Kind    string  `json:"kind"`
		Scope   string  `json:"scope"`
		TurnKey *string `json:"turnKey"`
		Key     struct {
			ProviderItemID *string `json:"providerItemId"`
			Channel        *string `json:"channel"`
			ParentRef      *string `json:"parentRef"`
		} `json:"key"`
		Stream string `json:"stream"`
		Text   string `json:"text"`
	} `json:"deltas"`
}

func mixedLine(b *testing.B) []byte {
	wire, err := Marshal(DeltaParams{ThreadID: "thread-1", Deltas: sampleDeltas()[:16]})
	if err != nil {
		b.Fatal(err)
	}
	return wire
}

func BenchmarkDeltas(b *testing.B) {
	parse := func(b *testing.B, line []byte, deltas int) {
		var batch DeltaBatch
		b.SetBytes(int64(len(line)))
		b.ReportAllocs()
		for b.Loop() {
			if err := ParseDeltaParams(line, &batch); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(deltas), "ns/delta")
	}
	b.Run("one text", func(b *testing.B) { parse(b, []byte(textLine), 1) })
	b.Run("one text, strict decoder", func(b *testing.B) { // a space makes the fast path refuse it
		parse(b, []byte(strings.Replace(textLine, `"kind":`, `"kind": `, 1)), 1)
	})
	b.Run("one text, encoding/json", func(b *testing.B) {
		b.SetBytes(int64(len(textLine)))
		b.ReportAllocs()
		for b.Loop() {
			var p plainText
			if err := json.Unmarshal([]byte(textLine), &p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("16 mixed", func(b *testing.B) { parse(b, mixedLine(b), 16) })
	b.Run("16 mixed, encoding/json into any", func(b *testing.B) {
		line := mixedLine(b)
		b.SetBytes(int64(len(line)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(line, &v); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/16, "ns/delta")
	})
}

func BenchmarkMarshal(b *testing.B) {
	deltas := Deltas(sampleDeltas()[:16])
	b.Run("16 mixed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Marshal(deltas); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("16 mixed, encoding/json of any", func(b *testing.B) {
		wire, err := Marshal(deltas)
		if err != nil {
			b.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(wire, &v); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("validate a text", func(b *testing.B) {
		d := &ItemText{Key: ItemKey{ProviderItemID: "msg_01"}, Stream: Text, Text: "The quick brown fox jumps over"}
		b.ReportAllocs()
		for b.Loop() {
			if issues := Validate(d); issues != nil {
				b.Fatal(issues)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	wire, err := Marshal(sampleTurn())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("turn/start", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Decode[TurnStartParams](wire); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("turn/start, encoding/json into any", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(wire, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
