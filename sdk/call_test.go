package sdk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/sdk"
)

var greeter = &kernelcontract.Service{ID: "hello-slot/greeter", Summary: "Greet", Methods: []kernelcontract.Method{greet, count}}

var notes = &kernelcontract.Service{ID: "notes-fixture/notes", Summary: "Keep notes", Methods: []kernelcontract.Method{follow, tail}}

func TestQuery(t *testing.T) {
	is := is.New(t)
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		is.Equal(r.Method, "GET")
		is.Equal(r.URL.Path, "/api/v1/hello-slot/greeter/greet")
		is.Equal(r.URL.RawQuery, "name=bb%26co&loud=true&times=9007199254740993&tags=a&tags=b")
		is.Equal(r.Header.Get("X-BB-Client"), "sdk/headless")
		success(w, `{"message":"Hello, bb!","count":9007199254740993}`)
	})
	out, err := greet.Call(t.Context(), client, greetInput{Name: "bb&co", Loud: true, Times: 1<<53 + 1, Tags: []string{"a", "b"}})
	is.NoErr(err)
	is.Equal(out, greetOutput{Message: "Hello, bb!", Count: 1<<53 + 1}) // exact
}

func TestMutation(t *testing.T) {
	is := is.New(t)
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		is.Equal(r.Method, "POST")
		is.Equal(r.URL.String(), "/api/v1/hello-slot/greeter/count")
		is.Equal(r.Header.Get("Content-Type"), "application/json")
		body, _ := io.ReadAll(r.Body)
		is.Equal(string(body), `{"name":"<bb>"}`)
		success(w, `{"message":"","count":1}`)
	})
	out, err := count.Call(t.Context(), client, greetInput{Name: "<bb>"})
	is.NoErr(err)
	is.Equal(out.Count, int64(1))
}

// A failure is the same error as in process: code, issues, details, and the row of a plugin's own code.
func TestFailures(t *testing.T) {
	for _, row := range kernelcontract.Table() {
		t.Run(string(row.Code), func(t *testing.T) {
			is := is.New(t)
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				failure(w, row.HTTPStatus, fmt.Sprintf(`{"ok":false,"error":{"code":%q,"message":"why","issues":[{"path":["tags",1],"code":"too_big","message":"m"}],"details":{"n":9007199254740993},"retryable":true}}`, row.Code))
			})
			_, err := greet.Call(t.Context(), client, greetInput{Name: "bb"})
			is.True(errors.Is(err, row.Code))
			e := kernelcontract.AsError(err)
			is.Equal(e.Message, "why")
			is.Equal(e.Issues, []kernelcontract.Issue{{Path: []any{"tags", 1}, Code: schema.IssueTooBig, Message: "m"}})
			is.Equal(e.Details["n"], json.Number("9007199254740993"))
			is.True(e.Retryable)
			is.Equal(e.CallID, "call-1")
			is.Equal(e.Like, kernelcontract.Code(""))
			is.Equal(e.Row().HTTPStatus, row.HTTPStatus)
			is.Equal(e.Row().Exit, row.Exit)
		})
	}
	t.Run("a plugin's code takes the row of its status", func(t *testing.T) {
		is := is.New(t)
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			failure(w, 403, `{"ok":false,"error":{"code":"muted","message":"nobody asked not to be greeted","retryable":false}}`)
		})
		_, err := greet.Call(t.Context(), client, greetInput{Name: "nobody"})
		is.True(errors.Is(err, muted))
		is.Equal(kernelcontract.AsError(err).Row().Exit, 7)
		is.Equal(err.Error(), "muted: nobody asked not to be greeted")
	})
	for status, want := range map[int]kernelcontract.Refusal{400: 0, 405: kernelcontract.WrongVerb, 413: kernelcontract.TooLarge, 415: kernelcontract.NotJSON} {
		t.Run(fmt.Sprint("status ", status), func(t *testing.T) {
			is := is.New(t)
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				failure(w, status, `{"ok":false,"error":{"code":"invalid_input","message":"m","retryable":false}}`)
			})
			_, err := greet.Call(t.Context(), client, greetInput{Name: "bb"})
			is.Equal(kernelcontract.AsError(err).Refusal, want)
			is.Equal(kernelcontract.AsError(err).Row().HTTPStatus, status)
		})
	}
}

// An answer that no kernel gives is told apart: a proxy's, or that of another program.
func TestForeignAnswers(t *testing.T) {
	tests := []struct {
		name   string
		status int
		typ    string
		body   string
		want   kernelcontract.Code
		retry  bool
	}{
		{"another web server", 404, "text/html", "<html>", kernelcontract.ServiceUnavailable, false},
		{"a page", 200, "text/html", "<html>", kernelcontract.ServiceUnavailable, false},
		{"a proxy without its server", 502, "text/html", "<html>", kernelcontract.ServiceUnavailable, true},
		{"a proxy that waits no longer", 504, "", "", kernelcontract.ServiceUnavailable, true},
		{"a proxy that asks for credentials", 401, "text/html", "<html>", kernelcontract.Unauthenticated, false},
		{"a proxy that forbids", 403, "text/html", "<html>", kernelcontract.Forbidden, false},
		{"a proxy with a smaller limit", 413, "text/html", "<html>", kernelcontract.InvalidInput, false},
		{"JSON that is no failure", 500, "application/json", `{"error":"oops"}`, kernelcontract.ServiceUnavailable, false},
		{"broken JSON", 500, "application/json", `{"ok":false,`, kernelcontract.ServiceUnavailable, false},
		{"a success that is none", 200, "application/json", `{"ok":false}`, kernelcontract.Internal, false},
		{"a success that is cut", 200, "application/json", `{"ok":true,"result":{"mess`, kernelcontract.Internal, false},
		{"two successes", 200, "application/json", `{"ok":true,"result":{}}{}`, kernelcontract.Internal, false},
		{"a result of another type", 200, "application/json", `{"ok":true,"result":{"count":"many"}}`, kernelcontract.Internal, false},
		{"a number out of range", 200, "application/json", `{"ok":true,"result":{"count":1e400}}`, kernelcontract.Internal, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if tt.typ != "" {
					w.Header().Set("Content-Type", tt.typ)
				}
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			})
			_, err := greet.Call(t.Context(), client, greetInput{Name: "bb"})
			is.Equal(kernelcontract.CodeOf(err), tt.want)
			is.Equal(kernelcontract.AsError(err).Retryable, tt.retry)
		})
	}
}

// A redirect is an error: nothing, above all no token, goes where it points.
func TestRedirectIsAnError(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		is := is.New(t)
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Error("the redirect was followed") }))
		defer elsewhere.Close()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, status)
		}))
		defer server.Close()
		client := connect(t, sdk.Options{URL: server.URL, Token: "bbt_secret"})
		_, err := count.Call(t.Context(), client, greetInput{Name: "bb"})
		is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
		is.True(strings.Contains(err.Error(), elsewhere.URL)) // says where it points
	}
}

func TestUnreachable(t *testing.T) {
	is := is.New(t)
	const url = "http://127.0.0.1:1" // a port on which nothing listens
	client := connect(t, sdk.Options{URL: url})
	_, err := count.Call(t.Context(), client, greetInput{Name: "bb"})
	is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
	var unreachable *sdk.UnreachableError
	is.True(errors.As(err, &unreachable))
	is.Equal(unreachable.URL, url)
	is.True(strings.Contains(err.Error(), url))
	is.True(strings.Contains(err.Error(), "bb-server")) // how to start one
	is.True(kernelcontract.AsError(err).Retryable)      // it never arrived, so even a mutation may be repeated
	is.Equal(kernelcontract.AsError(err).Row().Exit, 4) // no server reachable
	is.True(!strings.Contains(err.Error(), "bb%26"))    // the input is in no message
}

// A mutation is sent once, however its connection breaks; a break is an error that says that the outcome is not known.
func TestMutationIsNeverRepeated(t *testing.T) {
	for name, answer := range map[string]string{
		"cut before the answer":  "",
		"cut inside the head":    "HTTP/1.1 200 OK\r\nContent-Ty",
		"cut inside the body":    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nBb-Call-Id: c\r\nContent-Length: 100\r\n\r\n{\"ok\":true",
		"unavailable, retryable": "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 0\r\nBb-Call-Id: c\r\nContent-Length: 73\r\n\r\n" + `{"ok":false,"error":{"code":"service_unavailable","retryable":true     }}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				arrived := 0
				client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
					arrived++
					io.Copy(io.Discard, r.Body)
					fmt.Fprint(conn, answer)
				})
				defer stop()
				_, err := count.Call(t.Context(), client, greetInput{Name: "bb"})
				is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
				is.Equal(arrived, 1)
				if !strings.HasPrefix(name, "unavailable") {
					is.True(!kernelcontract.AsError(err).Retryable)
					is.True(strings.Contains(err.Error(), "not known"))
				}
			})
		})
	}
}

// Also on a kept connection, where net/http repeats what is safe to repeat.
func TestMutationIsNeverRepeatedOnKeptConnection(t *testing.T) {
	is := is.New(t)
	var mutations atomic.Int32
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "GET" {
			success(w, `{"message":"","count":0}`)
			return
		}
		mutations.Add(1)
		io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		is.NoErr(err)
		conn.Close()
	})
	_, err := greet.Call(t.Context(), client, greetInput{Name: "bb"}) // the connection is kept
	is.NoErr(err)
	_, err = count.Call(t.Context(), client, greetInput{Name: "bb"})
	is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
	is.Equal(mutations.Load(), int32(1))
}

// Neither is a query by this package.
func TestQueryIsNotRepeated(t *testing.T) {
	is := is.New(t)
	var queries atomic.Int32
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		queries.Add(1)
		failure(w, 503, `{"ok":false,"error":{"code":"service_unavailable","message":"m","retryable":true}}`)
	})
	_, err := greet.Call(t.Context(), client, greetInput{Name: "bb"})
	is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
	is.Equal(queries.Load(), int32(1))
}

// Cancelling closes the request at once, and so reaches the handler.
func TestCancelReachesHandler(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, c *sdk.Client) error{
		"query": func(ctx context.Context, c *sdk.Client) error {
			_, err := greet.Call(ctx, c, greetInput{Name: "bb"})
			return err
		},
		"mutation": func(ctx context.Context, c *sdk.Client) error {
			_, err := count.Call(ctx, c, greetInput{Name: "bb"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			started, left := make(chan struct{}), make(chan struct{})
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				close(started)
				<-r.Context().Done()
				close(left)
			})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-started
				cancel()
			}()
			err := call(ctx, client)
			is.True(errors.Is(err, kernelcontract.Cancelled))
			is.True(errors.Is(err, context.Canceled))
			is.Equal(kernelcontract.AsError(err).Retryable, name == "query")
			select {
			case <-left:
			case <-time.After(10 * time.Second):
				t.Fatal("the handler did not learn that its caller left")
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) { io.Copy(io.Discard, conn) })
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := greet.Call(ctx, client, greetInput{Name: "bb"})
		is.True(errors.Is(err, kernelcontract.Timeout))
		is.True(errors.Is(err, context.DeadlineExceeded))
	})
}

func TestHTTPClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		client, stop := misbehaveTo(t, &http.Client{Timeout: 3 * time.Second}, func(n int, r *http.Request, conn net.Conn) { io.Copy(io.Discard, conn) })
		defer stop()
		start := time.Now()
		_, err := greet.Call(t.Context(), client, greetInput{Name: "bb"})
		is.True(errors.Is(err, kernelcontract.Timeout))
		is.Equal(time.Since(start), 3*time.Second)
	})
}

// What a server may answer is bounded.
func TestAnswerBounds(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		length int
		known  bool // the length is in the head
	}{
		"a result with its length":     {200, sdk.MaxAnswer + 1, true},
		"a result without its length":  {200, sdk.MaxAnswer + 1, false},
		"a failure without its length": {500, sdk.MaxFailure + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if tt.known {
					w.Header().Set("Content-Length", fmt.Sprint(tt.length))
				}
				w.WriteHeader(tt.status)
				chunk := bytes.Repeat([]byte(" "), 1<<20)
				for sent := 0; sent < tt.length; sent += len(chunk) {
					if _, err := w.Write(chunk); err != nil {
						return
					}
				}
			})
			_, err := greet.Call(t.Context(), client, greetInput{Name: "bb"})
			is.True(errors.Is(err, kernelcontract.Internal))
			is.True(strings.Contains(err.Error(), "larger"))
		})
	}
}

// By name, a call learns the kind and the schema from the server, once a catalog.
func TestCallByName(t *testing.T) {
	is := is.New(t)
	var fetches atomic.Int32
	var generation atomic.Int32
	generation.Store(1)
	document := manifestOf(t, greeter, notes)
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Bb-Generation", fmt.Sprint(generation.Load()))
		switch r.URL.Path {
		case "/api/v1/kernel/contract/manifest":
			fetches.Add(1)
			success(w, document)
		case "/api/v1/hello-slot/greeter/greet":
			success(w, `{"query":`+string(mustJSON(r.URL.RawQuery))+`,"big":9007199254740993}`)
		case "/api/v1/hello-slot/greeter/count":
			body, _ := io.ReadAll(r.Body)
			success(w, string(body))
		case "/api/v1/notes-fixture/notes/follow":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, item("7")+end)
		}
	})
	var out map[string]any
	is.NoErr(client.Call(t.Context(), "hello-slot/greeter.greet", map[string]any{"name": "bb", "tags": []string{"a", "b"}}, &out))
	is.Equal(out["query"], "name=bb&tags=a&tags=b")
	is.Equal(out["big"], json.Number("9007199254740993")) // exact in an interface as well
	out = nil
	is.NoErr(client.Call(t.Context(), "hello-slot/greeter.count", json.RawMessage(`{"n":9007199254740993}`), &out))
	is.Equal(out["n"], json.Number("9007199254740993"))
	is.NoErr(client.Call(t.Context(), "hello-slot/greeter.count", nil, nil)) // no input, result dropped
	for ev, err := range client.Open(t.Context(), "notes-fixture/notes.follow", nil, "") {
		is.NoErr(err)
		is.Equal(ev.Cursor, "7")
		is.Equal(string(ev.Item), `{"id":"7"}`)
	}
	is.Equal(fetches.Load(), int32(1))

	err := client.Call(t.Context(), "hello-slot/greeter.gone", nil, nil)
	is.True(errors.Is(err, kernelcontract.NotFound))
	is.Equal(fetches.Load(), int32(2)) // an unknown method is asked for once more

	generation.Store(2)
	is.NoErr(client.Call(t.Context(), "hello-slot/greeter.count", nil, nil))
	is.NoErr(client.Call(t.Context(), "hello-slot/greeter.count", nil, nil))
	is.Equal(fetches.Load(), int32(3)) // a changed catalog is asked for once

	is.True(errors.Is(client.Call(t.Context(), "notes-fixture/notes.follow", nil, nil), kernelcontract.InvalidInput))
	for _, err := range client.Open(t.Context(), "hello-slot/greeter.greet", nil, "") {
		is.True(errors.Is(err, kernelcontract.InvalidInput))
	}
	for _, ref := range []string{"", "x", "a/b", "a/b/c.d", "../b.c", "hello-slot/greeter.greet?x"} {
		is.True(client.Call(t.Context(), ref, nil, nil) != nil)
	}
	is.True(errors.Is(client.Call(t.Context(), "hello-slot/greeter.greet", make(chan int), nil), kernelcontract.InvalidInput)) // does not encode
	is.True(errors.Is(client.Call(t.Context(), "hello-slot/greeter.greet", 5, nil), kernelcontract.InvalidInput))              // not an object
}

// Many calls at once ask once.
func TestCallByNameConcurrently(t *testing.T) {
	is := is.New(t)
	var fetches atomic.Int32
	document := manifestOf(t, greeter)
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/manifest") {
			fetches.Add(1)
			success(w, document)
			return
		}
		success(w, `{}`)
	})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := client.Call(t.Context(), "hello-slot/greeter.greet", map[string]any{"name": "bb"}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	is.Equal(fetches.Load(), int32(1))
}

func TestManifest(t *testing.T) {
	is := is.New(t)
	want := &manifest.Manifest{Format: 1, ServerID: "s", Generation: 9, Plugins: []manifest.Plugin{{ID: "p", Version: "1", State: manifest.Ready, Services: []manifest.Service{}}}, Problems: []manifest.Problem{}}
	document, err := manifest.Encode(want)
	is.NoErr(err)
	client := serve(t, func(w http.ResponseWriter, r *http.Request) { success(w, string(document)) })
	got, err := client.Manifest(t.Context())
	is.NoErr(err)
	is.Equal(got, want)

	client = serve(t, func(w http.ResponseWriter, r *http.Request) { success(w, `{"format":2}`) })
	_, err = client.Manifest(t.Context())
	var format *manifest.FormatError
	is.True(errors.As(err, &format))
	err = client.Call(t.Context(), "hello-slot/greeter.greet", nil, nil)
	is.True(errors.As(err, &format))
}

func TestDo(t *testing.T) {
	query := kernelcontract.Signature{Ref: "hello-slot/greeter.greet", Kind: kernelcontract.KindQuery}
	t.Run("JSON", func(t *testing.T) {
		is := is.New(t)
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			is.Equal(r.URL.Query().Get("$input"), `{"name":"bb"}`) // without a schema
			success(w, ` {"b":1.0, "a":9007199254740993} `)
		})
		r, err := client.Do(t.Context(), sdk.Request{Signature: query, Input: json.RawMessage(`{"name":"bb"}`)})
		is.NoErr(err)
		is.Equal(r.Form, sdk.JSON)
		is.Equal(string(r.Body), `{"b":1.0, "a":9007199254740993}`) // the bare result, byte for byte
		is.Equal(r.Answer, sdk.Answer{Status: 200, CallID: "call-1", ServerID: "server-1", Generation: 7, MIMEType: "application/json"})
	})
	t.Run("null", func(t *testing.T) {
		is := is.New(t)
		client := serve(t, func(w http.ResponseWriter, r *http.Request) { success(w, `null`) })
		r, err := client.Do(t.Context(), sdk.Request{Signature: query})
		is.NoErr(err)
		is.Equal(string(r.Body), "null")
	})
	t.Run("text", func(t *testing.T) {
		is := is.New(t)
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			is.Equal(r.Header.Get("Bb-Render"), "text; width=80; color=0; tty=1")
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprint(w, "Hello\n")
		})
		r, err := client.Do(t.Context(), sdk.Request{Signature: query, Render: &kernelcontract.Render{TTY: true}})
		is.NoErr(err)
		is.Equal(r.Form, sdk.Text)
		is.Equal(string(r.Body), "Hello\n")
	})
	t.Run("a failure as text", func(t *testing.T) {
		is := is.New(t)
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(400)
			fmt.Fprint(w, "invalid_input: two issues\n  name: is required\n")
		})
		r, err := client.Do(t.Context(), sdk.Request{Signature: query, Render: &kernelcontract.Render{}})
		is.True(errors.Is(err, kernelcontract.InvalidInput))
		is.Equal(err.Error(), "invalid_input: two issues\n  name: is required")
		is.Equal(r.Status, 400) // the head comes with the error
		is.Equal(r.Generation, uint64(7))
	})
	t.Run("a plugin's failure as text", func(t *testing.T) {
		is := is.New(t)
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(403)
			fmt.Fprint(w, "muted: not today")
		})
		_, err := client.Do(t.Context(), sdk.Request{Signature: query, Render: &kernelcontract.Render{}})
		is.True(errors.Is(err, muted))
		is.Equal(kernelcontract.AsError(err).Row().Exit, 7)
	})
	t.Run("raw", func(t *testing.T) {
		is := is.New(t)
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			is.Equal(r.URL.RawQuery, "$raw=1")
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Disposition", "attachment")
			fmt.Fprint(w, `{"ok":true}`)
		})
		r, err := client.Do(t.Context(), sdk.Request{Signature: query, Raw: true})
		is.NoErr(err)
		is.Equal(r.Form, sdk.Bytes) // a JSON file is not an envelope
		is.Equal(string(r.Body), `{"ok":true}`)
	})
	t.Run("a stream", func(t *testing.T) {
		is := is.New(t)
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {})
		_, err := client.Do(t.Context(), sdk.Request{Signature: kernelcontract.Signature{Ref: "a/b.c", Kind: kernelcontract.KindStream}})
		is.True(errors.Is(err, kernelcontract.InvalidInput))
		for _, err := range client.Follow(t.Context(), sdk.Request{Signature: query}) {
			is.True(errors.Is(err, kernelcontract.InvalidInput))
		}
	})
	t.Run("an input too long for a URL", func(t *testing.T) {
		is := is.New(t)
		client := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("it was sent") })
		_, err := greet.Call(t.Context(), client, greetInput{Name: strings.Repeat("x", 33<<10)})
		is.True(errors.Is(err, kernelcontract.InvalidInput))
	})
}

func TestBytes(t *testing.T) {
	is := is.New(t)
	document := manifestOf(t, greeter)
	png := []byte("\x89PNG\r\n")
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/manifest"):
			success(w, document)
		case r.URL.Query().Get("name") == "text":
			success(w, `{"message":""}`)
		default:
			is.Equal(r.URL.RawQuery, "name=png&$raw=1")
			w.Header().Set("Content-Type", "image/png")
			w.Write(png)
		}
	})
	file, err := client.Bytes(t.Context(), greet.Ref, greetInput{Name: "png"})
	is.NoErr(err)
	is.Equal(file, schema.Bytes{MIMEType: "image/png", Data: png})
	_, err = client.Bytes(t.Context(), greet.Ref, greetInput{Name: "text"})
	is.True(errors.Is(err, kernelcontract.InvalidInput)) // not a file

	typed := &kernelcontract.Query[greetInput, schema.Bytes]{Ref: greet.Ref, Summary: "Get a file"}
	client = serve(t, func(w http.ResponseWriter, r *http.Request) {
		success(w, `{"kind":"bytes","mimeType":"image/png","base64":"iVBORw0K"}`)
	})
	file, err = typed.Call(t.Context(), client, greetInput{Name: "png"})
	is.NoErr(err)
	is.Equal(file.Data, png)
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
