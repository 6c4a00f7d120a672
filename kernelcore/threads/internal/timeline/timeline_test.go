package timeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

const thread = "t1"

type object = map[string]any

var at = time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)

func event(kind, turn, item string, payload any) timeline.Event {
	return timeline.Event{At: at, Type: kind, TurnID: turn, ItemID: item, Payload: payload}
}

func started(turn, item, kind string) timeline.Event {
	p := object{"kind": kind, "providerItemId": nil}
	switch kind {
	case "message":
		p["text"] = ""
	case "reasoning":
		p["text"], p["summary"] = "", ""
	case "command":
		p["command"], p["output"] = "ls", nil
	case "tool":
		p["tool"], p["result"] = "x", nil
	}
	return event("item.started", turn, item, object{"item": p, "presentation": object{"label": "Working", "icon": "gear"}})
}

func text(turn, item, s string) timeline.Event {
	return event("item.text", turn, item, object{"stream": "text", "text": s})
}

func completed(turn, item, kind, text string) timeline.Event {
	return event("item.completed", turn, item, object{"status": "completed", "partial": false,
		"item": object{"kind": kind, "text": text, "providerItemId": nil}, "presentation": object{"label": "Done", "icon": "gear"}})
}

func turn(kind, id string) timeline.Event {
	p := object{}
	if kind == "turn.completed" {
		p["status"] = "completed"
	}
	return event(kind, id, "", p)
}

func open(t *testing.T, s store.Store) (*timeline.Log, *timeline.Writer) {
	t.Helper()
	is := is.New(t)
	l := timeline.New(s, timeline.Options{RetryFor: 200 * time.Millisecond})
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	w, err := l.Writer(t.Context(), thread)
	is.NoErr(err)
	return l, w
}

func read(t *testing.T, l *timeline.Log, after int64) []threadapi.Event {
	t.Helper()
	return readThread(t, l, thread, after)
}

func readThread(t *testing.T, l *timeline.Log, id string, after int64) []threadapi.Event {
	t.Helper()
	var all []threadapi.Event
	for e, err := range l.Read(t.Context(), id, after, false) {
		is.New(t).NoErr(err)
		all = append(all, e)
	}
	return all
}

func rows(t *testing.T, l *timeline.Log, in threadapi.TimelineInput) threadapi.TimelineOutput {
	t.Helper()
	in.Thread = thread
	out, err := l.Rows(t.Context(), in)
	is.New(t).NoErr(err)
	return out
}

func TestAppend(t *testing.T) {
	is := is.New(t)
	s := store.Memory()
	l, w := open(t, s)
	is.NoErr(w.Append(t.Context(), []timeline.Event{turn("turn.started", "u1"), started("u1", "i1", "message"), text("u1", "i1", "a\u2028<b>")}, timeline.Record{Bucket: "x", Key: "k", Value: []byte("v")}))
	is.NoErr(w.Flush(t.Context()))
	all := read(t, l, 0)
	is.Equal(len(all), 3)
	for i, e := range all {
		is.Equal(e.Seq, int64(i+1))
		is.Equal(e.ThreadID, thread)
		is.True(e.At.Equal(at))
	}
	is.Equal(all[1].Scope, threadapi.Scope{Kind: "turn", TurnID: "u1"})
	var p struct{ Text string }
	is.NoErr(json.Unmarshal(all[2].Payload, &p))
	is.Equal(p.Text, "a\u2028<b>")
	is.NoErr(s.View(t.Context(), func(tx store.Tx) error {
		v, err := tx.Get("x", "k")
		is.Equal(string(v), "v")
		return err
	}))
	t.Run("one writer at a time", func(t *testing.T) {
		_, err := l.Writer(t.Context(), thread)
		is.True(errors.Is(err, timeline.ErrInUse))
	})
	t.Run("another life goes on behind it", func(t *testing.T) {
		is.NoErr(w.Close(t.Context()))
		w, err := l.Writer(t.Context(), thread)
		is.NoErr(err)
		is.Equal(w.LastSeq(), int64(3))
		items := w.OpenItems()
		is.Equal(len(items), 1)
		is.Equal(items[0].ItemID, "i1")
		is.NoErr(w.Append(t.Context(), []timeline.Event{completed("u1", "i1", "message", "whole")}))
		is.NoErr(w.Close(t.Context()))
		is.Equal(len(read(t, l, 0)), 4)
		is.True(errors.Is(w.Append(t.Context(), nil), timeline.ErrClosed))
	})
}

func TestFollow(t *testing.T) {
	is := is.New(t)
	l, w := open(t, store.Memory())
	const n = 3000
	got := make(chan int64, n)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range l.Read(ctx, thread, 0, true) {
			if err != nil {
				t.Error(err)
				return
			}
			got <- e.Seq
		}
	}()
	slow := make(chan struct{}) // a follower that stands still holds nobody up
	go func() {
		for range l.Read(ctx, thread, 0, true) {
			<-slow
		}
	}()
	for i := range n {
		is.NoErr(w.Append(t.Context(), []timeline.Event{text("", "i", fmt.Sprint(i))}))
	}
	for i := range n {
		is.Equal(<-got, int64(i+1))
	}
	close(slow)
	t.Run("beyond the end waits", func(t *testing.T) {
		beyond := make(chan int64, 1)
		go func() {
			for e := range l.Read(ctx, thread, n+1, true) {
				beyond <- e.Seq
				return
			}
		}()
		is.NoErr(w.Append(t.Context(), []timeline.Event{text("", "i", "x"), text("", "i", "y")}))
		is.Equal(<-beyond, int64(n+2))
	})
	cancel()
	<-done
	is.NoErr(w.Close(t.Context()))
	t.Run("until it is deleted", func(t *testing.T) {
		ended := make(chan struct{})
		begun := make(chan struct{}, 10*n)
		go func() {
			defer close(ended)
			for range l.Read(t.Context(), thread, 0, true) {
				begun <- struct{}{}
			}
		}()
		<-begun
		is.NoErr(l.Delete(t.Context(), thread))
		<-ended
		is.Equal(len(read(t, l, 0)), 0)
	})
}

func TestRows(t *testing.T) {
	is := is.New(t)
	l, w := open(t, store.Memory())
	is.NoErr(w.Append(t.Context(), []timeline.Event{
		event(threadapi.EventInputSent, "u1", "", threadapi.InputSent{ClientRequestID: "r", Input: []json.RawMessage{json.RawMessage(`{"type":"text","text":"hi"}`)}}),
		turn("turn.started", "u1"),
		started("u1", "m", "message"), text("u1", "m", "so "), text("u1", "m", "far"),
		started("u1", "c", "command"), event("item.output", "u1", "c", object{"mode": "append", "text": "one\n"}),
		event("thread.todo", "u1", "", object{"steps": []any{}}), event("thread.todo", "u1", "", object{"steps": []any{1}}),
		event(threadapi.EventInteractionOpened, "u1", "", threadapi.InteractionOpened{InteractionID: "x", Request: json.RawMessage(`{"kind":"approval"}`)}),
	}))
	is.NoErr(w.Flush(t.Context()))
	out := rows(t, l, threadapi.TimelineInput{})
	var kinds, states []string
	for _, r := range out.Rows {
		kinds, states = append(kinds, r.Kind), append(states, r.Status)
	}
	is.Equal(kinds, []string{"user", "message", "command", "todo", "interaction"})
	is.Equal(states, []string{"completed", "open", "open", "open", "open"})
	is.True(strings.Contains(string(out.Rows[1].Data), `"text":"so far"`))
	is.True(strings.Contains(string(out.Rows[2].Data), `"output":"one\n"`))
	is.True(strings.Contains(string(out.Rows[3].Data), `[1]`))
	is.Equal(out.LastSeq, int64(10))
	is.NoErr(w.Append(t.Context(), []timeline.Event{
		completed("u1", "m", "message", "the whole"),
		event("item.completed", "u1", "c", object{"status": "interrupted", "partial": true, "item": object{"kind": "command", "command": "ls", "output": nil}, "presentation": object{"label": "x", "icon": "y"}}),
		event(threadapi.EventInteractionResolved, "u1", "", threadapi.InteractionResolved{InteractionID: "x", Resolution: json.RawMessage(`{"kind":"interrupted"}`)}),
		event("turn.completed", "u1", "", object{"status": "failed", "error": object{"message": "no"}}),
	}))
	is.NoErr(w.Close(t.Context()))
	out = rows(t, l, threadapi.TimelineInput{})
	is.True(strings.Contains(string(out.Rows[1].Data), `"text":"the whole"`))
	is.Equal(out.Rows[2].Status, "interrupted")
	is.True(out.Rows[2].Partial && strings.Contains(string(out.Rows[2].Data), `"output":"one\n"`)) // what was folded stays
	is.Equal(out.Rows[4].Status, "interrupted")
	is.Equal(out.Rows[5].Kind, "turn")
	t.Run("pages", func(t *testing.T) {
		last := rows(t, l, threadapi.TimelineInput{Limit: 2})
		is.Equal(len(last.Rows), 2)
		is.True(last.Earlier && !last.Later)
		before := rows(t, l, threadapi.TimelineInput{Limit: 2, Before: last.Rows[0].Seq})
		is.Equal(before.Rows[1].Kind, "todo")
		is.True(before.Earlier)
		after := rows(t, l, threadapi.TimelineInput{Limit: 2, After: before.Rows[1].Seq})
		is.Equal(after.Rows[0].ID, last.Rows[0].ID)
		is.Equal(len(rows(t, l, threadapi.TimelineInput{Turn: "none"}).Rows), 0)
	})
}

// failing is a store that fails to write as long as it is told to.
type failing struct {
	store.Store
	fails atomic.Bool
}

func (f *failing) Update(ctx context.Context, fn func(store.Tx) error) error {
	if f.fails.Load() {
		return &store.FullError{Path: "x", Err: errors.New("full")}
	}
	return f.Store.Update(ctx, fn)
}

func TestStoreFails(t *testing.T) {
	is := is.New(t)
	s := &failing{Store: store.Memory()}
	l, w := open(t, s)
	is.NoErr(w.Append(t.Context(), []timeline.Event{text("", "i", "a")}))
	is.NoErr(w.Flush(t.Context()))
	t.Run("for a moment", func(t *testing.T) {
		s.fails.Store(true)
		is.NoErr(w.Append(t.Context(), []timeline.Event{text("", "i", "b")}))
		time.AfterFunc(50*time.Millisecond, func() { s.fails.Store(false) })
		is.NoErr(w.Flush(t.Context()))
		is.Equal(len(read(t, l, 0)), 2)
	})
	t.Run("for good", func(t *testing.T) {
		s.fails.Store(true)
		is.NoErr(w.Append(t.Context(), []timeline.Event{text("", "i", "lost")}))
		<-w.Failed()
		var full *store.FullError
		is.True(errors.As(w.Flush(t.Context()), &full))
		is.True(errors.As(w.Append(t.Context(), []timeline.Event{text("", "i", "x")}), &full))
		_ = w.Close(t.Context())
		s.fails.Store(false)
		w, err := l.Writer(t.Context(), thread)
		is.NoErr(err)
		is.Equal(w.LastSeq(), int64(2)) // numbers go on behind what is stored
		is.NoErr(w.Append(t.Context(), []timeline.Event{text("", "i", "c")}))
		is.NoErr(w.Close(t.Context()))
		is.Equal(len(read(t, l, 0)), 3)
	})
}

func TestBackpressure(t *testing.T) {
	is := is.New(t)
	s := &failing{Store: store.Memory()}
	s.fails.Store(true)
	_, w := open(t, s)
	appended := 0
	var err error
	for err == nil && appended < 1_000_000 { // blocks, and ends with the failure
		err = w.Append(t.Context(), []timeline.Event{text("", "i", strings.Repeat("x", 1000))})
		appended++
	}
	is.True(err != nil)
	is.True(appended < 10_000)
}

func BenchmarkAppend(b *testing.B) {
	payload := object{"stream": "text", "text": "some words of text "}
	b.Run("baseline=records", func(b *testing.B) {
		s, err := sqlitestore.Open(b.Context(), b.TempDir(), sqlitestore.Options{})
		is.New(b).NoErr(err)
		defer s.Close()
		b.ReportAllocs()
		value := make([]byte, 220)
		for i := 0; b.Loop(); i++ {
			if i%100 == 0 {
				_ = s.Update(b.Context(), func(tx store.Tx) error {
					for j := range 100 {
						_ = tx.Put("events", fmt.Sprintf("%020d", i+j), value)
					}
					return nil
				})
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
	for _, size := range []int{1, 16} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			s, err := sqlitestore.Open(b.Context(), b.TempDir(), sqlitestore.Options{})
			is.New(b).NoErr(err)
			defer s.Close()
			l := timeline.New(s, timeline.Options{})
			w, err := l.Writer(b.Context(), thread)
			is.New(b).NoErr(err)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%size == 0 {
					events := make([]timeline.Event, size)
					for j := range events {
						events[j] = event("item.text", "u", "i", payload)
					}
					_ = w.Append(b.Context(), events)
				}
			}
			_ = w.Close(b.Context())
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func BenchmarkRows(b *testing.B) {
	s, err := sqlitestore.Open(b.Context(), b.TempDir(), sqlitestore.Options{})
	is.New(b).NoErr(err)
	defer s.Close()
	l := timeline.New(s, timeline.Options{})
	w, err := l.Writer(b.Context(), thread)
	is.New(b).NoErr(err)
	for i := range 5000 { // 100,000 events
		item := fmt.Sprint("i", i)
		events := []timeline.Event{started("u", item, "message")}
		for range 18 {
			events = append(events, text("u", item, "some words "))
		}
		_ = w.Append(b.Context(), append(events, completed("u", item, "message", "all the words")))
	}
	_ = w.Close(b.Context())
	for _, in := range []threadapi.TimelineInput{{Thread: thread, Limit: 100}, {Thread: thread, Limit: 100, Before: 50_000}} {
		b.Run(fmt.Sprintf("before=%d", in.Before), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if out, err := l.Rows(b.Context(), in); err != nil || len(out.Rows) != 100 {
					b.Fatal(err, len(out.Rows))
				}
			}
		})
	}
	b.Run("read=100000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for _, err := range l.Read(b.Context(), thread, 0, false) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != 100_000 {
				b.Fatal(n)
			}
		}
	})
}
