package sdk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bb-kernel/bb/sdk"
	"github.com/bb-kernel/bb/sdk/sse"
)

// BenchmarkCall compares a typed query with the same request written by hand, over loopback keep-alive.
func BenchmarkCall(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kernelHeaders(w.Header())
		success(w, `{"message":"Hello, bb!","count":3}`)
	}))
	defer server.Close()
	b.Run("sdk", func(b *testing.B) {
		client := connect(b, sdk.Options{URL: server.URL})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := greet.Call(b.Context(), client, greetInput{Name: "bb"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline net/http", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := http.Get(server.URL + "/api/v1/hello-slot/greeter/greet?name=bb")
			if err != nil {
				b.Fatal(err)
			}
			var out struct {
				OK     bool        `json:"ok"`
				Result greetOutput `json:"result"`
			}
			if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}

// BenchmarkFollow compares a typed stream of 1,000 items with parsing and decoding the same bytes by hand.
func BenchmarkFollow(b *testing.B) {
	var stream bytes.Buffer
	for i := range 1000 {
		stream.WriteString(item(fmt.Sprint(i)))
	}
	stream.WriteString(end)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kernelHeaders(w.Header())
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(stream.Bytes())
	}))
	defer server.Close()
	b.Run("sdk", func(b *testing.B) {
		client := connect(b, sdk.Options{URL: server.URL})
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for _, err := range follow.Stream(b.Context(), client, struct{}{}) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != 1000 {
				b.Fatal(n)
			}
		}
	})
	b.Run("baseline parser and JSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := http.Get(server.URL)
			if err != nil {
				b.Fatal(err)
			}
			r := sse.NewReader(resp.Body, sse.Options{})
			for {
				ev, err := r.Next()
				if err != nil {
					break
				}
				var n note
				if err := json.Unmarshal(ev.Data, &n); err != nil {
					b.Fatal(err)
				}
			}
			resp.Body.Close()
		}
	})
}
