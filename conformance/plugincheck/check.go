// Package plugincheck holds a plugin that is a program of its own to the rules of docs/spec/plugin-protocol.md, whatever language
// it is written in. It plays the kernel: it starts the program anew for each rule, keeps a store for it, and judges what it says.
// Package plugintest wraps it for Go tests.
package plugincheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
	"github.com/bb-kernel/bb/pluginsdk/contract"
	"github.com/bb-kernel/bb/pluginsdk/stdio"
)

// Timeout bounds each rule unless told otherwise: a program in a slow language starts within a second.
const Timeout = 20 * time.Second

// stopTime is how long a program has to end when it is asked to.
const stopTime = 5 * time.Second

// Options says what is graded.
type Options struct {
	// Dir is the plugin's folder, with its contract.json and program.
	Dir string
	// Rules are the ids of the rules that are tried; none: all.
	Rules []string
	// Timeout bounds each rule; 0: the constant.
	Timeout time.Duration
}

// Status is the outcome of a rule.
type Status string

// The outcomes.
const (
	Pass Status = "pass"
	Fail Status = "fail"
	Skip Status = "skip" // the contract has nothing to try it with; Detail says what
)

// Result is the outcome of a rule.
type Result struct {
	Rule   string `json:"rule"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
}

// errSkip is why a rule cannot be tried.
type errSkip struct{ why string }

func (e errSkip) Error() string { return e.why }

// rule is one rule of the protocol.
type rule struct {
	id    string
	check func(ctx context.Context, k *kernel) error
}

// Rules returns the ids of the rules, in the order in which they are tried.
func Rules() []string {
	var ids []string
	for _, r := range rules() {
		ids = append(ids, r.id)
	}
	return ids
}

// Run grades the plugin. The error says that there is nothing to grade: no contract, or a contract that is wrong.
func Run(ctx context.Context, o Options) ([]Result, error) {
	if o.Timeout <= 0 {
		o.Timeout = Timeout
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(dir, contract.File))
	if err != nil {
		return nil, fmt.Errorf("the plugin has no contract: %w", err)
	}
	c, err := contract.Decode(raw)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, id := range o.Rules {
		if !slices.Contains(Rules(), id) {
			return nil, fmt.Errorf("there is no rule %q", id)
		}
	}
	for _, r := range rules() {
		if len(o.Rules) > 0 && !slices.Contains(o.Rules, r.id) {
			continue
		}
		result := Result{Rule: r.id, Status: Pass}
		err := try(ctx, dir, c, o.Timeout, r)
		var skip errSkip
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &skip):
			result.Status, result.Detail = Skip, skip.why
		case err != nil:
			result.Status, result.Detail = Fail, err.Error()
		}
		results = append(results, result)
	}
	return results, nil
}

// try tries one rule on a program of its own.
func try(ctx context.Context, dir string, c *contract.Contract, timeout time.Duration, r rule) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	k, err := start(ctx, dir, c)
	if err != nil {
		return err
	}
	defer k.end()
	if err := r.check(ctx, k); err != nil {
		var skip errSkip
		if said := strings.TrimSpace(string(k.proc.Stderr())); said != "" && !errors.As(err, &skip) {
			err = fmt.Errorf("%w; standard error:\n%s", err, said)
		}
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.junk) > 0 {
		return fmt.Errorf("standard output has lines that are no messages: %s", k.junk[0])
	}
	return nil
}

// kernel is what the program takes for one.
type kernel struct {
	contract *contract.Contract
	proc     *process.Process
	peer     *wire.Peer
	over     chan struct{}

	mu    sync.Mutex
	store map[string]json.RawMessage
	junk  []string
	items map[string]int // that came, by stream
	ends  map[string]bool
	told  chan struct{} // has an element when something came
	calls int
}

func start(ctx context.Context, dir string, c *contract.Contract) (*kernel, error) {
	k := &kernel{contract: c, over: make(chan struct{}), store: map[string]json.RawMessage{}, items: map[string]int{}, ends: map[string]bool{}, told: make(chan struct{}, 1)}
	data, err := os.MkdirTemp("", "bb-conformance-")
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), "BB_PLUGIN_ID="+c.ID, "BB_PLUGIN_DIR="+dir, "BB_PLUGIN_DATA_DIR="+data, "BB_PLUGIN_TEMP_DIR="+data)
	k.proc, err = process.Start(ctx, process.Options{Command: c.Command(dir, runtime.GOOS), Dir: data, Env: env})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the program does not start: %w", err), os.RemoveAll(data))
	}
	k.peer = wire.NewPeer(k.proc.Stdout, k.proc.Stdin, wire.Options{Request: k.request, Notify: k.notify, Dropped: k.dropped, MaxLine: stdio.MaxLine, WriteTimeout: stopTime})
	go func() { // ends with the program; end waits for it
		defer close(k.over)
		_ = k.peer.Run(context.WithoutCancel(ctx))
		_ = os.RemoveAll(data)
	}()
	return k, nil
}

func (k *kernel) end() {
	k.proc.Stop(context.Background(), 100*time.Millisecond)
	k.peer.Close()
	<-k.over
}

// dropped notes lines that are no messages. Late answers are expected.
func (k *kernel) dropped(err *wire.DroppedError) {
	if err.Reason == wire.LateResponse {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.junk = append(k.junk, err.Error())
}

func (k *kernel) notify(_ context.Context, n wire.Notification) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var p struct {
		Stream string `json:"stream"`
	}
	if json.Unmarshal(n.Params, &p) == nil {
		switch n.Method {
		case stdio.StreamItem:
			k.items[p.Stream]++
		case stdio.StreamEnd:
			k.ends[p.Stream] = true
		}
	}
	select {
	case k.told <- struct{}{}:
	default:
	}
}

// until waits until something holds of what was told. k.mu is held while it is asked.
func (k *kernel) until(ctx context.Context, what string, holds func() bool) error {
	for {
		k.mu.Lock()
		ok := holds()
		k.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-k.told:
		case <-ctx.Done():
			return fmt.Errorf("%s did not come", what)
		}
	}
}

// ask sends a request and decodes the answer.
func (k *kernel) ask(ctx context.Context, method string, params, out any) error {
	raw, err := k.peer.Call(ctx, method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, stdio.Failed(err))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("the answer to %s cannot be read: %w", method, err)
	}
	return nil
}

// ready shakes hands.
func (k *kernel) ready(ctx context.Context) error {
	if err := k.ask(ctx, stdio.Initialize, k.hello(stdio.Version), nil); err != nil {
		return err
	}
	return k.ask(ctx, stdio.Setup, stdio.SetupParams{}, nil)
}

func (k *kernel) hello(version int) stdio.InitializeParams {
	return stdio.InitializeParams{Protocol: version, PluginID: k.contract.ID, ServerID: "conformance"}
}

// method finds a method of the contract, with its ref and the input of its first example.
func (k *kernel) method(fits func(m *contract.Method) bool) (m *contract.Method, ref string, input json.RawMessage, err error) {
	for i := range k.contract.Services {
		s := &k.contract.Services[i]
		for j := range s.Methods {
			m := &s.Methods[j]
			if len(m.Examples) > 0 && m.Target != kernelcontract.OnHost && fits(m) {
				return m, s.ID + "." + m.Method, m.Examples[0].Input, nil
			}
		}
	}
	return nil, "", nil, errSkip{"the contract has no such method with an example"}
}

func unary(m *contract.Method) bool  { return m.Kind != kernelcontract.KindStream && !m.Destructive }
func query(m *contract.Method) bool  { return m.Kind == kernelcontract.KindQuery }
func stream(m *contract.Method) bool { return m.Kind == kernelcontract.KindStream }

// info makes a call of a method.
func (k *kernel) info(ref string) stdio.CallInfo {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	return stdio.CallInfo{
		ID: fmt.Sprintf("c%d-\u00e9\u2028", k.calls), Ref: ref, Principal: kernelcontract.Principal{Actor: "user:conformance", Via: kernelcontract.ViaProcess},
		Client: kernelcontract.HeadlessClient(), Depth: 1,
	}
}

// fits says in what a result differs from its schema.
func fits(s *schema.Schema, raw json.RawMessage) error {
	if raw == nil {
		return errors.New("there is no result")
	}
	v, err := validate.Compile(s)
	if err != nil {
		return err
	}
	if issues := v.Value(raw); len(issues) > 0 {
		return fmt.Errorf("the result does not fit its schema: %s", issues[0])
	}
	return nil
}

// refs are those of the contract, sorted.
func (k *kernel) refs() []string {
	var refs []string
	for _, s := range k.contract.Services {
		for _, m := range s.Methods {
			refs = append(refs, s.ID+"."+m.Method)
		}
	}
	slices.Sort(refs)
	return refs
}
