package services_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk"
)

var none = kernelcontract.None{}

type echoInput struct {
	Text string `json:"text"`
}

var say = &kernelcontract.Query[echoInput, string]{Ref: "echo/echo.say", Summary: "Say it again", CLI: kernelcontract.CLI{Args: []string{"text"}},
	Tool: &kernelcontract.Tool{Presentation: kernelcontract.Presentation{Pending: "Saying", Completed: "Said", Icon: "x", Intent: "generic"}}}

// secretly answers with the length of a secret.
var secretly = &kernelcontract.Query[echoInput, int]{Ref: "echo/echo.secretly", Summary: "Use the secret", Hide: kernelcontract.OnCLI}

// forgotten is on no surface.
var forgotten = &kernelcontract.Query[kernelcontract.None, int]{Ref: "echo/echo.forgotten", Summary: "Nothing",
	Hide: kernelcontract.OnCLI | kernelcontract.OnHTTP | kernelcontract.OnSDK}

func echoService() *kernelcontract.Service {
	return &kernelcontract.Service{ID: "echo/echo", Summary: "Echo", Methods: []kernelcontract.Method{say, secretly, forgotten}}
}

var echo = echoService()

func plugin() *pluginsdk.Plugin {
	return &pluginsdk.Plugin{
		ID: "echo", Version: "1.2.3", Summary: "Echoes", Services: []*kernelcontract.Service{echo},
		Config: []pluginsdk.ConfigKey{
			{Key: "greeting", Summary: "What to begin with", Default: "Hi"},
			{Key: "limit", Summary: "How many", Required: true},
		},
		Guide: fstest.MapFS{"echo.md": {Data: []byte("# Echoing\n\nSay it.\n")}},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			h.Provide(echo,
				say.Handle(func(_ context.Context, in echoInput) (string, error) { return in.Text, nil }),
				secretly.Handle(func(ctx context.Context, in echoInput) (int, error) {
					s, err := h.Secret(ctx, in.Text)
					return len(s), err
				}),
				forgotten.Handle(func(context.Context, kernelcontract.None) (int, error) { return 0, nil }))
			return nil
		},
	}
}

func broken() *pluginsdk.Plugin {
	return &pluginsdk.Plugin{ID: "broken", Version: "0.0.1", Summary: "Does not load",
		Setup: func(context.Context, *pluginsdk.Host) error { return errors.New("no disk") }}
}

// log is a buffer that several goroutines may write to.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T, o kernelcore.Options) (*kernelcore.Kernel, kernelcontract.Caller) {
	t.Helper()
	o.Development = true
	if o.Plugins == nil {
		o.Plugins = []*pluginsdk.Plugin{plugin(), broken()}
	}
	k, err := kernelcore.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k, k.As(kernelcontract.Principal{Actor: "user:local"})
}

func wantCode(t *testing.T, err error, code kernelcontract.Code) {
	t.Helper()
	if kernelcontract.CodeOf(err) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestManifest(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	k, user := start(t, kernelcore.Options{})
	m, err := kernelapi.GetManifest.Call(ctx, user, none)
	is.NoErr(err)
	is.Equal(m.Format, manifest.Format)
	is.Equal(m.ServerID, k.ServerID())
	is.Equal(m.Generation, k.Generation())
	var ids []string
	for _, p := range m.Plugins {
		ids = append(ids, p.ID+" "+string(p.State))
	}
	is.Equal(ids, []string{"kernel ready", "echo ready", "broken failed"})
	is.Equal(m.Method("echo/echo.say").CLI.Path(), []string{"echo", "say"})
	is.Equal(m.Method("echo/echo.secretly").CLI, nil)
	is.Equal(m.Method("echo/echo.forgotten"), nil) // on no surface
	is.Equal(m.Method("kernel/contract.manifest").CLI, nil)
	is.Equal(m.Plugins[2].Services, []manifest.Service{})
	is.Equal(len(m.Problems), 1)
	is.Equal(m.Problems[0].PluginID, "broken")
	is.True(strings.Contains(m.Problems[0].Message, "no disk"))

	raw, err := manifest.Encode(&m)
	is.NoErr(err)
	back, err := manifest.Decode(raw)
	is.NoErr(err)
	is.Equal(len(back.Methods()), len(m.Methods()))

	var byName json.RawMessage
	is.NoErr(user.Call(ctx, "kernel/contract.manifest", nil, &byName))
	again, err := manifest.Decode(byName) // what travels is what programs read
	is.NoErr(err)
	is.Equal(again.Generation, m.Generation)
}

func TestManifestFollowsTheGeneration(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	_, user := start(t, kernelcore.Options{})
	first, err := kernelapi.GetManifest.Call(ctx, user, none)
	is.NoErr(err)
	_, err = kernelapi.DisablePlugin.Call(ctx, user, kernelapi.PluginInput{ID: "echo"})
	is.NoErr(err)
	second, err := kernelapi.GetManifest.Call(ctx, user, none)
	is.NoErr(err)
	is.True(second.Generation > first.Generation)
	is.Equal(second.Method("echo/echo.say"), nil)
	is.Equal(second.Plugins[1].State, manifest.Disabled)
	is.True(first.Method("echo/echo.say") != nil) // the old one is as it was
}

func TestReference(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	k, user := start(t, kernelcore.Options{})
	doc, err := kernelapi.GetReference.Call(ctx, user, kernelapi.ReferenceInput{PluginID: "echo"})
	is.NoErr(err)
	is.Equal(doc.PluginID, "echo")
	is.Equal(doc.Generation, k.Generation())
	is.Equal(len(doc.Services), 1)
	is.Equal(doc.Services[0].Methods[0].Ref(), "echo/echo.say")
	_, err = kernelapi.GetReference.Call(ctx, user, kernelapi.ReferenceInput{PluginID: "nope"})
	wantCode(t, err, kernelcontract.NotFound)
	doc, err = kernelapi.GetReference.Call(ctx, user, kernelapi.ReferenceInput{PluginID: "kernel"})
	is.NoErr(err)
	is.True(len(doc.Services) > 1)
}

func TestPlugins(t *testing.T) {
	ctx := t.Context()
	t.Run("list", func(t *testing.T) {
		is := is.New(t)
		_, user := start(t, kernelcore.Options{})
		list, err := kernelapi.ListPlugins.Call(ctx, user, none)
		is.NoErr(err)
		is.Equal(list[1:], []kernelapi.PluginInfo{
			{ID: "echo", Version: "1.2.3", State: manifest.Ready, Source: kernelapi.BuiltIn, Summary: "Echoes"},
			{ID: "broken", Version: "0.0.1", State: manifest.Failed, Source: kernelapi.BuiltIn, Summary: "Does not load"},
		})
		is.Equal(list[0].ID, "kernel")
	})
	t.Run("show", func(t *testing.T) {
		is := is.New(t)
		_, user := start(t, kernelcore.Options{})
		d, err := kernelapi.ShowPlugin.Call(ctx, user, kernelapi.PluginInput{ID: "echo"})
		is.NoErr(err)
		is.Equal(d.Services, []string{"echo/echo"})
		is.Equal(len(d.Problems), 0)
		is.Equal(fmt.Sprintf("%d %s %s %s %t", len(d.Config), d.Config[0].Value, d.Config[0].Source, d.Config[1].Source, d.Config[1].Required), `2 "Hi" default unset true`)
		d, err = kernelapi.ShowPlugin.Call(ctx, user, kernelapi.PluginInput{ID: "broken"})
		is.NoErr(err)
		is.True(strings.Contains(d.Problems[0], "no disk"))
		_, err = kernelapi.ShowPlugin.Call(ctx, user, kernelapi.PluginInput{ID: "nope"})
		wantCode(t, err, kernelcontract.NotFound)
	})
	t.Run("disable and enable", func(t *testing.T) {
		is := is.New(t)
		_, user := start(t, kernelcore.Options{})
		p, err := kernelapi.DisablePlugin.Call(ctx, user, kernelapi.PluginInput{ID: "echo"})
		is.NoErr(err)
		is.Equal(p.State, manifest.Disabled)
		_, err = say.Call(ctx, user, echoInput{"x"})
		wantCode(t, err, kernelcontract.NotFound)
		p, err = kernelapi.EnablePlugin.Call(ctx, user, kernelapi.PluginInput{ID: "echo"})
		is.NoErr(err)
		is.Equal(p.State, manifest.Ready)
		out, err := say.Call(ctx, user, echoInput{"x"})
		is.NoErr(err)
		is.Equal(out, "x")
	})
	t.Run("remove", func(t *testing.T) {
		is := is.New(t)
		_, user := start(t, kernelcore.Options{})
		_, err := kernelapi.SetConfig.Call(ctx, user, kernelapi.ConfigSetInput{ID: "echo", Key: "limit", Value: kernelapi.Value("3")})
		is.NoErr(err)
		p, err := kernelapi.RemovePlugin.Call(ctx, user, kernelapi.PluginInput{ID: "echo"})
		is.NoErr(err)
		is.Equal(p.State, manifest.Removed)
		_, err = kernelapi.EnablePlugin.Call(ctx, user, kernelapi.PluginInput{ID: "echo"})
		is.NoErr(err)
		c, err := kernelapi.GetConfig.Call(ctx, user, kernelapi.ConfigKeyInput{ID: "echo", Key: "limit"})
		is.NoErr(err)
		is.Equal(c.Source, kernelapi.ConfigUnset) // its settings went with it
	})
	t.Run("reload one and all", func(t *testing.T) {
		is := is.New(t)
		k, user := start(t, kernelcore.Options{})
		before := k.Generation()
		list, err := kernelapi.ReloadPlugins.Call(ctx, user, kernelapi.ReloadInput{ID: "echo"})
		is.NoErr(err)
		is.Equal(len(list), 1)
		is.Equal(list[0].ID, "echo")
		is.True(k.Generation() > before)
		list, err = kernelapi.ReloadPlugins.Call(ctx, user, kernelapi.ReloadInput{})
		is.NoErr(err)
		is.Equal(len(list), 3)
	})
	t.Run("unknown and the kernel itself", func(t *testing.T) {
		_, user := start(t, kernelcore.Options{})
		for _, change := range []*kernelcontract.Mutation[kernelapi.PluginInput, kernelapi.PluginInfo]{kernelapi.EnablePlugin, kernelapi.DisablePlugin, kernelapi.RemovePlugin} {
			_, err := change.Call(ctx, user, kernelapi.PluginInput{ID: "nope"})
			wantCode(t, err, kernelcontract.NotFound)
			_, err = change.Call(ctx, user, kernelapi.PluginInput{ID: "kernel"})
			wantCode(t, err, kernelcontract.Conflict)
		}
		_, err := kernelapi.ReloadPlugins.Call(ctx, user, kernelapi.ReloadInput{ID: "nope"})
		wantCode(t, err, kernelcontract.NotFound)
	})
}

func TestConfig(t *testing.T) {
	ctx := t.Context()
	_, user := start(t, kernelcore.Options{})
	at := kernelapi.ConfigKeyInput{ID: "echo", Key: "greeting"}
	t.Run("default", func(t *testing.T) {
		is := is.New(t)
		c, err := kernelapi.GetConfig.Call(ctx, user, at)
		is.NoErr(err)
		is.Equal(string(c.Value), `"Hi"`)
		is.Equal(c.Source, kernelapi.ConfigDefault)
	})
	for _, value := range []string{`"Hello"`, `9007199254740993`, `true`, `[1,{"a":null}]`, `{"b":1,"a":2}`} {
		t.Run("set "+value, func(t *testing.T) {
			is := is.New(t)
			_, err := kernelapi.SetConfig.Call(ctx, user, kernelapi.ConfigSetInput{ID: "echo", Key: "greeting", Value: kernelapi.Value(value)})
			is.NoErr(err)
			c, err := kernelapi.GetConfig.Call(ctx, user, at)
			is.NoErr(err)
			is.Equal(string(c.Value), value)
			is.Equal(c.Source, kernelapi.ConfigSet)
		})
	}
	t.Run("unset", func(t *testing.T) {
		is := is.New(t)
		for range 2 { // that there is none is fine
			c, err := kernelapi.UnsetConfig.Call(ctx, user, at)
			is.NoErr(err)
			is.Equal(c.Source, kernelapi.ConfigDefault)
		}
	})
	t.Run("null is no value", func(t *testing.T) {
		_, err := kernelapi.SetConfig.Call(ctx, user, kernelapi.ConfigSetInput{ID: "echo", Key: "greeting", Value: kernelapi.Value("null")})
		wantCode(t, err, kernelcontract.InvalidInput)
	})
	t.Run("unknown plugin and setting", func(t *testing.T) {
		for _, in := range []kernelapi.ConfigKeyInput{{ID: "nope", Key: "greeting"}, {ID: "echo", Key: "nope"}} {
			_, err := kernelapi.GetConfig.Call(ctx, user, in)
			wantCode(t, err, kernelcontract.NotFound)
			_, err = kernelapi.UnsetConfig.Call(ctx, user, in)
			wantCode(t, err, kernelcontract.NotFound)
			_, err = kernelapi.SetConfig.Call(ctx, user, kernelapi.ConfigSetInput{ID: in.ID, Key: in.Key, Value: kernelapi.Value("1")})
			wantCode(t, err, kernelcontract.NotFound)
		}
	})
}

func TestSecrets(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	const value = "hunter2-is-the-value"
	l := &log{}
	k, user := start(t, kernelcore.Options{Log: slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))})

	_, err := secretly.Call(ctx, user, echoInput{"API_KEY"})
	wantCode(t, err, kernelcontract.NeedsConfiguration)
	s, err := kernelapi.SetSecret.Call(ctx, user, kernelapi.SecretSetInput{Name: "API_KEY", Value: value})
	is.NoErr(err)
	is.Equal(s.Name, "API_KEY")
	_, err = kernelapi.SetSecret.Call(ctx, user, kernelapi.SecretSetInput{Name: "B", Value: "other"})
	is.NoErr(err)
	n, err := secretly.Call(ctx, user, echoInput{"API_KEY"}) // plugins get it
	is.NoErr(err)
	is.Equal(n, len(value))

	list, err := kernelapi.ListSecrets.Call(ctx, user, none)
	is.NoErr(err)
	is.Equal(len(list), 2)
	is.Equal(list[0].Name, "API_KEY")
	is.True(time.Since(list[0].UpdatedAt) < time.Minute)

	// Nothing tells the value: no answer, no refusal, no log, no call log, no byte of the store.
	var told strings.Builder
	for _, call := range []struct {
		ref string
		in  string
	}{
		{"kernel/secret.list", `{}`}, {"kernel/secret.set", `{"name":"API_KEY","value":"` + value + `"}`}, {"kernel/runtime.calls", `{}`},
		{"kernel/plugin.show", `{"id":"echo"}`}, {"kernel/runtime.status", `{}`}, {"kernel/contract.manifest", `{}`},
		{"kernel/secret.set", `{"name":"no good name","value":"` + value + `"}`},
		{"kernel/secret.set", `{"name":"X","value":"` + value + `","values":1}`},
		{"kernel/secret.set", `{"name":"X","value":{"v":"` + value + `"}}`},
		{"kernel/secret.set", `{"name":"X","value":"` + strings.Repeat(value, 4000) + `"}`},
	} {
		var out json.RawMessage
		if err := user.Call(ctx, call.ref, json.RawMessage(call.in), &out); err != nil {
			out = kernelcontract.MarshalFailure(kernelcontract.AsError(err))
		}
		told.Write(out)
	}
	fmt.Fprintf(&told, "%+v %s", k.Calls(1000), l)
	is.True(strings.Contains(told.String(), "kernel/secret.set")) // it was looked at
	is.True(!strings.Contains(told.String(), "hunter2"))

	_, err = kernelapi.DeleteSecret.Call(ctx, user, kernelapi.SecretInput{Name: "API_KEY"})
	is.NoErr(err)
	_, err = kernelapi.DeleteSecret.Call(ctx, user, kernelapi.SecretInput{Name: "API_KEY"})
	wantCode(t, err, kernelcontract.NotFound)
	_, err = secretly.Call(ctx, user, echoInput{"API_KEY"})
	wantCode(t, err, kernelcontract.NeedsConfiguration)
}

func TestTokens(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	k, user := start(t, kernelcore.Options{})
	created, err := kernelapi.CreateToken.Call(ctx, user, kernelapi.TokenCreateInput{Name: "ci", Scope: kernelapi.ScopeRead})
	is.NoErr(err)
	is.True(strings.HasPrefix(created.Token, "bbt_"))
	is.Equal(created.ExpiresAt, nil)

	day := kernelcontract.Duration(24 * time.Hour)
	timed, err := kernelapi.CreateToken.Call(ctx, user, kernelapi.TokenCreateInput{Name: "someone@example.com", ExpiresIn: &day})
	is.NoErr(err)
	is.Equal(timed.Scope, kernelapi.ScopeAll) // the default
	is.True(time.Until(*timed.ExpiresAt) > 23*time.Hour)

	list, err := kernelapi.ListTokens.Call(ctx, user, none)
	is.NoErr(err)
	is.Equal(len(list), 2)
	is.Equal(list[0].Name, "ci")
	is.Equal(list[0].LastUse, nil)
	raw, err := json.Marshal(list)
	is.NoErr(err)
	is.True(!strings.Contains(string(raw), "bbt_")) // never again

	_, err = kernelapi.CreateToken.Call(ctx, user, kernelapi.TokenCreateInput{Name: "ci"})
	wantCode(t, err, kernelcontract.Conflict)
	for _, in := range []kernelapi.TokenCreateInput{{Name: "local"}, {Name: "anonymous"}, {Name: "no good"}, {Name: ""}, {Name: "x", ExpiresIn: new(kernelcontract.Duration)}} {
		_, err = kernelapi.CreateToken.Call(ctx, user, in)
		wantCode(t, err, kernelcontract.InvalidInput)
		if e := kernelcontract.AsError(err); len(e.Issues) == 0 {
			t.Errorf("%+v has issues %v", in, e.Issues)
		}
	}

	// Over HTTP it lets in, until it is revoked.
	status := func(secret string) int {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/echo/echo/say?text=x", nil)
		r.RemoteAddr, r.Host = "203.0.113.9:1234", "bb.example.com"
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		k.Handler().ServeHTTP(w, r)
		_, _ = io.Copy(io.Discard, w.Body)
		return w.Code
	}
	is.Equal(status(created.Token), http.StatusOK)
	list, err = kernelapi.ListTokens.Call(ctx, user, none)
	is.NoErr(err)
	is.True(list[0].LastUse != nil)
	_, err = kernelapi.RevokeToken.Call(ctx, user, kernelapi.TokenInput{Name: "ci"})
	is.NoErr(err)
	is.Equal(status(created.Token), http.StatusUnauthorized)
	_, err = kernelapi.RevokeToken.Call(ctx, user, kernelapi.TokenInput{Name: "ci"})
	wantCode(t, err, kernelcontract.NotFound)
}

func TestHosts(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	_, user := start(t, kernelcore.Options{})
	one, err := kernelapi.EnrollHost.Call(ctx, user, kernelapi.EnrollInput{Name: "laptop", Proxy: true})
	is.NoErr(err)
	is.True(strings.HasPrefix(one.Key, "bbh_"))
	is.True(one.Proxy)
	two, err := kernelapi.EnrollHost.Call(ctx, user, kernelapi.EnrollInput{Name: "server"})
	is.NoErr(err)
	_, err = kernelapi.EnrollHost.Call(ctx, user, kernelapi.EnrollInput{Name: "laptop"})
	wantCode(t, err, kernelcontract.Conflict)
	list, err := kernelapi.ListHosts.Call(ctx, user, none)
	is.NoErr(err)
	is.Equal(len(list), 2)
	is.Equal([]any{list[0].Name, list[0].ID, list[0].Proxy}, []any{"laptop", one.ID, true})
	raw, err := json.Marshal(list)
	is.NoErr(err)
	is.True(!strings.Contains(string(raw), "bbh_"))
	_, err = kernelapi.RemoveHost.Call(ctx, user, kernelapi.HostInput{Host: "laptop"}) // by name
	is.NoErr(err)
	_, err = kernelapi.RemoveHost.Call(ctx, user, kernelapi.HostInput{Host: two.ID}) // by id
	is.NoErr(err)
	_, err = kernelapi.RemoveHost.Call(ctx, user, kernelapi.HostInput{Host: "laptop"})
	wantCode(t, err, kernelcontract.NotFound)
}

func TestRuntime(t *testing.T) {
	ctx := t.Context()
	t.Run("status", func(t *testing.T) {
		is := is.New(t)
		k, user := start(t, kernelcore.Options{})
		s, err := kernelapi.GetStatus.Call(ctx, user, none)
		is.NoErr(err)
		is.Equal(s.ServerID, k.ServerID())
		is.Equal(s.Generation, k.Generation())
		is.Equal(s.Plugins, 2) // the kernel and echo
		is.True(s.Methods > 3)
		is.True(!s.Draining)
		is.True(time.Since(s.StartedAt) < time.Minute)
		is.Equal(len(s.Problems), 1)
	})
	t.Run("problems", func(t *testing.T) {
		is := is.New(t)
		_, user := start(t, kernelcore.Options{})
		problems, err := kernelapi.ListProblems.Call(ctx, user, none)
		is.NoErr(err)
		is.Equal(len(problems), 1)
		is.Equal(problems[0].PluginID, "broken")
	})
	t.Run("no problems are an empty list", func(t *testing.T) {
		is := is.New(t)
		_, user := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{plugin()}})
		var raw json.RawMessage
		is.NoErr(user.Call(ctx, "kernel/runtime.problems", nil, &raw))
		is.Equal(string(raw), "[]")
	})
	t.Run("calls", func(t *testing.T) {
		is := is.New(t)
		_, user := start(t, kernelcore.Options{})
		for range 3 {
			_, err := say.Call(ctx, user, echoInput{"the input"})
			is.NoErr(err)
		}
		_, err := secretly.Call(ctx, user, echoInput{"NOPE"})
		wantCode(t, err, kernelcontract.NeedsConfiguration)
		calls, err := kernelapi.ListCalls.Call(ctx, user, kernelapi.CallsInput{})
		is.NoErr(err)
		is.Equal(len(calls), 4)
		is.Equal([]any{calls[0].Ref, calls[0].Outcome, calls[0].Actor, calls[0].Via, calls[0].Kind, calls[0].Client},
			[]any{"echo/echo.secretly", "needs_configuration", "user:local", kernelcontract.ViaProcess, kernelcontract.KindQuery, "sdk/headless"}) // the newest first
		is.Equal(calls[3].Outcome, "ok")
		is.True(calls[0].ID > calls[3].ID)
		calls, err = kernelapi.ListCalls.Call(ctx, user, kernelapi.CallsInput{Failed: true})
		is.NoErr(err)
		is.Equal(len(calls), 1)
		calls, err = kernelapi.ListCalls.Call(ctx, user, kernelapi.CallsInput{Plugin: "echo", Limit: 2})
		is.NoErr(err)
		is.Equal(len(calls), 2)
		calls, err = kernelapi.ListCalls.Call(ctx, user, kernelapi.CallsInput{Plugin: "ech"})
		is.NoErr(err)
		is.Equal(len(calls), 0)
	})
	t.Run("shutdown", func(t *testing.T) {
		is := is.New(t)
		asked := make(chan struct{}, 1)
		_, user := start(t, kernelcore.Options{OnShutdown: func() { asked <- struct{}{} }})
		_, err := kernelapi.Shutdown.Call(ctx, user, none)
		is.NoErr(err)
		<-asked
	})
	t.Run("shutdown of a program that cannot", func(t *testing.T) {
		_, user := start(t, kernelcore.Options{})
		_, err := kernelapi.Shutdown.Call(ctx, user, none)
		wantCode(t, err, kernelcontract.Precondition)
	})
}

func TestGuide(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	_, user := start(t, kernelcore.Options{})
	chapters, err := kernelapi.ListChapters.Call(ctx, user, none)
	is.NoErr(err)
	is.Equal(len(chapters), 2)
	is.Equal([]string{chapters[0].PluginID, chapters[0].Name}, []string{"kernel", "using-bb"})
	is.Equal(chapters[1], kernelapi.Chapter{PluginID: "echo", Name: "echo", Title: "Echoing", Text: "# Echoing\n\nSay it.\n"})

	skill, err := kernelapi.GetSkill.Call(ctx, user, kernelapi.SkillInput{})
	is.NoErr(err)
	for _, part := range []string{"---\nname: bb\n", "\n# Using bb\n", "\n# Echoing\n", "\n## bb echo\n- `bb echo say <text>`: Say it again\n", "`bb plugin remove <id> [--yes]`"} {
		_, rest, ok := strings.Cut(skill, part)
		if !ok {
			t.Errorf("%q is missing or not in order", part)
			continue
		}
		skill = rest
	}
	skill, err = kernelapi.GetSkill.Call(ctx, user, kernelapi.SkillInput{ActiveTools: []string{"echo_echo_say"}})
	is.NoErr(err)
	is.True(strings.Contains(skill, "- use the echo_echo_say tool: Say it again\n"))

	_, err = kernelapi.DisablePlugin.Call(ctx, user, kernelapi.PluginInput{ID: "echo"})
	is.NoErr(err)
	skill, err = kernelapi.GetSkill.Call(ctx, user, kernelapi.SkillInput{})
	is.NoErr(err)
	is.True(strings.Contains(skill, "- `bb echo say <text>` (disabled): Say it again\n"))
	is.True(!strings.Contains(skill, "# Echoing"))
	chapters, err = kernelapi.ListChapters.Call(ctx, user, none)
	is.NoErr(err)
	is.Equal(len(chapters), 1)
}

// Agents and plugins are refused what they could escalate themselves with.
func TestActors(t *testing.T) {
	ctx := t.Context()
	k, _ := start(t, kernelcore.Options{})
	for _, actor := range []string{"agent:t1", "plugin:echo"} {
		c := k.As(kernelcontract.Principal{Actor: actor})
		for ref, in := range map[string]string{
			"kernel/plugin.enable": `{"id":"echo"}`, "kernel/plugin.disable": `{"id":"echo"}`, "kernel/plugin.remove": `{"id":"echo"}`, "kernel/plugin.reload": `{}`,
			"kernel/config.set": `{"id":"echo","key":"limit","value":1}`, "kernel/config.unset": `{"id":"echo","key":"limit"}`,
			"kernel/secret.set": `{"name":"a","value":"b"}`, "kernel/secret.list": `{}`, "kernel/secret.delete": `{"name":"a"}`,
			"kernel/token.create": `{"name":"a"}`, "kernel/token.list": `{}`, "kernel/token.revoke": `{"name":"a"}`,
			"kernel/host.enroll": `{"name":"a"}`, "kernel/host.list": `{}`, "kernel/host.remove": `{"host":"a"}`,
			"kernel/runtime.shutdown": `{}`,
		} {
			t.Run(actor+" "+ref, func(t *testing.T) { wantCode(t, c.Call(ctx, ref, json.RawMessage(in), nil), kernelcontract.Forbidden) })
		}
		for ref, in := range map[string]string{"kernel/plugin.list": `{}`, "kernel/config.get": `{"id":"echo","key":"limit"}`, "kernel/runtime.status": `{}`,
			"kernel/contract.manifest": `{}`, "kernel/guide.skill": `{}`} {
			t.Run(actor+" "+ref, func(t *testing.T) { is.New(t).NoErr(c.Call(ctx, ref, json.RawMessage(in), nil)) })
		}
	}
}

// What people see in a terminal.
func TestTexts(t *testing.T) {
	ctx := t.Context()
	_, user := start(t, kernelcore.Options{})
	defs := map[string]*kernelcontract.MethodDef{}
	for _, s := range kernelapi.Services() {
		def, err := s.Def()
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range def.Methods {
			defs[d.Ref()] = d
		}
	}
	for _, tt := range []struct{ ref, in, want string }{
		{"kernel/plugin.list", `{}`, "id      version  state   source    summary\nkernel  -        ready   built-in  The kernel itself\necho    1.2.3    ready   built-in  Echoes\nbroken  0.0.1    failed  built-in  Does not load"},
		{"kernel/plugin.show", `{"id":"echo"}`, "id: echo\nversion: 1.2.3\nstate: ready\nsummary: Echoes\nservices: echo/echo\nrequires: (none)\nproblems: (none)\nconfig:\n" +
			"  key       value  source   required  summary\n  greeting  Hi     default  false     What to begin with\n  limit     -      unset    true      How many"},
		{"kernel/plugin.reload", `{"id":"echo"}`, "id    version  state  source    summary\necho  1.2.3    ready  built-in  Echoes"},
		{"kernel/config.set", `{"id":"echo","key":"limit","value":3}`, "key: limit\nvalue: 3\nsource: set\nrequired: true\nsummary: How many"},
		{"kernel/plugin.disable", `{"id":"echo"}`, "echo 1.2.3 is disabled"},
		{"kernel/plugin.enable", `{"id":"echo"}`, "echo 1.2.3 is ready"},
		{"kernel/secret.list", `{}`, "(none)"},
		{"kernel/secret.set", `{"name":"A","value":"b"}`, "A is stored"},
		{"kernel/secret.delete", `{"name":"A"}`, "the secret is deleted"},
		{"kernel/token.list", `{}`, "(none)"},
		{"kernel/token.create", `{"name":"ci"}`, "bbt_"},
		{"kernel/token.revoke", `{"name":"ci"}`, "the token is no longer valid"},
		{"kernel/host.enroll", `{"name":"h"}`, "bbh_"},
		{"kernel/runtime.problems", `{}`, "broken: "},
		{"kernel/runtime.calls", `{"limit":1}`, "start  "},
	} {
		t.Run(tt.ref, func(t *testing.T) {
			var out json.RawMessage
			if err := user.Call(ctx, tt.ref, json.RawMessage(tt.in), &out); err != nil {
				t.Fatal(err)
			}
			got, err := text.Result(defs[tt.ref], out, kernelcontract.Render{Width: 120})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
