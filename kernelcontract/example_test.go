package kernelcontract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bb-kernel/bb/kernelcontract"
)

type GreetInput struct {
	Name       string `json:"name" description:"Who to greet" minLength:"1"`
	Salutation string `json:"salutation,omitempty" default:"Hello"`
}

type GreetOutput struct {
	Message string `json:"message"`
}

const Muted kernelcontract.Code = "muted"

var Greet = &kernelcontract.Query[GreetInput, GreetOutput]{
	Ref:     "hello-slot/greeter.greet",
	Summary: "Greet someone by name",
	CLI:     kernelcontract.CLI{Args: []string{"name"}},
	Errors:  map[kernelcontract.Code]kernelcontract.ErrorDef{Muted: {Like: kernelcontract.Forbidden}},
}

var Greeter = &kernelcontract.Service{
	ID: "hello-slot/greeter", Summary: "Greet by name", Group: []string{"hello"},
	Methods: []kernelcontract.Method{Greet},
}

// A method is defined once, as plain data, and paired with a typed function.
func Example() {
	def, err := Greeter.Def()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range def.Methods {
		fmt.Println(m.Ref(), m.Kind, m.CLI.Name)
	}
	h := Greet.Handle(func(ctx context.Context, in GreetInput) (GreetOutput, error) {
		if in.Name == "nobody" {
			return GreetOutput{}, Muted.Errorf("%s asked not to be greeted", in.Name)
		}
		return GreetOutput{Message: in.Salutation + ", " + in.Name + "!"}, nil
	})
	out, err := h.Call(context.Background(), json.RawMessage(`{"name":"bb","salutation":"Hello"}`))
	fmt.Println(out, err)
	_, err = h.Call(context.Background(), json.RawMessage(`{"name":"nobody"}`))
	fmt.Println(errors.Is(err, Muted), err)
	// Output:
	// hello-slot/greeter.greet query greet
	// {Hello, bb!} <nil>
	// true muted: nobody asked not to be greeted
}

// All problems of a definition are reported together.
func ExampleService_Def() {
	broken := &kernelcontract.Service{ID: "demo/notes", Summary: "Keep notes", Methods: []kernelcontract.Method{
		&kernelcontract.Query[kernelcontract.None, string]{Ref: "demo/notes.get", CLI: kernelcontract.CLI{Args: []string{"id"}}},
	}}
	_, err := broken.Def()
	fmt.Println(err)
	// Output:
	// demo/notes.get Summary: is required: one line that says what it is for
	// demo/notes.get CLI.Args: the input has no field "id"
}
