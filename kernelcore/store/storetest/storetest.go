// Package storetest is the conformance test of store.Store: what passes [Test] can stand behind a kernel.
package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// Test checks that the stores which open returns keep every rule of store.Store. Each call of open
// returns an empty store of its own; Test closes it, and closing it again must do no harm. Durability
// is for the implementation to test: it needs a process that dies.
func Test(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			c.test(t, kit{is.New(t), s, t.Context()})
		})
	}
}

var cases = []struct {
	rule string
	test func(t *testing.T, k kit)
}{
	{"get returns what was put", getReturnsPut},
	{"put replaces", putReplaces},
	{"delete removes and forgives", deleteForgives},
	{"an empty value is a value", emptyValue},
	{"any bytes are a key", anyBytes},
	{"buckets are apart", bucketsApart},
	{"callers own what they pass and get", callersOwn},
	{"limits hold", limits},
	{"range selects and orders", rangeSelects},
	{"range passes page borders", rangePages},
	{"range stops when the loop does", rangeStops},
	{"the loop of a range may write", rangeWrites},
	{"update sees its own writes", updateSeesItself},
	{"an error rolls back", errorRollsBack},
	{"a panic rolls back and goes on", panicRollsBack},
	{"leaving the goroutine rolls back", goexitRollsBack},
	{"rolling back spares the others", rollbackSparesOthers},
	{"update runs fn exactly once", exactlyOnce},
	{"updates are serializable", serializable},
	{"a view is consistent", viewConsistent},
	{"a view keeps its state", viewKeeps},
	{"a view never waits for an update", viewNeverWaits},
	{"a view cannot write", viewReadOnly},
	{"a transaction ends with its function", txEnds},
	{"an ended context withdraws", contextEnds},
	{"a context that ends in fn changes nothing", contextInside},
	{"close ends the store", closes},
	{"close lets an update finish", closeWaits},
}

// kit is what a case works with.
type kit struct {
	*is.I
	s   store.Store
	ctx context.Context
}

func (k kit) update(fn func(tx store.Tx) error) {
	k.Helper()
	k.NoErr(k.s.Update(k.ctx, fn))
}

func (k kit) view(fn func(tx store.Tx) error) {
	k.Helper()
	k.NoErr(k.s.View(k.ctx, fn))
}

// put stores pairs of key and value in bucket b.
func (k kit) put(pairs ...string) {
	k.Helper()
	k.update(func(tx store.Tx) error {
		for i := 0; i < len(pairs); i += 2 {
			if err := tx.Put("b", pairs[i], []byte(pairs[i+1])); err != nil {
				return err
			}
		}
		return nil
	})
}

// get reads bucket b outside of any other transaction; "-" is ErrNotFound.
func (k kit) get(key string) (value string) {
	k.Helper()
	k.view(func(tx store.Tx) error {
		value = read(k, tx, key)
		return nil
	})
	return value
}

func read(k kit, tx store.Tx, key string) string {
	k.Helper()
	v, err := tx.Get("b", key)
	if errors.Is(err, store.ErrNotFound) {
		return "-"
	}
	k.NoErr(err)
	return string(v)
}

// keys lists what a range of bucket b yields.
func (k kit) keys(r store.Range) (keys []string) {
	k.Helper()
	k.view(func(tx store.Tx) error {
		for e, err := range tx.Range("b", r) {
			if err != nil {
				return err
			}
			keys = append(keys, e.Key)
		}
		return nil
	})
	return keys
}

func getReturnsPut(t *testing.T, k kit) {
	k.Equal(k.get("a"), "-")
	k.put("a", "1")
	k.Equal(k.get("a"), "1")
}

func putReplaces(t *testing.T, k kit) {
	k.put("a", "1", "a", "2")
	k.Equal(k.get("a"), "2")
	k.put("a", "3")
	k.Equal(k.get("a"), "3")
	k.Equal(k.keys(store.Range{}), []string{"a"})
}

func deleteForgives(t *testing.T, k kit) {
	k.put("a", "1", "b", "2")
	k.update(func(tx store.Tx) error { return errors.Join(tx.Delete("b", "a"), tx.Delete("b", "none")) })
	k.Equal(k.get("a"), "-")
	k.Equal(k.get("b"), "2")
}

func emptyValue(t *testing.T, k kit) {
	k.update(func(tx store.Tx) error { return errors.Join(tx.Put("b", "a", nil), tx.Put("b", "b", []byte{})) })
	k.view(func(tx store.Tx) error {
		for _, key := range []string{"a", "b"} {
			v, err := tx.Get("b", key)
			k.NoErr(err)
			k.True(v != nil) // an empty value is not nil
			k.Equal(len(v), 0)
		}
		for e, err := range tx.Range("b", store.Range{}) {
			k.NoErr(err)
			k.True(e.Value != nil)
		}
		return nil
	})
}

func anyBytes(t *testing.T, k kit) {
	keys := []string{"\x00", "\x00\x00", "\x00\x01", "A", "Z", "a", "a\x00", "a\x00b", "a\xff", "a\xff\xff", "b", "é", "\xfe", "\xff", "\xff\x00", "\xff\xff"}
	for _, key := range slices.Backward(keys) {
		k.put(key, key)
	}
	k.Equal(k.keys(store.Range{}), keys) // in the order of their bytes
	for _, key := range keys {
		k.Equal(k.get(key), key)
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	k.put(string(all), string(all))
	k.Equal(k.get(string(all)), string(all))
}

func bucketsApart(t *testing.T, k kit) {
	k.update(func(tx store.Tx) error {
		return errors.Join(tx.Put("a", "k", []byte("1")), tx.Put("b", "k", []byte("2")), tx.Put("ba", "k", []byte("3")), tx.Put("B", "k", []byte("4")))
	})
	k.Equal(k.get("k"), "2")
	k.Equal(k.keys(store.Range{}), []string{"k"})
	k.Equal(k.keys(store.Range{Reverse: true}), []string{"k"})
	k.update(func(tx store.Tx) error { return tx.Delete("a", "k") })
	k.Equal(k.get("k"), "2")
}

func callersOwn(t *testing.T, k kit) {
	value := []byte("1")
	k.update(func(tx store.Tx) error {
		err := tx.Put("b", "a", value)
		value[0] = 'x'
		return err
	})
	k.Equal(k.get("a"), "1")
	k.view(func(tx store.Tx) error {
		v, err := tx.Get("b", "a")
		v[0] = 'x'
		for e := range tx.Range("b", store.Range{}) {
			e.Value[0] = 'x'
		}
		k.Equal(read(k, tx, "a"), "1")
		return err
	})
	k.Equal(k.get("a"), "1")
}

func limits(t *testing.T, k kit) {
	longest, biggest := strings.Repeat("k", store.MaxKey), make([]byte, store.MaxValue)
	bucket := strings.Repeat("b", store.MaxBucket)
	k.update(func(tx store.Tx) error { return tx.Put(bucket, longest, biggest) })
	k.view(func(tx store.Tx) error {
		v, err := tx.Get(bucket, longest)
		k.Equal(len(v), store.MaxValue)
		return err
	})
	for _, c := range []struct{ part, bucket, key string }{
		{"bucket", "", "k"}, {"bucket", bucket + "b", "k"}, {"bucket", "a b", "k"}, {"bucket", "a\x00", "k"}, {"bucket", "é", "k"},
		{"key", "b", ""}, {"key", "b", longest + "k"},
	} {
		invalid := func(err error) {
			k.Helper()
			var e *store.InvalidError
			k.True(errors.As(err, &e)) // an InvalidError
			k.Equal(e.Part, c.part)
		}
		k.update(func(tx store.Tx) error {
			_, err := tx.Get(c.bucket, c.key)
			invalid(err)
			invalid(tx.Put(c.bucket, c.key, nil))
			invalid(tx.Delete(c.bucket, c.key))
			if c.part == "bucket" {
				for _, err := range tx.Range(c.bucket, store.Range{}) {
					invalid(err)
				}
			}
			return nil // a mistake alone does not end the transaction
		})
	}
	k.update(func(tx store.Tx) error {
		var e *store.InvalidError
		k.True(errors.As(tx.Put("b", "k", append(biggest, 0)), &e))
		k.Equal(e.Part, "value")
		return tx.Put("b", "after", nil)
	})
	k.Equal(k.keys(store.Range{}), []string{"after"})
}

func rangeSelects(t *testing.T, k kit) {
	k.Equal(k.keys(store.Range{}), nil)
	k.put("a", "", "a\x00", "", "ab", "", "b", "", "b\xff", "", "b\xff\xff", "", "b\xff\xffc", "", "c", "", "\xff", "", "\xff\xff", "")
	k.update(func(tx store.Tx) error { return errors.Join(tx.Put("a", "z", nil), tx.Put("c", "a", nil)) })
	for _, c := range []struct {
		name string
		r    store.Range
		want string
	}{
		{"all", store.Range{}, `a a\x00 ab b b\xff b\xff\xff b\xff\xffc c \xff \xff\xff`},
		{"prefix", store.Range{Prefix: "a"}, `a a\x00 ab`},
		{"prefix ending in 0xff", store.Range{Prefix: "b\xff"}, `b\xff b\xff\xff b\xff\xffc`},
		{"prefix ending in two 0xff", store.Range{Prefix: "b\xff\xff"}, `b\xff\xff b\xff\xffc`},
		{"prefix of 0xff only", store.Range{Prefix: "\xff"}, `\xff \xff\xff`},
		{"prefix of nothing", store.Range{Prefix: "x"}, ``},
		{"from is inclusive", store.Range{From: "b"}, `b b\xff b\xff\xff b\xff\xffc c \xff \xff\xff`},
		{"after is exclusive", store.Range{After: "a"}, `a\x00 ab b b\xff b\xff\xff b\xff\xffc c \xff \xff\xff`},
		{"to is exclusive", store.Range{To: "b"}, `a a\x00 ab`},
		{"from and to", store.Range{From: "ab", To: "c"}, `ab b b\xff b\xff\xff b\xff\xffc`},
		{"from and after", store.Range{From: "ab", After: "b"}, `b\xff b\xff\xff b\xff\xffc c \xff \xff\xff`},
		{"from behind to", store.Range{From: "c", To: "a"}, ``},
		{"prefix and to beyond it", store.Range{Prefix: "a", To: "c"}, `a a\x00 ab`},
		{"prefix and to inside it", store.Range{Prefix: "b", To: "b\xff\xff"}, `b b\xff`},
		{"prefix and after inside it", store.Range{Prefix: "a", After: "a"}, `a\x00 ab`},
		{"prefix and after before it", store.Range{Prefix: "b\xff", After: "a"}, `b\xff b\xff\xff b\xff\xffc`},
		{"limit", store.Range{Limit: 2}, `a a\x00`},
		{"limit beyond the end", store.Range{From: "c", Limit: 20}, `c \xff \xff\xff`},
		{"reverse", store.Range{Reverse: true}, `\xff\xff \xff c b\xff\xffc b\xff\xff b\xff b ab a\x00 a`},
		{"reverse with limit", store.Range{Reverse: true, Limit: 2}, `\xff\xff \xff`},
		{"reverse before to", store.Range{Reverse: true, To: "b\xff", Limit: 2}, `b ab`},
		{"reverse before a to that is no key", store.Range{Reverse: true, To: "bb", Limit: 1}, `b`},
		{"reverse prefix", store.Range{Reverse: true, Prefix: "b\xff"}, `b\xff\xffc b\xff\xff b\xff`},
		{"reverse prefix of 0xff only", store.Range{Reverse: true, Prefix: "\xff"}, `\xff\xff \xff`},
		{"reverse from", store.Range{Reverse: true, From: "c"}, `\xff\xff \xff c`},
		{"reverse after", store.Range{Reverse: true, After: "c"}, `\xff\xff \xff`},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := kit{is.New(t), k.s, k.ctx}
			keys := k.keys(c.r)
			for i, key := range keys {
				keys[i] = strings.Trim(strconv.QuoteToASCII(key), `"`)
			}
			k.Equal(strings.Join(keys, " "), c.want)
		})
	}
}

// seq is a key for append-only buckets: big-endian, so that keys sort as their numbers do.
func seq(n int) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n))) }

func rangePages(t *testing.T, k kit) {
	const n = 1000
	k.update(func(tx store.Tx) error {
		for i := range n {
			if err := tx.Put("b", seq(i), []byte(strconv.Itoa(i))); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range []struct {
		r           store.Range
		first, last int
	}{
		{store.Range{}, 0, n - 1},
		{store.Range{Reverse: true}, n - 1, 0},
		{store.Range{After: seq(499)}, 500, n - 1},
		{store.Range{To: seq(500), Reverse: true}, 499, 0},
		{store.Range{From: seq(100), Limit: 333}, 100, 432},
	} {
		k.view(func(tx store.Tx) error {
			step, want := 1, c.first
			if c.r.Reverse {
				step = -1
			}
			for e, err := range tx.Range("b", c.r) {
				k.NoErr(err)
				k.Equal(e.Key, seq(want))
				k.Equal(string(e.Value), strconv.Itoa(want))
				want += step
			}
			k.Equal(want-step, c.last)
			return nil
		})
	}
}

func rangeStops(t *testing.T, k kit) {
	k.put("a", "1", "b", "2", "c", "3")
	k.update(func(tx store.Tx) error {
		for e, err := range tx.Range("b", store.Range{}) {
			k.NoErr(err)
			if e.Key == "b" {
				break
			}
		}
		for a, err := range tx.Range("b", store.Range{}) { // ranges nest
			k.NoErr(err)
			n := 0
			for _, err := range tx.Range("b", store.Range{From: a.Key}) {
				k.NoErr(err)
				n++
			}
			k.Equal(n, int('d'-a.Key[0]))
		}
		return tx.Put("b", "d", nil) // and leave nothing open
	})
}

func rangeWrites(t *testing.T, k kit) {
	const n = 300
	for i := range n {
		k.put(seq(i), "x")
	}
	k.update(func(tx store.Tx) error {
		var seen []string
		for e, err := range tx.Range("b", store.Range{}) {
			k.NoErr(err)
			seen = append(seen, e.Key)
			k.NoErr(tx.Delete("b", e.Key))
			k.NoErr(tx.Put("b", "\xff"+e.Key, []byte("moved")))
			if len(seen) > 3*n {
				break // it chases its own writes, which it may
			}
		}
		k.True(slices.IsSorted(seen))
		k.Equal(len(slices.Compact(slices.Clone(seen))), len(seen)) // no key twice
		return nil
	})
	for i := range n {
		k.Equal(k.get(seq(i)), "-")
	}
}

func updateSeesItself(t *testing.T, k kit) {
	k.put("a", "1", "b", "2")
	k.update(func(tx store.Tx) error {
		k.NoErr(tx.Put("b", "c", []byte("3")))
		k.NoErr(tx.Delete("b", "a"))
		k.Equal(read(k, tx, "c"), "3")
		k.Equal(read(k, tx, "a"), "-")
		var keys []string
		for e, err := range tx.Range("b", store.Range{}) {
			k.NoErr(err)
			keys = append(keys, e.Key)
		}
		k.Equal(keys, []string{"b", "c"})
		return nil
	})
}

func errorRollsBack(t *testing.T, k kit) {
	k.put("a", "1", "b", "2")
	mine := errors.New("mine")
	err := k.s.Update(k.ctx, func(tx store.Tx) error {
		return errors.Join(tx.Put("b", "a", []byte("x")), tx.Delete("b", "b"), tx.Put("b", "c", nil), mine)
	})
	k.True(errors.Is(err, mine)) // fn's error comes back
	k.Equal(k.get("a"), "1")
	k.Equal(k.get("b"), "2")
	k.Equal(k.get("c"), "-")
	k.put("c", "3") // and the store goes on
	k.Equal(k.get("c"), "3")
}

func panicRollsBack(t *testing.T, k kit) {
	panics := func(run func(context.Context, func(store.Tx) error) error, write bool) (value any) {
		defer func() { value = recover() }()
		_ = run(k.ctx, func(tx store.Tx) error {
			if write {
				k.NoErr(tx.Put("b", "a", []byte("x")))
			}
			panic("mine")
		})
		return nil
	}
	for range 10 { // more often than a store has connections
		k.Equal(panics(k.s.Update, true), "mine")
		k.Equal(panics(k.s.View, false), "mine")
	}
	k.Equal(k.get("a"), "-")
	k.put("a", "1")
	k.Equal(k.get("a"), "1")
}

func goexitRollsBack(t *testing.T, k kit) {
	for range 10 {
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = k.s.Update(k.ctx, func(tx store.Tx) error {
				if err := tx.Put("b", "a", []byte("x")); err != nil {
					t.Error(err)
				}
				runtime.Goexit() // as t.FailNow does
				return nil
			})
		})
		wg.Go(func() {
			_ = k.s.View(k.ctx, func(store.Tx) error {
				runtime.Goexit()
				return nil
			})
		})
		wg.Wait()
	}
	k.Equal(k.get("a"), "-")
	k.put("a", "1")
	k.Equal(k.get("a"), "1")
}

func rollbackSparesOthers(t *testing.T, k kit) {
	const n = 60
	mine := errors.New("mine")
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			defer func() { _ = recover() }()
			err := k.s.Update(k.ctx, func(tx store.Tx) error {
				if err := tx.Put("b", seq(i), nil); err != nil {
					return err
				}
				switch i % 3 {
				case 1:
					return mine
				case 2:
					panic(mine)
				}
				return nil
			})
			if want := i%3 == 1; errors.Is(err, mine) != want || !want && err != nil {
				t.Errorf("update %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	var want []string
	for i := 0; i < n; i += 3 {
		want = append(want, seq(i))
	}
	k.Equal(k.keys(store.Range{}), want)
}

func exactlyOnce(t *testing.T, k kit) {
	ran := 0
	k.update(func(tx store.Tx) error { ran++; return tx.Put("b", "a", nil) })
	k.True(k.s.Update(k.ctx, func(tx store.Tx) error { ran++; return errors.New("mine") }) != nil)
	k.view(func(tx store.Tx) error { ran++; return nil })
	k.Equal(ran, 3)
}

func serializable(t *testing.T, k kit) {
	const workers, rounds = 8, 40
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				if err := k.s.Update(k.ctx, func(tx store.Tx) error { return increment(tx, "n") }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	k.Equal(k.get("n"), strconv.Itoa(workers*rounds)) // no update was lost
}

func increment(tx store.Tx, key string) error {
	v, err := tx.Get("b", key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	n, _ := strconv.Atoi(string(v))
	return tx.Put("b", key, []byte(strconv.Itoa(n+1)))
}

func viewConsistent(t *testing.T, k kit) {
	k.put("x", "0", "y", "0")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := k.s.Update(k.ctx, func(tx store.Tx) error { return errors.Join(increment(tx, "x"), increment(tx, "y")) }); err != nil {
				t.Error(err)
			}
		}
	})
	for range 300 {
		k.view(func(tx store.Tx) error {
			k.Equal(read(k, tx, "x"), read(k, tx, "y")) // never half of an update
			return nil
		})
	}
	close(stop)
	wg.Wait()
}

func viewKeeps(t *testing.T, k kit) {
	k.put("a", "1")
	k.view(func(tx store.Tx) error {
		k.Equal(read(k, tx, "a"), "1")
		changed := make(chan error)
		go func() {
			changed <- k.s.Update(k.ctx, func(tx store.Tx) error {
				return errors.Join(tx.Put("b", "a", []byte("2")), tx.Put("b", "b", nil))
			})
		}()
		k.NoErr(<-changed) // a view does not hold up an update
		k.Equal(read(k, tx, "a"), "1")
		k.Equal(read(k, tx, "b"), "-")
		for e, err := range tx.Range("b", store.Range{}) {
			k.NoErr(err)
			k.Equal(e.Key+string(e.Value), "a1")
		}
		return nil
	})
	k.Equal(k.get("a"), "2") // the next view sees it
}

func viewNeverWaits(t *testing.T, k kit) {
	k.put("a", "1")
	k.update(func(tx store.Tx) error {
		k.NoErr(tx.Put("b", "a", []byte("2")))
		seen := make(chan string)
		go func() {
			var v []byte
			_ = k.s.View(k.ctx, func(tx store.Tx) (err error) { v, err = tx.Get("b", "a"); return err })
			seen <- string(v)
		}()
		k.Equal(<-seen, "1") // nor sees what is not committed
		return nil
	})
	k.Equal(k.get("a"), "2")
}

func viewReadOnly(t *testing.T, k kit) {
	k.put("a", "1")
	k.view(func(tx store.Tx) error {
		k.True(errors.Is(tx.Put("b", "a", nil), store.ErrReadOnly))
		k.True(errors.Is(tx.Delete("b", "a"), store.ErrReadOnly))
		return nil
	})
	mine := errors.New("mine")
	k.True(errors.Is(k.s.View(k.ctx, func(store.Tx) error { return mine }), mine))
	k.Equal(k.get("a"), "1")
}

func txEnds(t *testing.T, k kit) {
	var kept []store.Tx
	k.put("a", "1")
	keep := func(tx store.Tx) error { kept = append(kept, tx); return nil }
	k.update(keep)
	k.view(keep)
	for _, tx := range kept {
		_, err := tx.Get("b", "a")
		k.True(errors.Is(err, store.ErrDone))
		k.True(errors.Is(tx.Put("b", "a", nil), store.ErrDone))
		k.True(errors.Is(tx.Delete("b", "a"), store.ErrDone))
		for _, err := range tx.Range("b", store.Range{}) {
			k.True(errors.Is(err, store.ErrDone))
		}
	}
	k.Equal(k.get("a"), "1")
}

func contextEnds(t *testing.T, k kit) {
	ended, cancel := context.WithCancel(k.ctx)
	cancel()
	never := func(store.Tx) error { t.Error("fn ran"); return nil }
	k.True(errors.Is(k.s.Update(ended, never), context.Canceled))
	k.True(errors.Is(k.s.View(ended, never), context.Canceled))

	// Queued behind a running update.
	waiting, cancel := context.WithCancel(k.ctx)
	k.update(func(tx store.Tx) error {
		withdrawn := make(chan error)
		go func() { withdrawn <- k.s.Update(waiting, never) }()
		cancel()
		k.True(errors.Is(<-withdrawn, context.Canceled)) // before the running one is over
		return tx.Put("b", "a", []byte("1"))
	})
	k.Equal(k.get("a"), "1")
}

func contextInside(t *testing.T, k kit) {
	ctx, cancel := context.WithCancel(k.ctx)
	k.NoErr(k.s.Update(ctx, func(tx store.Tx) error {
		k.NoErr(tx.Put("b", "a", []byte("1")))
		cancel()
		return tx.Put("b", "b", []byte("2"))
	}))
	k.Equal(k.get("a"), "1")
	k.Equal(k.get("b"), "2")
}

func closes(t *testing.T, k kit) {
	k.put("a", "1")
	k.NoErr(k.s.Close())
	k.NoErr(k.s.Close())
	never := func(store.Tx) error { t.Error("fn ran"); return nil }
	k.True(errors.Is(k.s.Update(k.ctx, never), store.ErrClosed))
	k.True(errors.Is(k.s.View(k.ctx, never), store.ErrClosed))
}

func closeWaits(t *testing.T, k kit) {
	closed := make(chan error, 1)
	k.update(func(tx store.Tx) error {
		started := make(chan struct{})
		go func() { close(started); closed <- k.s.Close() }()
		<-started
		for range 100 {
			runtime.Gosched() // let Close get as far as it can
		}
		select {
		case err := <-closed:
			t.Errorf("Close returned %v while an update ran", err)
		default:
		}
		return tx.Put("b", "a", nil)
	})
	k.NoErr(<-closed)
	// What was queued with the close is either done or refused, and Update tells which.
	err := k.s.Update(k.ctx, func(tx store.Tx) error { return nil })
	k.True(errors.Is(err, store.ErrClosed))
}
