package fakemodel_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/pluginsdk/plugintest/fakemodel"
)

// patience bounds waits that succeed at once unless something is broken.
const patience = 20 * time.Second

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// raw makes a request and returns the answer, with its body read.
func raw(t *testing.T, method, url, body string, headers ...string) (*http.Response, object) {
	t.Helper()
	r, err := http.NewRequestWithContext(patient(t), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer, readObject(t, answer.Body)
}

const hello = `{"model":"m","max_tokens":1,"input":"SAY hi","messages":[{"role":"user","content":"SAY hi"}]}`

func TestKey(t *testing.T) {
	model := fakemodel.New(fakemodel.Options{APIKey: "secret"})
	url := model.Start(t)
	for name, c := range clients() {
		for _, test := range []struct {
			rule, header, value string
			status              int
		}{
			{"bearer", "Authorization", "Bearer secret", 200},
			{"scheme-in-any-case", "Authorization", "bearer secret", 200},
			{"x-api-key", "X-Api-Key", "secret", 200},
			{"none", "X-Other", "secret", 401},
			{"wrong", "X-Api-Key", "secre", 401},
			{"longer", "Authorization", "Bearer secret2", 401},
			{"basic", "Authorization", "Basic secret", 401},
		} {
			t.Run(name+"/"+test.rule, func(t *testing.T) {
				is := is.New(t)
				answer, body := raw(t, http.MethodPost, url+c.path(), hello, test.header, test.value)
				is.Equal(answer.StatusCode, test.status)
				if test.status == 401 {
					kind, message := c.failure(body)
					is.Equal(kind, pick(c, [2]string{"invalid_request_error", "authentication_error"}))
					is.Equal(message, "the API key is missing or wrong")
				}
			})
		}
	}
	t.Run("is-not-recorded", func(t *testing.T) {
		is := is.New(t)
		for _, request := range model.Requests() {
			request.Header.Del("X-Other") // of the test without a key
			is.True(!strings.Contains(fmt.Sprint(request.Header), "secret"))
		}
	})
	t.Run("models-need-it", func(t *testing.T) {
		answer, _ := raw(t, http.MethodGet, url+"/v1/models", "")
		is.New(t).Equal(answer.StatusCode, 401)
	})
}

func TestRefusals(t *testing.T) {
	url := fakemodel.New(fakemodel.Options{}).Start(t)
	large := strings.Repeat(" ", fakemodel.MaxBody+1)
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(zip, large)
	_ = zip.Close()
	for name, c := range clients() {
		for _, test := range []struct {
			rule, method, body, encoding string
			status                       int
			message                      string
		}{
			{"no-json", "POST", "{", "", 400, "the body is not a JSON object of this API"},
			{"no-object", "POST", "[]", "", 400, "the body is not a JSON object of this API"},
			{"empty", "POST", "", "", 400, "the body is not a JSON object of this API"},
			{"no-model", "POST", `{}`, "", 400, "model"},
			{"no-input", "POST", `{"model":"m"}`, "", 400, "is missing|are missing|messages: at least one"},
			{"wrong-types", "POST", `{"model":"m","tools":5,"input":5,"messages":5,"max_tokens":1}`, "", 400, "the body is not"},
			{
				"wrong-parts", "POST", `{"model":"m","max_tokens":1,"input":[{"role":"user","content":[5]}],` +
					`"messages":[{"role":"user","content":[5]}]}`, "", 400, "input[0]|messages[0]|messages.0",
			},
			{"wrong-method", "GET", "", "", 405, "takes POST"},
			{"too-large", "POST", large, "", 413, "more than 33554432 bytes"},
			{"too-large-when-unzipped", "POST", zipped.String(), "gzip", 413, "more than 33554432 bytes"},
			{"not-zipped", "POST", hello, "gzip", 400, "cannot be read"},
			{"unknown-encoding", "POST", hello, "zstd", 415, "send it as it is"},
		} {
			t.Run(name+"/"+test.rule, func(t *testing.T) {
				is := is.New(t)
				answer, body := raw(t, test.method, url+c.path(), test.body, "Content-Encoding", test.encoding)
				is.Equal(answer.StatusCode, test.status)
				kind, message := c.failure(body)
				is.True(kind != "")
				found := slices.ContainsFunc(strings.Split(test.message, "|"), func(s string) bool { return strings.Contains(message, s) })
				if !found {
					t.Errorf("the message is %q", message)
				}
			})
		}
	}
	t.Run("unknown-path", func(t *testing.T) {
		is := is.New(t)
		answer, body := raw(t, http.MethodPost, url+"/v1/other", hello)
		is.Equal(answer.StatusCode, 404)
		is.Equal(text(body, "error", "type"), "invalid_request_error")
		answer, body = raw(t, http.MethodPost, url+"/v1/other", hello, "Anthropic-Version", "2023-06-01")
		is.Equal(answer.StatusCode, 404)
		is.Equal(text(body, "error", "type"), "not_found_error")
	})
	t.Run("stored-responses", func(t *testing.T) {
		is := is.New(t)
		answer, body := raw(t, http.MethodPost, url+"/v1/responses", `{"model":"m","input":"x","previous_response_id":"resp_1"}`)
		is.Equal(answer.StatusCode, 400)
		is.Equal(text(body, "error", "code"), "previous_response_not_found")
	})
	t.Run("no-max-tokens", func(t *testing.T) {
		answer, body := raw(t, http.MethodPost, url+"/v1/messages", `{"model":"m","messages":[{"role":"user","content":"x"}]}`)
		is.New(t).Equal(answer.StatusCode, 400)
		is.New(t).Equal(text(body, "error", "message"), "max_tokens: field required")
	})
	t.Run("zipped-is-fine", func(t *testing.T) {
		var b bytes.Buffer
		zip := gzip.NewWriter(&b)
		_, _ = io.WriteString(zip, hello)
		_ = zip.Close()
		answer, body := raw(t, http.MethodPost, url+"/v1/responses", b.String(), "Content-Encoding", "gzip")
		is.New(t).Equal(answer.StatusCode, 200)
		is.New(t).Equal(responsesClient{}.whole(body).text, "hi")
	})
}

func TestModels(t *testing.T) {
	is := is.New(t)
	url := fakemodel.New(fakemodel.Options{
		Models: []string{"a", "b"}, Clock: func() time.Time { return time.Unix(1e9, 0) },
	}).Start(t)
	_, body := raw(t, http.MethodGet, url+"/v1/models", "")
	is.Equal(text(body, "object"), "list")
	is.Equal(in(body, "data", 1), object{"id": "b", "object": "model", "created": 1e9, "owned_by": "fakemodel"})
	_, body = raw(t, http.MethodGet, url+"/v1/models/other/x", "")
	is.Equal(text(body, "id"), "other/x") // any name will do
	_, body = raw(t, http.MethodGet, url+"/v1/models?limit=5", "", "Anthropic-Version", "2023-06-01")
	is.Equal([]string{text(body, "first_id"), text(body, "last_id")}, []string{"a", "b"})
	is.Equal(in(body, "data", 0), object{"type": "model", "id": "a", "display_name": "a", "created_at": "2001-09-09T01:46:40Z"})
	answer, _ := raw(t, http.MethodPost, url+"/v1/models", "")
	is.Equal(answer.StatusCode, 405)
	answer, _ = raw(t, http.MethodGet, url+"/v1/models/", "")
	is.Equal(answer.StatusCode, 404)

	_, body = raw(t, http.MethodGet, fakemodel.New(fakemodel.Options{}).Start(t)+"/v1/models", "")
	is.Equal(text(body, "data", 0, "id"), fakemodel.DefaultModel)
}

func TestCountTokens(t *testing.T) {
	is := is.New(t)
	const body = `{"model":"m","messages":[{"role":"user","content":"FAIL"}]}`
	url := fakemodel.New(fakemodel.Options{}).Start(t)
	answer, got := raw(t, http.MethodPost, url+"/v1/messages/count_tokens?beta=true", body)
	is.Equal(answer.StatusCode, 200) // scripts do not run here
	is.Equal(number(got, "input_tokens"), (len(body)+3)/4)
}

func TestHeader(t *testing.T) {
	is := is.New(t)
	header := http.Header{"X-Codex-Primary-Used-Percent": {"12"}}
	url := fakemodel.New(fakemodel.Options{Header: header}).Start(t)
	for _, c := range clients() {
		for _, stream := range []bool{true, false} {
			is.Equal(ask(t, url, c, []turn{{user: "SAY x"}}, stream).header.Get("X-Codex-Primary-Used-Percent"), "12")
		}
		is.Equal(ask(t, url, c, []turn{{user: "FAIL"}}, true).header.Get("X-Codex-Primary-Used-Percent"), "")
	}
}

func TestRequests(t *testing.T) {
	is := is.New(t)
	var logged []string
	model := fakemodel.New(fakemodel.Options{Log: func(format string, arguments ...any) {
		logged = append(logged, fmt.Sprintf(format, arguments...))
	}})
	server := httptest.NewServer(model) // a handler like any other
	raw(t, http.MethodPost, server.URL+"/v1/messages?beta=true", hello, "X-Api-Key", "k", "Session-Id", "s1")
	raw(t, http.MethodGet, server.URL+"/v1/nothing", "")
	requests, err := model.WaitRequests(patient(t), 2)
	is.NoErr(err)
	is.NoErr(model.WaitIdle(patient(t)))
	server.Close()
	is.Equal(len(requests), 2)
	is.Equal([]string{requests[0].Method, requests[0].Path, requests[0].Text}, []string{"POST", "/v1/messages?beta=true", "SAY hi"})
	is.Equal(string(requests[0].Body), hello)
	is.Equal(requests[0].Header.Get("Session-Id"), "s1")
	is.Equal(requests[0].Header.Get("X-Api-Key"), "")
	is.Equal(requests[1].Body, nil)
	is.Equal(logged, []string{"fakemodel: POST /v1/messages: 200", "fakemodel: GET /v1/nothing: 404"})

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	requests, err = model.WaitRequests(ended, 3)
	is.Equal(len(requests), 2)
	is.Equal(err.Error(), "fakemodel: 2 of 3 requests came: context canceled")
	is.Equal(model.WaitHanging(ended, 1).Error(), "fakemodel: waiting for 1 hanging answers: context canceled")
}

func TestChoose(t *testing.T) {
	is := is.New(t)
	model := fakemodel.New(fakemodel.Options{
		Choose: func(role fakemodel.Role, argument string, tools []fakemodel.Tool) (fakemodel.Call, bool) {
			if role == fakemodel.RoleShell {
				return fakemodel.Call{Tool: tools[1], Arguments: `{"own":"` + argument + `"}`}, true
			}
			return fakemodel.Choose(role, argument, tools)
		},
	})
	url := model.Start(t)
	got := ask(t, url, chatClient{}, []turn{{user: "RUN x"}}, true)
	is.Equal([]string{got.calls[0].name, got.calls[0].input}, []string{"write", `{"own":"x"}`})
	is.Equal(ask(t, url, chatClient{}, []turn{{user: "PLAN"}}, true).calls[0].name, "todowrite")
}

// hanging begins a stream that hangs and returns it with what came.
func hanging(t *testing.T, ctx context.Context, url string, c client) (*bufio.Reader, io.Closer) {
	t.Helper()
	body, err := json.Marshal(c.body([]turn{{user: "HANG wait here"}}, true))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+c.path(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(answer.Body)
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "wait") { // the first piece is here, before the answer ends
			return reader, answer.Body
		}
	}
}

func TestHang(t *testing.T) {
	for name, c := range clients() {
		t.Run(name+"/until-the-client-leaves", func(t *testing.T) {
			is := is.New(t)
			model := fakemodel.New(fakemodel.Options{Log: t.Logf})
			url := model.Start(t)
			ctx, leave := context.WithCancel(t.Context())
			_, body := hanging(t, ctx, url, c)
			is.NoErr(model.WaitHanging(patient(t), 1))
			leave()
			_ = body.Close()
			is.NoErr(model.WaitHanging(patient(t), 0))
			is.NoErr(model.WaitIdle(patient(t)))
		})
		t.Run(name+"/until-the-server-closes", func(t *testing.T) {
			is := is.New(t)
			model := fakemodel.New(fakemodel.Options{})
			url := model.Start(t)
			reader, body := hanging(t, t.Context(), url, c)
			is.NoErr(model.WaitHanging(patient(t), 1))
			model.Close()
			model.Close()
			_, err := io.ReadAll(reader)
			is.True(err != nil) // broken off, not ended
			_ = body.Close()
			is.Equal(ask(t, url, c, []turn{{user: "SAY x"}}, true).status, http.StatusServiceUnavailable)
		})
		t.Run(name+"/whole", func(t *testing.T) {
			is := is.New(t)
			model := fakemodel.New(fakemodel.Options{})
			url := model.Start(t)
			encoded, err := json.Marshal(c.body([]turn{{user: "SAY x\nHANG"}}, false))
			is.NoErr(err)
			ctx, leave := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+c.path(), bytes.NewReader(encoded))
			is.NoErr(err)
			failed := make(chan error)
			go func() {
				answer, err := http.DefaultClient.Do(r)
				if err == nil {
					_ = answer.Body.Close()
				}
				failed <- err
			}()
			is.NoErr(model.WaitHanging(patient(t), 1))
			leave()
			is.True(<-failed != nil) // there was no answer
			is.NoErr(model.WaitIdle(patient(t)))
		})
	}
}

// TestNoGoroutineIsLeft ends a test whose clients hang, read nothing, and have sent nothing.
func TestNoGoroutineIsLeft(t *testing.T) {
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	before := stacks()
	t.Run("server", func(t *testing.T) {
		is := is.New(t)
		model := fakemodel.New(fakemodel.Options{})
		url := model.Start(t)
		for _, c := range clients() {
			_, body := hanging(t, t.Context(), url, c)
			defer body.Close()
		}
		is.NoErr(model.WaitHanging(patient(t), 3))
	})
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for deadline := time.Now().Add(patience); ; runtime.Gosched() {
		if stacks() <= before {
			return
		}
		if time.Now().After(deadline) {
			buffer := make([]byte, 1<<20)
			t.Fatalf("goroutines are left:\n%s", buffer[:runtime.Stack(buffer, true)])
		}
	}
}

// stacks counts the goroutines that serve or handle requests.
func stacks() int {
	buffer := make([]byte, 1<<22)
	all := string(buffer[:runtime.Stack(buffer, true)])
	return strings.Count(all, "fakemodel.(*Server)") + strings.Count(all, "net/http.(*conn).serve") + strings.Count(all, "net/http.(*Server).Serve(")
}

// TestManyAtOnce has clients of all APIs work at the same time, some of them refused and some hanging.
func TestManyAtOnce(t *testing.T) {
	is := is.New(t)
	model := fakemodel.New(fakemodel.Options{})
	url := model.Start(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for _, c := range clients() {
		_, body := hanging(t, ctx, url, c)
		defer body.Close()
	}
	var group sync.WaitGroup
	for i := range 8 {
		for _, c := range clients() {
			group.Go(func() {
				last := work(t, url, c, fmt.Sprintf("STEPS 3\nSAY end of %d", i), i%2 == 0, echo)
				if got := last[len(last)-1].text; !strings.HasSuffix(got, fmt.Sprintf("end of %d", i)) {
					t.Errorf("the last answer is %q", got)
				}
			})
		}
	}
	group.Wait()
	is.Equal(len(model.Requests()), 3+8*3*4)
	is.NoErr(model.WaitHanging(patient(t), 3)) // still there
}
