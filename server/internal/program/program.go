// Package program is the bb-server program: its command line and configuration around server.Run.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/word"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/server"
)

// Options are what the program is run with.
type Options struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	// Plugins are always there, Examples are those that --no-builtin-examples leaves out; they come behind.
	Plugins, Examples []*pluginsdk.Plugin
	// Agent makes the plugin of an agent that the config file names; they come last.
	Agent func(Agent) *pluginsdk.Plugin
}

type program struct {
	stdout, stderr    io.Writer
	getenv            func(string) string
	plugins, examples []*pluginsdk.Plugin
	agent             func(Agent) *pluginsdk.Plugin
}

// Main runs bb-server with args, which do not begin with the program's name, until ctx ends, and returns its exit status:
// 0, 1 when it could not start or failed, 2 for a command line that makes no sense.
func Main(ctx context.Context, args []string, o Options) int {
	p := &program{stdout: o.Stdout, stderr: o.Stderr, getenv: o.Getenv, plugins: o.Plugins, examples: o.Examples, agent: o.Agent}
	err := p.run(ctx, args)
	if err == nil {
		return kernelcontract.ExitOK
	}
	fmt.Fprintln(p.stderr, "bb-server: "+strings.ReplaceAll(err.Error(), "\n", "\n  "))
	var wrong *UsageError
	if errors.As(err, &wrong) {
		return kernelcontract.ExitUsage
	}
	return kernelcontract.ExitFailure
}

func (p *program) run(ctx context.Context, args []string) error {
	f, err := parse(args)
	if err != nil {
		return err
	}
	switch {
	case f.help || len(f.words) == 1 && f.words[0] == "help":
		_, err := io.WriteString(p.stdout, help)
		return err
	case f.version || len(f.words) == 1 && f.words[0] == "version":
		_, err := fmt.Fprintln(p.stdout, "bb-server "+version())
		return err
	case len(f.words) > 0 && f.words[0] == "token":
		return p.tokens(ctx, f)
	case len(f.words) > 0:
		if near := word.Nearest(f.words[0], []string{"token", "help", "version"}); len(near) > 0 {
			return usage("there is no word %q; did you mean %s?", f.words[0], near[0])
		}
		return usage("there is no word %q", f.words[0])
	case f.scope != nil || f.expires != nil:
		return usage("--scope and --expires are for token create")
	}
	r, err := resolve(f, p.getenv)
	if err != nil {
		return err
	}
	if f.printConfig {
		return r.print(p.stdout)
	}
	return p.serve(ctx, r)
}

func (p *program) serve(ctx context.Context, r *resolved) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(r.LogLevel)); err != nil {
		return usage("--log-level %q is none of debug, info, warn, error", r.LogLevel)
	}
	var logs slog.Handler = slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: level})
	switch r.LogFormat {
	case "text":
	case "json":
		logs = slog.NewJSONHandler(p.stderr, &slog.HandlerOptions{Level: level})
	default:
		return usage("--log-format %q is neither text nor json", r.LogFormat)
	}
	c := server.Config{
		Programs: true, Listen: r.Listen, DataDir: r.dataDir, Insecure: r.insecure, Development: r.develop,
		Hosts: r.Hosts, Origins: r.Origins, PublicURL: r.PublicURL, GateKeyFile: r.GateKeyFile, RequireToken: r.LoopbackAuth == "token",
		Log: slog.New(logs),
	}
	if r.TLS != nil {
		c.CertFile, c.KeyFile = r.TLS.Cert, r.TLS.Key
	}
	c.Plugins = slices.Clone(p.plugins)
	if r.examples {
		c.Plugins = append(c.Plugins, p.examples...)
	}
	for i, a := range r.Agents {
		plugin := p.agent(a)
		if slices.ContainsFunc(c.Plugins, func(other *pluginsdk.Plugin) bool { return other.ID == plugin.ID }) {
			return fmt.Errorf("the config file %s: agents.%d.id: %q is the id of a plugin that is there already: choose another", r.configPath, i, a.ID)
		}
		c.Plugins = append(c.Plugins, plugin)
	}
	c.OnReady = func(url string) {
		fmt.Fprintf(p.stdout, "bb-server listening on %s\n", url)
		if r.LogFormat == "text" && r.LogLevel != "error" && r.LogLevel != "warn" { // it is for people
			fmt.Fprint(p.stderr, p.hint(url, r))
		}
	}
	return server.Run(ctx, c)
}

// hint says what to try once the server answers.
func (p *program) hint(url string, r *resolved) string {
	var b strings.Builder
	fmt.Fprintf(&b, "data in %s; Ctrl-C stops\n", r.dataDir)
	if r.examples {
		fmt.Fprintf(&b, "try:\n  curl '%s/api/v1/hello-slot/greeter/greet?name=bb'\n", url)
		if r.Listen == server.DefaultListen {
			b.WriteString("  bb hello greet bb\n")
		} else {
			fmt.Fprintf(&b, "  bb --server %s hello greet bb\n", url)
		}
	}
	return b.String()
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

const help = `bb-server runs a bb kernel: plugins whose methods answer over HTTP, for the bb command line, for
agents and in the docs.

Usage:
  bb-server [flags]                  serve until SIGINT or SIGTERM
  bb-server token create NAME        make a token and print it, once
      [--scope all|read] [--expires 720h|2027-01-31]
  bb-server token list               list tokens, without their secrets
  bb-server token revoke NAME        make a token invalid
  bb-server version | help

Flags:
  --listen HOST:PORT       where to listen; port 0 picks a free one
                           (default 127.0.0.1:38886, env BB_LISTEN)
  --data-dir DIR           database, secrets and tokens; one server at a time
                           (default: bb under the user's data directory, env BB_DATA_DIR)
  --config FILE            settings as JSON (default: config.json in the data directory, env BB_CONFIG)
  --no-builtin-examples    leave out the example plugins hello-slot, notes-fixture and echo
  --insecure               let others connect without TLS, when something else protects the way
  --development            check every result of a plugin against its schema, and fail the call
  --log-level LEVEL        debug, info, warn or error (default info)
  --log-format FORMAT      text, or json with one object a line (default text, env BB_LOG_FORMAT)
  --print-config           print every setting with its source, and do not serve
  --version, --help

A flag wins over the environment, the environment over the file. The file's keys:
  listen, tls {cert, key}, origins [], hosts [], publicUrl, gateKeyFile,
  loopbackAuth (trust|token), logLevel, logFormat (text|json),
  agents [{id, displayName, command [], env []}]: agents that speak the Agent Client Protocol

Callers on this machine need no token. To let others in, make a token first, set tls, and listen:
  bb-server token create laptop
  bb-server --listen 0.0.0.0:38886

When ready it prints one line: bb-server listening on http://HOST:PORT
Then try:
  curl 'http://127.0.0.1:38886/api/v1/hello-slot/greeter/greet?name=bb'
  bb hello greet bb

SIGINT and SIGTERM finish the calls in flight; a second one stops at once.
`
