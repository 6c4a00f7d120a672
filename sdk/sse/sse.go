// Package sse reads server-sent events exactly as the WHATWG HTML standard defines their format, with bounds.
//
// Lines end in LF, CR or CRLF, also when the network cuts between the two; one byte order mark at the start is
// dropped; comments, unknown fields, an id with a NUL and a retry that is not a number are ignored; what follows the
// last blank line is not an event. See docs/spec/sdk.md.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// DefaultMaxEvent bounds the data of one event, and each line, in bytes, when Options say nothing. An item has ample
// room, and a peer that never ends a line cannot fill the memory.
const DefaultMaxEvent = 16 << 20

// readSize is how much is asked of the source at a time: the size after which servers flush.
const readSize = 32 << 10

// maxRetry bounds the reconnection time that a stream may ask for; a longer one is ignored like one that is not a number.
const maxRetry = 24 * time.Hour

// ErrTooLong says that a line or the data of an event is longer than Options.MaxEvent. Nothing can be read after it.
var ErrTooLong = errors.New("sse: the event is too long")

// Event is one dispatched event.
type Event struct {
	// Name is the event field, "message" when the event has none.
	Name string
	// Data is the data lines joined by line feeds. It is valid until the next call of Next.
	Data []byte
	// ID is the last event id when the event was dispatched: its own, else that of an event before it.
	ID string
}

// Options bounds a Reader. The zero value works.
type Options struct {
	// MaxEvent is the greatest size of an event's data, and of each line, in bytes; zero: DefaultMaxEvent.
	MaxEvent int
}

// Reader reads events from a stream. It is not safe for concurrent use.
type Reader struct {
	src io.Reader
	max int
	err error // what ended src

	buf        []byte // buf[pos:] is read and not parsed
	pos        int
	skipLF     bool // the last line ended in CR: a LF that follows belongs to it
	bomChecked bool

	name     []byte
	data     []byte
	hasData  bool
	id       string // the id buffer: takes effect at the next blank line
	lastID   string
	retry    time.Duration
	hasRetry bool
}

// NewReader returns a Reader of src.
func NewReader(src io.Reader, o Options) *Reader {
	if o.MaxEvent <= 0 {
		o.MaxEvent = DefaultMaxEvent
	}
	return &Reader{src: src, max: o.MaxEvent}
}

// LastEventID returns the last event id: that of the last blank line, "" before any. A stream that breaks inside an
// event leaves it at the event before.
func (r *Reader) LastEventID() string { return r.lastID }

// SetLastEventID sets the id that holds until the stream gives one: where a resumed stream went on from.
func (r *Reader) SetLastEventID(id string) { r.id, r.lastID = id, id }

// Retry returns the reconnection time that the stream asked for last; ok is false when it did not.
func (r *Reader) Retry() (d time.Duration, ok bool) { return r.retry, r.hasRetry }

// Next returns the next event. The error is io.EOF at the end of the stream, whether or not it ended inside an event,
// ErrTooLong, or what the source returned.
func (r *Reader) Next() (Event, error) {
	for {
		line, err := r.line()
		if err != nil {
			return Event{}, err
		}
		if len(line) > 0 {
			if r.field(line); len(r.data) > r.max {
				return Event{}, r.tooLong()
			}
			continue
		}
		if ev, ok := r.dispatch(); ok {
			return ev, nil
		}
	}
}

// dispatch ends an event; ok is false when it holds no data.
func (r *Reader) dispatch() (ev Event, ok bool) {
	r.lastID = r.id
	if r.hasData {
		ev = Event{Name: "message", Data: r.data[:len(r.data)-1], ID: r.lastID}
		if len(r.name) > 0 {
			ev.Name = eventName(r.name)
		}
	}
	ok = r.hasData
	r.name, r.data, r.hasData = r.name[:0], r.data[:0], false
	return ev, ok
}

// eventName is string(name) that does not allocate for the usual names.
func eventName(name []byte) string {
	switch string(name) {
	case "item":
		return "item"
	case "error":
		return "error"
	case "end":
		return "end"
	}
	return string(name)
}

// field takes one line that is not empty.
func (r *Reader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "data":
		r.data = append(appendValid(r.data, value), '\n')
		r.hasData = true
	case "event":
		r.name = appendValid(r.name[:0], value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 && string(value) != r.id {
			if r.id = string(value); !utf8.ValidString(r.id) {
				r.id = string(appendValid(nil, value))
			}
		}
	case "retry":
		if d, ok := digits(value); ok {
			r.retry, r.hasRetry = d, true
		}
	}
}

// digits reads ASCII digits as milliseconds.
func digits(value []byte) (time.Duration, bool) {
	var d time.Duration
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		if d = d*10 + time.Duration(c-'0')*time.Millisecond; d > maxRetry {
			return 0, false
		}
	}
	return d, len(value) > 0
}

// line returns the next line without its end; it is valid until the next call. A line that the stream does not end is
// no line.
func (r *Reader) line() ([]byte, error) {
	scanned := 0
	for {
		if r.skipLF && r.pos < len(r.buf) {
			if r.buf[r.pos] == '\n' {
				r.pos++
			}
			r.skipLF = false
		}
		rest := r.buf[r.pos:]
		if !r.bomChecked && len(rest) > 0 {
			if bom := []byte("\xEF\xBB\xBF"); len(rest) < len(bom) && bytes.HasPrefix(bom, rest) && r.err == nil {
				r.fill()
				continue
			} else if bytes.HasPrefix(rest, bom) {
				r.pos += len(bom)
				rest = rest[len(bom):]
			}
			r.bomChecked = true
		}
		if i := lineEnd(rest[scanned:]); i >= 0 {
			i += scanned
			r.pos += i + 1
			r.skipLF = rest[i] == '\r'
			return rest[:i], nil
		}
		if r.err != nil {
			return nil, r.err
		}
		if scanned = len(rest); scanned > r.max {
			return nil, r.tooLong()
		}
		r.fill()
	}
}

// lineEnd returns the index of the first CR or LF, -1 for none.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// maxEmptyReads is how often a source may return nothing and no error before it counts as broken; bufio allows as many.
const maxEmptyReads = 100

// fill reads once from the source.
func (r *Reader) fill() {
	if r.pos > 0 {
		n := copy(r.buf, r.buf[r.pos:])
		r.buf, r.pos = r.buf[:n], 0
	}
	if n := len(r.buf); cap(r.buf)-n < readSize/2 {
		grown := make([]byte, n, max(2*cap(r.buf), readSize))
		copy(grown, r.buf)
		r.buf = grown
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if err != nil {
			r.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

func (r *Reader) tooLong() error {
	r.err = fmt.Errorf("%w: over %d bytes", ErrTooLong, r.max)
	r.buf, r.pos = nil, 0
	return r.err
}

// appendValid appends text, with U+FFFD for each maximal part of it that is not UTF-8, as the standard's decoder does.
func appendValid(dst, text []byte) []byte {
	if utf8.Valid(text) {
		return append(dst, text...)
	}
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		if c == utf8.RuneError && size == 1 {
			size = badPrefix(text)
		}
		dst = utf8.AppendRune(dst, c)
		text = text[size:]
	}
	return dst
}

// badPrefix returns the length of the maximal ill-formed part at the start of text: the bytes that begin a character
// and are not followed by what would go on with it.
func badPrefix(text []byte) int {
	var need int
	low, high := byte(0x80), byte(0xBF)
	switch c := text[0]; {
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c >= 0xE0 && c <= 0xEF:
		need = 2
		if c == 0xE0 {
			low = 0xA0
		} else if c == 0xED {
			high = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		need = 3
		if c == 0xF0 {
			low = 0x90
		} else if c == 0xF4 {
			high = 0x8F
		}
	}
	n := 1
	for n <= need && n < len(text) && text[n] >= low && text[n] <= high {
		n++
		low, high = 0x80, 0xBF
	}
	return n
}
