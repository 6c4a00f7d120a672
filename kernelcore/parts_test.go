package kernelcore_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// declaration returns one without problems.
func declaration(id string) protocol.ProviderDeclaration {
	return protocol.ProviderDeclaration{
		ID: id, DisplayName: "Test", Icon: "flask",
		Capabilities:    protocol.Capabilities{Fork: protocol.ForkNone, ApprovalEnforcedBy: protocol.EnforcedByRuntime, Steer: protocol.SteerNone},
		PermissionModes: []protocol.PermissionMode{protocol.ModeAuto},
		Models:          protocol.ModelSource{Catalog: protocol.CatalogStatic, Scope: protocol.ModelsPerHost},
		Visibility:      protocol.VisibleAlways,
	}
}

// bringing returns a plugin with providers, an interaction kind and a skill.
func bringing(plugin string, providers ...string) *pluginsdk.Plugin {
	p := &pluginsdk.Plugin{
		ID: plugin, Version: "1.2", InteractionKinds: []string{plugin + "/form"},
		Skills: fstest.MapFS{plugin + "-skill/SKILL.md": {Data: []byte("# " + plugin)}},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			for _, id := range providers {
				h.ProvideBridge(id, bridge.Program{Command: []string{plugin + "-bridge"}})
			}
			return nil
		},
	}
	for _, id := range providers {
		p.Providers = append(p.Providers, declaration(id))
	}
	return p
}

func TestProvidersOfReadyPluginsInOrder(t *testing.T) {
	is := is.New(t)
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{bringing("a", "one", "shared"), bringing("b", "shared", "two")}})
	ids := func() (list []string) {
		for _, p := range k.Providers() {
			list = append(list, p.PluginID+"/"+p.Declaration.ID)
		}
		return list
	}
	is.Equal(ids(), []string{"a/one", "a/shared", "b/two"})
	first := k.Providers()[0]
	is.Equal(first.PluginVersion, "1.2")
	is.Equal(first.Program.Command, []string{"a-bridge"})
	is.Equal(first.InteractionKinds, []string{"a/form"})
	is.Equal(len(k.Problems()), 1)
	is.True(strings.Contains(k.Problems()[0].Error(), "b: the provider shared is left out: plugin a comes earlier"))

	changed := k.Changed()
	is.NoErr(k.Disable(t.Context(), "a"))
	<-changed
	is.Equal(ids(), []string{"b/shared", "b/two"}) // which nobody hides any more
	is.Equal(len(k.Problems()), 0)
	is.Equal(len(k.Skills()), 1)
	is.Equal(k.Skills()[0].PluginID, "b")
	is.Equal(k.Skills()[0].Name, "b-skill")
	is.NoErr(k.Enable(t.Context(), "a"))
	is.Equal(ids(), []string{"a/one", "a/shared", "b/two"})
}

func TestOfIsTheKernelThatSetsUp(t *testing.T) {
	is := is.New(t)
	var seen *kernelcore.Kernel
	asked := 0
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{{ID: "p", Setup: func(ctx context.Context, _ *pluginsdk.Host) error {
		seen = kernelcore.Of(ctx)
		asked += len(seen.Providers()) + len(seen.Skills()) + len(seen.Tools()) // before there is a composition
		return nil
	}}}})
	is.True(seen == k)
	is.Equal(asked, 0)
	is.True(kernelcore.Of(t.Context()) == nil)
	_, _, err := kernelcore.Share(t.Context(), "key", func(context.Context) (int, func(context.Context) error, error) { return 1, nil, nil })
	is.True(err != nil) // belongs to no kernel
}

// part returns a plugin that shares a value under a key.
func part(id string, opened, closed *atomic.Int32) *pluginsdk.Plugin {
	return &pluginsdk.Plugin{ID: id, Setup: func(ctx context.Context, h *pluginsdk.Host) error {
		_, release, err := kernelcore.Share(ctx, "value", func(context.Context) (*int32, func(context.Context) error, error) {
			n := opened.Add(1)
			return &n, func(context.Context) error { closed.Add(1); return nil }, nil
		})
		if err != nil {
			return err
		}
		h.OnStop(release)
		h.OnStop(release) // releasing twice does nothing
		return nil
	}}
}

func TestShareIsOneValueAcrossPluginsAndLives(t *testing.T) {
	is := is.New(t)
	var opened, closed atomic.Int32
	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{part("a", &opened, &closed), part("b", &opened, &closed)}})
	is.NoErr(err)
	is.Equal(opened.Load(), int32(1))
	for range 3 {
		is.NoErr(k.Reload(t.Context(), "a")) // the new life shares before the old one releases
	}
	is.NoErr(k.Disable(t.Context(), "b"))
	is.Equal(opened.Load(), int32(1))
	is.Equal(closed.Load(), int32(0))
	is.NoErr(k.Disable(t.Context(), "a"))
	awaitCount(t, &closed, 1)
	is.NoErr(k.Enable(t.Context(), "b"))
	is.Equal(opened.Load(), int32(2)) // a new one
	is.NoErr(k.Close())
	is.Equal(closed.Load(), int32(2))
}

func TestShareThatFailsIsOpenedAgain(t *testing.T) {
	is := is.New(t)
	tries := 0
	share := func(ctx context.Context) (func(context.Context) error, error) {
		_, release, err := kernelcore.Share(ctx, "value", func(context.Context) (int, func(context.Context) error, error) {
			if tries++; tries == 1 {
				return 0, nil, errors.New("not now")
			}
			return tries, nil, nil
		})
		return release, err
	}
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{{ID: "p", Setup: func(ctx context.Context, h *pluginsdk.Host) error {
		if _, err := share(ctx); err == nil {
			return errors.New("the first did not fail")
		}
		release, err := share(ctx)
		if err != nil {
			return err
		}
		h.OnStop(release)
		_, _, err = kernelcore.Share(ctx, "value", func(context.Context) (string, func(context.Context) error, error) { return "", nil, nil })
		if err == nil || !strings.Contains(err.Error(), "shared as a int") {
			return errors.New("a key stands for two types")
		}
		return nil
	}}}})
	is.Equal(len(k.Problems()), 0)
	is.Equal(tries, 2)
}

func TestDataDir(t *testing.T) {
	is := is.New(t)
	given := t.TempDir()
	k, err := kernelcore.New(kernelcore.Options{DataDir: given, URL: "http://127.0.0.1:1", Plugins: []*pluginsdk.Plugin{{ID: "p"}}})
	is.NoErr(err)
	is.Equal(k.DataDir(), given)
	is.Equal(k.URL(), "http://127.0.0.1:1")
	is.True(k.Store() != nil)
	is.NoErr(os.MkdirAll(k.PluginDir("p"), 0o700))
	is.NoErr(os.WriteFile(filepath.Join(k.PluginDir("p"), "login"), []byte("secret"), 0o600))
	is.NoErr(k.Disable(t.Context(), "p"))
	_, err = os.Stat(k.PluginDir("p"))
	is.NoErr(err) // disabling keeps what its programs know
	is.NoErr(k.Remove(t.Context(), "p"))
	_, err = os.Stat(k.PluginDir("p"))
	is.True(os.IsNotExist(err))
	is.NoErr(k.Close())
	_, err = os.Stat(given)
	is.NoErr(err)

	k, err = kernelcore.New(kernelcore.Options{})
	is.NoErr(err)
	dir := k.DataDir()
	is.Equal(k.DataDir(), dir)
	info, err := os.Stat(dir)
	is.NoErr(err)
	is.True(info.IsDir())
	is.NoErr(k.Close())
	_, err = os.Stat(dir)
	is.True(os.IsNotExist(err))
}

// get asks the echo service of a kernel for who calls, over HTTP.
func get(t *testing.T, k *kernelcore.Kernel, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
	r.RemoteAddr = "127.0.0.1:5000"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	k.Handler().ServeHTTP(w, r)
	return w
}

type whoIn struct {
	Thread  string `json:"thread,omitempty"`
	Project string `json:"project,omitempty"`
}

// asking returns a plugin whose method says who calls, and where.
func asking() *pluginsdk.Plugin {
	who := &kernelcontract.Query[whoIn, string]{
		Ref: "who/main.am", Summary: "Says who calls",
		Ambient: map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID, "project": kernelcontract.ProjectID},
	}
	service := &kernelcontract.Service{ID: "who/main", Summary: "Who", Methods: []kernelcontract.Method{who}}
	return &pluginsdk.Plugin{ID: "who", Services: []*kernelcontract.Service{service}, Setup: func(_ context.Context, h *pluginsdk.Host) error {
		h.Provide(service, who.Handle(func(ctx context.Context, in whoIn) (string, error) {
			return kernelcontract.CallFrom(ctx).Principal.Actor + " " + in.Thread + " " + in.Project, nil
		}))
		return nil
	}}
}

func TestSessionsOfAgents(t *testing.T) {
	is := is.New(t)
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{asking()}})
	secret, end := k.BeginSession("t1", kernelcontract.Context{ThreadID: "another", ProjectID: "p1"})
	const path = "/api/v1/who/main/am"
	w := get(t, k, path, "Authorization", "Bearer "+secret)
	is.Equal(w.Code, 200)
	is.True(strings.Contains(w.Body.String(), `"agent:t1 t1 p1"`)) // the session fills what the request leaves out
	w = get(t, k, path, "Authorization", "Bearer "+secret, "X-Bb-Context", `{"projectId":"p2"}`)
	is.True(strings.Contains(w.Body.String(), `"agent:t1 t1 p2"`)) // what the request says wins
	end()
	end()
	is.Equal(get(t, k, path, "Authorization", "Bearer "+secret).Code, 401)
}

func TestContextsNameLiveThreads(t *testing.T) {
	const path = "/api/v1/who/main/am"
	named := func(id string) []string { return []string{"X-Bb-Context", `{"threadId":"` + id + `"}`} }
	is := is.New(t)
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{asking()}})
	is.Equal(get(t, k, path, named("gone")...).Code, 200) // nobody knows threads
	forget := k.KnowThreads(func(id string) bool { return id == "t1" })
	other := k.KnowThreads(func(id string) bool { return id == "t2" })
	is.Equal(get(t, k, path, named("t1")...).Code, 200)
	is.Equal(get(t, k, path, named("t2")...).Code, 200) // one of them knows it
	is.Equal(get(t, k, path).Code, 200)
	w := get(t, k, path, named("gone")...)
	is.Equal(w.Code, 400)
	is.True(strings.Contains(w.Body.String(), `the thread \"gone\"`))
	is.True(strings.Contains(w.Body.String(), "invalid_input"))

	// A session's own thread passes whatever they say: its actor may be on its way.
	secret, end := k.BeginSession("t9", kernelcontract.Context{})
	defer end()
	is.Equal(get(t, k, path, "Authorization", "Bearer "+secret, "X-Bb-Context", `{"threadId":"t9"}`).Code, 200)
	is.Equal(get(t, k, path, "Authorization", "Bearer "+secret, "X-Bb-Context", `{"threadId":"gone"}`).Code, 400)
	forget()
	is.Equal(get(t, k, path, named("t1")...).Code, 400)
	other()
	is.Equal(get(t, k, path, named("t1")...).Code, 200)
}

func TestHostsRelayForLiveThreads(t *testing.T) {
	is := is.New(t)
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{asking()}})
	key, id := enroll(t, k)
	ask := func(thread string) int {
		return get(t, k, "/api/v1/who/main/am", "Authorization", "Bearer "+key, "Bb-Host-Proxy", "1",
			"X-Bb-Context", `{"threadId":"`+thread+`","hostId":"`+id+`"}`).Code
	}
	is.Equal(ask("t1"), 403)
	defer k.KnowThreads(func(id string) bool { return id == "t1" })()
	is.Equal(ask("t1"), 200)
	is.Equal(ask("gone"), 403)
}

// enroll makes the key of a host that may relay calls.
func enroll(t *testing.T, k *kernelcore.Kernel) (key, id string) {
	t.Helper()
	h, err := kernelapi.EnrollHost.Call(t.Context(), k.As(local), kernelapi.EnrollInput{Name: "laptop", Proxy: true})
	if err != nil {
		t.Fatal(err)
	}
	return h.Key, h.ID
}

func TestChangedTellsOfTheNextChangeOnly(t *testing.T) {
	is := is.New(t)
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{bringing("a", "one")}})
	select {
	case <-k.Changed():
		t.Fatal("nothing has changed")
	case <-time.After(0):
	}
	changed := k.Changed()
	is.NoErr(k.Reload(t.Context(), ""))
	<-changed
	is.True(k.Changed() != changed)
}

func TestManifestHasProviders(t *testing.T) {
	is := is.New(t)
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{bringing("a", "one", "two")}})
	m, err := kernelapi.GetManifest.Call(t.Context(), k.As(local), kernelcontract.None{})
	is.NoErr(err)
	plugin := m.Plugins[len(m.Plugins)-1]
	is.Equal(plugin.InteractionKinds, []string{"a/form"})
	is.Equal(len(plugin.Providers), 2)
	got, wrong := protocol.Decode[protocol.ProviderDeclaration](plugin.Providers[0]) // the whole declaration
	is.True(wrong == nil)
	is.Equal(got.ID, "one")
	is.Equal(len(got.Check()), 0)
}
