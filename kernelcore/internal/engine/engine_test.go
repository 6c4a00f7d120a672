package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

type input struct {
	Name   string `json:"name" minLength:"1"`
	Thread string `json:"thread,omitempty"`
	Greet  string `json:"greet,omitempty" default:"Hello"`
}

type output struct {
	Text string `json:"text" maxLength:"40"`
}

const muted kernelcontract.Code = "muted"

// fixture is a plugin with one method of each kind whose functions a test sets.
type fixture struct {
	query  *kernelcontract.Query[input, output]
	change *kernelcontract.Mutation[input, output]
	follow *kernelcontract.Stream[input, output]
	host   *kernelcontract.Query[input, output]

	onQuery  func(ctx context.Context, in input) (output, error)
	onChange func(ctx context.Context, in input) (output, error)
	onFollow func(ctx context.Context, in input) (iter.Seq2[output, error], error)

	service  *kernelcontract.Service
	guards   []engine.Guard
	instance *engine.Instance
}

func newFixture() *fixture {
	f := &fixture{}
	errs := map[kernelcontract.Code]kernelcontract.ErrorDef{muted: {Like: kernelcontract.Forbidden, Retryable: true, Description: "asked for silence"}}
	f.query = &kernelcontract.Query[input, output]{
		Ref: "demo/main.query", Summary: "Reads", Ambient: map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID}, Errors: errs,
	}
	f.change = &kernelcontract.Mutation[input, output]{Ref: "demo/main.change", Summary: "Changes", Errors: errs}
	f.follow = &kernelcontract.Stream[input, output]{Ref: "demo/main.follow", Summary: "Follows", Cursor: func(o output) string { return o.Text }}
	f.host = &kernelcontract.Query[input, output]{Ref: "demo/main.host", Summary: "Runs on a host", OnHost: true}
	f.service = &kernelcontract.Service{ID: "demo/main", Summary: "Demo", Methods: []kernelcontract.Method{f.query, f.change, f.follow, f.host}}
	f.onQuery = func(_ context.Context, in input) (output, error) {
		return output{Text: in.Greet + ", " + in.Name + in.Thread}, nil
	}
	f.onChange = f.onQuery
	return f
}

func (f *fixture) newInstance(t testing.TB) *engine.Instance {
	t.Helper()
	def, err := f.service.Def()
	if err != nil {
		t.Fatal(err)
	}
	handlers := map[string]kernelcontract.Handler{}
	for _, h := range []kernelcontract.Handler{
		f.query.Handle(func(ctx context.Context, in input) (output, error) { return f.onQuery(ctx, in) }),
		f.change.Handle(func(ctx context.Context, in input) (output, error) { return f.onChange(ctx, in) }),
		f.follow.Handle(func(ctx context.Context, in input) (iter.Seq2[output, error], error) { return f.onFollow(ctx, in) }),
	} {
		handlers[h.Ref()] = h
	}
	return engine.NewInstance(engine.Source{ID: "demo", Services: []*kernelcontract.ServiceDef{def}, Handlers: handlers, Guards: f.guards})
}

func (f *fixture) engine(t testing.TB, o engine.Options) *engine.Engine {
	t.Helper()
	e := engine.New(o)
	t.Cleanup(e.Stop)
	f.instance = f.newInstance(t)
	e.Swap(engine.NewCatalog(1, []*engine.Instance{f.instance}, nil))
	return e
}

var operator = kernelcontract.Principal{Actor: "user:local", Via: kernelcontract.ViaLoopback}

func request(e *engine.Engine, method, in string) *engine.Request {
	return &engine.Request{Method: e.Catalog().Ref("demo/main." + method), Input: []byte(in), Principal: operator, Local: true}
}

func TestPipelineFillsValidatesAndAnswers(t *testing.T) {
	for _, c := range []struct{ name, in, thread, want string }{
		{"defaults are filled", `{"name":"bb"}`, "", `{"text":"Hello, bb"}`},
		{"a given value wins over the default", `{"name":"bb","greet":"Hi"}`, "", `{"text":"Hi, bb"}`},
		{"an omitted ambient field comes from the context", `{"name":"bb"}`, "t1", `{"text":"Hello, bbt1"}`},
		{"a given ambient field wins over the context", `{"name":"bb","thread":"t2"}`, "t1", `{"text":"Hello, bbt2"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			e := newFixture().engine(t, engine.Options{Development: true})
			r := request(e, "query", c.in)
			r.Context.ThreadID = c.thread
			res, err := e.Call(t.Context(), r)
			is.True(err == nil)
			is.Equal(string(res.JSON), c.want)
		})
	}
}

func TestHostsAreResolvedInAmbientFields(t *testing.T) {
	for _, c := range []struct{ name, in, context, want string }{
		{"a given name", `{"name":"bb","thread":"box"}`, "", `{"text":"Hello, bbH1"}`},
		{"white space and order", "{ \"thread\" : \"box\" , \"name\":\"bb\" }", "", `{"text":"Hello, bbH1"}`},
		{"escapes in a name", `{"name":"bb","thread":"b\u006fx"}`, "", `{"text":"Hello, bbH1"}`},
		{"the context's", `{"name":"bb"}`, "box", `{"text":"Hello, bbH1"}`},
		{"what is no host", `{"name":"box","thread":"other"}`, "", `{"text":"Hello, boxother"}`},
		{"a field that is left out", `{"name":"box"}`, "", `{"text":"Hello, box"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture()
			f.query.Ambient = map[string]kernelcontract.ContextKey{"thread": kernelcontract.HostID}
			e := f.engine(t, engine.Options{ResolveHost: func(name string) string {
				if name == "box" {
					return "H1"
				}
				return name
			}})
			r := request(e, "query", c.in)
			r.Context.HostID = c.context
			res, err := e.Call(t.Context(), r)
			is.True(err == nil)
			is.Equal(string(res.JSON), c.want)
		})
	}
}

// badError panics when it is looked at.
type badError struct{}

func (badError) Error() string { panic("no text") }
func (badError) Is(error) bool { panic("no identity") }
func (badError) As(any) bool   { panic("no type") }

func TestPluginsRecoverSwallowsNothing(t *testing.T) {
	is := is.New(t)
	f := newFixture()
	f.onFollow = func(context.Context, input) (iter.Seq2[output, error], error) {
		return func(yield func(output, error) bool) {
			defer func() { _ = recover() }()
			yield(output{}, badError{})
		}, nil
	}
	e := f.engine(t, engine.Options{})
	s, err := e.Open(t.Context(), request(e, "follow", `{"name":"bb"}`))
	is.True(err == nil)
	last := <-s.Frames
	is.True(last.Err != nil) // the stream fails: it does not look as if it had ended
	is.Equal(last.Err.Code, kernelcontract.Internal)
	s.Close(last.Err)
}

func TestAmbientFillLeavesBrokenInputToValidation(t *testing.T) {
	for _, in := range []string{`[]`, `null`, `{"name":`, `{"name":"x"} x`, `"x"`, ``, `{}`, ` { } `} {
		is := is.New(t)
		e := newFixture().engine(t, engine.Options{})
		r := request(e, "query", in)
		r.Context.ThreadID = `t"1`
		_, err := e.Call(t.Context(), r)
		is.True(err != nil)
		is.Equal(err.Code, kernelcontract.InvalidInput)
		is.True(len(err.Issues) > 0) // an input that misses name, or is no object
	}
}

func TestAdmission(t *testing.T) {
	for _, c := range []struct {
		name   string
		access kernelcontract.Access
		change func(*engine.Request)
		want   kernelcontract.Code
	}{
		{"an operator is admitted", kernelcontract.Access{}, func(*engine.Request) {}, ""},
		{"a host is not an operator", kernelcontract.Access{}, func(r *engine.Request) { r.Principal.Via = kernelcontract.ViaHost }, kernelcontract.Forbidden},
		{"a host is a machine", kernelcontract.Access{Auth: kernelcontract.AuthMachine}, func(r *engine.Request) { r.Principal.Via = kernelcontract.ViaHost }, ""},
		{"an anonymous caller is no operator", kernelcontract.Access{}, func(r *engine.Request) { r.Principal.Via = kernelcontract.ViaAnonymous }, kernelcontract.Unauthenticated},
		{"local wants a local caller", kernelcontract.Access{Local: true}, func(r *engine.Request) { r.Local = false }, kernelcontract.Forbidden},
		{"local admits a local caller", kernelcontract.Access{Local: true}, func(*engine.Request) {}, ""},
		{"an actor outside actors", kernelcontract.Access{Actors: []kernelcontract.ActorKind{kernelcontract.User}}, func(r *engine.Request) { r.Principal.Actor = "agent:t1" }, kernelcontract.Forbidden},
		{"an actor inside actors", kernelcontract.Access{Actors: []kernelcontract.ActorKind{kernelcontract.Agent}}, func(r *engine.Request) { r.Principal.Actor = "agent:t1" }, ""},
		{"a plugin's relay", kernelcontract.Access{}, func(r *engine.Request) { r.Principal.Via = kernelcontract.ViaPlugin("x") }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture()
			f.query.Access = c.access
			e := f.engine(t, engine.Options{})
			r := request(e, "query", `{"name":"bb"}`)
			c.change(r)
			_, err := e.Call(t.Context(), r)
			if c.want == "" {
				is.True(err == nil)
				return
			}
			is.True(err != nil)
			is.Equal(err.Code, c.want)
		})
	}
}

func TestScopeReadAdmitsQueriesOnly(t *testing.T) {
	is := is.New(t)
	e := newFixture().engine(t, engine.Options{})
	r := request(e, "query", `{"name":"bb"}`)
	r.ReadOnly = true
	_, err := e.Call(t.Context(), r)
	is.True(err == nil)
	r = request(e, "change", `{"name":"bb"}`)
	r.ReadOnly = true
	_, err = e.Call(t.Context(), r)
	is.Equal(err.Code, kernelcontract.Forbidden)
}

func TestTargetHostIsUnavailable(t *testing.T) {
	is := is.New(t)
	e := newFixture().engine(t, engine.Options{})
	_, err := e.Call(t.Context(), request(e, "host", `{"name":"bb"}`))
	is.Equal(err.Code, kernelcontract.ServiceUnavailable)
	is.True(err.Retryable) // the handler was not reached
}

func TestHandlerErrors(t *testing.T) {
	cause := errors.New("secret detail")
	for _, c := range []struct {
		name      string
		err       error
		code      kernelcontract.Code
		row       int
		retryable bool
		message   string
	}{
		{"a kernel code stays", kernelcontract.NotFound.Errorf("no note 7: %w", cause), kernelcontract.NotFound, 404, false, "no note 7"},
		{"a wrapped kernel code stays", fmt.Errorf("outer: %w", kernelcontract.Conflict.Errorf("busy")), kernelcontract.Conflict, 409, false, "busy"},
		{"a declared code takes its row", muted.Errorf("hush"), muted, 403, true, "hush"},
		{"a bare declared code takes its description", muted, muted, 403, true, "asked for silence"},
		{"an undeclared code is internal", kernelcontract.Code("odd").Errorf("secret detail"), kernelcontract.Internal, 500, false, ""},
		{"a foreign error is internal", cause, kernelcontract.Internal, 500, false, ""},
		{"a context error of the handler's own is internal", context.Canceled, kernelcontract.Internal, 500, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			var log bytes.Buffer
			f := newFixture()
			f.onQuery = func(context.Context, input) (output, error) { return output{}, c.err }
			e := f.engine(t, engine.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			_, err := e.Call(t.Context(), request(e, "query", `{"name":"bb"}`))
			is.Equal(err.Code, c.code)
			is.Equal(err.Row().HTTPStatus, c.row)
			is.Equal(err.Retryable, c.retryable)
			is.True(err.CallID != "")
			if c.code == kernelcontract.Internal {
				is.True(!strings.Contains(err.Message, "secret detail")) // its text is not sent
				is.True(strings.Contains(err.Message, err.CallID))
				is.True(strings.Contains(log.String(), err.CallID)) // it is logged with the call id
				return
			}
			is.Equal(err.Message, c.message)
		})
	}
}

func TestPanicsAreContained(t *testing.T) {
	boom := func() { panic("boom") }
	for _, c := range []struct {
		name string
		set  func(*fixture)
		open bool
	}{
		{"in a handler", func(f *fixture) {
			f.onQuery = func(context.Context, input) (output, error) { boom(); return output{}, nil }
		}, false},
		{"in a guard", func(f *fixture) {
			f.guards = []engine.Guard{func(context.Context, *kernelcontract.CallInfo, json.RawMessage) error { boom(); return nil }}
		}, false},
		{"in RenderText", func(f *fixture) {
			f.query.RenderText = func(output, kernelcontract.Render) string { boom(); return "" }
		}, false},
		{"before a stream opens", func(f *fixture) {
			f.onFollow = func(context.Context, input) (iter.Seq2[output, error], error) { boom(); return nil, nil }
		}, true},
		{"in a stream", func(f *fixture) {
			f.onFollow = func(context.Context, input) (iter.Seq2[output, error], error) {
				return func(func(output, error) bool) { boom() }, nil
			}
		}, true},
		{"in a cursor", func(f *fixture) {
			f.follow.Cursor = func(output) string { boom(); return "" }
			f.onFollow = items("a")
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			var log bytes.Buffer
			f := newFixture()
			c.set(f)
			e := f.engine(t, engine.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			var err error
			if c.open {
				for _, ierr := range caller(e).Open(t.Context(), "demo/main.follow", json.RawMessage(`{"name":"bb"}`), "") {
					err = ierr
				}
			} else {
				r := request(e, "query", `{"name":"bb"}`)
				r.Text = &kernelcontract.Render{}
				_, kerr := e.Call(t.Context(), r)
				err = kerr
			}
			is.Equal(kernelcontract.CodeOf(err), kernelcontract.Internal)
			is.True(strings.Contains(log.String(), "boom"))
			is.True(strings.Contains(log.String(), "engine_test.go")) // with the stack
		})
	}
}

func TestHandlersThatEndTheirGoroutineAreAnswered(t *testing.T) {
	is := is.New(t)
	f := newFixture()
	f.onQuery = func(context.Context, input) (output, error) { runtime.Goexit(); return output{}, nil }
	e := f.engine(t, engine.Options{})
	_, kerr := e.Call(t.Context(), request(e, "query", `{"name":"bb"}`))
	is.Equal(kerr.Code, kernelcontract.Internal)
	for name, open := range map[string]func(context.Context, input) (iter.Seq2[output, error], error){
		"before it opens": func(context.Context, input) (iter.Seq2[output, error], error) { runtime.Goexit(); return nil, nil },
		"after an item": func(context.Context, input) (iter.Seq2[output, error], error) {
			return func(yield func(output, error) bool) {
				yield(output{Text: "a"}, nil)
				runtime.Goexit()
			}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f.onFollow = open
			var last error
			for _, err := range f.follow.Events(t.Context(), caller(e), input{Name: "bb"}, "") {
				last = err
			}
			is.Equal(kernelcontract.CodeOf(last), kernelcontract.Internal) // not the end of the stream
		})
	}
	is.True(retire(t, f.instance, time.Second))
}

func items(texts ...string) func(context.Context, input) (iter.Seq2[output, error], error) {
	return func(context.Context, input) (iter.Seq2[output, error], error) {
		return func(yield func(output, error) bool) {
			for _, s := range texts {
				if !yield(output{Text: s}, nil) {
					return
				}
			}
		}, nil
	}
}

func caller(e *engine.Engine) kernelcontract.Caller {
	return e.Caller(func(context.Context) engine.Identity { return engine.Identity{Principal: operator} })
}

func TestGuardVetoes(t *testing.T) {
	is := is.New(t)
	f := newFixture()
	var saw string
	f.guards = []engine.Guard{func(_ context.Context, info *kernelcontract.CallInfo, in json.RawMessage) error {
		saw = info.Ref + " " + string(in)
		return errors.New("not on Sundays")
	}}
	f.onQuery = func(context.Context, input) (output, error) { t.Error("the handler ran"); return output{}, nil }
	e := f.engine(t, engine.Options{})
	_, err := e.Call(t.Context(), request(e, "query", `{"name":"bb"}`))
	is.Equal(err.Code, kernelcontract.Vetoed)
	is.Equal(err.Message, "not on Sundays")
	is.Equal(err.Details["by"], "demo")
	is.Equal(saw, `demo/main.query {"name":"bb","greet":"Hello"}`) // a guard sees the complete input
}

func TestGuardsDoNotSeeTheKernelsOwnServices(t *testing.T) {
	is := is.New(t)
	status := &kernelcontract.Query[kernelcontract.None, output]{Ref: "kernel/main.status", Summary: "Status"}
	service := &kernelcontract.Service{ID: "kernel/main", Summary: "Kernel", Methods: []kernelcontract.Method{status}}
	def, err := service.Def()
	is.NoErr(err)
	h := status.Handle(func(context.Context, kernelcontract.None) (output, error) { return output{Text: "fine"}, nil })
	own := engine.NewInstance(engine.Source{ID: "kernel", Services: []*kernelcontract.ServiceDef{def}, Handlers: map[string]kernelcontract.Handler{h.Ref(): h}})
	f := newFixture()
	f.guards = []engine.Guard{func(context.Context, *kernelcontract.CallInfo, json.RawMessage) error { return errors.New("no") }}
	e := f.engine(t, engine.Options{})
	e.Swap(engine.NewCatalog(2, []*engine.Instance{own, f.instance}, nil))
	_, err = status.Call(t.Context(), caller(e), kernelcontract.None{})
	is.NoErr(err)
	_, err = f.query.Call(t.Context(), caller(e), input{Name: "bb"})
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.Vetoed)
}

func TestDeadlineAnswersWhateverTheHandlerDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		f := newFixture()
		release := make(chan struct{})
		f.onQuery = func(context.Context, input) (output, error) { <-release; return output{}, nil }
		f.onChange = f.onQuery
		e := f.engine(t, engine.Options{})
		for _, c := range []struct {
			method    string
			budget    time.Duration
			retryable bool
		}{{"query", kernelcontract.QueryWait, true}, {"change", kernelcontract.MutationWait, false}} {
			start := time.Now()
			_, err := e.Call(t.Context(), request(e, c.method, `{"name":"bb"}`))
			is.Equal(err.Code, kernelcontract.Timeout)
			is.Equal(err.Retryable, c.retryable)
			is.Equal(time.Since(start), c.budget)
		}
		is.True(!retire(t, f.instance, time.Second)) // the handlers are still inside
		close(release)
		is.True(retire(t, f.instance, time.Second))
	})
}

func retire(t *testing.T, i *engine.Instance, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	return i.Retire(ctx, wait)
}

func TestDeclaredBudgetHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		f := newFixture()
		f.query.Wait = 250 * time.Millisecond
		f.onQuery = func(ctx context.Context, _ input) (output, error) { <-ctx.Done(); return output{}, ctx.Err() }
		e := f.engine(t, engine.Options{})
		start := time.Now()
		_, err := e.Call(t.Context(), request(e, "query", `{"name":"bb"}`))
		is.Equal(err.Code, kernelcontract.Timeout)
		is.Equal(time.Since(start), 250*time.Millisecond)
	})
}

func TestCallerWhoLeavesCancelsTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		f := newFixture()
		seen := make(chan error, 1)
		f.onQuery = func(ctx context.Context, _ input) (output, error) {
			<-ctx.Done()
			seen <- ctx.Err()
			return output{}, ctx.Err()
		}
		e := f.engine(t, engine.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := e.Call(ctx, request(e, "query", `{"name":"bb"}`))
		is.Equal(err.Code, kernelcontract.Cancelled)
		is.Equal(<-seen, context.Canceled)
	})
}

func TestOutputValidation(t *testing.T) {
	long := strings.Repeat("x", 41)
	t.Run("a violation is an error in development", func(t *testing.T) {
		is := is.New(t)
		f := newFixture()
		f.onQuery = func(context.Context, input) (output, error) { return output{Text: long}, nil }
		e := f.engine(t, engine.Options{Development: true})
		_, err := e.Call(t.Context(), request(e, "query", `{"name":"bb"}`))
		is.Equal(err.Code, kernelcontract.Internal)
	})
	t.Run("a violation is a problem by sample in production", func(t *testing.T) {
		is := is.New(t)
		f := newFixture()
		f.onQuery = func(context.Context, input) (output, error) { return output{Text: long}, nil }
		problems := 0
		e := f.engine(t, engine.Options{OnProblem: func(plugin string, err error) {
			is.Equal(plugin, "demo")
			problems++
		}})
		for range 2 * engine.OutputSample {
			_, err := e.Call(t.Context(), request(e, "query", `{"name":"bb"}`))
			is.True(err == nil)
		}
		is.Equal(problems, 2)
	})
}

func TestStreamYieldsInOrderWithCursors(t *testing.T) {
	is := is.New(t)
	f := newFixture()
	f.onFollow = items("a", "b", "c")
	e := f.engine(t, engine.Options{Development: true})
	var got []string
	for ev, err := range f.follow.Events(t.Context(), caller(e), input{Name: "bb"}, "") {
		is.NoErr(err)
		got = append(got, ev.Cursor+"="+ev.Item.Text)
	}
	is.Equal(got, []string{"a=a", "b=b", "c=c"})
}

func TestStreamPassesSince(t *testing.T) {
	is := is.New(t)
	f := newFixture()
	f.onFollow = func(ctx context.Context, _ input) (iter.Seq2[output, error], error) {
		return items("after-"+kernelcontract.CallFrom(ctx).Since)(ctx, input{})
	}
	e := f.engine(t, engine.Options{})
	for ev, err := range f.follow.Events(t.Context(), caller(e), input{Name: "bb"}, "41") {
		is.NoErr(err)
		is.Equal(ev.Item.Text, "after-41")
	}
}

func TestCursorRule(t *testing.T) {
	for _, c := range []struct {
		name, cursor string
		ok           bool
	}{
		{"zero", "0", true}, {"the ends of printable ASCII", "! ~", true}, {"a space at the end", "a ", false}, {"256 bytes", strings.Repeat("x", 256), true},
		{"empty", "", false}, {"257 bytes", strings.Repeat("x", 257), false}, {"a line feed", "a\nb", false}, {"not ASCII", "é", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture()
			f.follow.Cursor = func(output) string { return c.cursor }
			f.onFollow = items("a")
			e := f.engine(t, engine.Options{})
			var last error
			for _, err := range f.follow.Events(t.Context(), caller(e), input{Name: "bb"}, "") {
				last = err
			}
			is.Equal(last == nil, c.ok)
		})
	}
}

func TestStreamBackpressureHoldsTheProducer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		f := newFixture()
		produced := 0
		f.onFollow = func(context.Context, input) (iter.Seq2[output, error], error) {
			return func(yield func(output, error) bool) {
				for yield(output{Text: "x"}, nil) {
					produced++
				}
			}, nil
		}
		e := f.engine(t, engine.Options{})
		s, err := e.Open(t.Context(), request(e, "follow", `{"name":"bb"}`))
		is.True(err == nil)
		synctest.Wait() // the producer is blocked
		is.True(produced > 0 && produced < 200)
		s.Close(nil)
		is.True(retire(t, f.instance, time.Second)) // and ends with the stream
	})
}

func TestReloadDuringCallsFailsNone(t *testing.T) {
	is := is.New(t)
	f := newFixture()
	e := f.engine(t, engine.Options{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := f.query.Call(t.Context(), caller(e), input{Name: "bb"}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for g := range uint64(200) {
		next := f.newInstance(t)
		e.Swap(engine.NewCatalog(g+2, []*engine.Instance{next}, e.Catalog()))
		is.True(retire(t, f.instance, 5*time.Second))
		f.instance = next
	}
	close(stop)
	wg.Wait()
}

func TestRetiredStreamEndsAfterGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		f := newFixture()
		f.onFollow = func(ctx context.Context, _ input) (iter.Seq2[output, error], error) {
			return func(func(output, error) bool) { <-ctx.Done() }, nil
		}
		e := f.engine(t, engine.Options{})
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			for _, err := range f.follow.Events(t.Context(), caller(e), input{Name: "bb"}, "") {
				is.Equal(kernelcontract.CodeOf(err), kernelcontract.ServiceUnavailable)
				is.True(kernelcontract.AsError(err).Retryable)
			}
			is.Equal(time.Since(start), engine.StreamGrace)
		})
		synctest.Wait()
		is.True(f.instance.Retire(t.Context(), engine.StreamGrace))
		wg.Wait()
	})
}

func TestCallsAreRefusedWhileDraining(t *testing.T) {
	is := is.New(t)
	e := newFixture().engine(t, engine.Options{})
	e.Drain()
	_, err := e.Call(t.Context(), request(e, "query", `{"name":"bb"}`))
	is.Equal(err.Code, kernelcontract.ServiceUnavailable)
	is.True(err.Retryable)
}

func TestNestingIsBounded(t *testing.T) {
	is := is.New(t)
	f := newFixture()
	var e *engine.Engine
	depth := 0
	f.onQuery = func(ctx context.Context, in input) (output, error) {
		depth++
		return f.query.Call(ctx, caller(e), in)
	}
	e = f.engine(t, engine.Options{})
	_, err := f.query.Call(t.Context(), caller(e), input{Name: "bb"})
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.Internal)
	is.Equal(depth, engine.MaxNesting)
}

func TestCallIDsAreUniqueAndSortByTime(t *testing.T) {
	is := is.New(t)
	e := engine.New(engine.Options{})
	last := ""
	for range 10000 {
		id := e.NextCallID()
		is.True(id > last)
		last = id
	}
}

func TestCallLogKeepsTheLast(t *testing.T) {
	is := is.New(t)
	e := newFixture().engine(t, engine.Options{})
	for range engine.CallLogSize + 5 {
		_, _ = e.Call(t.Context(), request(e, "query", `{"name":"bb"}`))
	}
	_, _ = e.Call(t.Context(), request(e, "query", `{}`))
	calls := e.Log.Last(2 * engine.CallLogSize)
	is.Equal(len(calls), engine.CallLogSize)
	is.Equal(calls[0].Code, kernelcontract.InvalidInput) // the newest first
	is.Equal(calls[1].Code, kernelcontract.Code(""))
	is.Equal(calls[0].Ref, "demo/main.query")
}

func TestKindsAreNotMixedUp(t *testing.T) {
	is := is.New(t)
	e := newFixture().engine(t, engine.Options{})
	err := caller(e).Call(t.Context(), "demo/main.follow", nil, nil)
	is.Equal(kernelcontract.CodeOf(err), kernelcontract.InvalidInput)
	for _, err := range caller(e).Open(t.Context(), "demo/main.query", nil, "") {
		is.Equal(kernelcontract.CodeOf(err), kernelcontract.InvalidInput)
	}
	is.Equal(kernelcontract.CodeOf(caller(e).Call(t.Context(), "demo/main.none", nil, nil)), kernelcontract.NotFound)
}

func BenchmarkCall(b *testing.B) {
	f := newFixture()
	e := f.engine(b, engine.Options{})
	c := caller(e)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.query.Call(ctx, c, input{Name: "bb"}); err != nil {
			b.Fatal(err)
		}
	}
}
