// Package uploads keeps files that clients send before they are used: artifacts that are too large for a method's input. They
// are on disk, belong to who has sent them, and go when they are used or have waited too long (docs/spec/plugin-install.md).
package uploads

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Limits of uploads.
const (
	MaxSize   = 64 << 20  // bytes of one
	MaxCount  = 16        // that wait to be used: they take disk space that nobody has asked for
	MaxUnused = time.Hour // that one waits
)

// Uploads are the files that wait. It is safe for concurrent use.
type Uploads struct {
	dir func() string // made when the first file comes
	now func() time.Time

	mu     sync.Mutex
	ready  bool // the directory is there and holds nothing of an earlier process
	files  map[string]*file
	coming int // files that are being received
}

type file struct {
	owner string
	since time.Time
}

// New returns uploads below dir, which is asked for when it is needed.
func New(dir func() string, now func() time.Time) *Uploads {
	return &Uploads{dir: dir, now: now, files: map[string]*file{}}
}

// prefix begins the ids.
const prefix = "up_"

// Put receives a file and returns its id. The error is kernelcontract.InvalidInput with Refusal TooLarge for more than MaxSize
// bytes, Conflict when too many wait; nothing is left of a file that failed.
func (u *Uploads) Put(ctx context.Context, owner string, r io.Reader) (id string, err error) {
	if err := u.begin(); err != nil {
		return "", err
	}
	id = prefix + rand.Text()
	path := u.path(id)
	defer func() {
		u.mu.Lock()
		u.coming--
		if err == nil {
			u.files[id] = &file{owner: owner, since: u.now()}
		}
		u.mu.Unlock()
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("the upload cannot be kept: %w", err)
	}
	n, err := io.Copy(f, io.LimitReader(r, MaxSize+1))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return "", kernelcontract.Cancelled.Errorf("the upload broke off: %w", err)
	case err != nil:
		return "", fmt.Errorf("the upload cannot be kept: %w", err)
	case n > MaxSize:
		return "", TooLarge()
	case n == 0:
		return "", kernelcontract.InvalidInput.Errorf("the upload is empty")
	}
	return id, nil
}

// TooLarge returns the refusal of a file that is too large.
func TooLarge() *kernelcontract.Error {
	e := kernelcontract.InvalidInput.Errorf("the upload is larger than %d MiB", MaxSize>>20)
	e.Refusal = kernelcontract.TooLarge
	return e
}

// begin takes a place for a file that comes.
func (u *Uploads) begin() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.ready {
		dir := u.dir()
		if err := os.RemoveAll(dir); err != nil { // of a process that is gone: its ids are too
			return fmt.Errorf("the directory of uploads: %w", err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("the directory of uploads: %w", err)
		}
		u.ready = true
	}
	for id, f := range u.files {
		if u.now().Sub(f.since) > MaxUnused {
			delete(u.files, id)
			_ = os.Remove(u.path(id))
		}
	}
	if len(u.files)+u.coming >= MaxCount {
		return kernelcontract.Conflict.Errorf("%d uploads wait to be used: use them, or wait until they expire after %s", MaxCount, MaxUnused)
	}
	u.coming++
	return nil
}

func (u *Uploads) path(id string) string { return filepath.Join(u.dir(), id) }

// Use hands out a file to who has sent it, once, and removes it when fn returns.
func (u *Uploads) Use(id, owner string, fn func(path string) error) error {
	u.mu.Lock()
	f := u.files[id]
	ok := f != nil && f.owner == owner && u.now().Sub(f.since) <= MaxUnused
	if ok {
		delete(u.files, id)
	}
	u.mu.Unlock()
	if !ok {
		return kernelcontract.NotFound.Errorf("there is no upload %.100q of yours: send it again to /internal/uploads; one is used once and kept for %s", id, MaxUnused)
	}
	return errors.Join(fn(u.path(id)), os.Remove(u.path(id)))
}

// Waiting returns how many files wait.
func (u *Uploads) Waiting() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.files)
}
