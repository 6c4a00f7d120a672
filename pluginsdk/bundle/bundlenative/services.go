package bundlenative

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bb-kernel/bb/pluginsdk/bundle"
	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

// Services keeps in memory what agents keep and tell. The zero value is ready; several agents may share one. It is safe
// for concurrent use.
type Services struct {
	mu      sync.Mutex
	calls   int
	running map[string]running         // by token
	values  map[string]json.RawMessage // by agent, capability and key
	entries map[string][]bundle.SessionEntry
	events  []bundle.Event
	costs   []bundle.Cost
}

// running is a dispatch that is under way.
type running struct{ agent, session, capability string }

func (r running) key(key string) string { return r.agent + "\x00" + r.capability + "\x00" + key }

func (r running) sessionKey() string { return r.agent + "\x00" + r.session }

func (s *Services) begin(r running) (token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running, s.values, s.entries = map[string]running{}, map[string]json.RawMessage{}, map[string][]bundle.SessionEntry{}
	}
	s.calls++
	token = strconv.Itoa(s.calls)
	s.running[token] = r
	return token
}

func (s *Services) end(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, token)
}

// Value decodes what a capability of an agent has stored under a key, and reports whether there is something.
func (s *Services) Value(agentID, capabilityID, key string, v any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, ok := s.values[running{agent: agentID, capability: capabilityID}.key(key)]
	return ok && json.Unmarshal(raw, v) == nil
}

// Events returns what was broadcast, in order.
func (s *Services) Events() []bundle.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// Entries returns the entries of a session, in order.
func (s *Services) Entries(agentID, sessionID string) []bundle.SessionEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries[running{agent: agentID, session: sessionID}.sessionKey()])
}

// Costs returns what was emitted, in order.
func (s *Services) Costs() []bundle.Cost {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.costs)
}

// answer answers the frame of a call.
func (s *Services) answer(_ context.Context, frame []byte) ([]byte, error) {
	var c abi.Call
	body, err := abi.Split(frame, &c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	result, out := s.run(&c, body)
	return abi.Append(nil, result, out)
}

// run answers a call. s.mu is held.
func (s *Services) run(c *abi.Call, body []byte) (abi.Result, []byte) {
	fail := func(code abi.Code, message string) (abi.Result, []byte) {
		return abi.Result{Error: &abi.Error{Code: code, Message: message}}, nil
	}
	r, ok := s.running[c.Token]
	switch {
	case !ok:
		return fail(abi.TokenReplay, "the dispatch that the call belongs to is over")
	case c.Op.NeedsSession() && r.session == "":
		return fail(abi.SessionRequired, "there is no session")
	}
	if e := c.Check(body); e != nil {
		return abi.Result{Error: e}, nil
	}
	switch c.Op {
	case abi.KVGet:
		v, ok := s.values[r.key(c.Key)]
		if !ok {
			return fail(abi.NotFound, "the store has no key "+strconv.Quote(c.Key))
		}
		return abi.Result{}, v
	case abi.KVPut:
		s.values[r.key(c.Key)] = slices.Clone(body)
	case abi.KVDelete:
		delete(s.values, r.key(c.Key))
	case abi.KVList:
		return s.list(r, c), nil
	case abi.ChannelBroadcast, abi.ChannelGlobal, abi.SpineBroadcast:
		var e bundle.Event
		_ = json.Unmarshal(body, &e) // Check has read it
		e.AgentID, e.CapabilityID, e.SessionID = r.agent, r.capability, r.session
		if c.Op == abi.ChannelGlobal {
			e.SessionID = ""
		}
		s.events = append(s.events, e)
	case abi.SpineAppend:
		key := r.sessionKey()
		s.entries[key] = append(s.entries[key], bundle.SessionEntry{ID: strconv.Itoa(len(s.entries[key]) + 1), Type: "custom", Data: slices.Clone(body)})
	case abi.SpineEntries:
		raw, _ := json.Marshal(page(s.entries[r.sessionKey()], c.After, c.Limit)) // what was read encodes
		return abi.Result{}, raw
	case abi.SpineContext:
		return abi.Result{}, []byte("[]")
	case abi.CostEmit:
		var cost bundle.Cost
		_ = json.Unmarshal(body, &cost) // Check has read it
		s.costs = append(s.costs, cost)
	}
	return abi.Result{}, nil
}

func (s *Services) list(r running, c *abi.Call) abi.Result {
	var result abi.Result
	var keys []string
	for key := range s.values {
		if key, ok := strings.CutPrefix(key, r.key("")); ok && strings.HasPrefix(key, c.Prefix) && key > c.After {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	result.More = len(keys) > abi.MaxListed
	for _, key := range keys[:min(len(keys), abi.MaxListed)] {
		result.Entries = append(result.Entries, abi.Entry{Key: key, Value: s.values[r.key(key)]})
	}
	return result
}

// page returns up to limit entries after the one with an id.
func page(entries []bundle.SessionEntry, after string, limit int) []bundle.SessionEntry {
	n, _ := strconv.Atoi(after) // ids count
	entries = entries[min(max(n, 0), len(entries)):]
	if limit <= 0 || limit > abi.MaxListed {
		limit = abi.MaxListed
	}
	return append([]bundle.SessionEntry{}, entries[:min(limit, len(entries))]...)
}
