package openapi_test

import (
	"encoding/json"
	"fmt"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/openapi"
)

func Example() {
	type input struct {
		Name string `json:"name"`
	}
	greeter := &kernelcontract.Service{ID: "hello/greeter", Summary: "Greet", Methods: []kernelcontract.Method{
		&kernelcontract.Query[input, string]{Ref: "hello/greeter.greet", Summary: "Greet someone"},
	}}
	def, err := greeter.Def()
	if err != nil {
		panic(err)
	}
	greet, err := docs.Of(def.Methods[0], nil)
	if err != nil {
		panic(err)
	}
	raw, err := openapi.Of(&manifest.Manifest{Plugins: []manifest.Plugin{{ID: "hello", Services: []manifest.Service{
		{ID: "hello/greeter", Summary: "Greet", Methods: []docs.MethodDoc{greet}},
	}}}}, "")
	if err != nil {
		panic(err)
	}
	var document struct {
		OpenAPI string
		Paths   map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		panic(err)
	}
	fmt.Println(document.OpenAPI, document.Paths["/api/v1/hello/greeter/greet"]["get"].OperationID)
	// Output: 3.1.0 hello_greeter_greet
}
