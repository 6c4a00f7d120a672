// Package record keeps what a bridge and its neighbours say, line by line, so that a conversation with a real agent can
// be looked at and replayed in a test.
//
// With BB_BRIDGE_RECORD_DIR set, a bridge appends every line that crosses to
//
//	<dir>/<providerId>/<threadId or _process>/<lane>.ndjson
//
// as it crosses. Secrets of the environment are redacted. Read puts the lanes of a thread back into one order; package
// replay runs them through the grammar and the assembler; WithPlayback gives a bridge its recorded provider instead of a
// running one. See docs/spec/bridges-record.md.
package record

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Variable is the environment variable that names the directory to record into. It never reaches a provider's process.
const Variable = "BB_BRIDGE_RECORD_DIR"

// Lane is a direction between two programs.
type Lane string

// The lanes.
const (
	CoreToBridge     Lane = "core-to-bridge"
	BridgeToCore     Lane = "bridge-to-core"
	BridgeToProvider Lane = "bridge-to-provider"
	ProviderToBridge Lane = "provider-to-bridge"
)

// Lanes returns all lanes.
func Lanes() []Lane { return []Lane{CoreToBridge, BridgeToCore, BridgeToProvider, ProviderToBridge} }

// Entry is one line of a recording.
type Entry struct {
	Time time.Time `json:"ts"`
	Run  string    `json:"run"` // the process that recorded it
	Seq  uint64    `json:"seq"` // counts over all lanes of a run, from 1
	Lane Lane      `json:"lane"`
	Line string    `json:"line"` // without its end; bytes that are no UTF-8 are replaced
}

// openFiles is how many files a recorder keeps open: enough for the four lanes of the threads that talk at one time.
const openFiles = 64

// Options configures a Recorder.
type Options struct {
	Dir string           // made when it does not exist, for its owner alone
	Env []string         // the environment whose secrets are redacted; nil: this process's
	Now func() time.Time // nil: time.Now
}

// Recorder appends lines to the files of a directory. A nil Recorder records nothing. It is safe for concurrent use; the
// order of its calls is the order of the entries.
type Recorder struct {
	root *os.Root
	run  string
	now  func() time.Time

	mu      sync.Mutex
	seq     uint64
	secrets redactor
	files   map[string]*os.File
	err     error // the first failure: recording stops there
	closed  bool
}

// FromEnv returns a recorder for the directory that Variable names in this process's environment, and nil when it is not
// set.
func FromEnv() (*Recorder, error) {
	dir := os.Getenv(Variable)
	if dir == "" {
		return nil, nil
	}
	return New(Options{Dir: dir})
}

// New makes a recorder. Close it.
func New(o Options) (*Recorder, error) {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("record: cannot make the directory that %s names: %w", Variable, err)
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("record: cannot open the directory that %s names: %w", Variable, err)
	}
	var id [8]byte
	rand.Read(id[:])
	r := &Recorder{root: root, run: hex.EncodeToString(id[:]), now: o.Now, files: map[string]*os.File{}}
	r.secrets.add(o.Env)
	return r, nil
}

// Append records one line of a lane, under the thread threadID of the provider, or under the process when threadID is
// "". The line is on its way to the file when Append returns. An error is the first that writing met; nothing is
// recorded after it.
func (r *Recorder) Append(lane Lane, providerID, threadID string, line []byte) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || r.closed {
		return r.err
	}
	r.seq++
	entry, err := json.Marshal(Entry{Time: r.now().UTC(), Run: r.run, Seq: r.seq, Lane: lane, Line: r.secrets.redact(string(line))})
	if err == nil {
		err = r.write(filepath.Join(folder(providerID), threadFolder(threadID), string(lane)+suffix), append(entry, '\n'))
	}
	r.err = err
	return err
}

// redactToo adds an environment whose secrets must not be recorded.
func (r *Recorder) redactToo(env []string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets.add(env)
}

const suffix = ".ndjson"

func (r *Recorder) write(name string, entry []byte) error {
	f := r.files[name]
	if f == nil {
		if len(r.files) >= openFiles {
			if err := r.closeFiles(); err != nil {
				return err
			}
		}
		if err := r.root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return fmt.Errorf("record: %w", err)
		}
		var err error
		if f, err = r.root.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return fmt.Errorf("record: %w", err)
		}
		r.files[name] = f
	}
	if _, err := f.Write(entry); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

func (r *Recorder) closeFiles() error {
	var all []error
	for name, f := range r.files {
		all = append(all, f.Close())
		delete(r.files, name)
	}
	return errors.Join(all...)
}

// Close closes the files. It returns the first error that recording met.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.err
	}
	r.closed = true
	err := errors.Join(r.closeFiles(), r.root.Close())
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	return errors.Join(r.err, err)
}
