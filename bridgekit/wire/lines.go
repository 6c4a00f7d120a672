package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	firstBuffer = 64 << 10 // what a pipe holds on most systems: one read empties it
	keepBuffer  = 1 << 20  // a buffer that one long line has grown beyond this is given back after it
	emptyReads  = 100      // reads in a row without a byte or an error before a reader counts as broken
	startLen    = 128      // how much of a dropped line errors show: enough to recognize it
)

// bom is the byte order mark in UTF-8, which some programs of other systems write first.
var bom = []byte("\xef\xbb\xbf")

// LongLineError says that a line was over the limit. What a LineReader drops this way was never held in memory.
type LongLineError struct {
	Length int64  // bytes of the line, as far as it was read
	Limit  int    // bytes allowed
	Start  string // its first bytes, at most 128, made valid UTF-8
}

// Error names the size and the limit.
func (e *LongLineError) Error() string {
	return fmt.Sprintf("wire: a line of %d bytes is over the limit of %d: send it in parts; it starts with %q", e.Length, e.Limit, e.Start)
}

// LineReader splits a stream into lines. It splits at 0x0A and nowhere else, takes off one trailing CR, and skips one
// byte order mark at the start of the stream. It holds at most one line and what one read brought after it. It is not
// safe for concurrent use.
type LineReader struct {
	r          io.Reader
	max        int
	buf        []byte
	start, end int            // what is read and not delivered
	scanned    int            // no line end in buf[start:scanned]
	skipping   *LongLineError // the long line whose end is being looked for
	begun      bool           // the byte order mark has been looked for
	err        error
}

// NewLineReader reads lines of at most max bytes from r; 0 or less means MaxLine.
func NewLineReader(r io.Reader, max int) *LineReader {
	if max <= 0 {
		max = MaxLine
	}
	return &LineReader{r: r, max: max, buf: make([]byte, min(firstBuffer, max+len(bom)+2))}
}

// Next returns the next line without its end; it is valid until the next call. A line over the limit is discarded up to
// its end and reported as *LongLineError, after which reading goes on. The last line needs no line end. At the end of
// the stream the error is io.EOF, and any other error is the reader's; a line that such an error cut off is discarded.
func (l *LineReader) Next() ([]byte, error) {
	if !l.begun {
		l.begin()
	}
	for {
		if i := bytes.IndexByte(l.buf[l.scanned:l.end], '\n'); i >= 0 {
			end := l.scanned + i
			line := l.buf[l.start:end]
			l.start, l.scanned = end+1, end+1
			if l.skipping != nil {
				return nil, l.skip(len(line))
			}
			return l.deliver(line)
		}
		l.scanned = l.end
		if l.skipping != nil {
			l.skipping.Length += int64(l.end - l.start)
			l.start, l.scanned, l.end = 0, 0, 0
		} else if l.end-l.start > l.max+1 { // the one byte more may be a CR
			l.skipping = &LongLineError{Limit: l.max, Start: excerpt(l.buf[l.start:l.end])}
			continue
		}
		if l.err != nil {
			return l.last()
		}
		l.fill()
	}
}

// begin skips the byte order mark.
func (l *LineReader) begin() {
	for l.err == nil && l.end < len(bom) && bytes.HasPrefix(bom, l.buf[:l.end]) {
		l.fill()
	}
	if bytes.HasPrefix(l.buf[:l.end], bom) {
		l.start, l.scanned = len(bom), len(bom)
	}
	l.begun = true
}

func (l *LineReader) deliver(line []byte) ([]byte, error) {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if len(line) > l.max {
		return nil, &LongLineError{Length: int64(len(line)), Limit: l.max, Start: excerpt(line)}
	}
	return line, nil
}

func (l *LineReader) skip(n int) error {
	err := l.skipping
	err.Length += int64(n)
	l.skipping = nil
	return err
}

// last delivers what stands after the last line end.
func (l *LineReader) last() ([]byte, error) {
	if l.skipping != nil {
		return nil, l.skip(0)
	}
	if l.start == l.end || !errors.Is(l.err, io.EOF) {
		return nil, l.err
	}
	line := l.buf[l.start:l.end]
	l.start, l.scanned = l.end, l.end
	return l.deliver(line)
}

// fill makes room and reads once.
func (l *LineReader) fill() {
	switch pending := l.end - l.start; {
	case pending == 0 && len(l.buf) > keepBuffer:
		l.buf = make([]byte, firstBuffer)
		l.start, l.scanned, l.end = 0, 0, 0
	case l.end < len(l.buf):
	case l.start > len(l.buf)/2 || pending == 0:
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.scanned, l.end = 0, l.scanned-l.start, pending
	default:
		grown := make([]byte, min(2*len(l.buf), l.max+l.start+len(bom)+2))
		l.end = copy(grown, l.buf[l.start:l.end])
		l.start, l.scanned, l.buf = 0, l.scanned-l.start, grown
	}
	for range emptyReads {
		n, err := l.r.Read(l.buf[l.end:])
		if n < 0 || n > len(l.buf)-l.end {
			n, err = 0, errors.New("wire: the reader returned an impossible count")
		}
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// excerpt is the start of a line for an error.
func excerpt(line []byte) string {
	return strings.ToValidUTF8(string(line[:min(len(line), startLen)]), "\uFFFD")
}
