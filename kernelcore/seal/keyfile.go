package seal

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// KeyFile is the name of the key file in a data directory: one line of 64 hexadecimal digits.
const KeyFile = "secret.key"

// KeyFileError says why a key file cannot be used.
type KeyFileError struct {
	Path    string
	Problem string // what is wrong
	Fix     string // what to do about it
	Err     error  // what the system said, if it said anything
}

// Error names the file, what is wrong with it and what to do.
func (e *KeyFileError) Error() string {
	s := "seal: key file " + e.Path + " " + e.Problem
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s + ": " + e.Fix
}

// Unwrap returns what the system said.
func (e *KeyFileError) Unwrap() error { return e.Err }

// Open returns a Box with the key of the data directory dir. The first time it makes a new key: the
// file appears whole or not at all, is synced, and belongs to the user alone (0600). A key file that
// others can read, or that is not what Open writes, is refused with a [*KeyFileError].
func Open(dir string) (*Box, error) {
	path := filepath.Join(dir, KeyFile)
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createKey(path, newKey()); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, &KeyFileError{Path: path, Problem: "cannot be made", Err: err, Fix: "make the directory writable for this user, or choose another data directory"}
		}
		key, err = readKey(path) // ours, or that of somebody who was faster
	}
	if err != nil {
		return nil, err
	}
	return newBox(key), nil
}

func readKey(path string) (key [keySize]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return key, &KeyFileError{Path: path, Problem: "cannot be read", Err: err, Fix: "let this user read it"}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return key, &KeyFileError{Path: path, Problem: "cannot be read", Err: err, Fix: "let this user read it"}
	}
	restore := "restore it from a copy, or remove it and set every secret again"
	if !info.Mode().IsRegular() {
		return key, &KeyFileError{Path: path, Problem: "is no file", Fix: restore}
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 && runtime.GOOS != "windows" { // there, directories hand down lists
		return key, &KeyFileError{Path: path, Problem: fmt.Sprintf("is open to others (mode %04o)", perm),
			Fix: "chmod 600 it, and set every secret again if somebody may have read it"}
	}
	text := make([]byte, hex.EncodedLen(keySize)+2) // with its newline, and to see if there is more
	n, err := f.Read(text)
	line, whole := strings.CutSuffix(string(text[:n]), "\n")
	if err == nil && whole && len(line) == hex.EncodedLen(keySize) {
		if _, err := hex.Decode(key[:], []byte(line)); err == nil {
			return key, nil
		}
	}
	return key, &KeyFileError{Path: path, Problem: "holds no key", Err: err, Fix: restore}
}

// createKey writes a key file that did not exist. When there is one by now the error is fs.ErrExist.
func createKey(path string, key [keySize]byte) (err error) {
	temporary := path + "." + rand.Text()
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(temporary)
	_, err = f.WriteString(hex.EncodeToString(key[:]) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(temporary, path); err != nil { // unlike a rename it replaces nothing
		if errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := linkless(temporary, path); err != nil {
			return err
		}
	}
	return syncDir(filepath.Dir(path))
}

// linkless moves a file to where there is none, on a file system without links.
func linkless(from, to string) error {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return os.Rename(from, to)
}

// syncDir makes the entries of a directory survive a power cut, where directories can be synced.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
