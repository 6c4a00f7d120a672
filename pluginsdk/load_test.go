package pluginsdk_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
)

type in struct {
	Name string `json:"name"`
}

type out struct {
	Text string `json:"text"`
}

// defs are the definitions of one plugin, made anew for each test.
type defs struct {
	greet  *kernelcontract.Query[in, out]
	count  *kernelcontract.Mutation[in, out]
	follow *kernelcontract.Stream[in, out]
	s      *kernelcontract.Service
}

func define() defs {
	d := defs{
		greet:  &kernelcontract.Query[in, out]{Ref: "p/s.greet", Summary: "Greet"},
		count:  &kernelcontract.Mutation[in, out]{Ref: "p/s.count", Summary: "Count"},
		follow: &kernelcontract.Stream[in, out]{Ref: "p/s.follow", Summary: "Follow"},
	}
	d.s = &kernelcontract.Service{ID: "p/s", Summary: "A service", Methods: []kernelcontract.Method{d.greet, d.count, d.follow}}
	return d
}

func answer(context.Context, in) (out, error) { return out{Text: "ok"}, nil }

func none(context.Context, in) (iter.Seq2[out, error], error) {
	return func(func(out, error) bool) {}, nil
}

func (d defs) plugin(setup func(context.Context, *pluginsdk.Host) error) *pluginsdk.Plugin {
	return &pluginsdk.Plugin{ID: "p", Version: "0.1.0", Summary: "A plugin", Services: []*kernelcontract.Service{d.s}, Setup: setup}
}

func (d defs) all() []kernelcontract.Handler {
	return []kernelcontract.Handler{d.greet.Handle(answer), d.count.Handle(answer), d.follow.Handle(none)}
}

func load(t *testing.T, p *pluginsdk.Plugin) (*pluginsdk.Loaded, error) {
	t.Helper()
	return pluginsdk.Load(t.Context(), p, pluginsdk.Backend{})
}

func TestLoadReturnsWhatWasProvidedInOrder(t *testing.T) {
	is := is.New(t)
	d := define()
	loaded, err := load(t, d.plugin(func(ctx context.Context, h *pluginsdk.Host) error {
		h.Provide(d.s, d.all()[2], d.all()[0])
		h.Provide(d.s, d.all()[1])
		return nil
	}))
	is.NoErr(err)
	is.Equal(len(loaded.Services), 1)
	is.Equal(len(loaded.Handlers), 3)
	for ref, h := range loaded.Handlers {
		is.Equal(h.Ref(), ref)
	}
	is.NoErr(loaded.Stop(t.Context()))
}

// Each row breaks one rule; the message must name the thing.
func TestLoadErrorNamesTheMethod(t *testing.T) {
	lookAlike := define()
	for _, tt := range []struct {
		name string
		give func(d defs) []kernelcontract.Handler
		want string
	}{
		{"missing", func(d defs) []kernelcontract.Handler { return d.all()[:2] }, "p/s.follow has no handler"},
		{"extra", func(d defs) []kernelcontract.Handler {
			extra := &kernelcontract.Query[in, out]{Ref: "p/s.extra", Summary: "Extra"}
			return append(d.all(), extra.Handle(answer))
		}, "p/s.extra is not a method of the service p/s"},
		{"repeated", func(d defs) []kernelcontract.Handler { return append(d.all(), d.greet.Handle(answer)) }, "p/s.greet has two handlers"},
		{"nil function", func(d defs) []kernelcontract.Handler {
			return append(d.all()[1:], d.greet.Handle(nil))
		}, "p/s.greet has a nil function"},
		{"zero handler", func(d defs) []kernelcontract.Handler { return append(d.all(), kernelcontract.Handler{}) }, "a handler for p/s is empty"},
		{"of another definition", func(d defs) []kernelcontract.Handler {
			return append(d.all()[1:], lookAlike.greet.Handle(answer))
		}, "p/s.greet comes from another definition"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			d := define()
			_, err := load(t, d.plugin(func(ctx context.Context, h *pluginsdk.Host) error {
				h.Provide(d.s, tt.give(d)...)
				return nil
			}))
			var le *pluginsdk.LoadError
			is.True(errors.As(err, &le))
			is.Equal(le.PluginID, "p")
			is.True(strings.Contains(err.Error(), tt.want)) // names the method
		})
	}
}

func TestLoadReportsEveryProblemAtOnce(t *testing.T) {
	is := is.New(t)
	d := define()
	_, err := load(t, d.plugin(func(ctx context.Context, h *pluginsdk.Host) error {
		h.Provide(d.s, d.greet.Handle(nil), d.greet.Handle(answer), d.greet.Handle(answer))
		h.Provide(nil)
		h.Require(nil)
		h.Guard(nil)
		h.OnStop(nil)
		return nil
	}))
	var le *pluginsdk.LoadError
	is.True(errors.As(err, &le))
	for _, want := range []string{
		"p/s.greet has a nil function", "p/s.greet has two handlers", "p/s.count has no handler", "p/s.follow has no handler",
		"the service nil was provided", "the required service is nil", "a guard is nil", "OnStop is nil",
	} {
		is.True(strings.Contains(err.Error(), want))
	}
	is.Equal(len(le.Problems), 8)
}

func TestLoadChecksThePluginValue(t *testing.T) {
	ok := func() *pluginsdk.Plugin {
		d := define()
		return d.plugin(func(ctx context.Context, h *pluginsdk.Host) error { h.Provide(d.s, d.all()...); return nil })
	}
	other := &kernelcontract.Service{ID: "q/s", Summary: "Another", Methods: []kernelcontract.Method{
		&kernelcontract.Query[in, out]{Ref: "q/s.get", Summary: "Get"}}}
	broken := &kernelcontract.Service{ID: "p/broken", Methods: []kernelcontract.Method{
		&kernelcontract.Query[in, out]{Ref: "p/broken.get"}}}
	for _, tt := range []struct {
		name   string
		change func(p *pluginsdk.Plugin)
		want   string
	}{
		{"id", func(p *pluginsdk.Plugin) { p.ID = "P_1" }, "must match"},
		{"kernel id", func(p *pluginsdk.Plugin) { p.ID = "kernel" }, "the kernel's own"},
		{"version", func(p *pluginsdk.Plugin) { p.Version = "1\n2" }, "version"},
		{"summary", func(p *pluginsdk.Plugin) { p.Summary = "a\nb" }, "summary"},
		{"nil service", func(p *pluginsdk.Plugin) { p.Services = append(p.Services, nil) }, "Services[1] is nil"},
		{"foreign service", func(p *pluginsdk.Plugin) { p.Services = append(p.Services, other) }, "q/s belongs to plugin q"},
		{"repeated service", func(p *pluginsdk.Plugin) { p.Services = append(p.Services, p.Services[0]) }, "p/s is listed twice"},
		{"definition", func(p *pluginsdk.Plugin) { p.Services = append(p.Services, broken) }, "p/broken.get Summary: is required"},
		{"config key", func(p *pluginsdk.Plugin) { p.Config = []pluginsdk.ConfigKey{{Key: "a b", Summary: "S"}} }, `"a b" must match`},
		{"config repeated", func(p *pluginsdk.Plugin) {
			p.Config = []pluginsdk.ConfigKey{{Key: "a", Summary: "S"}, {Key: "a", Summary: "S"}}
		}, "declared twice"},
		{"config summary", func(p *pluginsdk.Plugin) { p.Config = []pluginsdk.ConfigKey{{Key: "a"}} }, "needs a summary"},
		{"config default", func(p *pluginsdk.Plugin) {
			p.Config = []pluginsdk.ConfigKey{{Key: "a", Summary: "S", Default: func() {}}}
		}, "does not encode to JSON"},
		{"config required", func(p *pluginsdk.Plugin) {
			p.Config = []pluginsdk.ConfigKey{{Key: "a", Summary: "S", Default: 1, Required: true}}
		}, "required and has a default"},
		{"guide name", func(p *pluginsdk.Plugin) { p.Guide = fstest.MapFS{"A B.md": {Data: []byte("x")}} }, `"A B.md"`},
		{"guide encoding", func(p *pluginsdk.Plugin) { p.Guide = fstest.MapFS{"a.md": {Data: []byte("\xff")}} }, "not UTF-8"},
		{"guide size", func(p *pluginsdk.Plugin) {
			p.Guide = fstest.MapFS{"a.md": {Data: make([]byte, pluginsdk.MaxChapter+1)}}
		}, "more than"},
		{"guide panic", func(p *pluginsdk.Plugin) { p.Guide = panicFS{} }, "the guide panicked"},
		{"no setup", func(p *pluginsdk.Plugin) { p.Setup = nil }, "p/s.greet has no handler"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			p := ok()
			tt.change(p)
			_, err := load(t, p)
			is.True(err != nil)
			is.True(strings.Contains(err.Error(), tt.want))
		})
	}
	t.Run("nil plugin", func(t *testing.T) {
		_, err := load(t, nil)
		is.New(t).True(err != nil)
	})
	t.Run("nothing but an id", func(t *testing.T) {
		_, err := load(t, &pluginsdk.Plugin{ID: "p"})
		is.New(t).NoErr(err)
	})
}

type panicFS struct{}

func (panicFS) Open(string) (fs.File, error) { panic("no disk") }

func TestGuideChaptersAreSortedAndTitled(t *testing.T) {
	is := is.New(t)
	loaded, err := load(t, &pluginsdk.Plugin{ID: "p", Guide: fstest.MapFS{
		"20-more.md":   {Data: []byte("no title")},
		"10-begin.md":  {Data: []byte("intro\n# Begin here \n")},
		"notes.txt":    {Data: []byte("ignored")},
		"deeper/a.md":  {Data: []byte("ignored")},
		"30-empty.md":  {Data: nil},
		"images.md/a":  {Data: []byte("ignored")},
		"40-second.md": {Data: []byte("## Not this\n# This")},
	}})
	is.NoErr(err)
	var got []string
	for _, c := range loaded.Guide {
		got = append(got, c.Name+"="+c.Title)
	}
	is.Equal(got, []string{"10-begin=Begin here", "20-more=20-more", "30-empty=30-empty", "40-second=This"})
}

func TestOfflineMustMatchTheDefinitions(t *testing.T) {
	online := &kernelcontract.Query[in, out]{Ref: "p/s.online", Summary: "Online"}
	offline := &kernelcontract.Query[in, out]{Ref: "p/s.offline", Summary: "Offline", CLI: kernelcontract.CLI{Offline: true}}
	s := &kernelcontract.Service{ID: "p/s", Summary: "A service", Methods: []kernelcontract.Method{online, offline}}
	for _, tt := range []struct {
		name    string
		offline []kernelcontract.Implementation
		want    string // "": loads
	}{
		{"complete", []kernelcontract.Implementation{{Service: s, Handlers: []kernelcontract.Handler{offline.Handle(answer)}}}, ""},
		{"missing", nil, "p/s.offline has CLI.Offline and no function"},
		{"of an online method", []kernelcontract.Implementation{{Service: s, Handlers: []kernelcontract.Handler{offline.Handle(answer), online.Handle(answer)}}}, "p/s.online runs only on a server"},
		{"twice", []kernelcontract.Implementation{{Service: s, Handlers: []kernelcontract.Handler{offline.Handle(answer), offline.Handle(answer)}}}, "p/s.offline has two functions"},
		{"nil", []kernelcontract.Implementation{{Service: s, Handlers: []kernelcontract.Handler{offline.Handle(nil)}}}, "nil function"},
		{"foreign service", []kernelcontract.Implementation{{Service: define().s}}, "p/s is not one of Services"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			_, err := load(t, &pluginsdk.Plugin{ID: "p", Services: []*kernelcontract.Service{s}, Offline: tt.offline,
				Setup: func(ctx context.Context, h *pluginsdk.Host) error {
					h.Provide(s, online.Handle(answer), offline.Handle(answer))
					return nil
				}})
			if tt.want == "" {
				is.NoErr(err)
				return
			}
			is.True(err != nil)
			is.True(strings.Contains(err.Error(), tt.want))
		})
	}
}

func TestFailingSetupRunsWhatOnStopHas(t *testing.T) {
	broken := errors.New("no network")
	for _, tt := range []struct {
		name string
		end  func() error
		want string
	}{
		{"error", func() error { return broken }, "no network"},
		{"panic", func() error { panic("boom") }, "Setup panicked: boom"},
		{"missing handlers", func() error { return nil }, "p/s.greet has no handler"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			var order []string
			var own context.Context
			_, err := load(t, define().plugin(func(ctx context.Context, h *pluginsdk.Host) error {
				own = ctx
				h.OnStop(func(context.Context) error { order = append(order, "first"); return nil })
				h.OnStop(func(context.Context) error { order = append(order, "second"); return errors.New("stopping failed") })
				return tt.end()
			}))
			is.True(strings.Contains(err.Error(), tt.want))
			is.True(strings.Contains(err.Error(), "stopping failed"))
			is.Equal(order, []string{"second", "first"}) // the last one first, whatever the others do
			is.True(own.Err() != nil)
			if tt.name == "error" {
				is.True(errors.Is(err, broken))
				is.True(!strings.Contains(err.Error(), "no handler")) // it follows from the error
			}
		})
	}
}

func TestStopRunsOnceAndContainsPanics(t *testing.T) {
	is := is.New(t)
	runs := 0
	var own context.Context
	loaded, err := load(t, &pluginsdk.Plugin{ID: "p", Setup: func(ctx context.Context, h *pluginsdk.Host) error {
		own = ctx
		h.OnStop(func(context.Context) error {
			is.True(own.Err() != nil) // the context has ended before
			runs++
			return nil
		})
		h.OnStop(func(context.Context) error { panic("boom") })
		return nil
	}})
	is.NoErr(err)
	is.NoErr(own.Err())
	first := loaded.Stop(t.Context())
	is.True(strings.Contains(first.Error(), "boom"))
	is.Equal(loaded.Stop(t.Context()), first)
	is.Equal(runs, 1)
}

func TestContextOfLoadBoundsOnlySetup(t *testing.T) {
	is := is.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	var own context.Context
	loaded, err := pluginsdk.Load(ctx, &pluginsdk.Plugin{ID: "p", Setup: func(ctx context.Context, h *pluginsdk.Host) error {
		own = ctx
		return nil
	}}, pluginsdk.Backend{})
	is.NoErr(err)
	cancel()
	is.NoErr(own.Err())
	is.NoErr(loaded.Stop(t.Context()))
	is.True(own.Err() != nil)

	_, err = pluginsdk.Load(ctx, &pluginsdk.Plugin{ID: "p", Setup: func(ctx context.Context, h *pluginsdk.Host) error {
		<-ctx.Done()
		return nil
	}}, pluginsdk.Backend{})
	is.True(errors.Is(err, context.Canceled))
}

func TestLateCallsOfTheHostHaveNoEffect(t *testing.T) {
	is := is.New(t)
	d := define()
	var kept *pluginsdk.Host
	loaded, err := load(t, d.plugin(func(ctx context.Context, h *pluginsdk.Host) error {
		kept = h
		h.Provide(d.s, d.all()...)
		return nil
	}))
	is.NoErr(err)
	kept.Provide(d.s, d.all()...)
	kept.Guard(func(context.Context, *kernelcontract.CallInfo, jsonRaw) error { return nil })
	is.Equal(len(loaded.Guards), 0)
	late := kept.Require(define().s)
	is.True(errors.Is(late.Call(t.Context(), "p/s.greet", nil, nil), kernelcontract.ServiceUnavailable))
	ran := false
	kept.OnStop(func(context.Context) error { ran = true; return nil }) // still counts
	is.NoErr(loaded.Stop(t.Context()))
	is.True(ran)
}

func ExampleLoad() {
	greet := &kernelcontract.Query[in, out]{Ref: "p/s.greet", Summary: "Greet"}
	service := &kernelcontract.Service{ID: "p/s", Summary: "A service", Methods: []kernelcontract.Method{greet}}
	p := &pluginsdk.Plugin{ID: "p", Services: []*kernelcontract.Service{service},
		Setup: func(ctx context.Context, h *pluginsdk.Host) error { return nil }}
	_, err := pluginsdk.Load(context.Background(), p, pluginsdk.Backend{})
	fmt.Println(err)
	// Output: plugin p: p/s.greet has no handler: pass one to Provide
}
