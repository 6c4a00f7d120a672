package timeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline/record"
)

// maxRun bounds the text of an event that stands for a run: it is read, sent and drawn as a whole.
const maxRun = 64 << 10

// Compact replaces, in the events of a turn that has ended, each run of neighbouring text or output of one item by one event,
// which has the number of the last and covers them all. Whoever reads from the first event on folds the same as before. It
// leaves alone what is open, works in bounded transactions, and may be broken off and repeated at any point. The turn "" is
// what belongs to no turn.
func (l *Log) Compact(ctx context.Context, threadID, turnID string) error {
	l.mu.Lock()
	f := l.attach(threadID)
	l.mu.Unlock()
	defer l.detach(f)
	at, err := l.turnBegin(ctx, threadID, turnID)
	for done := at < 0; err == nil && !done; {
		at, done, err = l.compactPage(ctx, f, turnID, at)
	}
	return err
}

// turnBegin returns the seq before the first row of a turn, -1 when it has none: then it has no text either.
func (l *Log) turnBegin(ctx context.Context, threadID, turnID string) (at int64, err error) {
	at = -1
	err = l.store.View(ctx, func(tx store.Tx) error {
		for e, err := range tx.Range(turnsBucket+threadID, store.Range{Prefix: turnID + "\x00", Limit: 1}) {
			if err != nil {
				return err
			}
			if at, err = seqOf(e.Key[len(turnID)+1:]); err != nil {
				return damaged(threadID, err)
			}
			at--
		}
		return nil
	})
	return at, err
}

// window is what one transaction of a compaction works on: neighbouring records, and the items that are open.
type window struct {
	keys   []string
	events []threadapi.Event
	open   map[string]bool
	full   bool // there may be records behind it
}

// compactPage compacts the records behind at, as far as one transaction goes, and returns where the next one goes on.
func (l *Log) compactPage(ctx context.Context, f *feed, turnID string, at int64) (next int64, done bool, err error) {
	f.gate.Lock()
	defer f.gate.Unlock()
	var w window
	err = l.store.View(ctx, func(tx store.Tx) (err error) {
		w, err = readWindow(tx, f.id, at)
		return err
	})
	if err != nil || len(w.keys) == 0 {
		return at, true, err
	}
	done = !w.full
	end := w.events[len(w.events)-1].Seq
	c := compaction{turn: turnID, open: w.open, places: f.places()}
	for i := range w.events {
		if e := &w.events[i]; turnID != "" && e.Type == string(assembler.TypeTurnCompleted) && e.Scope.TurnID == turnID {
			done = true
		}
		c.add(w.events[i])
	}
	out, tail := c.finish()
	// What may go on in the next window gets a record of its own there.
	if tail && !done && len(out) > 1 && len(w.keys) > 1 {
		end = out[len(out)-2].Seq
		if !c.changed {
			if end, err = seqOf(w.keys[len(w.keys)-2]); err != nil {
				return at, true, damaged(f.id, err)
			}
		}
	} else if tail && !done && c.changed {
		end = at // a run that fills the window, and may grow
	}
	if !c.changed {
		return end, done, nil
	}
	var puts []put
	kept := map[string]bool{}
	var raw []byte
	for i := range out {
		raw = record.Append(raw, out[i])
		if len(raw) >= maxRecord || i == len(out)-1 || tail && i == len(out)-2 {
			key := keyOf(out[i].Seq)
			kept[key] = true
			puts = append(puts, put{eventsBucket + f.id, key, raw})
			raw = nil
		}
	}
	for _, key := range w.keys {
		if !kept[key] {
			puts = append(puts, put{eventsBucket + f.id, key, nil})
		}
	}
	err = l.store.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.Get(eventsBucket+f.id, w.keys[0]); err != nil {
			if errors.Is(err, store.ErrNotFound) {
				return errGone
			}
			return err
		}
		return write(tx, puts)
	})
	if errors.Is(err, errGone) {
		return at, true, nil
	}
	return end, done, err
}

// errGone says that the thread was deleted while it was compacted.
var errGone = errors.New("timeline: the thread is gone")

func readWindow(tx store.Tx, threadID string, at int64) (w window, err error) {
	rows, err := openRows(tx, threadID)
	if err != nil {
		return w, err
	}
	w.open = make(map[string]bool, len(rows))
	for _, r := range rows {
		w.open[r.ItemID()] = true
	}
	size := 0
	for e, err := range tx.Range(eventsBucket+threadID, store.Range{After: keyOf(at), Limit: pageRecords}) {
		if err != nil {
			return w, err
		}
		if w.events, err = record.Decode(w.events, threadID, e.Value); err != nil {
			return w, damaged(threadID, err)
		}
		w.keys = append(w.keys, e.Key)
		if size += len(e.Value); size >= pageBytes {
			break
		}
	}
	w.full = len(w.keys) == pageRecords || size >= pageBytes
	return w, nil
}

// run is the payload of an event that can be a part of a run.
type run struct {
	Stream protocol.TextStream `json:"stream,omitempty"`
	Mode   protocol.OutputMode `json:"mode,omitempty"`
	Text   string              `json:"text"`
}

// compaction replaces runs as events are added to it.
type compaction struct {
	turn    string
	open    map[string]bool
	places  map[int64]bool // where readers stand
	out     []threadapi.Event
	last    run  // the payload of the last event of out
	growing bool // the last event of out can grow
	grown   bool // and has
	changed bool
}

func (c *compaction) add(e threadapi.Event) {
	p, fits := c.part(&e)
	if c.growing && fits && c.grow(&e, p) {
		return
	}
	c.settle()
	c.out, c.last, c.growing = append(c.out, e), p, fits
}

// grow makes an event a part of the last one, when it goes on with it.
func (c *compaction) grow(e *threadapi.Event, p run) bool {
	last := &c.out[len(c.out)-1]
	switch {
	case last.Type != e.Type, last.ItemID != e.ItemID, last.ParentItemID != e.ParentItemID, first(e) != last.Seq+1,
		c.last.Stream != p.Stream, c.places[last.Seq]:
		return false
	case p.Mode == protocol.Replace: // all before it has no effect any more
		c.last = p
	case len(c.last.Text)+len(p.Text) > maxRun:
		return false
	default:
		c.last.Text += p.Text
	}
	last.Covers = []int64{first(last), e.Seq}
	last.Seq, last.At = e.Seq, e.At
	c.grown, c.changed = true, true
	return true
}

// settle encodes the last event anew when it has grown.
func (c *compaction) settle() {
	if !c.grown {
		return
	}
	c.grown = false
	var payload any = assembler.ItemText{Stream: c.last.Stream, Text: c.last.Text}
	last := &c.out[len(c.out)-1]
	if last.Type == string(assembler.TypeItemOutput) {
		payload = assembler.ItemOutput{Mode: c.last.Mode, Text: c.last.Text}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(payload) // strings
	last.Payload = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// finish returns the events, and whether the last one can grow further.
func (c *compaction) finish() (out []threadapi.Event, tail bool) {
	c.settle()
	return c.out, c.growing && len(c.last.Text) < maxRun
}

// part returns the payload of an event that can be a part of a run.
func (c *compaction) part(e *threadapi.Event) (run, bool) {
	if e.Type != string(assembler.TypeItemText) && e.Type != string(assembler.TypeItemOutput) || e.Scope.TurnID != c.turn || c.open[e.ItemID] {
		return run{}, false
	}
	var p run
	dec := json.NewDecoder(bytes.NewReader(e.Payload))
	dec.DisallowUnknownFields()
	err := dec.Decode(&p)
	return p, err == nil
}

// first is the first seq that an event stands for.
func first(e *threadapi.Event) int64 {
	if len(e.Covers) == 2 {
		return e.Covers[0]
	}
	return e.Seq
}
