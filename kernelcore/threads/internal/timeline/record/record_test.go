package record_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline/record"
)

func samples() []threadapi.Event {
	turn := threadapi.Scope{Kind: "turn", TurnID: "u"}
	return []threadapi.Event{
		{ThreadID: "t", Seq: 1, At: time.Unix(1_900_000_000, 123).UTC(), Type: "turn.started", Scope: turn, Payload: json.RawMessage(`{}`)},
		{ThreadID: "t", Seq: 2, At: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), Type: "item.text", Scope: turn, ItemID: "i", ParentItemID: "p", Payload: json.RawMessage(`{"text":"ö"}`)},
		{ThreadID: "t", Seq: 9, At: time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), Type: "item.text", Scope: turn, ItemID: "i", ParentItemID: "p", Covers: []int64{3, 9}, Payload: json.RawMessage(`{"text":"ö"}`)},
		{ThreadID: "t", Seq: 1 << 60, At: time.Unix(-5, 0).UTC(), Type: "provider.warning", Scope: threadapi.Scope{Kind: "thread"}, Payload: json.RawMessage(`{}`)},
	}
}

func encode(events []threadapi.Event) (raw []byte) {
	for _, e := range events {
		raw = record.Append(raw, e)
	}
	return raw
}

func TestRecord(t *testing.T) {
	is := is.New(t)
	got, err := record.Decode(nil, "t", encode(samples()))
	is.NoErr(err)
	is.Equal(got, samples())
	got[0].Payload = append(got[0].Payload, 'x') // of no effect on its neighbour
	is.Equal(got[1], samples()[1])
}

// TestDamage proves that a record that lacks something, or has something else, is refused or read as what it says.
func TestDamage(t *testing.T) {
	raw := encode(samples())
	for n := range raw {
		got, err := record.Decode(nil, "t", raw[:n])
		if err == nil && len(got) >= len(samples()) || err != nil && !errors.Is(err, record.ErrDamaged) {
			t.Errorf("cut to %d bytes: %d events, %v", n, len(got), err)
		}
	}
	events := samples()
	for name, wrong := range map[string][]threadapi.Event{
		"the same seq twice":                {events[0], events[0]},
		"seqs that go back":                 {events[1], events[0]},
		"a run that covers what was before": {events[0], {Seq: 9, Type: "x", Covers: []int64{1, 9}, At: events[0].At}},
		"no seq":                            {{Type: "x", At: events[0].At}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := record.Decode(nil, "t", encode(wrong))
			is.New(t).True(errors.Is(err, record.ErrDamaged))
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(samples()))
	f.Add([]byte{record.Version})
	f.Add([]byte{record.Version, 0, 1, 0, 0, 1, 'x', 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		events, err := record.Decode(nil, "t", raw)
		if err != nil {
			return
		}
		again, err := record.Decode(nil, "t", encode(events))
		if err != nil && len(events) > 0 {
			t.Fatal(err)
		}
		for i := range events {
			if fmt.Sprint(again[i]) != fmt.Sprint(events[i]) {
				t.Fatalf("%v became %v", events[i], again[i])
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	var events []threadapi.Event
	for i := range 1000 {
		e := samples()[1]
		e.Seq = int64(i + 1)
		events = append(events, e)
	}
	b.Run("record", func(b *testing.B) {
		raw := encode(events)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := record.Decode(nil, "t", raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline=json", func(b *testing.B) {
		raw, err := json.Marshal(events)
		is.New(b).NoErr(err)
		b.ReportAllocs()
		for b.Loop() {
			var out []threadapi.Event
			if err := json.Unmarshal(raw, &out); err != nil {
				b.Fatal(err)
			}
		}
	})
}
