// Package record is the form in which events of a thread lie in the store: several of them, in the order of their
// numbers, make up one record (docs/spec/timeline.md).
//
// A record is the byte Version and then the events, each as: flags, seq, seconds and nanoseconds of its time, type, the
// ids that the flags announce, the first seq that it covers, payload. Numbers are varints, strings have their length
// before them. Payloads stay JSON.
package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// Version is the first byte of a record.
const Version = 1

// usualSize is about that of a streamed word, of which most events are. An array of events is made for as many at once.
const usualSize = 96

const (
	hasTurn = 1 << iota
	hasItem
	hasParent
	hasCovers
	known = 1<<iota - 1
)

// Seconds of the first and the last moment that JSON times can say.
var minSecond, maxSecond = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()

// ErrDamaged says that bytes are no record.
var ErrDamaged = errors.New("record: damaged")

// Append adds an event to a record that is being written; the first one begins it. The time of e is one of the years 0
// to 9999.
func Append(dst []byte, e threadapi.Event) []byte {
	if len(dst) == 0 {
		dst = append(dst, Version)
	}
	var flags byte
	if e.Scope.TurnID != "" {
		flags |= hasTurn
	}
	if e.ItemID != "" {
		flags |= hasItem
	}
	if e.ParentItemID != "" {
		flags |= hasParent
	}
	if len(e.Covers) == 2 {
		flags |= hasCovers
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(e.Seq))
	dst = binary.AppendVarint(dst, e.At.Unix())
	dst = binary.AppendUvarint(dst, uint64(e.At.Nanosecond()))
	dst = appendString(dst, e.Type)
	if flags&hasTurn != 0 {
		dst = appendString(dst, e.Scope.TurnID)
	}
	if flags&hasItem != 0 {
		dst = appendString(dst, e.ItemID)
	}
	if flags&hasParent != 0 {
		dst = appendString(dst, e.ParentItemID)
	}
	if flags&hasCovers != 0 {
		dst = binary.AppendUvarint(dst, uint64(e.Covers[0]))
	}
	dst = binary.AppendUvarint(dst, uint64(len(e.Payload)))
	return append(dst, e.Payload...)
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Decode appends the events of a record to dst. Payloads are parts of raw, which the caller gives away with it. The
// error is ErrDamaged.
func Decode(dst []threadapi.Event, threadID string, raw []byte) ([]threadapi.Event, error) {
	if len(raw) == 0 || raw[0] != Version {
		return dst, fmt.Errorf("%w: not of version %d", ErrDamaged, Version)
	}
	dst = slices.Grow(dst, len(raw)/usualSize+1)
	d := decoder{rest: raw[1:]}
	var before threadapi.Event // its strings are used again: neighbours mostly have the same
	for len(d.rest) > 0 {
		flags := d.byte()
		e := threadapi.Event{ThreadID: threadID, Seq: d.seq()}
		sec, nsec := d.varint(), d.uvarint()
		e.Type = d.string(before.Type)
		e.Scope.Kind = "thread"
		if flags&hasTurn != 0 {
			e.Scope = threadapi.Scope{Kind: "turn", TurnID: d.id(before.Scope.TurnID)}
		}
		if flags&hasItem != 0 {
			e.ItemID = d.id(before.ItemID)
		}
		if flags&hasParent != 0 {
			e.ParentItemID = d.id(before.ParentItemID)
		}
		if flags&hasCovers != 0 {
			e.Covers = []int64{d.seq(), e.Seq}
		}
		e.Payload = d.bytes()
		switch {
		case d.bad, flags&^known != 0, sec < minSecond, sec > maxSecond, nsec >= 1e9:
			return dst, fmt.Errorf("%w: behind seq %d", ErrDamaged, before.Seq)
		case e.Seq <= before.Seq, e.Covers != nil && (e.Covers[0] <= before.Seq || e.Covers[0] > e.Seq):
			return dst, fmt.Errorf("%w: seq %d comes behind %d", ErrDamaged, e.Seq, before.Seq)
		}
		e.At = time.Unix(sec, int64(nsec)).UTC()
		dst, before = append(dst, e), e
	}
	return dst, nil
}

type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.bad = true
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) seq() int64 {
	v := d.uvarint()
	if v == 0 || v > math.MaxInt64 {
		d.bad = true
		return 0
	}
	return int64(v)
}

func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

// id returns the next string, which is not empty.
func (d *decoder) id(before string) string {
	s := d.string(before)
	d.bad = d.bad || s == ""
	return s
}

// string returns the next string; before itself when it is equal, which costs no memory.
func (d *decoder) string(before string) string {
	b := d.bytes()
	if string(b) == before {
		return before
	}
	return string(b)
}
