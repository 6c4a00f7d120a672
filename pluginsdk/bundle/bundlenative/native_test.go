package bundlenative_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/pluginsdk/bundle"
	"github.com/bb-kernel/bb/pluginsdk/bundle/bundlenative"
	"github.com/bb-kernel/bb/pluginsdk/bundle/metadata"
)

// agent uses everything that a bundle has.
func agent() bundle.Agent {
	return bundle.Agent{
		Name: "full",
		OnTurnEnd: func(ctx context.Context, c *bundle.SessionContext) error {
			return c.Spine.AppendEntry(ctx, "turn of "+c.AgentID)
		},
		OnSessionCreated: func(ctx context.Context, c *bundle.SessionContext) error {
			return c.Spine.Broadcast(ctx, bundle.Event{Type: "x-created", SessionID: "forged", CapabilityID: "forged"})
		},
		Capabilities: func(env bundle.Env) []bundle.Capability {
			greeting, _ := env.Get("GREETING")
			return []bundle.Capability{capability(greeting), {ID: "other", HTTP: func() []bundle.Route {
				return []bundle.Route{{Method: "GET", Path: "/other/:key", Handle: get}}
			}}}
		},
	}
}

func get(ctx context.Context, c *bundle.HTTPContext, _ *bundle.Request) (*bundle.Response, error) {
	var v json.RawMessage
	if err := c.KV.Get(ctx, c.Params["key"], &v); err != nil {
		return nil, err
	}
	return bundle.JSON(200, v)
}

func capability(greeting string) bundle.Capability {
	return bundle.Capability{
		ID: "full",
		HTTP: func() []bundle.Route {
			return []bundle.Route{
				{Method: "GET", Path: "/kv/:key", Handle: get},
				{Method: "PUT", Path: "/kv/:key", Handle: func(ctx context.Context, c *bundle.HTTPContext, r *bundle.Request) (*bundle.Response, error) {
					var v any
					if err := r.JSON(&v); err != nil {
						return nil, err
					}
					return nil, c.KV.Put(ctx, c.Params["key"], v)
				}},
				{Method: "DELETE", Path: "/kv/:key", Handle: func(ctx context.Context, c *bundle.HTTPContext, _ *bundle.Request) (*bundle.Response, error) {
					return nil, c.KV.Delete(ctx, c.Params["key"])
				}},
				{Method: "GET", Path: "/kv", Handle: func(ctx context.Context, c *bundle.HTTPContext, _ *bundle.Request) (*bundle.Response, error) {
					var keys []string
					for e, err := range c.KV.List(ctx, c.Query.Get("prefix")) {
						if err != nil {
							return nil, err
						}
						keys = append(keys, e.Key)
					}
					return bundle.JSON(200, keys)
				}},
				{Method: "POST", Path: "/many", Handle: func(ctx context.Context, c *bundle.HTTPContext, _ *bundle.Request) (*bundle.Response, error) {
					for n := range 2500 {
						if err := c.KV.Put(ctx, fmt.Sprintf("m%04d", n), n); err != nil {
							return nil, err
						}
					}
					return nil, nil
				}},
				{Method: "GET", Path: "/context", Handle: func(_ context.Context, c *bundle.HTTPContext, _ *bundle.Request) (*bundle.Response, error) {
					return bundle.JSON(200, []string{c.CapabilityID, c.AgentID, c.SessionID, c.Caller, c.PublicURL, c.Headers["x-one"], greeting})
				}},
				{Method: "GET", Path: "/fail/:how", Handle: func(_ context.Context, c *bundle.HTTPContext, _ *bundle.Request) (*bundle.Response, error) {
					switch how := c.Params["how"]; how {
					case "panic":
						panic("no")
					case "plain":
						return nil, errors.New("a secret")
					default:
						return nil, bundle.Errorf(bundle.Code(how), "as asked")
					}
				}},
				{Method: "POST", Path: "/cost", Handle: func(ctx context.Context, c *bundle.HTTPContext, r *bundle.Request) (*bundle.Response, error) {
					var cost bundle.Cost
					if err := r.JSON(&cost); err != nil {
						return nil, err
					}
					return nil, c.EmitCost(ctx, cost)
				}},
				{Method: "POST", Path: "/tell", Handle: func(ctx context.Context, c *bundle.HTTPContext, _ *bundle.Request) (*bundle.Response, error) {
					if err := c.Channel.Broadcast(ctx, bundle.Event{Type: "state_event", AgentID: "forged"}); err != nil {
						return nil, err
					}
					return nil, c.Channel.BroadcastGlobal(ctx, bundle.Event{Type: "x-all", SessionID: "forged"})
				}},
			}
		},
		Tools: []bundle.Tool{{Name: "shout", Description: "Shouts", Run: func(_ context.Context, c *bundle.ToolContext, input json.RawMessage) (string, error) {
			return strings.ToUpper(c.CallID + string(input)), nil
		}}},
		OnAction: func(ctx context.Context, c *bundle.ActionContext, action string, data json.RawMessage) error {
			if action != "save" {
				return bundle.Errorf(bundle.NotFound, "there is no action %s", action)
			}
			return c.Spine.AppendEntry(ctx, data)
		},
		Prompt: func(ctx context.Context, c *bundle.PromptContext) (string, error) {
			entries, err := c.Spine.Entries(ctx, "", 0)
			return fmt.Sprintf("%s has %d entries", c.SessionID, len(entries)), err
		},
		AfterTurn: func(ctx context.Context, c *bundle.TurnContext) error { return c.KV.Put(ctx, "turns", 1) },
		Dispose: func(ctx context.Context, c *bundle.DisposeContext) error {
			_, err := c.Spine.Entries(ctx, "", 0)
			return err
		},
	}
}

func native(t *testing.T, o bundlenative.Options) *bundlenative.Native {
	t.Helper()
	n, err := bundlenative.New(agent(), o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func do(n *bundlenative.Native, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	n.ServeHTTP(w, r)
	return w
}

func TestRoutes(t *testing.T) {
	t.Run("values", func(t *testing.T) {
		is := is.New(t)
		n := native(t, bundlenative.Options{})
		is.Equal(do(n, "GET", "/kv/a", "").Code, 404)
		is.Equal(do(n, "PUT", "/kv/a", `{"n":9007199254740993}`).Code, 204)
		got := do(n, "GET", "/kv/a", "")
		is.Equal(got.Code, 200)
		is.Equal(got.Body.String(), `{"n":9007199254740992}`) // the handler decoded into any: its own choice
		is.Equal(do(n, "GET", "/other/a", "").Code, 404)      // another capability's store
		is.Equal(do(n, "DELETE", "/kv/a", "").Code, 204)
		is.Equal(do(n, "GET", "/kv/a", "").Code, 404)
	})
	t.Run("lists of many pages", func(t *testing.T) {
		is := is.New(t)
		n := native(t, bundlenative.Options{})
		is.Equal(do(n, "POST", "/many", "").Code, 204)
		var keys []string
		is.NoErr(json.Unmarshal(do(n, "GET", "/kv?prefix=m", "").Body.Bytes(), &keys))
		is.Equal(len(keys), 2500)
		is.Equal(keys[2499], "m2499")
	})
	t.Run("context", func(t *testing.T) {
		is := is.New(t)
		n := native(t, bundlenative.Options{AgentID: "a1", Caller: "user:ann", PublicURL: "https://x", Env: map[string]string{"GREETING": "Hi"}})
		is.Equal(do(n, "GET", "/context", "", "X-One", "1", bundlenative.SessionHeader, "s1").Body.String(), `["full","a1","s1","user:ann","https://x","1","Hi"]`)
	})
	t.Run("errors", func(t *testing.T) {
		is := is.New(t)
		n := native(t, bundlenative.Options{})
		for how, status := range map[string]int{"not_found": 404, "invalid_input": 400, "conflict": 409, "plain": 500, "panic": 500, "bad_token": 500} {
			is.Equal(do(n, "GET", "/fail/"+how, "").Code, status)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		is := is.New(t)
		n := native(t, bundlenative.Options{})
		is.Equal(do(n, "GET", "/nope", "").Code, 404)
		w := do(n, "POST", "/kv", "")
		is.Equal(w.Code, 405)
		is.Equal(w.Header().Get("Allow"), "GET, HEAD")
		is.Equal(do(n, "HEAD", "/context", "").Body.Len(), 0)
		is.Equal(do(n, "PUT", "/kv/a", `"`+strings.Repeat("x", bundlenative.MaxBody)+`"`).Code, 413)
		is.Equal(do(n, "PUT", "/kv/a", `{`).Code, 400)
		is.Equal(do(n, "PUT", "/kv/"+strings.Repeat("k", 513), `1`).Code, 500) // the key is the author's mistake
	})
	t.Run("costs", func(t *testing.T) {
		is := is.New(t)
		n := native(t, bundlenative.Options{})
		is.Equal(do(n, "POST", "/cost", `{"amount":0.25,"currency":"EUR"}`).Code, 204)
		is.Equal(do(n, "POST", "/cost", `{"amount":-1,"currency":"EUR"}`).Code, 500)
		is.Equal(len(n.Services().Costs()), 1)
	})
	t.Run("events are the host's to attribute", func(t *testing.T) {
		is := is.New(t)
		n := native(t, bundlenative.Options{})
		is.Equal(do(n, "POST", "/tell", "").Code, 204) // without a session only the global one
		is.Equal(do(n, "POST", "/tell", "", bundlenative.SessionHeader, "s1").Code, 204)
		is.Equal(n.Services().Events(), []bundle.Event{
			{Type: "x-all", AgentID: "test", CapabilityID: "full"},
			{Type: "state_event", AgentID: "test", CapabilityID: "full", SessionID: "s1"},
			{Type: "x-all", AgentID: "test", CapabilityID: "full"},
		})
	})
}

func TestActionsToolsAndHooks(t *testing.T) {
	is := is.New(t)
	n := native(t, bundlenative.Options{})
	ctx := t.Context()
	is.NoErr(n.Action(ctx, "s1", "full", "save", map[string]int{"a": 1}))
	is.True(errors.Is(n.Action(ctx, "s1", "full", "drop", nil), bundle.NotFound))
	is.True(errors.Is(n.Action(ctx, "", "full", "save", nil), bundle.Internal)) // the author did not expect it: no session
	is.True(n.Action(ctx, "s1", "other", "save", nil) != nil)                   // it has no actions
	text, err := n.Tool(ctx, "s1", "shout", "hey")
	is.NoErr(err)
	is.Equal(text, `CALL-1"HEY"`)
	_, err = n.Tool(ctx, "s1", "whisper", nil)
	is.True(errors.Is(err, bundle.NotFound))
	text, err = n.Hook(ctx, "s1", "full", metadata.Prompt)
	is.NoErr(err)
	is.Equal(text, "s1 has 1 entries")
	_, err = n.Hook(ctx, "s1", "full", metadata.AfterTurn)
	is.NoErr(err)
	_, err = n.Hook(ctx, "s1", metadata.AgentItself, metadata.TurnEnd)
	is.NoErr(err)
	is.Equal(len(n.Services().Entries("test", "s1")), 2)
	_, err = n.Hook(ctx, "s1", metadata.AgentItself, metadata.SessionCreated)
	is.NoErr(err)
	is.Equal(n.Services().Events(), []bundle.Event{{Type: "x-created", AgentID: "test", SessionID: "s1"}})
	_, err = n.Hook(ctx, "", "full", metadata.Dispose)
	is.True(strings.Contains(err.Error(), "there is no session"))
	_, err = n.Hook(ctx, "s1", "full", metadata.OnConnect)
	is.True(err != nil) // it has none
}

func TestCallsEndWithTheirDispatch(t *testing.T) {
	is := is.New(t)
	var kept *bundle.HTTPContext
	n, err := bundlenative.New(bundle.Agent{Name: "n", Capabilities: func(bundle.Env) []bundle.Capability {
		return []bundle.Capability{{ID: "keeps", HTTP: func() []bundle.Route {
			return []bundle.Route{{Method: "GET", Path: "/x", Handle: func(_ context.Context, c *bundle.HTTPContext, _ *bundle.Request) (*bundle.Response, error) {
				kept = c
				return nil, nil
			}}}
		}}}
	}}, bundlenative.Options{})
	is.NoErr(err)
	is.Equal(do(n, "GET", "/x", "").Code, 204)
	err = kept.KV.Put(context.Background(), "k", 1)
	var e *bundle.Error
	is.True(errors.As(err, &e))
	is.Equal(string(e.Code), "token_replay")
}

func Example() {
	n, err := bundlenative.New(agent(), bundlenative.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	n.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/kv/colour", strings.NewReader(`"red"`)))
	var colour string
	n.Services().Value("test", "full", "colour", &colour)
	fmt.Println(w.Code, colour)
	// Output: 204 red
}
