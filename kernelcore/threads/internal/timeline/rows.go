package timeline

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
)

// Rows returns a page of a thread's rows, the oldest first, as the stored events fold; Thread stays empty. After asks for
// those that follow, else the page is the newest one, or the one before Before.
func (l *Log) Rows(ctx context.Context, in threadapi.TimelineInput) (threadapi.TimelineOutput, error) {
	out := threadapi.TimelineOutput{Rows: []threadapi.Row{}}
	if in.Limit <= 0 {
		in.Limit = 100
	}
	open, err := l.open(ctx, in.Thread)
	if err != nil {
		return out, err
	}
	forward := in.After > 0
	err = l.store.View(ctx, func(tx store.Tx) error {
		for e, err := range tx.Range(eventsBucket+in.Thread, store.Range{Reverse: true, Limit: 1}) {
			if err != nil {
				return err
			}
			out.LastSeq = seqOf(e.Key)
		}
		before := in.Before
		if before <= 0 {
			before = math.MaxInt64
		}
		r := store.Range{To: keyOf(before), Reverse: !forward}
		if forward {
			r.After = keyOf(in.After)
		}
		more := false
		for e, err := range tx.Range(rowsBucket+in.Thread, r) {
			if err != nil {
				return err
			}
			var row threadapi.Row
			if now := open[seqOf(e.Key)]; now != nil {
				row = *now
			} else if err := json.Unmarshal(e.Value, &row); err != nil {
				return fmt.Errorf("timeline: a stored row is damaged: %w", err)
			}
			if in.Turn != "" && row.TurnID != in.Turn {
				continue
			}
			if len(out.Rows) == in.Limit {
				more = true
				break
			}
			out.Rows = append(out.Rows, row)
		}
		if forward {
			out.Later, out.Earlier = more, true
			return nil
		}
		slices.Reverse(out.Rows)
		out.Earlier, out.Later = more, in.Before > 0
		return nil
	})
	return out, err
}

// open returns the rows that are open in a thread with a Writer, once all that they show is stored.
func (l *Log) open(ctx context.Context, threadID string) (map[int64]*threadapi.Row, error) {
	l.mu.Lock()
	f := l.threads[threadID]
	var w *Writer
	if f != nil {
		w = f.writer
	}
	l.mu.Unlock()
	if w == nil {
		return nil, nil
	}
	w.mu.Lock()
	rows := w.fold.open()
	w.mu.Unlock()
	if err := w.Flush(ctx); err != nil && ctx.Err() != nil {
		return nil, err
	}
	return rows, nil
}
