package token_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/token"
)

func Example() {
	ctx := context.Background()
	tokens, err := token.OpenTokens(ctx, store.Memory(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tokens.Close(ctx)

	secret, _, err := tokens.Create(ctx, "ci", token.Read, time.Time{})
	fmt.Println(len(secret), err) // shown once

	_, hash, err := token.Parse(secret) // from a request
	fmt.Println(err)
	t, ended, err := tokens.Lookup(hash)
	fmt.Println(t.Name, t.Scope, err)

	_ = tokens.Revoke(ctx, "ci")
	<-ended
	_, _, err = tokens.Lookup(hash)
	fmt.Println(err)
	// Output:
	// 47 <nil>
	// <nil>
	// ci read <nil>
	// token: unknown or revoked; make a new one
}

func openTokens(t testing.TB, s store.Store) *token.Tokens {
	t.Helper()
	tokens, err := token.OpenTokens(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tokens.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tokens
}

func openHosts(t testing.TB, s store.Store) *token.Hosts {
	t.Helper()
	hosts, err := token.OpenHosts(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hosts.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return hosts
}

func hashOf(t testing.TB, secret string) token.Hash {
	t.Helper()
	_, hash, err := token.Parse(secret)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func ended(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestTokensOutlastTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := store.Memory()
		tokens := openTokens(t, s)
		created := time.Now().UTC()
		secret, made, err := tokens.Create(t.Context(), "ci", token.Read, created.Add(time.Hour))
		is.NoErr(err)
		is.Equal(made, token.Token{Name: "ci", Scope: token.Read, Created: created, Expires: created.Add(time.Hour)})
		is.NoErr(tokens.Close(t.Context()))

		tokens = openTokens(t, s)
		is.Equal(tokens.List(), []token.Token{made})
		got, over, err := tokens.Lookup(hashOf(t, secret))
		is.NoErr(err)
		is.Equal(got.Name, "ci")
		is.True(!ended(over))
	})
}

func TestOnlyTheHashIsStored(t *testing.T) {
	is := is.New(t)
	s := store.Memory()
	secret, _, err := openTokens(t, s).Create(t.Context(), "a", token.All, time.Time{})
	is.NoErr(err)
	key, _, err := openHosts(t, s).Enroll(t.Context(), "b", true)
	is.NoErr(err)
	is.NoErr(s.View(t.Context(), func(tx store.Tx) error {
		n := 0
		for _, bucket := range []string{"kernel/tokens", "kernel/hosts"} {
			for e, err := range tx.Range(bucket, store.Range{}) {
				is.NoErr(err)
				for _, hidden := range []string{secret, secret[4:], key, key[4:]} {
					is.True(!strings.Contains(e.Key+string(e.Value), hidden))
				}
				n++
			}
		}
		is.Equal(n, 2)
		return nil
	}))
}

func TestCreateRefuses(t *testing.T) {
	is := is.New(t)
	tokens := openTokens(t, store.Memory())
	for _, c := range []struct {
		field, name string
		scope       token.Scope
		expires     time.Time
	}{
		{"name", "", token.All, time.Time{}},
		{"name", "-a", token.All, time.Time{}},
		{"name", "a b", token.All, time.Time{}},
		{"name", "host:1", token.All, time.Time{}},
		{"name", "ä", token.All, time.Time{}},
		{"name", "a\n", token.All, time.Time{}},
		{"name", strings.Repeat("a", 65), token.All, time.Time{}},
		{"name", "local", token.All, time.Time{}},
		{"name", "anonymous", token.All, time.Time{}},
		{"scope", "a", "", time.Time{}},
		{"scope", "a", "write", time.Time{}},
		{"expires", "a", token.All, time.Now().Add(-time.Second)},
	} {
		secret, _, err := tokens.Create(t.Context(), c.name, c.scope, c.expires)
		var invalid *token.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != c.field || secret != "" {
			t.Errorf("%q %q %v: %q, %v", c.name, c.scope, c.expires, secret, err)
		}
	}
	is.Equal(len(tokens.List()), 0)
	_, _, err := tokens.Create(t.Context(), strings.Repeat("a", 64), token.All, time.Time{})
	is.NoErr(err)
}

func TestNamesAreTakenOnce(t *testing.T) {
	is := is.New(t)
	tokens := openTokens(t, store.Memory())
	first, _, err := tokens.Create(t.Context(), "a", token.All, time.Time{})
	is.NoErr(err)
	_, _, err = tokens.Create(t.Context(), "a", token.Read, time.Time{})
	is.True(errors.Is(err, token.ErrExists))
	is.True(strings.Contains(err.Error(), "token a"))
	_, _, err = tokens.Lookup(hashOf(t, first)) // which did the first no harm
	is.NoErr(err)

	is.NoErr(tokens.Revoke(t.Context(), "a"))
	second, _, err := tokens.Create(t.Context(), "a", token.Read, time.Time{})
	is.NoErr(err)
	_, _, err = tokens.Lookup(hashOf(t, first))
	is.True(errors.Is(err, token.ErrUnknown)) // a name given anew does not revive it
	_, _, err = tokens.Lookup(hashOf(t, second))
	is.NoErr(err)
}

func TestRevokeEndsWhatWasAdmitted(t *testing.T) {
	is := is.New(t)
	s := store.Memory()
	tokens := openTokens(t, s)
	a, _, err := tokens.Create(t.Context(), "a", token.All, time.Time{})
	is.NoErr(err)
	b, _, err := tokens.Create(t.Context(), "b", token.All, time.Now().Add(time.Hour))
	is.NoErr(err)
	_, overA, err := tokens.Lookup(hashOf(t, a))
	is.NoErr(err)
	_, overB, err := tokens.Lookup(hashOf(t, b))
	is.NoErr(err)

	is.NoErr(tokens.Revoke(t.Context(), "a"))
	is.True(ended(overA))
	is.True(!ended(overB)) // and nobody else's
	_, _, err = tokens.Lookup(hashOf(t, a))
	is.True(errors.Is(err, token.ErrUnknown))
	is.NoErr(tokens.Revoke(t.Context(), "b"))
	is.True(ended(overB))

	for _, name := range []string{"a", "never", "", "a b", strings.Repeat("x", 5000)} {
		is.True(errors.Is(tokens.Revoke(t.Context(), name), token.ErrNotFound))
	}
	is.NoErr(tokens.Close(t.Context())) // which flushes, and revives nothing
	is.Equal(len(openTokens(t, s).List()), 0)
}

func TestTokensExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := store.Memory()
		tokens := openTokens(t, s)
		secret, _, err := tokens.Create(t.Context(), "a", token.All, time.Now().Add(time.Hour))
		is.NoErr(err)
		_, over, err := tokens.Lookup(hashOf(t, secret))
		is.NoErr(err)
		<-time.After(time.Hour - time.Second)
		is.True(!ended(over))
		<-time.After(time.Second)
		synctest.Wait()
		is.True(ended(over)) // streams end with it
		_, _, err = tokens.Lookup(hashOf(t, secret))
		is.True(errors.Is(err, token.ErrExpired))
		is.Equal(len(tokens.List()), 1) // it is still listed, and keeps its name
		_, _, err = tokens.Create(t.Context(), "a", token.All, time.Time{})
		is.True(errors.Is(err, token.ErrExists))

		_, _, err = openTokens(t, s).Lookup(hashOf(t, secret)) // nor does a restart revive it
		is.True(errors.Is(err, token.ErrExpired))
	})
}

// counting counts the transactions that reach a store.
type counting struct {
	store.Store
	updates, views atomic.Int64
	fail           atomic.Pointer[error] // of Update; nil: none
}

func (c *counting) Update(ctx context.Context, fn func(store.Tx) error) error {
	c.updates.Add(1)
	if err := c.fail.Load(); err != nil {
		return *err
	}
	return c.Store.Update(ctx, fn)
}

func (c *counting) View(ctx context.Context, fn func(store.Tx) error) error {
	c.views.Add(1)
	return c.Store.View(ctx, fn)
}

func TestLastUseIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := &counting{Store: store.Memory()}
		tokens := openTokens(t, s)
		secret, made, err := tokens.Create(t.Context(), "a", token.All, time.Time{})
		is.NoErr(err)
		is.True(made.LastUse.IsZero())
		_, _, err = tokens.Create(t.Context(), "b", token.All, time.Time{})
		is.NoErr(err)
		before := s.updates.Load() + s.views.Load()

		hash := hashOf(t, secret)
		used := time.Now().UTC()
		for range 1000 {
			_, _, err := tokens.Lookup(hash)
			is.NoErr(err)
		}
		is.Equal(tokens.List()[0].LastUse, used)          // at once in the list
		is.Equal(s.updates.Load()+s.views.Load(), before) // and nothing in the store
		<-time.After(61 * time.Second)
		synctest.Wait()
		is.Equal(s.updates.Load()+s.views.Load(), before+1)
		<-time.After(5 * time.Minute)
		synctest.Wait()
		is.Equal(s.updates.Load()+s.views.Load(), before+1) // and not again for nothing

		used = time.Now().UTC()
		_, _, err = tokens.Lookup(hash)
		is.NoErr(err)
		full := errors.New("full")
		s.fail.Store(&full)
		is.True(tokens.Flush(t.Context()) != nil)
		s.fail.Store(nil)
		is.NoErr(tokens.Close(t.Context())) // tries again
		list := openTokens(t, s).List()
		is.Equal(list[0].LastUse, used)
		is.True(list[1].LastUse.IsZero())
	})
}

// TestFlushRevivesNothing changes tokens behind the back of a flush, as a revocation between its read
// and its write would.
func TestFlushRevivesNothing(t *testing.T) {
	is := is.New(t)
	s := store.Memory()
	tokens := openTokens(t, s)
	var hashes []token.Hash
	for _, name := range []string{"gone", "anew"} {
		secret, _, err := tokens.Create(t.Context(), name, token.All, time.Time{})
		is.NoErr(err)
		hashes = append(hashes, hashOf(t, secret))
	}
	other := openTokens(t, s)
	is.NoErr(other.Revoke(t.Context(), "gone"))
	is.NoErr(other.Revoke(t.Context(), "anew"))
	_, _, err := other.Create(t.Context(), "anew", token.Read, time.Time{})
	is.NoErr(err)
	for _, hash := range hashes {
		_, _, err := tokens.Lookup(hash)
		is.NoErr(err)
	}
	is.NoErr(tokens.Flush(t.Context()))
	list := openTokens(t, s).List()
	is.Equal(len(list), 1)
	is.Equal(list[0].Scope, token.Read)
	is.True(list[0].LastUse.IsZero())
}

func TestFailedStoreChangesNothing(t *testing.T) {
	is := is.New(t)
	s := &counting{Store: store.Memory()}
	tokens := openTokens(t, s)
	secret, _, err := tokens.Create(t.Context(), "a", token.All, time.Time{})
	is.NoErr(err)
	var noSpace error = &store.FullError{Path: "bb.db", Err: errors.New("full")}
	s.fail.Store(&noSpace)
	got, _, err := tokens.Create(t.Context(), "b", token.All, time.Time{})
	var full *store.FullError
	is.True(errors.As(err, &full))
	is.Equal(got, "")
	is.True(errors.As(tokens.Revoke(t.Context(), "a"), &full))
	is.Equal(len(tokens.List()), 1)
	_, over, err := tokens.Lookup(hashOf(t, secret))
	is.NoErr(err)
	is.True(!ended(over))
	s.fail.Store(nil)
	is.NoErr(tokens.Revoke(t.Context(), "a"))
}

func TestUnreadableRecordSparesTheOthers(t *testing.T) {
	is := is.New(t)
	s := store.Memory()
	secret, _, err := openTokens(t, s).Create(t.Context(), "good", token.All, time.Time{})
	is.NoErr(err)
	is.NoErr(s.Update(t.Context(), func(tx store.Tx) error { return tx.Put("kernel/tokens", "bad", []byte("{")) }))
	tokens := openTokens(t, s)
	is.Equal(len(tokens.List()), 1)
	_, _, err = tokens.Lookup(hashOf(t, secret))
	is.NoErr(err)
	is.NoErr(tokens.Revoke(t.Context(), "bad")) // as the log advises
	_, _, err = tokens.Create(t.Context(), "bad", token.All, time.Time{})
	is.NoErr(err)
}

func TestConcurrentChanges(t *testing.T) {
	is := is.New(t)
	s := store.Memory()
	tokens := openTokens(t, s)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for range 50 {
				name := fmt.Sprintf("shared-%d", w%2)
				secret, _, err := tokens.Create(t.Context(), name, token.All, time.Time{})
				if err == nil {
					_, _, _ = tokens.Lookup(hashOf(t, secret))
				} else if !errors.Is(err, token.ErrExists) {
					t.Error(err)
				}
				_ = tokens.List()
				if err := tokens.Flush(t.Context()); err != nil {
					t.Error(err)
				}
				if err := tokens.Revoke(t.Context(), name); err != nil && !errors.Is(err, token.ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	is.Equal(len(tokens.List()), len(openTokens(t, s).List())) // memory and store agree
}

func TestCancelledChange(t *testing.T) {
	is := is.New(t)
	tokens := openTokens(t, store.Memory())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := tokens.Create(ctx, "a", token.All, time.Time{})
	is.True(errors.Is(err, context.Canceled))
	is.True(errors.Is(tokens.Revoke(ctx, "a"), context.Canceled))
	_, err = token.OpenTokens(ctx, store.Memory(), nil)
	is.True(errors.Is(err, context.Canceled))
}

func TestHosts(t *testing.T) {
	is := is.New(t)
	s := store.Memory()
	hosts := openHosts(t, s)
	key, laptop, err := hosts.Enroll(t.Context(), "laptop", true)
	is.NoErr(err)
	is.True(strings.HasPrefix(key, "bbh_"))
	_, desk, err := hosts.Enroll(t.Context(), "desk", false)
	is.NoErr(err)
	is.True(laptop.ID != desk.ID && laptop.ID != "")
	is.True(laptop.Proxy && !desk.Proxy)

	got, _, err := hosts.Lookup(hashOf(t, key))
	is.NoErr(err)
	is.Equal(got.ID, laptop.ID)
	is.True(!got.LastUse.IsZero())
	for _, which := range []string{"laptop", laptop.ID} {
		got, err := hosts.Resolve(which)
		is.NoErr(err)
		is.Equal(got.ID, laptop.ID)
	}
	for _, which := range []string{"", "none", "H", strings.ToLower(laptop.ID)} {
		_, err := hosts.Resolve(which)
		is.True(errors.Is(err, token.ErrNotFound))
		is.True(errors.Is(hosts.Remove(t.Context(), which), token.ErrNotFound))
	}
	for _, name := range []string{"laptop", laptop.ID} { // an id is not free as a name
		_, _, err = hosts.Enroll(t.Context(), name, false)
		is.True(errors.Is(err, token.ErrExists))
	}
	var invalid *token.InvalidError
	_, _, err = hosts.Enroll(t.Context(), "a b", false)
	is.True(errors.As(err, &invalid))

	is.NoErr(hosts.Close(t.Context()))
	hosts = openHosts(t, s)
	names := []string{}
	for _, h := range hosts.List() {
		names = append(names, h.Name)
	}
	is.True(slices.Equal(names, []string{"desk", "laptop"}))
	_, over, err := hosts.Lookup(hashOf(t, key))
	is.NoErr(err)
	is.NoErr(hosts.Remove(t.Context(), laptop.ID))
	is.True(ended(over))
	_, _, err = hosts.Lookup(hashOf(t, key))
	is.True(errors.Is(err, token.ErrUnknown))
	is.NoErr(hosts.Remove(t.Context(), "desk"))
	is.Equal(len(openHosts(t, s).List()), 0)
}

func TestSessions(t *testing.T) {
	is := is.New(t)
	var sessions token.Sessions
	a, endA := sessions.Begin(kernelcontract.Context{ThreadID: "thread-a"})
	b, endB := sessions.Begin(kernelcontract.Context{ThreadID: "thread-b"})
	is.True(strings.HasPrefix(a, "bbs_"))
	thread, overA, err := sessions.Lookup(hashOf(t, a))
	is.NoErr(err)
	is.Equal(thread.ThreadID, "thread-a")
	endA()
	endA()
	is.True(ended(overA))
	_, _, err = sessions.Lookup(hashOf(t, a))
	is.True(errors.Is(err, token.ErrUnknown))
	thread, overB, err := sessions.Lookup(hashOf(t, b))
	is.NoErr(err)
	is.Equal(thread.ThreadID, "thread-b")
	is.True(!ended(overB))
	endB()
	var other token.Sessions
	_, _, err = other.Lookup(hashOf(t, b))
	is.True(errors.Is(err, token.ErrUnknown))
}

// BenchmarkLookup stands beside a map, which knows neither expiry nor last use.
func BenchmarkLookup(b *testing.B) {
	tokens := openTokens(b, store.Memory())
	var hash token.Hash
	all := map[token.Hash]bool{}
	for i := range 100 {
		secret, _, err := tokens.Create(b.Context(), fmt.Sprint("t", i), token.All, time.Now().Add(time.Hour))
		if err != nil {
			b.Fatal(err)
		}
		hash = hashOf(b, secret)
		all[hash] = true
	}
	b.Run("tokens", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := tokens.Lookup(hash); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline map", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !all[hash] {
				b.Fatal()
			}
		}
	})
}
