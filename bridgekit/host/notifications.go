package host

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// identityRule is the rule that a delta breaks which comes before its session's identity.
const identityRule = "session/identity-precedes-delta"

// notify takes a notification, on the reader's goroutine.
func (b *Bridge) notify(_ context.Context, n wire.Notification) {
	b.clock.hold()
	defer b.clock.release()
	h := &b.o.Handler
	switch n.Method {
	case protocol.MethodThreadDelta:
		b.deltas(n.Params)
	case protocol.MethodThreadIdentity:
		p, ok := decode[protocol.IdentityParams](b, n)
		if t := b.known(ok, n.Method, p.ThreadID); t != nil {
			b.notified(t, p.ProviderThreadID)
			deliver(h.Identity, p)
		}
	case protocol.MethodSessionReplaced:
		p, ok := decode[protocol.ReplacedParams](b, n)
		if t := b.known(ok, n.Method, p.ThreadID); t != nil {
			b.notified(t, p.ProviderThreadID)
			deliver(h.Replaced, p)
		}
	case protocol.MethodProviderRecovery:
		p, ok := decode[protocol.RecoveryParams](b, n)
		if ok && (p.ThreadID == "" || b.known(ok, n.Method, p.ThreadID) != nil) {
			deliver(h.Recovery, p)
		}
	case protocol.MethodInteractionWithdrawn:
		p, ok := decode[protocol.WithdrawnParams](b, n)
		if t := b.known(ok, n.Method, p.ThreadID); t != nil {
			b.interruptWhere(ErrWithdrawn, func(r *request) bool { return r.thread == t && r.requestKey == p.RequestKey && r.interaction })
			deliver(h.Withdrawn, p)
		}
	case protocol.MethodProviderRaw:
		if h.Raw == nil {
			return
		}
		p, ok := decode[protocol.RawParams](b, n)
		if ok && (p.ThreadID == "" || b.known(ok, n.Method, p.ThreadID) != nil) {
			h.Raw(p)
		}
	case protocol.MethodBridgeLog:
		if p, ok := decode[protocol.LogParams](b, n); ok {
			b.log(p)
		}
	default:
		b.warn("", "dropped a notification that the protocol does not have", "", "method", n.Method)
	}
}

// deliver calls fn unless it is nil.
func deliver[T any](fn func(T), p T) {
	if fn != nil {
		fn(p)
	}
}

// decode decodes the params of a notification; wrong ones are dropped.
func decode[T any](b *Bridge, n wire.Notification) (T, bool) {
	raw := n.Params
	if raw == nil {
		raw = json.RawMessage("{}")
	}
	p, err := protocol.Decode[T](raw)
	if err != nil {
		b.warn("", "dropped a notification with wrong params", "", "method", n.Method, "error", err.Error())
		return p, false
	}
	return p, true
}

// known returns the thread of a decoded notification; one of an unknown thread is dropped.
func (b *Bridge) known(ok bool, method, threadID string) *thread {
	if !ok {
		return nil
	}
	t := b.thread(threadID)
	if t == nil {
		b.warn(threadID, "dropped a notification of a thread without a session in this process", "", "method", method)
	}
	return t
}

// deltas checks the deltas of one notification and hands on those that keep the grammar.
func (b *Bridge) deltas(raw json.RawMessage) {
	if err := protocol.ParseDeltaParams(raw, &b.batch); err != nil {
		b.warn("", "dropped a notification with wrong params", "events/schema-valid", "method", protocol.MethodThreadDelta, "error", err.Error())
		return
	}
	b.mu.Lock()
	t := b.threads[b.batch.ThreadID]
	identified := t != nil && t.identified
	b.mu.Unlock()
	switch {
	case t == nil:
		b.warn(b.batch.ThreadID, "dropped deltas of a thread without a session in this process", "", "deltas", len(b.batch.Deltas))
		return
	case !identified:
		b.warn(t.id, "dropped deltas that came before thread/identity", identityRule, "deltas", len(b.batch.Deltas))
		return
	}
	b.ready = b.ready[:0]
	settled := false
	for i, d := range b.batch.Deltas {
		if v := t.checker.Check(d); v != nil {
			v.Index = i
			b.warn(t.id, "dropped a delta that breaks a rule", string(v.Rule), "index", i, "kind", string(v.Kind), "detail", v.Detail)
			continue
		}
		settled = t.turn.apply(d.Delta) || settled
		b.ready = append(b.ready, d.Delta)
	}
	if len(b.ready) > 0 && b.o.Handler.Deltas != nil {
		b.o.Handler.Deltas(t.id, b.ready)
	}
	if settled {
		b.interruptTurn(t)
	}
	clear(b.ready)
	clear(b.batch.Deltas)
}

// dropped learns of a line that was not understood.
func (b *Bridge) dropped(err *wire.DroppedError) {
	b.clock.hold()
	defer b.clock.release()
	b.mu.Lock()
	if b.garbage == "" {
		b.garbage = err.Start
	}
	b.mu.Unlock()
	b.warn("", "dropped a line", "", "reason", string(err.Reason), "detail", err.Detail, "start", err.Start, "length", err.Length)
	if err.Reason == wire.OverLong {
		b.lose()
	}
}

// lose ends the open turns, since what was in a line is unknown.
func (b *Bridge) lose() {
	b.mu.Lock()
	threads := make([]*thread, 0, len(b.threads))
	for _, t := range b.threads {
		threads = append(threads, t)
	}
	b.mu.Unlock()
	var lost []string
	for _, t := range threads {
		if !t.turn.open {
			continue
		}
		t.turn = openTurn{}
		lost = append(lost, t.id)
		defer b.interruptTurn(t)
	}
	slices.Sort(lost)
	if len(lost) > 0 && b.o.Handler.Lost != nil {
		b.o.Handler.Lost(lost)
	}
}

// log hands on a message of the bridge, or a warning about it.
func (b *Bridge) log(p protocol.LogParams) {
	if b.o.Handler.Log != nil {
		b.o.Handler.Log(p)
		return
	}
	level := slog.LevelInfo
	switch p.Level {
	case protocol.LogDebug:
		level = slog.LevelDebug
	case protocol.LogWarn:
		level = slog.LevelWarn
	case protocol.LogError:
		level = slog.LevelError
	}
	var attrs []any
	if p.ThreadID != "" {
		attrs = append(attrs, "thread", p.ThreadID)
	}
	if len(p.Data) > 0 && string(p.Data) != "null" {
		attrs = append(attrs, "data", string(p.Data))
	}
	b.o.Log.Log(context.Background(), level, p.Message, attrs...)
}

// warn logs a warning about what the bridge did; rule is the rule that it broke, or "". The pairs of names and values
// that follow become Data.
func (b *Bridge) warn(threadID, message, rule string, pairs ...any) {
	data := make(map[string]any, 1+len(pairs)/2)
	if rule != "" {
		data["rule"] = rule
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		data[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(data)
	if err != nil {
		raw = nil // strings and numbers can always be encoded
	}
	b.log(protocol.LogParams{ThreadID: threadID, Level: protocol.LogWarn, Message: message, Data: raw})
}
