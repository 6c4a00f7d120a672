package sqlitestore

import (
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// translate gives an error of SQLite on the database at path the type that callers act on.
func translate(path string, err error) error {
	var e *sqlite.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	switch e.Code() { // of those with a detail, only some mean a lack of space
	case sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_TRUNCATE:
		return &store.FullError{Path: path, Err: err}
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return &store.FullError{Path: path, Err: err}
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return &store.UnwritableError{Path: path, Err: err}
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return &store.DamagedError{Path: path, Err: err}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("store: another program holds a lock on %s: %w: close it, then try again", path, err)
	}
	return fmt.Errorf("store: %s: %w", path, err)
}

// unwritable gives an error of the file system the type that callers act on.
func unwritable(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return &store.FullError{Path: path, Err: err}
	}
	return &store.UnwritableError{Path: path, Err: err}
}
