package sdk_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/sdk"
)

type greetInput struct {
	Name  string   `json:"name"`
	Loud  bool     `json:"loud,omitempty"`
	Times int64    `json:"times,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

type greetOutput struct {
	Message string `json:"message"`
	Count   int64  `json:"count"`
}

type note struct {
	ID string `json:"id"`
}

const muted kernelcontract.Code = "muted"

var (
	greet  = &kernelcontract.Query[greetInput, greetOutput]{Ref: "hello-slot/greeter.greet", Summary: "Greet"}
	count  = &kernelcontract.Mutation[greetInput, greetOutput]{Ref: "hello-slot/greeter.count", Summary: "Count"}
	follow = &kernelcontract.Stream[struct{}, note]{Ref: "notes-fixture/notes.follow", Summary: "Follow", Cursor: func(n note) string { return n.ID }}
	tail   = &kernelcontract.Stream[struct{}, note]{Ref: "notes-fixture/notes.tail", Summary: "Follow without cursors"}
)

// noEnv is an environment without any variable.
func noEnv(string) string { return "" }

// kernelHeaders are on every answer of a kernel.
func kernelHeaders(h http.Header) {
	h.Set("Bb-Call-Id", "call-1")
	h.Set("Bb-Server-Id", "server-1")
	h.Set("Bb-Generation", "7")
}

// serve runs a server whose answers look like a kernel's, and a client of it.
func serve(t testing.TB, handler http.HandlerFunc) *sdk.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kernelHeaders(w.Header())
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return connect(t, sdk.Options{URL: server.URL})
}

func connect(t testing.TB, o sdk.Options) *sdk.Client {
	t.Helper()
	if o.Env == nil {
		o.Env = noEnv
	}
	client, err := sdk.Connect(o)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func success(w http.ResponseWriter, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"ok":true,"result":%s}`, result)
}

func failure(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

// network is a network in memory: inside testing/synctest nothing on it keeps the fake clock from going on.
type network struct {
	conns chan net.Conn
	once  sync.Once
	down  chan struct{}
}

func newNetwork() *network { return &network{conns: make(chan net.Conn), down: make(chan struct{})} }

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.down:
		return nil, net.ErrClosed
	}
}
func (n *network) Close() error   { n.once.Do(func() { close(n.down) }); return nil }
func (n *network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case n.conns <- server:
		return client, nil
	case <-n.down:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// script answers the nth connection, from 0, with raw bytes; the connection is closed when it returns.
type script func(n int, r *http.Request, conn net.Conn)

// misbehave runs a server that does as s says, one connection after the other, and a client of it. Both are gone when
// stop returns.
func misbehave(t *testing.T, s script) (client *sdk.Client, stop func()) {
	t.Helper()
	return misbehaveTo(t, &http.Client{}, s)
}

// misbehaveTo is misbehave with an HTTP client of its own; its transport is replaced.
func misbehaveTo(t *testing.T, h *http.Client, s script) (client *sdk.Client, stop func()) {
	t.Helper()
	n := newNetwork()
	transport := &http.Transport{DialContext: n.dial}
	h.Transport = transport
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			conn, err := n.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(conn))
			if err == nil {
				s(i, r, conn)
			}
			conn.Close()
		}
	}()
	client = connect(t, sdk.Options{URL: "http://127.0.0.1:1", HTTP: h})
	return client, func() {
		n.Close()
		<-done
		transport.CloseIdleConnections()
	}
}

// streamHead is the head of an event stream that ends with the connection.
const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nBb-Call-Id: call-1\r\nBb-Server-Id: server-1\r\nBb-Generation: 7\r\nConnection: close\r\n\r\n"

func item(id string) string {
	return "id: " + id + "\nevent: item\ndata: {\"id\":\"" + id + "\"}\n\n"
}

const end = "event: end\ndata: {}\n\n"

func unavailable(conn net.Conn) {
	body := `{"ok":false,"error":{"code":"service_unavailable","message":"the kernel is draining","retryable":true}}`
	fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nBb-Call-Id: c\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// collect ranges over a stream.
func collect(events iter.Seq2[note, error]) (ids []string, err error) {
	for n, err := range events {
		if err != nil {
			return ids, err
		}
		ids = append(ids, n.ID)
	}
	return ids, nil
}

// manifestOf is a manifest with the methods of this test.
func manifestOf(t testing.TB, services ...*kernelcontract.Service) string {
	t.Helper()
	type method struct {
		PluginID  string              `json:"pluginId"`
		Service   string              `json:"service"`
		Method    string              `json:"method"`
		Kind      kernelcontract.Kind `json:"kind"`
		Resumable bool                `json:"resumable"`
		Input     any                 `json:"input"`
	}
	type service struct {
		ID      string   `json:"id"`
		Methods []method `json:"methods"`
	}
	type plugin struct {
		ID       string    `json:"id"`
		Services []service `json:"services"`
	}
	var plugins []plugin
	for _, s := range services {
		def, err := s.Def()
		if err != nil {
			t.Fatal(err)
		}
		out := service{ID: s.ID}
		for _, d := range def.Methods {
			in, err := d.Input()
			if err != nil {
				t.Fatal(err)
			}
			out.Methods = append(out.Methods, method{d.PluginID, d.Service, d.Method, d.Kind, d.Resumable, in})
		}
		plugins = append(plugins, plugin{ID: def.Methods[0].PluginID, Services: []service{out}})
	}
	b, err := json.Marshal(map[string]any{"format": 1, "plugins": plugins})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
