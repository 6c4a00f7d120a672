package mcp_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/mcp"
	"github.com/bb-kernel/bb/pluginsdk"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// versions are those of the protocol that clients speak: the last one with sessions, and the first without.
var versions = []string{"2025-11-25", "2026-07-28"}

type numberIn struct {
	N int64 `json:"n"`
}

type sayIn struct {
	Text string `json:"text"`
}

type whereIn struct {
	Thread  string `json:"thread"`
	Project string `json:"project"`
}

// fixture is a plugin with a tool for each case.
type fixture struct {
	number  *kernelcontract.Query[numberIn, int64]
	say     *kernelcontract.Mutation[sayIn, string]
	drop    *kernelcontract.Mutation[kernelcontract.None, string]
	who     *kernelcontract.Query[whereIn, string]
	picture *kernelcontract.Query[kernelcontract.None, kernelcontract.Bytes]
	wait    *kernelcontract.Query[kernelcontract.None, string]
	count   *kernelcontract.Stream[kernelcontract.None, int]
	service *kernelcontract.Service
	waiting chan struct{} // gets one value for each call of wait
	ended   chan error    // gets the end of its context
}

// png is the beginning of an image.
var png = []byte("\x89PNG\r\n\x1a\n")

func newFixture() *fixture {
	as := func(name, instructions string) *kernelcontract.Tool {
		return &kernelcontract.Tool{Name: name, Instructions: instructions,
			Presentation: kernelcontract.Presentation{Pending: "Doing", Completed: "Did", Icon: "hand", Intent: "generic"}}
	}
	f := &fixture{
		number: &kernelcontract.Query[numberIn, int64]{Ref: "tools/main.number", Summary: "Gives a number back", Tool: as("number", "Count with number.")},
		say:    &kernelcontract.Mutation[sayIn, string]{Ref: "tools/main.say", Summary: "Says something", Tool: as("say", "")},
		drop:   &kernelcontract.Mutation[kernelcontract.None, string]{Ref: "tools/main.drop", Summary: "Drops all", Destructive: true, Tool: as("drop", "Never drop.")},
		who: &kernelcontract.Query[whereIn, string]{Ref: "tools/main.who", Summary: "Tells who calls", Tool: as("who", ""),
			Ambient: map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID, "project": kernelcontract.ProjectID}},
		picture: &kernelcontract.Query[kernelcontract.None, kernelcontract.Bytes]{Ref: "tools/main.picture", Summary: "Shows a picture", Tool: as("picture", "")},
		wait:    &kernelcontract.Query[kernelcontract.None, string]{Ref: "tools/main.wait", Summary: "Waits for its end", Tool: as("wait", "")},
		count:   &kernelcontract.Stream[kernelcontract.None, int]{Ref: "tools/main.count", Summary: "Counts to three", Tool: as("count", "")},
		waiting: make(chan struct{}, 16), ended: make(chan error, 16),
	}
	f.service = &kernelcontract.Service{ID: "tools/main", Summary: "Tools",
		Methods: []kernelcontract.Method{f.number, f.say, f.drop, f.who, f.picture, f.wait, f.count}}
	return f
}

func (f *fixture) plugin() *pluginsdk.Plugin {
	return &pluginsdk.Plugin{ID: "tools", Services: []*kernelcontract.Service{f.service}, Setup: func(_ context.Context, h *pluginsdk.Host) error {
		h.Provide(f.service,
			f.number.Handle(func(_ context.Context, in numberIn) (int64, error) { return in.N, nil }),
			f.say.Handle(func(_ context.Context, in sayIn) (string, error) { return in.Text, nil }),
			f.drop.Handle(func(context.Context, kernelcontract.None) (string, error) {
				return "", kernelcontract.Precondition.Errorf("there is nothing to drop")
			}),
			f.who.Handle(func(ctx context.Context, in whereIn) (string, error) {
				p := kernelcontract.CallFrom(ctx).Principal
				return p.Actor + " by " + string(p.Via) + " in " + in.Thread + " of " + in.Project, nil
			}),
			f.picture.Handle(func(context.Context, kernelcontract.None) (kernelcontract.Bytes, error) {
				return kernelcontract.Bytes{MIMEType: "image/png", Data: png}, nil
			}),
			f.wait.Handle(func(ctx context.Context, _ kernelcontract.None) (string, error) {
				f.waiting <- struct{}{}
				<-ctx.Done()
				f.ended <- context.Cause(ctx)
				return "", ctx.Err()
			}),
			f.count.Handle(func(context.Context, kernelcontract.None) (iter.Seq2[int, error], error) {
				return func(yield func(int, error) bool) {
					for i := 1; i <= 3 && yield(i, nil); i++ {
					}
				}, nil
			}))
		return nil
	}}
}

// other is a plugin with the tool "other".
func other() *pluginsdk.Plugin {
	m := &kernelcontract.Query[kernelcontract.None, string]{Ref: "other/main.other", Summary: "Is another one",
		Tool: &kernelcontract.Tool{Name: "other", Presentation: kernelcontract.Presentation{Pending: "Doing", Completed: "Did", Icon: "hand", Intent: "generic"}}}
	s := &kernelcontract.Service{ID: "other/main", Summary: "Another", Methods: []kernelcontract.Method{m}}
	return &pluginsdk.Plugin{ID: "other", Services: []*kernelcontract.Service{s}, Setup: func(_ context.Context, h *pluginsdk.Host) error {
		h.Provide(s, m.Handle(func(context.Context, kernelcontract.None) (string, error) { return "other", nil }))
		return nil
	}}
}

// served is a kernel whose tools are served.
type served struct {
	*kernelcore.Kernel
	fixture *fixture
	url     string
}

func serve(t testing.TB, o kernelcore.Options) *served {
	t.Helper()
	f := newFixture()
	o.Plugins = append(o.Plugins, f.plugin(), other())
	k, err := kernelcore.New(o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(k.Guard(kernelcontract.Access{}, true, mcp.Handler(k)))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return &served{k, f, srv.URL}
}

// bearing sends headers with each request.
type bearing struct{ headers map[string]string }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range b.headers {
		r.Header.Set(k, v)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (s *served) transport(secret string, headers ...string) *sdk.StreamableClientTransport {
	all := map[string]string{}
	if secret != "" {
		all["Authorization"] = "Bearer " + secret
	}
	for i := 0; i+1 < len(headers); i += 2 {
		all[headers[i]] = headers[i+1]
	}
	return &sdk.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: bearing{all}}, MaxRetries: -1}
}

// connect returns a client's session.
func (s *served) connect(t testing.TB, version string, tr *sdk.StreamableClientTransport, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), tr, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// call returns the text of what a tool answered, and whether it is an error.
func call(t testing.TB, c *sdk.ClientSession, name, arguments string) (text string, isError bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range r.Content {
		text += one.(*sdk.TextContent).Text
	}
	return text, r.IsError
}

// receive waits for a value.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("nothing came: %s", what)
		panic("unreachable")
	}
}
