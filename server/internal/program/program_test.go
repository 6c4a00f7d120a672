package program_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	hello "github.com/bb-kernel/bb/examples/hello-slot"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/server/internal/program"
)

// result is what a run of the program left behind.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the program to its end.
func run(t *testing.T, env map[string]string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := program.Main(t.Context(), args, program.Options{
		Stdout: &stdout, Stderr: &stderr, Getenv: func(name string) string { return env[name] },
		Examples: []*pluginsdk.Plugin{hello.Plugin()},
	})
	return result{code, stdout.String(), stderr.String()}
}

func TestHelpTeaches(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help"}, {"token", "--help"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			is := is.New(t)
			r := run(t, nil, args...)
			is.Equal(r.code, 0)
			is.Equal(r.stderr, "")
			for _, want := range []string{
				"--listen", "--data-dir", "--config", "--no-builtin-examples", "--insecure", "--development", "--print-config", "BB_LISTEN", "BB_DATA_DIR", "BB_CONFIG",
				"token create", "token list", "token revoke", "loopbackAuth", "publicUrl", "gateKeyFile", "curl ", "bb hello greet bb", "bb-server listening on",
			} {
				is.True(strings.Contains(r.stdout, want)) // mentions it
			}
		})
	}
}

func TestVersion(t *testing.T) {
	is := is.New(t)
	r := run(t, nil, "--version")
	is.Equal(r.code, 0)
	is.True(strings.HasPrefix(r.stdout, "bb-server "))
	is.Equal(run(t, nil, "version"), r)
}

// A command line that makes no sense is exit 2 and says what would do.
func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--listne 127.0.0.1:0", "did you mean --listen?"},
		{"-listen 127.0.0.1:0", "-listen is --listen"},
		{"--wat", "there is no flag --wat"},
		{"--listen", "--listen needs a value"},
		{"--listen=", "--listen needs a value"},
		{"--listen a:1 --listen b:1", "given twice"},
		{"--insecure=yes", "takes no value"},
		{"tokne list", "did you mean token?"},
		{"serve", `there is no word "serve"`},
		{"token", "token needs one of"},
		{"token craete x", "did you mean token create?"},
		{"token wat", "there is no token wat"},
		{"token create", "takes one NAME"},
		{"token create a b", "takes one NAME"},
		{"token list a", "takes no words"},
		{"token list --scope read", "for token create"},
		{"--scope read", "for token create"},
		{"token create x --expires soon", "neither a time"},
		{"token create x --expires -1h", "is past"},
		{"token create x --scope some", `scope "some"`},
		{"token create a/b", `name "a/b"`},
		{"--log-level loud", "none of debug, info, warn, error"},
		{"--log-format loud", "neither text nor json"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			is := is.New(t)
			r := run(t, map[string]string{"BB_DATA_DIR": t.TempDir()}, strings.Fields(tt.args)...)
			is.Equal(r.code, 2)
			is.Equal(r.stdout, "")
			is.True(strings.HasPrefix(r.stderr, "bb-server: "))
			is.True(strings.Contains(r.stderr, tt.want))
			is.True(strings.Contains(r.stderr, "--help"))
		})
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// printed returns the value and the source that --print-config shows for a key.
func printed(t *testing.T, r result, key string) string {
	t.Helper()
	for line := range strings.Lines(r.stdout) {
		if fields := strings.Fields(line); fields[0] == key {
			return strings.Join(fields[1:], " ")
		}
	}
	t.Fatalf("no %s in %s%s", key, r.stdout, r.stderr)
	return ""
}

func TestFlagsWinOverEnvironmentOverFileOverDefault(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "config.json"), `{"listen": "127.0.0.1:1", "logLevel": "warn"}`)
	for _, tt := range []struct {
		name, env string
		args      []string
		want      string
	}{
		{"flag", "127.0.0.1:2", []string{"--listen", "127.0.0.1:3"}, `"127.0.0.1:3" (flag --listen)`},
		{"flag with =", "127.0.0.1:2", []string{"--listen=127.0.0.1:3"}, `"127.0.0.1:3" (flag --listen)`},
		{"environment", "127.0.0.1:2", nil, `"127.0.0.1:2" (environment BB_LISTEN)`},
		{"file", "", nil, `"127.0.0.1:1" (file ` + file + `)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			r := run(t, map[string]string{"BB_LISTEN": tt.env}, append(tt.args, "--data-dir", dir, "--print-config")...)
			is.Equal(r.code, 0)
			is.Equal(printed(t, r, "listen"), tt.want)
		})
	}
	t.Run("default", func(t *testing.T) {
		is := is.New(t)
		r := run(t, nil, "--data-dir", t.TempDir(), "--print-config")
		is.Equal(printed(t, r, "listen"), `"127.0.0.1:38886" (default)`)
	})
	t.Run("file and flag of the log level", func(t *testing.T) {
		is := is.New(t)
		is.Equal(printed(t, run(t, nil, "--data-dir", dir, "--print-config"), "logLevel"), `"warn" (file `+file+`)`)
		is.Equal(printed(t, run(t, nil, "--data-dir", dir, "--print-config", "--log-level", "debug"), "logLevel"), `"debug" (flag --log-level)`)
	})
}

func TestDataDirectoryAndConfigFileHaveSourcesToo(t *testing.T) {
	is := is.New(t)
	home, dir := t.TempDir(), t.TempDir()
	other := write(t, filepath.Join(t.TempDir(), "other.json"), `{"origins": ["https://app.example.com"]}`)

	r := run(t, map[string]string{"HOME": home, "LocalAppData": home, "XDG_DATA_HOME": home}, "--print-config")
	is.Equal(r.code, 0)
	is.True(strings.HasSuffix(printed(t, r, "dataDir"), "(default)"))
	is.True(strings.Contains(printed(t, r, "dataDir"), home))
	is.True(strings.HasSuffix(printed(t, r, "config"), "(default, not there)"))

	r = run(t, map[string]string{"BB_DATA_DIR": dir, "BB_CONFIG": other}, "--print-config")
	is.Equal(printed(t, r, "dataDir"), `"`+dir+`" (environment BB_DATA_DIR)`)
	is.Equal(printed(t, r, "config"), `"`+other+`" (environment BB_CONFIG)`)
	is.Equal(printed(t, r, "origins"), `["https://app.example.com"] (file `+other+`)`)

	r = run(t, map[string]string{"BB_DATA_DIR": home, "BB_CONFIG": "nowhere"}, "--print-config", "--data-dir", dir, "--config", other, "--insecure", "--no-builtin-examples", "--development")
	is.Equal(printed(t, r, "dataDir"), `"`+dir+`" (flag --data-dir)`)
	is.Equal(printed(t, r, "config"), `"`+other+`" (flag --config)`)
	is.Equal(printed(t, r, "insecure"), "true (flag --insecure)")
	is.Equal(printed(t, r, "builtinExamples"), "false (flag --no-builtin-examples)")
	is.Equal(printed(t, r, "development"), "true (flag --development)")
	is.Equal(len(entries(t, dir)), 0) // printing makes nothing
}

func entries(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Each row is a config file that is refused, with what the message must name.
func TestBadConfigFiles(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"unknown key", `{"listne": "x"}`, []string{"listne: there is no such key", "did you mean listen?"}},
		{"unknown nested key", `{"tls": {"certificate": "c", "cert": "a", "key": "b"}}`, []string{"tls.certificate: there is no such key", "did you mean cert?"}},
		{"far from any key", `{"zebra": 1}`, []string{"zebra: there is no such key; there are listen, tls,"}},
		{"every problem", `{"listne": "x", "hosts": "h", "logLevel": "loud"}`, []string{"listne", "hosts: ", "logLevel: "}},
		{"type", `{"hosts": [1]}`, []string{"hosts.0: "}},
		{"missing", `{"tls": {"cert": "c"}}`, []string{"tls.key: "}},
		{"value", `{"loopbackAuth": "none"}`, []string{"loopbackAuth: "}},
		{"twice", `{"listen": "a:1", "listen": "b:1"}`, []string{"listen: "}},
		{"unknown key of an agent", `{"agents": [{"id": "a", "comand": ["a"], "command": ["a"]}]}`, []string{"agents.0.comand: there is no such key", "did you mean command?"}},
		{"agent without a command", `{"agents": [{"id": "a", "command": []}]}`, []string{"agents.0.command: "}},
		{"id of an agent", `{"agents": [{"id": "A b", "command": ["a"]}]}`, []string{"agents.0.id: "}},
		{"two agents with an id", `{"agents": [{"id": "a", "command": ["a"]}, {"id": "a", "command": ["b"]}]}`, []string{"agents.1.id: ", "twice"}},
		{"no JSON", `listen = x`, []string{"config.json"}},
		{"trailing", `{} {}`, []string{"config.json"}},
		{"empty", ``, []string{"config.json"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			dir := t.TempDir()
			file := write(t, filepath.Join(dir, "config.json"), tt.text)
			r := run(t, nil, "--data-dir", dir, "--print-config")
			is.Equal(r.code, 1)
			is.True(strings.Contains(r.stderr, file))
			for _, want := range tt.want {
				is.True(strings.Contains(r.stderr, want)) // names it
			}
		})
	}
	t.Run("named and absent", func(t *testing.T) {
		is := is.New(t)
		r := run(t, nil, "--data-dir", t.TempDir(), "--config", filepath.Join(t.TempDir(), "none.json"), "--print-config")
		is.Equal(r.code, 1)
		is.True(strings.Contains(r.stderr, "none.json"))
	})
	t.Run("in what is no directory", func(t *testing.T) {
		is := is.New(t)
		file := write(t, filepath.Join(t.TempDir(), "file"), "")
		r := run(t, nil, "--data-dir", file, "--listen", "127.0.0.1:0")
		is.Equal(r.code, 1)
		is.True(strings.Contains(r.stderr, "cannot write "+file)) // it is the data directory that does not do
	})
	t.Run("too large", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "config.json"), `{"hosts": ["`+strings.Repeat("h", 1<<20)+`"]}`)
		is.New(t).Equal(run(t, nil, "--data-dir", dir, "--print-config").code, 1)
	})
}

func TestPathsAreRelativeToTheConfigFile(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.json"), `{"tls": {"cert": "c.pem", "key": "/k.pem"}, "gateKeyFile": "gate.key",
		"agents": [{"id": "a", "command": ["./agent", "./acp"]}, {"id": "b", "command": ["agent"]}]}`)
	r := run(t, nil, "--data-dir", dir, "--print-config")
	is.True(strings.Contains(printed(t, r, "tls"), `{"cert":"`+filepath.Join(dir, "c.pem")+`","key":"/k.pem"}`))
	is.True(strings.Contains(printed(t, r, "gateKeyFile"), filepath.Join(dir, "gate.key")))
	is.True(strings.Contains(printed(t, r, "agents"), `"command":["`+filepath.Join(dir, "agent")+`","./acp"]`))
	is.True(strings.Contains(printed(t, r, "agents"), `"command":["agent"]`)) // looked for in the PATH
}

func TestAgentsAreNamedLikeNoOtherPlugin(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.json"), `{"agents": [{"id": "hello-slot", "command": ["a"]}]}`)
	var stderr bytes.Buffer
	code := program.Main(t.Context(), []string{"--data-dir", dir, "--listen", "127.0.0.1:0"}, program.Options{
		Stdout: &stderr, Stderr: &stderr, Getenv: func(string) string { return "" }, Examples: []*pluginsdk.Plugin{hello.Plugin()},
		Agent: func(a program.Agent) *pluginsdk.Plugin { return &pluginsdk.Plugin{ID: a.ID} },
	})
	is.Equal(code, 1)
	is.True(strings.Contains(stderr.String(), `agents.0.id: "hello-slot" is the id of a plugin that is there already`))
}

func TestTokensBeforeTheFirstStart(t *testing.T) {
	is := is.New(t)
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	r := run(t, nil, "token", "list", "--data-dir", dir)
	is.Equal(r.code, 0)
	is.True(strings.Contains(r.stderr, "no tokens"))
	_, err := os.Stat(dir)
	is.True(os.IsNotExist(err)) // looking makes nothing

	r = run(t, map[string]string{"BB_DATA_DIR": dir}, "token", "create", "laptop", "--scope", "read", "--expires", "P30D")
	is.Equal(r.code, 0)
	secret := strings.TrimSpace(r.stdout)
	is.True(strings.HasPrefix(secret, "bbt_")) // nothing else on stdout
	is.True(!strings.Contains(r.stderr, secret))

	is.Equal(run(t, nil, "token", "create", "laptop", "--data-dir", dir).code, 1) // the name is taken

	r = run(t, nil, "token", "list", "--data-dir", dir)
	is.True(strings.Contains(r.stdout, "laptop"))
	is.True(strings.Contains(r.stdout, "read"))
	is.True(strings.Contains(r.stdout, "never"))
	is.True(!strings.Contains(r.stdout, secret))

	is.Equal(run(t, nil, "token", "revoke", "laptop", "--data-dir", dir).code, 0)
	is.Equal(run(t, nil, "token", "revoke", "laptop", "--data-dir", dir).code, 1)
	is.True(strings.Contains(run(t, nil, "token", "list", "--data-dir", dir).stderr, "no tokens"))
}

func TestExpiryForms(t *testing.T) {
	for _, text := range []string{"2099-01-31T00:00:00Z", "2099-01-31", "720h", "P30D", "PT1M"} {
		t.Run(text, func(t *testing.T) {
			r := run(t, nil, "token", "create", "a", "--data-dir", t.TempDir(), "--expires", text)
			is.New(t).Equal(r.code, 0)
		})
	}
}

// served is the program while it serves.
type served struct {
	url            string
	stdout, stderr *watched
	stop           context.CancelFunc
	code           chan int
}

func serve(t *testing.T, args ...string) *served {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &served{stdout: newWatched(), stderr: newWatched(), stop: stop, code: make(chan int, 1)}
	go func() {
		s.code <- program.Main(ctx, args, program.Options{
			Stdout: s.stdout, Stderr: s.stderr, Getenv: func(string) string { return "" }, Examples: []*pluginsdk.Plugin{hello.Plugin()},
		})
	}()
	t.Cleanup(stop)
	select {
	case <-s.stdout.written:
	case code := <-s.code:
		t.Fatalf("exit %d: %s", code, s.stderr)
	case <-time.After(20 * time.Second):
		t.Fatal("not ready in time")
	}
	line := s.stdout.String()
	url, ok := strings.CutPrefix(line, "bb-server listening on ")
	if !ok || !strings.HasSuffix(url, "\n") {
		t.Fatalf("the ready line is %q", line)
	}
	s.url = strings.TrimSuffix(url, "\n")
	return s
}

// watched tells of its first write.
type watched struct {
	mu      sync.Mutex
	b       bytes.Buffer
	once    sync.Once
	written chan struct{}
}

func newWatched() *watched { return &watched{written: make(chan struct{})} }

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.once.Do(func() { close(w.written) })
	return w.b.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

func status(t *testing.T, url string, headers ...string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

const greet = "/api/v1/hello-slot/greeter/greet?name=bb"

func TestReadyLineIsAllOfStdout(t *testing.T) {
	is := is.New(t)
	s := serve(t, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	is.True(strings.HasPrefix(s.url, "http://127.0.0.1:"))
	is.Equal(status(t, s.url+greet), 200)
	s.stop()
	is.Equal(<-s.code, 0) // a graceful end
	is.Equal(s.stdout.String(), "bb-server listening on "+s.url+"\n")
	is.True(strings.Contains(s.stderr.String(), "curl '"+s.url)) // what to try
}

func TestNoBuiltinExamples(t *testing.T) {
	is := is.New(t)
	s := serve(t, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--no-builtin-examples")
	is.Equal(status(t, s.url+greet), 404)
	is.True(!strings.Contains(s.stderr.String(), "hello-slot"))
}

func TestSettingsReachTheServer(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	r := run(t, nil, "token", "create", "laptop", "--data-dir", dir)
	is.Equal(r.code, 0)
	write(t, filepath.Join(dir, "config.json"), `{"listen": "127.0.0.1:0", "loopbackAuth": "token", "origins": ["https://app.example.com"], "logLevel": "error"}`)
	s := serve(t, "--data-dir", dir)
	bearer := "Bearer " + strings.TrimSpace(r.stdout)
	is.Equal(status(t, s.url+greet), 401)
	is.Equal(status(t, s.url+greet, "Authorization", bearer), 200)
	is.Equal(s.stderr.String(), "") // logLevel error is quiet
	s.stop()
	is.Equal(<-s.code, 0)

	is.Equal(run(t, nil, "token", "revoke", "laptop", "--data-dir", dir).code, 0)
	s = serve(t, "--data-dir", dir)
	is.Equal(status(t, s.url+greet, "Authorization", bearer), 401) // revoked
}

func TestTokensAndSecondServerAreRefusedWhileOneRuns(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	s := serve(t, "--listen", "127.0.0.1:0", "--data-dir", dir)
	for _, args := range [][]string{{"token", "create", "x"}, {"token", "list"}, {"token", "revoke", "x"}} {
		r := run(t, nil, append(args, "--data-dir", dir)...)
		is.Equal(r.code, 1)
		is.True(strings.Contains(r.stderr, "bb-server listening on "+s.url))
		is.True(strings.Contains(r.stderr, "bb runtime token")) // and what to do instead
	}
	r := run(t, nil, "--listen", "127.0.0.1:0", "--data-dir", dir)
	is.Equal(r.code, 1)
	is.Equal(r.stdout, "")
	is.True(strings.Contains(r.stderr, "bb-server listening on "+s.url))
}

func TestUnsafeListenIsExit1AndSaysHow(t *testing.T) {
	is := is.New(t)
	r := run(t, nil, "--listen", "0.0.0.0:0", "--data-dir", t.TempDir())
	is.Equal(r.code, 1)
	is.True(strings.Contains(r.stderr, "bb-server token create"))
	is.True(strings.Contains(r.stderr, "--insecure"))
}

// Every line of a log in JSON is an object with what collectors look for.
func TestLogInJSON(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	s := serve(t, "--data-dir", dir, "--listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "debug")
	is.Equal(status(t, s.url+greet), 200)
	is.Equal(status(t, s.url+"/api/v1/nobody/x/y"), 404)
	s.stop()
	is.Equal(<-s.code, 0)
	lines := strings.Split(strings.TrimSpace(s.stderr.String()), "\n")
	is.True(len(lines) > 1)
	for _, line := range lines {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for _, key := range []string{"time", "level", "msg"} {
			is.True(record[key] != nil) // each has what collectors look for
		}
	}
	is.Equal(printed(t, run(t, map[string]string{"BB_LOG_FORMAT": "json"}, "--data-dir", dir, "--print-config"), "logFormat"), `"json" (environment BB_LOG_FORMAT)`)
}
