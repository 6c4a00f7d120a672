package bundle

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

// link carries the calls of one dispatch to the host.
type link struct {
	host  func(ctx context.Context, frame []byte) ([]byte, error)
	token string
}

func (l link) do(ctx context.Context, call abi.Call, body []byte) (abi.Result, []byte, error) {
	call.Token = l.token
	frame, err := abi.Append(nil, call, body)
	if err != nil {
		return abi.Result{}, nil, Errorf(InvalidArgument, "%s", err)
	}
	answer, err := l.host(ctx, frame)
	if err != nil {
		return abi.Result{}, nil, err
	}
	var result abi.Result
	rest, err := abi.Split(answer, &result)
	switch {
	case err != nil:
		return abi.Result{}, nil, Errorf(Internal, "%s: %s", call.Op, err)
	case result.Error != nil:
		return abi.Result{}, nil, result.Error
	}
	return result, rest, nil
}

// send is do with a body that is encoded to JSON, for calls whose result says nothing.
func (l link) send(ctx context.Context, call abi.Call, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return Errorf(InvalidArgument, "%s: %s", call.Op, err)
	}
	_, _, err = l.do(ctx, call, raw)
	return err
}

// KV is the store of a capability for its agent. It outlives the instance, promotions and rollbacks. A key has up to 512 bytes,
// a value up to 256 KiB as JSON, an agent up to 64 MiB; a dispatch may make 50 calls, else the error is BudgetExceeded.
type KV struct{ link link }

// Get decodes the value of a key into v, a pointer. Without one the error is NotFound, and v is left alone.
func (kv KV) Get(ctx context.Context, key string, v any) error {
	_, raw, err := kv.link.do(ctx, abi.Call{Op: abi.KVGet, Key: key}, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("the value of %q: %w", key, err)
	}
	return nil
}

// Put stores v, encoded to JSON, as the value of a key. It has been kept when Put returns nil.
func (kv KV) Put(ctx context.Context, key string, v any) error {
	return kv.link.send(ctx, abi.Call{Op: abi.KVPut, Key: key}, v)
}

// Delete removes a key. That there is none is no error.
func (kv KV) Delete(ctx context.Context, key string) error {
	_, _, err := kv.link.do(ctx, abi.Call{Op: abi.KVDelete, Key: key}, nil)
	return err
}

// Entry is a key with its value.
type Entry = abi.Entry

// List yields the entries whose keys begin with prefix in the order of their bytes. An error is the last pair. Entries
// come in pages of 1,000, each of them one call.
func (kv KV) List(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		call := abi.Call{Op: abi.KVList, Prefix: prefix}
		for {
			page, _, err := kv.link.do(ctx, call, nil)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range page.Entries {
				if !yield(e, nil) {
					return
				}
				call.After = e.Key
			}
			if !page.More || len(page.Entries) == 0 {
				return
			}
		}
	}
}

// Event is what clients that follow the agent see. Type is state_event, or x- and a name; it has up to 64 KiB. The host says whose
// it is.
type Event = abi.Event

// Channel tells the clients that follow the agent.
type Channel struct {
	link    link
	session bool
}

// Broadcast tells the clients of the session. Without a session it does nothing.
func (c Channel) Broadcast(ctx context.Context, e Event) error {
	if !c.session {
		return nil
	}
	return c.link.send(ctx, abi.Call{Op: abi.ChannelBroadcast}, e)
}

// BroadcastGlobal tells all clients of the agent.
func (c Channel) BroadcastGlobal(ctx context.Context, e Event) error {
	return c.link.send(ctx, abi.Call{Op: abi.ChannelGlobal}, e)
}

// Spine is the session's record. Without a session its calls fail with SessionRequired.
type Spine struct{ link link }

// AppendEntry adds an entry of the capability, data encoded to JSON, at most 256 KiB.
func (s Spine) AppendEntry(ctx context.Context, data any) error {
	return s.link.send(ctx, abi.Call{Op: abi.SpineAppend}, data)
}

// SessionEntry is an entry of a session.
type SessionEntry struct {
	ID   string          `json:"id"` // grows; After of Entries
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// Entries returns up to limit entries after the one with an id, in order; "" begins with the first, limit 0 means 1,000, which
// is also the most.
func (s Spine) Entries(ctx context.Context, after string, limit int) ([]SessionEntry, error) {
	_, raw, err := s.link.do(ctx, abi.Call{Op: abi.SpineEntries, After: after, Limit: limit}, nil)
	if err != nil {
		return nil, err
	}
	var entries []SessionEntry
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, fmt.Errorf("the session's entries: %w", err)
	}
	return entries, nil
}

// Message is a part of what the model would be told.
type Message struct {
	Role string `json:"role"` // system, user, assistant or tool
	Text string `json:"text"`
}

// BuildContext returns what the model would be told at the next turn.
func (s Spine) BuildContext(ctx context.Context) ([]Message, error) {
	_, raw, err := s.link.do(ctx, abi.Call{Op: abi.SpineContext}, nil)
	if err != nil {
		return nil, err
	}
	var messages []Message
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, fmt.Errorf("the session's context: %w", err)
	}
	return messages, nil
}

// Broadcast tells the clients of the session.
func (s Spine) Broadcast(ctx context.Context, e Event) error {
	return s.link.send(ctx, abi.Call{Op: abi.SpineBroadcast}, e)
}

// Cost is what something has cost: Amount is finite and not negative, Currency has three capital letters.
type Cost = abi.Cost
