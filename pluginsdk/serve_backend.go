package pluginsdk

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/stdio"
)

// ask sends a request to the kernel and decodes its answer into out, nil for none.
func (s *program) ask(ctx context.Context, method string, params, out any) error {
	raw, err := s.peer.Call(ctx, method, params)
	if err != nil {
		return stdio.Failed(err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return kernelcontract.Internal.Errorf("the kernel's answer to %s cannot be read: %w", method, err)
	}
	return nil
}

func (s *program) config(ctx context.Context, key string) (json.RawMessage, bool, error) {
	var v stdio.ValueResult
	err := s.ask(ctx, stdio.ConfigGet, stdio.ConfigGetParams{Key: key}, &v)
	return v.Value, v.Set, err
}

func (s *program) secret(ctx context.Context, name string) (value string, set bool, err error) {
	var v stdio.ValueResult
	if err := s.ask(ctx, stdio.SecretGet, stdio.SecretGetParams{Name: name}, &v); err != nil || !v.Set {
		return "", false, err
	}
	if err := json.Unmarshal(v.Value, &value); err != nil {
		return "", false, kernelcontract.Internal.Errorf("the secret %s is not a text", name)
	}
	return value, true, nil
}

func (s *program) hasService(id string) bool {
	var r stdio.ServiceHasResult
	err := s.ask(s.ctx, stdio.ServiceHas, stdio.ServiceHasParams{Service: id}, &r)
	return err == nil && r.There
}

// wireCaller calls other plugins, as the caller of the call that the context belongs to.
type wireCaller struct{ s *program }

// Call implements kernelcontract.Caller.
func (c wireCaller) Call(ctx context.Context, ref string, in, out any) error {
	raw, err := encodeInput(ref, in)
	if err != nil {
		return err
	}
	var r stdio.CallResult
	if err := c.s.ask(ctx, stdio.ServiceCall, stdio.ServiceCallParams{For: kernelcontract.CallFrom(ctx).ID, Ref: ref, Input: raw}, &r); err != nil {
		return err
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*out = r.Result
		return nil
	}
	if err := json.Unmarshal(r.Result, out); err != nil {
		return kernelcontract.Internal.Errorf("the result of %s does not fit %T: %w", ref, out, err)
	}
	return nil
}

// Open implements kernelcontract.Caller.
func (c wireCaller) Open(ctx context.Context, ref string, in any, since string) iter.Seq2[stdio.Event, error] {
	return func(yield func(stdio.Event, error) bool) {
		raw, err := encodeInput(ref, in)
		if err != nil {
			yield(stdio.Event{}, err)
			return
		}
		id := "p" + strconv.FormatUint(c.s.ids.Add(1), 10)
		r, _ := c.s.streams.Open(id) // the id is new
		defer r.Close()
		err = c.s.ask(ctx, stdio.ServiceOpen, stdio.ServiceOpenParams{
			For: kernelcontract.CallFrom(ctx).ID, Stream: id, Ref: ref, Input: raw, Since: since, Credit: stdio.Credit,
		}, nil)
		if err != nil {
			yield(stdio.Event{}, err)
			return
		}
		defer func() { // one that has ended is not there any more
			_ = c.s.peer.Notify(c.s.ctx, stdio.Cancel, stdio.CancelParams{Stream: id})
		}()
		for ev, err := range r.All(ctx, c.s.peer) {
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

func encodeInput(ref string, in any) (json.RawMessage, error) {
	switch in := in.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return in, nil
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return nil, kernelcontract.InvalidInput.Errorf("the input of %s does not encode: %s", ref, err)
	}
	return raw, nil
}
