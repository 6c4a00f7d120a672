package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/mcp"
	"github.com/bb-kernel/bb/kernelcore/token"
)

// each runs a test for each version of the protocol.
func each(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

func TestListIsTheCatalog(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		is := is.New(t)
		s := serve(t, kernelcore.Options{})
		c := s.connect(t, version, s.transport(""), nil)
		is.Equal(c.InitializeResult().ProtocolVersion, version)
		is.Equal(c.InitializeResult().ServerInfo.Name, "bb")
		is.Equal(c.InitializeResult().Instructions, "Count with number.\n\nNever drop.")
		got := map[string]*sdk.Tool{}
		for one, err := range c.Tools(t.Context(), nil) {
			is.NoErr(err)
			got[one.Name] = one
		}
		specs := s.Tools()
		is.Equal(len(got), len(specs))
		for _, spec := range specs {
			one := got[spec.Tool.Name]
			is.True(one != nil)
			is.Equal(one.Description, spec.Tool.Description)
			want, err := json.Marshal(spec.Tool.InputSchema)
			is.NoErr(err)
			schema, err := json.Marshal(one.InputSchema)
			is.NoErr(err)
			is.Equal(canonical(t, schema), canonical(t, want)) // as on every other surface
		}
		for name, want := range map[string]struct{ readOnly, destructive bool }{
			"number": {true, false}, "count": {true, false}, "say": {false, false}, "drop": {false, true},
		} {
			a := got[name].Annotations
			is.Equal(a.ReadOnlyHint, want.readOnly)
			is.Equal(*a.DestructiveHint, want.destructive)
		}
	})
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

func TestCall(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		s := serve(t, kernelcore.Options{})
		c := s.connect(t, version, s.transport(""), nil)
		for _, tt := range []struct {
			name, tool, input, want string
			isError                 bool
		}{
			{"a value", "say", `{"text":"hi"}`, "hi", false},
			{"an integer that no float64 holds", "number", `{"n":9007199254740993}`, "9007199254740993", false},
			{"a stream", "count", `{}`, "1\n2\n3\n[End of the stream]", false},
			{"a failure", "drop", `{}`, "precondition: there is nothing to drop", true},
			{"an input that is not valid", "number", `{"n":1.5}`, "invalid_input: ", true},
			{"an unknown field", "say", `{"text":"a","loud":true}`, "loud", true},
			{"no input", "say", `{}`, "text", true},
			{"a key twice", "say", `{"text":"a","text":"b"}`, "invalid_input: ", true},
			{"an input that is no object", "say", `[]`, "invalid_input: ", true},
		} {
			t.Run(tt.name, func(t *testing.T) {
				is := is.New(t)
				got, isError := call(t, c, tt.tool, tt.input)
				is.Equal(isError, tt.isError)
				if tt.isError {
					is.True(strings.Contains(got, tt.want)) // got
					return
				}
				is.Equal(got, tt.want)
			})
		}
		t.Run("an image", func(t *testing.T) {
			is := is.New(t)
			r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "picture"})
			is.NoErr(err)
			is.Equal(r.Content, []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: png}})
		})
		t.Run("an unknown tool", func(t *testing.T) {
			is := is.New(t)
			_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "nothing"})
			is.True(err != nil)
			is.True(strings.Contains(err.Error(), `unknown tool "nothing"`))
		})
	})
}

func TestCallerIsTheOneOfTheCredential(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		is := is.New(t)
		s := serve(t, kernelcore.Options{})
		secret, end := s.BeginSession("thr_1", kernelcontract.Context{ProjectID: "prj_1"})
		defer end()
		all, _, err := s.Tokens().Create(t.Context(), "ci", token.All, time.Time{})
		is.NoErr(err)
		for _, tt := range []struct {
			name, secret, context, input, want string
		}{
			{"nobody on this machine", "", "", `{"thread":"a","project":"b"}`, "user:local by loopback in a of b"},
			{"a token", all, "", `{"thread":"a","project":"b"}`, "user:ci by token in a of b"},
			{"an agent's session", secret, "", `{}`, "agent:thr_1 by tool in thr_1 of prj_1"},
			{"an agent's session that names another project", secret, `{"projectId":"prj_2"}`, `{}`, "agent:thr_1 by tool in thr_1 of prj_2"},
			{"a context", "", `{"threadId":"thr_9","projectId":"prj_9"}`, `{}`, "agent:thr_9 by loopback in thr_9 of prj_9"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				is := is.New(t)
				var headers []string
				if tt.context != "" {
					headers = []string{"x-bb-context", tt.context}
				}
				c := s.connect(t, version, s.transport(tt.secret, headers...), nil)
				got, isError := call(t, c, "who", tt.input)
				is.True(!isError)
				is.Equal(got, tt.want)
			})
		}
	})
}

func TestScopeHoldsHereToo(t *testing.T) {
	is := is.New(t)
	s := serve(t, kernelcore.Options{})
	read, _, err := s.Tokens().Create(t.Context(), "reader", token.Read, time.Time{})
	is.NoErr(err)
	c := s.connect(t, versions[0], s.transport(read), nil)
	got, isError := call(t, c, "number", `{"n":1}`)
	is.Equal(got, "1")
	is.True(!isError)
	got, isError = call(t, c, "say", `{"text":"a"}`)
	is.True(isError)
	is.True(strings.HasPrefix(got, "forbidden: "))
}

func TestCancelledEndsTheHandler(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		is := is.New(t)
		s := serve(t, kernelcore.Options{})
		c := s.connect(t, version, s.transport(""), nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "wait"})
			done <- err
		}()
		receive(t, s.fixture.waiting, "the call")
		cancel()
		is.True(receive(t, s.fixture.ended, "the end of the handler's context") != nil)
		is.True(receive(t, done, "the end of the call") != nil)
	})
}

func TestChangesOfTheCatalogAreTold(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		is := is.New(t)
		s := serve(t, kernelcore.Options{})
		changed := make(chan struct{}, 16)
		c := s.connect(t, version, s.transport(""), &sdk.ClientOptions{
			ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
		})
		got, _ := call(t, c, "other", `{}`)
		is.Equal(got, "other")
		is.NoErr(s.Disable(t.Context(), "other"))
		receive(t, changed, "the change")
		_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "other"})
		is.True(err != nil)
		is.NoErr(s.Enable(t.Context(), "other"))
		receive(t, changed, "the second change")
		got, _ = call(t, c, "other", `{}`)
		is.Equal(got, "other")
	})
}

func TestRevokedEnds(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		is := is.New(t)
		s := serve(t, kernelcore.Options{})
		secret, end := s.BeginSession("thr_1", kernelcontract.Context{})
		c := s.connect(t, version, s.transport(secret), nil)
		done := make(chan string, 1)
		go func() {
			r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "wait"})
			if err != nil {
				done <- err.Error()
				return
			}
			done <- r.Content[0].(*sdk.TextContent).Text
		}()
		receive(t, s.fixture.waiting, "the call")
		end()
		receive(t, s.fixture.ended, "the end of the call in flight")
		receive(t, done, "the answer of the call in flight")
		_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "who"})
		is.True(err != nil) // refused
	})
}

func TestSessionsBelongToTheirCaller(t *testing.T) {
	is := is.New(t)
	s := serve(t, kernelcore.Options{})
	secret, end := s.BeginSession("thr_1", kernelcontract.Context{})
	defer end()
	c := s.connect(t, versions[0], s.transport(secret), nil)
	r := s.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Mcp-Session-Id", c.ID())
	is.Equal(r.StatusCode, http.StatusForbidden)
}

func TestTwoClientsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		s := serve(t, kernelcore.Options{})
		var wait sync.WaitGroup
		for _, name := range []string{"thr_a", "thr_b"} {
			secret, end := s.BeginSession(name, kernelcontract.Context{ProjectID: "p"})
			defer end()
			c := s.connect(t, version, s.transport(secret), nil)
			for range 4 {
				wait.Go(func() {
					for range 10 {
						if got, _ := call(t, c, "who", `{}`); got != "agent:"+name+" by tool in "+name+" of p" {
							t.Error(got)
						}
					}
				})
			}
		}
		wait.Wait()
	})
}

// post sends a body as a client without a library would.
func (s *served) post(t testing.TB, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	res.Body = io.NopCloser(strings.NewReader(string(raw)))
	return res
}

func TestRefusals(t *testing.T) {
	s := serve(t, kernelcore.Options{})
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, tt := range []struct {
		name, body string
		headers    []string
		want       int
	}{
		{"a foreign origin", list, []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{"a credential that nobody knows", list, []string{"Authorization", "Bearer bbs_nothing"}, http.StatusUnauthorized},
		{"a proxy that is not trusted", list, []string{"X-Forwarded-For", "10.0.0.1"}, http.StatusUnauthorized},
		{"another type of content", list, []string{"Content-Type", "text/plain"}, http.StatusUnsupportedMediaType},
		{"a body that is too large", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("a", mcp.MaxBody) + `"}}`, nil, http.StatusRequestEntityTooLarge},
		{"no JSON", "{", nil, http.StatusBadRequest},
		{"a session that nobody knows", list, []string{"Mcp-Session-Id", "nothing"}, http.StatusNotFound},
		{"a version that nobody knows", list, []string{"Mcp-Protocol-Version", "1999-01-01"}, http.StatusBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			res := s.post(t, tt.body, tt.headers...)
			is.Equal(res.StatusCode, tt.want)
			is.True(res.Header.Get("Bb-Call-Id") != "") // as on every answer of the API
		})
	}
}

func TestUnguardedIsRefused(t *testing.T) {
	is := is.New(t)
	k, err := kernelcore.New(kernelcore.Options{})
	is.NoErr(err)
	defer k.Close()
	w := httptest.NewRecorder()
	mcp.Handler(k).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader("{}")))
	is.Equal(w.Code, http.StatusInternalServerError)
	is.True(strings.Contains(w.Body.String(), "Kernel.Guard"))
}

func TestStreamsEndWithTheKernel(t *testing.T) {
	is := is.New(t)
	s := serve(t, kernelcore.Options{})
	tr := s.transport("")
	tr.DisableStandaloneSSE = true
	c := s.connect(t, versions[0], tr, nil)
	open := func() *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
		is.NoErr(err)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Mcp-Session-Id", c.ID())
		res, err := http.DefaultClient.Do(r)
		is.NoErr(err)
		return res
	}
	res := open()
	defer res.Body.Close()
	is.Equal(res.StatusCode, http.StatusOK)
	is.NoErr(s.Drain(t.Context()))
	_, err := io.ReadAll(res.Body) // comes back
	is.NoErr(err)
	refused := open()
	defer refused.Body.Close()
	is.Equal(refused.StatusCode, http.StatusServiceUnavailable)
}
