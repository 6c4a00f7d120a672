package validate_test

import (
	"fmt"
	"reflect"

	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
)

func Example() {
	type Input struct {
		Name  string `json:"name" minLength:"1"`
		Limit int    `json:"limit,omitempty" default:"10" maximum:"100"`
	}
	s, err := schema.Of(reflect.TypeFor[Input]())
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := validate.Compile(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	normalized, _ := v.Input([]byte(`{"name":"bb"}`))
	fmt.Println(string(normalized))
	_, issues := v.Input([]byte(`{"nam":"bb","limit":1e3}`))
	for _, i := range issues {
		fmt.Println(i.Path, i.Code, i.Message)
	}
	// Output:
	// {"name":"bb","limit":10}
	// [nam] unrecognized_key is not a known key; did you mean "name"?
	// [name] required is required; add "name"
	// [limit] too_big must be at most 100, got 1e3
}
