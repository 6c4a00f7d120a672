package httpapi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
)

// dial opens a connection whose reads and writes are bounded.
func (s *server) dial() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

// TestRefusalReachesAClientThatStillWrites sends a body that nobody reads: the client gets the answer and not a reset.
func TestRefusalReachesAClientThatStillWrites(t *testing.T) {
	s := start(t, setup{})
	for name, tt := range map[string]struct {
		path, header string
		status       int
	}{
		"no principal":  {"count", "Authorization: Bearer bbt_wrong\r\n", 401},
		"foreign Host":  {"count", "Sec-Fetch-Site: cross-site\r\n", 403},
		"unknown route": {"nothing", "", 404},
		"wrong verb":    {"greet", "", 405},
		"too large":     {"count", "", 413},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			conn := s.dial()
			size := 2<<20 - 1
			fmt.Fprintf(conn, "POST %s%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", things, tt.path, size, tt.header)
			_, err := io.WriteString(conn, strings.Repeat("x", size))
			is.NoErr(err)
			r := bufio.NewReader(conn)
			resp, err := http.ReadResponse(r, nil)
			is.NoErr(err)
			is.Equal(resp.StatusCode, tt.status)
			is.True(resp.Close)
			_, err = io.ReadAll(resp.Body)
			is.NoErr(err)
			_, err = r.ReadByte()
			is.Equal(err, io.EOF) // closed, not reset
		})
	}
}

// TestRefusalOverHTTP2EndsNothingElse refuses bodies that are larger than what is discarded: each answer is whole, and the
// connection carries what comes after.
func TestRefusalOverHTTP2EndsNothingElse(t *testing.T) {
	s := start(t, setup{http2: true})
	is.New(t).Equal(s.do(request{path: things + "greet?name=bb"}).status, 200)
	for name, tt := range map[string]struct {
		path, authorization string
		status              int
	}{
		"no principal":  {"count", "Bearer bbt_wrong", 401},
		"unknown route": {"nothing", "", 404},
		"too large":     {"count", "", 413},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			reused := false
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
			r := request{method: "POST", path: things + tt.path, body: strings.Repeat("x", 8<<20), header: map[string]string{"Authorization": tt.authorization}}
			for range 2 {
				resp, err := s.Client().Do(s.request(ctx, r))
				is.NoErr(err)
				is.Equal(resp.ProtoMajor, 2)
				is.Equal(resp.StatusCode, tt.status)
				is.True(reused)
				body, err := io.ReadAll(resp.Body)
				is.NoErr(err)
				is.NoErr(resp.Body.Close())
				is.True(answer{body: string(body)}.failure(t).Error.Code != "")
			}
		})
	}
}

func TestRefusalWaitsASecondForABody(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	conn := s.dial()
	began := time.Now()
	fmt.Fprintf(conn, "POST %scount HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bbt_wrong\r\nContent-Length: 10\r\n\r\nx", things)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	is.NoErr(err)
	is.Equal(resp.StatusCode, 401)
	is.True(resp.Close)
	took := time.Since(began)
	is.True(took > 900*time.Millisecond && took < 5*time.Second)
}

func TestRefusalDoesNotAskForABody(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	conn := s.dial()
	fmt.Fprintf(conn, "POST %scount HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bbt_wrong\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n", things)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	is.NoErr(err)
	is.Equal(resp.StatusCode, 401) // and not 100
}

func TestBodyCountsAgainstTheDeadline(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	conn := s.dial()
	fmt.Fprintf(conn, "POST %sslow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{", things)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	is.NoErr(err)
	is.Equal(resp.StatusCode, 504)
	body, _ := io.ReadAll(resp.Body)
	is.Equal(answer{body: string(body)}.failure(t).Error.Code, "timeout")
	is.Equal(s.plugin.executed.Load(), int64(0))
}

func TestClientLeavesMidBody(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	conn := s.dial()
	fmt.Fprintf(conn, "POST %scount HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{", things)
	is.NoErr(conn.(*net.TCPConn).CloseWrite())
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	is.NoErr(err)
	is.Equal(resp.StatusCode, 499)
	is.Equal(s.plugin.executed.Load(), int64(0))
}

func TestMalformedChunksAreInvalidInput(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	a := s.raw("POST " + things + "count HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
	is.Equal(a.status, 400)
	is.Equal(a.failure(t).Error.Code, "invalid_input")
}

func TestBodyOfAnOuterLimit(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, 10)
			next.ServeHTTP(w, r)
		})
	}})
	a := s.do(request{method: "POST", path: things + "count", body: `{"name":"bbbbbbbb"}`})
	is.Equal(a.status, 413)
}

// TestKeepAlive proves that one connection carries many calls, a mutation's read deadline included.
func TestKeepAlive(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{})
	conn := s.dial()
	r := bufio.NewReader(conn)
	for range 3 {
		fmt.Fprintf(conn, "POST %sslow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"name\":\"bb\"}", things)
		resp, err := http.ReadResponse(r, nil)
		is.NoErr(err)
		is.Equal(resp.StatusCode, 200)
		is.True(!resp.Close)
		_, err = io.Copy(io.Discard, resp.Body)
		is.NoErr(err)
	}
}

// TestReadTimeoutDoesNotEndACall proves that a server's read timeout is not taken for the caller's leaving.
func TestReadTimeoutDoesNotEndACall(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{server: func(s *http.Server) { s.ReadTimeout = 50 * time.Millisecond }})
	conn := s.dial()
	fmt.Fprintf(conn, "GET %swait HTTP/1.1\r\nHost: localhost\r\n\r\n", things)
	await(t, s.plugin.started, "the handler")
	_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	var timeout net.Error
	is.True(errors.As(err, &timeout) && timeout.Timeout()) // no answer: the handler still waits
	is.Equal(len(s.plugin.left), 0)
	conn.Close()
	await(t, s.plugin.left, "the handler to see the caller leave")
}

// TestBlockingCallOutlivesServerTimeouts proves that a declared budget holds whatever the server allows other answers.
func TestBlockingCallOutlivesServerTimeouts(t *testing.T) {
	is := is.New(t)
	s := start(t, setup{server: func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond }})
	a := s.do(request{path: things + "patient"})
	is.Equal(a.status, 200)
	is.Equal(a.body, `{"ok":true,"result":{"message":"done"}}`)
}
