package timeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline/fold"
)

// script makes up what an agent does, turn after turn, as an assembler would tell it.
type script struct {
	random *rand.Rand
	turn   int
	items  []string // open ones, as "id kind"
	ended  []string // of this turn
	serial int
}

func (s *script) turnID() string { return fmt.Sprint("u", s.turn) }

func (s *script) next() timeline.Event {
	n := s.random.IntN(100)
	if s.turn == 0 || n < 30 && len(s.items) == 0 {
		if s.turn > 0 && s.ended != nil {
			s.ended = nil
			status := []string{"completed", "failed", "interrupted"}[s.random.IntN(3)]
			return event("turn.completed", s.turnID(), "", object{"status": status, "error": nil})
		}
		s.turn++
		s.ended = []string{}
		return turn("turn.started", s.turnID())
	}
	if s.ended == nil {
		s.turn++
		s.ended = []string{}
		return turn("turn.started", s.turnID())
	}
	if len(s.items) == 0 || n < 8 && len(s.items) < 4 {
		if len(s.ended) > 0 && n%2 == 0 { // anew
			again := s.ended[0]
			s.ended = s.ended[1:]
			s.items = append(s.items, again)
			id, kind, _ := strings.Cut(again, " ")
			return started(s.turnID(), id, kind)
		}
		s.serial++
		item := fmt.Sprintf("i%d %s", s.serial, []string{"message", "reasoning", "command", "tool", "acme/chart"}[s.random.IntN(5)])
		s.items = append(s.items, item)
		id, kind, _ := strings.Cut(item, " ")
		return started(s.turnID(), id, kind)
	}
	at := s.random.IntN(len(s.items))
	id, kind, _ := strings.Cut(s.items[at], " ")
	words := strings.Repeat("wörd ", s.random.IntN(6))
	switch {
	case n < 16:
		s.ended = append(s.ended, s.items[at])
		s.items = slices.Delete(s.items, at, at+1)
		return event("item.completed", s.turnID(), id, object{"status": "completed", "partial": n < 11,
			"item": object{"kind": kind, "text": "the end", "output": nil, "providerItemId": nil}, "presentation": object{"label": "Done", "icon": "check"}})
	case n < 18:
		return event("item.progress", s.turnID(), id, object{"message": words, "item": nil, "presentation": nil})
	case n < 19:
		return event("item.progress", s.turnID(), id, object{"message": nil, "item": object{"kind": kind, "text": words, "output": words}, "presentation": nil})
	case n < 21:
		return event("thread.todo", s.turnID(), "", object{"steps": []any{n}, "explanation": nil})
	case n < 23:
		return event("thread.usage", []string{"", s.turnID()}[n%2], "", object{"total": n})
	case n < 25:
		return event("provider.warning", "", "", object{"summary": words})
	case kind == "command" || kind == "tool":
		mode := "append"
		if n > 90 {
			mode = "replace"
		}
		return event("item.output", s.turnID(), id, object{"mode": mode, "text": words})
	default:
		stream := "text"
		if n > 80 {
			stream = "summary"
		}
		return event("item.text", s.turnID(), id, object{"stream": stream, "text": words})
	}
}

// foldAll folds events from the first on, as a client does.
func foldAll(events []threadapi.Event) []threadapi.Row {
	f := fold.New()
	all := map[int64]*fold.Row{}
	for i := range events {
		f.Apply(&events[i])
		for _, r := range f.TakeDue() {
			all[r.Seq] = r
		}
	}
	out := []threadapi.Row{}
	for _, seq := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[seq].Public())
	}
	return out
}

// client is a reader that keeps events: of a run that it gets again it takes back what it had.
type client struct{ events []threadapi.Event }

func (c *client) take(e threadapi.Event) {
	for len(e.Covers) == 2 && len(c.events) > 0 && c.events[len(c.events)-1].Seq >= e.Covers[0] {
		c.events = c.events[:len(c.events)-1]
	}
	c.events = append(c.events, e)
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", " ")
	is.New(t).NoErr(err)
	return string(raw)
}

// stored reads what is in the store: a Log that wrote events has the last ones in memory, as they were.
func stored(t *testing.T, s store.Store, after int64) []threadapi.Event {
	t.Helper()
	return read(t, timeline.New(s, timeline.Options{}), after)
}

func allRows(t *testing.T, l *timeline.Log, limit int) []threadapi.Row {
	t.Helper()
	return rowsOf(t, l, thread, limit)
}

// rowsOf returns all rows of a thread, page by page from the end.
func rowsOf(t *testing.T, l *timeline.Log, id string, limit int) []threadapi.Row {
	t.Helper()
	is := is.New(t)
	all := []threadapi.Row{}
	in := threadapi.TimelineInput{Thread: id, Limit: limit}
	for {
		out, err := l.Rows(t.Context(), in)
		is.NoErr(err)
		all = append(slices.Clone(out.Rows), all...)
		if !out.Earlier {
			return all
		}
		in.Before = out.Rows[0].Seq
	}
}

// gapless fails unless events stand for all seqs behind after, each once.
func gapless(t *testing.T, events []threadapi.Event, after, last int64) {
	t.Helper()
	next := after + 1
	for i, e := range events {
		first := e.Seq
		if len(e.Covers) == 2 {
			first = e.Covers[0]
			if e.Covers[1] != e.Seq {
				t.Fatalf("covers %v at seq %d", e.Covers, e.Seq)
			}
		}
		if first != next && !(i == 0 && first <= next && e.Seq >= next) {
			t.Fatalf("seq %d comes where %d should", first, next)
		}
		next = e.Seq + 1
	}
	if next != last+1 {
		t.Fatalf("ends with seq %d and not %d", next-1, last)
	}
}

// TestResume proves that a client ends up with the same rows wherever it was cut off, whatever was compacted meanwhile, and
// that they are those of the store, whether the rows are open or not, also in another life of the program.
func TestResume(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			is := is.New(t)
			s := store.Memory()
			l, w := open(t, s)
			sc := &script{random: rand.New(rand.NewPCG(seed, 4))}
			size := 300 + 2000*int(seed%2)
			var batch []timeline.Event
			for n := 0; n < size; n++ {
				batch = append(batch, sc.next())
				if sc.random.IntN(8) == 0 || n == size-1 {
					is.NoErr(w.Append(t.Context(), batch))
					batch = nil
				}
				if sc.random.IntN(50) == 0 {
					is.NoErr(w.Flush(t.Context()))
				}
			}
			is.NoErr(w.Flush(t.Context()))
			last := w.LastSeq()
			raw := read(t, l, 0)
			is.Equal(len(raw), size)
			gapless(t, raw, 0, last)
			want := encoded(t, foldAll(raw))
			is.Equal(encoded(t, allRows(t, l, 7)), want) // the rows of the store
			is.Equal(encoded(t, allRows(t, l, 500)), want)

			again := timeline.New(s, timeline.Options{}) // as after a crash: nobody closed the first
			is.Equal(encoded(t, allRows(t, again, 500)), want)

			for i := range sc.turn + 2 {
				is.NoErr(l.Compact(t.Context(), thread, fmt.Sprint("u", i)))
				if i == sc.turn/2 { // resumed in the middle of it
					is.Equal(encoded(t, foldAll(read(t, again, 0))), want)
				}
			}
			compacted := read(t, again, 0)
			is.True(len(compacted) < len(raw))
			gapless(t, compacted, 0, last)
			is.Equal(encoded(t, foldAll(compacted)), want)
			is.Equal(encoded(t, allRows(t, again, 9)), want)
			step := int64(1)
			if size > 1000 {
				step = 37
			}
			for cursor := int64(0); cursor <= last; cursor += step {
				c := &client{}
				for _, e := range raw[:cursor] { // what it got before
					c.take(e)
				}
				rest := read(t, again, cursor)
				gapless(t, rest, cursor, last)
				for _, e := range rest {
					c.take(e)
				}
				gapless(t, c.events, 0, last)
				if cursor%7 == 0 {
					is.Equal(encoded(t, foldAll(c.events)), want)
				}
			}

			// The next life goes on with the same.
			next, err := again.Writer(t.Context(), thread)
			is.NoErr(err)
			for range 200 {
				is.NoErr(next.Append(t.Context(), []timeline.Event{sc.next()}))
			}
			is.NoErr(next.Close(t.Context()))
			is.Equal(encoded(t, allRows(t, again, 500)), encoded(t, foldAll(read(t, again, 0))))
			is.NoErr(again.Close(t.Context()))
		})
	}
}

// TestCompactionBesideReaders lets followers of all speeds read while everything is compacted as soon as it is stored: none
// gets a gap, and none anything twice.
func TestCompactionBesideReaders(t *testing.T) {
	is := is.New(t)
	l, w := open(t, store.Memory())
	const n = 3000
	is.NoErr(w.Append(t.Context(), []timeline.Event{turn("turn.started", "u"), completed("u", "i", "message", "")}))
	var followers sync.WaitGroup
	for speed := range 5 {
		followers.Go(func() {
			next := int64(1)
			for e, err := range l.Read(t.Context(), thread, 0, true) {
				if err != nil {
					t.Error(err)
					return
				}
				first := e.Seq
				if len(e.Covers) == 2 {
					first = e.Covers[0]
				}
				if first != next {
					t.Errorf("follower %d got %d where %d comes", speed, first, next)
					return
				}
				if next = e.Seq + 1; next > n {
					return
				}
				for range speed * 300 { // it has other things to do
					_ = fmt.Sprint(e.Seq)
				}
			}
		})
	}
	stop := make(chan struct{})
	var compactor sync.WaitGroup
	compactor.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := l.Compact(t.Context(), thread, "u"); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range n - 2 {
		is.NoErr(w.Append(t.Context(), []timeline.Event{text("u", "i", "x")}))
	}
	followers.Wait()
	close(stop)
	compactor.Wait()
}

// TestOpenStaysUncompacted proves that a run is left alone while its item is open: what its row shows ends inside it.
func TestOpenStaysUncompacted(t *testing.T) {
	is := is.New(t)
	s := store.Memory()
	l, w := open(t, s)
	is.NoErr(w.Append(t.Context(), []timeline.Event{turn("turn.started", "u"), started("u", "i", "message"), text("u", "i", "a"), text("u", "i", "b"), turn("turn.completed", "u")}))
	is.NoErr(w.Flush(t.Context()))
	is.NoErr(l.Compact(t.Context(), thread, "u"))
	is.Equal(len(stored(t, s, 0)), 5)
	is.NoErr(w.Append(t.Context(), []timeline.Event{completed("u", "i", "message", "ab")}))
	is.NoErr(w.Flush(t.Context()))
	is.NoErr(l.Compact(t.Context(), thread, "u"))
	is.Equal(len(stored(t, s, 0)), 5) // 6, two of them one
}

// TestCompactedRuns proves what a run is: neighbours of one item and stream, up to a size, and nothing across them.
func TestCompactedRuns(t *testing.T) {
	out := func(item, mode, s string) timeline.Event {
		return event("item.output", "u", item, object{"mode": mode, "text": s})
	}
	summary := event("item.text", "u", "i", object{"stream": "summary", "text": "s"})
	for name, test := range map[string]struct {
		events []timeline.Event
		want   []string // the texts of the events that are left
	}{
		"neighbours":                 {[]timeline.Event{text("u", "i", "a"), text("u", "i", "b"), text("u", "i", "c")}, []string{"abc"}},
		"not of two items":           {[]timeline.Event{text("u", "i", "a"), text("u", "j", "b"), text("u", "i", "c")}, []string{"a", "b", "c"}},
		"not of two streams":         {[]timeline.Event{text("u", "i", "a"), summary, summary, text("u", "i", "c")}, []string{"a", "ss", "c"}},
		"not across progress":        {[]timeline.Event{text("u", "i", "a"), event("item.progress", "u", "i", object{"message": "m"}), text("u", "i", "c")}, []string{"a", "", "c"}},
		"appended output":            {[]timeline.Event{out("i", "append", "a"), out("i", "append", "b")}, []string{"ab"}},
		"replaced output":            {[]timeline.Event{out("i", "append", "a"), out("i", "replace", "b"), out("i", "append", "c"), out("i", "replace", "d"), out("i", "append", "e")}, []string{"de"}},
		"not of another turn":        {[]timeline.Event{text("v", "i", "a"), text("v", "i", "b")}, []string{"a", "b"}},
		"not more than what is sent": {[]timeline.Event{text("u", "i", strings.Repeat("a", 40<<10)), text("u", "i", strings.Repeat("b", 40<<10))}, []string{strings.Repeat("a", 40<<10), strings.Repeat("b", 40<<10)}},
		"nothing unknown":            {[]timeline.Event{text("u", "i", "a"), event("item.text", "u", "i", object{"stream": "text", "text": "b", "more": 1})}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := store.Memory()
			l, w := open(t, s)
			is.NoErr(w.Append(t.Context(), append([]timeline.Event{completed("u", "x", "message", "")}, test.events...)))
			is.NoErr(w.Flush(t.Context()))
			is.NoErr(l.Compact(t.Context(), thread, "u"))
			got := []string{}
			for _, e := range stored(t, s, 1) {
				var p struct{ Text string }
				is.NoErr(json.Unmarshal(e.Payload, &p))
				got = append(got, p.Text)
			}
			is.Equal(got, test.want)
		})
	}
}

// TestCompactIsBounded proves that one transaction of a compaction stays small, and that it may be broken off anywhere.
func TestCompactIsBounded(t *testing.T) {
	is := is.New(t)
	s := &counting{Store: store.Memory(), left: -1}
	l, w := open(t, s)
	is.NoErr(w.Append(t.Context(), []timeline.Event{turn("turn.started", "u"), completed("u", "i", "message", "")}))
	for range 200 {
		var events []timeline.Event
		for range 100 {
			events = append(events, text("u", "i", "some words "))
		}
		is.NoErr(w.Append(t.Context(), events))
		is.NoErr(w.Flush(t.Context()))
	}
	is.NoErr(w.Append(t.Context(), []timeline.Event{turn("turn.completed", "u")}))
	is.NoErr(w.Close(t.Context()))
	want := encoded(t, foldAll(stored(t, s, 0)))
	for n := 0; ; n++ { // one transaction, then it is broken off
		is.True(n < 1000)
		s.writes, s.left = 0, 1
		err := l.Compact(t.Context(), thread, "u")
		if err == nil {
			break
		}
		is.Equal(encoded(t, foldAll(stored(t, s, 0))), want)
		is.True(s.writes < 600)
	}
	s.left = -1
	is.NoErr(l.Compact(t.Context(), thread, "u"))
	events := stored(t, s, 0)
	gapless(t, events, 0, 20_003)
	is.True(len(events) < 20)
	is.Equal(encoded(t, foldAll(events)), want)
}

// counting counts what is written, and fails when nothing is left.
type counting struct {
	store.Store
	writes int
	left   int // negative: for ever
}

func (c *counting) Update(ctx context.Context, fn func(store.Tx) error) error {
	if c.left == 0 {
		return context.DeadlineExceeded
	}
	c.left--
	return c.Store.Update(ctx, func(tx store.Tx) error { return fn(countingTx{tx, c}) })
}

type countingTx struct {
	store.Tx
	c *counting
}

func (t countingTx) Put(bucket, key string, value []byte) error {
	t.c.writes++
	return t.Tx.Put(bucket, key, value)
}

func (t countingTx) Delete(bucket, key string) error {
	t.c.writes++
	return t.Tx.Delete(bucket, key)
}

// TestClockGoesBack proves that times decide nothing.
func TestClockGoesBack(t *testing.T) {
	is := is.New(t)
	l, w := open(t, store.Memory())
	for i := range 50 {
		e := event("provider.warning", "", "", object{"summary": fmt.Sprint(i)})
		e.At = at.Add(-time.Duration(i*i) * time.Hour)
		is.NoErr(w.Append(t.Context(), []timeline.Event{e}))
	}
	is.NoErr(w.Flush(t.Context()))
	gapless(t, read(t, l, 0), 0, 50)
	for i, r := range allRows(t, l, 10) {
		is.True(strings.Contains(string(r.Data), fmt.Sprintf(`"%d"`, i)))
	}
}
