package surfacestest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/conformance/internal/reference"
	"github.com/bb-kernel/bb/conformance/surfacestest"
	"github.com/bb-kernel/bb/kernelcontract"
)

func TestMain(m *testing.M) { os.Exit(reference.Main(m)) }

type greetInput struct {
	Name string `json:"name" description:"Who to greet"`
}

type greetOutput struct {
	Message string `json:"message"`
}

var greet = &kernelcontract.Query[greetInput, greetOutput]{
	Ref: "hello/greeter.greet", Summary: "Greet someone", CLI: kernelcontract.CLI{Args: []string{"name"}},
	Examples: []kernelcontract.Example[greetInput]{{Input: greetInput{Name: "bb"}}},
}

var greeter = &kernelcontract.Service{ID: "hello/greeter", Summary: "Greet", Methods: []kernelcontract.Method{greet}}

func ExampleCheck() {
	fmt.Println(surfacestest.Check(greeter, nil))

	bad := &kernelcontract.Service{ID: "hello/greeter", Summary: "Greet", Methods: []kernelcontract.Method{
		&kernelcontract.Query[greetInput, greetOutput]{Ref: "hello/greeter.greet"},
	}}
	for _, p := range surfacestest.Check(bad, nil) {
		fmt.Println(p.Service, p.Method, p.Surface)
	}
	// Output:
	// []
	// hello/greeter greet definition
}

func TestExpectDerivedSurfaces(t *testing.T) { surfacestest.ExpectDerivedSurfaces(t, greeter, nil) }

// The checks of a definition can be called alone.
func TestSingleChecks(t *testing.T) {
	is := is.New(t)
	def, err := greeter.Def()
	is.NoErr(err)
	d := def.Methods[0]
	for _, problems := range [][]surfacestest.Problem{
		surfacestest.CheckService(def), surfacestest.CheckSchema(d, nil), surfacestest.CheckRoundTrip(d), surfacestest.CheckHTTP(d),
		surfacestest.CheckWord(d, def), surfacestest.CheckTool(d), surfacestest.CheckText(d, nil), surfacestest.CheckDocs(d, def),
	} {
		is.Equal(len(problems), 0)
	}
}

// Every method of this project's server is on each of its surfaces.
func TestReferenceServer(t *testing.T) { surfacestest.TestServer(t, reference.Start(t)) }

// Each way in which a server can break what its manifest promises is a problem of that method and surface.
func TestBrokenServers(t *testing.T) {
	target := reference.Start(t)
	for _, tt := range []struct {
		name     string
		manifest []string // replaced in the manifest
		answer   []string // replaced in the reference, JSON and text
		status   string   // path whose wrong verb is not refused
		want     []string // "service.method surface"
	}{
		{name: "nothing broken"},
		{name: "a tool of another's name", manifest: []string{`"name":"notes_fixture_notes_list"`, `"name":"hello_slot_greeter_greet"`}, want: []string{"notes-fixture/notes.list tool", "notes-fixture/notes.list docs"}},
		{name: "a tool name that models refuse", manifest: []string{`"name":"notes_fixture_notes_list"`, `"name":"notes list"`}, want: []string{"notes-fixture/notes.list tool", "notes-fixture/notes.list docs"}},
		{name: "a path of its own", manifest: []string{`"path":"/api/v1/notes-fixture/notes/list"`, `"path":"/notes"`}, want: []string{"notes-fixture/notes.list http", "notes-fixture/notes.list docs"}},
		{name: "a path of another's", manifest: []string{`"path":"/api/v1/notes-fixture/notes/list"`, `"path":"/api/v1/notes-fixture/notes/get"`}, want: []string{"notes-fixture/notes.list http", "notes-fixture/notes.list docs", "notes-fixture/notes.get http"}},
		{name: "a wrong verb", manifest: []string{`"verb":"POST","path":"/api/v1/hello-slot/greeter/count"`, `"verb":"GET","path":"/api/v1/hello-slot/greeter/count"`}, want: []string{"hello-slot/greeter.count http", "hello-slot/greeter.count docs"}},
		{name: "no summary", manifest: []string{`"summary":"Count a greeting","description"`, `"summary":"","description"`}, want: []string{"hello-slot/greeter.count definition", "hello-slot/greeter.count docs"}},
		{name: "a word for another method", manifest: []string{`{"ref":"hello-slot/greeter.count"`, `{"ref":"hello-slot/greeter.greet"`}, want: []string{"hello-slot/greeter.count cli", "hello-slot/greeter.count docs"}},
		{name: "a word without a field", manifest: []string{`{"name":"ratio","form"`, `{"name":"rate","form"`}, want: []string{"notes-fixture/settings.apply cli", "notes-fixture/settings.apply docs", "notes-fixture/settings.read cli", "notes-fixture/settings.read docs"}},
		{name: "an example that the method refuses", manifest: []string{`"examples":[{"input":{"name":"bb"}`, `"examples":[{"input":{"name":""}`}, want: []string{"hello-slot/greeter.greet sdk", "hello-slot/greeter.greet docs"}},
		{name: "a route that is not there", status: "/api/v1/hello-slot/greeter/count", want: []string{"hello-slot/greeter.count http"}},
		{name: "docs without a method", answer: []string{`"method":"count"`, `"method":"counted"`}, want: []string{"hello-slot/greeter.count docs"}},
		{name: "docs without a usage line", answer: []string{"bb hello count <name>", "bb hello <name>"}, want: []string{"hello-slot/greeter.count docs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				out, err := http.NewRequest(r.Method, target+r.URL.RequestURI(), r.Body)
				if err != nil {
					t.Error(err)
					return
				}
				out.Header = r.Header
				resp, err := http.DefaultTransport.RoundTrip(out)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Error(err)
				}
				text := string(body)
				switch {
				case strings.HasSuffix(r.URL.Path, "/contract/manifest"):
					text = strings.NewReplacer(tt.manifest...).Replace(text)
				case strings.HasSuffix(r.URL.Path, "/contract/reference"):
					text = strings.NewReplacer(tt.answer...).Replace(text)
				case r.Method == "PROPFIND" && r.URL.Path == tt.status:
					resp.StatusCode = http.StatusNotFound
				}
				for name, values := range resp.Header {
					w.Header()[name] = values
				}
				w.Header().Del("Content-Length")
				w.WriteHeader(resp.StatusCode)
				_, _ = io.WriteString(w, text)
			}))
			defer front.Close()
			problems, err := surfacestest.CheckServer(t.Context(), surfacestest.Options{BaseURL: front.URL})
			is.NoErr(err)
			got := map[string]bool{}
			for _, p := range problems {
				got[p.Service+"."+p.Method+" "+string(p.Surface)] = true
			}
			want := map[string]bool{}
			for _, w := range tt.want {
				want[w] = true
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got %v, want %v:\n%v", got, want, problems)
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	is := is.New(t)
	_, err := surfacestest.CheckServer(t.Context(), surfacestest.Options{BaseURL: "http://127.0.0.1:1"})
	is.True(err != nil)
	_, err = surfacestest.CheckServer(t.Context(), surfacestest.Options{BaseURL: "nonsense"})
	is.True(err != nil)
}
