package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/bb-kernel/bb/cli/internal/cache"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// offlineWords are the words that run in this process.
type offlineWords struct {
	tree     *word.Tree
	services map[string]*kernelcontract.ServiceDef // by ref
	methods  map[string]*kernelcontract.MethodDef
	handlers map[string]kernelcontract.Handler
	warnings []string
}

// newOffline collects the methods that say CLI.Offline and have a function. What is wrong with the rest is a warning.
func newOffline(list []kernelcontract.Implementation) offlineWords {
	o := offlineWords{services: map[string]*kernelcontract.ServiceDef{}, methods: map[string]*kernelcontract.MethodDef{}, handlers: map[string]kernelcontract.Handler{}}
	if len(list) == 0 {
		return o
	}
	var claims []word.Claim
	for _, impl := range list {
		def, err := impl.Service.Def()
		if err != nil {
			o.warnings = append(o.warnings, err.Error())
			continue
		}
		for _, h := range impl.Handlers {
			o.handlers[h.Ref()] = h
		}
		claim := word.ClaimOf(def)
		for i, d := range def.Methods {
			h, ok := o.handlers[d.Ref()]
			if !ok || h.IsNil() || !d.CLI.Offline {
				claim.Methods[i].NoWord = true
				continue
			}
			o.services[d.Ref()], o.methods[d.Ref()] = def, d
		}
		claims = append(claims, claim)
	}
	tree, conflicts := word.Build(claims)
	for _, c := range conflicts {
		o.warnings = append(o.warnings, c.String())
	}
	o.tree = tree
	return o
}

// find returns the record of the word that begins the words, with how many it takes; nil when there is none.
func (o *offlineWords) find(words []string) (r *cache.Record, n int, err error) {
	if o.tree == nil {
		return nil, 0, nil
	}
	for n := min(len(words), kernelcontract.MaxGroupLevels+1); n > 0; n-- {
		ref := o.tree.Ref(words[:n-1], words[n-1])
		if ref == "" {
			continue
		}
		d := o.methods[ref]
		w, err := word.Of(d, o.services[ref])
		if err != nil {
			return nil, 0, err
		}
		return &cache.Record{Word: o.tree.Trim(w), Description: d.Description, Examples: d.Examples}, n, nil
	}
	return nil, 0, nil
}

// principal is who runs offline words.
var principal = kernelcontract.Principal{Actor: "user:local", Via: kernelcontract.ViaOffline}

// runOffline runs a word in this process.
func (a *app) runOffline(ctx context.Context, c *call) int {
	d, h := a.offline.methods[c.w.Ref], a.offline.handlers[c.w.Ref]
	stream := d.Kind == kernelcontract.KindStream
	input, err := a.fill(d, c.input)
	if err != nil {
		return a.fail(kernelcontract.AsError(err), stream)
	}
	ctx = kernelcontract.WithCall(ctx, &kernelcontract.CallInfo{
		Ref: d.Ref(), Since: c.line.Since, Principal: principal, Client: a.clientInfo(), Context: a.context(c.w),
	})
	if stream {
		return a.offlineStream(ctx, c, d, h, input)
	}
	v, err := guarded(func() (any, error) { return h.Call(ctx, input) })
	if err != nil {
		return a.fail(offlineError(ctx, d, err), false)
	}
	if c.w.Bytes && !a.globals.json {
		if b, ok := v.(schema.Bytes); ok {
			return a.writeFile(c, b.MIMEType, b.Data)
		}
	}
	s, err := guarded(func() (string, error) { return a.offlineText(d, v, false) })
	if err != nil {
		return a.fail(kernelcontract.AsError(err), false)
	}
	a.out.print(s)
	return kernelcontract.ExitOK
}

func (a *app) offlineStream(ctx context.Context, c *call, d *kernelcontract.MethodDef, h kernelcontract.Handler, input json.RawMessage) int {
	events, err := guarded(func() (iter.Seq2[kernelcontract.Event[any], error], error) { return h.Open(ctx, input) })
	if err != nil {
		return a.fail(offlineError(ctx, d, err), true)
	}
	// The plugin's sequence runs in a coroutine of its own, so that its recover does not eat what happens here.
	next, stop := iter.Pull2(events)
	defer func() {
		_, _ = guarded(func() (any, error) { stop(); return nil, nil }) // what it does at its end does not change the output
	}()
	for {
		type item struct {
			ev  kernelcontract.Event[any]
			err error
			ok  bool
		}
		it, err := guarded(func() (item, error) {
			ev, err, ok := next()
			return item{ev, err, ok}, nil
		})
		if err == nil {
			err = it.err
		}
		switch {
		case err != nil:
			return a.fail(offlineError(ctx, d, err), true)
		case !it.ok && ctx.Err() == nil:
			return kernelcontract.ExitOK
		case ctx.Err() != nil:
			return a.fail(offlineError(ctx, d, ctx.Err()), true)
		}
		s, err := guarded(func() (string, error) { return a.offlineText(d, it.ev.Item, true) })
		if err != nil {
			return a.fail(kernelcontract.AsError(err), true)
		}
		a.out.print(s)
	}
}

// guarded turns a panic of the embedder's code into an error.
func guarded[T any](fn func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = kernelcontract.Internal.Errorf("the word's code panicked: %v", p)
		}
	}()
	return fn()
}

// offlineError returns a handler's error as surfaces show it. Unlike a server's, the text of a foreign error is shown: it
// happened on the reader's own machine.
func offlineError(ctx context.Context, d *kernelcontract.MethodDef, err error) *kernelcontract.Error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return kernelcontract.Timeout.Errorf("the deadline passed before %s answered", d.Ref())
	case ctx.Err() != nil:
		return kernelcontract.Cancelled.Errorf("%s was cancelled", d.Ref())
	}
	e := *kernelcontract.AsError(err)
	if e.Code == kernelcontract.Internal && !errors.As(err, new(*kernelcontract.Error)) {
		e.Message = err.Error()
	}
	if def, ok := d.Errors[e.Code]; ok {
		e.Like = def.Like
	}
	return &e
}

// offlineText renders a result or an item.
func (a *app) offlineText(d *kernelcontract.MethodDef, v any, line bool) (string, error) {
	if !a.globals.json {
		return text.Result(d, v, a.render())
	}
	raw, err := schema.Marshal(v)
	if err != nil {
		return "", kernelcontract.Internal.Errorf("the result of %s does not encode: %w", d.Ref(), err)
	}
	if line {
		return oneLine(raw), nil
	}
	return pretty(raw), nil
}

// fill adds to an input what a server would: the fields that the context fills, and defaults. It refuses members that the
// input does not have. The validator proper is the server's, which this program does not carry.
func (a *app) fill(d *kernelcontract.MethodDef, input json.RawMessage) (json.RawMessage, error) {
	in, err := d.Input()
	if err != nil {
		return nil, kernelcontract.Internal.Errorf("the input of %s has no schema: %w", d.Ref(), err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(input, &members); err != nil {
		return nil, kernelcontract.InvalidInput.Errorf("the input is not an object: %w", err)
	}
	var issues []kernelcontract.Issue
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if in.Property(name) == nil {
			issues = append(issues, kernelcontract.Issue{Path: []any{name}, Code: schema.IssueUnrecognizedKey, Message: fmt.Sprintf("%q is not a field", name)})
		}
	}
	where := a.contextAll()
	var b bytes.Buffer
	for i := range in.Properties {
		p := &in.Properties[i]
		raw, given := members[p.Name]
		if value := where.Value(d.Ambient[p.Name]); !given && value != "" {
			raw, _ = json.Marshal(value) // a string always encodes
			given = true
		}
		if s := in.Resolve(p.Schema); !given && s != nil && s.Default != nil {
			raw, given = s.Default, true
		}
		switch {
		case !given && p.Required:
			issues = append(issues, kernelcontract.Issue{Path: []any{p.Name}, Code: schema.IssueRequired, Message: "is required"})
		case given:
			fmt.Fprintf(&b, `,%q:%s`, p.Name, raw)
		}
	}
	if err := kernelcontract.InvalidIssues(issues); err != nil {
		return nil, err
	}
	if b.Len() == 0 {
		return json.RawMessage("{}"), nil
	}
	out := append(b.Bytes(), '}')
	out[0] = '{'
	return out, nil
}
