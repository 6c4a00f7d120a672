package procplugin

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/stdio"
)

// request takes a request of the program, and answers it on a goroutine of its own.
func (c *child) request(_ context.Context, r *wire.Request) {
	switch r.Method {
	case stdio.KVGet:
		serve(c, r, c.kvGet)
	case stdio.KVList:
		serve(c, r, c.kvList)
	case stdio.KVCommit:
		serve(c, r, c.kvCommit)
	case stdio.ConfigGet:
		serve(c, r, c.configGet)
	case stdio.SecretGet:
		serve(c, r, c.secretGet)
	case stdio.ServiceHas:
		serve(c, r, c.serviceHas)
	case stdio.ServiceCall:
		serve(c, r, c.serviceCall)
	case stdio.ServiceOpen:
		serve(c, r, c.serviceOpen)
	default:
		_ = r.Fail(&wire.Error{Code: wire.CodeNoMethod, Message: "there is no method " + strconv.Quote(r.Method)})
	}
}

// serve answers one request.
func serve[P any](c *child, r *wire.Request, fn func(ctx context.Context, p P) (any, error)) {
	if c.asks.Add(1) > MaxRequests {
		c.asks.Add(-1)
		_ = r.Fail(stdio.Fail(kernelcontract.ServiceUnavailable.Errorf("more than %d requests are under way: wait for answers first", MaxRequests)))
		return
	}
	c.work.Go(func() {
		defer c.asks.Add(-1)
		var p P
		var result any
		var err error
		if r.Params != nil {
			err = json.Unmarshal(r.Params, &p)
		}
		if err != nil {
			err = kernelcontract.InvalidInput.Errorf("the params of %s cannot be read: %s", r.Method, err)
		} else {
			result, err = fn(c.ctx, p)
		}
		if err == nil {
			if err = r.Reply(result); err != nil && !errors.Is(err, wire.ErrClosed) {
				err = kernelcontract.InvalidInput.Errorf("the answer to %s cannot be sent: %s: ask for less", r.Method, err)
			}
		}
		if err != nil {
			_ = r.Fail(stdio.Fail(err)) // fails only without a connection, or when the answer is written
		}
	})
}

// notify takes a notification of the program.
func (c *child) notify(_ context.Context, n wire.Notification) {
	switch n.Method {
	case stdio.StreamItem:
		var p stdio.ItemParams
		if json.Unmarshal(n.Params, &p) == nil && !c.streams.Received(p) {
			c.blame("it sent more items of a stream than it had credit for")
			c.proc.Kill()
		}
	case stdio.StreamEnd:
		var p stdio.EndParams
		if json.Unmarshal(n.Params, &p) == nil {
			c.streams.Ended(p)
		}
	case stdio.StreamCredit:
		var p stdio.CreditParams
		if json.Unmarshal(n.Params, &p) == nil {
			c.streams.Credited(p)
		}
	case stdio.Cancel:
		var p stdio.CancelParams
		if json.Unmarshal(n.Params, &p) == nil {
			c.mu.Lock()
			cancel := c.open[p.Stream]
			c.mu.Unlock()
			if cancel != nil {
				cancel()
			}
		}
	case stdio.Log:
		var p stdio.LogParams
		if json.Unmarshal(n.Params, &p) == nil {
			c.writeLog(p)
		}
	}
}

func (c *child) writeLog(p stdio.LogParams) {
	attrs := make([]slog.Attr, 0, len(p.Attrs)+1)
	if p.Call != "" {
		attrs = append(attrs, slog.String("call", p.Call))
	}
	for name, v := range p.Attrs {
		attrs = append(attrs, slog.Any(name, v))
	}
	c.host.Log().LogAttrs(c.ctx, level(p.Level), p.Message, attrs...)
}

func (c *child) kvGet(ctx context.Context, p stdio.KVGetParams) (any, error) {
	var out stdio.KVGetResult
	if err := c.host.KV().Get(ctx, p.Key, &out.Value); err != nil {
		return nil, err
	}
	return out, nil
}

func (c *child) kvList(ctx context.Context, p stdio.KVRange) (any, error) {
	return page(p, func(r pluginsdk.Range) iter.Seq2[pluginsdk.Entry, error] { return c.host.KV().List(ctx, r) })
}

// page reads a page of a range.
func page(p stdio.KVRange, list func(pluginsdk.Range) iter.Seq2[pluginsdk.Entry, error]) (stdio.KVListResult, error) {
	out := stdio.KVListResult{Entries: []stdio.KVEntry{}}
	limit := p.Limit
	if limit <= 0 || limit > stdio.MaxPage {
		limit = stdio.MaxPage
	}
	size := 0
	for e, err := range list(pluginsdk.Range{Prefix: p.Prefix, After: p.After, Before: p.Before, Reverse: p.Reverse, Limit: limit + 1}) {
		if err != nil {
			return out, err
		}
		if size += len(e.Key) + len(e.Value); len(out.Entries) == limit || len(out.Entries) > 0 && size > stdio.MaxPageBytes {
			out.More = true
			break
		}
		out.Entries = append(out.Entries, stdio.KVEntry{Key: e.Key, Value: e.Value})
	}
	return out, nil
}

func (c *child) kvCommit(ctx context.Context, p stdio.KVCommitParams) (any, error) {
	overtaken := kernelcontract.Conflict.Errorf("what the transaction has read has changed: run it again")
	err := c.host.KV().Transact(ctx, func(tx pluginsdk.Tx) error {
		for _, check := range p.Checks {
			var v json.RawMessage
			err := tx.Get(check.Key, &v)
			switch {
			case errors.Is(err, kernelcontract.NotFound):
				if check.SHA256 != "" {
					return overtaken
				}
			case err != nil:
				return err
			case check.SHA256 != stdio.Hash(v):
				return overtaken
			}
		}
		for _, check := range p.Lists {
			now, err := page(check.KVRange, tx.List)
			if err != nil {
				return err
			}
			if stdio.HashEntries(now.Entries) != check.SHA256 {
				return overtaken
			}
		}
		for _, w := range p.Writes {
			var err error
			switch {
			case w.Delete:
				err = tx.Delete(w.Key)
			case w.Value == nil:
				err = kernelcontract.InvalidInput.Errorf("the write of key %q has neither a value nor delete", w.Key)
			default:
				err = tx.Put(w.Key, w.Value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return stdio.Nothing{}, err
}

func (c *child) configGet(ctx context.Context, p stdio.ConfigGetParams) (any, error) {
	return value(func() (json.RawMessage, error) {
		var v json.RawMessage
		err := c.host.Config(ctx, p.Key, &v)
		return v, err
	})
}

func (c *child) secretGet(ctx context.Context, p stdio.SecretGetParams) (any, error) {
	return value(func() (json.RawMessage, error) {
		v, err := c.host.Secret(ctx, p.Name)
		if err != nil {
			return nil, err
		}
		return json.Marshal(v)
	})
}

// value answers with a value, or says that it is not set.
func value(get func() (json.RawMessage, error)) (any, error) {
	v, err := get()
	if errors.Is(err, kernelcontract.NeedsConfiguration) {
		return stdio.ValueResult{}, nil
	}
	return stdio.ValueResult{Set: err == nil, Value: v}, err
}

// required are the services of other plugins that a plugin's programs have asked for. It outlives them: what was not
// asked for when the plugin was set up is not there later.
type required struct {
	mu      sync.Mutex
	callers map[string]kernelcontract.Caller // nil for a service that is not there
}

// of returns a service that was asked for, nil for every other.
func (r *required) of(service string) kernelcontract.Caller {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.callers[service]
}

// serviceHas requires another plugin's service for the program.
func (c *child) serviceHas(_ context.Context, p stdio.ServiceHasParams) (any, error) {
	r := c.required
	r.mu.Lock()
	defer r.mu.Unlock()
	caller, asked := r.callers[p.Service]
	if !asked {
		if r.callers == nil {
			r.callers = map[string]kernelcontract.Caller{}
		}
		caller = c.host.RequireByID(p.Service)
		r.callers[p.Service] = caller
	}
	return stdio.ServiceHasResult{There: caller != nil}, nil
}

// acting returns the service of a ref, and the context in which the program calls it: that of the call that it answers.
func (c *child) acting(forCall, ref string) (context.Context, kernelcontract.Caller, error) {
	service, _, _ := strings.Cut(ref, ".")
	caller := c.required.of(service)
	if caller == nil {
		return nil, nil, kernelcontract.Precondition.Errorf("the plugin %s calls %s and has not asked for the service %s during its setup", c.id, ref, service)
	}
	if forCall == "" {
		return c.ctx, caller, nil
	}
	c.mu.Lock()
	ctx := c.calls[forCall]
	c.mu.Unlock()
	if ctx == nil {
		return nil, nil, kernelcontract.Precondition.Errorf("the call %q is not under way: a plugin acts for the callers that it answers, while it answers them", forCall)
	}
	return ctx, caller, nil
}

func (c *child) serviceCall(_ context.Context, p stdio.ServiceCallParams) (any, error) {
	ctx, caller, err := c.acting(p.For, p.Ref)
	if err != nil {
		return nil, err
	}
	var out stdio.CallResult
	if err := caller.Call(ctx, p.Ref, p.Input, &out.Result); err != nil {
		return nil, err
	}
	return out, nil
}

func (c *child) serviceOpen(_ context.Context, p stdio.ServiceOpenParams) (any, error) {
	ctx, caller, err := c.acting(p.For, p.Ref)
	if err != nil {
		return nil, err
	}
	if !c.streams.Begin(p.Stream, min(p.Credit, stdio.Credit)) {
		return nil, kernelcontract.InvalidInput.Errorf("the stream %q is open already", p.Stream)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	c.mu.Lock()
	c.open[p.Stream] = cancel
	c.mu.Unlock()
	c.work.Go(func() {
		defer func() {
			stop()
			cancel()
			c.mu.Lock()
			delete(c.open, p.Stream)
			c.mu.Unlock()
		}()
		// A failure before the first item is the end of the stream, like one behind it.
		_ = c.streams.Serve(ctx, c.peer, p.Stream, caller.Open(ctx, p.Ref, p.Input, p.Since)) // its error is that nobody listens
	})
	return stdio.Nothing{}, nil
}
