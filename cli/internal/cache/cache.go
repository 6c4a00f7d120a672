// Package cache keeps what a server's manifest says about its words, cut so that a command line reads only what it needs:
// an index of the top level, and one file for each group with a head that lists its words and a record for each.
//
// A catalog is read-only. Files are written into a directory of their own and take effect when the index is renamed into
// place, so a reader sees the old catalog or the new one, never a mixture.
package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// Format is the number of the files' form. A catalog of another form counts as absent.
const Format = 1

// maxFile bounds a file that is read whole, in bytes: an index or the head of a group with tens of thousands of words.
const maxFile = 64 << 20

// Index is the top level of a server's words.
type Index struct {
	Format     int      `json:"format"`
	URL        string   `json:"url"`
	ServerID   string   `json:"serverId"`
	Generation uint64   `json:"generation"`
	Dir        string   `json:"dir"` // holds the other files
	Groups     []Group  `json:"groups"`
	Root       *File    `json:"root,omitempty"` // the words of the top level
	Warnings   []string `json:"warnings,omitempty"`
	Plugins    []Plugin `json:"plugins"`
	Guide      *File    `json:"guide,omitempty"`
}

// Group is a first word with others below it.
type Group struct {
	Name    string `json:"name"`
	Summary string `json:"summary,omitempty"`
	AliasOf string `json:"aliasOf,omitempty"`
	// Words names the first visible words, parted by commas; More says how many there are beyond them.
	Words string `json:"words,omitempty"`
	More  int    `json:"more,omitempty"`
	File  File   `json:"file"`
}

// How many words `bb --help` names: a line of them for each group, and few enough in all to be read.
const (
	ShownWords = 8
	ShownInAll = 200
)

// Visible reports whether the group has a word that is not hidden.
func (g *Group) Visible() bool { return g.Words != "" || g.More > 0 }

// File is a file of the catalog. Head is the length of the head that it begins with.
type File struct {
	Name string `json:"name"`
	Head int64  `json:"head,omitempty"`
}

// Plugin is a plugin with its reference.
type Plugin struct {
	ID   string `json:"id"`
	File File   `json:"file"`
}

// Head lists the words of a file.
type Head struct {
	Paths []Path `json:"paths"`
	Words []Word `json:"words"`
}

// Path is a group of one or two levels.
type Path struct {
	Words   []string `json:"words"`
	Summary string   `json:"summary,omitempty"`
	AliasOf []string `json:"aliasOf,omitempty"`
}

// Word is a word of a path with the place of its record.
type Word struct {
	Path    int    `json:"path"` // index into Paths
	Name    string `json:"name"`
	Flag    string `json:"flag,omitempty"` // not a word: this flag of the word runs the record
	Summary string `json:"summary,omitempty"`
	Hidden  bool   `json:"hidden,omitempty"`
	Alias   bool   `json:"alias,omitempty"`
	At      int64  `json:"at"` // after the head
	Len     int64  `json:"len"`
}

// Record is what running a word and showing its help needs.
type Record struct {
	Word        *word.Word                  `json:"word"`
	Description string                      `json:"description,omitempty"`
	Examples    []kernelcontract.ExampleDef `json:"examples,omitempty"`
	Input       json.RawMessage             `json:"input,omitempty"` // the schema
}

// Signature returns what a client needs to send the call.
func (r *Record) Signature() kernelcontract.Signature {
	return kernelcontract.Signature{Ref: r.Word.Ref, Kind: r.Word.Kind, Resumable: r.Word.Resumable, Input: func() (*schema.Schema, error) {
		s := &schema.Schema{}
		if len(r.Input) == 0 {
			return s, nil
		}
		return s, json.Unmarshal(r.Input, s)
	}}
}

// Chapter is a chapter of the guide.
type Chapter struct {
	PluginID string `json:"pluginId"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Text     string `json:"text"`
}

// Catalog is a server's words, from a disk or from memory.
type Catalog struct {
	Index Index
	dir   string            // on a disk
	files map[string][]byte // in memory
}

// ErrAbsent says that there is no usable catalog of the server.
var ErrAbsent = errors.New("there is no cached catalog of the server")

// Store keeps catalogs below a directory.
type Store struct{ Dir string }

// Normalize returns a server URL in its one form: scheme and host in lower case, no default port, no trailing slash. What
// is no URL is returned as it is.
func Normalize(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return server
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u.String()
}

// folder returns where the catalog of a server is.
func (s Store) folder(server string) string {
	sum := sha256.Sum256([]byte(Normalize(server)))
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:12]))
}

const indexName = "index.json"

// Load returns the cached catalog of a server. Whatever is wrong with it, it counts as absent: the server knows better.
func (s Store) Load(server string) (*Catalog, error) {
	if s.Dir == "" {
		return nil, ErrAbsent
	}
	folder := s.folder(server)
	raw, err := os.ReadFile(filepath.Join(folder, indexName))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	c := &Catalog{}
	if err := json.Unmarshal(raw, &c.Index); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	if c.Index.Format != Format || c.Index.URL != Normalize(server) || c.Index.Dir != filepath.Base(c.Index.Dir) {
		return nil, ErrAbsent
	}
	c.dir = filepath.Join(folder, c.Index.Dir)
	return c, nil
}

// Save writes the catalog. Readers of the one before it are not disturbed.
func (s Store) Save(c *Catalog) error {
	if s.Dir == "" {
		return ErrAbsent
	}
	folder := s.folder(c.Index.URL)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	before, _ := s.Load(c.Index.URL) // its files stay for those who read them now
	dir, err := os.MkdirTemp(folder, "c-")
	if err != nil {
		return err
	}
	if err := c.write(folder, dir); err != nil {
		_ = os.RemoveAll(dir) // the error that counts is the first
		return err
	}
	clean(folder, dir, before)
	return nil
}

func (c *Catalog) write(folder, dir string) error {
	for name, content := range c.files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	index := c.Index
	index.Dir = filepath.Base(dir)
	raw, err := json.Marshal(index)
	if err != nil {
		return err
	}
	temporary := filepath.Join(dir, indexName)
	if err := os.WriteFile(temporary, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(folder, indexName))
}

// clean removes the directories of catalogs that nobody reads any more. What fails is tried next time.
func clean(folder, dir string, before *Catalog) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != filepath.Base(dir) && (before == nil || e.Name() != before.Index.Dir) {
			_ = os.RemoveAll(filepath.Join(folder, e.Name()))
		}
	}
}

// read returns a part of a file; n < 0 reads to its end.
func (c *Catalog) read(name string, at, n int64) ([]byte, error) {
	if c.files != nil {
		content := c.files[name]
		if n < 0 {
			n = int64(len(content)) - at
		}
		if at < 0 || n < 0 || at+n > int64(len(content)) {
			return nil, fmt.Errorf("%w: %s is too short", ErrAbsent, name)
		}
		return content[at : at+n], nil
	}
	if name != filepath.Base(name) {
		return nil, ErrAbsent
	}
	f, err := os.Open(filepath.Join(c.dir, name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	defer f.Close()
	if n < 0 {
		n = maxFile
		if info, err := f.Stat(); err == nil {
			n = min(n, info.Size()-at)
		}
	}
	if n < 0 || n > maxFile {
		return nil, ErrAbsent
	}
	part := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(f, at, n), part); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	return part, nil
}

// Head returns the list of words of a file.
func (c *Catalog) Head(f File) (*Head, error) {
	raw, err := c.read(f.Name, 0, f.Head)
	if err != nil {
		return nil, err
	}
	var h Head
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	for i := range h.Words {
		if p := h.Words[i].Path; p < 0 || p >= len(h.Paths) {
			return nil, ErrAbsent
		}
	}
	return &h, nil
}

// Record returns the record of a word.
func (c *Catalog) Record(f File, w *Word) (*Record, error) {
	raw, err := c.read(f.Name, f.Head+w.At, w.Len)
	if err != nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	if r.Word == nil {
		return nil, ErrAbsent
	}
	return &r, nil
}

// Reference returns the reference of a plugin, nil when the catalog has no such plugin.
func (c *Catalog) Reference(plugin string) (*docs.ReferenceDoc, error) {
	for _, p := range c.Index.Plugins {
		if p.ID != plugin {
			continue
		}
		raw, err := c.read(p.File.Name, 0, -1)
		if err != nil {
			return nil, err
		}
		var doc docs.ReferenceDoc
		if err := json.Unmarshal(raw, &doc); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
		}
		return &doc, nil
	}
	return nil, nil
}

// Guide returns the chapters of the guide.
func (c *Catalog) Guide() ([]Chapter, error) {
	if c.Index.Guide == nil {
		return nil, nil
	}
	raw, err := c.read(c.Index.Guide.Name, 0, -1)
	if err != nil {
		return nil, err
	}
	var chapters []Chapter
	if err := json.Unmarshal(raw, &chapters); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	return chapters, nil
}

// Group returns the group of that name, nil when there is none.
func (c *Catalog) Group(name string) *Group {
	for i := range c.Index.Groups {
		if c.Index.Groups[i].Name == name {
			return &c.Index.Groups[i]
		}
	}
	return nil
}
