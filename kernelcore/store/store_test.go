package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/store"
)

func TestRangeBounds(t *testing.T) {
	for _, c := range []struct {
		r         store.Range
		low, high string
	}{
		{store.Range{}, "", ""},
		{store.Range{Prefix: "a"}, "a", "b"},
		{store.Range{Prefix: "a\xff"}, "a\xff", "b"},
		{store.Range{Prefix: "\xff\xff"}, "\xff\xff", ""},
		{store.Range{After: "a"}, "a\x00", ""},
		{store.Range{From: "b", After: "a"}, "b", ""},
		{store.Range{Prefix: "a", To: "aa"}, "a", "aa"},
		{store.Range{Prefix: "a", To: "z"}, "a", "b"},
	} {
		low, high := c.r.Bounds()
		if low != c.low || high != c.high {
			t.Errorf("%+v: %q to %q, want %q to %q", c.r, low, high, c.low, c.high)
		}
	}
}

// FuzzRangeBounds compares the bounds of a range with the words of its definition.
func FuzzRangeBounds(f *testing.F) {
	f.Add("a", "a", "", "", "")
	f.Add("a\xff\xff", "a\xff", "a", "a\xff", "b")
	f.Add("\xff", "\xff", "", "", "")
	f.Fuzz(func(t *testing.T, key, prefix, from, after, to string) {
		if key == "" {
			return
		}
		r := store.Range{Prefix: prefix, From: from, After: after, To: to}
		want := strings.HasPrefix(key, prefix) && key >= from && (after == "" || key > after) && (to == "" || key < to)
		low, high := r.Bounds()
		if got := key >= low && (high == "" || key < high); got != want {
			t.Errorf("%q in %+v: %v, want %v (from %q to %q)", key, r, got, want, low, high)
		}
	})
}

// TestErrorsNameTheThingAndTheFix reads the message of every typed error.
func TestErrorsNameTheThingAndTheFix(t *testing.T) {
	is := is.New(t)
	cause := errors.New("the cause")
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		err  error
		says []string
	}{
		{&store.NewerError{Path: "/d/bb.db", Have: 7, Know: 3}, []string{"/d/bb.db", "format 7", "up to 3", "start the newer version"}},
		{&store.InUseError{Dir: "/d", Holder: store.Holder{PID: 12, Name: "127.0.0.1:1", Since: since}},
			[]string{"/d is in use", "process 12", "127.0.0.1:1", "2026-01-02T03:04:05Z", "stop it"}},
		{&store.InUseError{Dir: "/d"}, []string{"/d is in use by another process", "stop it"}},
		{&store.UnwritableError{Path: "/d", Err: cause}, []string{"/d", "the cause", "make it writable"}},
		{&store.FullError{Path: "/d/bb.db", Err: cause}, []string{"/d/bb.db", "the cause", "free some space"}},
		{&store.DamagedError{Path: "/d/bb.db", Err: cause}, []string{"/d/bb.db", "the cause", "restore a copy"}},
		{store.CheckKey("b", ""), []string{"key", "bucket b", "0 bytes", "1 to 1024"}},
		{store.ErrReadOnly, []string{"View", "use Update"}},
		{store.ErrDone, []string{"over", "inside its function"}},
		{store.ErrClosed, []string{"closed", "open it again"}},
	} {
		missing := slices.DeleteFunc(c.says, func(s string) bool { return strings.Contains(c.err.Error(), s) })
		if len(missing) > 0 {
			t.Errorf("%q does not say %q", c.err, missing)
		}
	}
	for _, err := range []error{&store.UnwritableError{Err: cause}, &store.FullError{Err: cause}, &store.DamagedError{Err: cause}} {
		is.True(errors.Is(err, cause))
	}
}
