// Command guest is a bundle that does what a bundle should not, one thing a route.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/bb-kernel/bb/pluginsdk/bundle"
)

var (
	kept  int
	heap  [][]byte
	leak  = make(chan struct{})
	stray func(context.Context) error
)

type routes map[string]func(ctx context.Context, c *bundle.HTTPContext, r *bundle.Request) (*bundle.Response, error)

func deep(n int) int {
	if n == 0 {
		return 1
	}
	return deep(n-1) + 1
}

func what() routes {
	return routes{
		"/echo": func(_ context.Context, _ *bundle.HTTPContext, r *bundle.Request) (*bundle.Response, error) {
			return &bundle.Response{Body: r.Body}, nil
		},
		"/kept": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			kept++
			return bundle.Text(200, fmt.Sprint(kept))
		},
		"/kv": func(ctx context.Context, c *bundle.HTTPContext, r *bundle.Request) (*bundle.Response, error) {
			var v json.RawMessage
			if err := c.KV.Get(ctx, c.Query.Get("key"), &v); err != nil {
				return nil, err
			}
			return bundle.JSON(200, v)
		},
		"/calls": func(ctx context.Context, c *bundle.HTTPContext, r *bundle.Request) (*bundle.Response, error) {
			for {
				_ = c.KV.Delete(ctx, "x")
			}
		},
		"/loop": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			for n := 0; ; n++ {
				kept += n
			}
		},
		"/sleep": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			time.Sleep(time.Hour)
			return nil, nil
		},
		"/deadlock": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			select {}
		},
		"/panic": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			panic("no")
		},
		"/gopanic": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			go panic("no")
			<-leak
			return nil, nil
		},
		"/exit": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			os.Exit(3)
			return nil, nil
		},
		"/grow": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			for {
				heap = append(heap, make([]byte, 1<<20))
			}
		},
		"/large": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			heap = append(heap, make([]byte, 20<<20))
			runtime.KeepAlive(heap)
			return bundle.Text(200, "grown")
		},
		"/recursion": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			return bundle.Text(200, fmt.Sprint(deep(1<<30)))
		},
		"/stdout": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			for range 1000 {
				fmt.Println(strings.Repeat("x", 1000))
			}
			return bundle.Text(200, "said")
		},
		"/files": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			_, err := os.ReadFile("/etc/passwd")
			return bundle.Text(200, fmt.Sprint(err, os.Environ(), len(os.Args)))
		},
		"/big": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			return &bundle.Response{Body: make([]byte, 9<<20)}, nil
		},
		"/stray": func(ctx context.Context, c *bundle.HTTPContext, r *bundle.Request) (*bundle.Response, error) {
			if stray != nil {
				err := stray(context.Background())
				return bundle.Text(200, fmt.Sprint(err))
			}
			stray = func(ctx context.Context) error { return c.KV.Delete(ctx, "x") }
			return bundle.Text(200, "kept")
		},
		"/time": func(context.Context, *bundle.HTTPContext, *bundle.Request) (*bundle.Response, error) {
			return bundle.JSON(200, time.Now())
		},
	}
}

func init() {
	bundle.DefineAgent(bundle.Agent{Name: "guest", Capabilities: func(bundle.Env) []bundle.Capability {
		return []bundle.Capability{{ID: "guest", HTTP: func() []bundle.Route {
			var list []bundle.Route
			for path, handle := range what() {
				list = append(list, bundle.Route{Method: "POST", Path: path, Handle: handle})
			}
			return list
		}}}
	}})
}

func main() { bundle.Main() }
