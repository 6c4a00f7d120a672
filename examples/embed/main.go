// Command embed runs a kernel inside a Go program: hello-slot answers in process and, on every surface, over HTTP.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	hello "github.com/bb-kernel/bb/examples/hello-slot"
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
	bb := k.As(kernelcontract.Principal{Actor: "user:local"})
	g, err := contracts.Greet.Call(context.Background(), bb, contracts.GreetInput{Name: "bb"}) // in process
	fmt.Println(g.Message, err)
	if len(os.Args) == 2 { // embed 127.0.0.1:38886
		fmt.Println(http.ListenAndServe(os.Args[1], k.Handler())) // every surface over HTTP
	}
}
