package server_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	hello "github.com/bb-kernel/bb/examples/hello-slot"
	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/token"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/server"
)

// running is a server that a test has started.
type running struct {
	url  string
	log  *syncBuffer
	stop context.CancelFunc
	done chan struct{} // closed when Run has returned
	err  error         // what it returned
}

// start runs a server on a free port; zero fields of c are filled for a test.
func start(t *testing.T, c server.Config) *running {
	t.Helper()
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.DataDir == "" {
		c.DataDir = t.TempDir()
	}
	if c.Plugins == nil {
		c.Plugins = []*pluginsdk.Plugin{hello.Plugin()}
	}
	r := &running{log: &syncBuffer{}, done: make(chan struct{})}
	c.Log = slog.New(slog.NewTextHandler(r.log, nil))
	ready := make(chan string, 1)
	c.OnReady = func(url string) { ready <- url }
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() {
		defer close(r.done)
		r.err = server.Run(ctx, c)
	}()
	select {
	case r.url = <-ready:
	case <-r.done:
		cancel()
		t.Fatalf("the server did not start: %v", r.err)
	}
	t.Cleanup(func() { r.end(t) })
	return r
}

// end stops the server and waits for it.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	<-r.done
	if r.err != nil {
		t.Errorf("Run returned %v", r.err)
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

// do makes a request; headers come in pairs, Host too.
func do(t *testing.T, client *http.Client, method, url string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(body)}
}

func get(t *testing.T, url string, headers ...string) answer {
	t.Helper()
	return do(t, noRedirects(), http.MethodGet, url, headers...)
}

func noRedirects() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// makeToken makes a token in a data directory that no server uses. It lives so long, or for ever.
func makeToken(t *testing.T, dir string, lives time.Duration) string {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := token.OpenTokens(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	var expires time.Time
	if lives > 0 {
		expires = time.Now().Add(lives)
	}
	secret, _, err := tokens.Create(t.Context(), "laptop", token.All, expires)
	if err != nil {
		t.Fatal(err)
	}
	if err := tokens.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return secret
}

// makeCertificate writes a certificate for this machine and returns its files and who trusts it.
func makeCertificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bb"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool = x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certPEM) {
		t.Fatal("the certificate is not one")
	}
	for path, text := range map[string][]byte{cert: certPEM, key: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, pool
}

// syncBuffer is a bytes.Buffer that several goroutines use.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
