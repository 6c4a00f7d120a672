package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/token"
)

// UnsafeListenError says why a server refuses to listen where other machines could reach it.
type UnsafeListenError struct {
	Addr    string // as it was asked for
	NoToken bool   // nobody could be told apart
	NoTLS   bool   // tokens would travel in the clear
}

// Error names the address, each reason, and what to do.
func (e *UnsafeListenError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "refusing to listen on %s, which other machines can reach:", e.Addr)
	if e.NoToken {
		b.WriteString("\n  there is no valid token, so nobody could log in: make one with `bb-server token create NAME`")
	}
	if e.NoTLS {
		b.WriteString("\n  without TLS tokens travel in the clear: set tls.cert and tls.key in the config file, or pass --insecure when something else protects the way")
	}
	b.WriteString("\nor listen on this machine only: --listen " + DefaultListen)
	return b.String()
}

// listen opens the listener and refuses one that others reach without the protection that they need.
func listen(ctx context.Context, c *Config, s store.Store) (net.Listener, error) {
	var secure *tls.Config
	if c.TLS() {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("tls: the certificate %s and its key %s cannot be used: %w", c.CertFile, c.KeyFile, err)
		}
		secure = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with --listen, port 0 picks a free one", c.Listen, err)
	}
	if err := c.admit(ctx, ln.Addr(), s); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	if secure != nil {
		ln = tls.NewListener(ln, secure)
	}
	return ln, nil
}

// admit decides on the address that the system gave: a name in Listen may stand for any.
func (c *Config) admit(ctx context.Context, addr net.Addr, s store.Store) error {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		return nil
	}
	tokens, err := token.OpenTokens(ctx, s, c.Log)
	if err != nil {
		return err
	}
	defer tokens.Close(ctx)
	refusal := &UnsafeListenError{Addr: c.Listen, NoToken: true, NoTLS: !c.TLS() && !c.Insecure}
	for _, t := range tokens.List() {
		if t.Expires.IsZero() || t.Expires.After(time.Now()) {
			refusal.NoToken = false
		}
	}
	if refusal.NoToken || refusal.NoTLS {
		return refusal
	}
	return nil
}

// urlOf returns the URL at which a listener is reached.
func urlOf(addr net.Addr, secure bool) string {
	if secure {
		return "https://" + addr.String()
	}
	return "http://" + addr.String()
}

// localURL returns the URL at which programs on this machine reach a listener: by the loopback address when it takes
// connections for all addresses, since that is the name that such callers are known by.
func localURL(addr net.Addr, secure bool) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return urlOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}, secure)
	}
	return urlOf(addr, secure)
}
