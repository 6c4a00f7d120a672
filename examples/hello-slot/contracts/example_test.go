package contracts_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/bb-kernel/bb/examples/hello-slot/contracts"
	"github.com/bb-kernel/bb/kernelcontract"
)

// greetEveryone works over HTTP with an sdk.Client, and in process with Kernel.As.
func greetEveryone(ctx context.Context, bb kernelcontract.Caller, names ...string) {
	for _, name := range names {
		out, err := contracts.Greet.Call(ctx, bb, contracts.GreetInput{Name: name})
		if errors.Is(err, contracts.Muted) {
			continue
		}
		fmt.Println(out.Message, err)
	}
}

func Example() {
	_ = greetEveryone
	def, err := contracts.Greeter.Def()
	fmt.Println(err)
	for _, m := range def.Methods {
		fmt.Println(m.Kind, m.Ref())
	}
	// Output:
	// <nil>
	// query hello-slot/greeter.greet
	// mutation hello-slot/greeter.count
	// query hello-slot/greeter.hostGreet
}
