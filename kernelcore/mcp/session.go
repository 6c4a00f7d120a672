package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bb-kernel/bb/kernelcore"
)

// own remembers whose session it is.
func (e *endpoint) own(id string, v *kernelcore.Visitor) {
	e.ownersMu.Lock()
	defer e.ownersMu.Unlock()
	e.owners[id] = v
}

// closeRevoked ends a session whose owner's credential is revoked.
func (e *endpoint) closeRevoked(v *kernelcore.Visitor, id string) {
	if !revoked(v) {
		return
	}
	for s := range e.server.Sessions() {
		if s.ID() == id {
			_ = s.Close()
		}
	}
}

// makeRoom ends the sessions whose credential is revoked, then the oldest while there are too many for one more.
func (e *endpoint) makeRoom() {
	var open []*sdk.ServerSession // the oldest first; those without an id last as long as a request
	for s := range e.server.Sessions() {
		if s.ID() != "" {
			open = append(open, s)
		}
	}
	open, ended := e.sort(open)
	if over := len(open) - MaxSessions + 1; over > 0 {
		ended = append(ended, open[:over]...)
	}
	for _, s := range ended {
		_ = s.Close()
	}
}

// sort tells the sessions whose owner's credential is revoked from the others, and forgets the owners of all but those.
func (e *endpoint) sort(open []*sdk.ServerSession) (live, ended []*sdk.ServerSession) {
	e.ownersMu.Lock()
	defer e.ownersMu.Unlock()
	owners := make(map[string]*kernelcore.Visitor, len(open))
	for _, s := range open {
		v := e.owners[s.ID()]
		if v != nil && revoked(v) {
			ended = append(ended, s)
			continue
		}
		live = append(live, s)
		if v != nil {
			owners[s.ID()] = v
		}
	}
	e.owners = owners
	return live, ended
}

// revoked reports whether the visitor's credential is revoked.
func revoked(v *kernelcore.Visitor) bool {
	select {
	case <-v.Revoked():
		return true
	default:
		return false
	}
}
