package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bb-kernel/bb/cli"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/header"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/route"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// fake is a server with just as much of a kernel as bb needs, so that what bb sends and shows is tested without one.
type fake struct {
	*httptest.Server
	t        testing.TB
	requests atomic.Int64 // all of them
	fetches  atomic.Int64 // of the manifest

	mu         sync.Mutex
	generation uint64
	services   []*kernelcontract.ServiceDef
	handlers   map[string]kernelcontract.Handler
	problems   []manifest.Problem
	token      string // when set, the only one that is admitted
	last       *http.Request
	body       string
	chapters   json.RawMessage
}

func serve(t testing.TB, impls ...kernelcontract.Implementation) *fake {
	t.Helper()
	f := &fake{t: t, generation: 1, handlers: map[string]kernelcontract.Handler{}, chapters: json.RawMessage("[]")}
	f.set(impls...)
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// set replaces what the server offers.
func (f *fake) set(impls ...kernelcontract.Implementation) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.services = nil
	for _, i := range impls {
		def, err := i.Service.Def()
		if err != nil {
			f.t.Fatal(err)
		}
		f.services = append(f.services, def)
		for _, h := range i.Handlers {
			f.handlers[h.Ref()] = h
		}
	}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.requests.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	h := w.Header()
	h.Set(header.CallID, "call-1")
	h.Set(header.ServerID, "server-1")
	h.Set(header.Generation, fmt.Sprint(f.generation))
	f.last = r
	render, _ := header.ParseRender(r.Header.Values(header.Render))
	if f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token {
		f.fail(w, kernelcontract.Unauthenticated.Errorf("show a token"), render)
		return
	}
	plugin, service, method, _ := route.Match(r.URL.EscapedPath())
	switch ref := plugin + "/" + service + "." + method; ref {
	case "kernel/contract.manifest":
		f.fetches.Add(1)
		raw, err := manifest.Encode(f.manifest())
		if err != nil {
			f.t.Error(err)
		}
		f.answer(w, raw)
	case "kernel/guide.chapters":
		f.answer(w, f.chapters)
	default:
		for _, s := range f.services {
			if d := s.Method(method); d != nil && d.Ref() == ref {
				f.run(w, r, d, render)
				return
			}
		}
		f.fail(w, kernelcontract.NotFound.Errorf("no method %s", ref), render)
	}
}

func (f *fake) answer(w http.ResponseWriter, raw []byte) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"ok":true,"result":%s}`, raw)
}

func (f *fake) fail(w http.ResponseWriter, e *kernelcontract.Error, render *kernelcontract.Render) {
	if render != nil {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(e.Row().HTTPStatus)
		fmt.Fprintln(w, text.Error(e, *render))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Row().HTTPStatus)
	w.Write(kernelcontract.MarshalFailure(e))
}

func (f *fake) run(w http.ResponseWriter, r *http.Request, d *kernelcontract.MethodDef, render *kernelcontract.Render) {
	in, err := d.Input()
	if err != nil {
		f.t.Error(err)
	}
	input, transport, issues := route.Decode(in, d.Kind, r.URL.RawQuery)
	if e := kernelcontract.InvalidIssues(issues); e != nil {
		f.fail(w, e, render)
		return
	}
	if d.Kind == kernelcontract.KindMutation {
		input, _ = io.ReadAll(r.Body)
	}
	f.body = string(input)
	ctx := kernelcontract.WithCall(r.Context(), &kernelcontract.CallInfo{Ref: d.Ref(), Since: r.Header.Get(header.LastEventID)})
	h := f.handlers[d.Ref()]
	if d.Kind == kernelcontract.KindStream {
		f.stream(ctx, w, d, h, input, render)
		return
	}
	v, err := h.Call(ctx, input)
	if err != nil {
		e := *kernelcontract.AsError(err)
		e.Like = d.Errors[e.Code].Like
		f.fail(w, &e, render)
		return
	}
	if b, ok := v.(schema.Bytes); ok && transport.Raw {
		w.Header().Set("Content-Type", b.MIMEType)
		w.Write(b.Data)
		return
	}
	if render != nil {
		s, err := text.Result(d, v, *render)
		if err != nil {
			f.t.Error(err)
		}
		if strings.HasPrefix(s, "raw:") { // a server that strips nothing
			s = "\x1b[31mred\x1b[0m\x1b]52;c;eA==\x07 text"
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, s)
		return
	}
	raw, err := schema.Marshal(v)
	if err != nil {
		f.t.Error(err)
	}
	f.answer(w, raw)
}

func (f *fake) stream(ctx context.Context, w http.ResponseWriter, d *kernelcontract.MethodDef, h kernelcontract.Handler, input json.RawMessage, render *kernelcontract.Render) {
	events, err := h.Open(ctx, input)
	if err != nil {
		f.fail(w, kernelcontract.AsError(err), render)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "retry: 1\n: open\n\n")
	w.(http.Flusher).Flush()
	f.mu.Unlock()
	defer f.mu.Lock()
	seq := 0
	for ev, err := range events {
		switch {
		case ctx.Err() != nil:
			return
		case err == errCut:
			panic(http.ErrAbortHandler)
		case err != nil:
			fmt.Fprintf(w, "event: error\ndata: %s\n\n", kernelcontract.MarshalFailure(kernelcontract.AsError(err)))
			return
		}
		raw, _ := schema.Marshal(ev.Item)
		if render != nil {
			s, err := text.Result(d, ev.Item, *render)
			if err != nil {
				f.t.Error(err)
			}
			raw, _ = json.Marshal(map[string]any{"seq": seq, "text": s})
		}
		seq++
		if ev.Cursor != "" {
			fmt.Fprintf(w, "id: %s\n", ev.Cursor)
		}
		fmt.Fprintf(w, "event: item\ndata: %s\n\n", raw)
		w.(http.Flusher).Flush()
	}
	fmt.Fprint(w, "event: end\ndata: {}\n\n")
}

func (f *fake) manifest() *manifest.Manifest {
	m := &manifest.Manifest{Format: manifest.Format, ServerID: "server-1", Generation: f.generation, Plugins: []manifest.Plugin{}, Problems: f.problems}
	if m.Problems == nil {
		m.Problems = []manifest.Problem{}
	}
	for _, s := range f.services {
		service := manifest.Service{ID: s.ID(), Summary: s.Summary, Group: s.Group, Aliases: s.Aliases, Methods: []docs.MethodDoc{}}
		if service.Aliases == nil {
			service.Aliases = [][]string{}
		}
		for _, d := range s.Methods {
			cliWord, err := word.Of(d, s)
			if err != nil {
				f.t.Error(err)
			}
			doc, err := docs.Of(d, cliWord)
			if err != nil {
				f.t.Error(err)
			}
			service.Methods = append(service.Methods, doc)
		}
		if n := len(m.Plugins); n > 0 && m.Plugins[n-1].ID == s.PluginID {
			m.Plugins[n-1].Services = append(m.Plugins[n-1].Services, service)
			continue
		}
		m.Plugins = append(m.Plugins, manifest.Plugin{ID: s.PluginID, Version: "1", Summary: "A plugin", State: manifest.Ready, Services: []manifest.Service{service}})
	}
	return m
}

// result is what a run left.
type result struct {
	code     int
	out, err string
}

// bench is a user at a shell: a home and a server.
type shell struct {
	t     testing.TB
	url   string
	home  string
	env   map[string]string
	stdin string
	term  cli.Terminal
	o     cli.Options
}

func newShell(t testing.TB, url string) *shell {
	return &shell{t: t, url: url, home: t.TempDir(), env: map[string]string{}}
}

func (s *shell) options(out, err io.Writer) cli.Options {
	o := s.o
	o.Stdin, o.Stdout, o.Stderr = strings.NewReader(s.stdin), out, err
	o.Env = func(name string) string {
		if name == "BB_SERVER_URL" && s.env[name] == "" {
			return s.url
		}
		return s.env[name]
	}
	o.Dir, o.CacheDir, o.ConfigDir = s.home, s.home+"/cache", s.home+"/config"
	o.Terminal = &s.term
	o.Version = "v0.0.0-test"
	return o
}

// run runs a command line; its words hold no spaces.
func (s *shell) run(line string) result { return s.exec(strings.Fields(line)...) }

func (s *shell) exec(args ...string) result {
	s.t.Helper()
	return s.execContext(context.Background(), args...)
}

func (s *shell) execContext(ctx context.Context, args ...string) result {
	s.t.Helper()
	var out, err bytes.Buffer
	code := cli.Main(ctx, args, s.options(&out, &err))
	return result{code, out.String(), err.String()}
}
