package plugincheck

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/stdio"
)

// request answers what the program asks: with a store in memory, the defaults of its settings, no secrets and no other
// services.
func (k *kernel) request(_ context.Context, r *wire.Request) {
	k.mu.Lock()
	result, err := k.answer(r)
	k.mu.Unlock()
	if err != nil {
		_ = r.Fail(stdio.Fail(err)) // a program that is gone needs no answer
		return
	}
	_ = r.Reply(result)
}

// answer returns the answer to a request. k.mu is held.
func (k *kernel) answer(r *wire.Request) (any, error) {
	switch r.Method {
	case stdio.KVGet:
		var p stdio.KVGetParams
		if err := decode(r, &p); err != nil {
			return nil, err
		}
		v, ok := k.store[p.Key]
		if !ok {
			return nil, kernelcontract.NotFound.Errorf("the plugin's store has no key %q", p.Key)
		}
		return stdio.KVGetResult{Value: v}, nil
	case stdio.KVList:
		var p stdio.KVRange
		if err := decode(r, &p); err != nil {
			return nil, err
		}
		return k.page(p), nil
	case stdio.KVCommit:
		var p stdio.KVCommitParams
		if err := decode(r, &p); err != nil {
			return nil, err
		}
		return stdio.Nothing{}, k.commit(p)
	case stdio.ConfigGet:
		var p stdio.ConfigGetParams
		if err := decode(r, &p); err != nil {
			return nil, err
		}
		for _, key := range k.contract.Config {
			if key.Key == p.Key && key.Default != nil {
				return stdio.ValueResult{Set: true, Value: key.Default}, nil
			}
		}
		return stdio.ValueResult{}, nil
	case stdio.SecretGet:
		return stdio.ValueResult{}, nil
	case stdio.ServiceHas:
		return stdio.ServiceHasResult{}, nil
	}
	return nil, &wire.Error{Code: wire.CodeNoMethod, Message: "this kernel does not answer " + r.Method}
}

func decode(r *wire.Request, v any) error {
	if err := json.Unmarshal(r.Params, v); err != nil {
		return kernelcontract.InvalidInput.Errorf("the params of %s cannot be read: %s", r.Method, err)
	}
	return nil
}

// page returns a page of the store. k.mu is held.
func (k *kernel) page(p stdio.KVRange) stdio.KVListResult {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(k.store)), func(key string) bool {
		return !strings.HasPrefix(key, p.Prefix) || p.After != "" && key <= p.After || p.Before != "" && key >= p.Before
	})
	if p.Reverse {
		slices.Reverse(keys)
	}
	limit := p.Limit
	if limit <= 0 || limit > stdio.MaxPage {
		limit = stdio.MaxPage
	}
	out := stdio.KVListResult{Entries: []stdio.KVEntry{}, More: len(keys) > limit}
	for _, key := range keys[:min(limit, len(keys))] {
		out.Entries = append(out.Entries, stdio.KVEntry{Key: key, Value: k.store[key]})
	}
	return out
}

// commit writes when nothing has changed that was read. k.mu is held.
func (k *kernel) commit(p stdio.KVCommitParams) error {
	overtaken := kernelcontract.Conflict.Errorf("what the transaction has read has changed: run it again")
	for _, c := range p.Checks {
		v, there := k.store[c.Key]
		if there != (c.SHA256 != "") || there && stdio.Hash(v) != c.SHA256 {
			return overtaken
		}
	}
	for _, l := range p.Lists {
		if stdio.HashEntries(k.page(l.KVRange).Entries) != l.SHA256 {
			return overtaken
		}
	}
	for _, w := range p.Writes {
		switch {
		case w.Delete:
			delete(k.store, w.Key)
		case w.Value == nil:
			return kernelcontract.InvalidInput.Errorf("the write of %q has neither a value nor delete", w.Key)
		default:
			k.store[w.Key] = slices.Clone(w.Value)
		}
	}
	return nil
}
