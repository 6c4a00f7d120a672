package record

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// maxEntry is the longest line of a recording in bytes: a line of the protocol, 8 MiB, with every byte escaped.
const maxEntry = 6*8<<20 + 1<<10

// Recording is what was recorded of a thread, in the order in which it crossed. Runs follow each other in the order of
// their first line.
type Recording struct {
	Entries []Entry
}

// Read reads what a directory holds about a thread of a provider; threadID "" reads the lines that belong to no thread.
// A last line that was cut off, because the process was killed, is left out. Errors name the file and the line.
func Read(dir, providerID, threadID string) (*Recording, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	defer root.Close()
	all := &Recording{}
	found := false
	for _, lane := range Lanes() {
		name := filepath.Join(folder(providerID), threadFolder(threadID), string(lane)+suffix)
		f, err := root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("record: %w", err)
		}
		found = true
		entries, err := read(f, lane)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("record: %s: %w", filepath.Join(dir, name), err)
		}
		all.Entries = append(all.Entries, entries...)
	}
	if !found {
		return nil, fmt.Errorf("record: %s holds nothing about thread %q of provider %q: was %s set?", dir, threadID, providerID, Variable)
	}
	all.sort()
	return all, nil
}

// read decodes the entries of one lane.
func read(r io.Reader, lane Lane) ([]Entry, error) {
	var entries []Entry
	s := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		line, err := readLine(s)
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if e.Lane != lane || e.Run == "" || e.Seq == 0 {
			return nil, fmt.Errorf("line %d: not an entry of lane %s", number, lane)
		}
		entries = append(entries, e)
	}
}

// readLine returns a whole line; one without its end is the end of the file.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > maxEntry:
			return nil, fmt.Errorf("longer than %d bytes", maxEntry)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func (r *Recording) sort() {
	first := map[string]Entry{}
	for _, e := range r.Entries {
		if f, ok := first[e.Run]; !ok || e.Seq < f.Seq {
			first[e.Run] = e
		}
	}
	slices.SortStableFunc(r.Entries, func(a, b Entry) int {
		if a.Run != b.Run {
			fa, fb := first[a.Run], first[b.Run]
			return cmp.Or(fa.Time.Compare(fb.Time), cmp.Compare(a.Run, b.Run))
		}
		return cmp.Compare(a.Seq, b.Seq)
	})
}

// Lane returns the entries of the lanes named, in order.
func (r *Recording) Lane(lanes ...Lane) []Entry {
	var some []Entry
	for _, e := range r.Entries {
		if slices.Contains(lanes, e.Lane) {
			some = append(some, e)
		}
	}
	return some
}
