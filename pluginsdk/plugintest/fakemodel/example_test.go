package fakemodel_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/bb-kernel/bb/pluginsdk/plugintest/fakemodel"
)

// A client streams a chat completion. A test would use Server.Start, and point a real agent at it.
func Example() {
	model := fakemodel.New(fakemodel.Options{APIKey: "secret"})
	server := httptest.NewServer(model)
	defer server.Close()

	request, err := http.NewRequest(http.MethodPost, server.URL+"/v1/chat/completions", strings.NewReader(
		`{"model": "fake", "stream": true, "messages": [{"role": "user", "content": "SAY hello"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Header.Set("Authorization", "Bearer secret")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), "hello") {
			fmt.Println("streamed: hello")
		}
	}
	for _, request := range model.Requests() {
		fmt.Println(request.Method, request.Path, request.Text)
	}
	// Output:
	// streamed: hello
	// POST /v1/chat/completions SAY hello
}
