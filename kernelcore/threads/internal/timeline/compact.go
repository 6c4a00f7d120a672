package timeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
)

const (
	// compactBytes bounds what one transaction of a compaction reads and writes, so that commits of events do not wait
	// for it.
	compactBytes = 256 << 10
	// maxRun bounds the text of an event that stands for a run: it is read, sent and shown as a whole.
	maxRun = 64 << 10
)

// Compact replaces, in the events of a turn that has ended, each run of neighbouring text or appended output of one item
// by one event, which has the number of the last and covers them all. Whoever reads from the first event on folds the same
// as before. It works in bounded transactions and may be broken off and repeated at any point.
func (l *Log) Compact(ctx context.Context, threadID, turnID string) error {
	after := int64(-1)
	err := l.store.View(ctx, func(tx store.Tx) error {
		raw, err := tx.Get(turnsBucket+threadID, turnID)
		if errors.Is(err, store.ErrNotFound) {
			return nil // it never began, or was compacted
		}
		if err == nil {
			after = seqOf(string(raw)) - 1
		}
		return err
	})
	if err != nil || after < 0 {
		return err
	}
	for done := false; !done; {
		err := l.store.Update(ctx, func(tx store.Tx) (err error) {
			after, done, err = compactPage(tx, threadID, turnID, after)
			if err == nil && done {
				err = tx.Delete(turnsBucket+threadID, turnID)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compactPage compacts the records behind a cursor up to the end of the turn, as far as one transaction goes, and returns
// where the next one goes on.
func compactPage(tx store.Tx, threadID, turnID string, after int64) (next int64, done bool, err error) {
	bucket := eventsBucket + threadID
	var keys []string
	var events []threadapi.Event
	size := 0
	for e, err := range tx.Range(bucket, store.Range{After: keyOf(after)}) {
		if err != nil {
			return after, false, err
		}
		more, err := decodeLines(e.Value)
		if err != nil {
			return after, false, err
		}
		keys = append(keys, e.Key)
		events = append(events, more...)
		next = seqOf(e.Key)
		for i := range more {
			done = done || more[i].Type == "turn.completed" && more[i].Scope.TurnID == turnID
		}
		if size += len(e.Value); done || size >= compactBytes {
			break
		}
	}
	if len(keys) == 0 {
		return after, true, nil
	}
	compacted := compactRuns(events)
	if len(compacted) == len(events) {
		return next, done, nil
	}
	var line []byte
	kept := map[string]bool{}
	for i := range compacted {
		line = appendLine(line, &compacted[i])
		if len(line) >= maxRecord || i == len(compacted)-1 {
			key := keyOf(compacted[i].Seq)
			kept[key] = true
			if err := tx.Put(bucket, key, line); err != nil {
				return after, false, err
			}
			line = nil
		}
	}
	for _, key := range keys {
		if !kept[key] {
			if err := tx.Delete(bucket, key); err != nil {
				return after, false, err
			}
		}
	}
	return next, done, nil
}

// run is the payload of an event that can be a part of a run.
type run struct {
	Stream string `json:"stream,omitempty"`
	Mode   string `json:"mode,omitempty"`
	Text   string `json:"text"`
}

// compactRuns returns the events with each run replaced by one event.
func compactRuns(events []threadapi.Event) []threadapi.Event {
	out := make([]threadapi.Event, 0, len(events))
	var open run // the payload of the last event of out, when it can grow
	growing, grown := false, false
	close := func() {
		if grown {
			last := &out[len(out)-1]
			if raw, err := encode(open); err == nil {
				last.Payload = raw
			}
		}
		growing, grown = false, false
	}
	for _, e := range events {
		p, fits := runOf(&e)
		if growing && fits && len(open.Text)+len(p.Text) <= maxRun {
			last := &out[len(out)-1]
			if last.Type == e.Type && last.ItemID == e.ItemID && last.Scope == e.Scope && open.Stream == p.Stream && open.Mode == p.Mode && from(&e) == last.Seq+1 {
				last.Covers = []int64{from(last), e.Seq}
				last.Seq, last.At = e.Seq, e.At
				open.Text += p.Text
				grown = true
				continue
			}
		}
		close()
		out = append(out, e)
		open, growing = p, fits
	}
	close()
	return out
}

// runOf tells whether an event can be a part of a run, and returns its payload.
func runOf(e *threadapi.Event) (run, bool) {
	if e.Type != "item.text" && e.Type != "item.output" {
		return run{}, false
	}
	var p run
	dec := json.NewDecoder(bytes.NewReader(e.Payload))
	dec.DisallowUnknownFields()
	if dec.Decode(&p) != nil || p.Mode == "replace" {
		return run{}, false
	}
	return p, true
}
