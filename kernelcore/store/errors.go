package store

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Errors that say nothing beyond themselves. Ask for them with errors.Is.
var (
	// ErrNotFound says that a key holds no value.
	ErrNotFound = errors.New("store: no such key")
	// ErrClosed says that the store was closed before the transaction began.
	ErrClosed = errors.New("store: closed; open it again to go on")
	// ErrReadOnly says that a View tried to write.
	ErrReadOnly = errors.New("store: a View cannot write; use Update")
	// ErrDone says that a Tx was used after its function had returned.
	ErrDone = errors.New("store: the transaction is over; use a Tx only inside its function")
)

// InvalidError says that a bucket, key or value breaks the rules of [Tx]. It is the caller's mistake:
// trying again does not help.
type InvalidError struct {
	Part    string // "bucket", "key" or "value"
	Problem string // what is wrong with it and what would do
}

// Error names the part, the problem and the rule.
func (e *InvalidError) Error() string { return "store: " + e.Part + " " + e.Problem }

// NewerError says that a database was written by a newer version of the program. It was not touched.
type NewerError struct {
	Path string // the database
	Have int    // the format it has
	Know int    // the newest format that this program knows
}

// Error names the database, both formats and the way out.
func (e *NewerError) Error() string {
	return fmt.Sprintf("store: %s has format %d, written by a newer version; this one knows formats up to %d: start the newer version, or choose another data directory",
		e.Path, e.Have, e.Know)
}

// Holder is the process that has a data directory open.
type Holder struct {
	PID   int       `json:"pid"`
	Name  string    `json:"name"`  // what it calls itself: the address it listens on, or a command
	Since time.Time `json:"since"` // when it opened the directory
}

// String describes the holder as far as it is known.
func (h Holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	s := "process " + strconv.Itoa(h.PID)
	if h.Name != "" {
		s += " (" + h.Name + ")"
	}
	if !h.Since.IsZero() {
		s += ", since " + h.Since.Format(time.RFC3339)
	}
	return s
}

// InUseError says that another process has the data directory open.
type InUseError struct {
	Dir    string
	Holder Holder // zero when it could not be read
}

// Error names the directory, its holder and the way out.
func (e *InUseError) Error() string {
	return fmt.Sprintf("store: %s is in use by %s: stop it first, or choose another data directory", e.Dir, e.Holder)
}

// UnwritableError says that a file or directory of the store cannot be written: it is read-only, it
// belongs to someone else, or a file is where a directory should be.
type UnwritableError struct {
	Path string
	Err  error // what the system said
}

// Error names the path, what the system said and the way out.
func (e *UnwritableError) Error() string {
	return fmt.Sprintf("store: cannot write %s: %v: make it writable for this user, or choose another data directory", e.Path, e.Err)
}

// Unwrap returns what the system said.
func (e *UnwritableError) Unwrap() error { return e.Err }

// FullError says that there was no space for a write, or that a limit on the size of files was
// reached. Nothing of the transaction is stored and everything acknowledged before still is; once
// there is space the store goes on by itself.
type FullError struct {
	Path string // the database
	Err  error  // what the system said
}

// Error names the database, what the system said and the way out.
func (e *FullError) Error() string {
	return fmt.Sprintf("store: no space to write %s: %v: free some space or raise the limit on file sizes, then try again", e.Path, e.Err)
}

// Unwrap returns what the system said.
func (e *FullError) Unwrap() error { return e.Err }

// DamagedError says that the file is not a database, or one whose content is broken.
type DamagedError struct {
	Path string
	Err  error // what the database said
}

// Error names the database, what is wrong and the way out.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("store: %s is damaged or no database: %v: restore a copy, or choose another data directory", e.Path, e.Err)
}

// Unwrap returns what the database said.
func (e *DamagedError) Unwrap() error { return e.Err }
