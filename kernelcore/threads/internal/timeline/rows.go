package timeline

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline/fold"
)

const (
	// defaultRows is the limit of a page that asks for none.
	defaultRows = 100
	// maxPage bounds the rows of a page together, but for the first: it is one answer of a service.
	maxPage = 4 << 20
)

// Rows returns a page of a thread's rows, the oldest first, as all stored events fold up to the output's LastSeq; Thread
// stays empty. With After it is the first page behind that seq, else the last one, or the last one before Before. A page has
// fewer rows than asked for when they are large; Earlier and Later say what is beyond it.
func (l *Log) Rows(ctx context.Context, in threadapi.TimelineInput) (threadapi.TimelineOutput, error) {
	out := threadapi.TimelineOutput{Rows: []threadapi.Row{}}
	err := l.store.View(ctx, func(tx store.Tx) (err error) {
		if out.LastSeq, err = lastSeq(tx, in.Thread); err != nil {
			return err
		}
		rows, err := rowPage(tx, in)
		if err != nil {
			return err
		}
		var open []*fold.Row
		for _, r := range rows {
			if r.IsOpen() {
				open = append(open, r)
			}
		}
		if _, err = catchUp(tx, in.Thread, open); err != nil {
			return err
		}
		for _, r := range rows {
			out.Rows = append(out.Rows, r.Public())
		}
		first, last := in.After, in.Before-1 // of an empty page: what is beyond the place that was asked for
		if in.Before == 0 {
			last = out.LastSeq
		}
		if len(rows) > 0 {
			first, last = rows[0].Seq-1, rows[len(rows)-1].Seq
		}
		if out.Earlier, err = anyRow(tx, in, store.Range{To: keyOf(first + 1)}); err == nil {
			out.Later, err = anyRow(tx, in, store.Range{After: keyOf(last)})
		}
		return err
	})
	return out, err
}

// rowPage returns the rows of a page as they are stored.
func rowPage(tx store.Tx, in threadapi.TimelineInput) ([]*fold.Row, error) {
	limit := in.Limit
	if limit <= 0 {
		limit = defaultRows
	}
	r := store.Range{Reverse: in.After == 0}
	if in.After > 0 {
		r.After = keyOf(in.After)
	}
	if in.Before > 0 {
		r.To = keyOf(in.Before)
	}
	var rows []*fold.Row
	size := 0
	for raw, err := range storedRows(tx, in, r) {
		if err != nil {
			return nil, err
		}
		if size += len(raw); size > maxPage && len(rows) > 0 {
			break
		}
		row, err := fold.Decode(raw)
		if err != nil {
			return nil, damaged(in.Thread, err)
		}
		if rows = append(rows, row); len(rows) == limit {
			break
		}
	}
	if r.Reverse {
		slices.Reverse(rows)
	}
	return rows, nil
}

// storedRows yields a thread's rows, or those of one turn, in a range of seqs.
func storedRows(tx store.Tx, in threadapi.TimelineInput, r store.Range) iter.Seq2[[]byte, error] {
	if in.Turn == "" {
		return func(yield func([]byte, error) bool) {
			for e, err := range tx.Range(rowsBucket+in.Thread, r) {
				if !yield(e.Value, err) {
					return
				}
			}
		}
	}
	prefix := in.Turn + "\x00"
	r.Prefix = prefix
	if r.After != "" {
		r.After = prefix + r.After
	}
	if r.To != "" {
		r.To = prefix + r.To
	}
	return func(yield func([]byte, error) bool) {
		for e, err := range tx.Range(turnsBucket+in.Thread, r) {
			var raw []byte
			if err == nil {
				raw, err = tx.Get(rowsBucket+in.Thread, e.Key[len(prefix):])
			}
			if !yield(raw, err) || err != nil {
				return
			}
		}
	}
}

func anyRow(tx store.Tx, in threadapi.TimelineInput, r store.Range) (bool, error) {
	r.Limit = 1
	for _, err := range storedRows(tx, in, r) {
		return err == nil, err
	}
	return false, nil
}

// openRows returns the open rows of a thread as they are stored.
func openRows(tx store.Tx, threadID string) ([]*fold.Row, error) {
	var rows []*fold.Row
	for e, err := range tx.Range(openBucket+threadID, store.Range{}) {
		if err != nil {
			return nil, err
		}
		raw, err := tx.Get(rowsBucket+threadID, e.Key)
		if err != nil {
			return nil, damaged(threadID, err)
		}
		row, err := fold.Decode(raw)
		if err != nil {
			return nil, damaged(threadID, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// catchUp folds into rows that are open what came since they were stored.
func catchUp(tx store.Tx, threadID string, rows []*fold.Row) (*fold.Fold, error) {
	f := fold.New(rows...)
	if len(rows) == 0 {
		return f, nil
	}
	since := rows[0].LastSeq
	for _, r := range rows {
		since = min(since, r.LastSeq)
	}
	raw, err := tx.Get(foldedBucket, threadID)
	if err == nil {
		folded, err := seqOf(string(raw))
		if err != nil {
			return nil, damaged(threadID, err)
		}
		since = max(since, folded)
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	for more := true; more; {
		var events []threadapi.Event
		if events, more, err = readPage(tx, threadID, since); err != nil {
			return nil, err
		}
		for i := range events {
			f.CatchUp(&events[i])
			since = events[i].Seq
		}
	}
	return f, nil
}

// rememberRows is how many rows are looked at for the last turn of a thread: rows that belong to no turn are behind it.
const rememberRows = 64

// remember tells a fold of the items that may begin anew: the last ones of the last turn, and of the thread.
func remember(tx store.Tx, threadID string, f *fold.Fold) error {
	rows, err := rowPage(tx, threadapi.TimelineInput{Thread: threadID, Limit: rememberRows})
	if err != nil {
		return err
	}
	turns := []string{""}
	for _, r := range slices.Backward(rows) {
		if r.TurnID != "" {
			turns = append(turns, r.TurnID)
			break
		}
	}
	for _, turn := range turns {
		var entries []store.Entry
		for e, err := range tx.Range(turnsBucket+threadID, store.Range{Prefix: turn + "\x00", Reverse: true, Limit: fold.MaxRecent / 2}) {
			if err != nil {
				return err
			}
			entries = append(entries, e)
		}
		for _, e := range slices.Backward(entries) {
			seq, err := seqOf(e.Key[len(turn)+1:])
			if err != nil {
				return damaged(threadID, err)
			}
			if len(e.Value) > 0 {
				f.Remember(string(e.Value), seq)
			}
		}
	}
	return nil
}
