// Package store is where the kernel keeps what has to outlast a call: an ordered key-value store in
// buckets, with serializable transactions.
//
// [Store] is the interface, [Memory] an implementation without disk for tests and for embedding, and
// package sqlitestore one in a data directory. A store of one's own passes package storetest. The
// rules are docs/spec/store.md.
package store

import (
	"context"
	"iter"
)

// Store is an ordered key-value store with serializable transactions. It is safe for concurrent use.
//
// Transactions do not nest: fn must not call Update, View or Close of the store that runs it. It
// should be short too, because an Update holds up every other Update.
type Store interface {
	// Update runs fn exactly once in a read-write transaction, on the caller's goroutine. When Update
	// returns nil, everything that fn wrote survives a crash and every later transaction sees it. When
	// fn returns an error, panics or leaves its goroutine, its writes are dropped and nobody else's;
	// an error comes back as it is, a panic goes on.
	//
	// A context that ends before fn starts withdraws the transaction with the context's error. Once
	// fn runs the context is no longer asked, so that the answer is always the truth.
	//
	// An error other than fn's own means that nothing of fn is stored: [ErrClosed], a [*FullError],
	// an [*UnwritableError], a [*DamagedError] or the context's error.
	Update(ctx context.Context, fn func(Tx) error) error

	// View runs fn once against one consistent state of the store, on the caller's goroutine. That
	// state includes every Update that returned before View was called, and stays as it is however
	// many Updates commit meanwhile. Writing in fn is [ErrReadOnly]. View returns what fn returns.
	View(ctx context.Context, fn func(Tx) error) error

	// Close lets the transactions that have begun finish, then releases what the store holds. Later
	// transactions get [ErrClosed]. Closing again does nothing.
	Close() error
}

// Tx is a transaction as its function sees it. It belongs to one goroutine and ends with the function:
// used later, it answers [ErrDone].
//
// A bucket is 1 to [MaxBucket] printable ASCII characters without a space. A key is 1 to [MaxKey]
// bytes, any bytes. A value is at most [MaxValue] bytes and may be empty. What breaks this is an
// [*InvalidError].
type Tx interface {
	// Get returns the value of a key, or [ErrNotFound]. The caller may keep and change what it gets.
	// An empty value is not nil.
	Get(bucket, key string) ([]byte, error)

	// Put sets the value of a key. The store keeps a copy. A nil value is stored as an empty one.
	Put(bucket, key string, value []byte) error

	// Delete removes a key. That there is none is no error.
	Delete(bucket, key string) error

	// Range yields the entries of a bucket that r selects, in the order of their keys' bytes. It yields
	// at most one error, as the last thing, and no entry with it. The loop may write: no key is
	// yielded twice, and whether a write further ahead is met is open.
	Range(bucket string, r Range) iter.Seq2[Entry, error]
}

// Entry is a key with its value, as [Tx.Range] yields it. The caller may keep and change both.
type Entry struct {
	Key   string
	Value []byte
}

// Range selects entries of a bucket. The zero value selects all of them; each condition that is set
// narrows it further.
type Range struct {
	Prefix  string // keys that begin with it
	From    string // keys at or after it
	After   string // keys after it
	To      string // keys before it
	Reverse bool   // from the last key to the first
	Limit   int    // at most so many entries; zero or less: all
}

// Bounds returns the keys between which r selects: those at or after low and before high, where an
// empty high has no end. Implementations of [Store] need nothing else of Prefix, From, After and To.
func (r Range) Bounds() (low, high string) {
	low = max(r.From, r.Prefix)
	if r.After != "" {
		low = max(low, r.After+"\x00") // the least key after After
	}
	high = r.To
	if end := prefixEnd(r.Prefix); end != "" && (high == "" || end < high) {
		high = end
	}
	return low, high
}

// prefixEnd returns the least key after every key that begins with prefix, or "" when there is none.
func prefixEnd(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}
