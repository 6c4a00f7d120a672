package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/sdk"
)

// standIn answers as a kernel with hello-slot and notes-fixture would.
func standIn() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kernelHeaders(w.Header())
		switch {
		case r.URL.Path == "/api/v1/notes-fixture/notes/follow":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, item("1")+item("2")+end)
		case r.URL.Query().Get("name") == "nobody":
			failure(w, 403, `{"ok":false,"error":{"code":"muted","message":"nobody asked not to be greeted","retryable":false}}`)
		default:
			success(w, `{"message":"Hello, bb!","count":3}`)
		}
	}))
}

func Example() {
	server := standIn()
	defer server.Close()
	ctx := context.Background()

	client, err := sdk.Connect(sdk.Options{URL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := greet.Call(ctx, client, greetInput{Name: "bb"})
	fmt.Println(out.Message, out.Count, err)

	_, err = greet.Call(ctx, client, greetInput{Name: "nobody"})
	fmt.Println(errors.Is(err, muted), kernelcontract.CodeOf(err))

	for n, err := range follow.Stream(ctx, client, struct{}{}) {
		fmt.Println("note", n.ID, err)
	}
	// Output:
	// Hello, bb! 3 <nil>
	// true muted
	// note 1 <nil>
	// note 2 <nil>
}

func ExampleClient_Do() {
	server := standIn()
	defer server.Close()
	client, err := sdk.Connect(sdk.Options{URL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := client.Do(context.Background(), sdk.Request{
		Signature: kernelcontract.Signature{Ref: "hello-slot/greeter.greet", Kind: kernelcontract.KindQuery},
		Input:     []byte(`{"name":"bb"}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Form, string(r.Body), r.Generation)
	// Output: json {"message":"Hello, bb!","count":3} 7
}
