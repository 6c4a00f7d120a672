package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcore/store"
)

const (
	lockFile = "lock" // in the data directory

	// maxHolder bounds what is read from a lock file.
	maxHolder = 4096
	// The holder writes its name right after it has the lock; a second process that comes in between
	// looks again this often.
	holderLooks    = 20
	holderInterval = 10 * time.Millisecond
)

// dirLock is the lock on a data directory: an advisory lock of the operating system on a file, which
// therefore ends with the process, however it ends. The file stays; its content is for people.
type dirLock struct {
	log    *slog.Logger
	mu     sync.Mutex
	f      *os.File // nil once unlocked
	holder store.Holder
}

// errLocked says that another process, or another lock of this one, has the file.
var errLocked = errors.New("locked")

// lockDir locks dir for this process, which calls itself name.
func lockDir(ctx context.Context, dir, name string, log *slog.Logger) (*dirLock, error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unwritable(path, err)
	}
	switch err := tryLock(f); {
	case errors.Is(err, errLocked):
		defer f.Close()
		return nil, &store.InUseError{Dir: dir, Holder: readHolder(ctx, f)}
	case err != nil:
		f.Close()
		return nil, unwritable(path, err)
	}
	if name == "" {
		name = filepath.Base(os.Args[0])
	}
	l := &dirLock{log: log, f: f, holder: store.Holder{PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second)}}
	l.setHolder(name)
	return l, nil
}

// setHolder writes who has the lock. That this fails, on a full disk for instance, is no reason not
// to go on: a second process is then told less.
func (l *dirLock) setHolder(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return
	}
	l.holder.Name = name
	text, err := json.Marshal(l.holder)
	if err == nil {
		err = errors.Join(l.f.Truncate(0), writeAt(l.f, append(text, '\n')))
	}
	if err != nil {
		l.log.Warn("store: the lock file does not name its holder", "path", l.f.Name(), "err", err)
	}
}

func writeAt(f *os.File, text []byte) error {
	_, err := f.WriteAt(text, 0)
	return err
}

// readHolder returns what the lock file says about its holder.
func readHolder(ctx context.Context, f *os.File) (h store.Holder) {
	tick := time.NewTicker(holderInterval)
	defer tick.Stop()
	for range holderLooks {
		text, err := io.ReadAll(io.NewSectionReader(f, 0, maxHolder))
		if err == nil && json.Unmarshal(text, &h) == nil {
			return h
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return store.Holder{}
		}
	}
	return store.Holder{}
}

// unlock lets others have the directory.
func (l *dirLock) unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return
	}
	_ = l.f.Truncate(0) // nobody holds it now
	l.f.Close()         // and with the file goes the lock
	l.f = nil
}
