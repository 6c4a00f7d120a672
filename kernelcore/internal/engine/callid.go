package engine

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"sync/atomic"
	"time"
)

// callIDs makes ids that are unique across restarts and sort by time: 48 bits of milliseconds, a 32-bit counter, and
// 48 random bits of the process.
type callIDs struct {
	process [6]byte
	n       atomic.Uint32
}

var idEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

func newCallIDs() *callIDs {
	c := &callIDs{}
	_, _ = rand.Read(c.process[:]) // never fails: it ends the program instead
	return c
}

func (c *callIDs) append(b []byte, now time.Time) []byte {
	var raw [16]byte
	ms := uint64(now.UnixMilli())
	binary.BigEndian.PutUint16(raw[0:], uint16(ms>>32))
	binary.BigEndian.PutUint32(raw[2:], uint32(ms))
	binary.BigEndian.PutUint32(raw[6:], c.n.Add(1))
	copy(raw[10:], c.process[:])
	return idEncoding.AppendEncode(b, raw[:])
}
