package notes

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/bb-kernel/bb/examples/hello-slot/contracts"
	"github.com/bb-kernel/bb/examples/notes-fixture/notesapi"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
)

// Keys of the store. Ids are padded, so that keys sort as numbers do.
const (
	lastKey    = "last" // the last id that was given
	notePrefix = "note/"
	idDigits   = 15
)

// store keeps notes in the plugin's store and tells followers about new ones.
type store struct {
	kv      pluginsdk.KV
	greeter kernelcontract.Caller
	added   *signal
}

// noteKey returns the key of the note with that number.
func noteKey(n int64) string { return fmt.Sprintf("%s%0*d", notePrefix, idDigits, n) }

// parseID returns the number of an id, and whether it can be one.
func parseID(id string) (int64, bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	return n, err == nil && n > 0 && len(id) <= idDigits && id == strconv.FormatInt(n, 10)
}

// add gives the note its id and keeps it in one transaction: no follower can see a later note before an earlier one.
func (s *store) add(ctx context.Context, in notesapi.AddInput) (notesapi.Note, error) {
	note := notesapi.Note{Text: in.Text, CreatedAt: time.Now().UTC().Truncate(time.Millisecond)}
	if in.Greet != "" {
		g, err := contracts.Greet.Call(ctx, s.greeter, contracts.GreetInput{Name: in.Greet})
		if err != nil {
			return notesapi.Note{}, err
		}
		note.Text = g.Message + " " + in.Text
	}
	err := s.kv.Transact(ctx, func(tx pluginsdk.Tx) error {
		var last int64
		if err := tx.Get(lastKey, &last); err != nil && !errors.Is(err, kernelcontract.NotFound) {
			return err
		}
		note.ID = strconv.FormatInt(last+1, 10)
		if err := tx.Put(lastKey, last+1); err != nil {
			return err
		}
		return tx.Put(noteKey(last+1), note)
	})
	if err != nil {
		return notesapi.Note{}, err
	}
	s.added.fire()
	return note, nil
}

func (s *store) list(ctx context.Context, in notesapi.ListInput) ([]notesapi.Note, error) {
	r := pluginsdk.Range{Prefix: notePrefix, Reverse: true, Limit: in.Limit}
	if in.Before != "" {
		n, ok := parseID(in.Before)
		if !ok {
			return nil, noSuchNote(in.Before)
		}
		r.Before = noteKey(n)
	}
	notes := []notesapi.Note{}
	for n, err := range s.read(ctx, r) {
		if err != nil {
			return nil, err
		}
		notes = append(notes, n)
	}
	return notes, nil
}

func (s *store) get(ctx context.Context, in notesapi.IDInput) (note notesapi.Note, err error) {
	n, ok := parseID(in.ID)
	if !ok {
		return note, noSuchNote(in.ID)
	}
	if err = s.kv.Get(ctx, noteKey(n), &note); errors.Is(err, kernelcontract.NotFound) {
		err = noSuchNote(in.ID)
	}
	return note, err
}

func (s *store) remove(ctx context.Context, in notesapi.IDInput) (kernelcontract.None, error) {
	n, ok := parseID(in.ID)
	if !ok {
		return kernelcontract.None{}, noSuchNote(in.ID)
	}
	return kernelcontract.None{}, s.kv.Transact(ctx, func(tx pluginsdk.Tx) error {
		var note notesapi.Note
		if err := tx.Get(noteKey(n), &note); errors.Is(err, kernelcontract.NotFound) {
			return noSuchNote(in.ID)
		} else if err != nil {
			return err
		}
		return tx.Delete(noteKey(n))
	})
}

func noSuchNote(id string) error {
	return kernelcontract.NotFound.Errorf("there is no note %s: bb notes list shows those that are", id)
}

// follow yields the notes after the cursor and then waits for new ones, without polling.
func (s *store) follow(ctx context.Context, in notesapi.FollowInput) (iter.Seq2[notesapi.Note, error], error) {
	r := pluginsdk.Range{Prefix: notePrefix}
	left := notesapi.Left{Limited: in.Limit > 0, Notes: in.Limit}
	if since := kernelcontract.CallFrom(ctx).Since; since != "" {
		after, owed, err := parseCursor(since)
		if err != nil {
			return nil, err
		}
		r.After = noteKey(after)
		if owed.Limited && left.Limited {
			left = owed
		}
	}
	return func(yield func(notesapi.Note, error) bool) {
		for !left.Done() {
			more := s.added.wait() // before reading, so that no note falls between
			for note, err := range s.read(ctx, r) {
				if err != nil {
					yield(notesapi.Note{}, err)
					return
				}
				left = left.Less()
				note.Left = left
				if !yield(note, nil) || left.Done() {
					return
				}
				if n, ok := parseID(note.ID); ok {
					r.After = noteKey(n)
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
				yield(notesapi.Note{}, ctx.Err())
				return
			}
		}
	}, nil
}

// parseCursor reads what notesapi.Note.Cursor writes; "0" stands before the first note.
func parseCursor(cursor string) (n int64, left notesapi.Left, err error) {
	id, owed, limited := strings.Cut(cursor, ".")
	n, ok := parseID(id)
	if limited {
		left.Limited = true
		left.Notes, err = strconv.Atoi(owed)
	}
	if !ok && id != "0" || err != nil || left.Notes < 0 {
		return 0, notesapi.Left{}, kernelcontract.InvalidInput.Errorf("%q is not a cursor of this stream: use one that it sent, or the id of a note", cursor)
	}
	return n, left, nil
}

func (s *store) read(ctx context.Context, r pluginsdk.Range) iter.Seq2[notesapi.Note, error] {
	return func(yield func(notesapi.Note, error) bool) {
		for e, err := range s.kv.List(ctx, r) {
			var n notesapi.Note
			if err == nil {
				err = e.Decode(&n)
			}
			if err != nil {
				yield(n, fmt.Errorf("reading the notes: %w", err))
				return
			}
			if !yield(n, nil) {
				return
			}
		}
	}
}
