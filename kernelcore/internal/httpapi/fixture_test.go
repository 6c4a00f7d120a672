package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/evidence"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
	"github.com/bb-kernel/bb/kernelcore/internal/httpapi"
)

// patience bounds every wait of these tests.
const patience = 10 * time.Second

type greetIn struct {
	Name       string   `json:"name" minLength:"1"`
	Salutation string   `json:"salutation,omitempty" default:"Hello"`
	Tags       []string `json:"tags,omitempty"`
}
type greetOut struct {
	Message string `json:"message"`
}
type shapesIn struct {
	Small int8           `json:"small,omitempty"`
	Big   int64          `json:"big,omitempty"`
	Ratio float64        `json:"ratio,omitempty"`
	Tree  map[string]any `json:"tree,omitempty"`
	Text  string         `json:"text,omitempty"`
}
type fileIn struct {
	Mime string `json:"mime"`
	Data string `json:"data"`
}
type followIn struct {
	Limit int    `json:"limit,omitempty"`
	Fail  string `json:"fail,omitempty"`
	Size  int    `json:"size,omitempty"`
}
type note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}
type ambientIn struct {
	Thread string `json:"thread,omitempty"`
}

const muted kernelcontract.Code = "muted"

// plugin is what the tests call: every kind of method, and one for each rule that a method can declare.
type plugin struct {
	started  chan struct{} // one value a started wait, hang or follow
	left     chan struct{} // one value a wait or follow whose context ended
	release  chan struct{} // closed at the end of the test
	more     chan note     // further items of follow
	executed atomic.Int64  // how often a handler ran
	produced atomic.Int64  // items that follow produced
}

func (p *plugin) source() engine.Source {
	query := func(ref string, a kernelcontract.Access) (*kernelcontract.Query[kernelcontract.None, greetOut], kernelcontract.Handler) {
		q := &kernelcontract.Query[kernelcontract.None, greetOut]{Ref: ref, Summary: "A query", Access: a}
		return q, q.Handle(func(ctx context.Context, _ kernelcontract.None) (greetOut, error) {
			p.executed.Add(1)
			who := kernelcontract.CallFrom(ctx).Principal
			return greetOut{Message: who.Actor + " " + string(who.Via)}, nil
		})
	}
	greet := &kernelcontract.Query[greetIn, greetOut]{Ref: "test/things.greet", Summary: "Greet",
		Errors: map[kernelcontract.Code]kernelcontract.ErrorDef{muted: {Like: kernelcontract.Forbidden}},
		RenderText: func(o greetOut, r kernelcontract.Render) string {
			return fmt.Sprintf("%s (%d)", o.Message, r.Columns())
		}}
	count := &kernelcontract.Mutation[greetIn, greetOut]{Ref: "test/things.count", Summary: "Count"}
	shapes := &kernelcontract.Mutation[shapesIn, shapesIn]{Ref: "test/things.shapes", Summary: "Shapes"}
	read := &kernelcontract.Query[shapesIn, shapesIn]{Ref: "test/things.read", Summary: "Shapes"}
	file := &kernelcontract.Query[fileIn, schema.Bytes]{Ref: "test/things.file", Summary: "A file"}
	upload := &kernelcontract.Mutation[fileIn, *schema.Bytes]{Ref: "test/things.upload", Summary: "A file or nothing"}
	follow := &kernelcontract.Stream[followIn, note]{Ref: "test/things.follow", Summary: "Follow",
		Cursor: func(n note) string { return n.ID }, RenderText: func(n note, _ kernelcontract.Render) string { return n.Text }}
	tail := &kernelcontract.Stream[kernelcontract.None, note]{Ref: "test/things.tail", Summary: "Follow without cursors"}
	wait := &kernelcontract.Query[kernelcontract.None, greetOut]{Ref: "test/things.wait", Summary: "Wait for the caller to leave"}
	hang := &kernelcontract.Query[kernelcontract.None, greetOut]{Ref: "test/things.hang", Summary: "Never answer", Wait: 50 * time.Millisecond}
	hangOpen := &kernelcontract.Stream[kernelcontract.None, note]{Ref: "test/things.hangOpen", Summary: "Never open"}
	patient := &kernelcontract.Query[kernelcontract.None, greetOut]{Ref: "test/things.patient", Summary: "Take a while", Wait: patience}
	slow := &kernelcontract.Mutation[greetIn, greetOut]{Ref: "test/things.slow", Summary: "A short budget", Wait: 100 * time.Millisecond}
	panics := &kernelcontract.Query[kernelcontract.None, greetOut]{Ref: "test/things.panics", Summary: "Panic"}
	breaks := &kernelcontract.Mutation[kernelcontract.None, greetOut]{Ref: "test/things.breaks", Summary: "An undeclared error"}
	away := &kernelcontract.Query[kernelcontract.None, greetOut]{Ref: "test/things.away", Summary: "On a host", OnHost: true}
	here := &kernelcontract.Query[ambientIn, ambientIn]{Ref: "test/things.here", Summary: "Ambient",
		Ambient: map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID}}
	hidden := &kernelcontract.Query[kernelcontract.None, greetOut]{Ref: "test/things.hidden", Summary: "Not over HTTP", Hide: kernelcontract.OnHTTP}
	who, whoHandler := query("test/things.who", kernelcontract.Access{})
	machine, machineHandler := query("test/things.machine", kernelcontract.Access{Auth: kernelcontract.AuthMachine})
	open, openHandler := query("test/things.open", kernelcontract.Access{Auth: kernelcontract.AuthNone})
	local, localHandler := query("test/things.local", kernelcontract.Access{Local: true})
	people, peopleHandler := query("test/things.people", kernelcontract.Access{Actors: []kernelcontract.ActorKind{kernelcontract.User, kernelcontract.System}})

	say := func(_ context.Context, in greetIn) (greetOut, error) {
		p.executed.Add(1)
		switch in.Name {
		case "nobody":
			return greetOut{}, muted.Errorf("%s asked not to be greeted", in.Name)
		case "down":
			return greetOut{}, kernelcontract.ServiceUnavailable.Errorf("not now")
		}
		return greetOut{Message: in.Salutation + ", " + in.Name + "!"}, nil
	}
	bytesOf := func(_ context.Context, in fileIn) (schema.Bytes, error) {
		return schema.Bytes{MIMEType: in.Mime, Data: []byte(in.Data)}, nil
	}
	follows := func(ctx context.Context, in followIn) (iter.Seq2[note, error], error) {
		if in.Fail == "open" {
			return nil, kernelcontract.Precondition.Errorf("the cursor has expired")
		}
		return func(yield func(note, error) bool) {
			signal(p.started)
			first := 0
			if since := kernelcontract.CallFrom(ctx).Since; since != "" {
				first, _ = strconv.Atoi(since)
				first++
			}
			for i := first; in.Limit == 0 || i < in.Limit; i++ {
				n := note{ID: strconv.Itoa(i), Text: "note " + strconv.Itoa(i)}
				switch {
				case in.Size > 0:
					n.Text = strings.Repeat("x", in.Size)
				case in.Limit == 0:
					select {
					case n = <-p.more:
					case <-ctx.Done():
						signal(p.left)
						yield(note{}, ctx.Err())
						return
					}
				}
				p.produced.Add(1)
				if !yield(n, nil) {
					signal(p.left)
					return
				}
			}
			if in.Fail == "end" {
				yield(note{}, kernelcontract.NotFound.Errorf("the notes are gone"))
			}
		}, nil
	}
	handlers := []kernelcontract.Handler{
		greet.Handle(say), count.Handle(say), slow.Handle(say),
		shapes.Handle(func(_ context.Context, in shapesIn) (shapesIn, error) { p.executed.Add(1); return in, nil }),
		read.Handle(func(_ context.Context, in shapesIn) (shapesIn, error) { return in, nil }),
		file.Handle(bytesOf),
		upload.Handle(func(ctx context.Context, in fileIn) (*schema.Bytes, error) {
			if in.Mime == "" {
				return nil, nil
			}
			b, err := bytesOf(ctx, in)
			return &b, err
		}),
		follow.Handle(follows),
		tail.Handle(func(context.Context, kernelcontract.None) (iter.Seq2[note, error], error) {
			return func(yield func(note, error) bool) { yield(note{ID: "1", Text: "a"}, nil) }, nil
		}),
		wait.Handle(func(ctx context.Context, _ kernelcontract.None) (greetOut, error) {
			signal(p.started)
			<-ctx.Done()
			signal(p.left)
			return greetOut{}, ctx.Err()
		}),
		hang.Handle(func(context.Context, kernelcontract.None) (greetOut, error) { <-p.release; return greetOut{}, nil }),
		hangOpen.Handle(func(context.Context, kernelcontract.None) (iter.Seq2[note, error], error) {
			<-p.release
			return nil, nil
		}),
		patient.Handle(func(ctx context.Context, _ kernelcontract.None) (greetOut, error) {
			select {
			case <-time.After(200 * time.Millisecond):
				return greetOut{Message: "done"}, nil
			case <-ctx.Done():
				return greetOut{}, ctx.Err()
			}
		}),
		panics.Handle(func(context.Context, kernelcontract.None) (greetOut, error) { panic("the secret is 42") }),
		breaks.Handle(func(context.Context, kernelcontract.None) (greetOut, error) {
			return greetOut{}, errors.New("the secret is 42")
		}),
		away.Handle(func(context.Context, kernelcontract.None) (greetOut, error) { return greetOut{}, nil }),
		here.Handle(func(_ context.Context, in ambientIn) (ambientIn, error) { return in, nil }),
		hidden.Handle(func(context.Context, kernelcontract.None) (greetOut, error) { return greetOut{}, nil }),
		whoHandler, machineHandler, openHandler, localHandler, peopleHandler,
	}
	return source("test", &kernelcontract.Service{ID: "test/things", Summary: "Things", Methods: []kernelcontract.Method{
		greet, count, slow, shapes, read, file, upload, follow, tail, wait, patient, hang, hangOpen, panics, breaks, away, here, hidden,
		who, machine, open, local, people,
	}}, handlers)
}

// kernelSource holds raw endpoints, which only the kernel's own services may have.
func kernelSource() engine.Source {
	raw := &kernelcontract.Custom[http.Handler]{Ref: "kernel/raw.echo", Summary: "Echo", Path: "/internal/echo"}
	broken := &kernelcontract.Custom[http.Handler]{Ref: "kernel/raw.broken", Summary: "Panic", Path: "/local/broken", Access: kernelcontract.Access{Local: true}}
	return source("kernel", &kernelcontract.Service{ID: "kernel/raw", Summary: "Raw endpoints", Methods: []kernelcontract.Method{raw, broken}},
		[]kernelcontract.Handler{
			raw.Handle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				fmt.Fprintf(w, "%s %s %s", r.Method, kernelcontract.CallFrom(r.Context()).Principal.Actor, body)
			})),
			broken.Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the secret is 42") })),
		})
}

func source(id string, s *kernelcontract.Service, handlers []kernelcontract.Handler) engine.Source {
	def, err := s.Def()
	if err != nil {
		panic(err)
	}
	byRef := map[string]kernelcontract.Handler{}
	for _, h := range handlers {
		byRef[h.Ref()] = h
	}
	return engine.Source{ID: id, Services: []*kernelcontract.ServiceDef{def}, Handlers: byRef}
}

// server is a handler on a loopback listener, with the plugin behind it.
type server struct {
	*httptest.Server
	t        testing.TB
	engine   *engine.Engine
	handler  *httpapi.Handler
	plugin   *plugin
	instance *engine.Instance
	revoke   func() // ends the token bbt_gone
}

var gateKey = []byte("0123456789abcdef0123456789abcdef")

type setup struct {
	production bool // outputs are validated by sample
	options    func(*httpapi.Options)
	wrap       func(http.Handler) http.Handler
	server     func(*http.Server)
	http2      bool
}

func start(t testing.TB, s setup) *server {
	t.Helper()
	p := &plugin{started: make(chan struct{}, 64), left: make(chan struct{}, 64), release: make(chan struct{}), more: make(chan note)}
	e := engine.New(engine.Options{Development: !s.production})
	instance := engine.NewInstance(p.source())
	e.Swap(engine.NewCatalog(7, []*engine.Instance{instance, engine.NewInstance(kernelSource())}, nil))
	policy, err := evidence.NewPolicy(evidence.Config{Hosts: []string{"bb.example.com"}, Origins: []string{"https://app.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	gate, err := evidence.NewGate(gateKey)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	o := httpapi.Options{Engine: e, ServerID: "server-1", Policy: policy, Gate: gate, Lookup: lookup(gone)}
	if s.options != nil {
		s.options(&o)
	}
	h := httpapi.New(o)
	var root http.Handler = h
	if s.wrap != nil {
		root = s.wrap(h)
	}
	srv := httptest.NewUnstartedServer(root)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if s.server != nil {
		s.server(srv.Config)
	}
	if srv.EnableHTTP2 = s.http2; s.http2 {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(func() {
		close(p.release)
		srv.CloseClientConnections()
		srv.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if !instance.Retire(ctx, 0) {
			t.Error("a call is left in the plugin")
		}
	})
	return &server{Server: srv, t: t, engine: e, handler: h, plugin: p, instance: instance, revoke: func() { close(gone) }}
}

// lookup knows a credential of each kind.
func lookup(gone <-chan struct{}) httpapi.Lookup {
	return func(_ context.Context, kind evidence.CredentialKind, secret string, c kernelcontract.Context) (httpapi.Found, error) {
		switch secret {
		case "bbt_all", "bbt_gone", "bbt_read":
			f := httpapi.Found{Credential: evidence.Credential{Kind: kind, Name: strings.TrimPrefix(secret, "bbt_")}, ReadOnly: secret == "bbt_read"}
			if secret == "bbt_gone" {
				f.Revoked = gone
			}
			return f, nil
		case "bbh_host":
			return httpapi.Found{Credential: evidence.Credential{Kind: kind, HostID: "h1", Proxy: true, ThreadOnHost: c.ThreadID == "t1"}}, nil
		case "bbs_session":
			return httpapi.Found{Credential: evidence.Credential{Kind: kind, ThreadID: "t9"}}, nil
		case "bbt_error":
			return httpapi.Found{}, errors.New("the store is gone")
		}
		return httpapi.Found{Credential: evidence.Credential{Kind: evidence.InvalidCredential}}, nil
	}
}

// request is one request; the zero value is GET of nothing.
type request struct {
	method, path, body string
	header             map[string]string
	host               string
	chunked            bool
}

// answer is a read response.
type answer struct {
	status int
	header http.Header
	body   string
}

func (s *server) do(r request) answer {
	s.t.Helper()
	resp := s.send(r)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: string(body)}
}

func (s *server) send(r request) *http.Response {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.t.Cleanup(cancel)
	resp, err := s.Client().Do(s.request(ctx, r))
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

func (s *server) request(ctx context.Context, r request) *http.Request {
	s.t.Helper()
	if r.method == "" {
		r.method = "GET"
	}
	var body io.Reader = http.NoBody
	if r.body != "" {
		body = strings.NewReader(r.body)
		if r.chunked {
			body = io.MultiReader(body)
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.method, s.URL+r.path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	if r.method == "POST" {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range r.header {
		if v == "" {
			req.Header.Del(k)
		} else {
			req.Header.Set(k, v)
		}
	}
	if r.host != "" {
		req.Host = r.host
	}
	return req
}

// raw sends bytes as they are over a connection of its own and returns the answer.
func (s *server) raw(text string) answer {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: string(body)}
}

// failure is the failure object of an answer.
type failure struct {
	OK    bool
	Error struct {
		Code, Message string
		Issues        []schema.Issue
		Details       map[string]any
		Retryable     bool
	}
}

func (a answer) failure(t testing.TB) failure {
	t.Helper()
	var f failure
	d := json.NewDecoder(strings.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil || f.OK || f.Error.Code == "" {
		t.Fatalf("%d %q is no failure object: %v", a.status, a.body, err)
	}
	return f
}

// signal tells whoever waits; nobody need.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// await receives from c or fails.
func await[T any](t testing.TB, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
	return v
}
