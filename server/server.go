package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/procplugin"
	"github.com/bb-kernel/bb/kernelcore/procplugin/folder"
	"github.com/bb-kernel/bb/kernelcore/seal"
	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
)

// Folders of a data directory.
const (
	PluginsFolder = "plugins"          // installed plugins
	SkillsFolder  = "skills-generated" // bb/SKILL.md, for programs of agents
)

// Run serves until ctx ends, then finishes what is in flight within DrainTimeout and returns nil. The error says why the
// server could not start, in words for the operator: a data directory in use (*store.InUseError, which names who uses
// it), not writable, or from a newer version, an address that is taken or not safe (*UnsafeListenError), a setting that
// makes no sense. Several servers may run in one process, each with its own data directory.
func Run(ctx context.Context, c Config) (err error) {
	if err := c.normalize(); err != nil {
		return err
	}
	gateKey, err := c.gateKey()
	if err != nil {
		return err
	}
	defer func() {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = nil // the end was asked for before the start was over
		}
	}()
	s, err := sqlitestore.Open(ctx, c.DataDir, sqlitestore.Options{Log: c.Log, Holder: "bb-server, starting"})
	if err != nil {
		return err
	}
	owned := true // until the kernel owns the store
	defer func() {
		if owned {
			err = errors.Join(err, s.Close())
		}
	}()
	box, err := seal.Open(c.DataDir)
	if err != nil {
		return err
	}
	ln, err := listen(ctx, &c, s)
	if err != nil {
		return err
	}
	url := urlOf(ln.Addr(), c.TLS())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var programs kernelcore.Programs
	if c.Programs {
		if programs, err = folder.Open(filepath.Join(c.DataDir, PluginsFolder), procplugin.Options{}); err != nil {
			return errors.Join(err, ln.Close())
		}
	}
	m := newMetrics()
	k, err := kernelcore.New(kernelcore.Options{
		Plugins: c.Plugins, Programs: programs, Store: s, Box: box, DataDir: c.DataDir, SkillsDir: filepath.Join(c.DataDir, SkillsFolder), URL: localURL(ln.Addr(), c.TLS()), Log: c.Log, Development: c.Development, OnCall: m.observe, OnShutdown: stop,
		HTTP: kernelcore.HTTPOptions{Hosts: c.Hosts, Origins: c.Origins, GateKey: gateKey, RequireToken: c.RequireToken},
	})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	owned = false
	m.watch(k, c.DataDir)
	s.SetHolder("bb-server listening on " + url)
	for _, p := range k.Problems() {
		c.Log.Warn("problem", "error", p)
	}
	return errors.Join(serve(ctx, &c, k, m, ln, url), k.Close())
}

// serve runs the HTTP server until ctx ends and what is in flight has ended.
func serve(ctx context.Context, c *Config, k *kernelcore.Kernel, m *metrics, ln net.Listener, url string) error {
	var draining atomic.Bool
	srv := newHTTPServer(newRouter(k, m, &draining), c.Log)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }() // ends with Shutdown or Close below
	if c.OnReady != nil {
		c.OnReady(url)
	}
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("the listener on %s failed: %w", url, err), srv.Close())
	case <-ctx.Done():
	}
	draining.Store(true)
	c.Log.Info("stopping: new calls are refused, those in flight finish", "within", DrainTimeout)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), DrainTimeout)
	defer cancel()
	drained := k.Drain(end)
	if err := srv.Shutdown(end); err != nil {
		drained = errors.Join(drained, srv.Close())
	}
	<-served
	if errors.Is(drained, context.DeadlineExceeded) {
		c.Log.Warn("stopped with calls still in flight", "after", DrainTimeout)
	}
	return nil
}

func newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: ReadHeaderTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    MaxHeaderBytes,
		// OPTIONS * is judged like every request.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// gateKey reads the key of the authenticating proxy; nil when there is none.
func (c *Config) gateKey() ([]byte, error) {
	if c.GateKeyFile == "" {
		return nil, nil
	}
	key, err := os.ReadFile(c.GateKeyFile)
	if err != nil {
		return nil, fmt.Errorf("gateKeyFile: %w: write 32 random bytes into it, readable for this user only", err)
	}
	return key, nil
}
