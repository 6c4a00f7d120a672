package procplugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/procplugin"
	"github.com/bb-kernel/bb/pluginsdk"
)

// The demo plugin, which is compiled in and a program of its own.

type textInput struct {
	Text string `json:"text" description:"Any text"`
}

type textOutput struct {
	Text string `json:"text"`
	N    int64  `json:"n"`
}

type followInput struct {
	Limit int `json:"limit,omitempty" minimum:"1"`
}

const taken kernelcontract.Code = "taken"

func words(names ...string) kernelcontract.CLI { return kernelcontract.CLI{Args: names} }

var (
	echo = &kernelcontract.Query[textInput, textOutput]{
		Ref: "demo/demo.echo", Summary: "Echo a text", CLI: words("text"),
		Tool: &kernelcontract.Tool{Presentation: kernelcontract.Presentation{Pending: "Echoing", Completed: "Echoed", Icon: "echo", Intent: "generic"}},
		RenderText: func(out textOutput, r kernelcontract.Render) string {
			return fmt.Sprintf("<%s> %d", out.Text, r.Columns())
		},
		Examples: []kernelcontract.Example[textInput]{{Input: textInput{Text: "hi"}, Note: "echoes"}},
	}
	add = &kernelcontract.Mutation[textInput, textOutput]{
		Ref: "demo/demo.add", Summary: "Add a text", CLI: words("text"),
		Errors: map[kernelcontract.Code]kernelcontract.ErrorDef{taken: {Like: kernelcontract.Conflict, Description: "It is there"}},
	}
	list   = &kernelcontract.Query[kernelcontract.None, []string]{Ref: "demo/demo.list", Summary: "List the texts"}
	drop   = &kernelcontract.Mutation[kernelcontract.None, kernelcontract.None]{Ref: "demo/demo.drop", Summary: "Drop all texts", Destructive: true}
	who    = &kernelcontract.Query[textInput, textOutput]{Ref: "demo/demo.who", Summary: "Say who calls, by way of another plugin", CLI: words("text")}
	follow = &kernelcontract.Stream[followInput, textOutput]{
		Ref: "demo/demo.follow", Summary: "Count", Cursor: func(o textOutput) string { return strconv.FormatInt(o.N, 10) },
	}
	do   = &kernelcontract.Query[textInput, textOutput]{Ref: "demo/demo.do", Summary: "Do what the text says", CLI: words("text"), Wait: 3 * time.Second}
	demo = &kernelcontract.Service{ID: "demo/demo", Summary: "Show what a plugin can do", Methods: []kernelcontract.Method{echo, add, list, drop, who, follow, do}}

	relay = &kernelcontract.Query[textInput, textOutput]{Ref: "other/other.relay", Summary: "Say who calls", CLI: words("text")}
	count = &kernelcontract.Stream[followInput, textOutput]{Ref: "other/other.count", Summary: "Count for others"}
	other = &kernelcontract.Service{ID: "other/other", Summary: "Be called by others", Methods: []kernelcontract.Method{relay, count}}
)

// otherPlugin is compiled in.
func otherPlugin() *pluginsdk.Plugin {
	return &pluginsdk.Plugin{ID: "other", Version: "1", Services: []*kernelcontract.Service{other}, Setup: func(_ context.Context, h *pluginsdk.Host) error {
		h.Provide(other, relay.Handle(func(ctx context.Context, in textInput) (textOutput, error) {
			call := kernelcontract.CallFrom(ctx)
			if in.Text == "fail" {
				return textOutput{}, kernelcontract.NotFound.Errorf("there is nothing")
			}
			return textOutput{Text: call.Principal.Actor + " " + string(call.Principal.Via), N: 1<<53 + 1}, nil
		}), count.Handle(func(ctx context.Context, in followInput) (iter.Seq2[textOutput, error], error) {
			return counting(ctx, 0, in.Limit), nil
		}))
		return nil
	}}
}

func counting(ctx context.Context, from int64, limit int) iter.Seq2[textOutput, error] {
	return func(yield func(textOutput, error) bool) {
		for n := from + 1; limit == 0 || n <= int64(limit); n++ {
			if ctx.Err() != nil || !yield(textOutput{Text: "item", N: n}, nil) {
				return
			}
		}
	}
}

// demoPlugin is the plugin as a value.
func demoPlugin() *pluginsdk.Plugin {
	return &pluginsdk.Plugin{
		ID: "demo", Version: "1.2.3", Summary: "Shows what a plugin can do", Services: []*kernelcontract.Service{demo},
		Config: []pluginsdk.ConfigKey{{Key: "greeting", Summary: "What is said", Default: "hello"}, {Key: "must", Summary: "What must be set", Required: true}},
		Setup:  setupDemo,
	}
}

type demoState struct {
	h     *pluginsdk.Host
	other kernelcontract.Caller
}

func setupDemo(ctx context.Context, h *pluginsdk.Host) error {
	h.Guard(func(_ context.Context, info *kernelcontract.CallInfo, input json.RawMessage) error {
		if strings.Contains(string(input), "forbidden word") {
			return errors.New("it has a forbidden word")
		}
		return nil
	})
	return setupUnguarded(ctx, h)
}

// unguardedPlugin is the demo plugin without its guard.
func unguardedPlugin() *pluginsdk.Plugin {
	p := demoPlugin()
	p.Setup = setupUnguarded
	return p
}

func setupUnguarded(_ context.Context, h *pluginsdk.Host) error {
	d := &demoState{h: h, other: h.Require(other)}
	h.Provide(demo, echo.Handle(d.echo), add.Handle(d.add), list.Handle(d.list), drop.Handle(d.drop), who.Handle(d.who), follow.Handle(d.follow), do.Handle(d.do))
	return nil
}

func (d *demoState) echo(_ context.Context, in textInput) (textOutput, error) {
	return textOutput{Text: in.Text, N: 1<<53 + 1}, nil
}

func (d *demoState) add(ctx context.Context, in textInput) (textOutput, error) {
	var n int64
	err := d.h.KV().Transact(ctx, func(tx pluginsdk.Tx) error {
		var have string
		if err := tx.Get("text/"+in.Text, &have); err == nil {
			return taken.Errorf("%s is there", in.Text)
		} else if !errors.Is(err, kernelcontract.NotFound) {
			return err
		}
		if err := tx.Get("count", &n); err != nil && !errors.Is(err, kernelcontract.NotFound) {
			return err
		}
		n++
		if err := tx.Put("count", n); err != nil {
			return err
		}
		return tx.Put("text/"+in.Text, in.Text)
	})
	return textOutput{Text: in.Text, N: n}, err
}

func (d *demoState) list(ctx context.Context, _ kernelcontract.None) ([]string, error) {
	texts := []string{}
	for e, err := range d.h.KV().List(ctx, pluginsdk.Range{Prefix: "text/"}) {
		if err != nil {
			return nil, err
		}
		var s string
		if err := e.Decode(&s); err != nil {
			return nil, err
		}
		texts = append(texts, s)
	}
	return texts, nil
}

func (d *demoState) drop(ctx context.Context, _ kernelcontract.None) (kernelcontract.None, error) {
	return kernelcontract.None{}, d.h.KV().Transact(ctx, func(tx pluginsdk.Tx) error {
		for e, err := range tx.List(pluginsdk.Range{}) {
			if err != nil {
				return err
			}
			if err := tx.Delete(e.Key); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *demoState) who(ctx context.Context, in textInput) (textOutput, error) {
	return relay.Call(ctx, d.other, in)
}

func (d *demoState) follow(ctx context.Context, in followInput) (iter.Seq2[textOutput, error], error) {
	since := kernelcontract.CallFrom(ctx).Since
	from, err := strconv.ParseInt(since, 10, 64)
	if since != "" && err != nil {
		return nil, kernelcontract.Precondition.Errorf("the cursor %q is not one", since)
	}
	return counting(ctx, from, in.Limit), nil
}

// do does what the text says.
func (d *demoState) do(ctx context.Context, in textInput) (textOutput, error) {
	word, rest, _ := strings.Cut(in.Text, " ")
	switch word {
	case "config":
		var v string
		err := d.h.Config(ctx, rest, &v)
		return textOutput{Text: v}, err
	case "secret":
		v, err := d.h.Secret(ctx, rest)
		return textOutput{Text: v}, err
	case "log":
		d.h.Log().WarnContext(ctx, rest, "number", 7)
	case "print":
		fmt.Println(rest)
	case "stderr":
		fmt.Fprintln(os.Stderr, rest)
	case "fail":
		return textOutput{}, errors.New("a secret detail")
	case "panic":
		panic("a secret detail")
	case "wait":
		<-ctx.Done()
		return textOutput{}, ctx.Err()
	case "crash":
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(3)
	case "pose":
		ctx = kernelcontract.WithCall(ctx, &kernelcontract.CallInfo{ID: "made-up", Principal: kernelcontract.Principal{Actor: "user:root"}})
		return relay.Call(ctx, d.other, textInput{Text: "x"})
	case "sum":
		n := 0
		limit, _ := strconv.Atoi(rest)
		for _, err := range count.Stream(ctx, d.other, followInput{Limit: limit}) {
			if err != nil {
				return textOutput{}, err
			}
			n++
		}
		return textOutput{N: int64(n)}, nil
	case "some": // of a stream without an end
		n := 0
		for _, err := range count.Stream(ctx, d.other, followInput{}) {
			if err != nil {
				return textOutput{}, err
			}
			if n++; n == 200 {
				break
			}
		}
		return textOutput{N: int64(n)}, nil
	case "environ":
		return textOutput{Text: strings.Join(os.Environ(), "\n")}, nil
	case "pid":
		return textOutput{N: int64(os.Getpid())}, nil
	}
	return textOutput{Text: "done"}, nil
}

// plugins are what this test program is when it is run as one.
func plugins(name string) *pluginsdk.Plugin {
	switch name {
	case "demo":
		return demoPlugin()
	case "unguarded":
		return unguardedPlugin()
	}
	return nil
}

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "plugin" {
		name := os.Args[2]
		os.Args = os.Args[:1]
		if p := plugins(name); p != nil {
			pluginsdk.Main(p)
		}
		misbehave(name)
	}
	os.Exit(m.Run())
}

// installed makes the folder of a plugin whose program is this test program.
func installed(t testing.TB, p *pluginsdk.Plugin, name string) string {
	t.Helper()
	dir := t.TempDir()
	c, err := pluginsdk.ContractOf(p)
	if err != nil {
		t.Fatal(err)
	}
	c.Run = []string{"./" + p.ID, "plugin", name}
	raw, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "contract.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, p.ID)
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	if err := os.Symlink(self, file); err != nil {
		t.Fatal(err)
	}
	return dir
}

// opened is the demo plugin as a program.
func opened(t testing.TB, name string) *pluginsdk.Plugin {
	t.Helper()
	p, err := procplugin.Open(installed(t, demoPlugin(), name), procplugin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// kernel runs plugins.
func kernel(t testing.TB, o kernelcore.Options) *kernelcore.Kernel {
	t.Helper()
	k, err := kernelcore.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}
