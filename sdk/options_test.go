package sdk_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/sdk"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestServerURL(t *testing.T) {
	for _, tt := range []struct{ name, option, variable, want string }{
		{"the option", "http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:1"},
		{"the variable", "", "http://127.0.0.1:2", "http://127.0.0.1:2"},
		{"the default", "", "", "http://127.0.0.1:38886"},
		{"a slash at the end", "https://bb.example/", "", "https://bb.example"},
		{"a path", "https://bb.example/kernel/", "", "https://bb.example/kernel"},
		{"IPv6", "http://[::1]:80", "", "http://[::1]:80"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			client, err := sdk.Connect(sdk.Options{URL: tt.option, Env: env(map[string]string{"BB_SERVER_URL": tt.variable})})
			is.NoErr(err)
			is.Equal(client.URL(), tt.want)
		})
	}
	for _, url := range []string{"127.0.0.1:38886", "ftp://x", "http://", "http://u:p@x", "http://x?a=b", "http://x?", "http://x#f", "http://x y", "unix:///s", "//x"} {
		_, err := sdk.Connect(sdk.Options{URL: url, Env: noEnv})
		if !errors.Is(err, kernelcontract.InvalidInput) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// All problems come in one error.
func TestConnectListsEveryProblem(t *testing.T) {
	is := is.New(t)
	_, err := sdk.Connect(sdk.Options{URL: "x", Token: "a b", Client: kernelcontract.ClientInfo{Kind: "K"}, Context: &kernelcontract.Context{CWD: strings.Repeat("x", 5000)}, Env: noEnv})
	for _, part := range []string{"server URL", "token", "X-BB-Client", "x-bb-context"} {
		is.True(strings.Contains(err.Error(), part))
	}
}

func TestHeaders(t *testing.T) {
	for _, tt := range []struct {
		name            string
		options         sdk.Options
		vars            map[string]string
		client, context string
	}{
		{"none", sdk.Options{}, nil, "sdk/headless", ""},
		{"the context of an agent's shell", sdk.Options{}, map[string]string{"BB_THREAD_ID": "t1", "BB_PROJECT_ID": "p1", "BB_ENVIRONMENT_ID": "e1", "BB_HOST_ID": "h1"},
			"sdk/headless", `{"threadId":"t1","projectId":"p1","environmentId":"e1","hostId":"h1"}`},
		{"a context of one's own", sdk.Options{Context: &kernelcontract.Context{CWD: "/home/é"}}, map[string]string{"BB_THREAD_ID": "t1"}, "sdk/headless", `{"cwd":"/home/\u00e9"}`},
		{"no context", sdk.Options{Context: &kernelcontract.Context{}}, map[string]string{"BB_THREAD_ID": "t1"}, "sdk/headless", ""},
		{"a client of one's own", sdk.Options{Client: kernelcontract.ClientInfo{Kind: "cli", Surface: "tty", Version: "1.2.3"}}, nil, "cli/tty; version=1.2.3", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				is.Equal(r.Header.Values("X-BB-Client"), []string{tt.client})
				is.Equal(r.Header.Get("x-bb-context"), tt.context)
				is.Equal(r.Header.Get("Authorization"), "")
				kernelHeaders(w.Header())
				success(w, `{}`)
			}))
			defer server.Close()
			tt.options.URL, tt.options.Env = server.URL, env(tt.vars)
			_, err := greet.Call(t.Context(), connect(t, tt.options), greetInput{Name: "bb"})
			is.NoErr(err)
		})
	}
}

func TestToken(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options sdk.Options
		vars    map[string]string
		want    string // what is sent; "error" for a refusal
	}{
		{"the option", sdk.Options{URL: "https://bb.example", Token: "bbt_a"}, map[string]string{"BB_TOKEN": "bbt_b"}, "Bearer bbt_a"},
		{"the variable, for the default server", sdk.Options{}, map[string]string{"BB_TOKEN": "bbt_b"}, "Bearer bbt_b"},
		{"the variable, for the server of the variable", sdk.Options{}, map[string]string{"BB_TOKEN": "bbt_b", "BB_SERVER_URL": "https://bb.example"}, "Bearer bbt_b"},
		{"the variable, for a server named by hand", sdk.Options{URL: "https://bb.example"}, map[string]string{"BB_TOKEN": "bbt_b"}, "Bearer bbt_b"},
		{"the variable, for the same origin", sdk.Options{URL: "https://BB.example:443/kernel"}, map[string]string{"BB_TOKEN": "bbt_b", "BB_SERVER_URL": "https://bb.example"}, "Bearer bbt_b"},
		{"the variable is not for another origin", sdk.Options{URL: "https://evil.example"}, map[string]string{"BB_TOKEN": "bbt_b", "BB_SERVER_URL": "https://bb.example"}, ""},
		{"the variable is not for another port", sdk.Options{URL: "https://bb.example:444"}, map[string]string{"BB_TOKEN": "bbt_b", "BB_SERVER_URL": "https://bb.example"}, ""},
		{"plain HTTP to this machine", sdk.Options{URL: "http://localhost.:1", Token: "bbt_a"}, nil, "Bearer bbt_a"},
		{"plain HTTP to 127/8", sdk.Options{URL: "http://127.1.2.3:1", Token: "bbt_a"}, nil, "Bearer bbt_a"},
		{"plain HTTP to ::1", sdk.Options{URL: "http://[::1]:1", Token: "bbt_a"}, nil, "Bearer bbt_a"},
		{"plain HTTP to another machine", sdk.Options{URL: "http://bb.example", Token: "bbt_a"}, nil, "error"},
		{"plain HTTP to a name that looks like this machine", sdk.Options{URL: "http://127.0.0.1.example", Token: "bbt_a"}, nil, "error"},
		{"plain HTTP to every address", sdk.Options{URL: "http://0.0.0.0:1", Token: "bbt_a"}, nil, "error"},
		{"insecure", sdk.Options{URL: "http://bb.example", Token: "bbt_a", Insecure: true}, nil, "Bearer bbt_a"},
		{"no token over plain HTTP", sdk.Options{URL: "http://bb.example"}, nil, ""},
		{"not a token", sdk.Options{Token: "bbt_a\r\nX: y"}, nil, "error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			var sent *http.Request
			tt.options.HTTP = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				sent = r
				return &http.Response{StatusCode: 404, Body: http.NoBody, Header: http.Header{}}, nil
			})}
			tt.options.Env = env(tt.vars)
			client, err := sdk.Connect(tt.options)
			if tt.want == "error" {
				is.True(errors.Is(err, kernelcontract.InvalidInput))
				is.True(!strings.Contains(err.Error(), "bbt_a")) // a token is in no message
				return
			}
			is.NoErr(err)
			_, _ = greet.Call(t.Context(), client, greetInput{Name: "bb"})
			is.Equal(sent.Header.Get("Authorization"), tt.want)
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The given HTTP client stays as it is.
func TestHTTPClientIsNotChanged(t *testing.T) {
	is := is.New(t)
	h := &http.Client{}
	connect(t, sdk.Options{HTTP: h})
	is.True(h.CheckRedirect == nil)
}
