package token

import (
	"sync"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Sessions are the live bridge sessions and their secrets, in memory only: a session does not outlast
// the process, so neither does its secret. The zero value is ready, and safe for concurrent use.
type Sessions struct {
	mu  sync.RWMutex
	all map[Hash]*session
}

type session struct {
	hash    Hash
	context kernelcontract.Context
	ended   chan struct{}
}

// Begin makes the secret of a session, whose calls are made in c; c.ThreadID is the session's thread. end ends it
// for good and closes what Lookup gave for it; calling it again does nothing.
func (s *Sessions) Begin(c kernelcontract.Context) (secret string, end func()) {
	secret, hash := Mint(Session)
	one := &session{hash: hash, context: c, ended: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[Hash]*session{}
	}
	s.all[hash] = one
	return secret, sync.OnceFunc(func() {
		s.mu.Lock()
		delete(s.all, hash)
		s.mu.Unlock()
		close(one.ended)
	})
}

// Lookup returns the context of the session with this hash. ended is closed when the session ends. The
// error is [ErrUnknown].
func (s *Sessions) Lookup(hash Hash) (c kernelcontract.Context, ended <-chan struct{}, err error) {
	s.mu.RLock()
	one := s.all[hash]
	s.mu.RUnlock()
	if one == nil || !one.hash.Equal(hash) {
		return kernelcontract.Context{}, nil, ErrUnknown
	}
	return one.context, one.ended, nil
}
