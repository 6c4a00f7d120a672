package screen

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// reader reads the numbers and vectors of a module. The first mistake sticks: everything after it reads as zero.
type reader struct {
	raw []byte
	at  int // of the whole module, for messages
	pos int
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = &InvalidError{Reason: fmt.Sprintf(format, args...) + fmt.Sprintf(" at byte %d", r.at+r.pos)}
	}
}

// left returns how many bytes are left, none after a mistake.
func (r *reader) left() int {
	if r.err != nil {
		return 0
	}
	return len(r.raw) - r.pos
}

func (r *reader) byte() byte {
	if r.left() == 0 {
		r.fail("the module ends in the middle")
		return 0
	}
	r.pos++
	return r.raw[r.pos-1]
}

// take returns the next n bytes.
func (r *reader) take(n uint32) []byte {
	if uint64(n) > uint64(r.left()) {
		r.fail("the module ends in the middle")
		return nil
	}
	r.pos += int(n)
	return r.raw[r.pos-int(n) : r.pos]
}

// part returns a reader of the next n bytes.
func (r *reader) part(n uint32) *reader {
	at := r.at + r.pos
	return &reader{raw: r.take(n), at: at, err: r.err}
}

// unsigned reads a LEB128 number of at most bits bits.
func (r *reader) unsigned(bits uint) uint64 {
	var v uint64
	for shift := uint(0); shift < bits; shift += 7 {
		b := r.byte()
		low := uint64(b & 0x7f)
		if bits-shift < 7 && low>>(bits-shift) != 0 {
			break
		}
		v |= low << shift
		if b&0x80 == 0 {
			return v
		}
	}
	r.fail("a number is too large")
	return 0
}

func (r *reader) u32() uint32 { return uint32(r.unsigned(32)) }

// signed skips a signed LEB128 number of at most bits bits.
func (r *reader) signed(bits uint) {
	for shift := uint(0); shift < bits; shift += 7 {
		if r.byte()&0x80 == 0 {
			return
		}
	}
	r.fail("a number is too large")
}

// count reads the length of a vector whose elements have at least one byte each.
func (r *reader) count(what string, most uint32) uint32 {
	n := r.u32()
	switch {
	case n > most:
		r.fail("it has %d %s, over %d", n, what, most)
		return 0
	case uint64(n) > uint64(r.left()):
		r.fail("it says that it has %d %s and ends before", n, what)
		return 0
	}
	return n
}

// name reads a text.
func (r *reader) name() string {
	raw := r.take(r.count("bytes in a name", maxName))
	if !utf8.Valid(raw) {
		r.fail("a name is not UTF-8")
	}
	return string(raw)
}

// limits reads the limits of a table or a memory; without a largest size it is the largest number.
func (r *reader) limits() (least, most uint32) {
	switch flag := r.byte(); flag {
	case 0:
		return r.u32(), math.MaxUint32
	case 1:
		least = r.u32()
		return least, r.u32()
	default:
		r.fail("limits of kind %d are not allowed", flag)
	}
	return 0, 0
}
