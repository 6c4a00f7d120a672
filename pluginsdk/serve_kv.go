package pluginsdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/stdio"
)

// maxAttempts is how often a transaction is tried that others keep overtaking.
const maxAttempts = 100

// wireKV is the store at the other end of the connection. A transaction reads at once and writes at its end, when the
// kernel finds that nothing has changed that was read; otherwise it runs again.
type wireKV struct{ s *program }

// Update implements KVBackend.
func (kv wireKV) Update(ctx context.Context, fn func(KVTx) error) error {
	for attempt := range maxAttempts {
		err := kv.attempt(ctx, attempt > 0, fn)
		if !errors.Is(err, errOvertaken) {
			return err
		}
	}
	return kernelcontract.Conflict.Errorf("the transaction was overtaken %d times: let fewer callers change the same keys at once", maxAttempts)
}

// errOvertaken says that what a transaction has read has changed. The code of the kernel's answer could also be that of fn.
var errOvertaken = errors.New("overtaken")

func (kv wireKV) attempt(ctx context.Context, again bool, fn func(KVTx) error) error {
	if again { // one at a time: who waits here cannot overtake who goes first
		kv.s.slow.Lock()
		defer kv.s.slow.Unlock()
	}
	tx := &wireTx{s: kv.s, ctx: ctx, writes: map[string]stdio.KVWrite{}}
	if err := fn(tx); err != nil {
		return err
	}
	if len(tx.writes) == 0 {
		return nil
	}
	commit := stdio.KVCommitParams{Checks: tx.checks, Lists: tx.lists}
	for _, key := range tx.written() {
		commit.Writes = append(commit.Writes, tx.writes[key])
	}
	err := kv.s.ask(ctx, stdio.KVCommit, commit, nil)
	if errors.Is(err, kernelcontract.Conflict) {
		return errOvertaken
	}
	return err
}

// View implements KVBackend. What it reads is read one after the other.
func (kv wireKV) View(ctx context.Context, fn func(KVTx) error) error {
	return fn(&wireTx{s: kv.s, ctx: ctx, writes: map[string]stdio.KVWrite{}})
}

// wireTx is a transaction with what it has read and is about to write.
type wireTx struct {
	s      *program
	ctx    context.Context
	checks []stdio.KVCheck
	lists  []stdio.KVListCheck
	writes map[string]stdio.KVWrite
}

// written returns the keys of the writes in their order.
func (tx *wireTx) written() []string {
	keys := make([]string, 0, len(tx.writes))
	for key := range tx.writes {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Get implements KVTx.
func (tx *wireTx) Get(key string) (json.RawMessage, error) {
	if w, ok := tx.writes[key]; ok {
		if w.Delete {
			return nil, notStored(key)
		}
		return w.Value, nil
	}
	var r stdio.KVGetResult
	err := tx.s.ask(tx.ctx, stdio.KVGet, stdio.KVGetParams{Key: key}, &r)
	check := stdio.KVCheck{Key: key}
	switch {
	case err == nil:
		sum := sha256.Sum256(r.Value)
		check.SHA256 = hex.EncodeToString(sum[:])
	case !errors.Is(err, kernelcontract.NotFound):
		return nil, err
	}
	tx.checks = append(tx.checks, check)
	return r.Value, err
}

func notStored(key string) error {
	return kernelcontract.NotFound.Errorf("the plugin's store has no key %q", key)
}

// Put implements KVTx.
func (tx *wireTx) Put(key string, value json.RawMessage) error {
	tx.writes[key] = stdio.KVWrite{Key: key, Value: value}
	return nil
}

// Delete implements KVTx.
func (tx *wireTx) Delete(key string) error {
	tx.writes[key] = stdio.KVWrite{Key: key, Delete: true}
	return nil
}

// List implements KVTx: the pages of the kernel, with what the transaction has written in its place.
func (tx *wireTx) List(r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		own := tx.ownIn(r)
		left := r.Limit
		emit := func(e Entry) bool { // false ends the list
			if left--; r.Limit > 0 && left < 0 {
				return false
			}
			return yield(e, nil) && (r.Limit <= 0 || left > 0)
		}
		before := func(a, b string) bool { return a < b != r.Reverse }
		for e, err := range tx.stored(r) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for len(own) > 0 && before(own[0], e.Key) {
				if w := tx.writes[own[0]]; !w.Delete && !emit(Entry{w.Key, w.Value}) {
					return
				}
				own = own[1:]
			}
			if len(own) > 0 && own[0] == e.Key {
				continue // it follows with what was written
			}
			if !emit(e) {
				return
			}
		}
		for _, key := range own {
			if w := tx.writes[key]; !w.Delete && !emit(Entry{w.Key, w.Value}) {
				return
			}
		}
	}
}

// ownIn returns the written keys of a range, in its order.
func (tx *wireTx) ownIn(r Range) []string {
	keys := slices.DeleteFunc(tx.written(), func(key string) bool {
		return !strings.HasPrefix(key, r.Prefix) || r.After != "" && key <= r.After || r.Before != "" && key >= r.Before
	})
	if r.Reverse {
		slices.Reverse(keys)
	}
	return keys
}

// stored yields what the kernel has of a range, page by page, and notes each page for the commit.
func (tx *wireTx) stored(r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		page := stdio.KVRange{Prefix: r.Prefix, After: r.After, Before: r.Before, Reverse: r.Reverse, Limit: stdio.MaxPage}
		if r.Limit > 0 {
			page.Limit = min(r.Limit+len(tx.writes), stdio.MaxPage) // what was deleted does not count
		}
		for {
			var out stdio.KVListResult
			if err := tx.s.ask(tx.ctx, stdio.KVList, page, &out); err != nil {
				yield(Entry{}, err)
				return
			}
			tx.lists = append(tx.lists, stdio.KVListCheck{KVRange: page, SHA256: stdio.HashEntries(out.Entries)})
			for _, e := range out.Entries {
				if !yield(Entry{e.Key, e.Value}, nil) {
					return
				}
			}
			if !out.More || len(out.Entries) == 0 {
				return
			}
			if last := out.Entries[len(out.Entries)-1].Key; r.Reverse {
				page.Before = last
			} else {
				page.After = last
			}
		}
	}
}
