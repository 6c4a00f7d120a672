package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/bb-kernel/bb/cli/internal/cache"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/sdk"
)

// Options configures a run; the zero value is the bb program.
type Options struct {
	// Stdin, Stdout and Stderr replace the process's.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Offline lists services with functions for methods whose definition says CLI.Offline: their words run here, without a
	// server, as user:local via offline.
	Offline []kernelcontract.Implementation
	// Env reads the environment; nil: os.Getenv.
	Env func(name string) string
	// Dir is the working directory, to which paths on the command line are relative; "": the process's.
	Dir string
	// CacheDir holds the cached catalogs, ConfigDir the tokens that login stores; "": bb below the user's directories. A
	// cache that cannot be written is done without.
	CacheDir, ConfigDir string
	// Terminal says what is a terminal; nil: found out from the files.
	Terminal *Terminal
	// HTTP makes the requests; nil: a client of its own.
	HTTP *http.Client
	// Version is what `bb version` shows; "": that of the build.
	Version string
}

// Terminal says which of the standard files are a terminal, and what it can do.
type Terminal struct {
	Stdin, Stdout, Stderr bool
	Width                 int                    // in columns; 0: $COLUMNS, else 80
	ReadSecret            func() (string, error) // reads a line without echo; nil: with echo
}

// Main runs the command line args, without the program's name, and returns the exit status (docs/spec/errors.md).
// Cancelling ctx is an interruption: the request is closed and the status is 130. It is safe to run several at once; each
// reads its own Stdin.
func Main(ctx context.Context, args []string, o Options) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := newApp(ctx, o, func() { cancel(errClosedPipe) })
	code := a.run(args)
	switch {
	case a.out.err != nil:
		a.warnf("the output cannot be written: %v", a.out.err)
		return kernelcontract.ExitFailure
	case a.unread():
		return kernelcontract.ExitOK // whoever read the output has enough
	}
	return code
}

// unread reports whether nobody reads the output any more.
func (a *app) unread() bool { return context.Cause(a.ctx) == errClosedPipe }

// errClosedPipe is why everything stops when nobody reads the output any more.
var errClosedPipe = errors.New("the output is closed")

// app is one run.
type app struct {
	ctx     context.Context
	o       Options
	term    Terminal
	in      *input
	out     *sink
	err     *sink
	globals globals
	offline offlineWords
	warned  bool // conflicts of words are told once
}

// globals are the flags that hold before the word is known.
type globals struct {
	json, help, version, noColor, insecure bool
	server                                 string
}

func newApp(ctx context.Context, o Options, stop func()) *app {
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	if o.Env == nil {
		o.Env = os.Getenv
	}
	a := &app{ctx: ctx, o: o, out: &sink{w: o.Stdout, stop: stop}, err: &sink{w: o.Stderr, stop: func() {}}}
	a.term = terminalOf(o)
	a.in = &input{r: o.Stdin}
	a.offline = newOffline(o.Offline)
	return a
}

// serverURL returns the server that the command line or the environment names.
func (a *app) serverURL() string {
	for _, u := range []string{a.globals.server, a.o.Env(sdk.EnvURL)} {
		if u != "" {
			return u
		}
	}
	return sdk.DefaultURL
}

// store returns where catalogs are cached; an empty one caches nothing.
func (a *app) store() cache.Store {
	dir := a.o.CacheDir
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return cache.Store{}
		}
		dir = filepath.Join(base, "bb")
	}
	return cache.Store{Dir: filepath.Join(dir, "catalogs")}
}

// path makes a path of the command line absolute.
func (a *app) path(p string) string {
	if a.o.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(a.o.Dir, p)
}
