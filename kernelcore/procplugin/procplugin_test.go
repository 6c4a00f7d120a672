package procplugin_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk"
)

// logs keeps what is logged.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for !holds() {
		if time.Now().After(end) {
			t.Fatalf("it never came: %s", what)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(what)
		}
	}
}

// Same plugin, same test: compiled in, and as a program of its own.
func TestPlugin(t *testing.T) {
	for form, plugin := range map[string]func(*testing.T) *pluginsdk.Plugin{
		"compiled in": func(*testing.T) *pluginsdk.Plugin { return demoPlugin() },
		"a program":   func(t *testing.T) *pluginsdk.Plugin { return opened(t, "demo") },
	} {
		t.Run(form, func(t *testing.T) {
			out := &logs{}
			k := kernel(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{otherPlugin(), plugin(t)}, Development: true, Log: slog.New(slog.NewTextHandler(out, nil))})
			caller := k.As(kernelcontract.Principal{Actor: "user:ann", Via: kernelcontract.ViaToken})
			ctx := t.Context()
			say := func(t *testing.T, text string) (textOutput, error) {
				t.Helper()
				return do.Call(ctx, caller, textInput{Text: text})
			}
			t.Run("no problems", func(t *testing.T) {
				is.New(t).Equal(k.Problems(), []error{})
			})
			t.Run("a query with an exact integer", func(t *testing.T) {
				is := is.New(t)
				got, err := echo.Call(ctx, caller, textInput{Text: "<\u2028&é\x00>"})
				is.NoErr(err)
				is.Equal(got, textOutput{Text: "<\u2028&é\x00>", N: 1<<53 + 1})
			})
			t.Run("its own text", func(t *testing.T) {
				is := is.New(t)
				r := k.RunTool(ctx, "t1", kernelcontract.Context{}, "demo_demo_echo", []byte(`{"text":"x"}`))
				is.True(r.Success)
				is.True(strings.HasPrefix(r.Content[0].Text, "<x> "))
			})
			t.Run("issues of an input", func(t *testing.T) {
				is := is.New(t)
				err := caller.Call(ctx, "demo/demo.echo", map[string]any{"txt": 1}, nil)
				var e *kernelcontract.Error
				is.True(errors.As(err, &e))
				is.Equal(len(e.Issues), 2)
			})
			t.Run("transactions and declared errors", func(t *testing.T) {
				is := is.New(t)
				got, err := add.Call(ctx, caller, textInput{Text: "<one>"})
				is.NoErr(err)
				is.Equal(got.N, int64(1))
				_, err = add.Call(ctx, caller, textInput{Text: "<one>"})
				is.True(errors.Is(err, taken))
				is.Equal(kernelcontract.AsError(err).Message, "<one> is there")
				is.Equal(kernelcontract.AsError(err).Like, kernelcontract.Conflict)
				var wait sync.WaitGroup
				for n := range 20 {
					wait.Go(func() {
						_, err := add.Call(ctx, caller, textInput{Text: fmt.Sprintf("n%02d", n)})
						is.NoErr(err)
					})
				}
				wait.Wait()
				got, err = add.Call(ctx, caller, textInput{Text: "last"})
				is.NoErr(err)
				is.Equal(got.N, int64(22)) // none was lost
				texts, err := list.Call(ctx, caller, kernelcontract.None{})
				is.NoErr(err)
				is.Equal(len(texts), 22)
				is.Equal(texts[0], "<one>")
				_, err = drop.Call(ctx, caller, kernelcontract.None{})
				is.NoErr(err)
				texts, err = list.Call(ctx, caller, kernelcontract.None{})
				is.NoErr(err)
				is.Equal(len(texts), 0)
			})
			t.Run("another plugin, as the caller", func(t *testing.T) {
				is := is.New(t)
				got, err := who.Call(ctx, caller, textInput{Text: "x"})
				is.NoErr(err)
				is.Equal(got, textOutput{Text: "user:ann plugin:demo", N: 1<<53 + 1})
				_, err = who.Call(ctx, caller, textInput{Text: "fail"})
				is.True(errors.Is(err, kernelcontract.NotFound))
			})
			t.Run("streams of another plugin", func(t *testing.T) {
				is := is.New(t)
				got, err := say(t, "sum 1000")
				is.NoErr(err)
				is.Equal(got.N, int64(1000))
				got, err = say(t, "some")
				is.NoErr(err)
				is.Equal(got.N, int64(200))
			})
			t.Run("a stream, resumed", func(t *testing.T) {
				is := is.New(t)
				n := int64(5)
				for ev, err := range follow.Events(ctx, caller, followInput{Limit: 1000}, "5") {
					is.NoErr(err)
					n++
					is.Equal(ev.Cursor, fmt.Sprint(n))
				}
				is.Equal(n, int64(1000))
			})
			t.Run("a stream that is refused", func(t *testing.T) {
				is := is.New(t)
				for _, err := range follow.Events(ctx, caller, followInput{}, "x") {
					is.True(errors.Is(err, kernelcontract.Precondition))
				}
			})
			t.Run("a stream that is left", func(t *testing.T) {
				is := is.New(t)
				n := 0
				for _, err := range follow.Stream(ctx, caller, followInput{}) {
					is.NoErr(err)
					if n++; n == 500 {
						break
					}
				}
				is.Equal(n, 500)
				eventually(t, "the stream is closed", func() bool { return k.OpenStreams() == 0 })
			})
			t.Run("settings and secrets", func(t *testing.T) {
				is := is.New(t)
				got, err := say(t, "config greeting")
				is.NoErr(err)
				is.Equal(got.Text, "hello")
				_, err = say(t, "config must")
				is.True(errors.Is(err, kernelcontract.NeedsConfiguration))
				is.True(strings.Contains(err.Error(), "bb plugin config set demo must"))
				_, err = kernelapi.SetConfig.Call(ctx, caller, kernelapi.ConfigSetInput{ID: "demo", Key: "must", Value: []byte(`"now"`)})
				is.NoErr(err)
				got, err = say(t, "config must")
				is.NoErr(err)
				is.Equal(got.Text, "now")
				_, err = say(t, "secret key")
				is.True(errors.Is(err, kernelcontract.NeedsConfiguration))
			})
			t.Run("a guard", func(t *testing.T) {
				is := is.New(t)
				_, err := echo.Call(ctx, caller, textInput{Text: "a forbidden word"})
				is.True(errors.Is(err, kernelcontract.Vetoed))
				is.Equal(kernelcontract.AsError(err).Message, "it has a forbidden word")
				is.Equal(kernelcontract.AsError(err).Details["by"], "demo")
				_, err = relay.Call(ctx, caller, textInput{Text: "a forbidden word"})
				is.True(errors.Is(err, kernelcontract.Vetoed))
			})
			t.Run("what is not declared stays in the log", func(t *testing.T) {
				is := is.New(t)
				for _, how := range []string{"fail", "panic"} {
					_, err := say(t, how)
					is.True(errors.Is(err, kernelcontract.Internal))
					is.True(!strings.Contains(err.Error(), "secret detail"))
				}
				eventually(t, "the log has it", func() bool { return strings.Count(out.String(), "a secret detail") >= 2 })
			})
			t.Run("the log", func(t *testing.T) {
				is := is.New(t)
				_, err := say(t, "log something odd")
				is.NoErr(err)
				eventually(t, "the record", func() bool {
					return strings.Contains(out.String(), `level=WARN msg="something odd" plugin=demo`) && strings.Contains(out.String(), "number=7")
				})
			})
			t.Run("the deadline", func(t *testing.T) {
				is := is.New(t)
				short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
				_, err := do.Call(short, caller, textInput{Text: "wait"})
				is.True(errors.Is(err, kernelcontract.Timeout))
			})
			t.Run("a caller who leaves", func(t *testing.T) {
				is := is.New(t)
				gone, cancel := context.WithCancel(ctx)
				time.AfterFunc(20*time.Millisecond, cancel)
				_, err := do.Call(gone, caller, textInput{Text: "wait"})
				is.True(errors.Is(err, kernelcontract.Cancelled))
			})
			t.Run("a new life", func(t *testing.T) {
				is := is.New(t)
				is.NoErr(k.Reload(ctx, "demo"))
				got, err := echo.Call(ctx, caller, textInput{Text: "again"})
				is.NoErr(err)
				is.Equal(got.Text, "again")
			})
		})
	}
}
