package pluginsdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
)

type jsonRaw = json.RawMessage

// callerFunc records the refs that reach the other side.
type callerFunc func(ref string) error

func (f callerFunc) Call(_ context.Context, ref string, _, _ any) error { return f(ref) }

func (f callerFunc) Open(_ context.Context, ref string, _ any, _ string) iter.Seq2[kernelcontract.Event[json.RawMessage], error] {
	return func(yield func(kernelcontract.Event[json.RawMessage], error) bool) {
		yield(kernelcontract.Event[json.RawMessage]{}, f(ref))
	}
}

// setUp loads a plugin whose Setup does nothing else than what use does.
func setUp(t *testing.T, p *pluginsdk.Plugin, b pluginsdk.Backend, use func(h *pluginsdk.Host)) error {
	t.Helper()
	p.Setup = func(ctx context.Context, h *pluginsdk.Host) error { use(h); return nil }
	loaded, err := pluginsdk.Load(t.Context(), p, b)
	if err == nil {
		t.Cleanup(func() { _ = loaded.Stop(context.Background()) })
	}
	return err
}

func TestRequireReachesThatServiceOnly(t *testing.T) {
	is := is.New(t)
	var reached []string
	b := pluginsdk.Backend{
		Caller:     callerFunc(func(ref string) error { reached = append(reached, ref); return nil }),
		HasService: func(id string) bool { return id == "p/s" },
	}
	var c kernelcontract.Caller
	is.NoErr(setUp(t, &pluginsdk.Plugin{ID: "q"}, b, func(h *pluginsdk.Host) { c = h.Require(define().s) }))
	is.NoErr(c.Call(t.Context(), "p/s.greet", nil, nil))
	for _, err := range c.Open(t.Context(), "p/s.follow", nil, "") {
		is.NoErr(err)
	}
	is.Equal(reached, []string{"p/s.greet", "p/s.follow"})

	err := c.Call(t.Context(), "p/other.get", nil, nil)
	is.True(err != nil && strings.Contains(err.Error(), "p/other.get"))
	for _, err := range c.Open(t.Context(), "nonsense", nil, "") {
		is.True(err != nil)
	}
	is.Equal(len(reached), 2)
}

func TestRequireOfAnAbsentServiceIsALoadError(t *testing.T) {
	is := is.New(t)
	b := pluginsdk.Backend{Caller: callerFunc(func(string) error { return nil }), HasService: func(string) bool { return false }}
	err := setUp(t, &pluginsdk.Plugin{ID: "q"}, b, func(h *pluginsdk.Host) { h.Require(define().s) })
	is.True(err != nil)
	is.True(strings.Contains(err.Error(), "p/s is not there"))
}

func TestConfigFillsFromValueThenDefault(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	values := map[string]string{"set": `"given"`, "bad": `"text"`}
	b := pluginsdk.Backend{Config: func(_ context.Context, key string) (json.RawMessage, bool, error) {
		v, ok := values[key]
		return json.RawMessage(v), ok, nil
	}}
	p := &pluginsdk.Plugin{ID: "q", Config: []pluginsdk.ConfigKey{
		{Key: "set", Summary: "S", Default: "default"}, {Key: "fallback", Summary: "S", Default: 7}, {Key: "bad", Summary: "S"},
		{Key: "needed", Summary: "S", Required: true}, {Key: "alsoNeeded", Summary: "S", Required: true}, {Key: "unset", Summary: "S"},
	}}
	var h *pluginsdk.Host
	is.NoErr(setUp(t, p, b, func(host *pluginsdk.Host) { h = host }))

	var text string
	is.NoErr(h.Config(ctx, "set", &text))
	is.Equal(text, "given")
	values["set"] = `"changed"` // read anew each time
	is.NoErr(h.Config(ctx, "set", &text))
	is.Equal(text, "changed")
	var n int
	is.NoErr(h.Config(ctx, "fallback", &n))
	is.Equal(n, 7)

	err := h.Config(ctx, "bad", &n)
	is.True(errors.Is(err, kernelcontract.NeedsConfiguration))
	is.True(strings.Contains(err.Error(), "does not fit"))
	err = h.Config(ctx, "undeclared", &n)
	is.True(errors.Is(err, kernelcontract.Internal))
	is.True(strings.Contains(err.Error(), "declare it"))

	err = h.Config(ctx, "needed", &text)
	is.True(errors.Is(err, kernelcontract.NeedsConfiguration))
	is.Equal(kernelcontract.AsError(err).Details["missing"], []pluginsdk.Missing{
		{Key: "needed", How: "bb plugin config set q needed <value>"},
		{Key: "alsoNeeded", How: "bb plugin config set q alsoNeeded <value>"},
	})
	err = h.Config(ctx, "unset", &text) // optional, and still nothing to answer with
	is.Equal(len(kernelcontract.AsError(err).Details["missing"].([]pluginsdk.Missing)), 3)
}

func TestSecretSaysHowToSetIt(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	b := pluginsdk.Backend{Secret: func(_ context.Context, name string) (string, bool, error) {
		if name == "broken" {
			return "", false, errors.New("no key")
		}
		return "value", name == "set", nil
	}}
	var h *pluginsdk.Host
	is.NoErr(setUp(t, &pluginsdk.Plugin{ID: "q"}, b, func(host *pluginsdk.Host) { h = host }))
	v, err := h.Secret(ctx, "set")
	is.NoErr(err)
	is.Equal(v, "value")
	_, err = h.Secret(ctx, "broken")
	is.True(err != nil && !errors.Is(err, kernelcontract.NeedsConfiguration))
	v, err = h.Secret(ctx, "unset")
	is.Equal(v, "")
	is.True(errors.Is(err, kernelcontract.NeedsConfiguration))
	is.Equal(kernelcontract.AsError(err).Details["missing"], []pluginsdk.Missing{{Key: "unset", How: "bb secret set unset"}})
}

func TestZeroBackendIsAnEmptyKernel(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	var h *pluginsdk.Host
	is.NoErr(setUp(t, &pluginsdk.Plugin{ID: "q", Config: []pluginsdk.ConfigKey{{Key: "a", Summary: "S"}}}, pluginsdk.Backend{}, func(host *pluginsdk.Host) { h = host }))
	h.Log().Info("goes nowhere")
	var v any
	is.True(errors.Is(h.Config(ctx, "a", &v), kernelcontract.NeedsConfiguration))
	_, err := h.Secret(ctx, "a")
	is.True(errors.Is(err, kernelcontract.NeedsConfiguration))
	is.True(h.KV().Put(ctx, "a", 1) != nil)
	is.True(h.KV().Get(ctx, "a", &v) != nil)
}
