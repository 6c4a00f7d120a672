package pluginsdk_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/contract"
)

var (
	servedEcho  = &kernelcontract.Query[servedInput, servedInput]{Ref: "served/served.echo", Summary: "Echo"}
	servedCount = &kernelcontract.Stream[kernelcontract.None, int]{Ref: "served/served.count", Summary: "Count"}
	served      = &kernelcontract.Service{ID: "served/served", Summary: "Be served", Methods: []kernelcontract.Method{servedEcho, servedCount}}
)

type servedInput struct {
	Text string `json:"text"`
}

// servedPlugin is a plugin for Serve; stopped is told when its stop function runs.
func servedPlugin(stopped chan<- struct{}) *pluginsdk.Plugin {
	return &pluginsdk.Plugin{ID: "served", Version: "1", Services: []*kernelcontract.Service{served}, Setup: func(_ context.Context, h *pluginsdk.Host) error {
		h.OnStop(func(context.Context) error {
			close(stopped)
			return nil
		})
		h.Provide(served, servedEcho.Handle(func(_ context.Context, in servedInput) (servedInput, error) { return in, nil }),
			servedCount.Handle(func(ctx context.Context, _ kernelcontract.None) (iter.Seq2[int, error], error) {
				return func(yield func(int, error) bool) {
					for n := 0; ctx.Err() == nil && yield(n, nil); n++ {
					}
				}, nil
			}))
		return nil
	}}
}

// The lines of a connection that goes well.
const (
	lineInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"pluginId":"served"}}` + "\n"
	lineSetup      = `{"jsonrpc":"2.0","id":2,"method":"setup","params":{}}` + "\n"
	lineCall       = `{"jsonrpc":"2.0","id":3,"method":"call","params":{"call":{"id":"c1","ref":"served/served.echo"},"input":{"text":"hi"}}}` + "\n"
)

// conversation serves lines one after the other, each when the one before is answered, and returns the answers by id.
func conversation(t *testing.T, lines ...string) map[string]string {
	t.Helper()
	in, w := io.Pipe()
	r, out := io.Pipe()
	stopped, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- pluginsdk.Serve(t.Context(), servedPlugin(stopped), in, out)
		out.Close()
	}()
	answers := map[string]string{}
	reader := bufio.NewReader(r)
	for _, line := range lines {
		if _, err := io.WriteString(w, line); err != nil {
			t.Fatal(err)
		}
		answer, err := reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var m struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(answer), &m); err != nil {
			t.Fatal(err)
		}
		answers[string(m.ID)] = answer
	}
	go io.Copy(io.Discard, r)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if answers["2"] != "" && strings.Contains(answers["2"], `"result"`) {
		<-stopped // the end of the input stops the plugin
	}
	return answers
}

func TestServe(t *testing.T) {
	t.Run("a call", func(t *testing.T) {
		is := is.New(t)
		answers := conversation(t, lineInitialize, lineSetup, lineCall)
		is.True(strings.Contains(answers["2"], `"methods":["served/served.echo","served/served.count"]`))
		is.Equal(answers["3"], `{"jsonrpc":"2.0","id":3,"result":{"result":{"text":"hi"}}}`+"\n")
	})
	for name, c := range map[string]struct {
		lines []string
		want  string // of the last answer, whose id is 9
	}{
		"another version":        {[]string{`{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocol":2,"pluginId":"served"}}` + "\n"}, `"supported":[1]`},
		"another plugin":         {[]string{`{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocol":1,"pluginId":"x"}}` + "\n"}, "this is the plugin served, not x"},
		"setup before":           {[]string{`{"jsonrpc":"2.0","id":9,"method":"setup"}` + "\n"}, "setup comes once, after initialize"},
		"setup twice":            {[]string{lineInitialize, lineSetup, `{"jsonrpc":"2.0","id":9,"method":"setup"}` + "\n"}, "setup comes once"},
		"a call before":          {[]string{lineInitialize, strings.Replace(lineCall, `"id":3`, `"id":9`, 1)}, "is not set up"},
		"an unknown method":      {[]string{lineInitialize, lineSetup, strings.Replace(strings.Replace(lineCall, `"id":3`, `"id":9`, 1), "served.echo", "served.no", 1)}, `"code":"not_found"`},
		"a call of a stream":     {[]string{lineInitialize, lineSetup, strings.Replace(strings.Replace(lineCall, `"id":3`, `"id":9`, 1), "served.echo", "served.count", 1)}, "only opened"},
		"a stream of a call":     {[]string{lineInitialize, lineSetup, `{"jsonrpc":"2.0","id":9,"method":"stream/open","params":{"call":{"id":"c","ref":"served/served.echo"},"input":{}}}` + "\n"}, "only called"},
		"params of another type": {[]string{lineInitialize, lineSetup, `{"jsonrpc":"2.0","id":9,"method":"call","params":{"call":7}}` + "\n"}, "the params of call cannot be read"},
		"an unknown request":     {[]string{`{"jsonrpc":"2.0","id":9,"method":"more"}` + "\n"}, "-32601"},
		"a text of no text":      {[]string{lineInitialize, lineSetup, `{"jsonrpc":"2.0","id":9,"method":"render","params":{"ref":"served/served.echo","value":{}}}` + "\n"}, "has no text form of its own"},
		"a ping":                 {[]string{`{"jsonrpc":"2.0","id":9,"method":"ping"}` + "\n"}, `"result":{}`},
		"a shutdown":             {[]string{lineInitialize, lineSetup, `{"jsonrpc":"2.0","id":9,"method":"shutdown","params":{"graceMs":1000}}` + "\n"}, `"result":{}`},
	} {
		t.Run(name, func(t *testing.T) {
			answers := conversation(t, c.lines...)
			if !strings.Contains(answers["9"], c.want) {
				t.Errorf("%s does not say %q", answers["9"], c.want)
			}
		})
	}
}

// Whatever the kernel sends, the program ends with its input and stops its plugin.
func FuzzServe(f *testing.F) {
	f.Add(lineInitialize + lineSetup + lineCall)
	f.Add(lineInitialize + lineSetup + `{"jsonrpc":"2.0","id":4,"method":"stream/open","params":{"call":{"id":"c2","ref":"served/served.count"},"input":{},"credit":3}}` + "\n" + `{"jsonrpc":"2.0","method":"cancel","params":{"call":"c2"}}` + "\n")
	f.Add("junk\n{}\n" + lineSetup)
	f.Fuzz(func(t *testing.T, input string) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		stopped := make(chan struct{})
		_ = pluginsdk.Serve(ctx, servedPlugin(stopped), strings.NewReader(input), io.Discard)
		if ctx.Err() != nil {
			t.Fatalf("%q did not end", input)
		}
	})
}

// TestMain makes this test program a plugin when it is run as one.
func TestMain(m *testing.M) {
	if os.Getenv("BB_TEST_PLUGIN") != "" {
		pluginsdk.Main(servedPlugin(make(chan struct{})))
	}
	os.Exit(m.Run())
}

func TestMainWords(t *testing.T) {
	is := is.New(t)
	self, err := os.Executable()
	is.NoErr(err)
	run := func(words ...string) (string, int) {
		cmd := exec.Command(self, words...)
		cmd.Env = append(os.Environ(), "BB_TEST_PLUGIN=1")
		cmd.Stdin = strings.NewReader("")
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, status := run("--manifest")
	is.Equal(status, 0)
	c, err := contract.Decode([]byte(out))
	is.NoErr(err)
	is.Equal(c.ID, "served")
	dir := filepath.Join(t.TempDir(), "package")
	for range 2 { // over what is there
		out, status = run("--package", dir)
		is.Equal(status, 0)
		is.Equal(out, "")
	}
	info, err := os.Stat(c.Command(dir, "linux")[0])
	is.NoErr(err)
	is.True(info.Mode()&0o111 != 0)
	out, status = run("--help")
	is.Equal(status, 2)
	is.True(strings.Contains(out, "This is the plugin served"))
	out, status = run() // its input has ended
	is.Equal(status, 0)
	is.Equal(out, "")
}
