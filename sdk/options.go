package sdk

import (
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/header"
)

// DefaultURL is where a server listens that was told nothing else.
const DefaultURL = "http://127.0.0.1:38886"

// The variables that Options are completed from.
const (
	EnvURL           = "BB_SERVER_URL"
	EnvToken         = "BB_TOKEN"
	EnvThreadID      = "BB_THREAD_ID"
	EnvProjectID     = "BB_PROJECT_ID"
	EnvEnvironmentID = "BB_ENVIRONMENT_ID"
	EnvHostID        = "BB_HOST_ID"
)

// Options configures a client; the zero value reads the BB_* environment.
type Options struct {
	// URL is the server's address, http or https, with a path when it is mounted below one. Empty: BB_SERVER_URL, then
	// DefaultURL.
	URL string
	// Token is the bearer token. Empty: BB_TOKEN, unless URL names another origin than BB_SERVER_URL does: that token is
	// not for it. It is sent to URL's origin only, and never over plain HTTP to another machine without Insecure.
	Token string
	// HTTP makes the requests; nil: a client of its own. Redirects are never followed. A Timeout in it also cuts streams.
	HTTP *http.Client
	// Client says what this client is; zero: kernelcontract.HeadlessClient. It is information, not evidence.
	Client kernelcontract.ClientInfo
	// Context is where the caller works; nil: ContextFrom of the environment. An empty one sends none.
	Context *kernelcontract.Context
	// Insecure allows Token over plain HTTP to another machine.
	Insecure bool
	// Env reads the environment; nil: os.Getenv.
	Env func(name string) string
}

// ContextFrom reads the caller's context from BB_THREAD_ID, BB_PROJECT_ID, BB_ENVIRONMENT_ID and BB_HOST_ID, which agents'
// shells have. It does not tell the working directory: that is for programs to add whose user types paths.
func ContextFrom(env func(name string) string) kernelcontract.Context {
	return kernelcontract.Context{ThreadID: env(EnvThreadID), ProjectID: env(EnvProjectID), EnvironmentID: env(EnvEnvironmentID), HostID: env(EnvHostID)}
}

// Client is a kernelcontract.SignatureCaller over HTTP. It is safe for concurrent use.
type Client struct {
	url      string // without a trailing slash
	http     *http.Client
	header   http.Header // of every request; read-only
	schemas  sync.Map    // of typed inputs: inputKey → func() (*schema.Schema, error)
	encoders sync.Map    // reflect.Type → *schema.Encoder
	table    *methodTable
}

var _ kernelcontract.SignatureCaller = (*Client)(nil)

// Connect checks o and returns a client of the server that it names; it does not dial. The error is InvalidInput and
// lists every problem.
func Connect(o Options) (*Client, error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	var problems []string
	problem := func(text string) { problems = append(problems, text) }

	envURL := o.Env(EnvURL)
	if o.Token == "" && (o.URL == "" || envURL == "" || sameOrigin(o.URL, envURL)) {
		o.Token = o.Env(EnvToken)
	}
	if o.URL == "" {
		o.URL = envURL
	}
	if o.URL == "" {
		o.URL = DefaultURL
	}
	u, reason := parseURL(o.URL)
	if reason != "" {
		problem("the server URL " + strconv.Quote(o.URL) + " " + reason)
	}

	h := http.Header{}
	if o.Token != "" {
		switch {
		case !isToken(o.Token):
			problem("the token holds characters that no token has")
		case u != nil && u.Scheme == "http" && !IsLoopback(u.Hostname()) && !o.Insecure:
			problem("a token is not sent over plain HTTP to another machine; use https, or allow it as insecure")
		default:
			h.Set("Authorization", "Bearer "+o.Token)
		}
	}
	if o.Client == (kernelcontract.ClientInfo{}) {
		o.Client = kernelcontract.HeadlessClient()
	}
	if value, err := header.FormatClient(o.Client); err != nil {
		problem(kernelcontract.AsError(err).Message)
	} else {
		h.Set(header.Client, value)
	}
	if o.Context == nil {
		c := ContextFrom(o.Env)
		o.Context = &c
	}
	if value, err := header.FormatContext(*o.Context); err != nil {
		problem(kernelcontract.AsError(err).Message)
	} else if value != "" {
		h.Set(header.Context, value)
	}
	if problems != nil {
		return nil, kernelcontract.InvalidInput.Errorf("%s", strings.Join(problems, "; "))
	}
	return &Client{url: strings.TrimRight(u.String(), "/"), http: httpClient(o.HTTP), header: h, table: newMethodTable()}, nil
}

// URL returns the server's address, without a trailing slash.
func (c *Client) URL() string { return c.url }

// maxIdleConns is how many connections a client of its own keeps for later calls: as many calls may run at once without
// dialling for each.
const maxIdleConns = 64

// httpClient returns a copy of client that does not follow redirects.
func httpClient(client *http.Client) *http.Client {
	own := &http.Client{}
	if client != nil {
		*own = *client
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConns, t.MaxIdleConnsPerHost = maxIdleConns, maxIdleConns
		t.DisableCompression = true // the kernel compresses nothing, and a stream must not wait for a block to fill
		own.Transport = t
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return own
}

// parseURL checks a server URL; reason says what is wrong with it.
func parseURL(text string) (u *url.URL, reason string) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, "does not begin with http:// or https://"
	case u.Hostname() == "":
		return nil, "names no host"
	case u.User != nil:
		return nil, "holds a user or a password; pass a token instead"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, "holds a query or a fragment; it must end with the path"
	}
	return u, ""
}

func sameOrigin(a, b string) bool {
	ua, reasonA := parseURL(a)
	ub, reasonB := parseURL(b)
	return reasonA == "" && reasonB == "" && origin(ua) == origin(ub)
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) + ":" + port
}

// IsLoopback reports whether a host, without a port, is this machine by its name alone: localhost, 127/8 or ::1, also
// mapped into IPv6. One trailing dot is ignored.
func IsLoopback(host string) bool {
	host = strings.TrimSuffix(host, ".")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// isToken reports whether s can be a bearer token (RFC 6750).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~+/=", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}
