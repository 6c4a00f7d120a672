package providers

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcore"
)

// Bridge is a running process of a provider, or one that has ended.
type Bridge struct {
	*host.Bridge
	ProviderID, PluginID string
	Declaration          protocol.ProviderDeclaration
	Options              protocol.JSONObject // the bridgeOptions of sessions
	Serial               uint64              // another one for each process

	self    process // the zero one where the system does not tell
	made    string  // fingerprint of what it was made from
	started time.Time
	scratch string        // its temporary directory
	stale   atomic.Bool   // a fresh one was asked for
	gone    chan struct{} // closed when it has ended and everybody knows

	mu      sync.Mutex
	threads map[string]int // with a session, or on their way to one; by how many calls hold them
	used    time.Time      // last
	calls   int            // in flight
	running bool           // the Bridge is set
	early   []func()       // what came before that
	strays  []process      // descendants outside of its group, as far as they were seen
}

// fingerprint tells whether a process fits what a plugin says now. Functions are not compared: a plugin that is reloaded
// with the same program keeps its process.
func fingerprint(one kernelcore.Provider) string {
	declaration, _ := json.Marshal(one.Declaration)
	options, _ := json.Marshal(one.Program.Options)
	return fmt.Sprintf("%q %q %q %s %s %q", one.PluginID, one.PluginVersion, one.Program.Command, declaration, options, one.InteractionKinds)
}

// hold notes that a thread has a session, or is about to get one.
func (b *Bridge) hold(threadID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.threads[threadID]++
}

// drop takes that back; all of it when the session is over.
func (b *Bridge) drop(threadID string, all bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.threads[threadID]--; all || b.threads[threadID] <= 0 {
		delete(b.threads, threadID)
	}
	b.used = time.Now()
}

// liveThreads returns how many threads have a session.
func (b *Bridge) liveThreads() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.threads)
}

// touch notes that somebody uses the bridge.
func (b *Bridge) touch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = time.Now()
}

// idleSince tells since when nobody has used the bridge; ok is false while somebody does.
func (b *Bridge) idleSince() (since time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, len(b.threads) == 0 && b.calls == 0
}

// during counts a call while fn runs.
func (b *Bridge) during(fn func()) {
	b.mu.Lock()
	b.calls++
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.calls--
		b.used = time.Now()
		b.mu.Unlock()
	}()
	fn()
}

// opened counts a session if one came of a call.
func (b *Bridge) opened(threadID string, call func() (protocol.SessionIdentity, error)) (protocol.SessionIdentity, error) {
	b.hold(threadID)
	id, err := call()
	if err != nil {
		b.drop(threadID, false)
	}
	return id, err
}

// ThreadStart calls thread/start, as host.Bridge does.
func (b *Bridge) ThreadStart(ctx context.Context, p protocol.SessionParams) (protocol.SessionIdentity, error) {
	return b.opened(p.ThreadID, func() (protocol.SessionIdentity, error) { return b.Bridge.ThreadStart(ctx, p) })
}

// ThreadResume calls thread/resume, as host.Bridge does.
func (b *Bridge) ThreadResume(ctx context.Context, p protocol.ResumeParams) (protocol.SessionIdentity, error) {
	return b.opened(p.ThreadID, func() (protocol.SessionIdentity, error) { return b.Bridge.ThreadResume(ctx, p) })
}

// ThreadFork calls thread/fork, as host.Bridge does.
func (b *Bridge) ThreadFork(ctx context.Context, p protocol.ForkParams) (protocol.SessionIdentity, error) {
	return b.opened(p.ThreadID, func() (protocol.SessionIdentity, error) { return b.Bridge.ThreadFork(ctx, p) })
}

// ThreadStop calls thread/stop, as host.Bridge does.
func (b *Bridge) ThreadStop(ctx context.Context, p protocol.ThreadStopParams) error {
	err := b.Bridge.ThreadStop(ctx, p)
	if err == nil && p.Intent == protocol.Release {
		b.drop(p.ThreadID, true)
	}
	return err
}

// ThreadDiscard calls thread/discard, as host.Bridge does.
func (b *Bridge) ThreadDiscard(ctx context.Context, p protocol.ThreadRef) error {
	err := b.Bridge.ThreadDiscard(ctx, p)
	b.drop(p.ThreadID, true)
	return err
}

// deliver runs fn once the Bridge is set: a bridge may speak before its start has returned.
func (b *Bridge) deliver(fn func()) {
	b.mu.Lock()
	if !b.running {
		b.early = append(b.early, fn)
		b.mu.Unlock()
		return
	}
	b.mu.Unlock()
	fn()
}

// run delivers what came before the Bridge was set.
func (b *Bridge) run() {
	for {
		b.mu.Lock()
		early := b.early
		b.early = nil
		b.running = len(early) == 0
		b.mu.Unlock()
		if len(early) == 0 {
			return
		}
		for _, fn := range early {
			fn()
		}
	}
}

// handler carries what a process for sessions sends to the sink.
func (s Sink) handler(b *Bridge) host.Handler {
	h := host.Handler{}
	if s.Deltas != nil {
		h.Deltas = func(threadID string, ds protocol.Deltas) { s.Deltas(b, threadID, ds) }
	}
	if s.Identity != nil {
		h.Identity = func(p protocol.IdentityParams) { s.Identity(b, p) }
	}
	if s.Replaced != nil {
		h.Replaced = func(p protocol.ReplacedParams) { s.Replaced(b, p) }
	}
	if s.Recovery != nil {
		h.Recovery = func(p protocol.RecoveryParams) { b.deliver(func() { s.Recovery(b, p) }) }
	}
	if s.Withdrawn != nil {
		h.Withdrawn = func(p protocol.WithdrawnParams) { s.Withdrawn(b, p) }
	}
	if s.Raw != nil {
		h.Raw = func(p protocol.RawParams) { s.Raw(b, p) }
	}
	if s.Log != nil {
		h.Log = func(p protocol.LogParams) { s.Log(b, p) }
	}
	if s.ToolCall != nil {
		h.ToolCall = func(ctx context.Context, p protocol.ToolCallParams) (protocol.ToolResult, error) {
			return s.ToolCall(ctx, b, p)
		}
	}
	if s.Interact != nil {
		h.Interact = func(ctx context.Context, p protocol.InteractionParams) (protocol.Resolution, error) {
			return s.Interact(ctx, b, p)
		}
	}
	if s.Lost != nil {
		h.Lost = func(threads []string) { s.Lost(b, threads) }
	}
	return h
}
