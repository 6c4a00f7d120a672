package uploads_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/internal/uploads"
)

type clock struct{ now time.Time }

func rig(t *testing.T) (*uploads.Uploads, *clock, string) {
	c := &clock{time.Now()}
	dir := filepath.Join(t.TempDir(), "uploads")
	return uploads.New(func() string { return dir }, func() time.Time { return c.now }), c, dir
}

func left(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// endless is a reader without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestUploads(t *testing.T) {
	t.Run("are used once, by their owner", func(t *testing.T) {
		is := is.New(t)
		u, _, dir := rig(t)
		id, err := u.Put(t.Context(), "user:a", strings.NewReader("content"))
		is.NoErr(err)
		is.True(errors.Is(u.Use(id, "user:b", nil), kernelcontract.NotFound))
		var got string
		is.NoErr(u.Use(id, "user:a", func(path string) error {
			raw, err := os.ReadFile(path)
			got = string(raw)
			return err
		}))
		is.Equal(got, "content")
		is.True(errors.Is(u.Use(id, "user:a", nil), kernelcontract.NotFound))
		is.Equal(left(t, dir), 0)
	})
	t.Run("have a largest size", func(t *testing.T) {
		is := is.New(t)
		u, _, dir := rig(t)
		_, err := u.Put(t.Context(), "user:a", endless{})
		is.Equal(kernelcontract.AsError(err).Refusal, kernelcontract.TooLarge)
		is.Equal(left(t, dir), 0)
		_, err = u.Put(t.Context(), "user:a", io.LimitReader(endless{}, uploads.MaxSize))
		is.NoErr(err)
	})
	t.Run("that break off leave nothing", func(t *testing.T) {
		is := is.New(t)
		u, _, dir := rig(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := u.Put(ctx, "user:a", io.MultiReader(strings.NewReader("part"), broken{}))
		is.True(errors.Is(err, kernelcontract.Cancelled))
		is.Equal(left(t, dir), 0)
		_, err = u.Put(t.Context(), "user:a", strings.NewReader(""))
		is.True(errors.Is(err, kernelcontract.InvalidInput))
		is.Equal(left(t, dir), 0)
	})
	t.Run("are few at a time, and expire", func(t *testing.T) {
		is := is.New(t)
		u, c, dir := rig(t)
		var id string
		for range uploads.MaxCount {
			var err error
			id, err = u.Put(t.Context(), "user:a", strings.NewReader("x"))
			is.NoErr(err)
		}
		_, err := u.Put(t.Context(), "user:a", strings.NewReader("x"))
		is.True(errors.Is(err, kernelcontract.Conflict))
		c.now = c.now.Add(uploads.MaxUnused + time.Second)
		is.True(errors.Is(u.Use(id, "user:a", nil), kernelcontract.NotFound))
		_, err = u.Put(t.Context(), "user:a", strings.NewReader("x"))
		is.NoErr(err)
		is.Equal(left(t, dir), 1)
		is.Equal(u.Waiting(), 1)
	})
	t.Run("of an earlier process are gone", func(t *testing.T) {
		is := is.New(t)
		u, _, dir := rig(t)
		is.NoErr(os.MkdirAll(dir, 0o700))
		is.NoErr(os.WriteFile(filepath.Join(dir, "up_old"), []byte("x"), 0o600))
		_, err := u.Put(t.Context(), "user:a", strings.NewReader("x"))
		is.NoErr(err)
		is.Equal(left(t, dir), 1)
	})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("broken") }
