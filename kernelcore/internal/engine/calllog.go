package engine

import (
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// CallLogSize is how many calls the log keeps: enough to look back over a busy minute, small enough to hold in memory.
const CallLogSize = 1000

// CallRecord is one line of the call log. It holds no input and no result: they may be secret.
type CallRecord struct {
	ID         string
	Ref        string
	Kind       kernelcontract.Kind
	Principal  kernelcontract.Principal
	Client     kernelcontract.ClientInfo
	Start      time.Time
	Duration   time.Duration
	Code       kernelcontract.Code // "" for success
	Generation uint64
}

// CallLog keeps the last CallLogSize calls.
type CallLog struct {
	mu   sync.Mutex
	ring [CallLogSize]CallRecord
	next int
	full bool
}

func (l *CallLog) add(r *CallRecord) {
	l.mu.Lock()
	l.ring[l.next] = *r
	l.next++
	if l.next == len(l.ring) {
		l.next, l.full = 0, true
	}
	l.mu.Unlock()
}

// Last returns up to n calls, the newest first.
func (l *CallLog) Last(n int) []CallRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	have := l.next
	if l.full {
		have = len(l.ring)
	}
	n = min(max(n, 0), have)
	out := make([]CallRecord, n)
	for i := range out {
		out[i] = l.ring[(l.next-1-i+len(l.ring))%len(l.ring)]
	}
	return out
}
