package cli_test

import (
	"context"
	"fmt"

	"github.com/bb-kernel/bb/cli"
	"github.com/bb-kernel/bb/kernelcontract"
)

func Example() {
	type input struct {
		Name string `json:"name" description:"Who to greet"`
	}
	greet := &kernelcontract.Query[input, string]{
		Ref: "mine/tool.greet", Summary: "Greet without a server",
		CLI: kernelcontract.CLI{Args: []string{"name"}, Offline: true},
	}
	service := &kernelcontract.Service{ID: "mine/tool", Summary: "My own words", Methods: []kernelcontract.Method{greet}}
	handler := greet.Handle(func(_ context.Context, in input) (string, error) { return "Hello, " + in.Name, nil })

	status := cli.Main(context.Background(), []string{"tool", "greet", "Ada"}, cli.Options{
		Offline: []kernelcontract.Implementation{{Service: service, Handlers: []kernelcontract.Handler{handler}}},
	})
	fmt.Println("exit", status)
	// Output:
	// Hello, Ada
	// exit 0
}
