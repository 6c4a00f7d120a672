// Package contracts defines what hello-slot offers: import it to call the plugin, typed, over HTTP or in process.
package contracts

import (
	"fmt"

	"github.com/bb-kernel/bb/kernelcontract"
)

// GreetInput is the input of Greet.
type GreetInput struct {
	Name       string `json:"name" description:"Who to greet" minLength:"1"`
	Salutation string `json:"salutation,omitempty" default:"Hello" description:"The word before the name"`
}

// GreetOutput is the result of Greet.
type GreetOutput struct {
	Message string `json:"message"`
	Count   int    `json:"count"` // how often Count has counted the name
}

// CountInput is the input of Count.
type CountInput struct {
	Name string `json:"name" description:"Whose greetings to count" minLength:"1"`
}

// CountOutput is the result of Count.
type CountOutput struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// HostGreetInput is the input of HostGreet.
type HostGreetInput struct {
	Name string `json:"name" description:"Who to greet" minLength:"1"`
}

// HostGreetOutput is the result of HostGreet.
type HostGreetOutput struct {
	Message string `json:"message"`
}

// Muted is the error of greeting someone who does not want to be greeted.
const Muted kernelcontract.Code = "muted"

// Greet greets someone by name. It does not count.
var Greet = &kernelcontract.Query[GreetInput, GreetOutput]{
	Ref:     "hello-slot/greeter.greet",
	Summary: "Greet someone by name",
	CLI:     kernelcontract.CLI{Args: []string{"name"}},
	Tool: &kernelcontract.Tool{Presentation: kernelcontract.Presentation{
		Pending: "Greeting", Completed: "Greeted", Icon: "hand", Intent: "generic"}},
	Errors:   map[kernelcontract.Code]kernelcontract.ErrorDef{Muted: {Like: kernelcontract.Forbidden, Description: "The person asked not to be greeted."}},
	Examples: []kernelcontract.Example[GreetInput]{{Input: GreetInput{Name: "bb"}, Note: "prints `Hello, bb!` and the counter"}},
	RenderText: func(out GreetOutput, r kernelcontract.Render) string {
		return fmt.Sprintf("%s (greeted %d times)", out.Message, out.Count)
	},
}

// Count adds one to the greetings of a name. The number is kept.
var Count = &kernelcontract.Mutation[CountInput, CountOutput]{
	Ref: "hello-slot/greeter.count", Summary: "Count a greeting",
	CLI: kernelcontract.CLI{Args: []string{"name"}},
}

// HostGreet greets from a host. It answers kernelcontract.ServiceUnavailable until one runs it.
var HostGreet = &kernelcontract.Query[HostGreetInput, HostGreetOutput]{
	Ref: "hello-slot/greeter.hostGreet", Summary: "Greet someone from a host",
	CLI:    kernelcontract.CLI{Name: "host-greet", Args: []string{"name"}},
	OnHost: true,
}

// Greeter is the service of hello-slot.
var Greeter = &kernelcontract.Service{
	ID: "hello-slot/greeter", Summary: "Greet by name and count greetings", Group: []string{"hello"},
	Methods: []kernelcontract.Method{Greet, Count, HostGreet},
}
