package engine

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"sync"
	"time"
)

// idGenerator makes ids that sort by the time of their making, also when the clock goes backwards.
type idGenerator struct {
	mu   sync.Mutex
	last uint64 // milliseconds and a count, the count in the low bits
}

const (
	// idCountBits leave room for a million ids in a millisecond, and 44 bits of milliseconds for 500 years.
	idCountBits = 20
	// idDigits are those of Crockford's base 32, in lower case: none is mistaken for another.
	idDigits = "0123456789abcdefghjkmnpqrstvwxyz"
)

// next returns a prefix and 18 digits: 13 that sort by time, and 5 that two programs hardly share.
func (g *idGenerator) next(prefix string, now time.Time) string {
	g.mu.Lock()
	n := uint64(max(now.UnixMilli(), 0)) << idCountBits
	if n <= g.last {
		n = g.last + 1
	}
	g.last = n
	g.mu.Unlock()
	var b strings.Builder
	b.WriteString(prefix)
	for shift := 60; shift >= 0; shift -= 5 {
		b.WriteByte(idDigits[n>>shift&31])
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	r := binary.BigEndian.Uint32(random[:])
	for range 5 {
		b.WriteByte(idDigits[r&31])
		r >>= 5
	}
	return b.String()
}

// after makes later ids sort behind id, one that next made in an earlier life of the program.
func (g *idGenerator) after(prefix, id string) {
	digits := strings.TrimPrefix(id, prefix)
	if len(digits) != 18 {
		return
	}
	var n uint64
	for _, c := range []byte(digits[:13]) {
		d := strings.IndexByte(idDigits, c)
		if d < 0 {
			return
		}
		n = n<<5 | uint64(d)
	}
	g.mu.Lock()
	g.last = max(g.last, n)
	g.mu.Unlock()
}

// The prefixes of ids.
const (
	threadPrefix      = "t"
	turnPrefix        = "u"
	interactionPrefix = "i"
	requestPrefix     = "r"
)
