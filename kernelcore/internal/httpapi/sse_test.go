package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/internal/httpapi"
)

const open = "retry: 1000\n: open\n"

// block is what stands between two blank lines of a stream.
type blocks struct {
	t testing.TB
	r *bufio.Reader
}

func (s *server) follow(r request) (*http.Response, *blocks) {
	s.t.Helper()
	resp := s.send(r)
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp, &blocks{t: s.t, r: bufio.NewReader(resp.Body)}
}

func (b *blocks) next() string {
	b.t.Helper()
	var block strings.Builder
	for {
		line, err := b.r.ReadString('\n')
		if err != nil {
			b.t.Fatalf("the stream broke off after %q: %v", block.String()+line, err)
		}
		if line == "\n" {
			return block.String()
		}
		block.WriteString(line)
	}
}

func (b *blocks) end() {
	b.t.Helper()
	rest, err := io.ReadAll(b.r)
	if err != nil || len(rest) > 0 {
		b.t.Fatalf("the stream did not end: %q, %v", rest, err)
	}
}

func item(id, text string) string {
	return "id: " + id + "\nevent: item\ndata: {\"id\":\"" + id + "\",\"text\":\"" + text + "\"}\n"
}

func TestStream(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	resp, b := s.follow(request{path: things + "follow?limit=2"})
	is.Equal(resp.StatusCode, 200)
	is.Equal(resp.Header.Get("Content-Type"), "text/event-stream")
	is.Equal(resp.Header.Get("X-Accel-Buffering"), "no")
	is.Equal(resp.Header.Get("Content-Encoding"), "")
	is.Equal(b.next(), open)
	is.Equal(b.next(), item("0", "note 0")) // id 0 is sent like any other
	is.Equal(b.next(), item("1", "note 1"))
	is.Equal(b.next(), "event: end\ndata: {}\n")
	b.end()
}

func TestStreamWithoutCursors(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	_, b := s.follow(request{path: things + "tail"})
	is.Equal(b.next(), open)
	is.Equal(b.next(), "event: item\ndata: {\"id\":\"1\",\"text\":\"a\"}\n")
	is.Equal(b.next(), "event: end\ndata: {}\n")
}

func TestStreamOpensAtOnce(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	_, b := s.follow(request{path: things + "follow"}) // nothing to follow yet
	is.Equal(b.next(), open)
	n := note{ID: "5", Text: "late"}
	s.plugin.more <- n
	is.Equal(b.next(), item("5", "late")) // flushed as soon as nothing further is ready
}

func TestStreamResumes(t *testing.T) {
	s := start(t, setup{})
	for name, tt := range map[string]struct{ query, lastEventID, first string }{
		"$since":                     {"&$since=1", "", "2"},
		"since":                      {"&since=1", "", "2"},
		"cursor 0":                   {"&since=0", "", "1"},
		"Last-Event-ID":              {"", "0", "1"},
		"Last-Event-ID beats $since": {"&$since=0", "1", "2"},
		"empty cursor":               {"&$since=", "", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := &server{Server: s.Server, t: t, plugin: s.plugin}
			_, b := s.follow(request{path: things + "follow?limit=4" + tt.query, header: map[string]string{"Last-Event-ID": tt.lastEventID}})
			is.Equal(b.next(), open)
			is.Equal(b.next(), item(tt.first, "note "+tt.first))
		})
	}
}

func TestStreamThatDoesNotOpen(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	a := s.do(request{path: things + "follow?fail=open"})
	is.Equal(a.status, 412)
	is.Equal(a.header.Get("Content-Type"), "application/json")
	is.Equal(a.failure(t).Error.Code, "precondition")
}

func TestStreamThatFails(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	_, b := s.follow(request{path: things + "follow?limit=1&fail=end"})
	is.Equal(b.next(), open)
	is.Equal(b.next(), item("0", "note 0"))
	is.Equal(b.next(), "event: error\ndata: {\"ok\":false,\"error\":{\"code\":\"not_found\",\"message\":\"the notes are gone\",\"retryable\":false}}\n")
	b.end()
}

func TestStreamAsText(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	_, b := s.follow(request{path: things + "follow?limit=3&since=0", header: map[string]string{"Bb-Render": "text"}})
	is.Equal(b.next(), open)
	is.Equal(b.next(), "id: 1\nevent: item\ndata: {\"seq\":0,\"text\":\"note 1\"}\n")
	is.Equal(b.next(), "id: 2\nevent: item\ndata: {\"seq\":1,\"text\":\"note 2\"}\n")
	is.Equal(b.next(), "event: end\ndata: {}\n")
}

func TestHeartbeat(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{options: func(o *httpapi.Options) { o.Heartbeat = 20 * time.Millisecond }})
	_, b := s.follow(request{path: things + "follow"})
	is.Equal(b.next(), open)
	is.Equal(b.next(), ": heartbeat\n")
	is.Equal(b.next(), ": heartbeat\n")
	is.Equal(httpapi.Heartbeat, 15*time.Second)
	is.Equal(httpapi.SlowReader, 60*time.Second)
}

// TestStreamOutlivesServerTimeouts proves that neither timeout of the server ends a stream.
func TestStreamOutlivesServerTimeouts(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{
		options: func(o *httpapi.Options) { o.Heartbeat = 30 * time.Millisecond },
		server:  func(s *http.Server) { s.WriteTimeout, s.ReadTimeout = 100*time.Millisecond, 100*time.Millisecond },
	})
	began := time.Now()
	_, b := s.follow(request{path: things + "follow"})
	is.Equal(b.next(), open)
	for time.Since(began) < 400*time.Millisecond {
		is.Equal(b.next(), ": heartbeat\n")
	}
	s.plugin.more <- note{ID: "1", Text: "a"}
	for block := b.next(); block != item("1", "a"); block = b.next() {
		is.Equal(block, ": heartbeat\n")
	}
}

// pieces records how much is written between two flushes.
type pieces struct {
	wrapper
	flusher http.Flusher
	sizes   *[]int
	size    int
}

func (p *pieces) Write(b []byte) (int, error) { p.size += len(b); return p.wrapper.Write(b) }
func (p *pieces) Flush() {
	*p.sizes = append(*p.sizes, p.size)
	p.size = 0
	p.flusher.Flush()
}

func TestStreamHoldsBackAtMost32KiB(t *testing.T) {
	is := is.New(t)
	var sizes []int
	done := make(chan struct{})
	s := start(t, setup{wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(done)
			next.ServeHTTP(&pieces{wrapper: wrapper{w}, flusher: w.(http.Flusher), sizes: &sizes}, r)
		})
	}})
	s.do(request{path: things + "follow?limit=5000"})
	await(t, done, "the handler")
	is.Equal(sizes[0], len(open)+1) // the opening goes alone
	total := 0
	for _, size := range sizes {
		is.True(size <= httpapi.FlushBytes)
		total += size
	}
	is.True(total > 5000*40)
	is.True(len(sizes) < 5000) // frames that are ready share a flush
}

// wrapper hides everything of a writer but what Unwrap gives back.
type wrapper struct{ inner http.ResponseWriter }

func (w wrapper) Header() http.Header         { return w.inner.Header() }
func (w wrapper) Write(b []byte) (int, error) { return w.inner.Write(b) }
func (w wrapper) WriteHeader(status int)      { w.inner.WriteHeader(status) }
func (w wrapper) Unwrap() http.ResponseWriter { return w.inner }

func TestStreamFlushesThroughMiddleware(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{
		wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(wrapper{wrapper{w}}, r) })
		},
		server: func(s *http.Server) { s.WriteTimeout = 100 * time.Millisecond },
	})
	_, b := s.follow(request{path: things + "follow"})
	is.Equal(b.next(), open)
	s.plugin.more <- note{ID: "1", Text: "a"}
	is.Equal(b.next(), item("1", "a"))
}

func TestReaderLeavesMidStream(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	resp, b := s.follow(request{path: things + "follow"})
	is.Equal(b.next(), open)
	await(t, s.plugin.started, "the stream")
	resp.Body.Close()
	await(t, s.plugin.left, "the handler's context to end")
}

// TestSlowReaderIsHeldThenCut opens a stream and reads nothing: the handler is held back, then the connection is cut.
func TestSlowReaderIsHeldThenCut(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{options: func(o *httpapi.Options) { o.SlowReader = 300 * time.Millisecond }})
	conn := s.dial()
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	_, err := io.WriteString(conn, "GET "+things+"follow?limit=1000000&size=100000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	is.NoErr(err)
	await(t, s.plugin.started, "the stream")
	await(t, s.plugin.left, "the stream to be cut")
	is.True(s.plugin.produced.Load() < 2000) // far from all of them: buffers, then nothing
}

func TestRetiredPluginEndsItsStreams(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	_, b := s.follow(request{path: things + "follow"})
	is.Equal(b.next(), open)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan bool, 1)
	go func() { done <- s.instance.Retire(ctx, 10*time.Millisecond) }()
	block := b.next()
	is.True(strings.HasPrefix(block, "event: error\ndata: {\"ok\":false,\"error\":{\"code\":\"service_unavailable\""))
	b.end()
	is.True(await(t, done, "the plugin to be empty"))
}

func TestRevokedTokenEndsItsStreams(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	_, b := s.follow(request{path: things + "follow", header: map[string]string{"Authorization": "Bearer bbt_gone"}})
	is.Equal(b.next(), open)
	s.revoke()
	is.True(strings.HasPrefix(b.next(), "event: error\ndata: {\"ok\":false,\"error\":{\"code\":\"unauthenticated\""))
	b.end()
}

func TestReaderLeavesBeforeTheStreamOpens(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Client().Do(s.request(ctx, request{path: things + "hangOpen"}))
	is.True(err != nil) // within 30 s nothing comes, and leaving is enough to be rid of it
}

func TestStreamThenAnotherCallOnOneConnection(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	conn := s.dial()
	r := bufio.NewReader(conn)
	for range 2 {
		_, err := io.WriteString(conn, "GET "+things+"follow?limit=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
		is.NoErr(err)
		resp, err := http.ReadResponse(r, nil)
		is.NoErr(err)
		body, err := io.ReadAll(resp.Body)
		is.NoErr(err)
		is.True(strings.HasSuffix(string(body), "event: end\ndata: {}\n\n"))
	}
}
