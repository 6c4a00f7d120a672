package fakemodel

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// MaxBody is the largest body that is read, in bytes, compressed or not: the limit of Anthropic, the lower of the two.
const MaxBody = 32 << 20

// DefaultModel is the model in the list when Options names none.
const DefaultModel = "fake"

// DefaultRetryAfter is how long a client is asked to wait after RATE, the shortest that Retry-After can say.
const DefaultRetryAfter = time.Second

// Options say how the server behaves; the zero value is one without a key.
type Options struct {
	// APIKey must come with every request, as a bearer token or in X-Api-Key; "" lets everybody in.
	APIKey string
	// Models are listed; nil is DefaultModel. Requests may name others.
	Models []string
	// Usage is what an answer costs; numbers that are 0 are counted.
	Usage Usage
	// Header is added to answers that succeed, such as the rate limits that an agent shows.
	Header http.Header
	// RetryAfter is what RATE asks for, 0 is DefaultRetryAfter. Retry-After rounds it up to seconds, Retry-After-Ms is
	// exact.
	RetryAfter time.Duration
	// Choose finds tools for an agent that Choose of this package does not fit; it may fall back on that. Called from
	// several goroutines. Nil is Choose.
	Choose func(role Role, argument string, tools []Tool) (Call, bool)
	// Clock dates answers. Nil is time.Now.
	Clock func() time.Time
	// Log is told one line a request, such as by testing.TB.Logf; from several goroutines. Nil is silence.
	Log func(format string, arguments ...any)
}

// Server is a fake model. It is safe for concurrent use.
type Server struct {
	o       Options
	closing chan struct{}
	close   sync.Once

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced with each change
	requests []Request
	active   int            // requests under way
	hanging  int            // answers that wait for their client to leave
	refusals map[string]int // refusals of RATE so far, by conversation
}

var _ http.Handler = (*Server)(nil)

// New makes a server, to be used as a handler or to be started.
func New(o Options) *Server {
	if o.Models == nil {
		o.Models = []string{DefaultModel}
	}
	if o.RetryAfter <= 0 {
		o.RetryAfter = DefaultRetryAfter
	}
	if o.Choose == nil {
		o.Choose = Choose
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return &Server{o: o, closing: make(chan struct{}), changed: make(chan struct{}), refusals: map[string]int{}}
}

// Start serves on a free port of the loopback interface until the test ends, and returns the server's address, such as
// "http://127.0.0.1:4321". At the end of the test all connections are closed, and no goroutine is left.
func (s *Server) Start(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("fakemodel: cannot listen on the loopback interface: %v", err)
	}
	server := &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends with ErrServerClosed
	}()
	t.Cleanup(func() {
		s.Close()
		_ = server.Close() // of connections that nobody needs any more
		<-served
		_ = s.WaitIdle(context.Background()) // writes fail now, so that handlers end
	})
	return "http://" + listener.Addr().String()
}

// Close breaks off answers that hang and refuses further requests with 503. It does not wait; WaitIdle does. Calling it
// again does nothing. A server that was started is closed by its test.
func (s *Server) Close() { s.close.Do(func() { close(s.closing) }) }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.update(func() { s.active++ })
	defer s.update(func() { s.active-- })
	status := s.serve(w, r)
	s.o.Log("fakemodel: %s %s: %d", r.Method, r.URL.Path, status)
	if status == statusHung {
		panic(http.ErrAbortHandler) // net/http's way to break the connection, so that nobody takes this for an end
	}
}

// statusHung is in place of the status of an answer that hung until its end.
const statusHung = 0

// serve answers and returns the status.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) int {
	api, task, err := s.route(r)
	var body []byte
	var c *conversation
	if err == nil && task >= taskAnswer {
		if body, err = readBody(w, r); err == nil {
			c, err = api.decode(body)
		}
	}
	s.record(r, body, c)
	if err == nil {
		err = s.open()
	}
	if err != nil {
		return s.refuse(w, api, err)
	}
	created := s.o.Clock().Unix()
	switch task {
	case taskModels:
		return s.reply(w, http.StatusOK, api.models(s.o.Models, created))
	case taskModel:
		return s.reply(w, http.StatusOK, api.model(strings.TrimPrefix(r.URL.Path, "/v1/models/"), created))
	case taskCount:
		return s.reply(w, http.StatusOK, object{"input_tokens": s.o.Usage.counted(c.size, nil).Input})
	}
	return s.answer(w, r, api, c, created)
}

// A task is what a path and a method ask for.
type task int

const (
	taskModels task = iota
	taskModel
	taskAnswer // this and the following have a body
	taskCount
)

// route finds out what a request wants, and in which API an error of it is written.
func (s *Server) route(r *http.Request) (api, task, error) {
	var a api = responses{}
	if r.Header.Get("Anthropic-Version") != "" {
		a = messages{}
	}
	t, method := taskAnswer, http.MethodPost
	switch path := r.URL.Path; path {
	case "/v1/responses":
		a = responses{}
	case "/v1/chat/completions":
		a = chat{}
	case "/v1/messages":
		a = messages{}
	case "/v1/messages/count_tokens":
		a, t = messages{counting: true}, taskCount
	case "/v1/models":
		t, method = taskModels, http.MethodGet
	default:
		name, ok := strings.CutPrefix(path, "/v1/models/")
		if !ok || name == "" {
			return a, t, refused(http.StatusNotFound, "there is nothing at %s", path)
		}
		t, method = taskModel, http.MethodGet
	}
	switch {
	case !s.admits(r):
		return a, t, refused(http.StatusUnauthorized, "the API key is missing or wrong")
	case r.Method != method:
		return a, t, refused(http.StatusMethodNotAllowed, "%s takes %s", r.URL.Path, method)
	}
	return a, t, nil
}

// admits reports whether the request has the key. The time it takes tells nothing about the key.
func (s *Server) admits(r *http.Request) bool {
	if s.o.APIKey == "" {
		return true
	}
	given := r.Header.Get("X-Api-Key")
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		given = strings.TrimSpace(token)
	}
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.o.APIKey))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// open fails when the server is closed.
func (s *Server) open() error {
	select {
	case <-s.closing:
		return refused(http.StatusServiceUnavailable, "the fake model is closed")
	default:
		return nil
	}
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var reader io.Reader = http.MaxBytesReader(w, r.Body, MaxBody)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(reader)
		if err != nil {
			return nil, bodyFailure(err)
		}
		reader = unzipped
	default:
		return nil, refused(http.StatusUnsupportedMediaType, "the body has encoding %s; send it as it is, or as gzip", encoding)
	}
	body, err := io.ReadAll(io.LimitReader(reader, MaxBody+1))
	if err != nil {
		return nil, bodyFailure(err)
	}
	if len(body) > MaxBody {
		return nil, tooLarge()
	}
	return body, nil
}

func bodyFailure(err error) *failure {
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return tooLarge()
	}
	return refused(http.StatusBadRequest, "the body cannot be read: %v", err)
}

func tooLarge() *failure {
	return refused(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", MaxBody)
}

// answer does what the script says and returns the status.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, api api, c *conversation, created int64) int {
	parts, refusal := s.admitted(r, c, c.parts(s.o.Choose))
	if refusal != nil {
		w.Header().Set("Retry-After", strconv.Itoa(int((s.o.RetryAfter+time.Second-1)/time.Second)))
		w.Header().Set("Retry-After-Ms", strconv.FormatInt(s.o.RetryAfter.Milliseconds(), 10))
		return s.refuse(w, api, refusal)
	}
	for i, p := range parts {
		if p.kind == partFail && (i == 0 || !c.stream) {
			return s.refuse(w, api, scripted(p.n))
		}
	}
	a := &answer{
		model: c.model, id: fmt.Sprintf("%d_%d", c.ordinal, c.rounds+1), created: created,
		parts: parts, usage: s.o.Usage.counted(c.size, parts), withUse: c.usage, sealed: c.sealed,
	}
	if c.stream {
		return s.stream(w, r, api, a)
	}
	for _, p := range parts {
		if p.kind == partHang {
			s.hang(r.Context())
			return statusHung
		}
	}
	return s.reply(w, http.StatusOK, api.whole(a))
}

// admitted takes out RATE, or returns the refusal while there are some to give.
func (s *Server) admitted(r *http.Request, c *conversation, parts []part) ([]part, *failure) {
	var rest []part
	wanted := 0
	for _, p := range parts {
		if p.kind == partRate {
			wanted += p.n
		} else {
			rest = append(rest, p)
		}
	}
	if len(rest) == 0 {
		rest = []part{{kind: partText, text: "done"}}
	}
	if wanted == 0 {
		return rest, nil
	}
	key := fmt.Sprintf("%s %q %d %d %q", r.URL.Path, c.cacheKey, c.ordinal, c.rounds, c.script)
	refuse := false
	s.update(func() {
		if refuse = s.refusals[key] < wanted; refuse {
			s.refusals[key]++
		} else {
			delete(s.refusals, key)
		}
	})
	if refuse {
		return nil, refused(http.StatusTooManyRequests, "rate limit reached; please try again in %gs", s.o.RetryAfter.Seconds())
	}
	return rest, nil
}

// stream sends the events of an answer, each at once.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, api api, a *answer) int {
	s.success(w)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	for f := range api.events(a) {
		if f.hang {
			s.hang(r.Context())
			return statusHung
		}
		if _, err := io.WriteString(w, f.String()); err != nil {
			break
		}
		if err := flush.Flush(); err != nil {
			break
		}
	}
	return http.StatusOK
}

// String is the event as it is sent.
func (f frame) String() string {
	data, ok := f.data.(string)
	if !ok {
		data = encode(f.data)
	}
	if f.event == "" {
		return "data: " + data + "\n\n"
	}
	return "event: " + f.event + "\ndata: " + data + "\n\n"
}

// hang waits until the client leaves or the server is closed.
func (s *Server) hang(ctx context.Context) {
	s.update(func() { s.hanging++ })
	defer s.update(func() { s.hanging-- })
	select {
	case <-ctx.Done():
	case <-s.closing:
	}
}

func (s *Server) success(w http.ResponseWriter) { maps.Copy(w.Header(), s.o.Header) }

func (s *Server) reply(w http.ResponseWriter, status int, body any) int {
	s.success(w)
	return send(w, status, body)
}

func (s *Server) refuse(w http.ResponseWriter, api api, err error) int {
	var f *failure
	if !errors.As(err, &f) {
		f = refused(http.StatusBadRequest, "%v", err)
	}
	return send(w, f.status, api.failure(f))
}

func send(w http.ResponseWriter, status int, body any) int {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has left
	return status
}
