package bundle_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/bb-kernel/bb/pluginsdk/bundle"
	"github.com/bb-kernel/bb/pluginsdk/bundle/bundlenative"
)

func Example() {
	agent := bundle.Agent{Name: "helper", Capabilities: func(bundle.Env) []bundle.Capability {
		return []bundle.Capability{{ID: "skills", HTTP: func() []bundle.Route {
			return []bundle.Route{{Method: "POST", Path: "/skills/:name", Handle: func(ctx context.Context, c *bundle.HTTPContext, r *bundle.Request) (*bundle.Response, error) {
				if err := c.KV.Put(ctx, c.Params["name"], string(r.Body)); err != nil {
					return nil, err
				}
				return bundle.JSON(200, map[string]bool{"ok": true})
			}}}
		}}}
	}}
	native, err := bundlenative.New(agent, bundlenative.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	native.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/skills/cooking", strings.NewReader("soup")))
	var kept string
	native.Services().Value("test", "skills", "cooking", &kept)
	fmt.Println(w.Code, w.Body, kept)
	// Output: 200 {"ok":true} soup
}

func ExampleAgent_Check() {
	agent := bundle.Agent{Name: "helper", Capabilities: func(env bundle.Env) []bundle.Capability {
		return []bundle.Capability{{ID: "web", HTTP: func() []bundle.Route {
			return []bundle.Route{{Method: "GET", Path: env.Must("PREFIX") + "/x"}}
		}}}
	}}
	fmt.Println(agent.Check())
	// Output: capability "web" cannot be listed in an empty environment: the environment has no PREFIX: the operator sets it with `bb bundle env`: read the environment in the handlers instead
}
