package kernelcore_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk"
)

// shape is an input of three fields; its instances are as many distinct Go types. They have one memory layout, so that
// the compiler makes the code for them once: with a thousand layouts it takes minutes and gigabytes.
type shape[A, B, C any] struct {
	A string   `json:"a,omitempty" description:"The first"`
	B []string `json:"b,omitempty" description:"The second"`
	C inner    `json:"c,omitzero" description:"The third"`
}

// The digits that tell the instances of shape apart.
type (
	d0 struct{}
	d1 struct{}
	d2 struct{}
	d3 struct{}
	d4 struct{}
	d5 struct{}
	d6 struct{}
	d7 struct{}
	d8 struct{}
	d9 struct{}
)

type inner struct {
	Text  string   `json:"text,omitempty" maxLength:"100"`
	Words []string `json:"words,omitempty"`
}

// crowd is a plugin with a thousand methods of a thousand distinct types.
type crowd struct {
	services []*kernelcontract.Service
	handlers [][]kernelcontract.Handler
}

func addMethod[A, B, C any](c *crowd) {
	if len(c.services) == 0 || len(c.services[len(c.services)-1].Methods) == 100 {
		id := fmt.Sprintf("crowd/s%d", len(c.services))
		c.services = append(c.services, &kernelcontract.Service{ID: id, Summary: "Many"})
		c.handlers = append(c.handlers, nil)
	}
	i := len(c.services) - 1
	s := c.services[i]
	m := &kernelcontract.Query[shape[A, B, C], shape[A, B, C]]{Ref: fmt.Sprintf("%s.m%d", s.ID, len(s.Methods)), Summary: "Echoes"}
	s.Methods = append(s.Methods, m)
	c.handlers[i] = append(c.handlers[i], m.Handle(func(_ context.Context, in shape[A, B, C]) (shape[A, B, C], error) { return in, nil }))
}

func addThird[A, B any](c *crowd) {
	addMethod[A, B, d0](c)
	addMethod[A, B, d1](c)
	addMethod[A, B, d2](c)
	addMethod[A, B, d3](c)
	addMethod[A, B, d4](c)
	addMethod[A, B, d5](c)
	addMethod[A, B, d6](c)
	addMethod[A, B, d7](c)
	addMethod[A, B, d8](c)
	addMethod[A, B, d9](c)
}

func addSecond[A any](c *crowd) {
	addThird[A, d0](c)
	addThird[A, d1](c)
	addThird[A, d2](c)
	addThird[A, d3](c)
	addThird[A, d4](c)
	addThird[A, d5](c)
	addThird[A, d6](c)
	addThird[A, d7](c)
	addThird[A, d8](c)
	addThird[A, d9](c)
}

func newCrowd() *crowd {
	c := &crowd{}
	addSecond[d0](c)
	addSecond[d1](c)
	addSecond[d2](c)
	addSecond[d3](c)
	addSecond[d4](c)
	addSecond[d5](c)
	addSecond[d6](c)
	addSecond[d7](c)
	addSecond[d8](c)
	addSecond[d9](c)
	return c
}

func (c *crowd) plugin() *pluginsdk.Plugin {
	return &pluginsdk.Plugin{ID: "crowd", Services: c.services, Setup: func(_ context.Context, h *pluginsdk.Host) error {
		for i, s := range c.services {
			h.Provide(s, c.handlers[i]...)
		}
		return nil
	}}
}

func TestThousandTypesAreAThousandMethods(t *testing.T) {
	is := is.New(t)
	c := newCrowd()
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{c.plugin()}})
	is.Equal(len(k.Problems()), 0)
	for _, s := range c.services {
		is.Equal(len(s.Methods), 100)
	}
	is.Equal(len(c.services), 10)
	var out map[string]any
	is.NoErr(k.As(local).Call(t.Context(), "crowd/s9.m99", map[string]any{"c": map[string]any{"text": "x"}}, &out))
	is.Equal(out["c"].(map[string]any)["text"], "x")
}

// TestReloadUnderLoadFailsNoRequest reloads a thousand methods again and again while clients call them over HTTP.
func TestReloadUnderLoadFailsNoRequest(t *testing.T) {
	is := is.New(t)
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{newCrowd().plugin()}})
	server := httptest.NewServer(k.Handler())
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var calls atomic.Int64
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			url := fmt.Sprintf("%s/api/v1/crowd/s0/m%d?a=x", server.URL, i)
			for ctx.Err() == nil {
				res, err := http.Get(url)
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
				if res.StatusCode != http.StatusOK {
					t.Errorf("a request failed with %s during a reload", res.Status)
					return
				}
				calls.Add(1)
			}
		})
	}
	for range 20 {
		before := calls.Load()
		is.NoErr(k.Reload(t.Context(), "crowd"))
		for calls.Load() == before && ctx.Err() == nil && !t.Failed() { // each life answers something
			select {
			case <-t.Context().Done():
			default:
			}
		}
	}
	stop()
	clients.Wait()
}

// BenchmarkStart makes a kernel ready, with a thousand methods of a thousand distinct types; the baseline is an empty one.
func BenchmarkStart(b *testing.B) {
	for _, c := range []struct {
		name    string
		plugins func() []*pluginsdk.Plugin
	}{
		{"empty", func() []*pluginsdk.Plugin { return nil }},
		{"1000 types", func() []*pluginsdk.Plugin { return []*pluginsdk.Plugin{newCrowd().plugin()} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				k, err := kernelcore.New(kernelcore.Options{Plugins: c.plugins()})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := k.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkReload reloads a thousand methods, and reports what part of it is the swap that callers could notice.
func BenchmarkReload(b *testing.B) {
	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{newCrowd().plugin()}})
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := k.Reload(b.Context(), "crowd"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall calls in process, typed.
func BenchmarkCall(b *testing.B) {
	m := &kernelcontract.Query[wordIn, wordOut]{Ref: "bench/main.say", Summary: "Says it back"}
	s := &kernelcontract.Service{ID: "bench/main", Summary: "Bench", Methods: []kernelcontract.Method{m}}
	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{{ID: "bench", Services: []*kernelcontract.Service{s},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			h.Provide(s, m.Handle(func(_ context.Context, in wordIn) (wordOut, error) { return wordOut{Word: in.Word}, nil }))
			return nil
		}}}})
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	caller := k.As(local)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Call(b.Context(), caller, wordIn{"x"}); err != nil {
			b.Fatal(err)
		}
	}
}
