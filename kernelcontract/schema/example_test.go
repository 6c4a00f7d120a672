package schema_test

import (
	"fmt"
	"reflect"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

func ExampleOf() {
	type Input struct {
		Name       string `json:"name" description:"Who to greet" minLength:"1"`
		Salutation string `json:"salutation,omitempty" default:"Hello"`
	}
	s, err := schema.Of(reflect.TypeFor[Input]())
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := s.MarshalJSON()
	fmt.Println(string(text), err)
	// Output:
	// {"type":"object","properties":{"name":{"description":"Who to greet","type":"string","minLength":1},"salutation":{"type":"string","default":"Hello"}},"required":["name"],"additionalProperties":false} <nil>
}

func ExampleMarshal() {
	type Output struct {
		Notes []string       `json:"notes"`
		Tags  map[string]int `json:"tags,omitempty"`
	}
	text, err := schema.Marshal(Output{})
	fmt.Println(string(text), err)
	// Output: {"notes":[]} <nil>
}
