package timeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

// held is a store whose Updates wait while it is held.
type held struct {
	store.Store
	gate    sync.RWMutex
	updates atomic.Int64
}

func (h *held) Update(ctx context.Context, fn func(store.Tx) error) error {
	h.updates.Add(1)
	h.gate.RLock()
	defer h.gate.RUnlock()
	return h.Store.Update(ctx, fn)
}

// TestStoredBeforeSeen proves that nobody sees an event, or what it does to a row, before it is stored.
func TestStoredBeforeSeen(t *testing.T) {
	is := is.New(t)
	s := &held{Store: store.Memory()}
	l, w := open(t, s)
	is.NoErr(w.Append(t.Context(), []timeline.Event{started("u", "i", "message")}))
	is.NoErr(w.Flush(t.Context()))
	s.gate.Lock()
	is.NoErr(w.Append(t.Context(), []timeline.Event{text("u", "i", "early")})) // does not wait
	is.Equal(w.LastSeq(), int64(2))
	last, err := l.LastSeq(t.Context(), thread)
	is.NoErr(err)
	is.Equal(last, int64(1))
	is.Equal(len(read(t, l, 0)), 1)
	out := rows(t, l, threadapi.TimelineInput{})
	is.Equal(out.LastSeq, int64(1))
	is.True(!strings.Contains(string(out.Rows[0].Data), "early"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	is.True(errors.Is(w.Flush(ctx), context.DeadlineExceeded))
	s.gate.Unlock()
	is.NoErr(w.Flush(t.Context()))
	is.Equal(len(read(t, l, 0)), 2)
	is.True(strings.Contains(string(rows(t, l, threadapi.TimelineInput{}).Rows[0].Data), "early"))
}

// TestGroups proves that what is appended during a commit shares the next one.
func TestGroups(t *testing.T) {
	is := is.New(t)
	s := &held{Store: store.Memory()}
	_, w := open(t, s)
	s.gate.Lock()
	for i := range 500 {
		is.NoErr(w.Append(t.Context(), []timeline.Event{text("u", "i", fmt.Sprint(i))}))
	}
	s.gate.Unlock()
	is.NoErr(w.Flush(t.Context()))
	is.True(s.updates.Load() <= 2)
}

// TestRecords proves that the records of a commit come with its events or not at all, and that the last for a key counts.
func TestRecords(t *testing.T) {
	is := is.New(t)
	s := &held{Store: store.Memory()}
	_, w := open(t, s)
	s.gate.Lock()
	is.NoErr(w.Append(t.Context(), nil, timeline.Record{Bucket: "b", Key: "first", Value: []byte("x")})) // a commit of its own
	for i := range 3 {
		is.NoErr(w.Append(t.Context(), nil, timeline.Record{Bucket: "b", Key: "k", Value: []byte(fmt.Sprint(i))}, timeline.Record{Bucket: "b", Key: "gone", Value: []byte{}}))
	}
	is.NoErr(w.Append(t.Context(), nil, timeline.Record{Bucket: "b", Key: "gone"}))
	s.gate.Unlock()
	is.NoErr(w.Flush(t.Context()))
	is.NoErr(s.View(t.Context(), func(tx store.Tx) error {
		v, err := tx.Get("b", "k")
		is.Equal(string(v), "2")
		_, gone := tx.Get("b", "gone")
		is.True(errors.Is(gone, store.ErrNotFound))
		return err
	}))
	is.Equal(w.LastSeq(), int64(0))
}

// TestRefused proves that what cannot be stored is refused whole, and the Writer goes on.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct {
		event   timeline.Event
		records []timeline.Record
	}{
		"a payload that does not encode": {event: timeline.Event{Type: "x", Payload: func() {}}},
		"a payload that is no object":    {event: timeline.Event{Type: "x", Payload: []int{}}},
		"a payload without an end":       {event: timeline.Event{Type: "x", Payload: object{"text": strings.Repeat("x", timeline.MaxPayload)}}},
		"no type":                        {event: timeline.Event{}},
		"an id that is no key":           {event: timeline.Event{Type: "x", TurnID: strings.Repeat("u", 600)}},
		"a bucket that is none":          {event: timeline.Event{Type: "x"}, records: []timeline.Record{{Bucket: "a b", Key: "k", Value: []byte{}}}},
		"a key that is none":             {event: timeline.Event{Type: "x"}, records: []timeline.Record{{Bucket: "b", Value: []byte{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			l, w := open(t, store.Memory())
			is.True(w.Append(t.Context(), []timeline.Event{{Type: "good"}, test.event}, test.records...) != nil)
			is.NoErr(w.Append(t.Context(), []timeline.Event{{Type: "next"}}))
			is.NoErr(w.Flush(t.Context()))
			events := read(t, l, 0)
			is.Equal(len(events), 1)
			is.Equal(events[0].Type, "next")
			is.Equal(string(events[0].Payload), "{}")
			is.True(!events[0].At.IsZero()) // now
		})
	}
	t.Run("the id of a thread", func(t *testing.T) {
		_, err := timeline.New(store.Memory(), timeline.Options{}).Writer(t.Context(), "a b")
		is.New(t).True(err != nil)
	})
}

// TestNextWriter proves that the next Writer waits for one that is being closed, and for no other.
func TestNextWriter(t *testing.T) {
	is := is.New(t)
	s := &held{Store: store.Memory()}
	l, w := open(t, s)
	s.gate.Lock()
	is.NoErr(w.Append(t.Context(), []timeline.Event{text("u", "i", "x")}))
	_, err := l.Writer(t.Context(), thread)
	is.True(errors.Is(err, timeline.ErrInUse))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	is.True(errors.Is(w.Close(ctx), context.Canceled)) // its commit goes on
	next := make(chan *timeline.Writer)
	go func() {
		w, err := l.Writer(t.Context(), thread)
		if err != nil {
			t.Error(err)
		}
		next <- w
	}()
	select {
	case <-next:
		t.Fatal("two writers at once")
	case <-time.After(20 * time.Millisecond):
	}
	s.gate.Unlock()
	is.Equal((<-next).LastSeq(), int64(1))
	is.True(errors.Is(w.Append(t.Context(), nil), timeline.ErrClosed))
}

// TestClose proves that closing a Log stores what its Writers have and ends its followers with it.
func TestClose(t *testing.T) {
	is := is.New(t)
	s := store.Memory()
	l, w := open(t, s)
	got := make(chan int64, 10)
	go func() {
		defer close(got)
		for e, err := range l.Read(t.Context(), thread, 0, true) {
			if err != nil {
				t.Error(err)
			}
			got <- e.Seq
		}
	}()
	is.NoErr(w.Append(t.Context(), []timeline.Event{text("u", "i", "a")}))
	<-got
	is.NoErr(w.Append(t.Context(), []timeline.Event{text("u", "i", "b")}))
	is.NoErr(l.Close(t.Context()))
	n := 1
	for range got {
		n++
	}
	is.Equal(n, 2)
	is.Equal(len(stored(t, s, 0)), 2)
	_, err := l.Writer(t.Context(), thread)
	is.True(errors.Is(err, timeline.ErrClosed))
	for _, err := range l.Read(t.Context(), thread, 0, true) {
		is.True(errors.Is(err, timeline.ErrClosed))
	}
	is.NoErr(l.Close(t.Context()))
}

// TestDelete proves that nothing of a thread stays, that its Writer fails and its followers end.
func TestDelete(t *testing.T) {
	is := is.New(t)
	s := store.Memory()
	l, w := open(t, s)
	for i := range 1500 {
		is.NoErr(w.Append(t.Context(), []timeline.Event{started("u", fmt.Sprint(i), "message")}))
	}
	is.NoErr(w.Flush(t.Context()))
	ended := make(chan struct{})
	begun := make(chan struct{})
	go func() {
		defer close(ended)
		first := true
		for range l.Read(t.Context(), thread, 0, true) {
			if first {
				close(begun)
				first = false
			}
		}
	}()
	<-begun
	is.NoErr(l.Delete(t.Context(), thread))
	<-ended
	<-w.Failed()
	is.True(errors.Is(w.Err(), timeline.ErrDeleted))
	is.True(errors.Is(w.Append(t.Context(), nil), timeline.ErrDeleted))
	is.NoErr(s.View(t.Context(), func(tx store.Tx) error {
		for _, bucket := range []string{"events/" + thread, "rows/" + thread, "rows-open/" + thread, "rows-turn/" + thread, "rows-folded"} {
			for e := range tx.Range(bucket, store.Range{}) {
				t.Errorf("%s still has %q", bucket, e.Key)
			}
		}
		return nil
	}))
	is.NoErr(l.Delete(t.Context(), thread)) // nothing is left to do
	is.True(errors.Is(w.Close(t.Context()), timeline.ErrDeleted))
}

// TestPages has the pages of rows, of a thread and of a turn.
func TestPages(t *testing.T) {
	is := is.New(t)
	l, w := open(t, store.Memory())
	for i := range 20 { // rows 1 to 20, of turns a and b
		e := event("provider.warning", string(rune('a'+i%2)), "", object{"summary": fmt.Sprint(i)})
		is.NoErr(w.Append(t.Context(), []timeline.Event{e}))
	}
	is.NoErr(w.Flush(t.Context()))
	for name, test := range map[string]struct {
		in             threadapi.TimelineInput
		first, last    int64 // 0: no rows
		n              int
		earlier, later bool
	}{
		"all":                  {threadapi.TimelineInput{}, 1, 20, 20, false, false},
		"the newest":           {threadapi.TimelineInput{Limit: 3}, 18, 20, 3, true, false},
		"before":               {threadapi.TimelineInput{Limit: 3, Before: 18}, 15, 17, 3, true, true},
		"before the first":     {threadapi.TimelineInput{Limit: 3, Before: 1}, 0, 0, 0, false, true},
		"the first":            {threadapi.TimelineInput{Limit: 3, Before: 4}, 1, 3, 3, false, true},
		"after":                {threadapi.TimelineInput{Limit: 3, After: 4}, 5, 7, 3, true, true},
		"after the last":       {threadapi.TimelineInput{Limit: 3, After: 20}, 0, 0, 0, true, false},
		"up to the last":       {threadapi.TimelineInput{Limit: 3, After: 17}, 18, 20, 3, true, false},
		"between":              {threadapi.TimelineInput{After: 4, Before: 8}, 5, 7, 3, true, true},
		"of a turn":            {threadapi.TimelineInput{Turn: "a"}, 1, 19, 10, false, false},
		"the newest of a turn": {threadapi.TimelineInput{Turn: "a", Limit: 2}, 17, 19, 2, true, false},
		"of a turn before":     {threadapi.TimelineInput{Turn: "b", Limit: 2, Before: 5}, 2, 4, 2, false, true},
		"of a turn after":      {threadapi.TimelineInput{Turn: "b", Limit: 2, After: 16}, 18, 20, 2, true, false},
		"of no turn":           {threadapi.TimelineInput{Turn: "c"}, 0, 0, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			out := rows(t, l, test.in)
			is.Equal(out.LastSeq, int64(20))
			is.Equal(len(out.Rows), test.n)
			if test.n > 0 {
				is.Equal([]int64{out.Rows[0].Seq, out.Rows[test.n-1].Seq}, []int64{test.first, test.last})
			}
			is.Equal([]bool{out.Earlier, out.Later}, []bool{test.earlier, test.later})
		})
	}
	t.Run("large rows", func(t *testing.T) {
		is := is.New(t)
		l, w := open(t, store.Memory())
		for i := range 6 {
			is.NoErr(w.Append(t.Context(), []timeline.Event{completed("u", fmt.Sprint(i), "message", strings.Repeat("x", 1<<20))}))
		}
		is.NoErr(w.Flush(t.Context()))
		out := rows(t, l, threadapi.TimelineInput{})
		is.Equal(len(out.Rows), 3) // as many as one answer may have
		is.True(out.Earlier)
		is.Equal(len(allRows(t, l, 100)), 6)
	})
}

// TestOpenItems proves that the next life finds what was open, as it was sent last, children first.
func TestOpenItems(t *testing.T) {
	is := is.New(t)
	s := store.Memory()
	_, w := open(t, s)
	child := started("u", "child", "command")
	child.ParentItemID = "task"
	is.NoErr(w.Append(t.Context(), []timeline.Event{
		started("u", "task", "task"), child, started("u", "done", "message"), completed("u", "done", "message", "x"),
		event("item.output", "u", "child", object{"mode": "append", "text": "out"}),
		event("thread.todo", "u", "", object{}), event(threadapi.EventInteractionOpened, "u", "child", threadapi.InteractionOpened{InteractionID: "q"}),
	}))
	is.NoErr(w.Flush(t.Context()))
	l := timeline.New(s, timeline.Options{}) // as after a crash
	next, err := l.Writer(t.Context(), thread)
	is.NoErr(err)
	items := next.OpenItems()
	is.Equal(len(items), 2)
	is.Equal([]string{items[0].ItemID, items[0].ParentItemID, items[0].TurnID, items[1].ItemID}, []string{"child", "task", "u", "task"})
	var item struct{ Output *string }
	is.NoErr(json.Unmarshal(items[0].Item, &item))
	is.True(item.Output == nil) // the payload; readers keep what they folded
	is.True(strings.Contains(string(items[0].Presentation), "Working"))
	is.NoErr(next.Append(t.Context(), []timeline.Event{event("item.completed", "u", "child", object{"status": "interrupted", "item": items[0].Item, "presentation": items[0].Presentation, "partial": true})}))
	is.NoErr(next.Close(t.Context()))
	rows := allRows(t, l, 10)
	is.True(strings.Contains(string(rows[1].Data), `"output":"out"`))
	is.Equal(rows[1].ParentID, "task")
}

// TestLongThread has 100,000 events: memory does not follow the length of a thread, nor does what is read to open it or to
// show its end.
func TestLongThread(t *testing.T) {
	is := is.New(t)
	s := &reading{Store: openDir(t, t.TempDir())}
	l, w := open(t, s)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	word := strings.Repeat("x", 200)
	is.NoErr(w.Append(t.Context(), []timeline.Event{started("", "background", "task")})) // is never completed
	for range 5000 {
		item := fmt.Sprint(w.LastSeq())
		events := []timeline.Event{started("u", item, "message")}
		for range 18 {
			events = append(events, text("u", item, word))
		}
		is.NoErr(w.Append(t.Context(), append(events, completed("u", item, "message", "short"))))
	}
	is.NoErr(w.Flush(t.Context()))
	runtime.GC()
	runtime.ReadMemStats(&after)
	is.True(int64(after.HeapAlloc)-int64(before.HeapAlloc) < 16<<20) // of 100,000 events with 20 MB of text

	s.entries.Store(0)
	out := rows(t, l, threadapi.TimelineInput{Limit: 100})
	is.Equal(len(out.Rows), 100)
	is.Equal(out.LastSeq, int64(100_001))
	is.True(s.entries.Load() < 300)
	first := rows(t, l, threadapi.TimelineInput{Limit: 1, Before: 2}) // open from the first event on
	is.Equal(first.Rows[0].ID, "background")
	is.True(s.entries.Load() < 1200)

	next := int64(50_001)
	for e, err := range l.Read(t.Context(), thread, 50_000, false) { // from the middle
		is.NoErr(err)
		is.Equal(e.Seq, next)
		next++
	}
	is.Equal(next, int64(100_002))
	is.NoErr(w.Close(t.Context()))
	s.entries.Store(0)
	w, err := l.Writer(t.Context(), thread)
	is.NoErr(err)
	is.Equal(w.LastSeq(), int64(100_001))
	is.Equal(len(w.OpenItems()), 1)
	is.True(s.entries.Load() < 5000)
}

// reading counts the entries that Views read.
type reading struct {
	store.Store
	entries atomic.Int64
}

func (r *reading) View(ctx context.Context, fn func(store.Tx) error) error {
	return r.Store.View(ctx, func(tx store.Tx) error { return fn(readingTx{tx, r}) })
}

type readingTx struct {
	store.Tx
	r *reading
}

func (t readingTx) Range(bucket string, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range t.Tx.Range(bucket, r) {
			t.r.entries.Add(1)
			if !yield(e, err) {
				return
			}
		}
	}
}

// BenchmarkFollow measures how long an event takes from Append to a follower, through a commit on disk.
func BenchmarkFollow(b *testing.B) {
	l := timeline.New(openDir(b, b.TempDir()), timeline.Options{})
	w, err := l.Writer(b.Context(), thread)
	is.New(b).NoErr(err)
	ctx, cancel := context.WithCancel(b.Context())
	got, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		for range l.Read(ctx, thread, 0, true) {
			got <- struct{}{}
		}
	}()
	events := []timeline.Event{text("u", "i", "some words ")}
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Append(b.Context(), events); err != nil {
			b.Fatal(err)
		}
		<-got
	}
	cancel()
	<-done
	_ = l.Close(context.Background())
}

// TestCatchUp proves that a row that is open shows every event, around the seqs with which open rows are stored anew.
func TestCatchUp(t *testing.T) {
	is := is.New(t)
	s := store.Memory()
	_, w := open(t, s)
	is.NoErr(w.Append(t.Context(), []timeline.Event{started("u", "i", "message"), started("u", "j", "message")}))
	want := ""
	for i := range 2100 {
		letter := string(rune('a' + i%26))
		want += letter
		is.NoErr(w.Append(t.Context(), []timeline.Event{text("u", "i", letter)}))
		if near := (i + 2) % 1024; near > 5 && near < 1019 {
			continue
		}
		is.NoErr(w.Flush(t.Context()))
		rows := allRows(t, timeline.New(s, timeline.Options{}), 10)
		is.True(strings.Contains(string(rows[0].Data), `"`+want+`"`))
		is.Equal([]int64{rows[0].LastSeq, rows[1].LastSeq}, []int64{int64(i + 3), 2})
	}
}
