package plugintest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/plugintest"
)

type in struct {
	Name   string `json:"name,omitempty" default:"bb" maxLength:"5"`
	Thread string `json:"thread,omitempty"`
}

type out struct {
	Text string `json:"text" maxLength:"20"`
	N    int64  `json:"n"`
}

const declared kernelcontract.Code = "declared"

var (
	get    = &kernelcontract.Query[in, out]{Ref: "p/s.get", Summary: "Get", Ambient: map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID}}
	set    = &kernelcontract.Mutation[in, out]{Ref: "p/s.set", Summary: "Set", Errors: map[kernelcontract.Code]kernelcontract.ErrorDef{declared: {Like: kernelcontract.Conflict, Retryable: true}}}
	follow = &kernelcontract.Stream[in, out]{Ref: "p/s.follow", Summary: "Follow", Cursor: func(o out) string { return o.Text }}
	admin  = &kernelcontract.Query[in, out]{Ref: "p/s.admin", Summary: "Users only", Access: kernelcontract.Access{Actors: []kernelcontract.ActorKind{kernelcontract.User}}}
	onHost = &kernelcontract.Query[in, out]{Ref: "p/s.onHost", Summary: "On a host", OnHost: true}
	ours   = &kernelcontract.Service{ID: "p/s", Summary: "Ours", Methods: []kernelcontract.Method{get, set, follow, admin, onHost}}

	theirGet   = &kernelcontract.Query[in, out]{Ref: "q/t.get", Summary: "Their get"}
	theirOther = &kernelcontract.Query[in, out]{Ref: "q/t.other", Summary: "Not faked"}
	theirs     = &kernelcontract.Service{ID: "q/t", Summary: "Theirs", Methods: []kernelcontract.Method{theirGet, theirOther}}
)

// functions are the handlers of a plugin under test.
type functions struct {
	unary  func(ctx context.Context, in in) (out, error)
	stream func(ctx context.Context, in in) (iter.Seq2[out, error], error)
	setup  func(h *pluginsdk.Host)
}

func (f functions) plugin() *pluginsdk.Plugin {
	if f.unary == nil {
		f.unary = func(_ context.Context, in in) (out, error) { return out{Text: in.Name}, nil }
	}
	if f.stream == nil {
		f.stream = func(context.Context, in) (iter.Seq2[out, error], error) {
			return func(func(out, error) bool) {}, nil
		}
	}
	return &pluginsdk.Plugin{ID: "p", Services: []*kernelcontract.Service{ours}, Config: []pluginsdk.ConfigKey{{Key: "a", Summary: "S"}},
		Setup: func(ctx context.Context, h *pluginsdk.Host) error {
			h.Provide(ours, get.Handle(f.unary), set.Handle(f.unary), follow.Handle(f.stream), admin.Handle(f.unary), onHost.Handle(f.unary))
			if f.setup != nil {
				f.setup(h)
			}
			return nil
		}}
}

func TestCallFillsAndValidatesTheInput(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	var got in
	host := plugintest.Load(t, functions{unary: func(_ context.Context, in in) (out, error) { got = in; return out{N: 1<<53 + 1}, nil }}.plugin(),
		plugintest.Options{Context: kernelcontract.Context{ThreadID: "t-1"}})

	o, err := get.Call(ctx, host, in{})
	is.NoErr(err)
	is.Equal(o.N, int64(1<<53+1))                    // exact
	is.Equal(got, in{Name: "bb", Thread: "t-1"})     // default and context
	_, err = get.Call(ctx, host, in{Thread: "mine"}) // the caller's own value wins
	is.NoErr(err)
	is.Equal(got.Thread, "mine")
	_, err = set.Call(ctx, host, in{}) // no ambient field here
	is.NoErr(err)
	is.Equal(got.Thread, "")

	_, err = get.Call(ctx, host, in{Name: "too long"})
	is.True(errors.Is(err, kernelcontract.InvalidInput))
	err = host.Call(ctx, "p/s.get", map[string]any{"nmae": "x"}, nil)
	is.Equal(kernelcontract.AsError(err).Issues[0].Path, []any{"nmae"})
	is.True(errors.Is(host.Call(ctx, "p/s.get", func() {}, nil), kernelcontract.InvalidInput))
	is.NoErr(host.Call(ctx, "p/s.get", nil, nil))
	is.True(errors.Is(host.Call(ctx, "p/s.none", nil, nil), kernelcontract.NotFound))
	is.True(errors.Is(host.Call(ctx, "p/s.follow", nil, nil), kernelcontract.InvalidInput))
	is.True(errors.Is(host.Call(ctx, "p/s.get", nil, new(int)), kernelcontract.Internal))
}

func TestFailuresOfAHandler(t *testing.T) {
	for _, tt := range []struct {
		name string
		fail func() (out, error)
		code kernelcontract.Code
		text string
	}{
		{"kernel code", func() (out, error) { return out{}, kernelcontract.NotFound.Errorf("no such thing") }, kernelcontract.NotFound, "no such thing"},
		{"bare code", func() (out, error) { return out{}, kernelcontract.Conflict }, kernelcontract.Conflict, ""},
		{"declared", func() (out, error) { return out{}, declared.Errorf("stop") }, declared, "stop"},
		{"undeclared", func() (out, error) { return out{}, kernelcontract.Code("mine").Errorf("stop") }, kernelcontract.Internal, "does not declare"},
		{"foreign", func() (out, error) { return out{}, errors.New("secret") }, kernelcontract.Internal, ""},
		{"panic", func() (out, error) { panic("boom") }, kernelcontract.Internal, "boom"},
		{"output", func() (out, error) { return out{Text: strings.Repeat("x", 21)}, nil }, kernelcontract.Internal, "breaks its own schema"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			host := plugintest.Load(t, functions{unary: func(context.Context, in) (out, error) { return tt.fail() }}.plugin(), plugintest.Options{})
			_, err := set.Call(t.Context(), host, in{})
			is.Equal(kernelcontract.CodeOf(err), tt.code)
			is.True(strings.Contains(err.Error(), tt.text))
			is.True(!strings.Contains(err.Error(), "secret"))
			is.True(kernelcontract.AsError(err).CallID != "")
			if tt.code == declared {
				is.Equal(kernelcontract.AsError(err).Like, kernelcontract.Conflict)
				is.True(kernelcontract.AsError(err).Retryable)
			}
		})
	}
}

func TestCancelledCallReachesTheHandler(t *testing.T) {
	is := is.New(t)
	started := make(chan struct{})
	host := plugintest.Load(t, functions{unary: func(ctx context.Context, _ in) (out, error) {
		close(started)
		<-ctx.Done()
		return out{}, ctx.Err()
	}}.plugin(), plugintest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	_, err := get.Call(ctx, host, in{})
	is.True(errors.Is(err, kernelcontract.Cancelled))
}

func TestStreamsCarryCursors(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	var since string
	host := plugintest.Load(t, functions{stream: func(ctx context.Context, _ in) (iter.Seq2[out, error], error) {
		since = kernelcontract.CallFrom(ctx).Since
		return func(yield func(out, error) bool) {
			_ = yield(out{Text: "a"}, nil) && yield(out{Text: "b"}, nil) && yield(out{}, errors.New("broken"))
		}, nil
	}}.plugin(), plugintest.Options{})
	var got []string
	for ev, err := range follow.Events(ctx, host, in{}, "0") {
		if err != nil {
			got = append(got, string(kernelcontract.CodeOf(err)))
			continue
		}
		got = append(got, ev.Cursor+"="+ev.Item.Text)
	}
	is.Equal(since, "0")
	is.Equal(got, []string{"a=a", "b=b", "internal"})
	for _, err := range host.Open(ctx, "p/s.get", nil, "") {
		is.True(errors.Is(err, kernelcontract.InvalidInput))
	}
	for _, err := range host.Open(ctx, "p/s.none", nil, "") {
		is.True(errors.Is(err, kernelcontract.NotFound))
	}
}

func TestStreamEndsWithTheLoop(t *testing.T) {
	is := is.New(t)
	ended := false
	host := plugintest.Load(t, functions{stream: func(context.Context, in) (iter.Seq2[out, error], error) {
		return func(yield func(out, error) bool) {
			defer func() { ended = true }()
			for yield(out{Text: "x"}, nil) {
			}
		}, nil
	}}.plugin(), plugintest.Options{})
	for range follow.Stream(t.Context(), host, in{}) {
		break
	}
	is.True(ended)
}

func TestBadStreams(t *testing.T) {
	for _, tt := range []struct {
		name  string
		items func(yield func(out, error) bool)
		text  string
	}{
		{"empty cursor", func(yield func(out, error) bool) { yield(out{}, nil) }, "a cursor of"},
		{"cursor not ASCII", func(yield func(out, error) bool) { yield(out{Text: "é"}, nil) }, "not printable ASCII"},
		{"cursor that a header would cut", func(yield func(out, error) bool) { yield(out{Text: "a "}, nil) }, "a space at its ends"},
		{"item", func(yield func(out, error) bool) { yield(out{Text: strings.Repeat("x", 21)}, nil) }, "breaks its own schema"},
		{"panic", func(func(out, error) bool) { panic("boom") }, "boom"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			host := plugintest.Load(t, functions{stream: func(context.Context, in) (iter.Seq2[out, error], error) { return tt.items, nil }}.plugin(), plugintest.Options{})
			n := 0
			for _, err := range follow.Stream(t.Context(), host, in{}) {
				is.True(errors.Is(err, kernelcontract.Internal))
				is.True(strings.Contains(err.Error(), tt.text))
				n++
			}
			is.Equal(n, 1)
		})
	}
	t.Run("error before it opens", func(t *testing.T) {
		host := plugintest.Load(t, functions{stream: func(context.Context, in) (iter.Seq2[out, error], error) {
			return nil, kernelcontract.Precondition
		}}.plugin(), plugintest.Options{})
		for _, err := range follow.Stream(t.Context(), host, in{}) {
			is.New(t).True(errors.Is(err, kernelcontract.Precondition))
		}
	})
}

func TestPrincipalsAreAdmittedByAccess(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	var saw kernelcontract.Principal
	host := plugintest.Load(t, functions{unary: func(ctx context.Context, _ in) (out, error) {
		saw = kernelcontract.CallFrom(ctx).Principal
		return out{}, nil
	}}.plugin(), plugintest.Options{})
	_, err := admin.Call(ctx, host, in{})
	is.NoErr(err)
	is.Equal(saw, kernelcontract.Principal{Actor: "user:local", Via: kernelcontract.ViaProcess})
	_, err = admin.Call(ctx, host.As(kernelcontract.Principal{Actor: "agent:t-1", Via: kernelcontract.ViaLoopback}), in{})
	is.True(errors.Is(err, kernelcontract.Forbidden))
	_, err = get.Call(ctx, host.As(kernelcontract.Principal{Actor: "user:anonymous", Via: kernelcontract.ViaAnonymous}), in{})
	is.True(errors.Is(err, kernelcontract.Forbidden))
	_, err = onHost.Call(ctx, host, in{})
	is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
}

func TestRequiredServicesAreFakedAndSeeTheRelayedCaller(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	var their kernelcontract.Caller
	var saw kernelcontract.Principal
	p := functions{
		setup: func(h *pluginsdk.Host) { their = h.Require(theirs) },
		unary: func(ctx context.Context, in in) (out, error) { return theirGet.Call(ctx, their, in) },
	}.plugin()
	host := plugintest.Load(t, p, plugintest.Options{
		Principal: kernelcontract.Principal{Actor: "user:eve", Via: kernelcontract.ViaToken},
		Services: []kernelcontract.Implementation{{Service: theirs, Handlers: []kernelcontract.Handler{
			theirGet.Handle(func(ctx context.Context, _ in) (out, error) {
				saw = kernelcontract.CallFrom(ctx).Principal
				return out{Text: "theirs"}, nil
			})}}},
	})
	o, err := get.Call(ctx, host, in{})
	is.NoErr(err)
	is.Equal(o.Text, "theirs")
	is.Equal(saw, kernelcontract.Principal{Actor: "user:eve", Via: "plugin:p"})
	_, err = theirGet.Call(ctx, their, in{}) // outside of a call: the plugin's own
	is.NoErr(err)
	is.Equal(saw.Actor, "plugin:p")
	_, err = theirOther.Call(ctx, their, in{})
	is.True(errors.Is(err, kernelcontract.ServiceUnavailable))

	_, err = plugintest.TryLoad(t, p, plugintest.Options{})
	is.True(err != nil) // the service is not there
}

func TestGuardsVetoBeforeTheHandler(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	ran := false
	var seen string
	host := plugintest.Load(t, functions{
		unary: func(context.Context, in) (out, error) { ran = true; return out{}, nil },
		setup: func(h *pluginsdk.Host) {
			h.Guard(func(_ context.Context, info *kernelcontract.CallInfo, input json.RawMessage) error {
				seen = info.Ref + string(input)
				switch info.Ref {
				case "p/s.set":
					return errors.New("not on Sundays")
				case "p/s.admin":
					panic("boom")
				}
				return nil
			})
		},
	}.plugin(), plugintest.Options{})
	_, err := set.Call(ctx, host, in{})
	is.True(errors.Is(err, kernelcontract.Vetoed))
	is.Equal(kernelcontract.AsError(err).Message, "not on Sundays")
	is.Equal(kernelcontract.AsError(err).Details["by"], "p")
	is.Equal(seen, `p/s.set{"name":"bb"}`) // complete
	is.True(!ran)
	_, err = admin.Call(ctx, host, in{})
	is.True(errors.Is(err, kernelcontract.Internal))
	_, err = get.Call(ctx, host, in{})
	is.NoErr(err)
	is.True(ran)
}

func TestConfigAndSecretsReachThePlugin(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	var h *pluginsdk.Host
	host := plugintest.Load(t, functions{setup: func(host *pluginsdk.Host) { h = host }}.plugin(),
		plugintest.Options{Config: map[string]any{"a": 1}, Secrets: map[string]string{"s": "hidden"}})
	var a int
	is.NoErr(h.Config(ctx, "a", &a))
	is.Equal(a, 1)
	is.NoErr(host.SetConfig("a", 2))
	is.NoErr(h.Config(ctx, "a", &a))
	is.Equal(a, 2)
	is.NoErr(host.SetConfig("a", nil))
	is.True(errors.Is(h.Config(ctx, "a", &a), kernelcontract.NeedsConfiguration))
	is.True(host.SetConfig("a", func() {}) != nil)
	s, err := h.Secret(ctx, "s")
	is.NoErr(err)
	is.Equal(s, "hidden")
}

func TestStoppedPluginAnswersUnavailable(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := plugintest.Load(t, functions{}.plugin(), plugintest.Options{})
	is.True(host.Loaded() != nil)
	is.NoErr(host.Stop(ctx))
	is.NoErr(host.Stop(ctx))
	_, err := get.Call(ctx, host, in{})
	is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
	is.NoErr(host.Restart(ctx))
	_, err = get.Call(ctx, host, in{})
	is.NoErr(err)
}

// In a test: host := plugintest.Load(t, plugin, plugintest.Options{}).
func ExampleTryLoad() {
	t := &testing.T{}
	_, err := plugintest.TryLoad(t, &pluginsdk.Plugin{ID: "p", Services: []*kernelcontract.Service{ours}}, plugintest.Options{})
	fmt.Println(strings.Split(err.Error(), "\n")[0])
	// Output: plugin p: 5 problems
}

func TestExpectDerivedSurfacesIsTheContractsOwn(t *testing.T) {
	plugintest.ExpectDerivedSurfaces(t, theirs, plugintest.Samples{"get": out{Text: "x"}, "other": out{}})
}
