package kernelcore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/seal"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/pluginsdk"
)

type wordIn struct {
	Word string `json:"word"`
}

type wordOut struct {
	Word  string `json:"word"`
	Actor string `json:"actor"`
	Via   string `json:"via"`
	Times int    `json:"times"`
}

// echo is a plugin that answers with what it was told and who told it.
type echo struct {
	say     *kernelcontract.Mutation[wordIn, wordOut]
	service *kernelcontract.Service
	setups  atomic.Int32
	stops   atomic.Int32
	failing atomic.Bool
}

func newEcho(id string) *echo {
	e := &echo{}
	e.say = &kernelcontract.Mutation[wordIn, wordOut]{Ref: id + "/main.say", Summary: "Says it back"}
	e.service = &kernelcontract.Service{ID: id + "/main", Summary: "Echo", Methods: []kernelcontract.Method{e.say}}
	return e
}

func (e *echo) plugin() *pluginsdk.Plugin {
	id, _, _ := strings.Cut(e.service.ID, "/")
	return &pluginsdk.Plugin{ID: id, Summary: "Echoes", Services: []*kernelcontract.Service{e.service},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			e.setups.Add(1)
			if e.failing.Load() {
				return errors.New("it does not feel well")
			}
			h.OnStop(func(context.Context) error { e.stops.Add(1); return nil })
			h.Provide(e.service, e.say.Handle(func(ctx context.Context, in wordIn) (wordOut, error) {
				p := kernelcontract.CallFrom(ctx).Principal
				n, err := pluginsdk.Update(ctx, h.KV(), "times", func(n int) int { return n + 1 })
				return wordOut{Word: in.Word, Actor: p.Actor, Via: string(p.Via), Times: n}, err
			}))
			return nil
		}}
}

// relaying calls echo for its caller.
func relaying(e *echo) (*pluginsdk.Plugin, *kernelcontract.Mutation[wordIn, wordOut]) {
	pass := &kernelcontract.Mutation[wordIn, wordOut]{Ref: "relay/main.pass", Summary: "Passes it on"}
	service := &kernelcontract.Service{ID: "relay/main", Summary: "Relay", Group: []string{"relay"}, Methods: []kernelcontract.Method{pass}}
	return &pluginsdk.Plugin{ID: "relay", Services: []*kernelcontract.Service{service},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			echo := h.Require(e.service)
			h.Provide(service, pass.Handle(func(ctx context.Context, in wordIn) (wordOut, error) {
				return e.say.Call(ctx, echo, in)
			}))
			return nil
		}}, pass
}

var local = kernelcontract.Principal{Actor: "user:local"}

func start(t *testing.T, o kernelcore.Options) *kernelcore.Kernel {
	t.Helper()
	o.Development = true
	k, err := kernelcore.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func TestZeroOptionsMakeAnEmptyKernel(t *testing.T) {
	is := is.New(t)
	k := start(t, kernelcore.Options{})
	is.Equal(k.Problems(), []error{})
	is.True(k.Generation() > 0)
	is.True(k.ServerID() != "")
}

func TestTwoKernelsInOneProcess(t *testing.T) {
	is := is.New(t)
	e := newEcho("echo")
	a, b := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{e.plugin()}}), start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{e.plugin()}})
	for range 2 {
		_, err := e.say.Call(t.Context(), a.As(local), wordIn{"x"})
		is.NoErr(err)
	}
	out, err := e.say.Call(t.Context(), b.As(local), wordIn{"x"})
	is.NoErr(err)
	is.Equal(out.Times, 1) // nothing is shared
	is.True(a.ServerID() != b.ServerID())
}

func TestRelayKeepsTheCallersActor(t *testing.T) {
	is := is.New(t)
	e := newEcho("echo")
	relay, pass := relaying(e)
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{relay, e.plugin()}}) // the order of loading does not matter
	is.Equal(k.Problems(), []error{})
	out, err := pass.Call(t.Context(), k.As(kernelcontract.Principal{Actor: "agent:t1"}), wordIn{"x"})
	is.NoErr(err)
	is.Equal(out.Actor, "agent:t1")
	is.Equal(out.Via, "plugin:relay")
}

func TestBadPluginsDegradeAndAreListed(t *testing.T) {
	bad := func(id string, setup func(context.Context, *pluginsdk.Host) error) *pluginsdk.Plugin {
		p := newEcho(id).plugin()
		p.Setup = setup
		return p
	}
	for _, c := range []struct {
		name   string
		plugin *pluginsdk.Plugin
		want   string
	}{
		{"nil", nil, "Options.Plugins[0] is nil"},
		{"a second with the same id", newEcho("echo").plugin(), ""},
		{"a failing Setup", bad("bad", func(context.Context, *pluginsdk.Host) error { return errors.New("no luck") }), "no luck"},
		{"a panicking Setup", bad("bad", func(context.Context, *pluginsdk.Host) error { panic("boom") }), "boom"},
		{"a missing handler", bad("bad", func(context.Context, *pluginsdk.Host) error { return nil }), "bad/main.say"},
		{"an absent requirement", func() *pluginsdk.Plugin { p, _ := relaying(newEcho("absent")); return p }(), "absent/main"},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			e := newEcho("echo")
			k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{c.plugin, e.plugin()}})
			is.Equal(len(k.Problems()), 1)
			is.True(strings.Contains(k.Problems()[0].Error(), c.want))
			var p *kernelcore.ProblemError
			is.True(errors.As(k.Problems()[0], &p))
			if c.want == "" {
				return
			}
			_, err := e.say.Call(t.Context(), k.As(local), wordIn{"x"}) // the others work
			is.NoErr(err)
		})
	}
}

func TestSetupThatHangsDoesNotHangTheKernel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		release := make(chan struct{})
		hanging := newEcho("hanging").plugin()
		hanging.Setup = func(context.Context, *pluginsdk.Host) error { <-release; return nil }
		begin := time.Now()
		k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{hanging}})
		is.Equal(time.Since(begin), kernelcore.SetupTimeout)
		is.Equal(len(k.Problems()), 1)
		close(release)
	})
}

func TestCloseEndsASetupThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		e := newEcho("echo")
		p := e.plugin()
		setup, again := p.Setup, false
		p.Setup = func(ctx context.Context, h *pluginsdk.Host) error {
			if again {
				<-ctx.Done()
				return ctx.Err()
			}
			again = true
			return setup(ctx, h)
		}
		k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{p}})
		is.NoErr(err)
		reloaded := make(chan error, 1)
		go func() { reloaded <- k.Reload(t.Context(), "echo") }()
		synctest.Wait()
		begin := time.Now()
		is.NoErr(k.Close())
		is.Equal(time.Since(begin), time.Duration(0)) // it does not wait for SetupTimeout
		is.True(<-reloaded != nil)
	})
}

func TestDisableEnableReloadRemove(t *testing.T) {
	is := is.New(t)
	e := newEcho("echo")
	s := store.Memory()
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{e.plugin()}, Store: s})
	say := func() (int, error) {
		out, err := e.say.Call(t.Context(), k.As(local), wordIn{"x"})
		return out.Times, err
	}
	n, err := say()
	is.NoErr(err)
	is.Equal(n, 1)
	generation := k.Generation()

	is.NoErr(k.Disable(t.Context(), "echo"))
	is.True(k.Generation() > generation)
	_, err = say()
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.NotFound)
	is.True(errors.Is(k.Reload(t.Context(), "echo"), kernelcontract.Conflict))

	is.NoErr(k.Enable(t.Context(), "echo"))
	n, err = say()
	is.NoErr(err)
	is.Equal(n, 2) // disabling keeps the data
	is.NoErr(k.Enable(t.Context(), "echo"))
	is.Equal(e.setups.Load(), int32(2)) // enabling what is enabled changes nothing

	is.NoErr(k.Reload(t.Context(), "echo"))
	is.NoErr(k.Reload(t.Context(), ""))
	is.Equal(e.setups.Load(), int32(4))

	is.NoErr(k.Remove(t.Context(), "echo"))
	is.Equal(e.stops.Load(), int32(4)) // remove waited for the last stop
	_, err = say()
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.NotFound)
	is.NoErr(k.Enable(t.Context(), "echo"))
	n, err = say()
	is.NoErr(err)
	is.Equal(n, 1) // removing deletes the data

	is.True(errors.Is(k.Disable(t.Context(), "nobody"), kernelcontract.NotFound))
	is.True(errors.Is(k.Disable(t.Context(), "kernel"), kernelcontract.Conflict))
}

func TestEnableWaitsForTheEndOfARemoval(t *testing.T) {
	is := is.New(t)
	entered, release := make(chan struct{}), make(chan struct{})
	slow := &kernelcontract.Mutation[wordIn, wordOut]{Ref: "slow/main.wait", Summary: "Waits"}
	service := &kernelcontract.Service{ID: "slow/main", Summary: "Slow", Methods: []kernelcontract.Method{slow}}
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{{ID: "slow", Services: []*kernelcontract.Service{service},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			h.Provide(service, slow.Handle(func(ctx context.Context, _ wordIn) (wordOut, error) {
				close(entered)
				<-release
				n, err := pluginsdk.Update(ctx, h.KV(), "times", func(n int) int { return n + 1 })
				return wordOut{Times: n}, err
			}))
			return nil
		}}}})
	called, removed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := slow.Call(context.Background(), k.As(local), wordIn{"x"})
		called <- err
	}()
	<-entered
	generation := k.Generation()
	go func() { removed <- k.Remove(context.Background(), "slow") }()
	for k.Generation() == generation { // until it is out of the catalog
		runtime.Gosched()
	}
	is.True(errors.Is(k.Enable(t.Context(), "slow"), kernelcontract.Conflict))
	is.True(errors.Is(k.Remove(t.Context(), "slow"), kernelcontract.Conflict))
	close(release)
	is.NoErr(<-called) // a call in flight finishes
	is.NoErr(<-removed)
	is.NoErr(k.Enable(t.Context(), "slow"))
}

func TestReloadThatFailsKeepsTheOldLife(t *testing.T) {
	is := is.New(t)
	e := newEcho("echo")
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{e.plugin()}})
	e.failing.Store(true)
	err := k.Reload(t.Context(), "echo")
	is.True(errors.Is(err, kernelcontract.Precondition))
	is.True(strings.Contains(err.Error(), "does not feel well"))
	_, err = e.say.Call(t.Context(), k.As(local), wordIn{"x"})
	is.NoErr(err)
	is.Equal(e.stops.Load(), int32(0))
}

func TestWhatOperatorsDecideSurvivesARestart(t *testing.T) {
	is := is.New(t)
	s := keepOpen{store.Memory()}
	e := newEcho("echo")
	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{e.plugin()}, Store: s})
	is.NoErr(err)
	is.NoErr(k.Disable(t.Context(), "echo"))
	id, generation := k.ServerID(), k.Generation()
	is.NoErr(k.Close())
	k = start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{e.plugin()}, Store: s})
	is.Equal(k.ServerID(), id)
	is.True(k.Generation() > generation) // it grows across restarts
	_, err = e.say.Call(t.Context(), k.As(local), wordIn{"x"})
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.NotFound) // still disabled
}

// TestLostKeyOfTheSecretsIsAProblem starts a kernel on secrets that another key sealed: it runs and names each of them,
// until it is set again.
func TestLostKeyOfTheSecretsIsAProblem(t *testing.T) {
	is := is.New(t)
	s := keepOpen{store.Memory()}
	k := start(t, kernelcore.Options{Store: s, Box: seal.Memory()})
	set := func(name string) {
		is.NoErr(k.As(local).Call(t.Context(), "kernel/secret.set", map[string]string{"name": name, "value": "hidden"}, nil))
	}
	set("first")
	set("second")
	is.Equal(k.Problems(), []error{})
	is.NoErr(k.Close())

	k = start(t, kernelcore.Options{Store: s, Box: seal.Memory()})
	is.Equal(len(k.Problems()), 2)
	for i, name := range []string{"first", "second"} {
		is.True(errors.Is(k.Problems()[i], seal.ErrKey))
		is.True(strings.HasPrefix(k.Problems()[i].Error(), "kernel: the secret "+name+" "))
	}
	set("first")
	is.NoErr(k.Reload(t.Context(), ""))
	is.Equal(len(k.Problems()), 1)
}

// keepOpen is a store that outlives a kernel.
type keepOpen struct{ store.Store }

func (keepOpen) Close() error { return nil }

func TestConflictingWordIsAProblem(t *testing.T) {
	is := is.New(t)
	a, b := newEcho("a"), newEcho("b")
	a.service.Group, b.service.Group = []string{"same"}, []string{"same"}
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{a.plugin(), b.plugin()}})
	is.True(len(k.Problems()) > 0)
	var p *kernelcore.ProblemError
	is.True(errors.As(k.Problems()[0], &p))
	is.Equal(p.Plugin, "b") // the earlier claimant wins
	_, err := b.say.Call(t.Context(), k.As(local), wordIn{"x"})
	is.NoErr(err) // the method itself works
}

func TestBadExampleIsAProblemAndNoFailure(t *testing.T) {
	is := is.New(t)
	e := newEcho("echo")
	type strict struct {
		N int `json:"n" minimum:"10"`
	}
	m := &kernelcontract.Query[strict, wordOut]{Ref: "echo/main.count", Summary: "Counts", Examples: []kernelcontract.Example[strict]{{Input: strict{N: 3}}}}
	e.service.Methods = append(e.service.Methods, m)
	p := e.plugin()
	setup := p.Setup
	p.Setup = func(ctx context.Context, h *pluginsdk.Host) error {
		h.Provide(e.service, m.Handle(func(context.Context, strict) (wordOut, error) { return wordOut{}, nil }))
		return setup(ctx, h)
	}
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{p}})
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(k.Problems()) == 0 {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the problem is not listed")
		}
	}
	is.True(strings.Contains(k.Problems()[0].Error(), "Examples[0]"))
}

func TestDrainRefusesAndCloseWaits(t *testing.T) {
	is := is.New(t)
	entered, release := make(chan struct{}), make(chan struct{})
	slow := &kernelcontract.Query[wordIn, wordOut]{Ref: "slow/main.wait", Summary: "Waits"}
	service := &kernelcontract.Service{ID: "slow/main", Summary: "Slow", Methods: []kernelcontract.Method{slow}}
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{{ID: "slow", Services: []*kernelcontract.Service{service},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			h.Provide(service, slow.Handle(func(context.Context, wordIn) (wordOut, error) {
				close(entered)
				<-release
				return wordOut{Word: "done"}, nil
			}))
			return nil
		}}}})
	type answer struct {
		out wordOut
		err error
	}
	got := make(chan answer, 1)
	go func() {
		out, err := slow.Call(context.Background(), k.As(local), wordIn{"x"})
		got <- answer{out, err}
	}()
	<-entered
	drained := make(chan error, 1)
	go func() { drained <- k.Drain(t.Context()) }()
	for {
		_, err := slow.Call(t.Context(), k.As(local), wordIn{"y"})
		if kernelcontract.CodeOf(err) == kernelcontract.ServiceUnavailable {
			break
		}
	}
	close(release)
	a := <-got
	is.NoErr(a.err)
	is.Equal(a.out.Word, "done") // a call in flight finishes
	is.NoErr(<-drained)
}

func ExampleNew() {
	e := newEcho("echo")
	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{e.plugin()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer k.Close()
	out, err := e.say.Call(context.Background(), k.As(kernelcontract.Principal{Actor: "user:local"}), wordIn{Word: "hello"})
	fmt.Println(out.Word, out.Actor, err)
	// Output: hello user:local <nil>
}

func TestToolsRunAsTheAgentOfTheThread(t *testing.T) {
	is := is.New(t)
	e := newEcho("echo")
	e.say.Tool = &kernelcontract.Tool{Presentation: kernelcontract.Presentation{Pending: "Saying", Completed: "Said", Icon: "megaphone", Intent: "generic"}}
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{e.plugin()}})
	tools := k.Tools()
	is.Equal(len(tools), 1)
	is.Equal(tools[0].Tool.Name, "echo_main_say")
	res := k.RunTool(t.Context(), "t1", kernelcontract.Context{}, "echo_main_say", []byte(`{"word":"hi"}`))
	is.True(res.Success)
	is.True(strings.Contains(res.Content[0].Text, "actor: agent:t1"))
	is.True(strings.Contains(res.Content[0].Text, "via: tool"))

	res = k.RunTool(t.Context(), "t1", kernelcontract.Context{}, "echo_main_say", []byte(`{"wrong":"hi"}`))
	is.True(!res.Success)
	is.True(strings.HasPrefix(res.Content[0].Text, "invalid_input: "))
	res = k.RunTool(t.Context(), "t1", kernelcontract.Context{}, "nothing", nil)
	is.True(!res.Success)
	is.True(strings.HasPrefix(res.Content[0].Text, "not_found: "))
	res = k.RunTool(t.Context(), "", kernelcontract.Context{ThreadID: "t1"}, "echo_main_say", []byte(`{"word":"hi"}`))
	is.True(!res.Success) // an agent has a name
	is.True(strings.HasPrefix(res.Content[0].Text, "invalid_input: "))
}
