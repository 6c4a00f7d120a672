package server_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/evidence"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/server"
)

const greet = "/api/v1/hello-slot/greeter/greet?name=bb"

func TestHealthzAnswersOKAndNothingElse(t *testing.T) {
	is := is.New(t)
	s := start(t, server.Config{})
	a := get(t, s.url+"/healthz")
	is.Equal(a.status, 200)
	is.Equal(a.body, "ok")
	is.Equal(a.header.Get("Bb-Server-Id"), "")
	a = do(t, noRedirects(), http.MethodHead, s.url+"/healthz")
	is.Equal(a.status, 200)
	is.Equal(a.body, "")
}

func TestHealthzNeedsNoCredential(t *testing.T) {
	is := is.New(t)
	s := start(t, server.Config{RequireToken: true})
	is.Equal(get(t, s.url+"/healthz").status, 200)
	is.Equal(get(t, s.url+greet).status, 401)
	is.Equal(get(t, s.url+"/healthz", "Authorization", "Bearer nonsense").status, 200)
}

func TestForeignHostIsRefusedOnEveryPath(t *testing.T) {
	s := start(t, server.Config{Hosts: []string{"bb.example.com"}, PublicURL: "https://public.example.com"})
	for _, path := range []string{"/healthz", "/metrics", greet, "/", "/nowhere"} {
		t.Run(path, func(t *testing.T) {
			is := is.New(t)
			is.Equal(get(t, s.url+path, "Host", "evil.example.com").status, 403)
			is.True(get(t, s.url+path, "Host", "bb.example.com").status != 403)
			is.True(get(t, s.url+path, "Host", "public.example.com").status != 403)
		})
	}
}

func TestPublicURLIsAnAllowedOrigin(t *testing.T) {
	is := is.New(t)
	s := start(t, server.Config{PublicURL: "https://public.example.com/", Origins: []string{"https://app.example.com"}})
	for origin, status := range map[string]int{"https://public.example.com": 200, "https://app.example.com": 200, "https://evil.example.com": 403} {
		is.Equal(get(t, s.url+greet, "Origin", origin).status, status)
	}
}

func TestOptionsOfEverythingIsJudgedToo(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "evil.example.com"} {
		t.Run(host, func(t *testing.T) {
			is := is.New(t)
			s := start(t, server.Config{})
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			is.NoErr(err)
			defer conn.Close()
			_, err = fmt.Fprintf(conn, "OPTIONS * HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
			is.NoErr(err)
			raw, err := io.ReadAll(conn)
			is.NoErr(err)
			is.True(strings.HasPrefix(string(raw), "HTTP/1.1 403 "))
			is.True(strings.Contains(string(raw), "Bb-Call-Id: "))
		})
	}
}

func TestEndDuringTheStartIsNoFailure(t *testing.T) {
	is := is.New(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	dir := t.TempDir()
	is.NoErr(server.Run(ctx, server.Config{DataDir: dir, Listen: "127.0.0.1:0"}))
	start(t, server.Config{DataDir: dir}) // and lets go of the directory
}

func TestPathsAreMatchedAsSent(t *testing.T) {
	s := start(t, server.Config{})
	for _, path := range []string{
		"/", "/nowhere", "/healthz/", "//healthz", "/x/../healthz", "/%68ealthz", "/metrics/",
		"/api/v1/hello-slot/greeter/greet/?name=bb", "/api/v1//hello-slot/greeter/greet?name=bb", "/api/v1/hello-slot%2fgreeter/greet?name=bb",
	} {
		t.Run(path, func(t *testing.T) {
			is := is.New(t)
			a := get(t, s.url+path)
			is.Equal(a.status, 404) // and no redirect
			is.True(strings.HasPrefix(a.body, `{"ok":false,"error":{"code":"not_found"`))
		})
	}
}

func TestMetricsCountCalls(t *testing.T) {
	is := is.New(t)
	s := start(t, server.Config{})
	is.Equal(get(t, s.url+greet).status, 200)
	is.Equal(get(t, s.url+"/api/v1/hello-slot/greeter/greet?name=nobody").status, 403)
	a := get(t, s.url+"/metrics")
	is.Equal(a.status, 200)
	is.True(strings.HasPrefix(a.header.Get("Content-Type"), "text/plain; version=0.0.4"))
	for _, line := range []string{
		`bb_calls_total{code="ok",ref="hello-slot/greeter.greet",via="loopback"} 1`,
		`bb_calls_total{code="muted",ref="hello-slot/greeter.greet",via="loopback"} 1`,
		`bb_call_duration_seconds_count{ref="hello-slot/greeter.greet"} 2`,
		"bb_streams_open 0", "bb_generation 1", "bb_problems 0", "bb_uploads_waiting 0", `bb_plugins{state="ready"} `, `bb_plugins{state="failed"} 0`,
		`bb_store_bytes{file="database"} `, `bb_store_bytes{file="log"} `, "go_goroutines ",
	} {
		is.True(strings.Contains(a.body, line)) // has the line
	}
}

func TestMetricsAreNoCalls(t *testing.T) {
	is := is.New(t)
	s := start(t, server.Config{})
	for range 3 {
		a := get(t, s.url+"/metrics")
		is.Equal(a.status, 200)
		for line := range strings.Lines(a.body) {
			called := strings.HasPrefix(line, "bb_calls_total{") && !strings.Contains(line, `ref="kernel/guide.skill"`) // by the skill file
			is.True(!called)
		}
	}
}

func TestMetricsAreForOperators(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	secret := makeToken(t, dir, 0)
	s := start(t, server.Config{DataDir: dir, RequireToken: true})
	is.Equal(get(t, s.url+"/metrics").status, 401)
	is.Equal(get(t, s.url+"/metrics", "Authorization", "Bearer "+secret).status, 200)
	is.Equal(get(t, s.url+"/metrics", "Authorization", "Bearer "+secret+"x").status, 401)
	is.Equal(get(t, s.url+"/metrics", "Origin", "https://evil.example.com").status, 403)
}

func TestMetricsCountProblemsAndOpenStreams(t *testing.T) {
	is := is.New(t)
	broken := &pluginsdk.Plugin{ID: "broken", Setup: func(context.Context, *pluginsdk.Host) error { return errors.New("no") }}
	p := newBlocking()
	s := start(t, server.Config{Plugins: []*pluginsdk.Plugin{broken, p.plugin()}})
	is.True(strings.Contains(s.log.String(), "broken")) // the operator is told
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/blocking/main/follow", nil)
	is.NoErr(err)
	res, err := http.DefaultClient.Do(req)
	is.NoErr(err)
	a := get(t, s.url+"/metrics")
	is.True(strings.Contains(a.body, "bb_streams_open 1\n"))
	is.True(strings.Contains(a.body, "bb_problems 1\n"))
	is.NoErr(res.Body.Close())
}

// blocking is a plugin whose calls wait until the test lets them go.
type blocking struct {
	entered, leave chan struct{}
}

func newBlocking() *blocking { return &blocking{make(chan struct{}, 8), make(chan struct{})} }

func (b *blocking) plugin() *pluginsdk.Plugin {
	type none = kernelcontract.None
	wait := &kernelcontract.Query[none, none]{Ref: "blocking/main.wait", Summary: "Wait"}
	follow := &kernelcontract.Stream[none, none]{Ref: "blocking/main.follow", Summary: "Follow"}
	s := &kernelcontract.Service{ID: "blocking/main", Summary: "Blocks", Methods: []kernelcontract.Method{wait, follow}}
	return &pluginsdk.Plugin{ID: "blocking", Services: []*kernelcontract.Service{s}, Setup: func(_ context.Context, h *pluginsdk.Host) error {
		h.Provide(s, wait.Handle(func(ctx context.Context, _ none) (none, error) {
			b.entered <- struct{}{}
			select {
			case <-b.leave:
			case <-ctx.Done():
			}
			return none{}, ctx.Err()
		}), follow.Handle(func(ctx context.Context, _ none) (iter.Seq2[none, error], error) {
			return func(func(none, error) bool) { <-ctx.Done() }, nil
		}))
		return nil
	}}
}

func TestDrainLetsCallsInFlightFinish(t *testing.T) {
	is := is.New(t)
	b := newBlocking()
	s := start(t, server.Config{Plugins: []*pluginsdk.Plugin{b.plugin()}})
	inFlight := make(chan answer, 1)
	go func() { inFlight <- get(t, s.url+"/api/v1/blocking/main/wait") }()
	<-b.entered
	s.stop()
	waitFor(t, func() bool { return strings.Contains(s.log.String(), "stopping") })
	waitFor(t, func() bool { return get(t, s.url+"/healthz").status == 503 })
	refused := get(t, s.url+"/api/v1/blocking/main/wait")
	is.Equal(refused.status, 503)
	is.True(strings.Contains(refused.body, "service_unavailable"))
	is.True(refused.header.Get("Retry-After") != "")
	close(b.leave)
	is.Equal((<-inFlight).status, 200)
	s.end(t)
}

// waitFor polls, with a deadline, what no channel tells.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not happen")
		}
	}
}

func TestShutdownMethodEndsTheServer(t *testing.T) {
	is := is.New(t)
	s := start(t, server.Config{})
	a := do(t, noRedirects(), http.MethodPost, s.url+"/api/v1/kernel/runtime/shutdown", "X-BB-Client", "sdk/headless")
	is.Equal(a.status, 200) // answered before it goes
	<-s.done
	is.NoErr(s.err)
}

func TestStateOutlastsTheServer(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	count := func() string {
		s := start(t, server.Config{DataDir: dir})
		defer s.end(t)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/v1/hello-slot/greeter/count", strings.NewReader(`{"name":"bb"}`))
		is.NoErr(err)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		is.NoErr(err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		is.NoErr(err)
		return res.Header.Get("Bb-Server-Id") + string(body)
	}
	first, second := count(), count()
	is.True(strings.HasSuffix(first, `{"ok":true,"result":{"name":"bb","count":1}}`))
	is.True(strings.HasSuffix(second, `{"ok":true,"result":{"name":"bb","count":2}}`))
	is.Equal(first[:32], second[:32]) // the same server
}

func TestSecondServerOnADataDirectoryNamesTheFirst(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	s := start(t, server.Config{DataDir: dir})
	err := server.Run(t.Context(), server.Config{DataDir: dir, Listen: "127.0.0.1:0"})
	var inUse *store.InUseError
	is.True(errors.As(err, &inUse))
	is.True(strings.Contains(err.Error(), "bb-server listening on "+s.url))
	is.True(strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())))
	is.Equal(get(t, s.url+"/healthz").status, 200) // the first goes on
}

func TestTwoServersInOneProcess(t *testing.T) {
	is := is.New(t)
	one, two := start(t, server.Config{}), start(t, server.Config{})
	is.True(one.url != two.url)
	is.True(get(t, one.url+greet).header.Get("Bb-Server-Id") != get(t, two.url+greet).header.Get("Bb-Server-Id"))
}

func TestUnusableDataDirectorySaysWhy(t *testing.T) {
	t.Run("below a file", func(t *testing.T) {
		is := is.New(t)
		file := filepath.Join(t.TempDir(), "file")
		is.NoErr(os.WriteFile(file, nil, 0o600))
		err := server.Run(t.Context(), server.Config{DataDir: filepath.Join(file, "data"), Listen: "127.0.0.1:0"})
		var unwritable *store.UnwritableError
		is.True(errors.As(err, &unwritable))
	})
	t.Run("from a newer version", func(t *testing.T) {
		is := is.New(t)
		dir := t.TempDir()
		start(t, server.Config{DataDir: dir}).end(t)
		f, err := os.OpenFile(filepath.Join(dir, "bb.db"), os.O_RDWR, 0)
		is.NoErr(err)
		_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, 999), 60) // user_version in SQLite's file header
		is.NoErr(errors.Join(err, f.Close()))
		err = server.Run(t.Context(), server.Config{DataDir: dir, Listen: "127.0.0.1:0"})
		var newer *store.NewerError
		is.True(errors.As(err, &newer))
		is.True(strings.Contains(err.Error(), "999"))
	})
}

func TestConfigProblemsComeAllAtOnce(t *testing.T) {
	is := is.New(t)
	err := server.Run(t.Context(), server.Config{Listen: "nowhere", CertFile: "only.pem", PublicURL: "bb.example.com", DataDir: t.TempDir()})
	is.True(err != nil)
	for _, want := range []string{"listen:", "tls:", "publicUrl:"} {
		is.True(strings.Contains(err.Error(), want))
	}
	for _, c := range []server.Config{
		{Hosts: []string{"https://not-a-host/"}}, {Origins: []string{"not an origin"}}, {GateKeyFile: filepath.Join(t.TempDir(), "none")},
		{CertFile: "none.pem", KeyFile: "none.pem"}, {Listen: "127.0.0.1:99999"},
	} {
		c.DataDir = t.TempDir()
		if c.Listen == "" {
			c.Listen = "127.0.0.1:0"
		}
		is.True(server.Run(t.Context(), c) != nil)
		is.True(server.Run(t.Context(), c) != nil) // and lets go of the directory
	}
}

func TestAddressInUseSaysHowToChooseAnother(t *testing.T) {
	is := is.New(t)
	s := start(t, server.Config{})
	err := server.Run(t.Context(), server.Config{DataDir: t.TempDir(), Listen: strings.TrimPrefix(s.url, "http://")})
	is.True(err != nil)
	is.True(strings.Contains(err.Error(), "--listen"))
}

func TestListenBeyondThisMachineNeedsTokenAndTLS(t *testing.T) {
	cert, key, _ := makeCertificate(t)
	for _, tt := range []struct {
		name          string
		token         bool
		lives         time.Duration // of the token; zero: for ever
		tls, insecure bool
		noToken       bool // what it lacks
		noTLS         bool
	}{
		{name: "nothing", noToken: true, noTLS: true},
		{name: "token only", token: true, noTLS: true},
		{name: "TLS only", tls: true, noToken: true},
		{name: "insecure only", insecure: true, noToken: true},
		{name: "expired token", token: true, lives: 50 * time.Millisecond, tls: true, noToken: true},
		{name: "token and TLS", token: true, tls: true},
		{name: "token and insecure", token: true, insecure: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			c := server.Config{Listen: "0.0.0.0:0", DataDir: t.TempDir(), Insecure: tt.insecure}
			if tt.tls {
				c.CertFile, c.KeyFile = cert, key
			}
			if tt.token {
				makeToken(t, c.DataDir, tt.lives)
				made := time.Now()
				waitFor(t, func() bool { return time.Since(made) > tt.lives })
			}
			if !tt.noToken && !tt.noTLS {
				start(t, c)
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a server that does start ends with it
			defer cancel()
			err := server.Run(ctx, c)
			var unsafe *server.UnsafeListenError
			is.True(errors.As(err, &unsafe))
			is.Equal(unsafe.Addr, "0.0.0.0:0") // as it was asked for
			is.Equal(unsafe.NoToken, tt.noToken)
			is.Equal(unsafe.NoTLS, tt.noTLS)
			is.Equal(strings.Contains(err.Error(), "bb-server token create"), tt.noToken) // says how
			is.Equal(strings.Contains(err.Error(), "--insecure"), tt.noTLS)
		})
	}
}

func TestServesTLS(t *testing.T) {
	is := is.New(t)
	cert, key, pool := makeCertificate(t)
	s := start(t, server.Config{CertFile: cert, KeyFile: key})
	is.True(strings.HasPrefix(s.url, "https://127.0.0.1:"))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	is.Equal(do(t, client, http.MethodGet, s.url+greet).status, 200)
}

func TestGateKeyComesFromItsFile(t *testing.T) {
	is := is.New(t)
	key := []byte("0123456789abcdef0123456789abcdef")
	file := filepath.Join(t.TempDir(), "gate.key")
	is.NoErr(os.WriteFile(file, key, 0o600))
	s := start(t, server.Config{GateKeyFile: file})
	sign := func(key []byte, nonce string) string {
		return evidence.SignGate(key, evidence.Claims{
			Kind: evidence.GateSession, Account: "ada", Host: "bb.example.com", Proto: "https", Peer: "192.0.2.1:1", Method: http.MethodGet, Target: greet,
			Issued: time.Now().Unix(), Expires: time.Now().Unix() + 20, Nonce: nonce,
		})
	}
	host := "bb.example.com"
	a := get(t, s.url+greet, "Host", host, "Bb-Gate", sign(key, "1"))
	is.Equal(a.status, 200)
	is.Equal(get(t, s.url+greet, "Host", host, "Bb-Gate", sign([]byte("another key, long enough"), "2")).status, 401)

	is.NoErr(os.WriteFile(file, []byte("short"), 0o600))
	err := server.Run(t.Context(), server.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0", GateKeyFile: file})
	is.True(err != nil)
}

func TestTooLongURLIsAnswered(t *testing.T) {
	is := is.New(t)
	s := start(t, server.Config{})
	a := get(t, s.url+greet+strings.Repeat("b", 33<<10))
	is.Equal(a.status, 400)
	is.True(strings.Contains(a.body, "invalid_input"))
}

func ExampleRun() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	dir, err := os.MkdirTemp("", "bb")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	err = server.Run(ctx, server.Config{Listen: "127.0.0.1:0", DataDir: dir, OnReady: func(url string) {
		res, err := http.Get(url + "/healthz")
		if err == nil {
			fmt.Println(res.Status)
			_ = res.Body.Close()
		}
		stop()
	}})
	fmt.Println(err)
	// Output:
	// 200 OK
	// <nil>
}
