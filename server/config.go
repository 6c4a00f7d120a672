package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
)

// DefaultListen is where a server listens unless told otherwise: this machine only.
const DefaultListen = "127.0.0.1:38886"

// Bounds of a server's waits.
const (
	// ReadHeaderTimeout bounds how long a client may take for its request line and headers.
	ReadHeaderTimeout = 10 * time.Second
	// IdleTimeout bounds how long an unused connection is kept: longer than proxies and clients keep theirs.
	IdleTimeout = 2 * time.Minute
	// DrainTimeout is how long calls in flight may go on after the end was asked for: the longest budget that a method
	// has unless it names its own.
	DrainTimeout = kernelcontract.MutationWait
)

// MaxHeaderBytes bounds a request's line and headers: twice the longest URL that is read, so that a URL that is too long
// gets an answer that says so.
const MaxHeaderBytes = 64 << 10

// Config configures a server; the zero value listens on DefaultListen with the user's data directory and no plugins.
type Config struct {
	// Plugins in composition order: of two that claim the same name the earlier wins.
	Plugins []*pluginsdk.Plugin

	// Programs lets operators install plugins that are programs of their own, while the server runs. They are kept in the
	// folder plugins of DataDir, and run as the user of the server.
	Programs bool

	// Listen is host:port; port 0 picks a free one. "": DefaultListen. An address that other machines reach needs a
	// token in the data directory, and TLS or Insecure.
	Listen string
	// DataDir holds the database and the key of the secrets. "": DefaultDataDir. One server at a time uses it.
	DataDir string
	// CertFile and KeyFile are PEM files that make the server speak TLS; both or none.
	CertFile, KeyFile string
	// Insecure lets others reach the server without TLS, where something else protects the way.
	Insecure bool

	// Hosts are the names that the server is reached by beside loopback ones.
	Hosts []string
	// Origins are the web origins that may call, such as https://app.example.com.
	Origins []string
	// PublicURL is where people reach the server through a proxy; its host and its origin are allowed.
	PublicURL string
	// GateKeyFile holds the key by which an authenticating proxy on this machine signs its headers; "": there is none.
	GateKeyFile string
	// RequireToken demands a credential from callers on this machine too.
	RequireToken bool

	// Development validates every output and answers a violation as an error, where otherwise a sample is validated and
	// a violation is a problem of the plugin. For those who write plugins.
	Development bool
	// Log gets what operators should see; nil: nothing is logged.
	Log *slog.Logger
	// OnReady is called once the server answers, with its URL.
	OnReady func(url string)
}

// TLS reports whether the server speaks TLS.
func (c *Config) TLS() bool { return c.CertFile != "" }

// normalize fills what was left out and checks the rest, all problems at once.
func (c *Config) normalize() error {
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	var problems []error
	if c.DataDir == "" {
		dir, err := DefaultDataDir(os.Getenv)
		if err != nil {
			problems = append(problems, err)
		}
		c.DataDir = dir
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		problems = append(problems, fmt.Errorf("listen: %q is not host:port, such as %s", c.Listen, DefaultListen))
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		problems = append(problems, errors.New("tls: a certificate needs its key, and a key its certificate: set both"))
	}
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			problems = append(problems, fmt.Errorf("publicUrl: %q is not a URL such as https://bb.example.com", c.PublicURL))
		} else {
			c.Hosts = append(c.Hosts[:len(c.Hosts):len(c.Hosts)], u.Host)
			c.Origins = append(c.Origins[:len(c.Origins):len(c.Origins)], u.Scheme+"://"+u.Host)
		}
	}
	return errors.Join(problems...)
}

// DefaultDataDir returns the folder bb under the user's data directory: $XDG_DATA_HOME or ~/.local/share,
// ~/Library/Application Support on macOS, %LocalAppData% on Windows. getenv looks up variables; os.Getenv does.
func DefaultDataDir(getenv func(string) string) (string, error) {
	return dataDir(runtime.GOOS, getenv)
}

func dataDir(system string, getenv func(string) string) (string, error) {
	unknown := func(name string) (string, error) {
		return "", fmt.Errorf("the user's data directory is unknown, since %s is not set: name one with --data-dir or BB_DATA_DIR", name)
	}
	switch system {
	case "windows":
		if base := getenv("LocalAppData"); base != "" {
			return base + `\bb`, nil
		}
		return unknown("LocalAppData")
	case "darwin":
		if home := getenv("HOME"); home != "" {
			return home + "/Library/Application Support/bb", nil
		}
		return unknown("HOME")
	}
	if base := getenv("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "bb"), nil
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "bb"), nil
	}
	return unknown("HOME")
}
