//go:build unix

package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

var limitedChildren = map[string]func(dir string) error{"full": fillUp}

// limitFiles lets no file of this process grow beyond n bytes, which is what a full disk looks like.
func limitFiles(n uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		return err
	}
	l.Cur = min(n, l.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
}

// fillUp appends until the disk is full for good, makes space, and goes on.
func fillUp(dir string) error {
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, dir, sqlitestore.Options{})
	if err != nil {
		return err
	}
	l := timeline.New(s, timeline.Options{RetryFor: 300 * time.Millisecond})
	w, err := l.Writer(ctx, thread)
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(dir, "bb.db-wal"))
	if err != nil {
		return err
	}
	if err := limitFiles(uint64(info.Size()) + 300_000); err != nil {
		return err
	}
	flushed := int64(0)
	for err == nil {
		err = errors.Join(w.Append(ctx, []timeline.Event{text("u", "i", strings.Repeat("x", 2000))}), w.Flush(ctx))
		if err == nil {
			flushed = w.LastSeq()
		}
	}
	var full *store.FullError
	fmt.Println(flushed, errors.As(err, &full))
	<-w.Failed()
	if w.Append(ctx, nil) == nil || w.Close(ctx) == nil {
		return errors.New("a writer that failed goes on")
	}
	n := int64(0)
	for e, err := range l.Read(ctx, thread, 0, false) { // reading goes on without space
		if err != nil {
			return err
		}
		if n++; e.Seq != n {
			return fmt.Errorf("seq %d where %d comes", e.Seq, n)
		}
	}
	fmt.Println(n)
	if err := limitFiles(1 << 40); err != nil {
		return err
	}
	if w, err = l.Writer(ctx, thread); err != nil {
		return err
	}
	fmt.Println(w.LastSeq())
	if err := w.Append(ctx, []timeline.Event{text("u", "i", "again")}); err != nil {
		return err
	}
	if err := l.Close(ctx); err != nil {
		return err
	}
	return s.Close()
}

// TestFullDisk proves that a disk that stays full loses nothing that was flushed, and that numbers then go on behind it.
func TestFullDisk(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	lines := output(t, "full", dir)
	var flushed, read, next int64
	var full bool
	_, err := fmt.Sscan(strings.Join(lines, " "), &flushed, &full, &read, &next)
	is.NoErr(err)
	is.True(full)        // the error is the store's
	is.True(flushed > 5) // some were stored
	is.Equal(read, flushed)
	is.Equal(next, flushed)
	l := timeline.New(openDir(t, dir), timeline.Options{})
	gapless(t, readThread(t, l, thread, 0), 0, flushed+1)
}
