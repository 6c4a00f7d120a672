package httpapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

// The baselines do by hand what a careful author would: the same route, the same JSON, strict keys, the required field
// and the default, and nothing of the rest.

type envelope struct {
	OK     bool `json:"ok"`
	Result any  `json:"result"`
}

func rawAnswer(w http.ResponseWriter, in greetIn) {
	if in.Name == "" {
		http.Error(w, "name is required", http.StatusBadRequest)
		return
	}
	if in.Salutation == "" {
		in.Salutation = "Hello"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(envelope{OK: true, Result: greetOut{Message: in.Salutation + ", " + in.Name + "!"}})
}

func rawQuery(w http.ResponseWriter, r *http.Request) {
	var in greetIn
	for key, values := range r.URL.Query() {
		switch {
		case len(values) != 1:
			http.Error(w, key+" is given twice", http.StatusBadRequest)
			return
		case key == "name":
			in.Name = values[0]
		case key == "salutation":
			in.Salutation = values[0]
		default:
			http.Error(w, key+" is unknown", http.StatusBadRequest)
			return
		}
	}
	rawAnswer(w, in)
}

func rawMutation(w http.ResponseWriter, r *http.Request) {
	var in greetIn
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	rawAnswer(w, in)
}

func rawMux() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+things+"greet", rawQuery)
	mux.HandleFunc("POST "+things+"count", rawMutation)
	mux.HandleFunc("GET "+things+"follow", rawStream)
	return mux
}

// subjects are what each benchmark measures side by side.
func subjects(b *testing.B) map[string]http.Handler {
	return map[string]http.Handler{"raw": rawMux(), "bb": start(b, setup{production: true}).handler}
}

func get() (*http.Request, []byte) {
	r := httptest.NewRequest("GET", things+"greet?name=bb", nil)
	return r, nil
}

func post() (*http.Request, []byte) {
	body := []byte(`{"name":"bb","salutation":"Hi"}`)
	r := httptest.NewRequest("POST", things+"count", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r, body
}

// BenchmarkLoopback measures calls over one kept-alive loopback connection.
func BenchmarkLoopback(b *testing.B) {
	for name, make := range map[string]func() (*http.Request, []byte){"query": get, "mutation": post} {
		for subject, h := range subjects(b) {
			b.Run(name+"/"+subject, func(b *testing.B) {
				srv := httptest.NewServer(h)
				defer srv.Close()
				r, body := make()
				r.URL, _ = url.Parse(srv.URL + r.RequestURI)
				r.RequestURI, r.Host = "", ""
				client := srv.Client()
				b.ReportAllocs()
				for b.Loop() {
					if body != nil {
						r.Body = io.NopCloser(bytes.NewReader(body))
					}
					resp, err := client.Do(r)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
						b.Fatal(resp.Status, err)
					}
					resp.Body.Close()
				}
			})
		}
	}
}

// BenchmarkServeHTTP measures a request served in process, from the request to the recorded answer.
func BenchmarkServeHTTP(b *testing.B) {
	for name, make := range map[string]func() (*http.Request, []byte){"query": get, "mutation": post} {
		for subject, h := range subjects(b) {
			b.Run(name+"/"+subject, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, _ := make()
					r.RemoteAddr, r.Host = "127.0.0.1:1234", "localhost"
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					if w.Code != 200 {
						b.Fatal(w.Code)
					}
				}
			})
		}
	}
}

// sink is a ResponseWriter that costs nothing.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}

// BenchmarkHandler measures the handlers alone, without request and answer.
func BenchmarkHandler(b *testing.B) {
	for name, make := range map[string]func() (*http.Request, []byte){"query": get, "mutation": post} {
		for subject, h := range subjects(b) {
			b.Run(name+"/"+subject, func(b *testing.B) {
				r, body := make()
				r.RemoteAddr, r.Host = "127.0.0.1:1234", "localhost"
				w := &sink{header: http.Header{}}
				b.ReportAllocs()
				for b.Loop() {
					if body != nil {
						r.Body = io.NopCloser(bytes.NewReader(body))
					}
					clear(w.header)
					h.ServeHTTP(w, r)
				}
			})
		}
	}
}

// BenchmarkMethods measures a call beside 10 and 10,000 methods.
func BenchmarkMethods(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := start(b, setup{production: true})
			methods := make([]kernelcontract.Method, n)
			for i := range methods {
				methods[i] = &kernelcontract.Query[greetIn, greetOut]{Ref: fmt.Sprintf("many/things.m%d", i), Summary: "One of many"}
			}
			many := source("many", &kernelcontract.Service{ID: "many/things", Summary: "Many", Methods: methods}, nil)
			s.engine.Swap(engine.NewCatalog(8, []*engine.Instance{s.instance, engine.NewInstance(many)}, s.engine.Catalog()))
			r, _ := get()
			r.RemoteAddr, r.Host = "127.0.0.1:1234", "localhost"
			w := &sink{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				s.handler.ServeHTTP(w, r)
			}
		})
	}
}

const benchFrames = 10_000

// rawStream writes the frames that follow yields, and flushes each.
func rawStream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := w.(http.Flusher)
	for i := range benchFrames {
		data, _ := json.Marshal(note{ID: fmt.Sprint(i), Text: "note " + fmt.Sprint(i)})
		fmt.Fprintf(w, "id: %d\nevent: item\ndata: %s\n\n", i, data)
		flusher.Flush()
	}
	fmt.Fprint(w, "event: end\ndata: {}\n\n")
}

// BenchmarkStream measures the frames of a stream over loopback; see frames/s.
func BenchmarkStream(b *testing.B) {
	for subject, h := range subjects(b) {
		b.Run(subject, func(b *testing.B) {
			srv := httptest.NewServer(h)
			defer srv.Close()
			b.ReportAllocs()
			for b.Loop() {
				resp, err := srv.Client().Get(srv.URL + things + fmt.Sprintf("follow?limit=%d", benchFrames))
				if err != nil {
					b.Fatal(err)
				}
				frames, lines := 0, bufio.NewScanner(resp.Body)
				for lines.Scan() {
					if strings.HasPrefix(lines.Text(), "event: item") {
						frames++
					}
				}
				resp.Body.Close()
				if frames != benchFrames {
					b.Fatalf("%d frames", frames)
				}
			}
			b.ReportMetric(float64(benchFrames*b.N)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}
