// Outside embeds the kernel with hello-slot from its published modules and calls it in process and over HTTP.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/bb-kernel/bb/examples/hello-slot"
	"github.com/bb-kernel/bb/examples/hello-slot/contracts"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk"
)

func main() {
	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{hello.Plugin()}})
	if err != nil {
		log.Fatal(err)
	}
	defer k.Close()

	caller := k.As(kernelcontract.Principal{Actor: "user:local"})
	out, err := contracts.Greet.Call(context.Background(), caller, contracts.GreetInput{Name: "bb"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("in process:", out.Message)

	server := httptest.NewServer(k.Handler())
	defer server.Close()
	answer, err := http.Get(server.URL + "/api/v1/hello-slot/greeter/greet?name=bb")
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	var envelope struct{ Result contracts.GreetOutput }
	if err := json.NewDecoder(answer.Body).Decode(&envelope); err != nil {
		log.Fatal(err)
	}
	fmt.Println("over HTTP:", envelope.Result.Message)
}
