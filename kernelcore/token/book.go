package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// flushEvery is how often the times of last use are written: a crash forgets at most so much of them,
// and a request never waits for them.
const flushEvery = time.Minute

// nameRule is that of names. A name becomes part of an actor and stands in lists and logs.
var nameRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

func checkName(name string) error {
	if !nameRule.MatchString(name) {
		return &InvalidError{Field: "name", Problem: fmt.Sprintf("%.80q does not do: use 1 to 64 letters, digits and . _ @ -, and begin with a letter or digit", name)}
	}
	return nil
}

// book is a bucket of named credentials with details D, all of them in memory too. The store is
// always changed first: what memory admits is stored, and what was revoked is not.
type book[D any] struct {
	what   string // for messages: "token", "host"
	bucket string
	store  store.Store
	log    *slog.Logger

	changing chan struct{} // holds a value while a name is added or removed
	mu       sync.RWMutex  // guards the maps; entries guard themselves
	byHash   map[Hash]*entry[D]
	byName   map[string]*entry[D]

	stop     chan struct{} // closed by close: no more flushes
	done     chan struct{} // closed when the flushing goroutine has ended
	stopping sync.Once
}

// record is a credential as it is stored, under its name.
type record[D any] struct {
	Hash    Hash      `json:"hash"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	LastUse time.Time `json:"lastUse,omitzero"`
	Details D         `json:"details"`
}

// entry is a credential in memory.
type entry[D any] struct {
	name    string
	record  record[D]    // LastUse in it is only as old as the entry: see used
	used    atomic.Int64 // the second of the last use, 0: never
	written atomic.Int64 // what of it is stored
	ended   chan struct{}
	once    sync.Once
	timer   *time.Timer // ends it when it expires; nil: it does not
}

func (e *entry[D]) end() { e.once.Do(func() { close(e.ended) }) }

func (e *entry[D]) expired() bool {
	return !e.record.Expires.IsZero() && !time.Now().Before(e.record.Expires)
}

// lastUse returns when the credential was last used, the zero time for never.
func (e *entry[D]) lastUse() time.Time {
	if at := e.used.Load(); at != 0 {
		return time.Unix(at, 0).UTC()
	}
	return time.Time{}
}

// openBook reads a bucket and begins to keep it.
func openBook[D any](ctx context.Context, s store.Store, what, bucket string, log *slog.Logger) (*book[D], error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &book[D]{
		what: what, bucket: bucket, store: s, log: log, changing: make(chan struct{}, 1),
		byHash: map[Hash]*entry[D]{}, byName: map[string]*entry[D]{},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	err := s.View(ctx, func(tx store.Tx) error {
		for e, err := range tx.Range(bucket, store.Range{}) {
			if err != nil {
				return err
			}
			var r record[D]
			if err := json.Unmarshal(e.Value, &r); err != nil { // admits nobody, and spares the others
				log.Error("token: a stored "+what+" cannot be read and is left out; revoke it and make a new one", "name", e.Key, "err", err)
				continue
			}
			b.add(e.Key, r)
		}
		return nil
	})
	if err != nil {
		b.forget()
		return nil, fmt.Errorf("token: reading the %ss: %w", what, err)
	}
	go b.keep()
	return b, nil
}

// add puts a stored credential into memory. The caller has the book for itself, or b.changing.
func (b *book[D]) add(name string, r record[D]) *entry[D] {
	e := &entry[D]{name: name, record: r, ended: make(chan struct{})}
	if !r.LastUse.IsZero() {
		e.used.Store(r.LastUse.Unix())
		e.written.Store(r.LastUse.Unix())
	}
	if !r.Expires.IsZero() {
		e.timer = time.AfterFunc(time.Until(r.Expires), e.end)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.byHash[r.Hash], b.byName[name] = e, e
	return e
}

// change waits until names may be added and removed. The caller must call the function it returns.
func (b *book[D]) change(ctx context.Context) (done func(), err error) {
	select {
	case b.changing <- struct{}{}:
		return func() { <-b.changing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// create stores a credential under a new name.
func (b *book[D]) create(ctx context.Context, name string, hash Hash, expires time.Time, details D) (*entry[D], error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	done, err := b.change(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	r := record[D]{Hash: hash, Created: time.Now().UTC().Truncate(time.Second), Expires: expires, Details: details}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	err = b.store.Update(ctx, func(tx store.Tx) error {
		switch _, err := tx.Get(b.bucket, name); {
		case err == nil:
			return taken(b.what, name)
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		return tx.Put(b.bucket, name, text)
	})
	if err != nil {
		return nil, err
	}
	return b.add(name, r), nil
}

// remove ends a credential for good and tells whoever it admitted.
func (b *book[D]) remove(ctx context.Context, name string) error {
	done, err := b.change(ctx)
	if err != nil {
		return err
	}
	defer done()
	if checkName(name) != nil {
		return missing(b.what, name) // nothing has such a name
	}
	err = b.store.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.Get(b.bucket, name); err != nil {
			if errors.Is(err, store.ErrNotFound) {
				return missing(b.what, name)
			}
			return err
		}
		return tx.Delete(b.bucket, name)
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	e := b.byName[name]
	if e != nil { // it is nil for one that could not be read
		delete(b.byName, name)
		delete(b.byHash, e.record.Hash)
	}
	b.mu.Unlock()
	if e != nil {
		if e.timer != nil {
			e.timer.Stop()
		}
		e.end()
	}
	return nil
}

// lookup finds a credential that admits now, and notes that it was used. Finding it in a map is not
// constant time, which tells at most something about hashes; the comparison that admits is.
func (b *book[D]) lookup(hash Hash) (*entry[D], error) {
	b.mu.RLock()
	e := b.byHash[hash]
	b.mu.RUnlock()
	if e == nil || !e.record.Hash.Equal(hash) {
		return nil, ErrUnknown
	}
	if e.expired() {
		return nil, ErrExpired
	}
	if now := time.Now().Unix(); e.used.Load() != now {
		e.used.Store(now)
	}
	return e, nil
}

// list returns every credential, by name.
func (b *book[D]) list() []*entry[D] {
	b.mu.RLock()
	defer b.mu.RUnlock()
	all := make([]*entry[D], 0, len(b.byName))
	for _, e := range b.byName {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry[D]) int { return strings.Compare(a.name, b.name) })
	return all
}

// keep flushes now and then.
func (b *book[D]) keep() {
	defer close(b.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := b.flush(context.Background()); err != nil {
				b.log.Warn("token: times of last use were not written; they will be tried again", "kind", b.what, "err", err)
			}
		case <-b.stop:
			return
		}
	}
}

// flush writes the times of last use that are not written yet.
func (b *book[D]) flush(ctx context.Context) error {
	type use struct {
		e  *entry[D]
		at int64
	}
	var uses []use
	for _, e := range b.list() {
		if at := e.used.Load(); at != e.written.Load() {
			uses = append(uses, use{e, at})
		}
	}
	if len(uses) == 0 {
		return nil
	}
	err := b.store.Update(ctx, func(tx store.Tx) error {
		for _, u := range uses {
			text, err := tx.Get(b.bucket, u.e.name)
			if errors.Is(err, store.ErrNotFound) {
				continue // revoked meanwhile
			}
			if err != nil {
				return err
			}
			var r record[D]
			if json.Unmarshal(text, &r) != nil || r.Hash != u.e.record.Hash {
				continue // revoked meanwhile, and the name given anew
			}
			r.LastUse = time.Unix(u.at, 0).UTC()
			if text, err = json.Marshal(r); err != nil {
				return err
			}
			if err := tx.Put(b.bucket, u.e.name, text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, u := range uses {
		u.e.written.Store(u.at)
	}
	return nil
}

// close stops the goroutine, then flushes for the last time.
func (b *book[D]) close(ctx context.Context) error {
	b.stopping.Do(func() { close(b.stop) })
	<-b.done
	b.forget()
	return b.flush(ctx)
}

// forget stops the timers. It ends nothing: who closes a book ends what it admitted.
func (b *book[D]) forget() {
	for _, e := range b.list() {
		if e.timer != nil {
			e.timer.Stop()
		}
	}
}
