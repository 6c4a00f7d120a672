package settings_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/internal/settings"
	"github.com/bb-kernel/bb/kernelcore/seal"
	"github.com/bb-kernel/bb/kernelcore/store"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// records returns what lies in a bucket.
func records(t *testing.T, s store.Store, bucket string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := s.View(t.Context(), func(tx store.Tx) error {
		for e, err := range tx.Range(bucket, store.Range{}) {
			if err != nil {
				return err
			}
			found[e.Key] = string(e.Value)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func put(t *testing.T, s store.Store, bucket, key, value string) {
	t.Helper()
	if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Put(bucket, key, []byte(value)) }); err != nil {
		t.Fatal(err)
	}
}

func TestConfig(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	s := store.Memory()
	c := settings.Config{Store: s}
	_, set, err := c.Get(ctx, "echo", "limit")
	is.NoErr(err)
	is.True(!set)
	is.NoErr(c.Unset(ctx, "echo", "limit")) // that there is none is no error

	for _, value := range []string{`9007199254740993`, `{"a":[1,null]}`, `null`} { // null is a value
		is.NoErr(c.Set(ctx, "echo", "limit", json.RawMessage(value)))
		got, set, err := c.Get(ctx, "echo", "limit")
		is.NoErr(err)
		is.True(set)
		is.Equal(string(got), value)
	}
	_, set, err = c.Get(ctx, "other", "limit")
	is.NoErr(err)
	is.True(!set) // plugins do not share settings
	is.Equal(records(t, s, settings.ConfigBucket("echo")), map[string]string{"limit": "null"})

	is.NoErr(c.Unset(ctx, "echo", "limit"))
	_, set, err = c.Get(ctx, "echo", "limit")
	is.NoErr(err)
	is.True(!set)
}

func TestSecretsRoundTrip(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	s := settings.Secrets{Store: store.Memory(), Box: seal.Memory()}
	_, found, err := s.Get(ctx, "API_KEY")
	is.NoErr(err)
	is.True(!found)
	for _, value := range []string{"hunter2", "", "line\nline\x00\xff"} {
		is.NoErr(s.Set(ctx, "API_KEY", value, now))
		got, found, err := s.Get(ctx, "API_KEY")
		is.NoErr(err)
		is.True(found)
		is.Equal(got, value)
	}
	existed, err := s.Delete(ctx, "API_KEY")
	is.NoErr(err)
	is.True(existed)
	existed, err = s.Delete(ctx, "API_KEY")
	is.NoErr(err)
	is.True(!existed)
	_, found, err = s.Get(ctx, "API_KEY")
	is.NoErr(err)
	is.True(!found)
}

func TestSecretsAreListedByNameWithoutValue(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	s := settings.Secrets{Store: store.Memory(), Box: seal.Memory()}
	list, err := s.List(ctx)
	is.NoErr(err)
	is.Equal(list, []settings.Secret{})
	for i, name := range []string{"b", "a", "B", "c"} {
		is.NoErr(s.Set(ctx, name, "value of "+name, now.Add(time.Duration(i)*time.Second)))
	}
	list, err = s.List(ctx)
	is.NoErr(err)
	is.Equal(list, []settings.Secret{{"B", now.Add(2 * time.Second)}, {"a", now.Add(time.Second)}, {"b", now}, {"c", now.Add(3 * time.Second)}})
	for _, record := range records(t, s.Store, "secrets") {
		is.True(!strings.Contains(record, "value")) // at rest neither
	}
}

func TestSecretIsSealedUnderItsName(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	s := settings.Secrets{Store: store.Memory(), Box: seal.Memory()}
	is.NoErr(s.Set(ctx, "MINE", "hunter2", now))
	put(t, s.Store, "secrets", "YOURS", records(t, s.Store, "secrets")["MINE"]) // as whoever writes the database could
	_, _, err := s.Get(ctx, "YOURS")
	is.True(errors.Is(err, seal.ErrDamaged))
	is.True(strings.Contains(err.Error(), "YOURS"))
	is.True(!strings.Contains(err.Error(), "hunter2"))
}

func TestDamagedSecretIsNamed(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	s := settings.Secrets{Store: store.Memory(), Box: seal.Memory()}
	put(t, s.Store, "secrets", "BROKEN", `{"sealed":`)
	_, _, err := s.Get(ctx, "BROKEN")
	is.True(err != nil && strings.Contains(err.Error(), "BROKEN"))
	_, err = s.List(ctx)
	is.True(err != nil && strings.Contains(err.Error(), "BROKEN"))
	is.NoErr(s.Set(ctx, "BROKEN", "new", now)) // setting it again mends it
	got, _, err := s.Get(ctx, "BROKEN")
	is.NoErr(err)
	is.Equal(got, "new")
}

func TestUnreadableSecretsAreNamed(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	s := settings.Secrets{Store: store.Memory(), Box: seal.Memory()}
	is.NoErr(s.Set(ctx, "OLD", "x", now))
	s.Box = seal.Memory() // the key file was lost
	is.NoErr(s.Set(ctx, "NEW", "y", now))
	problems, err := s.Unreadable(ctx)
	is.NoErr(err)
	is.Equal(len(problems), 1)
	is.True(errors.Is(problems[0], seal.ErrKey))
	is.True(strings.Contains(problems[0].Error(), "OLD"))
}

func TestEndedContextReadsNothing(t *testing.T) {
	is := is.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := settings.Secrets{Store: store.Memory(), Box: seal.Memory()}
	_, _, err := s.Get(ctx, "x")
	is.True(errors.Is(err, context.Canceled))
	is.True(errors.Is(s.Set(ctx, "x", "y", now), context.Canceled))
}
